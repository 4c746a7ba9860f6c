//! A job to enqueue, with all that may be said of it.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use wq_sys as sys;

use crate::arena::Arena;
use crate::backoff::Backoff;
use crate::handle::view;
use crate::time::{at_ms, opt_ms, to_ms};
use crate::words::UniqueUntil;

/// Bytes that are borrowed or owned: what payloads, keys and values are given as.
///
/// Made from `&[u8]`, `&str`, arrays, `Vec<u8>` and `String`, so that any of them can be passed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bytes<'a>(Cow<'a, [u8]>);

impl Bytes<'_> {
    pub(crate) fn view(&self) -> sys::wq_bytes {
        view(&self.0)
    }
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// `From` for all that is bytes, of `Bytes` and of what is made from a payload alone.
macro_rules! from_bytes {
    ($type:ident, $make:expr) => {
        impl<'a> From<&'a [u8]> for $type<'a> {
            fn from(bytes: &'a [u8]) -> Self {
                $make(Cow::Borrowed(bytes))
            }
        }
        impl<'a, const N: usize> From<&'a [u8; N]> for $type<'a> {
            fn from(bytes: &'a [u8; N]) -> Self {
                $make(Cow::Borrowed(&bytes[..]))
            }
        }
        impl<'a> From<&'a Vec<u8>> for $type<'a> {
            fn from(bytes: &'a Vec<u8>) -> Self {
                $make(Cow::Borrowed(bytes.as_slice()))
            }
        }
        impl<'a> From<&'a str> for $type<'a> {
            fn from(text: &'a str) -> Self {
                $make(Cow::Borrowed(text.as_bytes()))
            }
        }
        impl<'a> From<&'a String> for $type<'a> {
            fn from(text: &'a String) -> Self {
                $make(Cow::Borrowed(text.as_bytes()))
            }
        }
        impl<'a> From<Vec<u8>> for $type<'a> {
            fn from(bytes: Vec<u8>) -> Self {
                $make(Cow::Owned(bytes))
            }
        }
        impl<'a> From<String> for $type<'a> {
            fn from(text: String) -> Self {
                $make(Cow::Owned(text.into_bytes()))
            }
        }
    };
}

from_bytes!(Bytes, Bytes);
from_bytes!(JobSpec, |bytes| JobSpec { payload: Bytes(bytes), ..JobSpec::default() });

/// What becomes of a job of a group that is full when a lease comes to it. No attempt is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It waits for a slot.
    #[default]
    Park,
    /// It is delayed by this time, 1 ms to 100 years.
    Release(Duration),
    /// It ends without having run.
    Skip,
}

/// A job to enqueue: a payload and its options.
///
/// Bytes are borrowed or owned, and copied by the library during the call. Whatever is not said is
/// the default of the queue. A payload alone is a spec: `queue.enqueue("hello")`.
///
/// ```
/// use std::time::Duration;
/// let spec = wq::JobSpec::new("resize 7.png")
///     .header("content-type", "text/plain")
///     .delay(Duration::from_secs(5))
///     .priority(10)
///     .unique("7.png", None);
/// ```
///
/// A spec that borrows can not outlive what it borrows:
///
/// ```compile_fail,E0597
/// let spec = {
///     let payload = String::from("gone");
///     wq::JobSpec::new(&payload)
/// };
/// drop(spec);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a spec does nothing until it is enqueued"]
pub struct JobSpec<'a> {
    payload: Bytes<'a>,
    headers: Vec<(Bytes<'a>, Bytes<'a>)>,
    /// Most jobs say none of it: then a spec is small.
    more: Option<Box<More<'a>>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct More<'a> {
    delay: Option<Duration>,
    run_at: Option<SystemTime>,
    priority: Option<u8>,
    max_attempts: u32,
    backoff: Backoff,
    expires_at: Option<SystemTime>,
    retry_until: Option<SystemTime>,
    timeout: Option<Duration>,
    max_exceptions: u32,
    flags: u32,
    unique: Bytes<'a>,
    unique_ttl: Option<Duration>,
    unique_until: u32,
    debounce: Bytes<'a>,
    debounce_for: Option<Duration>,
    debounce_max: Option<Duration>,
    idempotency: Bytes<'a>,
    idempotency_for: Option<Duration>,
    flow: u64,
    group: Bytes<'a>,
    group_limit: u32,
    overlap: Overlap,
    tenant: Bytes<'a>,
    rate_key: Bytes<'a>,
    rate_cost: u32,
    chain: Vec<NextJob<'a>>,
}

