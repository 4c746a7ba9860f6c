//! The configuration of a queue.

use std::time::Duration;

use wq_sys as sys;

use crate::spec::Backoff;
use crate::time::{from_ms, to_ms};
use crate::words::{Durability, FullPolicy, QueueStatus};

/// How many jobs of a queue may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rate {
    /// So many within the window; 0: no limit.
    pub count: u32,
    /// Of them, how many at once after an idle time; 0: 1.
    pub burst: u32,
    /// 1 ms to 366 days; zero without a limit.
    pub window: Duration,
}

/// How many acked jobs the history of a queue keeps, and how long. Both zero: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeepDone {
    /// The newest so many; 0: no bound.
    pub count: u32,
    /// For so long; zero: no bound.
    pub age: Duration,
}

/// Configuration of a queue: only what is `Some` counts when it is given to the store.
///
/// [`Queue::config`](crate::Queue::config) fills everything, the version included: change a field,
/// hand it to [`Queue::configure`](crate::Queue::configure), and the change is refused
/// ([`Outcome::Conflict`](crate::Outcome::Conflict)) if somebody else was faster. Set `version` to
/// `None` to overrule.
///
/// ```
/// use std::time::Duration;
/// let config = wq::QueueConfig::new().max_running(4).lease(Duration::from_secs(30));
/// assert_eq!(config.max_running, Some(4));
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct QueueConfig {
    /// Bound of leased and running jobs; 0: none. It never cuts those that run.
    pub max_running: Option<u32>,
    /// Attempts after the first; default 3.
    pub max_retries: Option<u32>,
    /// How long a lease is; default 60 s.
    pub lease: Option<Duration>,
    /// Default of enqueue and settle calls; default [`Durability::Power`].
    pub durability: Option<Durability>,
    /// How long a job waits before a retry; default: not at all.
    pub backoff: Option<Backoff>,
    /// Change only if the version is still this one.
    pub version: Option<u64>,
    /// A job that did not start so long after it was enqueued ends; zero: never.
    pub job_ttl: Option<Duration>,
    /// Bound of ready and delayed jobs for enqueue and replay; 0: none.
    pub max_depth: Option<u64>,
    /// The same of their bytes.
    pub max_bytes: Option<u64>,
    /// What an enqueue does at these bounds.
    pub full_policy: Option<FullPolicy>,
    /// Of dead letters: with more, the oldest are dropped soon; 0: none.
    pub dead_max_count: Option<u64>,
    /// Dead letters are dropped this long after they died; zero: never.
    pub dead_max_age: Option<Duration>,
    /// What the history keeps.
    pub keep_done: Option<KeepDone>,
    /// How many jobs may begin.
    pub rate: Option<Rate>,
    /// Jobs of one group that run at once; default 1.
    pub group_limit: Option<u32>,
    /// Told only: the status of the queue.
    pub status: Option<QueueStatus>,
    /// Told only: paused, also behind [`QueueStatus::Disabled`].
    pub consumers_paused: Option<bool>,
}

/// A setter for each field, so that a configuration is one expression.
macro_rules! setters {
    ($($name:ident: $type:ty;)*) => {
        $(
            #[doc = concat!("Set [`", stringify!($name), "`](QueueConfig#structfield.", stringify!($name), ").")]
            #[must_use]
            pub fn $name(mut self, value: $type) -> Self {
                self.$name = Some(value);
                self
            }
        )*
    };
}

impl QueueConfig {
    /// Nothing is set: all defaults.
    pub fn new() -> QueueConfig {
        QueueConfig::default()
    }

    setters! {
        max_running: u32;
        max_retries: u32;
        lease: Duration;
        durability: Durability;
        backoff: Backoff;
        job_ttl: Duration;
        max_depth: u64;
        max_bytes: u64;
        full_policy: FullPolicy;
        dead_max_count: u64;
        dead_max_age: Duration;
        keep_done: KeepDone;
        rate: Rate;
        group_limit: u32;
    }

    pub(crate) fn lower(&self) -> sys::wq_queue_config {
        let mut raw = sys::wq_queue_config::init();
        set(&mut raw.fields, sys::WQ_CONFIG_MAX_RUNNING, self.max_running, &mut raw.max_running);
        set(&mut raw.fields, sys::WQ_CONFIG_MAX_RETRIES, self.max_retries, &mut raw.max_retries);
        set(&mut raw.fields, sys::WQ_CONFIG_LEASE_MS, self.lease.map(to_ms), &mut raw.lease_ms);
        let durability = self.durability.map(Durability::raw);
        set(&mut raw.fields, sys::WQ_CONFIG_DURABILITY, durability, &mut raw.durability);
        set(&mut raw.fields, sys::WQ_CONFIG_VERSION, self.version, &mut raw.version);
        set(&mut raw.fields, sys::WQ_CONFIG_JOB_TTL, self.job_ttl.map(to_ms), &mut raw.job_ttl_ms);
        set(&mut raw.fields, sys::WQ_CONFIG_MAX_DEPTH, self.max_depth, &mut raw.max_depth);
        set(&mut raw.fields, sys::WQ_CONFIG_MAX_BYTES, self.max_bytes, &mut raw.max_bytes);
        let policy = self.full_policy.map(FullPolicy::raw);
        set(&mut raw.fields, sys::WQ_CONFIG_FULL_POLICY, policy, &mut raw.full_policy);
        let (count, age) = (self.dead_max_count, self.dead_max_age.map(to_ms));
        set(&mut raw.fields, sys::WQ_CONFIG_DEAD_MAX_COUNT, count, &mut raw.dead_max_count);
        set(&mut raw.fields, sys::WQ_CONFIG_DEAD_MAX_AGE, age, &mut raw.dead_max_age_ms);
        let limit = self.group_limit;
        set(&mut raw.fields, sys::WQ_CONFIG_GROUP_LIMIT, limit, &mut raw.group_limit);
        self.lower_groups_of_fields(&mut raw);
        raw
    }

