//! The named values of fields: levels, states, reasons. A value of a newer library is kept as `Other`.

use wq_sys as sys;

/// An enum for named numbers of the header, with the words that the header and the tools use.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $value:path, $word:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A value of a newer library.
            Other(u32),
        }

        impl $name {
            /// The value with this number.
            pub fn from_raw(raw: u32) -> $name {
                match raw {
                    $(value if value == $value => $name::$variant,)*
                    _ => $name::Other(raw),
                }
            }

            /// The number that `wq.h` has for it.
            pub fn raw(self) -> u32 {
                match self {
                    $($name::$variant => $value,)*
                    $name::Other(raw) => raw,
                }
            }

            /// The word of `wq.h`, in lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                    $name::Other(_) => "unknown",
                }
            }

            /// All values that this crate knows.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// How safe a change is when the call returns.
    ///
    /// Records become durable in the order of their LSNs, so one durable LSN covers all before it.
    Durability {
        /// Applied; written within [`OpenOptions::memory_window`](crate::OpenOptions::memory_window).
        Memory = sys::WQ_MEMORY, "memory";
        /// The kernel has it: survives `kill -9`, not power loss.
        Process = sys::WQ_PROCESS, "process";
        /// The device has it: survives power loss.
        Power = sys::WQ_POWER, "power";
    }
}

words! {
    /// Where a job is in its life.
    State {
        /// Waits to be leased.
        Ready = sys::WQ_STATE_READY, "ready";
        /// Waits for its time.
        Delayed = sys::WQ_STATE_DELAYED, "delayed";
        /// Somebody has it until a deadline.
        Leased = sys::WQ_STATE_LEASED, "leased";
        /// Confirmed: it is being worked on.
        Running = sys::WQ_STATE_RUNNING, "running";
        /// A dead letter.
        Dead = sys::WQ_STATE_DEAD, "dead";
    }
}

words! {
    /// Whether a queue takes and hands out jobs.
    QueueStatus {
        /// It does both.
        Active = sys::WQ_STATUS_ACTIVE, "active";
        /// It hands out none; enqueue goes on.
        Paused = sys::WQ_STATUS_PAUSED, "paused";
        /// No lease and no enqueue; delayed jobs stay.
        Disabled = sys::WQ_STATUS_DISABLED, "disabled";
    }
}

words! {
    /// What an enqueue does when a queue is at its `max_depth` or `max_bytes`.
    FullPolicy {
        /// It is refused: [`ErrorCode::Full`](crate::ErrorCode::Full).
        Refuse = sys::WQ_FULL_REFUSE, "refuse";
        /// Ready jobs go for it in the same change, the least urgent and oldest first.
        DropOldest = sys::WQ_FULL_DROP_OLDEST, "drop_oldest";
    }
}

words! {
    /// Why a job is dead.
    DeadReason {
        /// `fail`, or nacked with no retry left.
        Failed = sys::WQ_DEAD_FAILED, "failed";
        /// Its last attempt was lost: the lease was not settled in time.
        LeaseExpired = sys::WQ_DEAD_LEASE_EXPIRED, "lease_expired";
        /// A lease ran out, and the job has `fail_on_timeout`.
        Timeout = sys::WQ_DEAD_TIMEOUT, "timeout";
        /// An attempt was lost at or after its `retry_until`.
        RetryUntil = sys::WQ_DEAD_RETRY_UNTIL, "retry_until";
        /// Nacked for the `max_exceptions`-th time.
        MaxExceptions = sys::WQ_DEAD_MAX_EXCEPTIONS, "max_exceptions";
        /// Said by a worker.
        Cancelled = sys::WQ_DEAD_CANCELLED, "cancelled";
        /// Said by a worker.
        Expired = sys::WQ_DEAD_EXPIRED, "expired";
        /// Said by a worker: it does not know what to do with such a job.
        UnknownType = sys::WQ_DEAD_UNKNOWN_TYPE, "unknown_type";
    }
}

words! {
    /// Which moment in the life of a job frees its unique key.
    UniqueUntil {
        /// Its first lease: one job of the key waits, others may be at work.
        Started = sys::WQ_UNIQUE_STARTED, "started";
        /// Its end or its death; a replay takes the key again. The default.
        Done = sys::WQ_UNIQUE_DONE, "done";
        /// Its end: a dead one still holds the key.
        Gone = sys::WQ_UNIQUE_GONE, "gone";
    }
}

