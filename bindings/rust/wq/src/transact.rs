//! Several operations in one change: all of them, or none.

use wq_sys as sys;

use crate::call::Ctx;
use crate::code::Outcome;
use crate::driver::Pending;
use crate::error::Result;
use crate::job::{Job, Token};
use crate::kv::KvOptions;
use crate::queue::Queue;
use crate::settle::Settle;
use crate::spec::{Arena, Bytes, JobSpec};
use crate::store::Store;

/// Operations that happen together: "ack this, enqueue these, remember that".
///
/// Every operation is judged by the state before the first: none sees what another one does. A key
/// may be named by one operation only, and a job be settled by one. New jobs have no keys of their
/// own. There is no state in between, for nobody, and none after a crash.
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("transact");
/// # let store = wq::Store::open(&dir)?;
/// # let queue = store.queue("mail")?;
/// # let done = store.queue("done")?;
/// # let _ = queue.enqueue("x")?;
/// # let lease = queue.lease(&wq::LeaseOptions::new())?;
/// # let job = &lease[0];
/// use wq::{KvOptions, Settle, Transaction};
/// let committed = Transaction::new()
///     .settle_job(job, Settle::ack())
///     .enqueue(&done, "mail was sent")
///     .kv_add("sent", 1, KvOptions::new())
///     .commit(&store)?;
/// assert!(committed.is_ok());
/// assert_eq!(committed.sum(2), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing happens until it is committed"]
pub struct Transaction<'a> {
    ops: Vec<Op<'a>>,
}

