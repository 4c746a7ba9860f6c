//! Looking at what happens and why: events, failed attempts, explanations, keys.

use std::ptr;
use std::time::{Duration, SystemTime};

use wq_sys as sys;

use crate::code::Outcome;
use crate::error::{text_of, text_of_len, Result};
use crate::handle::{view, Cancel, TextHandle};
use crate::job::Token;
use crate::queue::Queue;
use crate::store::{Store, Wait};
use crate::time::from_at_ms;
use crate::words::{mirror, Causes, DeadReason, EventKind, KeyKind, QueueStatus, State};

/// One change of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreEvent {
    /// What happened.
    pub kind: EventKind,
    /// 1, 2, 3, ... since the store was opened.
    pub sequence: u64,
    /// Of the change; those of one call have the same.
    pub lsn: u64,
    /// When it happened.
    pub at: Option<SystemTime>,
    /// See the kinds.
    pub time: Option<SystemTime>,
    /// 0: about no single job.
    pub job_id: u64,
    /// Of its last lease; 0: never leased.
    pub generation: u64,
    /// Jobs that it is about.
    pub count: u64,
    /// Attempts counted so far.
    pub attempt: u32,
    /// Why it is dead.
    pub dead_reason: Option<DeadReason>,
    /// Empty: about no queue.
    pub queue_name: String,
}

/// What a poll for events found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Events {
    /// `Ok`; `Empty` after the wait; `Cancelled`.
    pub outcome: Outcome,
    /// In the order of their changes.
    pub events: Vec<StoreEvent>,
    /// Events that were not there any more, before the first one: the reader was too slow.
    pub dropped: u64,
}

/// A reader of the events of a store; see [`Store::events`]. Several are independent.
pub struct EventReader {
    store: Store,
    cursor: sys::wq_event_cursor,
    cancel: Option<Cancel>,
}

impl Store {
    /// Read the events of this store, beginning with the oldest that is kept. The store must have
    /// been opened with [`OpenOptions::events`](crate::OpenOptions::events).
    pub fn events(&self) -> EventReader {
        let cursor = sys::wq_event_cursor::init();
        EventReader { store: self.clone(), cursor, cancel: None }
    }
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader").field("sequence", &self.cursor.sequence).finish()
    }
}

impl EventReader {
    /// Skip what has happened before the first poll.
    #[must_use]
    pub fn from_now(mut self) -> EventReader {
        self.cursor.flags |= sys::WQ_EVENTS_FROM_NOW;
        self
    }

