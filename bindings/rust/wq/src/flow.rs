//! Flows: jobs that are counted together, whose end enqueues a job.

use std::ptr;
use std::time::SystemTime;

use wq_sys as sys;

use crate::code::Outcome;
use crate::error::Result;
use crate::spec::{Arena, NextJob};
use crate::store::Store;
use crate::time::from_at_ms;

impl Store {
    /// The flows of this store.
    pub fn flows(&self) -> Flows<'_> {
        Flows { store: self }
    }
}

/// Flows of a store; see [`Store::flows`].
///
/// Jobs join with [`JobSpec::flow`](crate::JobSpec::flow) while the flow is neither finished nor
/// cancelled. It is finished when it is sealed and nothing is pending; the record that settles its
/// last member enqueues the follow-up, exactly once.
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("flows");
/// # let store = wq::Store::open(&dir)?;
/// # let queue = store.queue("mail")?;
/// use wq::{FlowOptions, JobSpec, NextJob};
/// let report = FlowOptions::new().on_complete(NextJob::in_queue("mail", "all were sent"));
/// let flow = store.flows().create(&report)?;
/// assert!(queue.enqueue(JobSpec::new("to: ann").flow(flow))?.is_new());
/// assert!(queue.enqueue(JobSpec::new("to: bob").flow(flow))?.is_new());
/// store.flows().seal(flow)?;
/// assert_eq!(store.flows().status(flow)?.pending, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Flows<'s> {
    store: &'s Store,
}

/// What the end of a flow enqueues.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing by themselves"]
pub struct FlowOptions<'a> {
    allow_failures: bool,
    on_complete: Option<NextJob<'a>>,
    on_failure: Option<NextJob<'a>>,
}

impl<'a> FlowOptions<'a> {
    /// Nothing.
    pub fn new() -> FlowOptions<'a> {
        FlowOptions::default()
    }

    /// Enqueued when all members succeeded. Its queue must be named.
    pub fn on_complete(mut self, job: NextJob<'a>) -> Self {
        self.on_complete = Some(job);
        self
    }

    /// Enqueued when a member failed or was cancelled, or the flow was.
    pub fn on_failure(mut self, job: NextJob<'a>) -> Self {
        self.on_failure = Some(job);
        self
    }

    /// `on_complete` also if members failed or were cancelled.
    pub fn allow_failures(mut self) -> Self {
        self.allow_failures = true;
        self
    }
}

/// The counts of a flow: `total` = `pending` + `done` + `failed` + `cancelled`, at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowStatus {
    /// Its id.
    pub flow: u64,
    /// Members; the jobs of their chains are some from the start.
    pub total: u64,
    /// Not ended yet.
    pub pending: u64,
    /// Acked.
    pub done: u64,
    /// Dead.
    pub failed: u64,
    /// Ended otherwise, or never came to be.
    pub cancelled: u64,
    /// No more jobs come from outside.
    pub is_sealed: bool,
    /// It was cancelled.
    pub is_cancelled: bool,
    /// It has ended.
    pub is_finished: bool,
    /// Job that its end has enqueued.
    pub follow_up: Option<u64>,
    /// When it was made.
    pub created: Option<SystemTime>,
    /// When it ended.
    pub finished: Option<SystemTime>,
}

impl FlowStatus {
    fn of_raw(raw: &sys::wq_flow_status) -> FlowStatus {
        FlowStatus {
            flow: raw.flow,
            total: raw.total,
            pending: raw.pending,
            done: raw.done,
            failed: raw.failed,
            cancelled: raw.cancelled,
            is_sealed: raw.flags & sys::WQ_FLOW_SEALED != 0,
            is_cancelled: raw.flags & sys::WQ_FLOW_CANCELLED != 0,
            is_finished: raw.flags & sys::WQ_FLOW_FINISHED != 0,
            follow_up: Some(raw.follow_up_id).filter(|id| *id != 0),
            created: from_at_ms(raw.created_ms),
            finished: from_at_ms(raw.finished_ms),
        }
    }
}

