//! Taking jobs: blocking, as an iterator, and as a future.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use wq_sys as sys;

use crate::call::Ctx;
use crate::code::{ErrorCode, Outcome};
use crate::driver::Pending;
use crate::error::Result;
use crate::handle::{lock, BatchHandle, Cancel};
use crate::job::Job;
use crate::queue::Queue;
use crate::settle::Settle;
use crate::store::{Store, Wait};
use crate::time::opt_ms;
use crate::waiters;
use crate::words::Durability;

/// How many jobs to take, and how long to wait for the first.
///
/// ```
/// use std::time::Duration;
/// let options = wq::LeaseOptions::new().max_jobs(100).wait(Duration::from_secs(1));
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until they are given to a lease"]
pub struct LeaseOptions {
    max_jobs: u32,
    wait: Wait,
    lease: Option<Duration>,
    cancel: Option<Cancel>,
}

impl Default for LeaseOptions {
    fn default() -> Self {
        LeaseOptions::new()
    }
}

impl LeaseOptions {
    /// One job, no wait.
    pub fn new() -> LeaseOptions {
        LeaseOptions { max_jobs: 1, wait: Wait::For(Duration::ZERO), lease: None, cancel: None }
    }

    /// Up to so many jobs, 1 to 10,000. What is at hand is taken without waiting for more.
    pub fn max_jobs(mut self, count: u32) -> Self {
        self.max_jobs = count;
        self
    }

    /// Wait so long for the first job.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Wait::For(wait);
        self
    }

    /// Wait for the first job until there is one, the store closes, or a [`Cancel`] ends it.
    pub fn wait_forever(mut self) -> Self {
        self.wait = Wait::Forever;
        self
    }

    /// How long the leases are; without it the `timeout` of the job, or else the `lease` of its queue.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// A token that ends the wait: [`Outcome::Cancelled`].
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    fn lower(&self) -> sys::wq_lease_options {
        let mut raw = sys::wq_lease_options::init();
        raw.max_jobs = self.max_jobs;
        raw.wait_ms = self.wait.ms();
        raw.lease_ms = opt_ms(self.lease);
        raw
    }
}

/// What a lease gave: jobs, or the outcome that says why there are none.
#[derive(Debug)]
#[must_use = "the jobs are leased"]
pub struct Lease {
    jobs: Vec<Job>,
    outcome: Outcome,
}

/// No jobs, for [`Queue::lease_into`].
impl Default for Lease {
    fn default() -> Lease {
        Lease { jobs: Vec::new(), outcome: Outcome::Empty }
    }
}

impl Lease {
    /// `Ok` if there are jobs; `Empty` after the wait; `Paused`, `Disabled` (every queue is);
    /// `Cancelled`.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The jobs, by value.
    pub fn into_jobs(self) -> Vec<Job> {
        self.jobs
    }
}

impl Deref for Lease {
    type Target = [Job];

    fn deref(&self) -> &[Job] {
        &self.jobs
    }
}

impl IntoIterator for Lease {
    type Item = Job;
    type IntoIter = std::vec::IntoIter<Job>;

    fn into_iter(self) -> Self::IntoIter {
        self.jobs.into_iter()
    }
}

impl<'a> IntoIterator for &'a Lease {
    type Item = &'a Job;
    type IntoIter = std::slice::Iter<'a, Job>;

    fn into_iter(self) -> Self::IntoIter {
        self.jobs.iter()
    }
}

impl Queue {
    /// Take ready jobs of this queue and lease each. Order: priority, then who was ready first.
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("lease");
    /// # let store = wq::Store::open(&dir)?;
    /// # let queue = store.queue("mail")?;
    /// # let _ = queue.enqueue("hello")?;
    /// for job in queue.lease(&wq::LeaseOptions::new().max_jobs(10))? {
    ///     assert_eq!(job.text(), Some("hello"));
    ///     assert!(job.ack()?.is_ok());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Closed` (closed or shutting down), `NotFound` (queue deleted), `NoKey` (the queue encrypts, and
    /// the store has no key at all), `TooLarge`, `Invalid`, and those of storage.
    pub fn lease(&self, options: &LeaseOptions) -> Result<Lease> {
        self.store().lease(&[self], options)
    }