words! {
    /// Kinds of keys of a job.
    KeyKind {
        /// [`JobSpec::unique`](crate::JobSpec::unique).
        Unique = sys::WQ_KEY_UNIQUE, "unique";
        /// [`JobSpec::debounce`](crate::JobSpec::debounce).
        Debounce = sys::WQ_KEY_DEBOUNCE, "debounce";
        /// [`JobSpec::idempotency`](crate::JobSpec::idempotency).
        Idempotency = sys::WQ_KEY_IDEMPOTENCY, "idempotency";
    }
}

words! {
    /// How the library reads and writes its files.
    IoBackend {
        /// io_uring if the kernel lets us, else threads.
        Auto = sys::WQ_IO_AUTO, "auto";
        /// io_uring.
        Uring = sys::WQ_IO_URING, "uring";
        /// A thread pool.
        Threads = sys::WQ_IO_THREADS, "threads";
    }
}

words! {
    /// Whether a store takes changes.
    StoreStatus {
        /// It does.
        Open = sys::WQ_STORE_OPEN, "open";
        /// `shutdown` was called.
        Draining = sys::WQ_STORE_DRAINING, "draining";
        /// A storage failure stopped it.
        Poisoned = sys::WQ_STORE_POISONED, "poisoned";
    }
}

words! {
    /// What an event of a store tells; the words in parentheses are of fields of
    /// [`StoreEvent`](crate::StoreEvent).
    EventKind {
        /// Enqueued (time: when it becomes ready, none: it is).
        Queued = sys::WQ_EVENT_QUEUED, "queued";
        /// Delayed -> ready.
        Promoted = sys::WQ_EVENT_PROMOTED, "promoted";
        /// Leased (time: the deadline).
        Leased = sys::WQ_EVENT_LEASED, "leased";
        /// Leased -> running (time: the deadline, none: there is none).
        Confirmed = sys::WQ_EVENT_CONFIRMED, "confirmed";
        /// Succeeded, and gone.
        Acked = sys::WQ_EVENT_ACKED, "acked";
        /// The attempt failed (time: when it is ready again, none: it is, or it died).
        Nacked = sys::WQ_EVENT_NACKED, "nacked";
        /// Given back uncounted (the same).
        Released = sys::WQ_EVENT_RELEASED, "released";
        /// Its lease was taken back (the same).
        Expired = sys::WQ_EVENT_EXPIRED, "expired";
        /// Became a dead letter (`dead_reason`).
        Dead = sys::WQ_EVENT_DEAD, "dead";
        /// Dead -> ready.
        Replayed = sys::WQ_EVENT_REPLAYED, "replayed";
        /// Cancelled, and gone.
        Cancelled = sys::WQ_EVENT_CANCELLED, "cancelled";
        /// Removed (job_id 0: `count` jobs of the queue at once).
        Cleared = sys::WQ_EVENT_CLEARED, "cleared";
        /// A queue was declared.
        QueueDeclared = sys::WQ_EVENT_QUEUE_DECLARED, "queue_declared";
        /// Its configuration or status changed.
        QueueChanged = sys::WQ_EVENT_QUEUE_CHANGED, "queue_changed";
        /// A queue was deleted, with `count` jobs.
        QueueDeleted = sys::WQ_EVENT_QUEUE_DELETED, "queue_deleted";
        /// All changes up to `lsn` are settled on disk.
        Checkpoint = sys::WQ_EVENT_CHECKPOINT, "checkpoint";
        /// Did not start in time, and gone.
        JobExpired = sys::WQ_EVENT_JOB_EXPIRED, "job_expired";
        /// Went for a newer one, or a dead letter over the caps; gone.
        Dropped = sys::WQ_EVENT_DROPPED, "dropped";
        /// A flow has finished (job_id: the flow; `count`: its members).
        FlowFinished = sys::WQ_EVENT_FLOW_FINISHED, "flow_finished";
    }
}

