//! Asynchronous calls: one thread per store polls its completion queue and wakes whoever waits.
//!
//! A call is registered before it is made, since its event may come before it returns. There is an
//! event if and only if `lsn` is not 0 when the call returns; the thread takes the operation out of
//! the table then. When the store closes, the library gives an event for all that is under way, and
//! then answers CLOSED: the thread ends, and what might be left is told the same.
//! Thread model: any thread. No lock is held while a waker runs, and one that panics harms nobody.

use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use wq_sys as sys;

use crate::call::Ctx;
use crate::code::ErrorCode;
use crate::error::{check_ok, Error, Result};
use crate::handle::lock;

const EVENTS_PER_POLL: usize = 256;

/// A change whose durability somebody may wait for.
#[derive(Default)]
pub(crate) struct Op {
    state: Mutex<OpState>,
    arrived: Condvar,
}

#[derive(Default)]
struct OpState {
    code: Option<i32>,
    waker: Option<Waker>,
}

impl Op {
    fn finish(&self, code: i32) {
        let waker = {
            let mut state = lock(&self.state);
            state.code = Some(code);
            state.waker.take()
        };
        self.arrived.notify_all();
        if let Some(waker) = waker {
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<i32> {
        let mut state = lock(&self.state);
        if let Some(code) = state.code {
            return Poll::Ready(code);
        }
        match &state.waker {
            Some(waker) if waker.will_wake(cx.waker()) => {}
            _ => state.waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    fn wait(&self) -> i32 {
        let mut state = lock(&self.state);
        loop {
            if let Some(code) = state.code {
                return code;
            }
            state = self.arrived.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn is_done(&self) -> bool {
        lock(&self.state).code.is_some()
    }
}

/// Operations under way, by the number that their event carries.
#[derive(Default)]
struct Table {
    slots: Vec<Option<Arc<Op>>>,
    free: Vec<usize>,
    closed: bool,
}

impl Table {
    fn add(&mut self, op: Arc<Op>) -> Option<u64> {
        if self.closed {
            return None;
        }
        let index = self.free.pop().unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push(Some(op));
        } else {
            self.slots[index] = Some(op);
        }
        Some(index as u64)
    }

    fn take(&mut self, number: u64) -> Option<Arc<Op>> {
        let index = usize::try_from(number).ok()?;
        let op = self.slots.get_mut(index)?.take();
        if op.is_some() {
            self.free.push(index);
        }
        op
    }

    fn close(&mut self) -> Vec<Arc<Op>> {
        self.closed = true;
        self.free.clear();
        std::mem::take(&mut self.slots).into_iter().flatten().collect()
    }
}

/// The completion queue of a store and the thread that polls it.
pub(crate) struct Driver {
    cq: *mut sys::wq_cq,
    table: Mutex<Table>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// A forked child has no such thread, and must not wait for it.
    process: u32,
}

// SAFETY: the header says "Thread: any" of all calls on a completion queue.
unsafe impl Send for Driver {}
// SAFETY: the same.
unsafe impl Sync for Driver {}

impl Driver {
    pub(crate) fn start(store: *mut sys::wq_store) -> Result<Arc<Driver>> {
        let mut cq = ptr::null_mut();
        let mut err = sys::wq_error::init();
        // SAFETY: a handle of ours, and valid places to write to.
        check_ok(unsafe { sys::wq_cq_open(store, &mut cq, &mut err) }, &err)?;
        let driver = Arc::new(Driver {
            cq,
            table: Mutex::default(),
            thread: Mutex::new(None),
            process: std::process::id(),
        });
        let polled = driver.clone();
        let thread = std::thread::Builder::new()
            .name("wq-completions".to_string())
            .spawn(move || polled.run())
            .map_err(|error| no_thread(&error))?;
        *lock(&driver.thread) = Some(thread);
        Ok(driver)
    }

    /// Waits for the thread, which ends by itself once the store is closed.
    pub(crate) fn join(&self) {
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A waker may own the last reference to a store: then this is the thread.
            let is_this = thread.thread().id() == std::thread::current().id();
            if !is_this && self.process == std::process::id() {
                let _ = thread.join();
            }
        }
    }

    fn run(&self) {
        let mut events = [sys::wq_event::init(); EVENTS_PER_POLL];
        let mut done: Vec<(Arc<Op>, i32)> = Vec::with_capacity(EVENTS_PER_POLL);
        let mut err = sys::wq_error::init();
        loop {
            let mut count = 0;
            // SAFETY: the queue lives as long as self; the array has the length that is told.
            let code = unsafe {
                let size = std::mem::size_of::<sys::wq_event>();
                sys::wq_cq_poll(
                    self.cq,
                    events.as_mut_ptr(),
                    events.len(),
                    size,
                    -1,
                    &mut count,
                    &mut err,
                )
            };
            if code < 0 {
                break;
            }
            {
                let mut table = lock(&self.table);
                for event in &events[..count] {
                    done.extend(table.take(event.user_data).map(|op| (op, event.code)));
                }
            }
            for (op, code) in done.drain(..) {
                op.finish(code);
            }
        }
        let left = lock(&self.table).close();
        for op in left {
            op.finish(sys::WQ_E_CLOSED);
        }
    }

    /// Makes the call, which does not wait, and gives what tells of its durability.
    pub(crate) fn begin<T>(
        &self,
        mut ctx: Ctx,
        call: impl FnOnce(&mut Ctx) -> Result<T>,
    ) -> Pending<T> {
        let op = Arc::new(Op::default());
        let number = match lock(&self.table).add(op.clone()) {
            Some(number) => number,
            None => return Pending::ready(Err(Error::closed("store"))),
        };
        ctx.call.cq = self.cq;
        ctx.call.user_data = number;
        let value = call(&mut ctx);
        if ctx.call.lsn == 0 {
            lock(&self.table).take(number);
            return Pending::ready(value);
        }
        Pending { value: Some(value), op: Some(op) }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: nobody else has it: the thread and every call hold a reference to self.
        unsafe { sys::wq_cq_close(&mut self.cq) };
    }
}

pub(crate) fn no_thread(error: &std::io::Error) -> Error {
    Error::new(ErrorCode::NoMemory, format!("no thread can be started: {}", error))
}

/// A change that was made and is on its way to the durability asked for.
///
/// The change happened when this was made: nothing has to be polled to begin it, and dropping it only
/// gives up the news. Await it (under any runtime), or call [`wait`](Pending::wait). Thousands may be
/// under way; one thread per store looks after all of them.
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("pending");
/// let store = wq::Store::open(&dir)?;
/// let queue = store.queue("mail")?;
/// let pending: Vec<_> = (0..1000).map(|i| queue.enqueue_async(format!("job {}", i))).collect();
/// for enqueued in pending {
///     assert!(enqueued.wait()?.is_new());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "the change was made; await or wait() tells when it is durable, and whether it is"]
pub struct Pending<T> {
    value: Option<Result<T>>,
    op: Option<Arc<Op>>,
}

// Nothing in it is ever pinned.
impl<T> Unpin for Pending<T> {}

impl<T> Pending<T> {
    pub(crate) fn ready(value: Result<T>) -> Pending<T> {
        Pending { value: Some(value), op: None }
    }

    fn finish(&mut self, code: i32) -> Result<T> {
        self.op = None;
        let value = self.value.take().expect("a Pending that was ready is not polled again");
        // What the call itself said goes first; the event tells of the rest of it.
        if code != sys::WQ_OK && value.is_ok() {
            return Err(Error::of_code(code));
        }
        value
    }

    /// Wait for it on this thread.
    ///
    /// # Errors
    /// Those of the call; and if the store failed or was closed before the change was durable, its
    /// error: the change may have been committed all the same.
    pub fn wait(mut self) -> Result<T> {
        let code = self.op.as_ref().map_or(sys::WQ_OK, |op| op.wait());
        self.finish(code)
    }

    /// Whether `wait` would return at once.
    pub fn is_done(&self) -> bool {
        self.op.as_ref().map_or(true, |op| op.is_done())
    }

    /// What the call said, before its durability is known.
    pub(crate) fn peek(&mut self) -> Option<&T> {
        self.value.as_ref()?.as_ref().ok()
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let code = match &self.op {
            None => sys::WQ_OK,
            Some(op) => match op.poll(cx) {
                Poll::Ready(code) => code,
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(self.finish(code))
    }
}

impl<T> std::fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("done", &self.is_done()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_a_strange_one_is_nobody() {
        let mut table = Table::default();
        let first = table.add(Arc::default()).unwrap();
        let second = table.add(Arc::default()).unwrap();
        assert_ne!(first, second);
        assert!(table.take(first).is_some());
        assert!(table.take(first).is_none());
        assert!(table.take(u64::MAX).is_none());
        assert_eq!(table.add(Arc::default()), Some(first));
        assert_eq!(table.close().len(), 2);
        assert!(table.add(Arc::default()).is_none());
    }

    #[test]
    fn an_event_with_an_error_is_the_result() {
        let op = Arc::new(Op::default());
        op.finish(sys::WQ_E_IO);
        let pending = Pending { value: Some(Ok(1)), op: Some(op) };
        if !cfg!(miri) {
            // The text of the error comes from the library.
            assert_eq!(pending.wait().unwrap_err().code(), ErrorCode::Io);
        }
    }

    #[test]
    fn an_operation_wakes_its_waiters_once_it_is_done() {
        let op = Arc::new(Op::default());
        let waiter = std::thread::spawn({
            let op = op.clone();
            move || op.wait()
        });
        op.finish(sys::WQ_OK);
        assert_eq!(waiter.join().unwrap(), sys::WQ_OK);
        assert!(op.is_done());
        let pending = Pending { value: Some(Ok(1)), op: Some(op.clone()) };
        assert_eq!(pending.wait().unwrap(), 1);
        let refused = Error::new(ErrorCode::Full, "no room");
        let pending = Pending::<()> { value: Some(Err(refused)), op: Some(op) };
        assert_eq!(pending.wait().unwrap_err().code(), ErrorCode::Full);
    }
}
