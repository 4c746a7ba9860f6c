//! Dead letters: jobs that failed for good, until they are replayed, removed or purged.

use std::ptr;
use std::time::{Duration, SystemTime};

use wq_sys as sys;

use crate::code::Outcome;
use crate::error::Result;
use crate::handle::{BatchHandle, Cancel};
use crate::job::{JobInfo, Token};
use crate::progress::{Callback, Progress};
use crate::queue::Queue;
use crate::settle::raw_token;
use crate::spec::Bytes;
use crate::time::{at_ms, from_ms};
use crate::words::DeadReason;

impl Queue {
    /// The dead letters of this queue.
    pub fn dead(&self) -> DeadLetters<'_> {
        DeadLetters { queue: self }
    }
}

/// The dead letters of a queue; see [`Queue::dead`]. An entry is named by the job's id and its last
/// generation: [`JobInfo::token`].
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("dead");
/// # let store = wq::Store::open(&dir)?;
/// # let queue = store.queue("mail")?;
/// # let _ = queue.enqueue("x")?;
/// # assert!(queue.lease(&wq::LeaseOptions::new())?[0].fail("no such address")?.is_ok());
/// for letter in queue.dead().iter(&wq::DeadQuery::new()) {
///     let letter = letter?;
///     assert_eq!(letter.last_error, b"no such address");
///     assert!(queue.dead().replay(letter.token())?.is_ok());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DeadLetters<'q> {
    queue: &'q Queue,
}

/// Which dead letters to list. Without conditions all, newest first.
#[derive(Clone, Debug)]
#[must_use = "a query does nothing by itself"]
pub struct DeadQuery<'a> {
    oldest_first: bool,
    limit: u32,
    reason: u32,
    from: Option<SystemTime>,
    until: Option<SystemTime>,
    error_part: Bytes<'a>,
}

impl Default for DeadQuery<'_> {
    fn default() -> Self {
        DeadQuery::new()
    }
}

impl<'a> DeadQuery<'a> {
    /// All of them, newest first, 100 to a page.
    pub fn new() -> DeadQuery<'a> {
        DeadQuery {
            oldest_first: false,
            limit: 0,
            reason: 0,
            from: None,
            until: None,
            error_part: Bytes::default(),
        }
    }

    /// The oldest first.
    pub fn oldest_first(mut self) -> Self {
        self.oldest_first = true;
        self
    }

    /// How many to a page: 1 to 1,000.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Only those that died of this.
    pub fn reason(mut self, reason: DeadReason) -> Self {
        self.reason = reason.raw();
        self
    }

    /// Only those that died at or after this time.
    pub fn from(mut self, time: SystemTime) -> Self {
        self.from = Some(time);
        self
    }

    /// Only those that died before this time.
    pub fn until(mut self, time: SystemTime) -> Self {
        self.until = Some(time);
        self
    }

    /// Only those whose last error has these bytes in it.
    pub fn error_part(mut self, part: impl Into<Bytes<'a>>) -> Self {
        self.error_part = part.into();
        self
    }
}

/// A page of dead letters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeadPage {
    /// The letters; none if there are no more.
    pub letters: Vec<JobInfo>,
    /// Where the next page begins; 0: there is none.
    pub next_cursor: u64,
}

/// Which dead letters a bulk change is about.
///
/// Conditions are mandatory: at least one of `reason`, `from`, `until` and `error_part`, which must
/// all hold; or `entries` alone; or [`DeadFilter::all`].
#[derive(Default)]
#[must_use = "a filter does nothing by itself"]
pub struct DeadFilter<'a> {
    flags: u32,
    reason: u32,
    from: Option<SystemTime>,
    until: Option<SystemTime>,
    error_part: Bytes<'a>,
    entries: Vec<sys::wq_token>,
    limit: u64,
    cancel: Option<Cancel>,
    progress: Option<Callback<'a>>,
}