impl<'a> JobSpec<'a> {
    /// A job with this payload. Any byte is legal; up to 16 MiB unless the store was opened with
    /// more.
    pub fn new(payload: impl Into<Bytes<'a>>) -> JobSpec<'a> {
        JobSpec { payload: payload.into(), ..JobSpec::default() }
    }

    fn more(&mut self) -> &mut More<'a> {
        self.more.get_or_insert_with(Box::default)
    }

    /// Add a header. A name has 1 to 255 bytes, a value any bytes; all together up to 64 KiB.
    pub fn header(mut self, name: impl Into<Bytes<'a>>, value: impl Into<Bytes<'a>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Ready after this time. Not together with [`run_at`](JobSpec::run_at).
    pub fn delay(mut self, delay: Duration) -> Self {
        self.more().delay = Some(delay);
        self
    }

    /// Ready at this time; at once if it is in the past.
    pub fn run_at(mut self, time: SystemTime) -> Self {
        self.more().run_at = Some(time);
        self
    }

    /// 0 goes first, 100 is the default.
    pub fn priority(mut self, priority: u8) -> Self {
        self.more().priority = Some(priority);
        self
    }

    /// How often it is tried at most; 0 is 1 + `max_retries` of the queue.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.more().max_attempts = attempts;
        self
    }

    /// How long it waits before a retry, instead of the policy of its queue.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.more().backoff = backoff;
        self
    }

    /// A job that was not leased by then is never leased: it ends.
    pub fn expires_at(mut self, time: SystemTime) -> Self {
        self.more().expires_at = Some(time);
        self
    }

    /// An attempt that is lost at or after this time is the last. It adds no attempts.
    pub fn retry_until(mut self, time: SystemTime) -> Self {
        self.more().retry_until = Some(time);
        self
    }

    /// Told to the worker; also the length of its leases where a call names none.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.more().timeout = Some(timeout);
        self
    }

    /// With so many nacks that count the job is dead; 0: no limit.
    pub fn max_exceptions(mut self, exceptions: u32) -> Self {
        self.more().max_exceptions = exceptions;
        self
    }

    /// A lease that runs out is the last: the job dies of [`DeadReason::Timeout`](crate::DeadReason),
    /// whatever attempts are left.
    pub fn fail_on_timeout(mut self) -> Self {
        self.more().flags |= sys::WQ_JOB_FAIL_ON_TIMEOUT;
        self
    }

    /// A test push: answer what an enqueue of this job would answer now, and write nothing.
    pub fn dry_run(mut self) -> Self {
        self.more().flags |= sys::WQ_JOB_DRY_RUN;
        self
    }

    /// One job of the queue holds this key at a time; an enqueue that meets the holder is
    /// [`Outcome::Duplicate`](crate::Outcome::Duplicate). The key is held no longer than `ttl`.
    pub fn unique(mut self, key: impl Into<Bytes<'a>>, ttl: Option<Duration>) -> Self {
        self.more().unique = key.into();
        self.more().unique_ttl = ttl;
        self
    }

    /// Which moment frees the unique key; without it, [`UniqueUntil::Done`].
    pub fn unique_until(mut self, until: UniqueUntil) -> Self {
        self.more().unique_until = until.raw();
        self
    }

    /// Of jobs of this key that come one after another, each within `wait` of the last, only the
    /// last one runs, and no later than `max_wait` after the first. Not together with a unique key.
    pub fn debounce(
        mut self,
        key: impl Into<Bytes<'a>>,
        wait: Duration,
        max_wait: Option<Duration>,
    ) -> Self {
        self.more().debounce = key.into();
        self.more().debounce_for = Some(wait);
        self.more().debounce_max = max_wait;
        self
    }

    /// For this long a further enqueue with the key is answered with the first job's id, whatever
    /// became of that job. For producers that repeat a request.
    pub fn idempotency(mut self, key: impl Into<Bytes<'a>>, window: Duration) -> Self {
        self.more().idempotency = key.into();
        self.more().idempotency_for = Some(window);
        self
    }

    /// The flow that it joins; see [`Flows`](crate::Flows).
    pub fn flow(mut self, flow: u64) -> Self {
        self.more().flow = flow;
        self
    }

    /// The group that it is of: of the jobs of a group only so many as its limit run at once.
    pub fn group(mut self, key: impl Into<Bytes<'a>>) -> Self {
        self.more().group = key.into();
        self
    }

    /// How many jobs of its group run at once; 0: as the queue says.
    pub fn group_limit(mut self, limit: u32) -> Self {
        self.more().group_limit = limit;
        self
    }

    /// What becomes of it if its group is full when a lease comes to it. Goes with a group.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.more().overlap = overlap;
        self
    }

    /// Whose job it is: the jobs of one priority are leased one of each tenant in turn. Any 1 to 512
    /// bytes; jobs without are one tenant more.
    pub fn tenant(mut self, key: impl Into<Bytes<'a>>) -> Self {
        self.more().tenant = key.into();
        self
    }

    /// The jobs of this key share a rate, and cool down together:
    /// [`QueueConfig::key_rate`](crate::QueueConfig) and `throttle`. Any 1 to 512 bytes. Not together
    /// with a group.
    pub fn rate_key(mut self, key: impl Into<Bytes<'a>>) -> Self {
        self.more().rate_key = key.into();
        self
    }

    /// How much of the rate of its key it uses up, 1 to 1,000,000. Without it, or with 0: 1.
    pub fn rate_cost(mut self, cost: u32) -> Self {
        self.more().rate_cost = cost;
        self
    }

    /// Whether its payload is stored sealed, whatever its queue says; see
    /// [`OpenOptions::key`](crate::OpenOptions::key).
    pub fn encrypt(mut self, sealed: bool) -> Self {
        let more = self.more();
        more.flags &= !(sys::WQ_JOB_ENCRYPT | sys::WQ_JOB_PLAIN);
        more.flags |= if sealed { sys::WQ_JOB_ENCRYPT } else { sys::WQ_JOB_PLAIN };
        self
    }

    /// Add a job that the ack of the one before it enqueues, in the same record. Up to 100.
    pub fn then(mut self, next: impl Into<NextJob<'a>>) -> Self {
        self.more().chain.push(next.into());
        self
    }

    /// The struct of the library, whose pointers lead to this spec and into the arena.
    pub(crate) fn lower(&self, arena: &mut Arena) -> sys::wq_job_spec {
        let mut raw = sys::wq_job_spec::init();
        self.lower_to(&mut raw, arena);
        raw
    }

    /// The same, into a struct that says nothing yet.
    pub(crate) fn lower_to(&self, raw: &mut sys::wq_job_spec, arena: &mut Arena) {
        raw.payload = self.payload.view();
        let headers =
            self.headers.iter().map(|(n, v)| sys::wq_header { name: n.view(), value: v.view() });
        (raw.headers, raw.headers_count) = arena.keep(headers);
        if let Some(more) = &self.more {
            more.lower(raw, arena);
        }
    }
}

