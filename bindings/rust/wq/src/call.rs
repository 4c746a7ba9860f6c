//! One call of the library: how it waits for durability, and what went wrong.

use wq_sys as sys;

use crate::code::Outcome;
use crate::error::{check, check_ok, Result};
use crate::words::Durability;

/// The two structs that a changing call is given.
pub(crate) struct Ctx {
    pub(crate) call: sys::wq_call,
    pub(crate) err: sys::wq_error,
}

impl Ctx {
    pub(crate) fn new(durability: Option<Durability>) -> Ctx {
        let mut call = sys::wq_call::init();
        call.durability = durability.map_or(0, Durability::raw);
        Ctx { call, err: sys::wq_error::init() }
    }

    /// What a call that returned `code` means.
    pub(crate) fn outcome(&self, code: i32) -> Result<Outcome> {
        check(code, &self.err)
    }

    /// The same of a call that has no outcome but OK, or whose result has no place for another.
    pub(crate) fn done(&self, code: i32) -> Result<()> {
        check_ok(code, &self.err)
    }
}
