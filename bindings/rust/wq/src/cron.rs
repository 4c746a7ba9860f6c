//! Schedules: jobs that the clock enqueues.

use std::ptr;
use std::time::SystemTime;

use wq_sys as sys;

use crate::arena::Arena;
use crate::backoff::Backoff;
use crate::call::Ctx;
use crate::code::ErrorCode;
use crate::error::{check_ok, Result};
use crate::handle::{bytes_of, view, CronsHandle};
use crate::job::Header;
use crate::queue::Queue;
use crate::spec::JobSpec;
use crate::store::Store;
use crate::time::{at_ms, from_at_ms, from_ms};

impl Store {
    /// The schedules of this store.
    pub fn crons(&self) -> Crons<'_> {
        Crons { store: self }
    }
}

/// The schedules of a store; see [`Store::crons`].
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("crons");
/// # let store = wq::Store::open(&dir)?;
/// # let queue = store.queue("mail")?;
/// use wq::CronSpec;
/// let nightly = CronSpec::new("30 3 * * *").zone("Europe/Berlin").job("clean up");
/// store.crons().put(&queue, "nightly", &nightly)?;
/// assert_eq!(store.crons().get("nightly")?.payload, b"clean up");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Crons<'s> {
    store: &'s Store,
}

/// When a schedule runs, and what.
#[derive(Clone, Debug)]
#[must_use = "a schedule does nothing until it is put"]
pub struct CronSpec<'a> {
    expression: String,
    zone: String,
    job: Option<JobSpec<'a>>,
    catch_up: Option<u32>,
}

impl<'a> CronSpec<'a> {
    /// Five or six fields, `@daily` and so on, or `@every 90s`. The header `wq.h` has the whole
    /// language at `wq_cron_put`.
    pub fn new(expression: impl Into<String>) -> CronSpec<'a> {
        CronSpec { expression: expression.into(), zone: String::new(), job: None, catch_up: None }
    }

    /// A zone of the tz database, like `Europe/Berlin`. Without it: UTC.
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = zone.into();
        self
    }

    /// What is enqueued, without delay and run-at. Without it: a job with no payload.
    pub fn job(mut self, job: impl Into<JobSpec<'a>>) -> Self {
        self.job = Some(job.into());
        self
    }

    /// So many missed slots run later, 0 to 1,000. Without it: the newest missed slot.
    pub fn catch_up(mut self, slots: u32) -> Self {
        self.catch_up = Some(slots);
        self
    }
}

/// A schedule as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cron {
    /// Its name, of the whole store.
    pub name: String,
    /// The queue that it enqueues into.
    pub queue_name: String,
    /// When it runs.
    pub expression: String,
    /// Empty: UTC.
    pub zone: String,
    /// It is paused.
    pub paused: bool,
    /// The next slot; `None`: never again.
    pub next_due: Option<SystemTime>,
    /// The newest slot that ran or was missed.
    pub last_slot: Option<SystemTime>,
    /// When it was made.
    pub created: Option<SystemTime>,
    /// Jobs that it enqueued.
    pub fired: u64,
    /// Slots that no job was enqueued for.
    pub missed: u64,
    /// Missed slots that run later.
    pub catch_up: u32,
    /// Of its job.
    pub priority: u32,
    /// Of its job; 0: as the queue says.
    pub max_attempts: u32,
    /// Of its job; [`Backoff::none`]: as the queue says.
    pub backoff: Backoff,
    /// Of its job.
    pub payload: Vec<u8>,
    /// Of its job.
    pub headers: Vec<Header>,
    /// Why its last slots could not be told; empty: no problem.
    pub problem: String,
    /// The key that its payload is sealed with; `None`: it is not sealed.
    pub key_id: Option<u32>,
    /// Why `payload` is empty though it has one: `NoKey`, `Corrupt` or `NoMemory`. It runs all the
    /// same.
    pub payload_error: Option<ErrorCode>,
}

type NameCall = unsafe extern "C" fn(
    *mut sys::wq_store,
    *const std::os::raw::c_void,
    usize,
    *mut sys::wq_call,
    *mut sys::wq_error,
) -> i32;

