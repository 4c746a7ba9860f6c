//! Jobs as they are told, and jobs that were leased.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wq_sys as sys;

use crate::code::{ErrorCode, Outcome};
use crate::driver::Pending;
use crate::error::{Error, Result};
use crate::handle::{bytes_of, BatchHandle};
use crate::queue::Queue;
use crate::settle::Settle;
use crate::time::{from_at_ms, from_ms};
use crate::words::{DeadReason, Durability, State};

/// The right to settle a job: its id, and the generation of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    /// The job.
    pub id: u64,
    /// The lease; of a dead letter: its last one, which names the entry.
    pub generation: u64,
}

impl From<&JobInfo> for Token {
    fn from(job: &JobInfo) -> Token {
        job.token()
    }
}

impl From<&Job> for Token {
    fn from(job: &Job) -> Token {
        job.token()
    }
}

/// One header of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name, usually text.
    pub name: Vec<u8>,
    /// Its value: any bytes.
    pub value: Vec<u8>,
}

/// A job as it was told: a copy that is yours. Leased jobs ([`Job`]) have one inside.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct JobInfo {
    /// Grows, and is never used again in a store.
    pub id: u64,
    /// Of its last lease or replay; 0 if there was none.
    pub generation: u64,
    /// Where it is.
    pub state: State,
    /// The name of its queue.
    pub queue_name: Arc<str>,
    /// What it was enqueued with.
    pub payload: Vec<u8>,
    /// In the order they were given.
    pub headers: Vec<Header>,
    /// 0 goes first.
    pub priority: u8,
    /// This one included.
    pub attempts: u32,
    /// Nacks that counted.
    pub exceptions: u32,
    /// How often it is tried at most.
    pub max_attempts: u32,
    /// Times it came back from the dead letters.
    pub replays: u32,
    /// When it was enqueued.
    pub enqueued: Option<SystemTime>,
    /// Ready: since when; delayed: when it will be.
    pub ready: Option<SystemTime>,
    /// When its last lease began.
    pub leased: Option<SystemTime>,
    /// When its lease may be reclaimed.
    pub deadline: Option<SystemTime>,
    /// Until the deadline, at the time of the call.
    pub lease_remaining: Duration,
    /// When it died.
    pub dead: Option<SystemTime>,
    /// When it died for the first time; kept over replays.
    pub first_dead: Option<SystemTime>,
    /// Why it is dead.
    pub dead_reason: Option<DeadReason>,
    /// Text of its last failed attempt: any bytes.
    pub last_error: Vec<u8>,
    /// As it was enqueued.
    pub timeout: Option<Duration>,
    /// As it was enqueued.
    pub expires_at: Option<SystemTime>,
    /// As it was enqueued.
    pub retry_until: Option<SystemTime>,
    /// As it was enqueued; 0: no limit.
    pub max_exceptions: u32,
    /// As it was enqueued.
    pub fail_on_timeout: bool,
    /// The last note of a worker; see [`Job::progress`].
    pub progress: Vec<u8>,
    /// The flow that it is a member of.
    pub flow: Option<u64>,
    /// Jobs that follow it, one after another.
    pub chain_count: u32,
    /// Its flow was cancelled, it should stop.
    pub flow_cancelled: bool,
    /// Key of its group; empty: none.
    pub group: Vec<u8>,
    /// Ready, but no slot of its group is free for it, or its rate key is used up or cools down.
    pub parked: bool,
    /// Whose job it is; empty: none. See [`JobSpec::tenant`](crate::JobSpec::tenant).
    pub tenant: Vec<u8>,
    /// Key of the rate that it shares; empty: none.
    pub rate_key: Vec<u8>,
    /// How much of that rate it uses up.
    pub rate_cost: u32,
    /// The key that its payload is sealed with; `None`: it is not sealed.
    pub key_id: Option<u32>,
    /// Why `payload` is empty though the job has one: `NoKey`, `Corrupt` or `NoMemory`. Never of a
    /// job that was leased.
    pub payload_error: Option<ErrorCode>,
}

impl JobInfo {
    /// Id and generation: what settles are made with.
    pub fn token(&self) -> Token {
        Token { id: self.id, generation: self.generation }
    }

    /// Value of the first header of this name.
    pub fn header(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        let found = self.headers.iter().find(|header| header.name == name);
        found.map(|header| header.value.as_slice())
    }

