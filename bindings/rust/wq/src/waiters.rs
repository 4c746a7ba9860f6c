//! Threads that wait in blocking calls for futures. They are kept for a while after their work, and
//! belong to no store: an idle one holds nothing.
//! Thread model: any thread.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::driver::no_thread;
use crate::error::Result;
use crate::handle::lock;

pub(crate) type Work = Box<dyn FnOnce() + Send>;

struct Pool {
    state: Mutex<State>,
    more: Condvar,
}

struct State {
    work: Vec<Work>,
    idle: usize,
}

static POOL: Pool =
    Pool { state: Mutex::new(State { work: Vec::new(), idle: 0 }), more: Condvar::new() };

/// How long a thread with nothing to do is kept.
const KEPT: Duration = Duration::from_secs(10);

/// Runs it on a thread of its own, an idle one if there is one.
pub(crate) fn run(work: Work) -> Result<()> {
    let mut state = lock(&POOL.state);
    if state.idle > state.work.len() {
        state.work.push(work);
        drop(state);
        POOL.more.notify_one();
        return Ok(());
    }
    drop(state);
    let thread = std::thread::Builder::new().name("wq-waiter".to_string());
    thread.spawn(move || serve(work)).map_err(|error| no_thread(&error))?;
    Ok(())
}

fn serve(first: Work) {
    let mut next = Some(first);
    while let Some(work) = next {
        let _ = catch_unwind(AssertUnwindSafe(work));
        next = wait_for_work();
    }
}

fn wait_for_work() -> Option<Work> {
    let mut state = lock(&POOL.state);
    state.idle += 1;
    let mut timed_out = false;
    while state.work.is_empty() && !timed_out {
        let waited = POOL.more.wait_timeout(state, KEPT);
        let (woken, timeout) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        state = woken;
        timed_out = timeout.timed_out();
    }
    state.idle -= 1;
    state.work.pop()
}
