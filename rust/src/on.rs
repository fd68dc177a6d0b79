//! Calls: a model on an executor, with the options of the calls made there.

use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::c_char;
use std::ptr;

use crate::deferred::Work;
use crate::embeddings::row_elements;
use crate::ffi;
use crate::status::{check, fail};
use crate::{Deferred, Element, Embeddings, Executor, Item, Model, Pooling, Result, Status};

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
}

/// The options in C's form, with the texts they point to.
pub(crate) struct CallOptions {
    pub(crate) raw: ffi::EncodeOptions,
    _texts: [Option<CString>; 2],
}

/// What a call writes: memory for rows and reports, which C fills in whole.
pub(crate) struct Outputs<S: Element> {
    elements: Vec<S>,
    items: Vec<ffi::ItemReport>,
    count: usize,
    dimensions: usize,
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
        self.options.normalize = ffi::Switch(if normalize { 1 } else { 2 });
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
        self.options.truncate_left = ffi::Switch(if left { 1 } else { 2 });
        self
    }

    /// Takes special tokens typed in a text as ordinary text.
    pub fn literal_specials(mut self, literal: bool) -> Self {
        self.options.literal_specials = literal;
        self
    }

    /// How many dimensions embeddings made here have.
    pub fn output_dimensions(&self) -> usize {
        // An empty prompt, so that nothing is tokenized for it: the answer depends on model and options alone.
        let raw = self.raw_options(ffi::Scalar(0), ptr::null(), b"\0".as_ptr().cast());
        let mut dimensions = 0;
        // SAFETY: the model and the options are valid, and so is the place for the answer.
        match unsafe { ffi::uform_encode_dimensions(self.model.handle(), &raw, &mut dimensions) }.0 {
            0 => dimensions,
            // Options that don't fit the model: the call they are for is refused before it writes anything.
            _ => self.options.dimensions,
        }
    }

    /// How many elements the rows of so many texts take, to size the slice for [`On::encode_texts_into`].
    ///
    /// # Errors
    ///
    /// [`Status::OutOfMemory`] for more than memory can have.
    pub fn output_elements<S: Element>(&self, text_count: usize) -> Result<usize> {
        text_count
            .checked_mul(row_elements::<S>(self.output_dimensions()))
            .ok_or_else(|| fail(Status::OutOfMemory, format!("texts: the rows of {} exceed memory", text_count)))
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
    /// What fails the call as a whole: options that don't fit the model, or memory that can't be had.
    pub fn encode_texts<S: Element>(&self, texts: &[impl AsRef<[u8]>]) -> Result<Embeddings<S>> {
        let texts = c_texts(texts)?;
        let options = self.call_options::<S>()?;
        let mut outputs = Outputs::<S>::new(self, texts.len())?;
        let mut report = outputs.report();
        // SAFETY: the outputs have room for every row and item, and all that is passed outlives the call.
        let status = unsafe {
            ffi::uform_encode_texts(
                self.model.handle(),
                self.executor.handle(),
                texts.as_ptr(),
                texts.len(),
                &options.raw,
                outputs.rows(),
                0,
                &mut report,
            )
        };
        // SAFETY: the call that wrote the outputs has ended with this status and report.
        unsafe { outputs.conclude(check(status), report.failed_count) }
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
        let texts = c_texts(texts)?;
        let options = self.call_options::<S>()?;
        check_length("rows", self.output_elements::<S>(texts.len())?, rows.len())?;
        if !items.is_empty() {
            check_length("items", texts.len(), items.len())?;
        }
        let mut reports = reserve::<ffi::ItemReport>(items.len())?;
        let mut report = new_report(if items.is_empty() { ptr::null_mut() } else { reports.as_mut_ptr() });
        // SAFETY: the rows and reports have room for every text, and all that is passed outlives the call.
        let status = unsafe {
            ffi::uform_encode_texts(
                self.model.handle(),
                self.executor.handle(),
                texts.as_ptr(),
                texts.len(),
                &options.raw,
                rows.as_mut_ptr().cast(),
                0,
                &mut report,
            )
        };
        let answer = check(status);
        if answer.is_ok() || report.failed_count > 0 {
            // SAFETY: a call that ran reports every item.
            unsafe { reports.set_len(items.len()) };
            for (item, report) in items.iter_mut().zip(&reports) {
                *item = Item::from_c(report);
            }
        }
        answer
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
    /// What can be refused at once: options that don't fit the model, memory that can't be had, and [`Status::Contended`]
    /// when the executor's table of deferred calls is full.
    pub fn defer_texts<S: Element>(&self, texts: &[impl AsRef<[u8]>]) -> Result<Deferred<'executor, S>> {
        let options = self.call_options::<S>()?;
        let work = Work::new(&self.model, texts, Outputs::new(self, texts.len())?)?;
        Deferred::submit(self.executor, &options.raw, work)
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
        let options = self.call_options::<f32>()?;
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

    /// The options in C's form.
    pub(crate) fn call_options<S: Element>(&self) -> Result<CallOptions> {
        let options = &self.options;
        let texts = [c_prompt("prompt_name", &options.prompt_name)?, c_prompt("prompt", &options.prompt)?];
        let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let raw = self.raw_options(ffi::Scalar(S::SCALAR as i32), pointer(&texts[0]), pointer(&texts[1]));
        Ok(CallOptions { raw, _texts: texts })
    }

    fn raw_options(
        &self,
        scalar: ffi::Scalar,
        prompt_name: *const c_char,
        prompt: *const c_char,
    ) -> ffi::EncodeOptions {
        let options = &self.options;
        ffi::EncodeOptions {
            size: size_of::<ffi::EncodeOptions>(),
            scalar,
            dimensions: options.dimensions,
            normalize: options.normalize,
            pooling: options.pooling,
            prompt_name,
            prompt,
            max_tokens: options.max_tokens,
            truncate_left: options.truncate_left,
            literal_specials: options.literal_specials,
        }
    }
}

impl<S: Element> Outputs<S> {
    /// Room for what a call on so many texts writes, of a size that doesn't move any more.
    pub(crate) fn new(on: &On<'_>, count: usize) -> Result<Self> {
        let elements = reserve(on.output_elements::<S>(count)?)?;
        Ok(Self { elements, items: reserve(count)?, count, dimensions: on.output_dimensions() })
    }

    /// Where rows go.
    pub(crate) fn rows(&mut self) -> *mut std::os::raw::c_void {
        self.elements.as_mut_ptr().cast()
    }

    /// A report that puts its items here.
    pub(crate) fn report(&mut self) -> ffi::EncodeReport {
        new_report(self.items.as_mut_ptr())
    }

    /// The embeddings, unless the call failed as a whole.
    ///
    /// # Safety
    ///
    /// A call that was given [`Outputs::rows`] and [`Outputs::report`] has ended with this answer and this many failed
    /// items.
    pub(crate) unsafe fn conclude(mut self, answer: Result<()>, failed_count: usize) -> Result<Embeddings<S>> {
        if failed_count == 0 {
            answer?;
        }
        // SAFETY: a call that ran wrote every row and every item, those of failed texts included.
        unsafe {
            self.elements.set_len(self.count * row_elements::<S>(self.dimensions));
            self.items.set_len(self.count);
        }
        let items = self.items.iter().map(Item::from_c).collect();
        Ok(Embeddings::new(self.elements, self.dimensions, items))
    }
}

fn new_report(items: *mut ffi::ItemReport) -> ffi::EncodeReport {
    ffi::EncodeReport {
        size: size_of::<ffi::EncodeReport>(),
        items,
        token_count: 0,
        truncated_count: 0,
        failed_count: 0,
    }
}

pub(crate) fn c_text(text: &[u8]) -> ffi::Text {
    ffi::Text { data: text.as_ptr().cast::<c_char>(), length: text.len() }
}

fn c_texts(texts: &[impl AsRef<[u8]>]) -> Result<Vec<ffi::Text>> {
    let mut list = reserve(texts.len())?;
    list.extend(texts.iter().map(|text| c_text(text.as_ref())));
    Ok(list)
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

pub(crate) fn no_memory() -> Status {
    fail(Status::OutOfMemory, "memory could not be allocated".into())
}

/// An empty vector with room for so many.
pub(crate) fn reserve<T>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| no_memory())?;
    Ok(room)
}