    fn lower_groups_of_fields(&self, raw: &mut sys::wq_queue_config) {
        if let Some(backoff) = &self.backoff {
            raw.fields |= sys::WQ_CONFIG_BACKOFF;
            raw.backoff_kind = backoff.kind;
            raw.backoff_base_ms = to_ms(backoff.base);
            raw.backoff_max_ms = to_ms(backoff.max);
            raw.backoff_jitter_permille = backoff.jitter_permille;
            // What does not fit is told by the count, which the library refuses.
            raw.backoff_count = u32::try_from(backoff.list.len()).unwrap_or(u32::MAX);
            for (place, delay) in raw.backoff_list_ms.iter_mut().zip(&backoff.list) {
                *place = to_ms(*delay);
            }
        }
        if let Some(keep) = self.keep_done {
            raw.fields |= sys::WQ_CONFIG_KEEP_DONE;
            raw.keep_done_count = keep.count;
            raw.keep_done_age_ms = to_ms(keep.age);
        }
        if let Some(rate) = self.rate {
            raw.fields |= sys::WQ_CONFIG_RATE;
            raw.rate_count = rate.count;
            raw.rate_burst = rate.burst;
            raw.rate_window_ms = to_ms(rate.window);
        }
    }

    pub(crate) fn of_raw(raw: &sys::wq_queue_config) -> QueueConfig {
        let list = raw.backoff_list_ms.iter().take(raw.backoff_count as usize);
        QueueConfig {
            max_running: Some(raw.max_running),
            max_retries: Some(raw.max_retries),
            lease: Some(from_ms(raw.lease_ms)),
            durability: Some(Durability::from_raw(raw.durability)),
            backoff: Some(Backoff {
                kind: raw.backoff_kind,
                base: from_ms(raw.backoff_base_ms),
                max: from_ms(raw.backoff_max_ms),
                list: list.map(|ms| from_ms(*ms)).collect(),
                jitter_permille: raw.backoff_jitter_permille,
            }),
            version: Some(raw.version),
            job_ttl: Some(from_ms(raw.job_ttl_ms)),
            max_depth: Some(raw.max_depth),
            max_bytes: Some(raw.max_bytes),
            full_policy: Some(FullPolicy::from_raw(raw.full_policy)),
            dead_max_count: Some(raw.dead_max_count),
            dead_max_age: Some(from_ms(raw.dead_max_age_ms)),
            keep_done: Some(KeepDone {
                count: raw.keep_done_count,
                age: from_ms(raw.keep_done_age_ms),
            }),
            rate: Some(Rate {
                count: raw.rate_count,
                burst: raw.rate_burst,
                window: from_ms(raw.rate_window_ms),
            }),
            group_limit: Some(raw.group_limit),
            status: Some(QueueStatus::from_raw(raw.status)),
            consumers_paused: Some(raw.consumers_paused != 0),
        }
    }
}

fn set<T>(fields: &mut u32, bit: u32, value: Option<T>, place: &mut T) {
    if let Some(value) = value {
        *fields |= bit;
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_not_named() {
        assert_eq!(QueueConfig::new().lower().fields, 0);
        let raw = QueueConfig::new().max_running(0).lower();
        assert_eq!(raw.fields, sys::WQ_CONFIG_MAX_RUNNING);
    }

    #[test]
    fn a_whole_configuration_goes_there_and_back() {
        let config = QueueConfig {
            version: Some(7),
            ..QueueConfig::new()
                .max_running(1)
                .max_retries(2)
                .lease(Duration::from_millis(3))
                .durability(Durability::Process)
                .backoff(Backoff::list([Duration::from_secs(1)]).jitter(4))
                .job_ttl(Duration::from_secs(5))
                .max_depth(6)
                .max_bytes(7)
                .full_policy(FullPolicy::DropOldest)
                .dead_max_count(8)
                .dead_max_age(Duration::from_secs(9))
                .keep_done(KeepDone { count: 10, age: Duration::from_secs(11) })
                .rate(Rate { count: 12, burst: 13, window: Duration::from_secs(14) })
                .group_limit(15)
        };
        let mut back = QueueConfig::of_raw(&config.lower());
        assert_eq!(back.status.take(), Some(QueueStatus::Active));
        assert_eq!(back.consumers_paused.take(), Some(false));
        assert_eq!(back, config);
    }

    #[test]
    fn a_list_that_is_too_long_is_told_to_the_library() {
        let list = vec![Duration::from_secs(1); 40];
        let raw = QueueConfig::new().backoff(Backoff::list(list)).lower();
        assert_eq!(raw.backoff_count, 40);
    }
}
