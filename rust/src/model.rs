//! Models: a Hugging Face directory in memory.

use std::ffi::CString;
use std::fmt;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use crate::enums::cpu_class_value;
use crate::ffi;
use crate::status::{check, copy_text, fail};
use crate::{CPUClass, Executor, On, Pooling, Result, Scalar, Status};

/// A sentence-transformers or transformers directory in memory.
///
/// A model is immutable once loaded and freely shared: any number of executors and threads use it at once, and a clone is
/// the same model. The directory decides architecture, tokenizer, prompts, pooling, Dense layers, normalising and length
/// limit; the options of a call ([`On`]) override them. It may hold a tower for texts, one for images, or both, which then
/// give vectors in one space.
///
/// Results never depend on an item's neighbours, on the number of threads or on the batch: the same text or image gives the
/// same bits.
///
/// Mirrors `uform_model_t`; dropping its last holder, clones and deferred calls among them, calls `uform_model_free`.
#[derive(Clone)]
pub struct Model {
    loaded: Arc<Loaded>,
}

/// The model itself, freed with its last holder.
struct Loaded {
    handle: ffi::Model,
    description: ModelDescription,
}

// SAFETY: a loaded model is immutable, and the C interface lets any number of threads use it at once.
unsafe impl Send for Loaded {}
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the handle is freed once, and every call holds its model.
        unsafe { ffi::uform_model_free(self.handle) }
    }
}

/// Options at load, whose defaults leave the choice to the library.
///
/// Mirrors `uform_model_options_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ModelOptions {
    /// What weights are packed in, [`Scalar::F32`], [`Scalar::Bf16`] or [`Scalar::I8`]; `None` takes bf16 where the class
    /// multiplies it natively, else f32.
    pub precision: Option<Scalar>,
    /// Whose pack format the weights take; `None` derives the CPU's own.
    pub cpu_class: Option<CPUClass>,
}

/// What a model is, after the directory and the load options were followed.
///
/// Mirrors `uform_model_description_t`.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ModelDescription {
    /// The architecture, e.g. `bert`.
    pub architecture: String,
    /// The activation between the layers' two matrices, e.g. `gelu`.
    pub activation: String,
    /// What its weights are packed in.
    pub precision: Option<Scalar>,
    /// Whose pack format they have.
    pub cpu_class: Option<CPUClass>,
    /// Length of an embedding.
    pub dimensions: usize,
    /// Hidden size; of texts where there are two towers, as the next three and the activation.
    pub width: usize,
    /// Layers of the encoder.
    pub layers: usize,
    /// Attention heads of a layer.
    pub heads: usize,
    /// Width between the two matrices behind attention.
    pub feed_forward_width: usize,
    /// Tokens in the vocabulary.
    pub vocabulary_count: usize,
    /// Length limit in tokens, special ones included.
    pub max_tokens: usize,
    /// How token vectors become one vector, in the order of concatenation.
    pub pooling: Vec<Pooling>,
    /// Dense layers behind the pooling.
    pub dense_count: usize,
    /// Whether embeddings have length one.
    pub normalize: bool,
    /// The default prompt's name, if there is one.
    pub default_prompt: Option<String>,
    /// Memory the packed weights take, in bytes.
    pub weights_bytes: usize,
    /// Multiplications and additions of the matrices a token passes, attention excluded.
    pub flops_per_token: f64,
    /// Whether the directory has all that [`On::encode_texts`] needs.
    pub encodes_texts: bool,
    /// Whether the directory has all that [`On::encode_images`] needs.
    pub encodes_images: bool,
    /// Height of the pixel tensor; `None` where it depends on the image.
    pub image_height: Option<usize>,
    /// Width of the pixel tensor; `None` where it depends on the image.
    pub image_width: Option<usize>,
    /// Side of a square patch, in pixels; zero without a tower for images.
    pub patch_size: usize,
    /// Patches and the tokens before them; `None` where they depend on the image.
    pub image_tokens: Option<usize>,
    /// Layers of the tower for images.
    pub image_layers: usize,
    /// Its hidden size.
    pub image_hidden_width: usize,
    /// Multiplications and additions of the matrices an image passes, attention excluded; `None` where they depend on the
    /// image.
    pub flops_per_image: Option<f64>,
    /// What a cosine of text and image is multiplied by, if the model says it.
    pub logit_scale: Option<f64>,
    /// What is added to that product, in models that judge pairs one by one.
    pub logit_bias: Option<f64>,
    prompt_count: usize,
}

/// A text that the directory puts before others, by name.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Prompt {
    /// What [`On::prompt_name`] knows it by.
    pub name: String,
    /// What is put before every text.
    pub text: String,
}

impl Model {
    /// Loads a directory into RAM: maps its files, packs weights while reading.
    ///
    /// `memory_domains` are the NUMA nodes the weights are spread over; empty for the system's default. An executor that
    /// serves the model takes the same list.
    ///
    /// Calls `uform_model_load_ram`.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`], [`Status::Malformed`], [`Status::Unsupported`] and [`Status::IoFailed`], with file, key and
    /// value in [`last_detail`](crate::last_detail).
    pub fn load_ram(directory: impl AsRef<Path>, memory_domains: &[i32], options: &ModelOptions) -> Result<Self> {
        let path = c_path(directory.as_ref())?;
        let options = options.to_c();
        let mut handle = ffi::Model(ptr::null_mut());
        // SAFETY: path, list, options and handle outlive the call.
        check(unsafe {
            ffi::uform_model_load_ram(
                path.as_ptr(),
                memory_domains.as_ptr(),
                memory_domains.len(),
                &options,
                &mut handle,
            )
        })?;
        Self::from_handle(handle)
    }

