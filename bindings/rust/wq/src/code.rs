//! The codes of `wq.h` as types: outcomes, which are values, and error codes.

use std::fmt;

use wq_sys as sys;

/// How a call went that did what it says: every code of the header that is 0 or above.
///
/// Outcomes are values, never errors. A late worker that settles a job which was handed to somebody
/// else gets `Ok(Outcome::Stale)`: nothing changed, and nothing is wrong.
///
/// ```
/// use wq::Outcome;
/// assert!(Outcome::Ok.is_ok());
/// assert_eq!(Outcome::Stale.name(), "STALE");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use = "an outcome other than Ok means that nothing was changed"]
pub enum Outcome {
    /// Done.
    Ok,
    /// Nothing there, also after the wait.
    Empty,
    /// The time ran out before the wait was over; the wait can be repeated.
    Timeout,
    /// The lease or entry is held by this generation no more; nothing changed.
    Stale,
    /// The unique key is held by another job.
    Duplicate,
    /// The queue is disabled.
    Disabled,
    /// The queue is paused.
    Paused,
    /// The wait was cancelled; nothing happened. From an extend: the flow of the job was cancelled.
    Cancelled,
    /// The object changed since it was read, or is in another state.
    Conflict,
    /// An outcome of a newer library. Nothing changed.
    Other(i32),
}

const OUTCOMES: [(Outcome, i32); 9] = [
    (Outcome::Ok, sys::WQ_OK),
    (Outcome::Empty, sys::WQ_EMPTY),
    (Outcome::Timeout, sys::WQ_TIMEOUT),
    (Outcome::Stale, sys::WQ_STALE),
    (Outcome::Duplicate, sys::WQ_DUPLICATE),
    (Outcome::Disabled, sys::WQ_DISABLED),
    (Outcome::Paused, sys::WQ_PAUSED),
    (Outcome::Cancelled, sys::WQ_CANCELLED),
    (Outcome::Conflict, sys::WQ_CONFLICT),
];

impl Outcome {
    /// The outcome with this code; `None` for a code below zero, which is an error.
    pub fn from_code(code: i32) -> Option<Outcome> {
        if code < 0 {
            return None;
        }
        let known = OUTCOMES.iter().find(|(_, value)| *value == code);
        Some(known.map_or(Outcome::Other(code), |(outcome, _)| *outcome))
    }

    /// The number that `wq.h` has for it.
    pub fn code(self) -> i32 {
        if let Outcome::Other(code) = self {
            return code;
        }
        OUTCOMES.iter().find(|(outcome, _)| *outcome == self).map_or(0, |(_, code)| *code)
    }

    /// Its name as in `wq.h`, without the prefix: `"OK"`, `"STALE"`.
    pub fn name(self) -> &'static str {
        name_of(self.code())
    }

    /// Whether it is [`Outcome::Ok`].
    pub fn is_ok(self) -> bool {
        self == Outcome::Ok
    }

    /// Whether the same call may succeed later, with no change by the caller.
    pub fn is_retryable(self) -> bool {
        use Outcome::*;
        matches!(self, Empty | Timeout | Duplicate | Disabled | Paused)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What kind of error it is: every code of the header that is below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// An argument or field is invalid; the message names it.
    Invalid,
    /// Over a size limit; the message names it.
    TooLarge,
    /// Not known to this library or platform.
    Unsupported,
    /// Crate and library, or store and library, do not match.
    Version,
    /// The thing named is not there.
    NotFound,
    /// The handle or its store is closed or shutting down.
    Closed,
    /// Opened before a fork, in another process.
    Forked,
    /// The store is open elsewhere; the message has the process id.
    Locked,
    /// Reserved: no call opens a store for reading only yet.
    ReadOnly,
    /// The disk is full or nearly full; settling and leasing go on.
    NoSpace,
    /// The queue or store is at its limit.
    Full,
    /// Memory has run out.
    NoMemory,
    /// The operating system reported an I/O error; see [`Error::os_errno`](crate::Error::os_errno).
    Io,
    /// Stored data is damaged; message and offset say where.
    Corrupt,
    /// An earlier storage failure stopped this store; close and reopen.
    Poisoned,
    /// An internal check failed: a bug in wq; the store is stopped.
    Internal,
    /// An outcome that the result of this call has no place for: an unfinished import (`Conflict`).
    Outcome(Outcome),
    /// An error of a newer library.
    Other(i32),
}

