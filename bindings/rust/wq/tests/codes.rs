//! What this crate says of each code is what the library says.

use std::ffi::CStr;

use wq::{ErrorCode, Outcome};

#[test]
fn names_and_predicates_are_those_of_the_library() {
    assert!(wq_sys::CODES.len() >= 25);
    for (name, code) in wq_sys::CODES {
        // SAFETY: these take any number.
        let (of_library, retryable, maybe, fatal) = unsafe {
            (
                CStr::from_ptr(wq_sys::wq_error_name(*code)).to_str().unwrap(),
                wq_sys::wq_error_is_retryable(*code) == 1,
                wq_sys::wq_error_maybe_committed(*code) == 1,
                wq_sys::wq_error_is_fatal(*code) == 1,
            )
        };
        assert_eq!(of_library, *name);
        match Outcome::from_code(*code) {
            Some(outcome) => {
                assert_eq!((outcome.code(), outcome.name()), (*code, of_library));
                assert_eq!(outcome.is_retryable(), retryable, "{}", name);
                assert!(!maybe && !fatal);
            }
            None => {
                let error = ErrorCode::from_code(*code);
                assert_eq!((error.code(), error.name()), (*code, of_library));
                assert_eq!(error.is_retryable(), retryable, "{}", name);
                assert_eq!(error.maybe_committed(), maybe, "{}", name);
                assert_eq!(error.is_fatal(), fatal, "{}", name);
            }
        }
    }
}

#[test]
fn every_code_that_the_library_knows_is_in_the_table() {
    for code in -128..128 {
        // SAFETY: takes any number.
        let name = unsafe { CStr::from_ptr(wq_sys::wq_error_name(code)) }.to_str().unwrap();
        let known = wq_sys::CODES.iter().any(|(_, value)| *value == code);
        assert_eq!(name != "UNKNOWN", known, "{} {}", code, name);
    }
}

#[test]
fn the_library_is_the_one_that_the_crate_was_made_for() {
    let expected = format!("{}.{}.", wq_sys::WQ_VERSION_MAJOR, wq_sys::WQ_VERSION_MINOR);
    assert!(wq::library_version().starts_with(&expected), "{}", wq::library_version());
    assert!(wq::build_info().contains(wq::library_version()));
}