    /// A token that ends waits: [`Outcome::Cancelled`].
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> EventReader {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Take up to `max` events, waiting for the first.
    ///
    /// # Errors
    /// `Unsupported` (the store keeps no events), `Invalid` (`max` is 0), `Closed`.
    pub fn poll(&mut self, max: usize, wait: impl Into<Wait>) -> Result<Events> {
        let room = max.min(4096);
        let mut raw = vec![sys::wq_store_event::init(); room];
        let mut count = 0;
        let wait_ms = wait.into().ms();
        let cancel = self.cancel.as_ref().map_or(ptr::null_mut(), Cancel::raw);
        let cursor = &mut self.cursor;
        let store = &self.store;
        let outcome = store.run(|ctx| {
            let handle = store.raw()?;
            // SAFETY: a store of ours, a cursor that this thread alone has, an array of the length
            // that is told, and a token that self keeps.
            let code = unsafe {
                let size = std::mem::size_of::<sys::wq_store_event>();
                let (out, err) = (raw.as_mut_ptr(), &mut ctx.err);
                sys::wq_events_poll(
                    handle, cursor, out, room, size, wait_ms, cancel, &mut count, err,
                )
            };
            ctx.outcome(code)
        })?;
        let events = raw[..count.min(room)].iter().map(StoreEvent::of_raw).collect();
        Ok(Events { outcome, events, dropped: self.cursor.dropped })
    }
}

impl StoreEvent {
    fn of_raw(raw: &sys::wq_store_event) -> StoreEvent {
        StoreEvent {
            kind: EventKind::from_raw(raw.kind),
            sequence: raw.sequence,
            lsn: raw.lsn,
            at: from_at_ms(raw.at_ms),
            time: from_at_ms(raw.time_ms),
            job_id: raw.job_id,
            generation: raw.generation,
            count: raw.count,
            attempt: raw.attempt,
            dead_reason: Some(raw.dead_reason).filter(|r| *r != 0).map(DeadReason::from_raw),
            queue_name: text_of(&raw.queue_name),
        }
    }
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueError {
    /// `Nacked`, `Dead` (a fail) or `Expired`.
    pub kind: EventKind,
    /// When.
    pub at: Option<SystemTime>,
    /// The job.
    pub job_id: u64,
    /// The lease.
    pub generation: u64,
    /// Which attempt it was.
    pub attempt: u32,
    /// One line, cut to 240 bytes; empty: none was given.
    pub text: String,
}

mirror! {
    /// Where a job is and why it does not run, as of one moment.
    JobExplanation of wq_job_explanation {
        /// Where it is.
        state: State = state,
        /// What holds it back; none: the next lease takes it.
        causes: Causes = causes,
        /// Why it is dead.
        dead_reason: Option<DeadReason> = dead_reason,
        /// Delayed: when it is ready; held: its deadline; rate, cooling: when a job may begin.
        until: Option<SystemTime> = until_ms,
        /// Ready: jobs of the queue that go before it.
        ahead: u64 = ahead,
        /// Exactly so many; else at most.
        ahead_exact: bool = ahead_exact,
        /// Of its queue.
        queue_status: QueueStatus = queue_status,
        /// Leased and running jobs of the queue.
        slots_taken: u64 = slots_taken,
        /// `max_running`; 0: no bound.
        slots_max: u64 = slots_max,
        /// Leases that wait for a job of the queue.
        consumers_waiting: u64 = consumers_waiting,
        /// The job that is leased or running longest.
        holder: Option<u64> = holder_id,
        /// Its lease.
        holder_generation: u64 = holder_generation,
        /// For how long.
        holder_age: Duration = holder_age_ms,
    }
}

mirror! {
    /// What holds a queue back, as of one moment. Rates are jobs per second, means of about the last
    /// 1 and 5 minutes.
    QueueExplanation of wq_queue_explanation {
        /// Whether it takes and hands out jobs.
        status: QueueStatus = status,
        /// What holds it back.
        causes: Causes = causes,
        /// Jobs that could be leased now.
        leasable: u64 = leasable,
        /// How long the head has been ready.
        oldest_ready_age: Duration = oldest_ready_age_ms,
        /// Leased and running jobs.
        slots_taken: u64 = slots_taken,
        /// `max_running`; 0: no bound.
        slots_max: u64 = slots_max,
        /// Leases that wait for a job of the queue.
        consumers_waiting: u64 = consumers_waiting,
        /// The job that is leased or running longest.
        holder: Option<u64> = holder_id,
        /// Its lease.
        holder_generation: u64 = holder_generation,
        /// For how long.
        holder_age: Duration = holder_age_ms,
        /// Of enqueues, over a minute.
        enqueue_rate_1m: f64 = enqueue_rate_1m,
        /// Of enqueues, over five minutes.
        enqueue_rate_5m: f64 = enqueue_rate_5m,
        /// Of leases, over a minute.
        lease_rate_1m: f64 = lease_rate_1m,
        /// Of leases, over five minutes.
        lease_rate_5m: f64 = lease_rate_5m,
        /// Of acks, over a minute.
        ack_rate_1m: f64 = ack_rate_1m,
        /// Of acks, over five minutes.
        ack_rate_5m: f64 = ack_rate_5m,
        /// Ready jobs that wait for their group or rate key.
        parked: u64 = parked,
        /// Until the rate lets the next job begin; zero: it does now.
        rate_wait: Duration = rate_wait_ms,
    }
}

impl Queue {
    /// The last failed attempts of the queue, newest first: 10 are kept, in memory, since open.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Closed`.
    pub fn errors(&self) -> Result<Vec<QueueError>> {
        let mut raw = [sys::wq_queue_error::init(); 16];
        let mut count = 0;
        self.run(|ctx| {
            let queue = self.raw()?;
            // SAFETY: a queue of ours, and an array of the length that is told.
            let code = unsafe {
                let size = std::mem::size_of::<sys::wq_queue_error>();
                let (out, n) = (raw.as_mut_ptr(), raw.len());
                sys::wq_queue_get_errors(queue, out, n, size, &mut count, &mut ctx.err)
            };
            ctx.outcome(code)
        })
        .map(|_| ())?;
        let told = raw[..count.min(raw.len())].iter().map(|raw| QueueError {
            kind: EventKind::from_raw(raw.kind),
            at: from_at_ms(raw.at_ms),
            job_id: raw.job_id,
            generation: raw.generation,
            attempt: raw.attempt,
            text: text_of_len(&raw.text, raw.text_len as usize),
        });
        Ok(told.collect())
    }