    /// The payload as text, if it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.payload).ok()
    }

    /// Job `i` of a batch. `names` are those of the queues that a lease was given.
    pub(crate) fn of_batch(batch: &BatchHandle, i: usize, names: &[&Arc<str>]) -> Result<JobInfo> {
        let mut raw = sys::wq_job::init();
        let headers = read_raw(batch, i, &mut raw)?;
        // SAFETY: the batch outlives this function, and all bytes are copied.
        Ok(unsafe { JobInfo::of_raw(&raw, headers, names) })
    }

    /// # Safety
    /// The batch that the views lead into must be there.
    #[inline(always)] // it is large: made where it stays, not moved there
    unsafe fn of_raw(raw: &sys::wq_job, headers: Vec<Header>, names: &[&Arc<str>]) -> JobInfo {
        let name = bytes_of(raw.queue_name);
        let known = names.get(raw.queue_index as usize).filter(|known| known.as_bytes() == name);
        let queue_name =
            known.map_or_else(|| String::from_utf8_lossy(name).into(), |known| (*known).clone());
        let mut info = JobInfo::blank(queue_name);
        info.tell(raw, headers);
        info
    }

    /// A job of which nothing is told.
    #[inline(always)]
    fn blank(queue_name: Arc<str>) -> JobInfo {
        JobInfo {
            id: 0,
            generation: 0,
            state: State::Ready,
            queue_name,
            payload: Vec::new(),
            headers: Vec::new(),
            priority: 0,
            attempts: 0,
            exceptions: 0,
            max_attempts: 0,
            replays: 0,
            enqueued: None,
            ready: None,
            leased: None,
            deadline: None,
            lease_remaining: Duration::ZERO,
            dead: None,
            first_dead: None,
            dead_reason: None,
            last_error: Vec::new(),
            timeout: None,
            expires_at: None,
            retry_until: None,
            max_exceptions: 0,
            fail_on_timeout: false,
            progress: Vec::new(),
            flow: None,
            chain_count: 0,
            flow_cancelled: false,
            group: Vec::new(),
            parked: false,
            tenant: Vec::new(),
            rate_key: Vec::new(),
            rate_cost: 0,
            key_id: None,
            payload_error: None,
        }
    }

    /// Everything but the name of its queue; bytes go where others were.
    ///
    /// # Safety
    /// As [`of_raw`](JobInfo::of_raw).
    #[inline(always)]
    unsafe fn tell(&mut self, raw: &sys::wq_job, headers: Vec<Header>) {
        self.id = raw.id;
        self.generation = raw.generation;
        self.state = State::from_raw(raw.state);
        copy_to(&mut self.payload, raw.payload);
        self.headers = headers;
        self.priority = u8::try_from(raw.priority).unwrap_or(u8::MAX);
        self.attempts = raw.attempts;
        self.exceptions = raw.exceptions;
        self.max_attempts = raw.max_attempts;
        self.replays = raw.replays;
        self.enqueued = from_at_ms(raw.enqueued_ms);
        self.ready = from_at_ms(raw.ready_ms);
        self.leased = from_at_ms(raw.leased_ms);
        self.deadline = from_at_ms(raw.deadline_ms);
        self.lease_remaining = from_ms(raw.lease_remaining_ms);
        self.dead = from_at_ms(raw.dead_ms);
        self.first_dead = from_at_ms(raw.first_dead_ms);
        self.dead_reason = Some(raw.dead_reason).filter(|r| *r != 0).map(DeadReason::from_raw);
        copy_to(&mut self.last_error, raw.last_error);
        self.timeout = Some(raw.timeout_ms).filter(|ms| *ms != 0).map(from_ms);
        self.expires_at = from_at_ms(raw.expires_at_ms);
        self.retry_until = from_at_ms(raw.retry_until_ms);
        self.max_exceptions = raw.max_exceptions;
        self.fail_on_timeout = raw.flags & sys::WQ_JOB_FAIL_ON_TIMEOUT != 0;
        copy_to(&mut self.progress, raw.progress);
        self.flow = Some(raw.flow).filter(|flow| *flow != 0);
        self.chain_count = raw.chain_count;
        self.flow_cancelled = raw.flow_cancelled != 0;
        copy_to(&mut self.group, raw.group);
        self.parked = raw.parked != 0;
        copy_to(&mut self.tenant, raw.tenant);
        copy_to(&mut self.rate_key, raw.rate_key);
        self.rate_cost = raw.rate_cost;
        self.key_id = Some(raw.key_id).filter(|id| *id != 0);
        self.payload_error = ErrorCode::of_field(raw.payload_code);
    }

    /// All jobs of a batch.
    pub(crate) fn all_of(batch: &BatchHandle, names: &[&Arc<str>]) -> Result<Vec<JobInfo>> {
        // SAFETY: a batch that this thread alone reads, or NULL, which has no jobs.
        let count = unsafe { sys::wq_batch_count(batch.0) };
        let mut jobs = Vec::with_capacity(count);
        let mut raw = sys::wq_job::init();
        for i in 0..count {
            let headers = read_raw(batch, i, &mut raw)?;
            // SAFETY: the batch outlives this function, and all bytes are copied.
            jobs.push(unsafe { JobInfo::of_raw(&raw, headers, names) });
        }
        Ok(jobs)
    }
}

