//! A queue: producing, configuring, reading.

use std::sync::Arc;

use wq_sys as sys;

use crate::arena::Arena;
use crate::call::Ctx;
use crate::code::Outcome;
use crate::config::QueueConfig;
use crate::driver::Pending;
use crate::error::Result;
use crate::handle::{BatchHandle, QueueInner};
use crate::job::JobInfo;
use crate::spec::JobSpec;
use crate::stats::QueueStats;
use crate::store::Store;
use crate::words::{Durability, State};

/// A handle on a queue of an open store. Clones are the same handle.
///
/// It keeps its store open, until [`Store::close`]. All methods may be called from any number of
/// threads at once.
#[derive(Clone)]
pub struct Queue {
    pub(crate) inner: Arc<QueueInner>,
    pub(crate) durability: Option<Durability>,
}

/// What became of a job of an enqueue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "the job may have met another one that holds its key"]
pub struct Enqueued {
    /// `Ok`; `Duplicate`: another job holds the key; `Disabled`: the queue is; `Conflict`: the flow
    /// that it would join is finished or cancelled.
    pub outcome: Outcome,
    /// The job; of a duplicate the one that holds the key; else 0.
    pub id: u64,
    /// LSN of the record that holds it; 0 unless it is new. See [`Store::wait_durable`].
    pub lsn: u64,
}

impl Enqueued {
    /// Whether a new job is there.
    pub fn is_new(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The job that holds the key, if this is a duplicate.
    pub fn holder(&self) -> Option<u64> {
        Some(self.id).filter(|_| self.outcome == Outcome::Duplicate)
    }
}

/// What became of the jobs of one call.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "some jobs may have been refused, or have met others that hold their keys"]
pub struct EnqueuedMany {
    /// How many new jobs are there.
    pub accepted: usize,
    /// One for each spec, in their order.
    pub items: Vec<Result<Enqueued>>,
    /// What the call said: `Ok`, or why jobs were refused.
    pub outcome: Outcome,
    /// Of a partial call: the error that the first refused job was refused with.
    pub refusal: Option<crate::Error>,
}

impl EnqueuedMany {
    /// The ids of the new jobs.
    pub fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.items.iter().flatten().filter(|item| item.is_new()).map(|item| item.id)
    }
}

impl Queue {
    pub(crate) fn raw(&self) -> Result<*mut sys::wq_queue> {
        self.inner.raw()
    }

    pub(crate) fn run<T>(&self, call: impl FnOnce(&mut Ctx) -> Result<T>) -> Result<T> {
        self.inner.store.run(self.durability, call)
    }

    pub(crate) fn begin<T>(&self, call: impl FnOnce(&mut Ctx) -> Result<T>) -> Pending<T> {
        self.inner.store.begin(self.durability, call)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The store that it is of.
    pub fn store(&self) -> Store {
        Store { inner: self.inner.store.clone(), durability: self.durability }
    }

    /// The same handle, whose changing calls have this durability instead of their defaults. Jobs
    /// that are leased with it have it too.
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("durability");
    /// let store = wq::Store::open(&dir)?;
    /// let fast = store.queue("clicks")?.with_durability(wq::Durability::Memory);
    /// assert!(fast.enqueue("one")?.is_new()); // applied; on the device within some tens of milliseconds
    /// store.sync()?; // everything before this survives power loss
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_durability(&self, durability: Durability) -> Queue {
        Queue { inner: self.inner.clone(), durability: Some(durability) }
    }

    /// Close this handle and its clones. Those who wait in a lease on it get
    /// [`ErrorCode::Closed`](crate::ErrorCode::Closed), and so does every call from then on. The queue itself is untouched.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Enqueue one job: a payload alone, or a [`JobSpec`]. Waits until it is as durable as asked for.
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("enqueue");
    /// # let store = wq::Store::open(&dir)?;
    /// # let queue = store.queue("mail")?;
    /// let first = queue.enqueue(wq::JobSpec::new("to: ann").unique("ann", None))?;
    /// let again = queue.enqueue(wq::JobSpec::new("to: ann").unique("ann", None))?;
    /// assert_eq!(again.outcome, wq::Outcome::Duplicate);
    /// assert_eq!(again.holder(), Some(first.id));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Invalid`, `TooLarge`, `Unsupported` (the message names the field), `NotFound` (queue deleted,
    /// no such flow, no queue of that name for a job of the chain), `Full`, `NoKey`, `NoSpace`,
    /// `Closed`, and those of storage.
    pub fn enqueue<'a>(&self, spec: impl Into<JobSpec<'a>>) -> Result<Enqueued> {
        let spec = spec.into();
        self.run(|ctx| self.enqueue_call(&spec, ctx))
    }