impl Flows<'_> {
    /// Create a flow. Gives its id, which no job and no other flow of the store ever has.
    ///
    /// # Errors
    /// `NotFound` (no such queue), `Invalid`, `TooLarge`, `Unsupported`, `NoSpace`, `Closed`, and
    /// those of storage; `Outcome(Conflict)` in a store whose import was not finished.
    pub fn create(&self, options: &FlowOptions<'_>) -> Result<u64> {
        let mut arena = Arena::default();
        let complete = options.on_complete.as_ref().map(|job| job.lower(&mut arena));
        let failure = options.on_failure.as_ref().map(|job| job.lower(&mut arena));
        let mut raw = sys::wq_flow_options::init();
        raw.flags = if options.allow_failures { sys::WQ_FLOW_ALLOW_FAILURES } else { 0 };
        raw.on_complete = complete.as_ref().map_or(ptr::null(), |job| job as *const _);
        raw.on_failure = failure.as_ref().map_or(ptr::null(), |job| job as *const _);
        let mut flow = 0;
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a store of ours, structs with their size, whose pointers lead to `options`,
            // `arena` and the two jobs above.
            let code = unsafe { sys::wq_flow_create(store, &raw, &mut flow, call, err) };
            ctx.done(code)?;
            Ok(flow)
        })
    }

    /// Say that no more jobs come from outside: the flow is finished as soon as nothing is pending.
    ///
    /// # Errors
    /// `NotFound` (no such flow), `Closed`, and those of storage.
    pub fn seal(&self, flow: u64) -> Result<()> {
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            // SAFETY: a store of ours, and structs with their size.
            let code = unsafe { sys::wq_flow_seal(store, flow, &mut ctx.call, &mut ctx.err) };
            ctx.done(code)
        })
    }

    /// Cancel a flow. Members that did not start end as cancelled before this returns; those that run
    /// learn it from [`JobInfo::flow_cancelled`](crate::JobInfo) and from an extend.
    /// [`Outcome::Conflict`]: it is finished.
    ///
    /// # Errors
    /// As [`seal`](Flows::seal).
    pub fn cancel(&self, flow: u64) -> Result<Outcome> {
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            // SAFETY: a store of ours, and structs with their size.
            let code = unsafe { sys::wq_flow_cancel(store, flow, &mut ctx.call, &mut ctx.err) };
            ctx.outcome(code)
        })
    }

    /// Read the counts of a flow, until seven days after its end.
    ///
    /// # Errors
    /// As [`seal`](Flows::seal).
    pub fn status(&self, flow: u64) -> Result<FlowStatus> {
        let mut raw = sys::wq_flow_status::init();
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            // SAFETY: a store of ours, and structs with their size.
            let code = unsafe { sys::wq_flow_get_status(store, flow, &mut raw, &mut ctx.err) };
            ctx.done(code)?;
            Ok(FlowStatus::of_raw(&raw))
        })
    }

    /// One page of flows, newest first: up to `limit` (1 to 1,000). `cursor` is 0 at first; it is
    /// moved on, and 0 when there is no more. A page may be empty though there are more.
    ///
    /// # Errors
    /// `Invalid` (limit), `Closed`, and those of storage.
    pub fn page(&self, cursor: &mut u64, limit: usize) -> Result<Vec<FlowStatus>> {
        // One more than allowed is told by the library; memory for more is not needed for that.
        let room = limit.min(1001);
        let mut raw = vec![sys::wq_flow_status::init(); room];
        let mut count = 0;
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            // SAFETY: a store of ours, an array of the length that is told, and valid places.
            let code = unsafe {
                let size = std::mem::size_of::<sys::wq_flow_status>();
                let out = raw.as_mut_ptr();
                sys::wq_flow_list(store, cursor, out, room, size, &mut count, &mut ctx.err)
            };
            ctx.done(code)
        })?;
        Ok(raw[..count.min(room)].iter().map(FlowStatus::of_raw).collect())
    }

    /// All flows, newest first.
    pub fn iter(&self) -> impl Iterator<Item = Result<FlowStatus>> + '_ {
        let flows = *self;
        crate::paging::pages(0u64, move |cursor| {
            let page = flows.page(cursor, 100)?;
            Ok((page, *cursor != 0))
        })
    }
}