/// # Safety
/// What the view leads to must be there.
#[inline]
unsafe fn copy_to(place: &mut Vec<u8>, view: sys::wq_bytes) {
    place.clear();
    if view.len != 0 {
        place.extend_from_slice(bytes_of(view));
    }
}

/// What a batch tells of its i-th job, and the headers of that.
fn read_raw(batch: &BatchHandle, i: usize, raw: &mut sys::wq_job) -> Result<Vec<Header>> {
    // SAFETY: a batch that this thread alone reads, and a struct with its size.
    let code = unsafe { sys::wq_batch_job(batch.0, i, raw) };
    if code != sys::WQ_OK {
        return Err(Error::of_code(code));
    }
    (0..raw.headers_count as usize).map(|h| header_of(batch, i, h)).collect()
}

fn header_of(batch: &BatchHandle, i: usize, h: usize) -> Result<Header> {
    let mut raw = sys::wq_header::init();
    // SAFETY: a batch that this thread alone reads, and a valid place to write to.
    let code = unsafe { sys::wq_batch_header(batch.0, i, h, &mut raw) };
    if code != sys::WQ_OK {
        return Err(Error::of_code(code));
    }
    // SAFETY: the batch is there while the bytes are copied.
    Ok(unsafe { Header { name: bytes_of(raw.name).to_vec(), value: bytes_of(raw.value).to_vec() } })
}

impl fmt::Debug for JobInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobInfo")
            .field("id", &self.id)
            .field("generation", &self.generation)
            .field("queue", &self.queue_name)
            .field("state", &self.state)
            .field("attempts", &self.attempts)
            .field("payload_len", &self.payload.len())
            .finish_non_exhaustive()
    }
}

/// A job that was leased: the right to work on it until its deadline, and to settle it.
///
/// All of [`JobInfo`] can be read from it. A job that is dropped without being settled keeps its
/// lease until the deadline; then it is handed to somebody else. So settle on every path, or let
/// [`Worker`](crate::Worker) do it. Settles answer [`Outcome::Stale`] when the lease was lost.
///
/// A job can be sent to another thread, and keeps its store open.
#[must_use = "a job that is not settled is handed out again when its lease has run out"]
pub struct Job {
    info: JobInfo,
    queue: Queue,
}

impl Deref for Job {
    type Target = JobInfo;

    fn deref(&self) -> &JobInfo {
        &self.info
    }
}