impl Crons<'_> {
    /// Make a schedule that enqueues into this queue, or replace the one of that name. One that is
    /// there already as given is left alone: put all your schedules at every start.
    ///
    /// # Errors
    /// `Invalid` (the message names the field of the expression), `TooLarge`, `Full` (10,000
    /// schedules), `NotFound` (queue deleted), `NoKey`, `NoSpace`, `Closed`, and those of storage.
    pub fn put(&self, queue: &Queue, name: &str, spec: &CronSpec<'_>) -> Result<()> {
        let mut arena = Arena::default();
        let job = spec.job.as_ref().map(|job| job.lower(&mut arena));
        let mut raw = sys::wq_cron_spec::init();
        raw.expression = view(spec.expression.as_bytes());
        raw.zone = view(spec.zone.as_bytes());
        raw.job = job.as_ref().map_or(ptr::null(), |job| job as *const _);
        if let Some(slots) = spec.catch_up {
            raw.flags |= sys::WQ_CRON_CATCH_UP;
            raw.catch_up = slots;
        }
        self.store.run(|ctx| {
            let queue = queue.raw()?;
            let (data, len) = (name.as_ptr().cast(), name.len());
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a queue of ours, and structs with their size, whose pointers lead to `spec`,
            // `arena` and `job`.
            let code = unsafe { sys::wq_cron_put(queue, data, len, &raw, call, err) };
            ctx.done(code)
        })
    }

    /// Remove a schedule. Jobs that it enqueued stay.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `Closed`, and those of storage.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.call(name, sys::wq_cron_remove)
    }

    /// Stop a schedule until [`resume`](Crons::resume). It misses nothing.
    ///
    /// # Errors
    /// As [`remove`](Crons::remove).
    pub fn pause(&self, name: &str) -> Result<()> {
        self.call(name, sys::wq_cron_pause)
    }

    /// Let a paused schedule go on.
    ///
    /// # Errors
    /// As [`remove`](Crons::remove).
    pub fn resume(&self, name: &str) -> Result<()> {
        self.call(name, sys::wq_cron_resume)
    }

    fn call(&self, name: &str, call: NameCall) -> Result<()> {
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let (data, len) = (name.as_ptr().cast(), name.len());
            // SAFETY: one of three calls of this form, a store of ours, structs with their size.
            let code = unsafe { call(store, data, len, &mut ctx.call, &mut ctx.err) };
            ctx.done(code)
        })
    }

    /// Read one schedule.
    ///
    /// # Errors
    /// As [`remove`](Crons::remove).
    pub fn get(&self, name: &str) -> Result<Cron> {
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let mut list = CronsHandle::null();
            let (data, len) = (name.as_ptr().cast(), name.len());
            // SAFETY: a store of ours, and a valid place for the list, which its owner frees.
            let code = unsafe { sys::wq_cron_get(store, data, len, &mut list.0, &mut ctx.err) };
            ctx.done(code)?;
            cron_at(&list, 0, ctx)
        })
    }

    /// One page of schedules in the byte order of their names: up to `limit` (1 to 1,000) behind
    /// `after`; those of one queue if one is given. A page shorter than `limit` is the last one.
    ///
    /// # Errors
    /// `NotFound` (queue deleted), `Invalid` (limit), `Closed`, and those of storage.
    pub fn page(&self, queue: Option<&Queue>, after: &str, limit: usize) -> Result<Vec<Cron>> {
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let queue = queue.map_or(Ok(ptr::null_mut()), Queue::raw)?;
            let mut list = CronsHandle::null();
            let (data, len) = (after.as_ptr().cast(), after.len());
            // SAFETY: handles of ours, and a valid place for the list, which its owner frees.
            let code = unsafe {
                sys::wq_cron_list(store, queue, data, len, limit, &mut list.0, &mut ctx.err)
            };
            ctx.done(code)?;
            // SAFETY: a list that this thread alone reads.
            let count = unsafe { sys::wq_crons_count(list.0) };
            (0..count).map(|i| cron_at(&list, i, ctx)).collect()
        })
    }

    /// All schedules, of one queue if one is given, in the byte order of their names.
    pub fn iter<'a>(&'a self, queue: Option<&'a Queue>) -> impl Iterator<Item = Result<Cron>> + 'a {
        const LIMIT: usize = 100;
        crate::paging::pages(String::new(), move |after: &mut String| {
            let page = self.page(queue, after, LIMIT)?;
            if let Some(last) = page.last() {
                *after = last.name.clone();
            }
            let more = page.len() == LIMIT;
            Ok((page, more))
        })
    }

    /// When an expression is due: the first `count` (1 to 10,000) times after `from`, with no store.
    /// Fewer, if it is due no more often before the year 10000.
    ///
    /// # Errors
    /// `Invalid` (the message names the field).
    pub fn next(
        expression: &str,
        zone: &str,
        from: SystemTime,
        count: usize,
    ) -> Result<Vec<SystemTime>> {
        let (expression, zone) = (view(expression.as_bytes()), view(zone.as_bytes()));
        // One more than allowed is told by the library; memory for more is not needed for that.
        let room = count.min(10_001);
        let mut times = vec![0i64; room];
        let mut told = 0;
        let mut err = sys::wq_error::init();
        // SAFETY: bytes that the caller keeps, an array of the length that is told.
        let code = unsafe {
            let (e, z) = (expression, zone);
            let out = times.as_mut_ptr();
            let from_ms = at_ms(Some(from));
            sys::wq_cron_next(e.data, e.len, z.data, z.len, from_ms, out, room, &mut told, &mut err)
        };
        check_ok(code, &err)?;
        Ok(times[..told.min(room)].iter().filter_map(|ms| from_at_ms(*ms)).collect())
    }
}

