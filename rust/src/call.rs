//! What calls on texts and on images have in common: items in C's form, options, and memory for what is written.

use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};

use crate::embeddings::row_elements;
use crate::ffi;
use crate::status::{check, fail};
use crate::{Element, Embeddings, Executor, Image, Item, Model, Result, Status};

/// Items of one kind in C's form. What they point to is kept by whoever made them.
pub(crate) enum Items {
    Texts(Vec<ffi::Text>),
    Images(Vec<ffi::Image>),
}

/// Where a call is made, and what it gets besides its items.
#[derive(Clone, Copy)]
pub(crate) struct Place<'call> {
    pub(crate) model: &'call Model,
    pub(crate) executor: &'call Executor,
    pub(crate) options: &'call ffi::EncodeOptions,
}

/// Where a call's rows go.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) memory: *mut c_void,
    /// From one row to the next, stated, so that a call with longer rows is refused.
    pub(crate) stride_bytes: usize,
}

/// The options in C's form, with the texts they point to.
pub(crate) struct CallOptions {
    pub(crate) raw: ffi::EncodeOptions,
    pub(crate) _texts: [Option<CString>; 2],
}

/// What a call writes: memory for rows and reports, which C fills in whole.
pub(crate) struct Outputs<S: Element> {
    elements: Vec<S>,
    items: Vec<ffi::ItemReport>,
    count: usize,
    dimensions: usize,
}

impl Items {
    /// Texts, which stay where they are.
    pub(crate) fn texts(texts: &[impl AsRef<[u8]>]) -> Result<Self> {
        let mut list = reserve(texts.len())?;
        list.extend(texts.iter().map(|text| c_text(text.as_ref())));
        Ok(Self::Texts(list))
    }

    /// Images, whose bytes stay where they are.
    pub(crate) fn images(images: &[Image<'_>]) -> Result<Self> {
        let mut list = reserve(images.len())?;
        list.extend(images.iter().map(|image| image.to_c(image.bytes())));
        Ok(Self::Images(list))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Images(images) => images.len(),
        }
    }

    /// Makes the call and answers what C does.
    ///
    /// # Safety
    ///
    /// What the items point to is there, and the rows and the report have room for them all.
    pub(crate) unsafe fn encode(&self, place: Place<'_>, rows: Rows, report: &mut ffi::EncodeReport) -> Result<()> {
        let (model, executor, options) = (place.model.handle(), place.executor.handle(), place.options);
        let (count, stride) = (self.len(), rows.stride_bytes);
        // SAFETY: the caller promises it of the items, the rows and the report; options and model outlive the call.
        check(unsafe {
            match self {
                Self::Texts(texts) => ffi::uform_encode_texts(
                    model,
                    executor,
                    texts.as_ptr(),
                    count,
                    options,
                    rows.memory,
                    stride,
                    report,
                ),
                Self::Images(images) => ffi::uform_encode_images(
                    model,
                    executor,
                    images.as_ptr(),
                    count,
                    options,
                    rows.memory,
                    stride,
                    report,
                ),
            }
        })
    }

    /// Submits the call and answers what C does, with its handle.
    ///
    /// # Safety
    ///
    /// As [`Items::encode`], until the call has ended, before which the items stay where they are. Options are copied.
    pub(crate) unsafe fn defer(
        &self,
        place: Place<'_>,
        rows: Rows,
        report: *mut ffi::EncodeReport,
    ) -> Result<ffi::Call> {
        let (model, executor, options) = (place.model.handle(), place.executor.handle(), place.options);
        let (count, stride) = (self.len(), rows.stride_bytes);
        let mut call = ffi::Call(std::ptr::null_mut());
        // SAFETY: the caller promises it.
        check(unsafe {
            match self {
                Self::Texts(texts) => ffi::uform_defer_texts(
                    model,
                    executor,
                    texts.as_ptr(),
                    count,
                    options,
                    rows.memory,
                    stride,
                    report,
                    &mut call,
                ),
                Self::Images(images) => ffi::uform_defer_images(
                    model,
                    executor,
                    images.as_ptr(),
                    count,
                    options,
                    rows.memory,
                    stride,
                    report,
                    &mut call,
                ),
            }
        })
        .map(|()| call)
    }
}

impl<S: Element> Outputs<S> {
    /// Room for what a call on so many items writes, of a size that doesn't move any more.
    pub(crate) fn new(count: usize, dimensions: usize) -> Result<Self> {
        let elements = reserve(count_elements::<S>(count, dimensions)?)?;
        Ok(Self { elements, items: reserve(count)?, count, dimensions })
    }

    /// Where rows go.
    pub(crate) fn rows(&mut self) -> Rows {
        Rows::new::<S>(self.elements.as_mut_ptr(), self.dimensions)
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
        // SAFETY: a call that ran wrote every row and every item, those of failed items included.
        unsafe {
            self.elements.set_len(self.count * row_elements::<S>(self.dimensions));
            self.items.set_len(self.count);
        }
        let items = self.items.iter().map(Item::from_c).collect();
        Ok(Embeddings::new(self.elements, self.dimensions, items))
    }
}

impl Rows {
    /// Rows of so many dimensions, one right behind the other.
    pub(crate) fn new<S: Element>(elements: *mut S, dimensions: usize) -> Self {
        Self { memory: elements.cast(), stride_bytes: row_elements::<S>(dimensions) * size_of::<S>() }
    }
}

pub(crate) fn new_report(items: *mut ffi::ItemReport) -> ffi::EncodeReport {
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

/// How many elements so many rows take.
pub(crate) fn count_elements<S: Element>(count: usize, dimensions: usize) -> Result<usize> {
    count
        .checked_mul(row_elements::<S>(dimensions))
        .ok_or_else(|| fail(Status::OutOfMemory, format!("the rows of {} items exceed memory", count)))
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
