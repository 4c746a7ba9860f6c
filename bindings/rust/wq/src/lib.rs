//! A durable job queue that runs inside your process: safe bindings to `wq`.
//!
//! There is no server. A directory is a [`Store`], a store holds [`Queue`]s, a queue holds jobs.
//!
//! ```
//! # fn main() -> wq::Result<()> {
//! # let dir = wq::doc_dir("lib");
//! use std::time::Duration;
//! use wq::{LeaseOptions, Store};
//!
//! let store = Store::open(&dir)?;
//! let mail = store.queue("mail")?;
//! let sent = mail.enqueue("hello")?; // returns when it is on the device
//! assert!(sent.is_new());
//!
//! let options = LeaseOptions::new().max_jobs(10).wait(Duration::from_secs(1));
//! for job in mail.lease(&options)? {
//!     println!("{:?}, attempt {}", job.text(), job.attempts);
//!     assert!(job.ack()?.is_ok());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Results
//!
//! Every call gives a [`Result`]. What is expected to happen is a value, the [`Outcome`]: a settle of
//! a lease that was lost is `Ok(Outcome::Stale)`, and changed nothing. What went wrong is an
//! [`Error`] with a [`code`](Error::code) and predicates such as
//! [`is_retryable`](Error::is_retryable) and [`maybe_committed`](Error::maybe_committed).
//!
//! Delivery is at least once: a job runs again when its lease expires before it is settled, or when
//! the process or machine dies in between. Make handlers idempotent.
//!
//! # Durability
//!
//! A change returns when it has reached its [`Durability`]. The defaults are those of the header:
//! enqueue and settle as the queue says ([`Durability::Power`] unless configured), leases, extends
//! and locks [`Durability::Process`], everything else [`Durability::Power`].
//! [`Queue::with_durability`] and [`Store::with_durability`] give handles with another one.
//!
//! # Threads and futures
//!
//! [`Store`], [`Queue`], [`Job`] and [`Cancel`] can be cloned or sent to any thread; they keep what
//! they need alive, so they may be dropped in any order. [`Store::close`] closes at once, and wakes
//! all who wait.
//!
//! Methods that end in `_async` make their change at once, and give a [`Pending`] that tells when it
//! is durable: await it under any runtime, or [`Pending::wait`]. One thread per store looks after
//! thousands of them. [`Queue::lease_async`] is a future that cancels its wait when it is dropped.
//!
//! # Forks
//!
//! A child process must not use what was opened before the fork: calls answer
//! [`ErrorCode::Forked`]. Fork first and open in the child, or exec.
//!
//! # Features
//!
//! `serde`: JSON payloads and results, [`JobSpec::json`] and [`JobInfo::json`].

#![deny(missing_docs)]
#![warn(missing_debug_implementations, unreachable_pub)]
#![doc(test(attr(deny(unused_must_use))))]

mod arena;
mod backoff;
mod backup;
mod block;
mod call;
mod code;
mod config;
mod cron;
mod dead;
mod doc;
mod driver;
mod encryption;
mod error;
mod flow;
mod handle;
mod history;
mod job;
#[cfg(feature = "serde")]
mod json;
mod kv;
mod lease;
mod observe;
mod options;
mod paging;
mod progress;
mod queue;
mod settle;
mod spec;
mod stats;
mod store;
mod time;
mod transact;
mod waiters;
mod words;
mod worker;

pub use backoff::Backoff;
pub use backup::{restore_backup, verify_backup, BackupOptions, BackupResult};
pub use block::block_on;
pub use code::{ErrorCode, Outcome};
pub use config::{KeepDone, QueueConfig, Rate, Throttle};
pub use cron::{Cron, CronSpec, Crons};
pub use dead::{DeadFilter, DeadLetters, DeadPage, DeadQuery, DeadReport};
#[doc(hidden)]
pub use doc::{doc_dir, DocDir};
pub use driver::Pending;
pub use encryption::KeyUse;
pub use error::{Error, Result};
pub use flow::{FlowOptions, FlowStatus, Flows};
pub use handle::Cancel;
pub use history::{DoneJob, History};
pub use job::{Header, Job, JobInfo, Token};
pub use kv::{Kv, KvChange, KvOptions, KvRow, Locks};
pub use lease::{Jobs, Lease, LeaseFuture, LeaseOptions};
pub use observe::{
    EventReader, Events, JobExplanation, Keys, QueueError, QueueExplanation, StoreEvent,
};
pub use options::OpenOptions;
pub use queue::{Enqueued, EnqueuedMany, Queue};
pub use settle::{ItemOutcome, Items, Settle};
pub use spec::{Bytes, JobSpec, NextJob, Overlap};
pub use stats::{BackupReport, QueueStats, Recovery, StoreStats, VerifyReport};
pub use store::{build_info, format_version, library_version, Store, Wait};
pub use transact::{Committed, Transaction};
pub use words::{
    Cause, Causes, DeadReason, Durability, EventKind, FullPolicy, IoBackend, KeyKind, QueueStatus,
    State, StoreStatus, UniqueUntil,
};
pub use worker::{Worker, WorkerReport};

/// The README's examples, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