fn cron_at(list: &CronsHandle, i: usize, ctx: &Ctx) -> Result<Cron> {
    let mut raw = sys::wq_cron::init();
    // SAFETY: a list that this thread alone reads, and a struct with its size.
    check_ok(unsafe { sys::wq_crons_at(list.0, i, &mut raw) }, &ctx.err)?;
    // SAFETY: the views are valid while the list is there; all bytes are copied.
    Ok(unsafe { Cron::of_raw(&raw) })
}

impl Cron {
    /// # Safety
    /// The list that the views lead into must be there.
    unsafe fn of_raw(raw: &sys::wq_cron) -> Cron {
        let text = |bytes| String::from_utf8_lossy(bytes_of(bytes)).into_owned();
        let headers = match raw.headers_count {
            0 => &[][..],
            count => std::slice::from_raw_parts(raw.headers, count),
        };
        let headers = headers.iter().map(|header| Header {
            name: bytes_of(header.name).to_vec(),
            value: bytes_of(header.value).to_vec(),
        });
        let delays = match raw.backoff_count {
            0 => &[][..],
            count => std::slice::from_raw_parts(raw.backoff_list_ms, count as usize),
        };
        Cron {
            name: text(raw.name),
            queue_name: text(raw.queue_name),
            expression: text(raw.expression),
            zone: text(raw.zone),
            paused: raw.flags & sys::WQ_CRON_PAUSED != 0,
            next_due: from_at_ms(raw.next_due_ms),
            last_slot: from_at_ms(raw.last_slot_ms),
            created: from_at_ms(raw.created_ms),
            fired: raw.fired,
            missed: raw.missed,
            catch_up: raw.catch_up,
            priority: raw.priority,
            max_attempts: raw.max_attempts,
            backoff: Backoff {
                kind: raw.backoff_kind,
                base: from_ms(raw.backoff_base_ms),
                max: from_ms(raw.backoff_max_ms),
                list: delays.iter().map(|ms| from_ms(*ms)).collect(),
                jitter_permille: raw.backoff_jitter_permille,
            },
            payload: bytes_of(raw.payload).to_vec(),
            headers: headers.collect(),
            problem: text(raw.problem),
            key_id: Some(raw.key_id).filter(|id| *id != 0),
            payload_error: ErrorCode::of_field(raw.payload_code),
        }
    }
}
