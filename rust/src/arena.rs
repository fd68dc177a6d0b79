//! Arenas: memory placed where an executor computes.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::ptr::{null_mut, NonNull};
use std::slice;

use crate::ffi;
use crate::status::{check, fail};
use crate::{Element, Executor, Result, Status};

/// Memory placed where an executor computes, given out piece by piece and taken back all at once.
///
/// Rows of embeddings can be written into its pieces. A host arena may outlive the executor it was made for. It is `Send` but
/// not `Sync`: one thread at a time asks for pieces, which may then go to others.
///
/// Mirrors `uform_arena_t`; dropping it calls `uform_arena_free`.
///
/// ```
/// use uform::{Arena, Executor, Model};
///
/// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/models/normalize");
/// let executor = Executor::for_ram(&[], None, 2, 0)?;
/// let model = Model::load_ram(directory, &[], &Default::default())?;
/// let on = model.on(&executor);
/// let mut arena = Arena::new_in(&executor, 1 << 16)?;
/// for texts in [["a cat", "a mat"], ["a kitten", "a rug"]] {
///     let rows = arena.allocate::<f32>(on.output_elements::<f32>(texts.len())?)?;
///     on.encode_texts_into(&texts, rows, &mut [])?;
///     arena.reset()?;
/// }
/// # uform::Result::Ok(())
/// ```
pub struct Arena {
    handle: ffi::Arena,
    /// Not `Sync`, since C serves one thread at a time.
    one_thread: PhantomData<Cell<()>>,
}

// SAFETY: any thread may use an arena, one at a time.
unsafe impl Send for Arena {}

impl Arena {
    /// Makes an arena with room for so many bytes where the executor computes; more is added as it is asked for.
    ///
    /// Calls `uform_arena_new_in`.
    ///
    /// # Errors
    ///
    /// [`Status::OutOfMemory`] when it can't be had.
    pub fn new_in(executor: &Executor, bytes: usize) -> Result<Self> {
        let mut handle = ffi::Arena(null_mut());
        // SAFETY: the executor is live, and the handle outlives the call.
        check(unsafe { ffi::uform_arena_new_in(executor.handle(), bytes, &mut handle) })?;
        Ok(Self { handle, one_thread: PhantomData })
    }

    /// Gives out a piece of so many elements, all zeros, aligned to a cache line.
    ///
    /// Calls `uform_arena_allocate`.
    ///
    /// # Errors
    ///
    /// [`Status::OutOfMemory`] when it can't be had.
    #[allow(clippy::mut_from_ref)] // every piece is another one
    pub fn allocate<S: Element>(&self, count: usize) -> Result<&mut [S]> {
        let bytes = count
            .checked_mul(size_of::<S>())
            .ok_or_else(|| fail(Status::OutOfMemory, format!("count: {} elements exceed memory", count)))?;
        if bytes == 0 {
            return Ok(&mut []);
        }
        let mut memory = null_mut();
        // SAFETY: the handle is live, and the place for the pointer outlives the call.
        check(unsafe { ffi::uform_arena_allocate(self.handle, bytes, align_of::<S>().max(64), &mut memory) })?;
        let memory = NonNull::new(memory.cast::<S>())
            .ok_or_else(|| fail(Status::OutOfMemory, "the arena gave no memory".into()))?;
        // SAFETY: the piece has room for the elements, is aligned, and nobody else's until the arena is reset or freed, for
        // which nothing may borrow it any more. Zeros are a value of every element.
        unsafe {
            memory.as_ptr().write_bytes(0, count);
            Ok(slice::from_raw_parts_mut(memory.as_ptr(), count))
        }
    }

    /// Takes all pieces back. An arena that had to grow becomes one block with room for the most that was given out at once,
    /// so that asking for as much again allocates nothing.
    ///
    /// Calls `uform_arena_reset`.
    ///
    /// # Errors
    ///
    /// [`Status::OutOfMemory`] when that block can't be had; the arena is then empty but of use as before.
    pub fn reset(&mut self) -> Result<()> {
        // SAFETY: the handle is live, and no piece is borrowed any more.
        check(unsafe { ffi::uform_arena_reset(self.handle) })
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Arena").finish_non_exhaustive()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the handle is freed once, and no piece is borrowed any more.
        unsafe { ffi::uform_arena_free(self.handle) }
    }
}