#[derive(Clone, Debug)]
enum Op<'a> {
    Enqueue(Queue, Box<JobSpec<'a>>),
    Settle(Queue, Token, Settle<'a>),
    Put(Bytes<'a>, Bytes<'a>, KvOptions<'a>),
    Add(Bytes<'a>, i64, KvOptions<'a>),
    Erase(Bytes<'a>, KvOptions<'a>),
    Check(Bytes<'a>, KvOptions<'a>),
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "it may have been refused, and nothing was changed then"]
pub struct Committed {
    /// `Ok`: all was done. Else nothing was: `Stale` (a settle), `Conflict` (a condition of a row, no
    /// counter, a flow that has ended), `Disabled`.
    pub outcome: Outcome,
    /// The operation that was refused.
    pub failed: Option<usize>,
    /// LSN of the change; 0 if all were checks.
    pub lsn: u64,
    results: Vec<(u64, i64)>,
}

impl Committed {
    /// Whether all was done.
    pub fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The new job of operation `index`, if it was an enqueue that was done.
    pub fn job_id(&self, index: usize) -> Option<u64> {
        self.results.get(index).map(|(id, _)| *id).filter(|id| *id != 0)
    }

    /// The new value of the counter of operation `index`, if it was done.
    pub fn sum(&self, index: usize) -> Option<i64> {
        self.results.get(index).map(|(_, sum)| *sum).filter(|_| self.is_ok())
    }
}

impl<'a> Transaction<'a> {
    /// No operation yet. One transaction has 1 to 10,000.
    pub fn new() -> Transaction<'a> {
        Transaction::default()
    }

    /// Enqueue a job.
    pub fn enqueue(mut self, queue: &Queue, spec: impl Into<JobSpec<'a>>) -> Self {
        self.ops.push(Op::Enqueue(queue.clone(), Box::new(spec.into())));
        self
    }

    /// Settle a job that was leased.
    pub fn settle_job(self, job: &Job, how: Settle<'a>) -> Self {
        self.settle(job.queue(), job.token(), how)
    }

    /// Settle the job that this token is of.
    pub fn settle(mut self, queue: &Queue, token: Token, how: Settle<'a>) -> Self {
        self.ops.push(Op::Settle(queue.clone(), token, how));
        self
    }

    /// Write a row.
    pub fn kv_put(
        mut self,
        key: impl Into<Bytes<'a>>,
        value: impl Into<Bytes<'a>>,
        options: KvOptions<'a>,
    ) -> Self {
        self.ops.push(Op::Put(key.into(), value.into(), options));
        self
    }

    /// Add to a counter.
    pub fn kv_add(mut self, key: impl Into<Bytes<'a>>, delta: i64, options: KvOptions<'a>) -> Self {
        self.ops.push(Op::Add(key.into(), delta, options));
        self
    }

    /// Remove a row. One that is not there is no obstacle.
    pub fn kv_erase(mut self, key: impl Into<Bytes<'a>>, options: KvOptions<'a>) -> Self {
        self.ops.push(Op::Erase(key.into(), options));
        self
    }

    /// Change nothing, but let all of it depend on the condition of `options`.
    pub fn kv_check(mut self, key: impl Into<Bytes<'a>>, options: KvOptions<'a>) -> Self {
        self.ops.push(Op::Check(key.into(), options));
        self
    }

    /// Do it.
    ///
    /// # Errors
    /// `Full`, `NotFound` (queue, job or flow), `Invalid` (also for no operation at all), `TooLarge`,
    /// `Unsupported`, `NoSpace`, `Closed`, and those of storage;
    /// [`Error::failed_index`](crate::Error::failed_index) names the operation.
    pub fn commit(&self, store: &Store) -> Result<Committed> {
        store.run(|ctx| self.call(store, ctx))
    }

    /// The same, without waiting for durability.
    pub fn commit_async(&self, store: &Store) -> Pending<Committed> {
        store.begin(|ctx| self.call(store, ctx))
    }

    fn call(&self, store: &Store, ctx: &mut Ctx) -> Result<Committed> {
        let handle = store.raw()?;
        let mut lowered = Lowered::with_room(self.ops.len());
        let ops = self.ops.iter().map(|op| lowered.op(op)).collect::<Result<Vec<_>>>()?;
        let mut results = vec![sys::wq_txn_result::init(); ops.len()];
        let mut failed = ops.len();
        let (call, err) = (&mut ctx.call, &mut ctx.err);
        // SAFETY: a store of ours, arrays of the length that is told, whose pointers lead to `self`
        // and `lowered`, and structs with their size.
        let code = unsafe {
            let size = std::mem::size_of::<sys::wq_txn_op>();
            let results_size = std::mem::size_of::<sys::wq_txn_result>();
            let out = results.as_mut_ptr();
            sys::wq_transact(
                handle,
                ops.as_ptr(),
                ops.len(),
                size,
                call,
                out,
                results_size,
                &mut failed,
                err,
            )
        };
        let failed = Some(failed).filter(|index| *index < ops.len() && code != sys::WQ_OK);
        let outcome = ctx.outcome(code).map_err(|error| error.with_failed_index(failed))?;
        let results = results.iter().map(|result| (result.job_id, result.sum)).collect();
        Ok(Committed { outcome, failed, lsn: ctx.call.lsn, results })
    }
}

/// What the operations point to. The vectors have their room from the start, so nothing moves.
struct Lowered {
    arena: Arena,
    specs: Vec<sys::wq_job_spec>,
    settles: Vec<sys::wq_settle_item>,
    options: Vec<sys::wq_kv_options>,
}

impl Lowered {
    fn with_room(n: usize) -> Lowered {
        Lowered {
            arena: Arena::default(),
            specs: Vec::with_capacity(n),
            settles: Vec::with_capacity(n),
            options: Vec::with_capacity(n),
        }
    }

    fn op(&mut self, op: &Op<'_>) -> Result<sys::wq_txn_op> {
        let mut raw = sys::wq_txn_op::init();
        match op {
            Op::Enqueue(queue, spec) => {
                raw.kind = sys::WQ_TXN_ENQUEUE;
                raw.queue = queue.raw()?;
                let spec = spec.lower(&mut self.arena);
                raw.spec = place(&mut self.specs, spec);
            }
            Op::Settle(queue, token, how) => {
                raw.kind = sys::WQ_TXN_SETTLE;
                raw.queue = queue.raw()?;
                raw.settle = place(&mut self.settles, how.lower(*token));
            }
            Op::Put(key, value, options) => {
                raw.value = value.view();
                self.row(&mut raw, sys::WQ_TXN_KV_PUT, key, options);
            }
            Op::Add(key, delta, options) => {
                raw.delta = *delta;
                self.row(&mut raw, sys::WQ_TXN_KV_ADD, key, options);
            }
            Op::Erase(key, options) => self.row(&mut raw, sys::WQ_TXN_KV_ERASE, key, options),
            Op::Check(key, options) => self.row(&mut raw, sys::WQ_TXN_KV_CHECK, key, options),
        }
        Ok(raw)
    }

    fn row(
        &mut self,
        raw: &mut sys::wq_txn_op,
        kind: u32,
        key: &Bytes<'_>,
        options: &KvOptions<'_>,
    ) {
        raw.kind = kind;
        raw.key = key.view();
        raw.options = place(&mut self.options, options.lower());
    }
}

/// Where the item lies now. The vector must have room for it.
fn place<T>(items: &mut Vec<T>, item: T) -> *const T {
    assert!(items.len() < items.capacity(), "an item more than operations");
    let index = items.len();
    items.push(item);
    // SAFETY: the index is within the vector, which was not and will not be moved. Taken from the
    // vector's own pointer, so that later pushes do not take its right away.
    unsafe { items.as_ptr().add(index) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::bytes_of;

    #[test]
    fn rows_keep_what_they_point_to() {
        let transaction = Transaction::new()
            .kv_put("a", "1", KvOptions::new().if_value("0"))
            .kv_add("b", -7, KvOptions::new())
            .kv_erase("c", KvOptions::new().if_version(9))
            .kv_check("d", KvOptions::new().if_absent());
        let mut lowered = Lowered::with_room(4);
        let ops: Vec<_> = transaction.ops.iter().map(|op| lowered.op(op).unwrap()).collect();
        // SAFETY: the pointers lead to `transaction` and `lowered`, which are both there.
        unsafe {
            assert_eq!(bytes_of((*ops[0].options).value), b"0");
            assert_eq!((bytes_of(ops[1].key), ops[1].delta), (&b"b"[..], -7));
            assert_eq!((*ops[2].options).version, 9);
            assert_eq!((*ops[3].options).flags, sys::WQ_KV_IF_ABSENT);
        }
    }
}