    /// The same, into the memory of a lease that is done with, so that a busy consumer does not
    /// allocate and free each job. What was in it is gone; a job of it that was not settled keeps its
    /// lease until the deadline. Returns [`Lease::outcome`].
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("lease_into");
    /// # let store = wq::Store::open(&dir)?;
    /// # let queue = store.queue("mail")?;
    /// # let _ = queue.enqueue("hello")?;
    /// let options = wq::LeaseOptions::new().max_jobs(100);
    /// let mut lease = wq::Lease::default();
    /// while queue.lease_into(&options, &mut lease)?.is_ok() {
    ///     for job in &lease {
    ///         assert_eq!(job.text(), Some("hello"));
    ///         assert!(job.ack()?.is_ok());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`lease`](Queue::lease); there are no jobs in it then.
    pub fn lease_into(&self, options: &LeaseOptions, lease: &mut Lease) -> Result<Outcome> {
        self.store().lease_into(&[self], options, lease)
    }

    /// The same as a future; see [`LeaseFuture`].
    pub fn lease_async(&self, options: &LeaseOptions) -> LeaseFuture {
        self.store().lease_async(&[self], options)
    }

    /// The jobs of this queue, one after another, for a loop that works on them.
    ///
    /// Leases up to `max_jobs` at a time: those behind the first wait leased, so keep it small if
    /// work is slow. Ends when a lease gives none after its wait, when the store closes or shuts
    /// down, or when the token is fired.
    pub fn jobs(&self, options: &LeaseOptions) -> Jobs {
        let options = options.clone();
        Jobs { queue: self.clone(), options, ready: Vec::new().into_iter(), ended: false }
    }
}

/// The iterator of [`Queue::jobs`].
#[derive(Debug)]
pub struct Jobs {
    queue: Queue,
    options: LeaseOptions,
    ready: std::vec::IntoIter<Job>,
    ended: bool,
}

impl Iterator for Jobs {
    type Item = Result<Job>;

    fn next(&mut self) -> Option<Result<Job>> {
        if let Some(job) = self.ready.next() {
            return Some(Ok(job));
        }
        if self.ended {
            return None;
        }
        match self.queue.lease(&self.options) {
            Ok(lease) => {
                self.ended = lease.is_empty();
                self.ready = lease.jobs.into_iter();
                self.ready.next().map(Ok)
            }
            Err(error) => {
                self.ended = true;
                Some(error).filter(|error| error.code() != ErrorCode::Closed).map(Err)
            }
        }
    }
}

/// Those that were leased and not yet given out go back uncounted.
impl Drop for Jobs {
    fn drop(&mut self) {
        give_back(self.ready.by_ref().collect());
    }
}

impl Store {
    /// Take ready jobs from these queues: a later one only gives what the earlier ones left.
    ///
    /// # Errors
    /// As [`Queue::lease`]; `Invalid` also for no queue, one named twice, or one of another store.
    pub fn lease(&self, queues: &[&Queue], options: &LeaseOptions) -> Result<Lease> {
        let mut lease = Lease::default();
        let _ = self.lease_into(queues, options, &mut lease)?;
        Ok(lease)
    }

    /// The same, into the memory of a lease that is done with: see [`Queue::lease_into`].
    ///
    /// # Errors
    /// As [`lease`](Store::lease); there are no jobs in it then.
    pub fn lease_into(
        &self,
        queues: &[&Queue],
        options: &LeaseOptions,
        lease: &mut Lease,
    ) -> Result<Outcome> {
        let cancel = options.cancel.as_ref().map_or(ptr::null_mut(), Cancel::raw);
        let done = self.run(|ctx| lease_call(self, queues, &options.lower(), cancel, ctx, lease));
        match done {
            Ok(()) => Ok(lease.outcome),
            Err(error) => {
                *lease = Lease::default();
                Err(error)
            }
        }
    }

    /// The same as a future; see [`LeaseFuture`].
    pub fn lease_async(&self, queues: &[&Queue], options: &LeaseOptions) -> LeaseFuture {
        LeaseFuture::begin(self, queues, options)
    }
}

