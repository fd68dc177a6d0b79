//! Calls that are submitted now and awaited later.
//!
//! C writes a deferred call's outputs whenever it runs, also when nobody waits for it and when its handle was forgotten. So
//! everything it reads and writes is one block that belongs to the call: texts and images are copied into it, rows are handed
//! out once it has ended. A call that is forgotten leaks its block, which is then never freed, and the model with it.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::addr_of_mut;
use std::time::Duration;

use crate::call::{c_text, no_memory, reserve, Items, Outputs, Place};
use crate::ffi;
use crate::status::check;
use crate::{Element, Embeddings, Executor, Image, Model, Result};

/// A call that was submitted, to be awaited later; see [`On::defer_texts`](crate::On::defer_texts) and
/// [`On::defer_images`](crate::On::defer_images).
///
/// It runs in its turn among direct calls, in order of submission. On the null executor, which has no threads, it runs when
/// it is awaited, looked at or dropped, on the thread that does so; on a borrowed pool, when somebody next awaits, looks at,
/// drops or makes a call there. Dropping it waits until it has ended.
///
/// Mirrors `uform_call_t`; dropping it calls `uform_call_free`.
#[must_use = "dropping a deferred call waits for it and throws its embeddings away"]
pub struct Deferred<'executor, S: Element> {
    handle: ffi::Call,
    /// Owned, as a pointer, since C reads and writes behind it until the call has ended.
    work: *mut Work<S>,
    executor: PhantomData<&'executor Executor>,
}

/// What a call reads and writes.
pub(crate) struct Work<S: Element> {
    model: Model,
    /// What the items point to.
    _bytes: Vec<u8>,
    items: Items,
    outputs: Outputs<S>,
    report: ffi::EncodeReport,
}

impl<S: Element> Work<S> {
    /// A copy of the texts, and room for what becomes of them.
    pub(crate) fn texts(model: &Model, texts: &[impl AsRef<[u8]>], outputs: Outputs<S>) -> Result<Self> {
        // Every text is asked for its bytes once, since nothing keeps it from answering differently the next time.
        let mut given = reserve::<&[u8]>(texts.len())?;
        given.extend(texts.iter().map(|text| text.as_ref()));
        let (bytes, copies) = copy(given.iter().copied(), |_, copy| c_text(copy))?;
        Ok(Self::new(model, bytes, Items::Texts(copies), outputs))
    }

    /// A copy of the images, and room for what becomes of them.
    pub(crate) fn images(model: &Model, images: &[Image<'_>], outputs: Outputs<S>) -> Result<Self> {
        let given = images.iter().map(|image| image.bytes());
        let (bytes, copies) = copy(given, |index, copy| images[index].to_c(copy))?;
        Ok(Self::new(model, bytes, Items::Images(copies), outputs))
    }

    fn new(model: &Model, bytes: Vec<u8>, items: Items, mut outputs: Outputs<S>) -> Self {
        let report = outputs.report();
        Self { model: model.clone(), _bytes: bytes, items, outputs, report }
    }
}

/// One copy of all items' bytes, and what is made of each item's own, given its position.
fn copy<'bytes, I>(
    given: impl ExactSizeIterator<Item = &'bytes [u8]> + Clone,
    make: impl Fn(usize, &[u8]) -> I,
) -> Result<(Vec<u8>, Vec<I>)> {
    let size = given.clone().try_fold(0usize, |size, item| size.checked_add(item.len()));
    let mut bytes = reserve(size.ok_or_else(no_memory)?)?;
    given.clone().for_each(|item| bytes.extend_from_slice(item));
    let (mut copies, mut rest) = (reserve(given.len())?, bytes.as_slice());
    for (index, item) in given.enumerate() {
        let (copy, others) = rest.split_at(item.len());
        copies.push(make(index, copy));
        rest = others;
    }
    Ok((bytes, copies))
}

impl<'executor, S: Element> Deferred<'executor, S> {
    /// Submits a call.
    pub(crate) fn submit(executor: &'executor Executor, options: &ffi::EncodeOptions, work: Work<S>) -> Result<Self> {
        let work = Box::into_raw(Box::new(work));
        // SAFETY: the work is live and reached through this pointer alone until the call has ended; it has room for every
        // row and item.
        let answer = unsafe {
            let rows = (*work).outputs.rows();
            let place = Place { model: &(*work).model, executor, options };
            (*work).items.defer(place, rows, addr_of_mut!((*work).report))
        };
        match answer {
            Ok(handle) => Ok(Self { handle, work, executor: PhantomData }),
            Err(status) => {
                // SAFETY: a call that was refused uses nothing of it.
                drop(unsafe { Box::from_raw(work) });
                Err(status)
            }
        }
    }

    /// Whether the call has ended.
    ///
    /// Calls `uform_call_poll`.
    pub fn is_finished(&self) -> bool {
        let mut finished = true;
        // SAFETY: the handle is live. What is refused will be told by `wait`, so there is nothing to wait for.
        check(unsafe { ffi::uform_call_poll(self.handle, &mut finished) }).is_err() || finished
    }

    /// Waits until the call has ended, but no longer than this, and answers whether it has. A call that has to be run by the
    /// thread that awaits it is run to its end.
    ///
    /// Calls `uform_call_await`.
    pub fn wait_for(&self, timeout: Duration) -> bool {
        // SAFETY: the handle is live.
        let status = unsafe { ffi::uform_call_await(self.handle, timeout.as_secs_f64()) };
        // What the call itself answered will be told by `wait`.
        status.0 != crate::Status::TimedOut as i32 || self.is_finished()
    }

    /// Waits until the call has ended and answers its embeddings.
    ///
    /// Calls `uform_call_await` and `uform_call_free`.
    ///
    /// # Errors
    ///
    /// As [`On::encode_texts`](crate::On::encode_texts) and [`On::encode_images`](crate::On::encode_images).
    pub fn wait(self) -> Result<Embeddings<S>> {
        let call = ManuallyDrop::new(self);
        // SAFETY: the handle is live and freed once; then the call has ended, and nothing else reaches the work.
        unsafe {
            let status = ffi::uform_call_await(call.handle, -1.0);
            let answer = check(status);
            ffi::uform_call_free(call.handle);
            let work = *Box::from_raw(call.work);
            work.outputs.conclude(answer, work.report.failed_count)
        }
    }
}

impl<S: Element> fmt::Debug for Deferred<'_, S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Deferred").finish_non_exhaustive()
    }
}

impl<S: Element> Drop for Deferred<'_, S> {
    fn drop(&mut self) {
        // SAFETY: the handle is freed once, which waits; then the call has ended, and nothing else reaches the work.
        unsafe {
            ffi::uform_call_free(self.handle);
            drop(Box::from_raw(self.work));
        }
    }
}