impl Job {
    /// All leased jobs of a batch, told in the memory of those that are in `jobs`. `queues` are those
    /// that the lease was given. After an error any of the jobs may be half a new one.
    pub(crate) fn tell_all(
        jobs: &mut Vec<Job>,
        batch: &BatchHandle,
        queues: &[&Queue],
        durability: Option<Durability>,
    ) -> Result<()> {
        let names: Vec<_> = queues.iter().map(|queue| &queue.inner.name).collect();
        // SAFETY: a batch that this thread alone reads, or NULL, which has no jobs.
        let count = unsafe { sys::wq_batch_count(batch.0) };
        jobs.truncate(count);
        jobs.reserve_exact(count - jobs.len());
        let mut raw = sys::wq_job::init();
        for i in 0..count {
            let headers = read_raw(batch, i, &mut raw)?;
            let queue = queues[(raw.queue_index as usize).min(queues.len() - 1)];
            let durability = queue.durability.or(durability);
            // SAFETY: the batch outlives this function, and all bytes are copied.
            unsafe {
                match jobs.get_mut(i) {
                    Some(job) if job.is_of(queue, &raw) => {
                        job.info.tell(&raw, headers);
                        job.queue.durability = durability;
                    }
                    old => {
                        let info = JobInfo::of_raw(&raw, headers, &names);
                        let new =
                            Job { info, queue: Queue { inner: queue.inner.clone(), durability } };
                        match old {
                            Some(job) => *job = new,
                            None => jobs.push(new),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// What the name in `raw` leads to must be there.
    unsafe fn is_of(&self, queue: &Queue, raw: &sys::wq_job) -> bool {
        let name = bytes_of(raw.queue_name);
        Arc::ptr_eq(&self.queue.inner, &queue.inner) && self.info.queue_name.as_bytes() == name
    }

    /// The queue that it was leased from.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What was told of it, without the right to settle it by methods; [`JobInfo::token`] stays.
    pub fn into_info(self) -> JobInfo {
        self.info
    }

    /// The same job, whose settles have this durability.
    pub fn with_durability(mut self, durability: Durability) -> Job {
        self.queue = self.queue.with_durability(durability);
        self
    }

    /// Settle: the job is done and goes.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`](crate::ErrorCode::NotFound) if the queue was deleted, and those of
    /// storage. The job can be settled again then.
    pub fn ack(&self) -> Result<Outcome> {
        self.settle(&Settle::ack())
    }

    /// The same, without waiting for durability.
    pub fn ack_async(&self) -> Pending<Outcome> {
        self.settle_async(&Settle::ack())
    }

    /// Settle as done, with a result that the history of the queue keeps, if it has one; up to 1 MiB.
    ///
    /// # Errors
    /// As [`ack`](Job::ack), [`ErrorCode::TooLarge`](crate::ErrorCode::TooLarge), and
    /// [`ErrorCode::NoKey`](crate::ErrorCode::NoKey) for a result that can not be sealed.
    pub fn ack_with(&self, result: impl AsRef<[u8]>) -> Result<Outcome> {
        self.settle(&Settle::ack().result(result.as_ref()))
    }

    /// Settle: the attempt failed. With attempts left the job is tried again after the delay of its
    /// backoff policy; without, it is dead. For a delay and so on: [`settle`](Job::settle).
    ///
    /// # Errors
    /// As [`ack`](Job::ack).
    pub fn nack(&self, error: impl AsRef<[u8]>) -> Result<Outcome> {
        self.settle(&Settle::nack().error(error.as_ref()))
    }

    /// Settle: give the job back before it was begun. The attempt is not counted.
    ///
    /// # Errors
    /// As [`ack`](Job::ack).
    pub fn release(&self) -> Result<Outcome> {
        self.settle(&Settle::release())
    }

    /// Settle: the job failed for good and is dead, whatever attempts are left.
    ///
    /// # Errors
    /// As [`ack`](Job::ack).
    pub fn fail(&self, error: impl AsRef<[u8]>) -> Result<Outcome> {
        self.settle(&Settle::fail().error(error.as_ref()))
    }

    /// Settle with all options.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("settle");
    /// # let store = wq::Store::open(&dir)?;
    /// # let queue = store.queue("mail")?;
    /// # let _ = queue.enqueue("x")?;
    /// let lease = queue.lease(&wq::LeaseOptions::new())?;
    /// let job = &lease[0];
    /// let later = wq::Settle::nack().delay(Duration::from_secs(60)).error("no connection");
    /// assert!(job.settle(&later)?.is_ok());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ack`](Job::ack).
    pub fn settle(&self, how: &Settle<'_>) -> Result<Outcome> {
        self.queue.settle(self.info.token(), how)
    }

    /// The same, without waiting for durability.
    pub fn settle_async(&self, how: &Settle<'_>) -> Pending<Outcome> {
        self.queue.settle_async(self.info.token(), how)
    }

    /// Set the deadline of the lease to this time from now; zero: the `lease` of the queue.
    /// [`Outcome::Cancelled`]: its flow was cancelled, it should stop.
    ///
    /// # Errors
    /// As [`ack`](Job::ack).
    pub fn extend(&self, lease: Duration) -> Result<Outcome> {
        self.queue.extend(self.info.token(), lease)
    }

    /// Say that the job was delivered and is being worked on: leased -> running. It has a deadline
    /// only with `run` above zero.
    ///
    /// # Errors
    /// As [`ack`](Job::ack).
    pub fn confirm(&self, run: Duration) -> Result<Outcome> {
        self.queue.confirm(self.info.token(), run)
    }

    /// Leave a note with the job: how far it is, or where the next attempt should go on. Up to 4 KiB;
    /// an empty one takes it away.
    ///
    /// # Errors
    /// As [`ack`](Job::ack), and [`ErrorCode::TooLarge`](crate::ErrorCode::TooLarge).
    pub fn progress(&self, note: impl AsRef<[u8]>) -> Result<Outcome> {
        self.queue.progress(self.info.token(), note)
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Job").field(&self.info).finish()
    }
}
