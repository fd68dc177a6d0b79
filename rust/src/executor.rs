//! Executors: host threads that calls run on.

use std::fmt;
use std::mem::MaybeUninit;
use std::os::raw::c_void;
use std::ptr;

use crate::enums::{cpu_class_value, gpu_class_value};
use crate::ffi;
use crate::status::check;
use crate::{CPUClass, GPUClass, Mood, Result};

/// The host threads or device streams an [`On`](crate::On) runs its calls on, with the activation scratch and the staging
/// buffers each of them uses.
///
/// One executor serves any number of models of its residency, so several models share one machine's cores or devices
/// instead of each claiming a private set.
///
/// [`Executor::default`] is the C interface's null executor: it owns nothing, and every call handed it runs on the calling
/// thread.
///
/// Calls on one executor run in submission order, so threads wanting to overlap take one apiece; it is `Send` but not
/// `Sync`. Every constructor takes a `deferred_limit` sizing its table of deferred calls, where zero takes the default; a
/// deferred submission finding the table full fails with [`Status::Contended`](crate::Status::Contended).
///
/// [`Arena::new_in`](crate::Arena::new_in) places an arena where it computes; a host arena may outlive it.
///
/// Mirrors `uform_executor_t`; dropping it calls `uform_executor_free`, which drains it first.
///
/// ```
/// use uform::{Executor, Mood};
///
/// let executor = Executor::for_ram(&[], None, 2, 0)?; // two threads
/// executor.drain(Mood::Sleeping)?; // waits until no call holds it, then sleeps between calls
/// # uform::Result::Ok(())
/// ```
pub struct Executor {
    handle: ffi::Executor,
}

// SAFETY: the C interface lets any thread use or free an executor.
unsafe impl Send for Executor {}

