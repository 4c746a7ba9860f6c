//! The error of every call, and how a return code becomes a result.

use std::ffi::CStr;
use std::fmt;

use wq_sys as sys;

use crate::code::{ErrorCode, Outcome};

/// What calls of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. Programs decide by [`code`](Error::code) and the predicates, never by the text.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let error = wq::Store::open("/no/such/place/store").unwrap_err();
/// assert_eq!(error.code(), wq::ErrorCode::NotFound);
/// assert!(!error.is_retryable());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Details>);

#[derive(Clone, PartialEq, Eq)]
struct Details {
    code: ErrorCode,
    os_errno: i32,
    flags: Option<u32>,
    offset: u64,
    failed_index: Option<usize>,
    message: String,
}

impl Error {
    /// What kind of error it is.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Its name as in `wq.h`, without the prefix: `"NO_SPACE"`, `"CLOSED"`.
    pub fn name(&self) -> &'static str {
        self.0.code.name()
    }

    /// One line for a person: what, where, what to do.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the same call may succeed later, with no change by the caller.
    pub fn is_retryable(&self) -> bool {
        self.flag(sys::WQ_ERROR_RETRYABLE, self.0.code.is_retryable())
    }

    /// Whether the call may have changed the store all the same: the wait for durability was cut
    /// short. Look before you repeat it.
    pub fn maybe_committed(&self) -> bool {
        self.flag(sys::WQ_ERROR_MAYBE_COMMITTED, self.0.code.maybe_committed())
    }

    /// Whether the open store is of no more use for changes and must be closed and reopened.
    pub fn is_fatal(&self) -> bool {
        self.flag(sys::WQ_ERROR_FATAL, self.0.code.is_fatal())
    }

    /// The `errno` of the operating system, if it had a part in it.
    pub fn os_errno(&self) -> Option<i32> {
        Some(self.0.os_errno).filter(|errno| *errno != 0)
    }

    /// Byte offset in the file that the message names; 0 if there is none.
    pub fn offset(&self) -> u64 {
        self.0.offset
    }

    /// Of a transaction: index of the operation that was refused, if it was one of them.
    pub fn failed_index(&self) -> Option<usize> {
        self.0.failed_index
    }

    fn flag(&self, bit: u32, by_code: bool) -> bool {
        self.0.flags.map_or(by_code, |flags| flags & bit != 0)
    }

    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error(Box::new(Details {
            code,
            os_errno: 0,
            flags: None,
            offset: 0,
            failed_index: None,
            message: message.into(),
        }))
    }

    pub(crate) fn closed(what: &str) -> Error {
        Error::new(ErrorCode::Closed, format!("the {} is closed", what))
    }

    /// An error of which only the code is known: the event of a change that did not become durable.
    pub(crate) fn of_code(code: i32) -> Error {
        // SAFETY: takes any number, and returns a constant string of the library.
        let text = unsafe { CStr::from_ptr(sys::wq_strerror(code)) };
        Error::new(ErrorCode::from_code(code), text.to_string_lossy())
    }

    pub(crate) fn with_failed_index(mut self, index: Option<usize>) -> Error {
        self.0.failed_index = index;
        self
    }

    fn of_struct(code: i32, err: &sys::wq_error) -> Error {
        if err.code != code || err.message[0] == 0 {
            return Error::of_code(code);
        }
        Error(Box::new(Details {
            code: ErrorCode::from_code(code),
            os_errno: err.os_errno,
            flags: Some(err.flags),
            offset: err.offset,
            failed_index: None,
            message: text_of(&err.message),
        }))
    }
}

/// Text of a fixed array of C, up to its NUL.
pub(crate) fn text_of(chars: &[std::os::raw::c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The same of so many chars, whatever they are.
pub(crate) fn text_of_len(chars: &[std::os::raw::c_char], len: usize) -> String {
    let bytes: Vec<u8> = chars.iter().take(len).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The result of a call that told `code` and filled `err`.
pub(crate) fn check(code: i32, err: &sys::wq_error) -> Result<Outcome> {
    match Outcome::from_code(code) {
        Some(outcome) => Ok(outcome),
        None => Err(Error::of_struct(code, err)),
    }
}

/// The same, for a call that has no outcome but OK.
pub(crate) fn check_ok(code: i32, err: &sys::wq_error) -> Result<()> {
    if code == sys::WQ_OK {
        return Ok(());
    }
    Err(Error::of_struct(code, err))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("code", &self.0.code).field("message", &self.0.message);
        if self.0.os_errno != 0 {
            out.field("os_errno", &self.0.os_errno);
        }
        if self.0.offset != 0 {
            out.field("offset", &self.0.offset);
        }
        out.finish()
    }
}

impl std::error::Error for Error {}

/// So that programs of `std::io` can use `?`.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        use std::io::ErrorKind;
        let kind = match error.code() {
            ErrorCode::Invalid | ErrorCode::TooLarge => ErrorKind::InvalidInput,
            ErrorCode::Unsupported => ErrorKind::Unsupported,
            ErrorCode::NotFound => ErrorKind::NotFound,
            ErrorCode::Corrupt => ErrorKind::InvalidData,
            ErrorCode::NoMemory => ErrorKind::OutOfMemory,
            _ => ErrorKind::Other,
        };
        std::io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_that_was_filled_is_told_in_full() {
        let mut err = sys::wq_error::init();
        err.code = sys::WQ_E_IO;
        err.os_errno = 5;
        err.offset = 4096;
        err.flags = sys::WQ_ERROR_MAYBE_COMMITTED;
        for (place, byte) in err.message.iter_mut().zip(b"a \xff line") {
            *place = *byte as std::os::raw::c_char;
        }
        let error = check(sys::WQ_E_IO, &err).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Io);
        assert_eq!((error.os_errno(), error.offset()), (Some(5), 4096));
        assert_eq!(error.message(), "a \u{fffd} line");
        assert!(error.maybe_committed() && !error.is_retryable() && !error.is_fatal());
        assert_eq!(error.to_string(), "IO: a \u{fffd} line");
        assert!(format!("{:?}", error).contains("os_errno: 5"));
    }

    #[test]
    fn outcomes_are_values() {
        let err = sys::wq_error::init();
        assert_eq!(check(sys::WQ_STALE, &err).unwrap(), Outcome::Stale);
    }
}
