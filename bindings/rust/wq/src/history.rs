//! The history of a queue: jobs that were acked, with their results.

use std::time::SystemTime;

use wq_sys as sys;

use crate::error::Result;
use crate::handle::{bytes_of, ListHandle};
use crate::queue::Queue;
use crate::time::from_at_ms;

impl Queue {
    /// The history of this queue, which it keeps if [`QueueConfig::keep_done`](crate::QueueConfig)
    /// says so.
    pub fn history(&self) -> History<'_> {
        History { queue: self }
    }
}

/// The acked jobs of a queue; see [`Queue::history`].
#[derive(Clone, Copy, Debug)]
pub struct History<'q> {
    queue: &'q Queue,
}

/// A job that was acked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoneJob {
    /// The job.
    pub id: u64,
    /// Of the lease that was acked.
    pub generation: u64,
    /// As it was.
    pub priority: u32,
    /// The flow that it was a member of.
    pub flow: Option<u64>,
    /// How often it was tried.
    pub attempts: u32,
    /// Nacks that counted.
    pub exceptions: u32,
    /// Times it came back from the dead letters.
    pub replays: u32,
    /// When it was enqueued.
    pub enqueued: Option<SystemTime>,
    /// When its last lease began.
    pub leased: Option<SystemTime>,
    /// When it was acked.
    pub done: Option<SystemTime>,
    /// What it was acked with.
    pub result: Vec<u8>,
}

impl DoneJob {
    /// # Safety
    /// The list that the view leads into must be there.
    unsafe fn of_raw(raw: &sys::wq_done_job) -> DoneJob {
        DoneJob {
            id: raw.id,
            generation: raw.generation,
            priority: raw.priority,
            flow: Some(raw.flow).filter(|flow| *flow != 0),
            attempts: raw.attempts,
            exceptions: raw.exceptions,
            replays: raw.replays,
            enqueued: from_at_ms(raw.enqueued_ms),
            leased: from_at_ms(raw.leased_ms),
            done: from_at_ms(raw.done_ms),
            result: bytes_of(raw.result).to_vec(),
        }
    }
}

impl History<'_> {
    /// Read one acked job.
    ///
    /// # Errors
    /// `NotFound` (not acked, not kept, or queue deleted), `Closed`, and those of storage.
    pub fn get(&self, id: u64) -> Result<DoneJob> {
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let mut raw = sys::wq_done_job::init();
            let mut list = ListHandle::null();
            // SAFETY: a queue of ours, a struct with its size, and a valid place for the list, which
            // its owner frees after the bytes in it were copied.
            unsafe {
                let code = sys::wq_history_get(queue, id, &mut raw, &mut list.0, &mut ctx.err);
                ctx.done(code)?;
                Ok(DoneJob::of_raw(&raw))
            }
        })
    }

    /// One page of acked jobs, newest first: up to `limit` (1 to 1,000). `cursor` is 0 at first; it is
    /// moved on, and 0 when there is no more. A page may be empty though there are more.
    ///
    /// # Errors
    /// `Invalid` (limit), `NotFound` (queue deleted), `Closed`, and those of storage.
    pub fn page(&self, cursor: &mut u64, limit: usize) -> Result<Vec<DoneJob>> {
        // One more than allowed is told by the library; memory for more is not needed for that.
        let room = limit.min(1001);
        let mut raw = vec![sys::wq_done_job::init(); room];
        let mut count = 0;
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let mut list = ListHandle::null();
            // SAFETY: a queue of ours, an array of the length that is told, and valid places; the
            // list is freed by its owner after the bytes in it were copied.
            unsafe {
                let size = std::mem::size_of::<sys::wq_done_job>();
                let (out, err) = (raw.as_mut_ptr(), &mut ctx.err);
                let code = sys::wq_history_list(
                    queue,
                    cursor,
                    out,
                    room,
                    size,
                    &mut count,
                    &mut list.0,
                    err,
                );
                ctx.done(code)?;
                Ok(raw[..count.min(room)].iter().map(|job| DoneJob::of_raw(job)).collect())
            }
        })
    }

    /// All acked jobs that are kept, newest first.
    pub fn iter(&self) -> impl Iterator<Item = Result<DoneJob>> + '_ {
        let history = *self;
        crate::paging::pages(0u64, move |cursor| {
            let page = history.page(cursor, 100)?;
            Ok((page, *cursor != 0))
        })
    }
}
