//! How long a job waits before its next attempt.

use std::time::Duration;

use wq_sys as sys;

/// How long a job waits before its next attempt. The n-th retry is n = 1, 2, ...
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Backoff {
    pub(crate) kind: u32,
    pub(crate) base: Duration,
    pub(crate) max: Duration,
    pub(crate) list: Vec<Duration>,
    pub(crate) jitter_permille: u32,
}

impl Backoff {
    /// Retries are ready at once. In a job: the policy of its queue.
    pub fn none() -> Backoff {
        Backoff::default()
    }

    /// Always the same delay.
    pub fn fixed(delay: Duration) -> Backoff {
        Backoff { kind: sys::WQ_BACKOFF_FIXED, base: delay, ..Backoff::default() }
    }

    /// `base * 2^(n - 1)`, at most `max`.
    pub fn exponential(base: Duration, max: Duration) -> Backoff {
        Backoff { kind: sys::WQ_BACKOFF_EXPONENTIAL, base, max, ..Backoff::default() }
    }

    /// The n-th entry; the last one repeats. 1 to 32 entries.
    pub fn list(delays: impl Into<Vec<Duration>>) -> Backoff {
        Backoff { kind: sys::WQ_BACKOFF_LIST, list: delays.into(), ..Backoff::default() }
    }

    /// By chance up to so many thousandths of each delay are left off, so that jobs which failed
    /// together do not come back together. 0 to 1000.
    pub fn jitter(mut self, permille: u32) -> Backoff {
        self.jitter_permille = permille;
        self
    }

    /// The delay before the first retry of a fixed or exponential policy.
    pub fn base(&self) -> Duration {
        self.base
    }

    /// The longest delay of an exponential policy.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The delays of a list.
    pub fn delays(&self) -> &[Duration] {
        &self.list
    }

    /// The thousandths of [`jitter`](Backoff::jitter).
    pub fn jitter_permille(&self) -> u32 {
        self.jitter_permille
    }

    /// Which policy it is, as `wq.h` names it: `"none"`, `"fixed"`, `"exponential"`, `"list"`.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            sys::WQ_BACKOFF_FIXED => "fixed",
            sys::WQ_BACKOFF_EXPONENTIAL => "exponential",
            sys::WQ_BACKOFF_LIST => "list",
            _ => "none",
        }
    }
}