fn lease_call(
    store: &Store,
    queues: &[&Queue],
    options: &sys::wq_lease_options,
    cancel: *mut sys::wq_cancel,
    ctx: &mut Ctx,
    into: &mut Lease,
) -> Result<()> {
    let handle = store.raw()?;
    let raw = queues.iter().map(|queue| queue.raw()).collect::<Result<Vec<_>>>()?;
    let mut batch = BatchHandle::null();
    let (call, err) = (&mut ctx.call, &mut ctx.err);
    // SAFETY: handles of ours, an array of the length that is told, structs with their size, a token
    // that the caller keeps or NULL, and a valid place for the batch, which its owner frees.
    let code = unsafe {
        let (queues, n) = (raw.as_ptr(), raw.len());
        sys::wq_lease(handle, queues, n, options, cancel, call, &mut batch.0, err)
    };
    into.outcome = ctx.outcome(code)?;
    Job::tell_all(&mut into.jobs, &batch, queues, store.durability)
}

/// A lease of its own.
fn new_lease(
    store: &Store,
    queues: &[&Queue],
    options: &sys::wq_lease_options,
    cancel: *mut sys::wq_cancel,
    ctx: &mut Ctx,
) -> Result<Lease> {
    let mut lease = Lease::default();
    lease_call(store, queues, options, cancel, ctx, &mut lease)?;
    Ok(lease)
}

/// Jobs that nobody will work on go back, uncounted and to the head of their priority. Best effort:
/// what can not be given back is handed out again when its lease has run out.
pub(crate) fn give_back(mut jobs: Vec<Job>) {
    let back = Settle::release().front();
    // The last one first, so that they stand in their old order.
    jobs.reverse();
    while let Some(queue) = jobs.first().map(|job| job.queue().with_durability(Durability::Memory))
    {
        let (of_queue, others): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| Arc::ptr_eq(&job.queue().inner, &queue.inner));
        let items: Vec<_> = of_queue.iter().map(|job| (job.token(), back.clone())).collect();
        let _ = queue.settle_many(&items);
        jobs = others;
    }
}

/// A lease that is under way.
///
/// Begun when it was made. If a job is ready, nothing waits but for durability; else a thread of a
/// pool waits for it, one for each lease that waits. So have few of these with a large `max_jobs`,
/// not one for each job.
///
/// Dropped before it is ready, it cancels the wait, and returns when the thread has left the store: at
/// once, or after the flush of a lease that came just then. Jobs leased by then go back uncounted.
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("lease_async");
/// let store = wq::Store::open(&dir)?;
/// let queue = store.queue("mail")?;
/// let lease = queue.lease_async(&wq::LeaseOptions::new().wait_forever());
/// assert!(queue.enqueue("hello")?.is_new());
/// let jobs = wq::block_on(lease)?;
/// assert_eq!(jobs[0].text(), Some("hello"));
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it cancels the lease"]
pub struct LeaseFuture(Stage);

enum Stage {
    /// Leased, or refused; on its way to durability.
    Leased(Pending<GivenBack>),
    /// A thread waits.
    Waiting(Arc<Waiting>),
}

/// Leased jobs that go back when nobody takes them.
struct GivenBack(Option<Lease>);

impl GivenBack {
    fn take(mut self) -> Lease {
        self.0.take().unwrap_or_default()
    }
}

impl Drop for GivenBack {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            give_back(lease.jobs);
        }
    }
}

struct Waiting {
    cancel: Cancel,
    state: Mutex<WaitState>,
    left: Condvar,
    /// A forked child has no such thread, and must not wait for it.
    process: u32,
}

#[derive(Default)]
struct WaitState {
    result: Option<Result<Lease>>,
    waker: Option<Waker>,
    abandoned: bool,
    /// The thread is out of the library and holds nothing of the store.
    left: bool,
}