    /// The same, without waiting for durability: the job is there when this returns.
    ///
    /// It may wait for room, when memory is full of unfinished work.
    pub fn enqueue_async<'a>(&self, spec: impl Into<JobSpec<'a>>) -> Pending<Enqueued> {
        let spec = spec.into();
        self.begin(|ctx| self.enqueue_call(&spec, ctx))
    }

    fn enqueue_call(&self, spec: &JobSpec<'_>, ctx: &mut Ctx) -> Result<Enqueued> {
        let queue = self.raw()?;
        let mut arena = Arena::default();
        let raw = spec.lower(&mut arena);
        let mut out = sys::wq_enqueued::init();
        // SAFETY: a queue of ours; what the spec points to lives as long as `spec` and `arena`.
        let code = unsafe { sys::wq_enqueue(queue, &raw, &mut ctx.call, &mut out, &mut ctx.err) };
        let outcome = ctx.outcome(code)?;
        Ok(Enqueued { outcome, id: out.job_id, lsn: out.lsn })
    }

    /// Enqueue up to 10,000 jobs in one change, in their order: all of them, or none.
    ///
    /// A job that meets the holder of a key is no refusal: it alone is `Duplicate`.
    ///
    /// # Errors
    /// As [`enqueue`](Queue::enqueue): the first job that is refused refuses them all.
    pub fn enqueue_many(&self, specs: &[JobSpec<'_>]) -> Result<EnqueuedMany> {
        self.run(|ctx| self.enqueue_many_call(specs, 0, ctx))
    }

    /// The same, without waiting for durability.
    pub fn enqueue_many_async(&self, specs: &[JobSpec<'_>]) -> Pending<EnqueuedMany> {
        self.begin(|ctx| self.enqueue_many_call(specs, 0, ctx))
    }

    /// Enqueue the jobs up to the first one that is refused, in one change.
    ///
    /// # Errors
    /// As [`enqueue`](Queue::enqueue), if no job was taken. If some were, why the next one was not
    /// stands in [`EnqueuedMany::refusal`].
    pub fn enqueue_partial(&self, specs: &[JobSpec<'_>]) -> Result<EnqueuedMany> {
        self.run(|ctx| self.enqueue_many_call(specs, sys::WQ_ENQUEUE_PARTIAL, ctx))
    }

    /// The same, without waiting for durability.
    pub fn enqueue_partial_async(&self, specs: &[JobSpec<'_>]) -> Pending<EnqueuedMany> {
        self.begin(|ctx| self.enqueue_many_call(specs, sys::WQ_ENQUEUE_PARTIAL, ctx))
    }

    fn enqueue_many_call(
        &self,
        specs: &[JobSpec<'_>],
        flags: u32,
        ctx: &mut Ctx,
    ) -> Result<EnqueuedMany> {
        let queue = self.raw()?;
        let mut arena = Arena::default();
        let mut raw = vec![sys::wq_job_spec::init(); specs.len()];
        for (raw, spec) in raw.iter_mut().zip(specs) {
            spec.lower_to(raw, &mut arena);
        }
        let mut out = vec![sys::wq_enqueued::init(); raw.len()];
        let mut accepted = 0;
        // SAFETY: a queue of ours; arrays of the length that is told, whose pointers lead to
        // `specs` and `arena`.
        let code = unsafe {
            sys::wq_enqueue_many(
                queue,
                raw.as_ptr(),
                raw.len(),
                std::mem::size_of::<sys::wq_job_spec>(),
                flags,
                &mut ctx.call,
                out.as_mut_ptr(),
                std::mem::size_of::<sys::wq_enqueued>(),
                &mut accepted,
                &mut ctx.err,
            )
        };
        let told = ctx.outcome(code);
        let some = out.iter().any(|one| one.code == sys::WQ_OK || one.code == sys::WQ_DUPLICATE);
        let (outcome, refusal) = match told {
            Ok(outcome) => (outcome, None),
            Err(error) if flags != 0 && (accepted > 0 || some) => (Outcome::Ok, Some(error)),
            Err(error) => return Err(error),
        };
        let items = out.iter().map(|one| {
            let outcome = ctx.outcome(one.code)?;
            Ok(Enqueued { outcome, id: one.job_id, lsn: one.lsn })
        });
        Ok(EnqueuedMany { accepted, items: items.collect(), outcome, refusal })
    }

    /// Change what `config` names, all together; the rest stays. Holds for what happens from now on.
    /// [`Outcome::Conflict`]: it has another version.
    ///
    /// # Errors
    /// `Invalid`, `Unsupported`, `NotFound` (queue deleted), `NoSpace`, and those of storage.
    pub fn configure(&self, config: &QueueConfig) -> Result<Outcome> {
        let raw = config.lower();
        self.run(|ctx| {
            let queue = self.raw()?;
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_queue_configure(queue, &raw, &mut ctx.call, &mut ctx.err) };
            ctx.outcome(code)
        })
    }

    /// The whole configuration, with status and version.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Closed`.
    pub fn config(&self) -> Result<QueueConfig> {
        let mut raw = sys::wq_queue_config::init();
        self.run(|ctx| {
            let queue = self.raw()?;
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_queue_get_config(queue, &mut raw, &mut ctx.err) };
            ctx.done(code)?;
            Ok(QueueConfig::of_raw(&raw))
        })
    }

    /// Hand out no jobs; enqueue, settles, expiry and promotion go on.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `NoSpace`, `Closed`, and those of storage.
    pub fn pause(&self) -> Result<()> {
        self.change_status(sys::wq_queue_pause)
    }

    /// Hand out jobs again.
    ///
    /// # Errors
    /// As [`pause`](Queue::pause).
    pub fn resume(&self) -> Result<()> {
        self.change_status(sys::wq_queue_resume)
    }

    /// Refuse new jobs and hand out none; settles, expiry and promotion go on.
    ///
    /// # Errors
    /// As [`pause`](Queue::pause).
    pub fn disable(&self) -> Result<()> {
        self.change_status(sys::wq_queue_disable)
    }

    /// Take jobs again. A queue that was paused as well is paused then.
    ///
    /// # Errors
    /// As [`pause`](Queue::pause).
    pub fn enable(&self) -> Result<()> {
        self.change_status(sys::wq_queue_enable)
    }

    /// Delete the queue with all its jobs, dead letters, configuration and totals, in one change.
    /// Every handle on it answers `NotFound` from then on.
    ///
    /// # Errors
    /// `NotFound` (deleted already), `Closed`, and those of storage.
    pub fn delete(&self) -> Result<()> {
        self.change_status(sys::wq_queue_delete)
    }

    fn change_status(&self, call: StatusCall) -> Result<()> {
        self.run(|ctx| {
            let queue = self.raw()?;
            // SAFETY: one of the five calls above, a queue of ours, and structs with their size.
            let code = unsafe { call(queue, &mut ctx.call, &mut ctx.err) };
            ctx.done(code)
        })
    }

    /// Remove all jobs that are in one of these states, in one change; with none named, those that
    /// are ready or delayed. Gives how many there were.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Closed`, and those of storage.
    pub fn clear(&self, states: &[State]) -> Result<u64> {
        let mask = states.iter().fold(0, |mask, state| mask | 1u32.wrapping_shl(state.raw()));
        let mut removed = 0;
        self.run(|ctx| {
            let queue = self.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_queue_clear(queue, mask, &mut removed, call, err) };
            ctx.done(code)?;
            Ok(removed)
        })
    }

    /// Counts of now and totals, exact and as of one moment.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Closed`, `Io`.
    pub fn stats(&self) -> Result<QueueStats> {
        let mut raw = sys::wq_queue_stats::init();
        self.run(|ctx| {
            let queue = self.raw()?;
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_queue_get_stats(queue, &mut raw, &mut ctx.err) };
            ctx.done(code)?;
            Ok(QueueStats::of_raw(&raw))
        })
    }

    /// Read one job of this queue, in whatever state.
    ///
    /// # Errors
    /// `NotFound` (ended, removed, another queue's, or queue deleted), `Closed`, and those of storage.
    pub fn get(&self, id: u64) -> Result<JobInfo> {
        self.run(|ctx| {
            let queue = self.raw()?;
            let mut batch = BatchHandle::null();
            // SAFETY: a queue of ours, and a valid place for the batch, which is freed by its owner.
            let code = unsafe { sys::wq_job_get(queue, id, &mut batch.0, &mut ctx.err) };
            ctx.done(code)?;
            JobInfo::of_batch(&batch, 0, &[&self.inner.name])
        })
    }

    /// Remove a job that is ready, delayed, leased or running; its worker learns it from its next
    /// call. [`Outcome::Conflict`]: it is dead.
    ///
    /// # Errors
    /// As [`get`](Queue::get).
    pub fn cancel(&self, id: u64) -> Result<Outcome> {
        self.run(|ctx| {
            let queue = self.raw()?;
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_job_cancel(queue, id, &mut ctx.call, &mut ctx.err) };
            ctx.outcome(code)
        })
    }

    /// Give a ready or delayed job another priority. [`Outcome::Conflict`]: it is leased, running or
    /// dead.
    ///
    /// # Errors
    /// As [`get`](Queue::get).
    pub fn reprioritise(&self, id: u64, priority: u8) -> Result<Outcome> {
        self.run(|ctx| {
            let queue = self.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, and structs with their size.
            let code =
                unsafe { sys::wq_job_reprioritise(queue, id, u32::from(priority), call, err) };
            ctx.outcome(code)
        })
    }
}

type StatusCall =
    unsafe extern "C" fn(*mut sys::wq_queue, *mut sys::wq_call, *mut sys::wq_error) -> i32;

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("name", &self.inner.name).finish_non_exhaustive()
    }
}