words! {
    /// One cause that holds a job or a queue back; see [`Causes`].
    Cause {
        /// Its time has not come.
        Delayed = sys::WQ_WHY_DELAYED, "delayed";
        /// The queue is paused.
        Paused = sys::WQ_WHY_PAUSED, "paused";
        /// The queue is disabled.
        Disabled = sys::WQ_WHY_DISABLED, "disabled";
        /// `max_running` jobs are leased or running.
        Slots = sys::WQ_WHY_SLOTS, "slots";
        /// Other ready jobs go first.
        Behind = sys::WQ_WHY_BEHIND, "behind";
        /// No call waits for a job of the queue just now.
        NoConsumer = sys::WQ_WHY_NO_CONSUMER, "no_consumer";
        /// A worker has it.
        Held = sys::WQ_WHY_HELD, "held";
        /// And is past the deadline: it is taken back any moment.
        Late = sys::WQ_WHY_LATE, "late";
        /// It is a dead letter.
        Dead = sys::WQ_WHY_DEAD, "dead";
        /// The store is shutting down, or stopped by a failure.
        Stopped = sys::WQ_WHY_STOPPED, "stopped";
        /// No job of the queue is ready.
        Empty = sys::WQ_WHY_EMPTY, "empty";
        /// Parked: the group of the job is full; of a queue: of all ready ones.
        Group = sys::WQ_WHY_GROUP, "group";
        /// The rate of the queue lets no job begin.
        Rate = sys::WQ_WHY_RATE, "rate";
    }
}

/// The set of causes that hold a job or a queue back. Empty: the next lease takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Causes(u32);

impl Causes {
    /// The set as the mask of the header.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether this cause is among them.
    pub fn contains(self, cause: Cause) -> bool {
        self.0 & cause.raw() != 0
    }

    /// Whether nothing holds it back.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The causes, those that are new to this crate as [`Cause::Other`].
    pub fn iter(self) -> impl Iterator<Item = Cause> {
        (0..32).map(|bit| 1u32 << bit).filter(move |bit| self.0 & bit != 0).map(Cause::from_raw)
    }
}

/// How a value of a raw struct becomes one of this crate.
pub(crate) trait FromRaw<R> {
    fn from_raw_field(raw: R) -> Self;
}

macro_rules! from_raw {
    ($($to:ty, $from:ty, $raw:ident => $value:expr;)*) => {
        $(impl FromRaw<$from> for $to {
            fn from_raw_field($raw: $from) -> $to {
                $value
            }
        })*
    };
}

from_raw! {
    u64, u64, raw => raw;
    u32, u32, raw => raw;
    f64, f64, raw => raw;
    bool, u32, raw => raw != 0;
    std::time::Duration, i64, raw => crate::time::from_ms(raw);
    Option<std::time::SystemTime>, i64, raw => crate::time::from_at_ms(raw);
    State, u32, raw => State::from_raw(raw);
    QueueStatus, u32, raw => QueueStatus::from_raw(raw);
    StoreStatus, u32, raw => StoreStatus::from_raw(raw);
    IoBackend, u32, raw => IoBackend::from_raw(raw);
    EventKind, u32, raw => EventKind::from_raw(raw);
    Causes, u32, raw => Causes(raw);
    Option<DeadReason>, u32, raw => if raw == 0 { None } else { Some(DeadReason::from_raw(raw)) };
    Option<u64>, u64, raw => if raw == 0 { None } else { Some(raw) };
}

/// A struct of this crate whose fields are those of a raw one, under their names.
macro_rules! mirror {
    ($(#[$meta:meta])* $name:ident of $raw:ident {
        $($(#[$doc:meta])* $field:ident : $type:ty = $from:ident,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            #[allow(dead_code)]
            pub(crate) fn of_raw(raw: &wq_sys::$raw) -> $name {
                $name { $($field: crate::words::FromRaw::from_raw_field(raw.$from),)* }
            }
        }
    };
}
pub(crate) use mirror;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_there_and_back() {
        for state in State::ALL {
            assert_eq!(State::from_raw(state.raw()), *state);
        }
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_raw(kind.raw()), *kind);
        }
        assert_eq!(DeadReason::from_raw(99), DeadReason::Other(99));
        assert_eq!(DeadReason::from_raw(99).raw(), 99);
        assert_eq!(Durability::Power.to_string(), "power");
    }

    #[test]
    fn a_set_of_causes_lists_what_is_in_it() {
        let causes = Causes(sys::WQ_WHY_PAUSED | sys::WQ_WHY_RATE | 1 << 31);
        let listed: Vec<Cause> = causes.iter().collect();
        assert_eq!(listed, [Cause::Paused, Cause::Rate, Cause::Other(1 << 31)]);
        assert!(causes.contains(Cause::Paused) && !causes.contains(Cause::Dead));
        assert!(Causes::default().is_empty());
    }
}