impl Executor {
    /// Spawns host threads for RAM-resident models, interleaved across the compute domains local to `memory_domains`,
    /// which is the same list the models were loaded with.
    ///
    /// Zero `threads` takes 7/8 of the cores those domains carry, and `cpu_class` pins the class its calls dispatch as,
    /// where `None` derives the CPU's own.
    ///
    /// Calls `uform_executor_for_ram`.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`](crate::Status::NotFound) for a domain this machine doesn't have,
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) for a negative or repeated one or for too many threads,
    /// [`Status::Unsupported`](crate::Status::Unsupported) for a class the machine or the build doesn't offer,
    /// [`Status::OutOfMemory`](crate::Status::OutOfMemory) when threads or memory can't be had.
    pub fn for_ram(
        memory_domains: &[i32],
        cpu_class: Option<CPUClass>,
        threads: usize,
        deferred_limit: usize,
    ) -> Result<Self> {
        let mut handle = ffi::Executor(ptr::null_mut());
        // SAFETY: the list and the handle outlive the call.
        check(unsafe {
            ffi::uform_executor_for_ram(
                memory_domains.as_ptr(),
                memory_domains.len(),
                cpu_class_value(cpu_class),
                threads,
                deferred_limit,
                &mut handle,
            )
        })?;
        Ok(Self { handle })
    }

    /// Creates a RAM executor over a borrowed ForkUnion pool, so UForm, USearch and UStore in one process share one set of
    /// threads while each keeps its own scratch.
    ///
    /// ForkUnion's C functions are looked up at run time: in the library that `UFORM_FORKUNION_LIBRARY` names in the
    /// environment, in the process itself, in ForkUnion's shared libraries. Calls are divided over exactly the pool's
    /// threads; deferred ones are run by whoever next awaits, looks at, drops, makes or drains a call.
    ///
    /// Calls `uform_executor_on_pool`.
    ///
    /// # Safety
    ///
    /// `pool` must address a live ForkUnion `fu_pool_t` that outlives the executor, and that nobody else drives during a call.
    ///
    /// # Errors
    ///
    /// [`Status::Unsupported`](crate::Status::Unsupported) without ForkUnion's functions, for a class the machine or the build
    /// doesn't offer, [`Status::InvalidArgument`](crate::Status::InvalidArgument) for a pool without threads.
    pub unsafe fn on_pool(
        memory_domains: &[i32],
        cpu_class: Option<CPUClass>,
        pool: *mut c_void,
        deferred_limit: usize,
    ) -> Result<Self> {
        let mut handle = ffi::Executor(ptr::null_mut());
        // SAFETY: the list and the handle outlive the call; of the pool the caller promises it.
        check(unsafe {
            ffi::uform_executor_on_pool(
                memory_domains.as_ptr(),
                memory_domains.len(),
                cpu_class_value(cpu_class),
                pool,
                deferred_limit,
                &mut handle,
            )
        })?;
        Ok(Self { handle })
    }

    /// Opens one submission stream on every named device, or borrows the caller's, all of them driven by whichever host thread
    /// submits - which is why this takes no thread count.
    ///
    /// `devices` are positions in what [`gpu_devices`](crate::gpu_devices) lists, and `gpu_class` pins the class every one of
    /// them dispatches as, where `None` derives theirs. The host decoders take 7/8 of the cores local to `memory_domains` and
    /// dispatch as `cpu_class`, where `None` derives the CPU's own. `streams` is empty, or holds one CUDA stream per device
    /// in `devices` order. Zero `scratch_limit` lets scratch grow as batches ask.
    ///
    /// Calls `uform_executor_for_vram`.
    ///
    /// # Safety
    ///
    /// Every stream must be a live CUDA stream on its device that outlives the executor.
    ///
    /// # Errors
    ///
    /// [`Status::Unsupported`](crate::Status::Unsupported): this build has no kernels for GPUs;
    /// [`last_detail`](crate::last_detail) says what is missing.
    /// [`Status::InvalidArgument`](crate::Status::InvalidArgument) for lists that don't fit together.
    pub unsafe fn for_vram(
        devices: &[i32],
        gpu_class: Option<GPUClass>,
        memory_domains: &[i32],
        cpu_class: Option<CPUClass>,
        streams: &[*mut c_void],
        scratch_limit: usize,
        deferred_limit: usize,
    ) -> Result<Self> {
        let mut handle = ffi::Executor(ptr::null_mut());
        // SAFETY: the lists and the handle outlive the call; of the streams the caller promises it.
        check(unsafe {
            ffi::uform_executor_for_vram(
                devices.as_ptr(),
                devices.len(),
                gpu_class_value(gpu_class),
                memory_domains.as_ptr(),
                memory_domains.len(),
                cpu_class_value(cpu_class),
                streams.as_ptr(),
                streams.len(),
                scratch_limit,
                deferred_limit,
                &mut handle,
            )
        })?;
        Ok(Self { handle })
    }

    /// Waits for every call submitted to this executor before the drain began, then adopts `mood` whenever it next goes
    /// idle; a failure is the executor's own, such as a device fault, never one of a drained call.
    ///
    /// Calls `uform_executor_drain`.
    pub fn drain(&self, mood: Mood) -> Result<()> {
        // SAFETY: the handle is live, or NULL, which is legal.
        check(unsafe { ffi::uform_executor_drain(self.handle, ffi::Mood(mood as i32)) })
    }

    pub(crate) fn handle(&self) -> ffi::Executor {
        self.handle
    }
}

impl Default for Executor {
    /// The null executor: every call runs on the calling thread, with the machine's own class.
    fn default() -> Self {
        Self { handle: ffi::Executor(ptr::null_mut()) }
    }
}

impl fmt::Debug for Executor {
    /// Shows threads, class and mood, as `uform_executor_describe` tells them.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Executor");
        let mut description = MaybeUninit::<ffi::ExecutorDescription>::zeroed();
        // SAFETY: the handle is live or NULL; the description is plain numbers, for which zeros are values too.
        let description = unsafe {
            check(ffi::uform_executor_describe(self.handle, description.as_mut_ptr()))
                .map(|()| description.assume_init())
        };
        if let Ok(description) = description {
            shown
                .field("threads", &description.threads)
                .field("cpu_class", &CPUClass::from_value(description.cpu_class.0))
                .field("mood", &Mood::from_value(description.mood.0));
        }
        shown.finish_non_exhaustive()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // SAFETY: the handle is freed once; what borrows the executor is gone.
        unsafe { ffi::uform_executor_free(self.handle) }
    }
}
