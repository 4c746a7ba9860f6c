//! A worker: threads that lease jobs, run a handler on each, and settle.
//!
//! One more thread extends the leases of the jobs that are being worked on. It sleeps until the next
//! of them is due, and is woken to stop.

use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::code::{ErrorCode, Outcome};
use crate::driver::no_thread;
use crate::error::Result;
use crate::handle::{lock, Cancel};
use crate::job::{Job, Token};
use crate::lease::LeaseOptions;
use crate::queue::Queue;

/// Runs a handler on each job of some queues, on some threads.
///
/// The handler's `Ok` acks the job, its error or a panic nacks it with that text; a panic of the
/// error's `Display` is one of the handler. Leases are extended while a handler runs, so it may take as
/// long as it likes. [`run`](Worker::run) returns when it was
/// told to stop, or the store closes or shuts down, and every handler has ended.
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("worker");
/// # let store = wq::Store::open(&dir)?;
/// # let queue = store.queue("mail")?;
/// assert!(queue.enqueue("hello")?.is_new());
/// let worker = wq::Worker::new(&queue)?.threads(2);
/// let stop = worker.stop_token();
/// let report = worker.run(|job| {
///     println!("{:?}", job.text());
///     stop.fire(); // a real program does this when it is asked to end
///     Ok::<(), std::io::Error>(())
/// })?;
/// assert_eq!(report.done, 1);
/// # Ok(())
/// # }
/// ```
///
/// The handler is called by several threads, so it must be `Sync`:
///
/// ```compile_fail,E0277
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("worker");
/// # let queue = wq::Store::open(&dir)?.queue("mail")?;
/// let count = std::rc::Rc::new(std::cell::Cell::new(0));
/// let worker = wq::Worker::new(&queue)?;
/// worker.run(|_| Ok::<(), String>(count.set(count.get() + 1)))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a worker does nothing until it runs"]
pub struct Worker {
    queues: Vec<Queue>,
    threads: usize,
    lease: Duration,
    stop: Cancel,
}

/// What a worker did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// Jobs acked.
    pub done: u64,
    /// Jobs nacked, because the handler said so.
    pub failed: u64,
    /// Jobs nacked, because the handler panicked.
    pub panicked: u64,
    /// Jobs whose lease was lost meanwhile, or that the handler settled itself.
    pub lost: u64,
}

impl Worker {
    /// A worker of one thread on this queue.
    ///
    /// # Errors
    /// [`ErrorCode::NoMemory`].
    pub fn new(queue: &Queue) -> Result<Worker> {
        let lease = Duration::from_secs(30);
        Ok(Worker { queues: vec![queue.clone()], threads: 1, lease, stop: Cancel::new()? })
    }

    /// Work on this queue too: it gives what those before it left. Of the same store.
    pub fn queue(mut self, queue: &Queue) -> Self {
        self.queues.push(queue.clone());
        self
    }

    /// So many handlers at once; at least one.
    pub fn threads(mut self, count: usize) -> Self {
        self.threads = count.max(1);
        self
    }