impl<'a> DeadFilter<'a> {
    /// No condition yet: one must follow.
    pub fn new() -> DeadFilter<'a> {
        DeadFilter::default()
    }

    /// Really all dead letters of the queue.
    pub fn all() -> DeadFilter<'a> {
        DeadFilter { flags: sys::WQ_DEAD_ALL, ..DeadFilter::default() }
    }

    /// These entries; those that are gone are passed over.
    pub fn entries(tokens: &[Token]) -> DeadFilter<'a> {
        let entries = tokens.iter().map(|token| raw_token(*token)).collect();
        DeadFilter { entries, ..DeadFilter::default() }
    }

    /// Only those that died of this.
    pub fn reason(mut self, reason: DeadReason) -> Self {
        self.reason = reason.raw();
        self
    }

    /// Only those that died at or after this time.
    pub fn from(mut self, time: SystemTime) -> Self {
        self.from = Some(time);
        self
    }

    /// Only those that died before this time.
    pub fn until(mut self, time: SystemTime) -> Self {
        self.until = Some(time);
        self
    }

    /// Only those whose last error has these bytes in it.
    pub fn error_part(mut self, part: impl Into<Bytes<'a>>) -> Self {
        self.error_part = part.into();
        self
    }

    /// At most so many, the oldest first; 0: no limit.
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Only count.
    pub fn dry_run(mut self) -> Self {
        self.flags |= sys::WQ_DEAD_DRY_RUN;
        self
    }

    /// A token that stops the work.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Told before each step how many were changed and looked at so far; `false` stops the work.
    pub fn progress(mut self, progress: impl FnMut(u64, u64) -> bool + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl std::fmt::Debug for DeadFilter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadFilter")
            .field("flags", &self.flags)
            .field("reason", &self.reason)
            .field("entries", &self.entries.len())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// What a bulk change did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "it may have been stopped half way"]
pub struct DeadReport {
    /// `Ok`, or `Cancelled`: stopped by the token or the callback. What was done by then stays.
    pub outcome: Outcome,
    /// Replayed or removed; of a dry run: would be.
    pub changed: u64,
    /// Looked at.
    pub examined: u64,
    /// How long it took.
    pub elapsed: Duration,
}

type BulkCall = unsafe extern "C" fn(
    *mut sys::wq_queue,
    *const sys::wq_dead_filter,
    *mut sys::wq_call,
    *mut sys::wq_dead_report,
    *mut sys::wq_error,
) -> i32;

impl<'q> DeadLetters<'q> {
    /// One page, from this cursor on: 0, or [`DeadPage::next_cursor`] of the page before.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Invalid`, `Closed`, and those of storage.
    pub fn page(&self, query: &DeadQuery<'_>, cursor: u64) -> Result<DeadPage> {
        let mut raw = sys::wq_dead_query::init();
        raw.flags = if query.oldest_first { sys::WQ_DEAD_OLDEST_FIRST } else { 0 };
        raw.cursor = cursor;
        raw.limit = query.limit;
        raw.reason = query.reason;
        raw.from_ms = at_ms(query.from);
        raw.until_ms = at_ms(query.until);
        raw.error_part = query.error_part.view();
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let mut batch = BatchHandle::null();
            let mut next_cursor = 0;
            // SAFETY: a queue of ours, a struct with its size whose bytes are those of `query`, and
            // valid places to write to; the batch is freed by its owner.
            let code = unsafe {
                sys::wq_dead_list(queue, &raw, &mut batch.0, &mut next_cursor, &mut ctx.err)
            };
            let _ = ctx.outcome(code)?;
            let names = [&self.queue.inner.name];
            let letters = JobInfo::all_of(&batch, &names)?;
            Ok(DeadPage { letters, next_cursor })
        })
    }

    /// All of them, page by page. Entries that come or go meanwhile do not disturb the others.
    pub fn iter<'a>(&self, query: &'a DeadQuery<'a>) -> impl Iterator<Item = Result<JobInfo>> + 'a
    where
        'q: 'a,
    {
        let letters = *self;
        crate::paging::pages(0u64, move |cursor| {
            let page = letters.page(query, *cursor)?;
            *cursor = page.next_cursor;
            Ok((page.letters, page.next_cursor != 0))
        })
    }

    /// Read one entry; `None` if it is no more: the job was replayed, and is alive or died again.
    ///
    /// # Errors
    /// `NotFound` (no such job in this queue), `Closed`, and those of storage.
    pub fn get(&self, entry: Token) -> Result<Option<JobInfo>> {
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let mut batch = BatchHandle::null();
            let (id, generation) = (entry.id, entry.generation);
            // SAFETY: a queue of ours, and a valid place for the batch, which its owner frees.
            let code =
                unsafe { sys::wq_dead_get(queue, id, generation, &mut batch.0, &mut ctx.err) };
            if ctx.outcome(code)? != Outcome::Ok {
                return Ok(None);
            }
            JobInfo::of_batch(&batch, 0, &[&self.queue.inner.name]).map(Some)
        })
    }

    /// Make the job ready again, with attempts from zero and a generation of its own. Of several
    /// replays of one entry exactly one wins; the others are [`Outcome::Stale`].
    /// [`Outcome::Duplicate`]: another job holds its key.
    ///
    /// # Errors
    /// `NotFound` (no such job in this queue), `Full`, `NoSpace`, `Closed`, and those of storage.
    pub fn replay(&self, entry: Token) -> Result<Outcome> {
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_dead_replay(queue, entry.id, entry.generation, call, err) };
            ctx.outcome(code)
        })
    }

    /// Remove one for ever. [`Outcome::Stale`]: that entry is no more.
    ///
    /// # Errors
    /// `NotFound` (no such job in this queue), `Closed`, and those of storage.
    pub fn remove(&self, entry: Token) -> Result<Outcome> {
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, and structs with their size.
            let code = unsafe { sys::wq_dead_remove(queue, entry.id, entry.generation, call, err) };
            ctx.outcome(code)
        })
    }

    /// Replay all that the filter wants, the oldest first, in steps.
    ///
    /// # Errors
    /// `Full` (no room for the next), `Invalid` (also a filter without a condition), `TooLarge`,
    /// `NotFound` (queue deleted), `Closed`, and those of storage. What was replayed by then stays.
    pub fn replay_many(&self, filter: DeadFilter<'_>) -> Result<DeadReport> {
        self.bulk(filter, sys::wq_dead_replay_many)
    }

    /// Remove all that the filter wants for ever, the oldest first, in steps.
    ///
    /// # Errors
    /// As [`replay_many`](DeadLetters::replay_many), without `Full`.
    pub fn remove_many(&self, filter: DeadFilter<'_>) -> Result<DeadReport> {
        self.bulk(filter, sys::wq_dead_remove_many)
    }

    fn bulk(&self, mut filter: DeadFilter<'_>, call: BulkCall) -> Result<DeadReport> {
        let mut raw = sys::wq_dead_filter::init();
        raw.flags = filter.flags;
        raw.reason = filter.reason;
        raw.from_ms = at_ms(filter.from);
        raw.until_ms = at_ms(filter.until);
        raw.error_part = filter.error_part.view();
        if !filter.entries.is_empty() {
            raw.entries = filter.entries.as_ptr();
            raw.entries_count = filter.entries.len();
        }
        raw.limit = filter.limit;
        raw.cancel = filter.cancel.as_ref().map_or(ptr::null_mut(), Cancel::raw);
        let mut progress = Progress::new(filter.progress.as_mut());
        (raw.progress, raw.progress_ctx) = progress.raw();
        let mut report = sys::wq_dead_report::init();
        let told = self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            // SAFETY: one of two calls of this form, a queue of ours, structs with their size, whose
            // pointers lead to `filter` and `progress`.
            let code = unsafe { call(queue, &raw, &mut ctx.call, &mut report, &mut ctx.err) };
            ctx.outcome(code)
        });
        progress.finish();
        Ok(DeadReport {
            outcome: told?,
            changed: report.changed,
            examined: report.examined,
            elapsed: from_ms(report.elapsed_ms),
        })
    }

    /// Remove all dead letters of the queue for ever, in one change. Gives how many there were.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Closed`, and those of storage.
    pub fn purge(&self) -> Result<u64> {
        let mut removed = 0;
        self.queue.run(|ctx| {
            let queue = self.queue.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, a valid place to write to, and structs with their size.
            let code = unsafe { sys::wq_dead_purge(queue, &mut removed, call, err) };
            ctx.done(code)?;
            Ok(removed)
        })
    }
}