    /// Tell where a job of this queue is, and why it does not run. Also the same as lines for a
    /// person, whose wording may change.
    ///
    /// # Errors
    /// `NotFound` (ended, removed, another queue's, or queue deleted), `Closed`, those of storage.
    pub fn explain_job(&self, id: u64) -> Result<(JobExplanation, String)> {
        let mut raw = sys::wq_job_explanation::init();
        self.run(|ctx| {
            let queue = self.raw()?;
            let mut text = TextHandle::null();
            // SAFETY: a queue of ours, structs with their size, and a valid place for the text, which
            // its owner frees.
            let code =
                unsafe { sys::wq_job_explain(queue, id, &mut raw, &mut text.0, &mut ctx.err) };
            ctx.done(code)?;
            Ok((JobExplanation::of_raw(&raw), text.text()))
        })
    }

    /// Tell what this queue would hand out now, and what holds it back. Also the same as lines for a
    /// person, whose wording may change.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Closed`, `Io`.
    pub fn explain(&self) -> Result<(QueueExplanation, String)> {
        let mut raw = sys::wq_queue_explanation::init();
        self.run(|ctx| {
            let queue = self.raw()?;
            let mut text = TextHandle::null();
            // SAFETY: as in explain_job.
            let code = unsafe { sys::wq_queue_explain(queue, &mut raw, &mut text.0, &mut ctx.err) };
            ctx.done(code)?;
            Ok((QueueExplanation::of_raw(&raw), text.text()))
        })
    }

    /// The keys of this queue.
    pub fn keys(&self) -> Keys<'_> {
        Keys { queue: self }
    }
}

/// The keys of a queue; see [`Queue::keys`].
#[derive(Clone, Copy, Debug)]
pub struct Keys<'q> {
    queue: &'q Queue,
}

impl Keys<'_> {
    /// Which job holds this key; of an idempotency key: which job a further enqueue would answer
    /// with. `None`: nobody.
    ///
    /// # Errors
    /// `Invalid`, `TooLarge`, `Closed`, and those of storage. A deleted queue has no holders.
    pub fn holder(&self, kind: KeyKind, key: impl AsRef<[u8]>) -> Result<Option<u64>> {
        let key = view(key.as_ref());
        let mut id = 0;
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            // SAFETY: a queue of ours, bytes that live until the end of this method, valid places.
            let code = unsafe {
                let (data, len) = (key.data, key.len);
                sys::wq_key_holder(queue, kind.raw(), data, len, &mut id, &mut ctx.err)
            };
            if code == sys::WQ_E_NOT_FOUND {
                return Ok(None);
            }
            ctx.done(code)?;
            Ok(Some(id))
        })
    }

    /// Cancel the job that holds this unique or debounce key: `Ok` and the job. `Conflict`: it is
    /// dead.
    ///
    /// # Errors
    /// `NotFound` (nobody holds it, or queue deleted), `Invalid` (also an idempotency key),
    /// `TooLarge`, `Closed`, and those of storage.
    pub fn cancel(&self, kind: KeyKind, key: impl AsRef<[u8]>) -> Result<(Outcome, u64)> {
        let key = view(key.as_ref());
        let mut id = 0;
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: as in holder, and structs with their size.
            let code = unsafe {
                let (data, len) = (key.data, key.len);
                sys::wq_key_cancel(queue, kind.raw(), data, len, call, &mut id, err)
            };
            Ok((ctx.outcome(code)?, id))
        })
    }

    /// Give up the unique key of a job before its scope ends; by the holder of its lease only.
    ///
    /// # Errors
    /// `NotFound` (no such job in this queue, or queue deleted), `Closed`, and those of storage.
    pub fn release(&self, token: Token) -> Result<Outcome> {
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_key_release(queue, token.id, token.generation, call, err) };
            ctx.outcome(code)
        })
    }
}