impl More<'_> {
    fn lower(&self, raw: &mut sys::wq_job_spec, arena: &mut Arena) {
        raw.flags = self.flags;
        raw.delay_ms = opt_ms(self.delay);
        raw.run_at_ms = at_ms(self.run_at);
        if let Some(priority) = self.priority {
            raw.priority = u32::from(priority);
            raw.flags |= sys::WQ_JOB_PRIORITY;
        }
        raw.max_attempts = self.max_attempts;
        self.lower_backoff(raw, arena);
        raw.expires_at_ms = at_ms(self.expires_at);
        raw.retry_until_ms = at_ms(self.retry_until);
        raw.timeout_ms = opt_ms(self.timeout);
        raw.max_exceptions = self.max_exceptions;
        self.lower_keys(raw);
        self.lower_gates(raw);
        raw.flow = self.flow;
        if !self.chain.is_empty() {
            let next: Vec<_> = self.chain.iter().map(|job| job.lower(arena)).collect();
            (raw.chain, raw.chain_count) = arena.keep(next.into_iter());
            raw.chain_size = std::mem::size_of::<sys::wq_next_job>();
        }
    }

    fn lower_gates(&self, raw: &mut sys::wq_job_spec) {
        raw.group = self.group.view();
        raw.group_limit = self.group_limit;
        match self.overlap {
            Overlap::Park => {}
            Overlap::Release(delay) => {
                raw.overlap = sys::WQ_OVERLAP_RELEASE;
                raw.overlap_ms = to_ms(delay);
            }
            Overlap::Skip => raw.overlap = sys::WQ_OVERLAP_SKIP,
        }
        raw.tenant = self.tenant.view();
        raw.rate_key = self.rate_key.view();
        raw.rate_cost = self.rate_cost;
    }

    fn lower_backoff(&self, raw: &mut sys::wq_job_spec, arena: &mut Arena) {
        raw.backoff_kind = self.backoff.kind;
        raw.backoff_base_ms = to_ms(self.backoff.base);
        raw.backoff_max_ms = to_ms(self.backoff.max);
        raw.backoff_jitter_permille = self.backoff.jitter_permille;
        let (list, count) = arena.keep(self.backoff.list.iter().map(|delay| to_ms(*delay)));
        raw.backoff_list_ms = list;
        raw.backoff_count = u32::try_from(count).unwrap_or(u32::MAX);
    }

    fn lower_keys(&self, raw: &mut sys::wq_job_spec) {
        raw.unique_key = self.unique.view();
        raw.unique_ttl_ms = opt_ms(self.unique_ttl);
        raw.unique_until = self.unique_until;
        raw.debounce_key = self.debounce.view();
        raw.debounce_ms = opt_ms(self.debounce_for);
        raw.debounce_max_ms = opt_ms(self.debounce_max);
        raw.idempotency_key = self.idempotency.view();
        raw.idempotency_ms = opt_ms(self.idempotency_for);
    }
}