impl LeaseFuture {
    fn begin(store: &Store, queues: &[&Queue], options: &LeaseOptions) -> LeaseFuture {
        let mut raw = options.lower();
        let wait_ms = std::mem::take(&mut raw.wait_ms);
        let cancel = options.cancel.as_ref().map_or(ptr::null_mut(), Cancel::raw);
        let mut first = store.begin(|ctx| {
            new_lease(store, queues, &raw, cancel, ctx).map(|lease| GivenBack(Some(lease)))
        });
        let no_job = |given: &GivenBack| {
            let outcome = given.0.as_ref().map(Lease::outcome);
            matches!(outcome, Some(Outcome::Empty | Outcome::Paused | Outcome::Disabled))
        };
        if wait_ms == 0 || !first.peek().map_or(false, no_job) {
            return LeaseFuture(Stage::Leased(first));
        }
        raw.wait_ms = wait_ms;
        match LeaseFuture::wait(store, queues, raw, options.cancel.as_ref()) {
            Ok(waiting) => LeaseFuture(Stage::Waiting(waiting)),
            Err(error) => LeaseFuture(Stage::Leased(Pending::ready(Err(error)))),
        }
    }

    fn wait(
        store: &Store,
        queues: &[&Queue],
        options: sys::wq_lease_options,
        outer: Option<&Cancel>,
    ) -> Result<Arc<Waiting>> {
        let waiting = Arc::new(Waiting {
            cancel: Cancel::new()?,
            state: Mutex::default(),
            left: Condvar::new(),
            process: std::process::id(),
        });
        if let Some(outer) = outer {
            outer.link(&waiting.cancel);
        }
        let (shared, store) = (waiting.clone(), store.clone());
        let queues: Vec<Queue> = queues.iter().map(|queue| (*queue).clone()).collect();
        let (max_jobs, wait_ms, lease_ms) = (options.max_jobs, options.wait_ms, options.lease_ms);
        waiters::run(Box::new(move || {
            let mut options = sys::wq_lease_options::init();
            options.max_jobs = max_jobs;
            options.wait_ms = wait_ms;
            options.lease_ms = lease_ms;
            let cancel = shared.cancel.raw();
            let result = store.run(|ctx| {
                let queues: Vec<&Queue> = queues.iter().collect();
                new_lease(&store, &queues, &options, cancel, ctx)
            });
            // Before the news: who has them may count on being the last owner.
            drop((queues, store));
            shared.finish(result);
        }))?;
        Ok(waiting)
    }
}

impl Waiting {
    fn finish(&self, result: Result<Lease>) {
        let mut state = lock(&self.state);
        if state.abandoned {
            drop(state);
            drop(result.map(|lease| GivenBack(Some(lease))));
            lock(&self.state).left = true;
            return self.left.notify_all();
        }
        state.result = Some(result);
        state.left = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Waiting {
    /// Until the thread has gone, so that it does not outlive the caller's last handle: it would
    /// close the store at a moment of its own, maybe while the process ends.
    fn until_left(&self) {
        let mut state = lock(&self.state);
        while !state.left && self.process == std::process::id() {
            state = self.left.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl Future for LeaseFuture {
    type Output = Result<Lease>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Lease>> {
        match &mut self.0 {
            Stage::Leased(pending) => {
                Pin::new(pending).poll(cx).map(|result| result.map(GivenBack::take))
            }
            Stage::Waiting(waiting) => {
                let mut state = lock(&waiting.state);
                if let Some(result) = state.result.take() {
                    return Poll::Ready(result);
                }
                match &state.waker {
                    Some(waker) if waker.will_wake(cx.waker()) => {}
                    _ => state.waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for LeaseFuture {
    fn drop(&mut self) {
        if let Stage::Waiting(waiting) = &self.0 {
            let left = {
                let mut state = lock(&waiting.state);
                state.abandoned = true;
                state.waker = None;
                state.result.take()
            };
            waiting.cancel.fire();
            drop(left.map(|result| result.map(|lease| GivenBack(Some(lease)))));
            waiting.until_left();
        }
    }
}

impl std::fmt::Debug for LeaseFuture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stage = match &self.0 {
            Stage::Leased(_) => "leased",
            Stage::Waiting(_) => "waiting",
        };
        f.debug_tuple("LeaseFuture").field(&stage).finish()
    }
}
