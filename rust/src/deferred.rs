//! Calls that are submitted now and awaited later.
//!
//! C writes a deferred call's outputs whenever it runs, also when nobody waits for it and when its handle was forgotten. So
//! everything it reads and writes is one block that belongs to the call: texts are copied into it, rows are handed out once
//! it has ended. A call that is forgotten leaks its block, which is then never freed, and the model with it.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{addr_of_mut, null_mut};
use std::time::Duration;

use crate::ffi;
use crate::on::{c_text, no_memory, reserve, Outputs};
use crate::status::check;
use crate::{Element, Embeddings, Executor, Model, Result};

/// A call that was submitted, to be awaited later; see [`On::defer_texts`](crate::On::defer_texts).
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
    pub(crate) model: Model,
    /// What the texts point to.
    _bytes: Vec<u8>,
    texts: Vec<ffi::Text>,
    outputs: Outputs<S>,
    report: ffi::EncodeReport,
}

impl<S: Element> Work<S> {
    /// A copy of the texts, and room for what becomes of them.
    pub(crate) fn new(model: &Model, texts: &[impl AsRef<[u8]>], mut outputs: Outputs<S>) -> Result<Self> {
        // Every text is asked for its bytes once, since nothing keeps it from answering differently the next time.
        let mut given = reserve::<&[u8]>(texts.len())?;
        given.extend(texts.iter().map(|text| text.as_ref()));
        let size = given.iter().try_fold(0usize, |size, text| size.checked_add(text.len()));
        let mut bytes = reserve(size.ok_or_else(no_memory)?)?;
        given.iter().for_each(|text| bytes.extend_from_slice(text));
        let (mut copies, mut rest) = (reserve(texts.len())?, bytes.as_slice());
        for text in given {
            let (copy, others) = rest.split_at(text.len());
            copies.push(c_text(copy));
            rest = others;
        }
        let report = outputs.report();
        Ok(Self { model: model.clone(), _bytes: bytes, texts: copies, outputs, report })
    }
}

impl<'executor, S: Element> Deferred<'executor, S> {
    /// Submits a call.
    pub(crate) fn submit(executor: &'executor Executor, options: &ffi::EncodeOptions, work: Work<S>) -> Result<Self> {
        let work = Box::into_raw(Box::new(work));
        let mut handle = ffi::Call(null_mut());
        // SAFETY: the work is live and reached through this pointer alone until the call has ended; it has room for every
        // row and item. Options are copied by the call.
        let answer = check(unsafe {
            ffi::uform_defer_texts(
                (*work).model.handle(),
                executor.handle(),
                (*work).texts.as_ptr(),
                (*work).texts.len(),
                options,
                (*work).outputs.rows(),
                0,
                addr_of_mut!((*work).report),
                &mut handle,
            )
        });
        match answer {
            Ok(()) => Ok(Self { handle, work, executor: PhantomData }),
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
    /// As [`On::encode_texts`](crate::On::encode_texts).
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