    /// Loads a directory into the memory of GPUs, for executors made with the same list of `devices`: positions in what
    /// [`gpu_devices`](crate::gpu_devices) lists.
    ///
    /// Calls `uform_model_load_vram`.
    ///
    /// # Errors
    ///
    /// [`Status::Unsupported`]: this build has no kernels for GPUs; [`last_detail`](crate::last_detail) says what is
    /// missing.
    pub fn load_vram(directory: impl AsRef<Path>, devices: &[i32], options: &ModelOptions) -> Result<Self> {
        let path = c_path(directory.as_ref())?;
        let options = options.to_c();
        let mut handle = ffi::Model(ptr::null_mut());
        // SAFETY: path, list, options and handle outlive the call.
        check(unsafe {
            ffi::uform_model_load_vram(path.as_ptr(), devices.as_ptr(), devices.len(), &options, &mut handle)
        })?;
        Self::from_handle(handle)
    }

    /// Takes a loaded model over.
    fn from_handle(handle: ffi::Model) -> Result<Self> {
        let mut described = MaybeUninit::<ffi::ModelDescription>::zeroed();
        // SAFETY: the handle is live; the description is plain numbers, for which zeros are values too.
        let described = unsafe {
            let answer = check(ffi::uform_model_describe(handle, described.as_mut_ptr()));
            if answer.is_err() {
                ffi::uform_model_free(handle);
            }
            answer.map(|()| described.assume_init())
        };
        Ok(Self { loaded: Arc::new(Loaded { handle, description: ModelDescription::from_c(&described?) }) })
    }

    /// What the model is.
    ///
    /// Calls `uform_model_describe`, once, at load.
    pub fn describe(&self) -> &ModelDescription {
        &self.loaded.description
    }

    /// The directory's prompts.
    ///
    /// Calls `uform_model_prompt` for each.
    pub fn prompts(&self) -> Result<Vec<Prompt>> {
        (0..self.loaded.description.prompt_count).map(|index| self.prompt(index)).collect()
    }

    fn prompt(&self, index: usize) -> Result<Prompt> {
        let (mut name, mut text) = (ptr::null(), ptr::null());
        // SAFETY: the handle is live, and what it answers lives as long as the model.
        unsafe {
            check(ffi::uform_model_prompt(self.loaded.handle, index, &mut name, &mut text))?;
            Ok(Prompt { name: copy_text(name), text: copy_text(text) })
        }
    }

    /// The model on an executor, ready for calls with the directory's own options.
    pub fn on<'executor>(&self, executor: &'executor Executor) -> On<'executor> {
        On::new(self.clone(), executor)
    }

    pub(crate) fn handle(&self) -> ffi::Model {
        self.loaded.handle
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let description = self.describe();
        formatter
            .debug_struct("Model")
            .field("architecture", &description.architecture)
            .field("layers", &description.layers)
            .field("width", &description.width)
            .field("dimensions", &description.dimensions)
            .finish_non_exhaustive()
    }
}

impl ModelOptions {
    fn to_c(self) -> ffi::ModelOptions {
        ffi::ModelOptions {
            size: size_of::<ffi::ModelOptions>(),
            precision: ffi::Scalar(self.precision.map_or(0, |precision| precision as i32)),
            cpu_class: cpu_class_value(self.cpu_class),
        }
    }
}

impl ModelDescription {
    fn from_c(description: &ffi::ModelDescription) -> Self {
        let default_prompt = array_text(&description.default_prompt);
        Self {
            architecture: array_text(&description.architecture),
            activation: array_text(&description.activation),
            precision: Scalar::from_value(description.precision.0),
            cpu_class: CPUClass::from_value(description.cpu_class.0),
            dimensions: description.dimensions,
            width: description.width,
            layers: description.layers,
            heads: description.heads,
            feed_forward_width: description.feed_forward_width,
            vocabulary_count: description.vocabulary_count,
            max_tokens: description.max_tokens,
            pooling: Pooling::from_bits(description.pooling),
            dense_count: description.dense_count,
            normalize: description.normalize,
            default_prompt: Some(default_prompt).filter(|name| !name.is_empty()),
            weights_bytes: description.weights_bytes,
            flops_per_token: description.flops_per_token,
            encodes_texts: description.encodes_texts,
            encodes_images: description.encodes_images,
            image_height: some(description.image_height),
            image_width: some(description.image_width),
            patch_size: description.patch_size,
            image_tokens: some(description.image_tokens),
            image_layers: description.image_layers,
            image_hidden_width: description.image_hidden_width,
            flops_per_image: some(description.flops_per_image),
            logit_scale: some(description.logit_scale),
            logit_bias: description.has_logit_bias.then_some(description.logit_bias),
            prompt_count: description.prompt_count,
        }
    }
}

/// A number whose zero stands for none.
fn some<T: Default + PartialEq>(number: T) -> Option<T> {
    Some(number).filter(|number| *number != T::default())
}

/// A path as C takes it.
fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| fail(Status::InvalidArgument, format!("{:?}: expected a path without NUL", path)))
}

/// The text in an array, up to its NUL.
pub(crate) fn array_text(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().map(|letter| *letter as u8).take_while(|letter| *letter != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
