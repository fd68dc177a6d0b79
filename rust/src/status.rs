//! Statuses, and the words behind the calling thread's last failure.

use std::cell::RefCell;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

use crate::ffi;

/// Why a call failed.
///
/// The status says what kind of failure it was; [`last_detail`] says it in words, naming the file, the key and the value.
/// Displaying a status gives the one sentence that the C interface has for it.
///
/// Mirrors `uform_status_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum Status {
    /// An argument is out of its documented range.
    InvalidArgument = 1,
    /// This build, machine or model cannot do it.
    Unsupported = 2,
    /// The executor or its table of deferred calls is in use.
    Contended = 3,
    /// Memory could not be allocated.
    OutOfMemory = 4,
    /// A file, a key or a name does not exist.
    NotFound = 5,
    /// Reading or writing failed.
    IoFailed = 6,
    /// A file or an input is broken.
    Malformed = 7,
    /// Objects that do not belong together.
    Mismatched = 8,
    /// The time given was not enough.
    TimedOut = 9,
    /// A device reported a fault.
    DeviceFailed = 10,
    /// A result holds a NaN or an infinity.
    NotFinite = 11,
}

/// What every fallible call of the crate answers.
pub type Result<T> = std::result::Result<T, Status>;

impl Status {
    /// Every status, by value.
    pub(crate) const ALL: [Self; 11] = [
        Self::InvalidArgument,
        Self::Unsupported,
        Self::Contended,
        Self::OutOfMemory,
        Self::NotFound,
        Self::IoFailed,
        Self::Malformed,
        Self::Mismatched,
        Self::TimedOut,
        Self::DeviceFailed,
        Self::NotFinite,
    ];

    /// The status's token, e.g. `not_found`.
    ///
    /// Calls `uform_status_name`.
    pub fn name(self) -> &'static str {
        // SAFETY: the answer has static storage.
        unsafe { static_text(ffi::uform_status_name(ffi::Status(self as i32))) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the answer has static storage.
        formatter.pad(unsafe { static_text(ffi::uform_status_text(ffi::Status(*self as i32))) })
    }
}

impl std::error::Error for Status {}

thread_local! {
    /// The words of a failure that the crate noticed before C could; `None` when C noticed the last one.
    static DETAIL: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The calling thread's last failure in words, e.g.
/// `model/config.json: hidden_size: expected a positive integer, found "x"`; empty before any failure.
///
/// Every thread has its own. Ask before the next call fails.
///
/// Calls `uform_last_detail`.
///
/// ```
/// assert!(uform::Model::load_ram("no/such/folder", &[], &Default::default()).is_err());
/// assert!(uform::last_detail().contains("no/such/folder"));
/// ```
pub fn last_detail() -> String {
    let own = DETAIL.with(|detail| detail.borrow().clone());
    // SAFETY: the answer is the calling thread's and is copied before it can fail again.
    own.unwrap_or_else(|| unsafe { copy_text(ffi::uform_last_detail()) })
}

/// A failure that the crate noticed by itself.
pub(crate) fn fail(status: Status, words: String) -> Status {
    DETAIL.with(|detail| *detail.borrow_mut() = Some(words));
    status
}

/// A status of C as a result, without claiming that the calling thread failed.
pub(crate) fn result_of(status: ffi::Status) -> Result<()> {
    if status.0 == 0 {
        return Ok(());
    }
    // A newer library may have statuses that this release has no name for.
    Err(Status::ALL.into_iter().find(|known| *known as i32 == status.0).unwrap_or(Status::Unsupported))
}

/// What a C call answered, whose detail is then the calling thread's last.
pub(crate) fn check(status: ffi::Status) -> Result<()> {
    let result = result_of(status);
    if result.is_err() {
        DETAIL.with(|detail| *detail.borrow_mut() = None);
    }
    result
}

/// A text of C's that lives for ever; empty for NULL and for what isn't UTF-8.
///
/// # Safety
///
/// `text` must be NULL or end with a NUL and live for ever.
pub(crate) unsafe fn static_text(text: *const c_char) -> &'static str {
    if text.is_null() {
        return "";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// A copy of a text of C's, with what isn't UTF-8 replaced; empty for NULL.
///
/// # Safety
///
/// `text` must be NULL or end with a NUL.
pub(crate) unsafe fn copy_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The enumeration has every status of C's, under its name.
    #[test]
    fn statuses_are_those_of_the_library() {
        for (index, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, index + 1);
            assert_eq!(status.name().replace('_', ""), format!("{:?}", status).to_lowercase());
            assert!(!status.to_string().is_empty());
        }
        let beyond = ffi::Status(Status::ALL.len() as i32 + 1);
        // SAFETY: any value may be asked about.
        assert_eq!(unsafe { static_text(ffi::uform_status_name(beyond)) }, "unknown");
        assert_eq!(result_of(beyond), Err(Status::Unsupported));
        assert_eq!(result_of(ffi::Status(0)), Ok(()));
    }

    #[test]
    fn details_are_the_last_failures() {
        assert!("no_such_class".parse::<crate::CPUClass>().is_err());
        assert!(last_detail().contains("no_such_class"));
        assert!("one\0two".parse::<crate::CPUClass>().is_err());
        assert!(last_detail().contains("NUL"), "{}", last_detail());
        assert!("no_such_mood".parse::<crate::Mood>().is_err());
        assert!(last_detail().contains("no_such_mood"));
        let elsewhere = std::thread::spawn(last_detail).join();
        assert_eq!(elsewhere.ok().as_deref(), Some(""));
    }
}
