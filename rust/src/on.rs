//! Calls: a model on an executor, with the options of the calls made there.

use std::ffi::CString;
use std::mem::size_of;
use std::ptr;

use crate::call::{c_text, count_elements, new_report, no_memory, reserve, CallOptions, Items, Outputs, Place, Rows};
use crate::deferred::Work;
use crate::ffi;
use crate::status::{check, fail};
use crate::{Deferred, Element, Embeddings, Executor, Image, Item, Model, Pixels, Pooling, Result, Status};

/// A model on an executor: where calls are made from, with the options they are made with.
///
/// [`Model::on`] starts with what the directory says; each method takes a changed copy.
///
/// ```
/// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/models/prompts");
/// let model = uform::Model::load_ram(directory, &[], &Default::default())?;
/// let executor = uform::Executor::for_ram(&[], None, 2, 0)?;
/// let embeddings = model.on(&executor).prompt("").dimensions(8).encode_texts::<f32>(&["a cat", "a mat"])?;
/// assert_eq!(embeddings.row(1)?.len(), 8);
/// # uform::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct On<'executor> {
    model: Model,
    executor: &'executor Executor,
    options: Options,
}

/// Options of a call; every default is what the directory says.
#[derive(Clone, Debug)]
struct Options {
    dimensions: usize,
    normalize: ffi::Switch,
    pooling: ffi::Pooling,
    prompt_name: Option<String>,
    prompt: Option<String>,
    max_tokens: usize,
    truncate_left: ffi::Switch,
    literal_specials: bool,
    image_orientation: ffi::Switch,
    image_flatten: ffi::Switch,
    image_pixel_limit: usize,
}

impl<'executor> On<'executor> {
    pub(crate) fn new(model: Model, executor: &'executor Executor) -> Self {
        let options = Options {
            dimensions: 0,
            normalize: ffi::Switch(0),
            pooling: ffi::Pooling(0),
            prompt_name: None,
            prompt: None,
            max_tokens: 0,
            truncate_left: ffi::Switch(0),
            literal_specials: false,
            image_orientation: ffi::Switch(0),
            image_flatten: ffi::Switch(0),
            image_pixel_limit: 0,
        };
        Self { model, executor, options }
    }