/// A job that does not exist yet: one of a chain, or what the end of a flow enqueues. Its delay
/// counts from the moment that sets it off. It has no chain, no flow and no key of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NextJob<'a> {
    queue: Bytes<'a>,
    spec: JobSpec<'a>,
}

impl<'a> NextJob<'a> {
    /// In the queue of this name, which must exist.
    pub fn in_queue(queue: impl Into<Bytes<'a>>, spec: impl Into<JobSpec<'a>>) -> NextJob<'a> {
        NextJob { queue: queue.into(), spec: spec.into() }
    }

    pub(crate) fn lower(&self, arena: &mut Arena) -> sys::wq_next_job {
        let mut raw = sys::wq_next_job::init();
        raw.queue_name = self.queue.view();
        let spec = self.spec.lower(arena);
        raw.spec = arena.keep(std::iter::once(spec)).0;
        raw
    }
}

/// In a chain: in the queue of the job before.
impl<'a, S: Into<JobSpec<'a>>> From<S> for NextJob<'a> {
    fn from(spec: S) -> NextJob<'a> {
        NextJob { queue: Bytes::default(), spec: spec.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::bytes_of;

    #[test]
    fn a_spec_with_everything_is_lowered_whole() {
        let spec = JobSpec::new("payload")
            .header("a", "1")
            .header(b"b", vec![0, 255])
            .delay(Duration::from_micros(1))
            .priority(0)
            .backoff(Backoff::list([Duration::from_secs(1), Duration::from_secs(2)]).jitter(5))
            .unique(String::from("key"), Some(Duration::from_secs(9)))
            .unique_until(UniqueUntil::Gone)
            .fail_on_timeout()
            .encrypt(true)
            .encrypt(false)
            .group("g")
            .overlap(Overlap::Release(Duration::from_secs(3)))
            .tenant(vec![0, 7])
            .rate_key("k")
            .rate_cost(5)
            .then("second")
            .then(NextJob::in_queue("other", JobSpec::new("third").header("c", "")));
        let mut arena = Arena::default();
        let raw = spec.lower(&mut arena);
        // More arrays must not move those that are there.
        let _others: Vec<_> = (0..50).map(|_| spec.clone().lower(&mut arena)).collect();
        let plain = sys::WQ_JOB_FAIL_ON_TIMEOUT | sys::WQ_JOB_PLAIN;
        assert_eq!(raw.flags, sys::WQ_JOB_PRIORITY | plain);
        assert_eq!((raw.overlap, raw.overlap_ms), (sys::WQ_OVERLAP_RELEASE, 3000));
        assert_eq!(raw.rate_cost, 5);
        assert_eq!((raw.priority, raw.delay_ms, raw.unique_ttl_ms), (0, 1, 9000));
        assert_eq!((raw.backoff_count, raw.backoff_jitter_permille), (2, 5));
        // SAFETY: the pointers lead to `spec` and `arena`, which are both there.
        unsafe {
            assert_eq!(bytes_of(raw.payload), b"payload");
            assert_eq!(bytes_of(raw.unique_key), b"key");
            assert_eq!((bytes_of(raw.tenant), bytes_of(raw.rate_key)), (&[0, 7][..], &b"k"[..]));
            let headers = std::slice::from_raw_parts(raw.headers, raw.headers_count);
            assert_eq!(bytes_of(headers[1].value), [0, 255]);
            assert_eq!(std::slice::from_raw_parts(raw.backoff_list_ms, 2), [1000, 2000]);
            let chain = std::slice::from_raw_parts(raw.chain, raw.chain_count);
            assert_eq!(bytes_of((*chain[0].spec).payload), b"second");
            assert!(bytes_of(chain[0].queue_name).is_empty());
            assert_eq!(bytes_of(chain[1].queue_name), b"other");
            let third = &*chain[1].spec;
            assert_eq!(bytes_of((*third.headers).name), b"c");
            assert!(bytes_of((*third.headers).value).is_empty());
        }
    }

    #[test]
    fn a_payload_alone_needs_no_arena() {
        let mut arena = Arena::default();
        let raw = JobSpec::from(&b"x"[..]).lower(&mut arena);
        assert!(raw.headers.is_null() && raw.chain.is_null() && raw.backoff_list_ms.is_null());
        assert_eq!(raw.flags, 0);
        assert!(arena.headers.is_empty() && arena.times.is_empty());
    }
}