    /// How long leases are; they are extended when a third of it is over. If the process dies, its
    /// jobs are handed to others after so long. Default 30 s, at least 30 ms.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_millis(30));
        self
    }

    /// Fire it to stop: handlers that run are waited for, no more are begun.
    pub fn stop_token(&self) -> Cancel {
        self.stop.clone()
    }

    /// Work until stopped.
    ///
    /// # Errors
    /// Those of a lease or settle, other than `Closed`, and [`ErrorCode::NoMemory`] if a thread can not
    /// be started: the first one stops all threads, whose handlers are waited for.
    ///
    /// # Panics
    /// When a thread did outside of the handler, as in the `Drop` of what a handler panicked with: the
    /// others are stopped and waited for.
    pub fn run<F, E>(&self, handler: F) -> Result<WorkerReport>
    where
        F: Fn(&Job) -> std::result::Result<(), E> + Sync,
        E: std::fmt::Display,
    {
        let shared = Shared::default();
        let end = Mutex::new(None);
        let fail = |failure| {
            lock(&end).get_or_insert(failure);
            self.stop.fire();
        };
        let work = || match catch_unwind(AssertUnwindSafe(|| self.work(&handler, &shared))) {
            Ok(Ok(())) => (),
            Ok(Err(error)) => fail(Ok(error)),
            Err(panic) => fail(Err(panic)),
        };
        std::thread::scope(|scope| {
            let keeper = Builder::new().spawn_scoped(scope, || self.keep_leases(&shared));
            let mut missing = keeper.err();
            let mut threads = Vec::new();
            while missing.is_none() && threads.len() < self.threads {
                match Builder::new().spawn_scoped(scope, &work) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => missing = Some(error),
                }
            }
            if let Some(error) = missing {
                fail(Ok(no_thread(&error)));
            }
            for thread in threads {
                let _ = thread.join(); // it catches its panics
            }
            shared.stop();
        });
        match end.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some(Ok(error)) => Err(error),
            Some(Err(panic)) => resume_unwind(panic),
            None => Ok(shared.report()),
        }
    }

    fn work<F, E>(&self, handler: &F, shared: &Shared) -> Result<()>
    where
        F: Fn(&Job) -> std::result::Result<(), E>,
        E: std::fmt::Display,
    {
        let options = LeaseOptions::new().wait_forever().lease(self.lease).cancel(&self.stop);
        let queues: Vec<&Queue> = self.queues.iter().collect();
        let store = self.queues[0].store();
        loop {
            let lease = match unless_closed(store.lease(&queues, &options))? {
                Some(lease) => lease,
                None => return Ok(()),
            };
            if lease.outcome() == Outcome::Cancelled {
                return Ok(());
            }
            for job in lease {
                let held = Held::new(shared, &job);
                // Also the text is made here: Display is the handler's code, and may panic.
                let end = catch_unwind(AssertUnwindSafe(|| {
                    handler(&job).map_err(|error| error.to_string())
                }));
                drop(held);
                if unless_closed(shared.settle(&job, end))?.is_none() {
                    return Ok(());
                }
            }
        }
    }

    /// Extends the leases of all jobs that are held, whenever a third of a lease is over.
    fn keep_leases(&self, shared: &Shared) {
        let period = self.lease / 3;
        let mut next = Instant::now() + period;
        let mut state = lock(&shared.state);
        while !state.stopped {
            let now = Instant::now();
            if now < next {
                let waited = shared.changed.wait_timeout(state, next - now);
                state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
                continue;
            }
            next = now + period;
            let held = state.held.clone();
            drop(state);
            for (queue, token) in held {
                // What became of the lease is told by the settle.
                let _ = queue.extend(token, self.lease);
            }
            state = lock(&shared.state);
        }
    }
}

/// A store that closes is the end of work, no failure.
fn unless_closed<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == ErrorCode::Closed => Ok(None),
        Err(error) => Err(error),
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    done: AtomicU64,
    failed: AtomicU64,
    panicked: AtomicU64,
    lost: AtomicU64,
}

#[derive(Default)]
struct State {
    held: Vec<(Queue, Token)>,
    stopped: bool,
}

/// What a handler returned, its error as text; or what it panicked with.
type End = std::thread::Result<std::result::Result<(), String>>;

impl Shared {
    fn stop(&self) {
        lock(&self.state).stopped = true;
        self.changed.notify_all();
    }

    fn settle(&self, job: &Job, end: End) -> Result<()> {
        let (settled, counter) = match end {
            Ok(Ok(())) => (job.ack(), &self.done),
            Ok(Err(error)) => (job.nack(error), &self.failed),
            Err(panic) => (job.nack(format!("panic: {}", text_of(&*panic))), &self.panicked),
        };
        let counter = match settled {
            Ok(outcome) if outcome.is_ok() => counter,
            Ok(_) => &self.lost,
            Err(error) if error.code() == ErrorCode::NotFound => &self.lost,
            Err(error) => return Err(error),
        };
        // relaxed: a count, read after the threads were joined
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn report(&self) -> WorkerReport {
        // relaxed: the threads that count were joined
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerReport {
            done: read(&self.done),
            failed: read(&self.failed),
            panicked: read(&self.panicked),
            lost: read(&self.lost),
        }
    }
}

/// A job that somebody works on.
struct Held<'s> {
    shared: &'s Shared,
    token: Token,
}

impl<'s> Held<'s> {
    fn new(shared: &'s Shared, job: &Job) -> Held<'s> {
        lock(&shared.state).held.push((job.queue().clone(), job.token()));
        Held { shared, token: job.token() }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        lock(&self.shared.state).held.retain(|(_, token)| *token != self.token);
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        return text;
    }
    panic.downcast_ref::<String>().map_or("", String::as_str)
}