    /// Keeps the first so many dimensions, re-normalised when normalising; zero keeps all.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.options.dimensions = dimensions;
        self
    }

    /// Gives embeddings length one, or leaves them as they are.
    pub fn normalize(mut self, normalize: bool) -> Self {
        self.options.normalize = switch(normalize);
        self
    }

    /// Pools in these modes, concatenated in ascending order of value; none leaves it to the directory.
    pub fn pooling(mut self, pooling: &[Pooling]) -> Self {
        self.options.pooling = ffi::Pooling(pooling.iter().fold(0, |bits, mode| bits | *mode as u32));
        self
    }

    /// Puts a prompt of the directory before every text, by name.
    pub fn prompt_name(mut self, name: &str) -> Self {
        self.options.prompt_name = Some(name.into());
        self
    }

    /// Puts this text before every text; it wins over [`On::prompt_name`], and an empty one stands for no prompt at all.
    pub fn prompt(mut self, text: &str) -> Self {
        self.options.prompt = Some(text.into());
        self
    }

    /// Lets a text have so many tokens, special ones included; zero leaves it to the directory.
    pub fn max_tokens(mut self, tokens: usize) -> Self {
        self.options.max_tokens = tokens;
        self
    }

    /// Drops tokens at the start of a long text, or at its end, whatever the directory says.
    pub fn truncate_left(mut self, left: bool) -> Self {
        self.options.truncate_left = switch(left);
        self
    }

    /// Takes special tokens typed in a text as ordinary text.
    pub fn literal_specials(mut self, literal: bool) -> Self {
        self.options.literal_specials = literal;
        self
    }

    /// Turns images as their EXIF data says, which is the default, or leaves them as they are stored.
    pub fn image_orientation(mut self, turn: bool) -> Self {
        self.options.image_orientation = switch(turn);
        self
    }

    /// Lays transparent images over white, or drops their alpha, which is the default.
    pub fn image_flatten(mut self, flatten: bool) -> Self {
        self.options.image_flatten = switch(flatten);
        self
    }

    /// Refuses images of more pixels by their header; zero stands for 178,956,970, as Pillow has it.
    pub fn image_pixel_limit(mut self, pixels: usize) -> Self {
        self.options.image_pixel_limit = pixels;
        self
    }

    /// How many dimensions embeddings made here have.
    pub fn output_dimensions(&self) -> usize {
        // Options that don't fit the model: every call they are for is refused.
        self.row_dimensions().unwrap_or(self.options.dimensions)
    }

    /// How many dimensions rows have, of texts as of images.
    fn row_dimensions(&self) -> Result<usize> {
        // Without what concerns texts alone: calls on images, which ignore it, have rows of this length too.
        let raw = ffi::EncodeOptions { prompt: EMPTY.as_ptr().cast(), ..self.row_options(ffi::Scalar(0)) };
        let mut dimensions = 0;
        // SAFETY: the model and the options are valid, and so is the place for the answer.
        check(unsafe { ffi::uform_encode_dimensions(self.model.handle(), &raw, &mut dimensions) })?;
        Ok(dimensions)
    }

    /// How many elements the rows of so many texts or images take, to size the slice for [`On::encode_texts_into`] and
    /// [`On::encode_images_into`].
    ///
    /// # Errors
    ///
    /// [`Status::OutOfMemory`] for more than memory can have, and options that don't fit the model.
    pub fn output_elements<S: Element>(&self, item_count: usize) -> Result<usize> {
        count_elements::<S>(item_count, self.row_dimensions()?)
    }

    /// Encodes texts into rows of numbers of the type asked for, e.g. `encode_texts::<f32>(&texts)`.
    ///
    /// Texts are UTF-8, NULs allowed; what is invalid in bytes is replaced by U+FFFD. A text that can't be encoded doesn't
    /// fail the others: its [row](Embeddings::row) answers its status.
    ///
    /// Calls `uform_encode_texts`.
    ///
    /// # Errors
    ///
    /// What fails the call as a whole: options that don't fit the model, a model without a tower for texts, or memory that
    /// can't be had.
    pub fn encode_texts<S: Element>(&self, texts: &[impl AsRef<[u8]>]) -> Result<Embeddings<S>> {
        // SAFETY: the texts outlive the call.
        unsafe { self.encode(&Items::texts(texts)?) }
    }

    /// Encodes texts into the caller's memory, row after row: [texts, [output elements](On::output_elements) of one].
    ///
    /// `items` receives what became of each text; it may be empty when that isn't wanted. A text that can't be encoded gets
    /// a null row (NaN in f32, f16 and bf16, zeros in i8 and b1), and the others are encoded nevertheless.
    ///
    /// Calls `uform_encode_texts`.
    ///
    /// # Errors
    ///
    /// As [`On::encode_texts`], and the status of the first text that couldn't be encoded;
    /// [`Status::InvalidArgument`] for slices of the wrong length.
    pub fn encode_texts_into<S: Element>(
        &self,
        texts: &[impl AsRef<[u8]>],
        rows: &mut [S],
        items: &mut [Item],
    ) -> Result<()> {
        // SAFETY: the texts outlive the call.
        unsafe { self.encode_into(&Items::texts(texts)?, rows, items) }
    }

    /// Submits a call of [`On::encode_texts`] to be awaited later.
    ///
    /// The texts are copied, and what the call writes belongs to it until it is handed out, so nothing has to be kept for it
    /// but the executor.
    ///
    /// Calls `uform_defer_texts`.
    ///
    /// ```
    /// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/models/normalize");
    /// let model = uform::Model::load_ram(directory, &[], &Default::default())?;
    /// let executor = uform::Executor::for_ram(&[], None, 2, 0)?;
    /// let call = model.on(&executor).defer_texts::<f32>(&["a cat", "a mat"])?;
    /// // Meanwhile, something else.
    /// assert_eq!(call.wait()?.len(), 2);
    /// # uform::Result::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// What can be refused at once: options that don't fit the model, a model without a tower for texts, memory that can't
    /// be had, and [`Status::Contended`] when the executor's table of deferred calls is full.
    pub fn defer_texts<S: Element>(&self, texts: &[impl AsRef<[u8]>]) -> Result<Deferred<'executor, S>> {
        let options = self.text_options::<S>()?;
        let outputs = Outputs::new(texts.len(), self.row_dimensions()?)?;
        Deferred::submit(self.executor, &options.raw, Work::texts(&self.model, texts, outputs)?)
    }

    /// Encodes images into rows of numbers of the type asked for, in the same space as texts where the model has both.
    ///
    /// Files are decoded and resized on the executor's threads, as the directory's image processor does it. An image that is
    /// broken doesn't fail the others: its [row](Embeddings::row) answers its status. Options that concern texts are
    /// ignored.
    ///
    /// Calls `uform_encode_images`.
    ///
    /// ```
    /// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/vision/models/clip");
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/pictures/corpus/rgb.jpg");
    /// use uform::{Executor, Image, Model, Status};
    ///
    /// let model = Model::load_ram(directory, &[], &Default::default())?;
    /// let executor = Executor::for_ram(&[], None, 2, 0)?;
    /// let on = model.on(&executor);
    /// let file = std::fs::read(path).expect("a picture");
    /// let images = on.encode_images::<f32>(&[Image::file(&file), Image::file(b"no picture")])?;
    /// assert_eq!(images.row(1), Err(Status::Malformed));
    /// let texts = on.encode_texts::<f32>(&["a photo of a cat"])?;
    /// let cosine: f32 = images.row(0)?.iter().zip(texts.row(0)?).map(|(a, b)| a * b).sum();
    /// # assert!(cosine > -1.1 && cosine < 1.1);
    /// # uform::Result::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// What fails the call as a whole: options that don't fit the model, [`Status::Unsupported`] for a model without a tower
    /// for images, or memory that can't be had.
    pub fn encode_images<S: Element>(&self, images: &[Image<'_>]) -> Result<Embeddings<S>> {
        // SAFETY: the images' bytes outlive the call.
        unsafe { self.encode(&Items::images(images)?) }
    }

    /// Encodes images into the caller's memory, row after row, as [`On::encode_texts_into`] does texts.
    ///
    /// Calls `uform_encode_images`.
    ///
    /// # Errors
    ///
    /// As [`On::encode_images`], and the status of the first image that couldn't be encoded;
    /// [`Status::InvalidArgument`] for slices of the wrong length.
    pub fn encode_images_into<S: Element>(
        &self,
        images: &[Image<'_>],
        rows: &mut [S],
        items: &mut [Item],
    ) -> Result<()> {
        // SAFETY: the images' bytes outlive the call.
        unsafe { self.encode_into(&Items::images(images)?, rows, items) }
    }

    /// Submits a call of [`On::encode_images`] to be awaited later.
    ///
    /// The images' bytes are copied, and what the call writes belongs to it until it is handed out, so nothing has to be kept
    /// for it but the executor.
    ///
    /// Calls `uform_defer_images`.
    ///
    /// # Errors
    ///
    /// As [`On::defer_texts`], of images.
    pub fn defer_images<S: Element>(&self, images: &[Image<'_>]) -> Result<Deferred<'executor, S>> {
        let options = self.image_options(ffi::Scalar(S::SCALAR as i32));
        let outputs = Outputs::new(images.len(), self.row_dimensions()?)?;
        Deferred::submit(self.executor, &options, Work::images(&self.model, images, outputs)?)
    }

    /// The tensor that the tower for images gets of an image: decoded, resized, cropped, rescaled, normalised. It is made on
    /// the calling thread.
    ///
    /// Where the reference cuts patches itself (NaFlex), they are cut from this tensor.
    ///
    /// Calls `uform_image_pixels`.
    ///
    /// ```
    /// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/vision/models/clip");
    /// use uform::{Executor, Image, Model};
    ///
    /// let model = Model::load_ram(directory, &[], &Default::default())?;
    /// let white = [255u8; 20 * 10];
    /// let pixels = model.on(&Executor::default()).image_pixels(Image::gray(&white, 20, 10))?;
    /// assert_eq!(pixels.shape, [3, 32, 32]);
    /// assert_eq!(pixels.numbers.len(), 3 * 32 * 32);
    /// # uform::Result::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// Why the image can't be encoded, and what fails [`On::encode_images`] as a whole.
    pub fn image_pixels(&self, image: Image<'_>) -> Result<Pixels> {
        let (options, description) = (self.image_options(ffi::Scalar(0)), self.model.describe());
        let (mut numbers, mut shape) = (Vec::new(), [0; 3]);
        // Where the size depends on the image, the first round only asks for it.
        let mut count = 3 * description.image_height.unwrap_or(0) * description.image_width.unwrap_or(0);
        loop {
            numbers.try_reserve_exact(count).map_err(|_| no_memory())?;
            // SAFETY: the numbers have room for their capacity, the shape for three, and all that is passed outlives the
            // call.
            check(unsafe {
                ffi::uform_image_pixels(
                    self.model.handle(),
                    image.to_c(image.bytes()),
                    &options,
                    numbers.as_mut_ptr(),
                    numbers.capacity(),
                    shape.as_mut_ptr(),
                )
            })?;
            count = shape.iter().product();
            if count <= numbers.capacity() {
                // SAFETY: so many numbers were written.
                unsafe { numbers.set_len(count) };
                return Ok(Pixels { shape, numbers });
            }
        }
    }

    /// The ids the model would be given for a text, special tokens included, prompt and truncation applied as in
    /// [`On::encode_texts`].
    ///
    /// Calls `uform_tokenize`.
    ///
    /// # Errors
    ///
    /// Options that don't fit the model, or memory that can't be had.
    pub fn tokenize(&self, text: impl AsRef<[u8]>) -> Result<Vec<u32>> {
        let text = c_text(text.as_ref());
        let options = self.text_options::<f32>()?;
        let mut ids = Vec::new();
        let mut count = self.model.describe().max_tokens.min(512);
        loop {
            ids.try_reserve_exact(count).map_err(|_| no_memory())?;
            // SAFETY: the ids have room for their capacity, and all that is passed outlives the call.
            check(unsafe {
                ffi::uform_tokenize(
                    self.model.handle(),
                    text,
                    &options.raw,
                    ids.as_mut_ptr(),
                    ids.capacity(),
                    &mut count,
                )
            })?;
            if count <= ids.capacity() {
                // SAFETY: so many ids were written.
                unsafe { ids.set_len(count) };
                return Ok(ids);
            }
        }
    }

    /// Encodes items into memory of the call's own.
    ///
    /// # Safety
    ///
    /// What the items point to is there.
    unsafe fn encode<S: Element>(&self, items: &Items) -> Result<Embeddings<S>> {
        let options = self.options_for::<S>(items)?;
        let mut outputs = Outputs::<S>::new(items.len(), self.row_dimensions()?)?;
        let (rows, mut report) = (outputs.rows(), outputs.report());
        // SAFETY: the outputs have room for every row and item; of the items the caller promises it. Then the call that wrote
        // the outputs has ended with this answer and report.
        unsafe {
            let answer = items.encode(self.place(&options), rows, &mut report);
            outputs.conclude(answer, report.failed_count)
        }
    }

    /// Encodes items into the caller's memory.
    ///
    /// # Safety
    ///
    /// What the items point to is there.
    unsafe fn encode_into<S: Element>(&self, inputs: &Items, rows: &mut [S], items: &mut [Item]) -> Result<()> {
        let options = self.options_for::<S>(inputs)?;
        let dimensions = self.row_dimensions()?;
        check_length("rows", count_elements::<S>(inputs.len(), dimensions)?, rows.len())?;
        if !items.is_empty() {
            check_length("items", inputs.len(), items.len())?;
        }
        let mut reports = reserve::<ffi::ItemReport>(items.len())?;
        let mut report = new_report(if items.is_empty() { ptr::null_mut() } else { reports.as_mut_ptr() });
        let rows = Rows::new(rows.as_mut_ptr(), dimensions);
        // SAFETY: the rows and reports have room for every item; of the items the caller promises it.
        let answer = unsafe { inputs.encode(self.place(&options), rows, &mut report) };
        if answer.is_ok() || report.failed_count > 0 {
            // SAFETY: a call that ran reports every item.
            unsafe { reports.set_len(items.len()) };
            for (item, report) in items.iter_mut().zip(&reports) {
                *item = Item::from_c(report);
            }
        }
        answer
    }

    fn place<'call>(&'call self, options: &'call CallOptions) -> Place<'call> {
        Place { model: &self.model, executor: self.executor, options: &options.raw }
    }

    /// The options in C's form, as far as they concern such items.
    fn options_for<S: Element>(&self, items: &Items) -> Result<CallOptions> {
        match items {
            Items::Texts(_) => self.text_options::<S>(),
            Items::Images(_) => {
                Ok(CallOptions { raw: self.image_options(ffi::Scalar(S::SCALAR as i32)), _texts: [None, None] })
            }
        }
    }

    fn text_options<S: Element>(&self) -> Result<CallOptions> {
        let options = &self.options;
        let texts = [c_prompt("prompt_name", &options.prompt_name)?, c_prompt("prompt", &options.prompt)?];
        let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let raw = ffi::EncodeOptions {
            prompt_name: pointer(&texts[0]),
            prompt: pointer(&texts[1]),
            max_tokens: options.max_tokens,
            truncate_left: options.truncate_left,
            literal_specials: options.literal_specials,
            ..self.row_options(ffi::Scalar(S::SCALAR as i32))
        };
        Ok(CallOptions { raw, _texts: texts })
    }

    fn image_options(&self, scalar: ffi::Scalar) -> ffi::EncodeOptions {
        let options = &self.options;
        ffi::EncodeOptions {
            image_orientation: options.image_orientation,
            image_flatten: options.image_flatten,
            image_pixel_limit: options.image_pixel_limit,
            ..self.row_options(scalar)
        }
    }

    /// The options that say what rows are, of texts as of images; the others leave everything to the directory.
    fn row_options(&self, scalar: ffi::Scalar) -> ffi::EncodeOptions {
        ffi::EncodeOptions {
            size: size_of::<ffi::EncodeOptions>(),
            scalar,
            dimensions: self.options.dimensions,
            normalize: self.options.normalize,
            pooling: self.options.pooling,
            prompt_name: ptr::null(),
            prompt: ptr::null(),
            max_tokens: 0,
            truncate_left: ffi::Switch(0),
            literal_specials: false,
            image_orientation: ffi::Switch(0),
            image_flatten: ffi::Switch(0),
            image_pixel_limit: 0,
        }
    }
}

/// No prompt at all.
const EMPTY: &[u8; 1] = b"\0";

fn switch(on: bool) -> ffi::Switch {
    ffi::Switch(if on { 1 } else { 2 })
}

fn c_prompt(what: &str, text: &Option<String>) -> Result<Option<CString>> {
    let convert = |text: &String| {
        CString::new(text.as_str())
            .map_err(|_| fail(Status::InvalidArgument, format!("options: {}: expected no NUL, found {:?}", what, text)))
    };
    text.as_ref().map(convert).transpose()
}

fn check_length(what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(fail(Status::InvalidArgument, format!("{}: expected a length of {}, found {}", what, expected, found)))
}