const ERRORS: [(ErrorCode, i32); 16] = [
    (ErrorCode::Invalid, sys::WQ_E_INVALID),
    (ErrorCode::TooLarge, sys::WQ_E_TOO_LARGE),
    (ErrorCode::Unsupported, sys::WQ_E_UNSUPPORTED),
    (ErrorCode::Version, sys::WQ_E_VERSION),
    (ErrorCode::NotFound, sys::WQ_E_NOT_FOUND),
    (ErrorCode::Closed, sys::WQ_E_CLOSED),
    (ErrorCode::Forked, sys::WQ_E_FORKED),
    (ErrorCode::Locked, sys::WQ_E_LOCKED),
    (ErrorCode::ReadOnly, sys::WQ_E_READ_ONLY),
    (ErrorCode::NoSpace, sys::WQ_E_NO_SPACE),
    (ErrorCode::Full, sys::WQ_E_FULL),
    (ErrorCode::NoMemory, sys::WQ_E_NO_MEMORY),
    (ErrorCode::Io, sys::WQ_E_IO),
    (ErrorCode::Corrupt, sys::WQ_E_CORRUPT),
    (ErrorCode::Poisoned, sys::WQ_E_POISONED),
    (ErrorCode::Internal, sys::WQ_E_INTERNAL),
];

impl ErrorCode {
    /// The kind with this number. A number of zero or above gives [`ErrorCode::Outcome`].
    pub fn from_code(code: i32) -> ErrorCode {
        if let Some(outcome) = Outcome::from_code(code) {
            return ErrorCode::Outcome(outcome);
        }
        let known = ERRORS.iter().find(|(_, value)| *value == code);
        known.map_or(ErrorCode::Other(code), |(error, _)| *error)
    }

    /// The number that `wq.h` has for it.
    pub fn code(self) -> i32 {
        match self {
            ErrorCode::Outcome(outcome) => outcome.code(),
            ErrorCode::Other(code) => code,
            _ => ERRORS.iter().find(|(error, _)| *error == self).map_or(0, |(_, code)| *code),
        }
    }

    /// Its name as in `wq.h`, without the prefix: `"NO_SPACE"`, `"CLOSED"`.
    pub fn name(self) -> &'static str {
        name_of(self.code())
    }

    /// Whether the same call may succeed later, with no change by the caller.
    pub fn is_retryable(self) -> bool {
        use ErrorCode::*;
        match self {
            Outcome(outcome) => outcome.is_retryable(),
            _ => matches!(self, Locked | NoSpace | Full | NoMemory),
        }
    }

    /// Whether a call that ended so may have changed the store all the same: look before you
    /// repeat it.
    pub fn maybe_committed(self) -> bool {
        matches!(self, Self::Io | Self::Poisoned | Self::Internal | Self::Closed)
    }

    /// Whether the open store is of no more use for changes and must be closed and reopened.
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Poisoned | Self::Internal)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn name_of(code: i32) -> &'static str {
    sys::CODES.iter().find(|(_, value)| *value == code).map_or("UNKNOWN", |(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_header_maps_and_back() {
        assert_eq!(sys::CODES.len(), OUTCOMES.len() + ERRORS.len());
        for (name, code) in sys::CODES {
            if *code >= 0 {
                let outcome = Outcome::from_code(*code).expect("an outcome");
                assert!(!matches!(outcome, Outcome::Other(_)), "{} has no variant", name);
                assert_eq!((outcome.code(), outcome.name()), (*code, *name));
            } else {
                let error = ErrorCode::from_code(*code);
                assert!(!matches!(error, ErrorCode::Other(_)), "{} has no variant", name);
                assert_eq!((error.code(), error.name()), (*code, *name));
                assert_eq!(Outcome::from_code(*code), None);
            }
        }
    }

    #[test]
    fn codes_of_a_newer_library_are_kept() {
        assert_eq!(Outcome::from_code(77), Some(Outcome::Other(77)));
        assert_eq!(Outcome::Other(77).code(), 77);
        assert_eq!(Outcome::Other(77).name(), "UNKNOWN");
        for code in [-99, i32::MIN] {
            assert_eq!(ErrorCode::from_code(code).code(), code);
            assert_eq!(ErrorCode::from_code(code).name(), "UNKNOWN");
        }
        assert_eq!(ErrorCode::from_code(8), ErrorCode::Outcome(Outcome::Conflict));
    }
}
