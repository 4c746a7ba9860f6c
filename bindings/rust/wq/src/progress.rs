//! The callback of long work: a closure that the library calls, and the panic that it may end with.

use std::any::Any;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// Told how far the work is; `false` stops it.
pub(crate) type Callback<'a> = Box<dyn FnMut(u64, u64) -> bool + 'a>;

/// The form that both callbacks of the header have.
pub(crate) type RawProgress = Option<unsafe extern "C" fn(u64, u64, *mut c_void) -> i32>;

/// What the library is given for the time of one call, on the stack of its caller.
pub(crate) struct Progress<'p, 'a> {
    callback: Option<&'p mut Callback<'a>>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'p, 'a> Progress<'p, 'a> {
    pub(crate) fn new(callback: Option<&'p mut Callback<'a>>) -> Progress<'p, 'a> {
        Progress { callback, panic: None }
    }

    /// Function and context, none without a closure. `self` must stay where it is during the call.
    pub(crate) fn raw(&mut self) -> (RawProgress, *mut c_void) {
        if self.callback.is_none() {
            return (None, std::ptr::null_mut());
        }
        (Some(on_progress), (self as *mut Progress<'_, '_>).cast())
    }

    /// After the call: goes on with the panic of the closure, if it had one.
    pub(crate) fn finish(self) {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
    }
}

unsafe extern "C" fn on_progress(done: u64, total: u64, ctx: *mut c_void) -> i32 {
    // SAFETY: the Progress of the call that is running, on the same thread.
    let progress = &mut *(ctx as *mut Progress<'_, '_>);
    let callback = match &mut progress.callback {
        Some(callback) => callback,
        None => return 0,
    };
    match catch_unwind(AssertUnwindSafe(|| callback(done, total))) {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(panic) => {
            progress.panic = Some(panic);
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_on_this_side_until_the_call_is_over() {
        let mut callback: Callback<'_> = Box::new(|done, total| {
            assert!(done <= total, "too far");
            done < 2
        });
        let mut progress = Progress::new(Some(&mut callback));
        let (function, ctx) = progress.raw();
        let call = |done| unsafe { function.expect("a function")(done, 5, ctx) };
        assert_eq!((call(1), call(2), call(6)), (0, 1, 1));
        let panic = catch_unwind(AssertUnwindSafe(|| progress.finish())).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"too far"));
        assert!(Progress::new(None).raw().0.is_none());
    }
}
