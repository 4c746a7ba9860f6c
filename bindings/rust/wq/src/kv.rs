//! Key-value rows and locks: small values of yours, in the same log as the jobs.

use std::time::{Duration, SystemTime};

use wq_sys as sys;

use crate::call::Ctx;
use crate::code::{ErrorCode, Outcome};
use crate::driver::Pending;
use crate::error::{check_ok, Error, Result};
use crate::handle::{bytes_of, view, PageHandle};
use crate::spec::Bytes;
use crate::store::Store;
use crate::time::{from_at_ms, opt_ms};

impl Store {
    /// The key-value rows of this store.
    pub fn kv(&self) -> Kv<'_> {
        Kv { store: self }
    }

    /// The locks of this store.
    pub fn locks(&self) -> Locks<'_> {
        Locks { store: self }
    }
}

/// Small values under keys of 1 to 512 bytes; see [`Store::kv`]. They have the same durability as
/// jobs, are in the same backups, and can be changed together with jobs by a
/// [`Transaction`](crate::Transaction).
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("kv");
/// # let store = wq::Store::open(&dir)?;
/// use wq::KvOptions;
/// let version = store.kv().put("color", "red", &KvOptions::new())?.version();
/// let row = store.kv().get("color")?.expect("it is there");
/// assert_eq!((row.value.as_slice(), Some(row.version)), (&b"red"[..], version));
/// // Compare and swap: only if nobody was faster.
/// let swap = KvOptions::new().if_version(row.version);
/// assert!(store.kv().put("color", "blue", &swap)?.outcome().is_ok());
/// assert_eq!(store.kv().put("color", "green", &swap)?.outcome(), wq::Outcome::Conflict);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Kv<'s> {
    store: &'s Store,
}

/// Conditions and life of a row.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct KvOptions<'a> {
    flags: u32,
    ttl: Option<Duration>,
    version: u64,
    value: Bytes<'a>,
}

impl<'a> KvOptions<'a> {
    /// No condition, for ever.
    pub fn new() -> KvOptions<'a> {
        KvOptions::default()
    }

    /// Gone after this time. Of a put; and of an add where there is no row yet.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Only if there is no such row.
    pub fn if_absent(mut self) -> Self {
        self.flags |= sys::WQ_KV_IF_ABSENT;
        self
    }

    /// Only if it has this version.
    pub fn if_version(mut self, version: u64) -> Self {
        self.flags |= sys::WQ_KV_IF_VERSION;
        self.version = version;
        self
    }

    /// Only if it has this value.
    pub fn if_value(mut self, value: impl Into<Bytes<'a>>) -> Self {
        self.flags |= sys::WQ_KV_IF_VALUE;
        self.value = value.into();
        self
    }

    pub(crate) fn lower(&self) -> sys::wq_kv_options {
        let mut raw = sys::wq_kv_options::init();
        raw.flags = self.flags;
        raw.ttl_ms = opt_ms(self.ttl);
        raw.version = self.version;
        raw.value = self.value.view();
        raw
    }
}

/// A row as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KvRow {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
    /// Another one means that it was changed.
    pub version: u64,
    /// When it will be gone.
    pub expires: Option<SystemTime>,
}

/// What became of a change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the condition may not have held"]
pub enum KvChange<T> {
    /// It was changed, and this is its new version or sum.
    Done(T),
    /// `Conflict`: the condition does not hold, or it is no counter; nothing was changed.
    Refused(Outcome),
}

impl<T> KvChange<T> {
    /// `Ok`, or why not.
    pub fn outcome(&self) -> Outcome {
        match self {
            KvChange::Done(_) => Outcome::Ok,
            KvChange::Refused(outcome) => *outcome,
        }
    }

    /// The new version or sum, if it was changed.
    pub fn done(self) -> Option<T> {
        match self {
            KvChange::Done(value) => Some(value),
            KvChange::Refused(_) => None,
        }
    }
}

impl KvChange<u64> {
    /// The version of the row, if it was written.
    pub fn version(&self) -> Option<u64> {
        self.done()
    }
}

impl KvChange<i64> {
    /// The value of the counter, if it was changed.
    pub fn sum(&self) -> Option<i64> {
        self.done()
    }
}

fn change<T>(outcome: Outcome, value: T) -> KvChange<T> {
    match outcome {
        Outcome::Ok => KvChange::Done(value),
        other => KvChange::Refused(other),
    }
}

impl Kv<'_> {
    /// Read one row; `None` if there is none.
    ///
    /// # Errors
    /// `Invalid`, `TooLarge` (key), `Closed`, those of storage; and `Outcome(Conflict)` in a store
    /// whose import was not finished.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<KvRow>> {
        let key = view(key.as_ref());
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let mut page = PageHandle::null();
            // SAFETY: a store of ours, bytes that live until the end of this method, and a valid
            // place for the page, which its owner frees.
            let code =
                unsafe { sys::wq_kv_get(store, key.data, key.len, &mut page.0, &mut ctx.err) };
            rows_of(ctx, code, &page).map(|mut rows| rows.pop())
        })
    }

    /// Write a row: new, or in place of the one that is there.
    ///
    /// # Errors
    /// `Invalid`, `TooLarge`, `NoSpace`, `Closed`, and those of storage.
    pub fn put(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &KvOptions<'_>,
    ) -> Result<KvChange<u64>> {
        self.store.run(|ctx| self.put_call(key.as_ref(), value.as_ref(), options, ctx))
    }

    /// The same, without waiting for durability.
    pub fn put_async(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &KvOptions<'_>,
    ) -> Pending<KvChange<u64>> {
        self.store.begin(|ctx| self.put_call(key.as_ref(), value.as_ref(), options, ctx))
    }

    fn put_call(
        &self,
        key: &[u8],
        value: &[u8],
        options: &KvOptions<'_>,
        ctx: &mut Ctx,
    ) -> Result<KvChange<u64>> {
        let store = self.store.raw()?;
        let (key, value, options) = (view(key), view(value), options.lower());
        let mut version = 0;
        let (call, err) = (&mut ctx.call, &mut ctx.err);
        // SAFETY: a store of ours, bytes that the caller keeps, and structs with their size.
        let code = unsafe {
            let (data, len) = (value.data, value.len);
            sys::wq_kv_put(store, key.data, key.len, data, len, &options, call, &mut version, err)
        };
        Ok(change(ctx.outcome(code)?, version))
    }

    /// Add to a counter: a row whose value is a whole number of 64 bits in decimal. One that is not
    /// there counts as 0, and gets the `ttl`; one that is there keeps its end.
    ///
    /// # Errors
    /// As [`put`](Kv::put).
    pub fn add(
        &self,
        key: impl AsRef<[u8]>,
        delta: i64,
        options: &KvOptions<'_>,
    ) -> Result<KvChange<i64>> {
        let key = view(key.as_ref());
        let options = options.lower();
        let mut sum = 0;
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a store of ours, bytes that live until the end of this method, and structs
            // with their size.
            let code = unsafe {
                sys::wq_kv_add(store, key.data, key.len, delta, &options, call, &mut sum, err)
            };
            Ok(change(ctx.outcome(code)?, sum))
        })
    }

    /// Remove a row. [`Outcome::Empty`]: there is none; [`Outcome::Conflict`]: the condition does not
    /// hold. Goes on when the disk is full.
    ///
    /// # Errors
    /// `Invalid`, `TooLarge`, `Closed`, and those of storage.
    pub fn erase(&self, key: impl AsRef<[u8]>, options: &KvOptions<'_>) -> Result<Outcome> {
        let key = view(key.as_ref());
        let options = options.lower();
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: as in add.
            let code = unsafe { sys::wq_kv_erase(store, key.data, key.len, &options, call, err) };
            ctx.outcome(code)
        })
    }

    /// One page of rows in the order of the bytes of their keys: up to `limit` (0: 100, at most
    /// 1,000) whose keys begin with `prefix` and are behind `after`. Also whether there are more.
    ///
    /// # Errors
    /// As [`get`](Kv::get).
    pub fn page(
        &self,
        prefix: impl AsRef<[u8]>,
        after: impl AsRef<[u8]>,
        limit: u32,
    ) -> Result<(Vec<KvRow>, bool)> {
        let mut query = sys::wq_kv_query::init();
        query.limit = limit;
        query.prefix = view(prefix.as_ref());
        query.after = view(after.as_ref());
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let mut page = PageHandle::null();
            let mut more = 0;
            // SAFETY: a store of ours, a struct with its size whose bytes live until the end of this
            // method, and a valid place for the page, which its owner frees.
            let code =
                unsafe { sys::wq_kv_list(store, &query, &mut page.0, &mut more, &mut ctx.err) };
            Ok((rows_of(ctx, code, &page)?, more != 0))
        })
    }

    /// All rows whose keys begin with these bytes, page by page.
    pub fn iter(&self, prefix: impl Into<Vec<u8>>) -> impl Iterator<Item = Result<KvRow>> + '_ {
        let (kv, prefix) = (*self, prefix.into());
        crate::paging::pages(Vec::new(), move |after: &mut Vec<u8>| {
            let (rows, more) = kv.page(&prefix, &after, 1000)?;
            if let Some(last) = rows.last() {
                *after = last.key.clone();
            }
            Ok((rows, more))
        })
    }
}

/// The rows of a page. EMPTY has none; another outcome is an unfinished import.
fn rows_of(ctx: &Ctx, code: i32, page: &PageHandle) -> Result<Vec<KvRow>> {
    match ctx.outcome(code)? {
        Outcome::Ok => {}
        Outcome::Empty => return Ok(Vec::new()),
        other => {
            let message = format!("an import into this store was not finished ({})", other);
            return Err(Error::new(ErrorCode::Outcome(other), message));
        }
    }
    // SAFETY: a page that this thread alone reads.
    let count = unsafe { sys::wq_kv_page_count(page.0) };
    let mut rows = Vec::with_capacity(count);
    for i in 0..count {
        let mut raw = sys::wq_kv_row::init();
        // SAFETY: the same, and a struct with its size.
        check_ok(unsafe { sys::wq_kv_page_row(page.0, i, &mut raw) }, &ctx.err)?;
        // SAFETY: the bytes are copied while the page is there.
        let (key, value) = unsafe { (bytes_of(raw.key).to_vec(), bytes_of(raw.value).to_vec()) };
        let expires = from_at_ms(raw.expires_ms);
        rows.push(KvRow { key, value, version: raw.version, expires });
    }
    Ok(rows)
}

/// Locks: rows with the owner as their value, gone when their time is over; see [`Store::locks`].
///
/// So [`Kv::get`] tells who holds one, and [`Kv::erase`] breaks it. An owner is any bytes that nobody
/// else uses. Changes are safe from `kill -9` by default ([`Durability::Process`](crate::Durability)).
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("locks");
/// # let store = wq::Store::open(&dir)?;
/// let minute = Duration::from_secs(60);
/// assert!(store.locks().take("lock:report", "me", minute)?.is_ok());
/// assert_eq!(store.locks().take("lock:report", "you", minute)?, wq::Outcome::Conflict);
/// assert!(store.locks().release("lock:report", "me")?.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Locks<'s> {
    store: &'s Store,
}

type LockCall = unsafe extern "C" fn(
    *mut sys::wq_store,
    *const std::os::raw::c_void,
    usize,
    *const std::os::raw::c_void,
    usize,
    i64,
    *mut sys::wq_call,
    *mut sys::wq_error,
) -> i32;

impl Locks<'_> {
    /// Take the lock for `ttl` (zero: until it is released). The owner that has it already gets it
    /// again, for this time from now on. [`Outcome::Conflict`]: another owner has it.
    ///
    /// # Errors
    /// `Invalid`, `TooLarge`, `NoSpace`, `Closed`, and those of storage.
    pub fn take(
        &self,
        key: impl AsRef<[u8]>,
        owner: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> Result<Outcome> {
        self.call(key.as_ref(), owner.as_ref(), ttl, sys::wq_lock_take)
    }

    /// Keep it for `ttl` from now on. [`Outcome::Stale`]: this owner does not have it.
    ///
    /// # Errors
    /// As [`take`](Locks::take).
    pub fn extend(
        &self,
        key: impl AsRef<[u8]>,
        owner: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> Result<Outcome> {
        self.call(key.as_ref(), owner.as_ref(), ttl, sys::wq_lock_extend)
    }

    fn call(&self, key: &[u8], owner: &[u8], ttl: Duration, call: LockCall) -> Result<Outcome> {
        let (key, owner, ttl_ms) = (view(key), view(owner), opt_ms(Some(ttl)));
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let (how, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: one of two calls of this form, a store of ours, bytes that the caller keeps,
            // and structs with their size.
            let code =
                unsafe { call(store, key.data, key.len, owner.data, owner.len, ttl_ms, how, err) };
            ctx.outcome(code)
        })
    }

    /// Give it up. [`Outcome::Stale`]: this owner does not have it.
    ///
    /// # Errors
    /// `Invalid`, `TooLarge`, `Closed`, and those of storage.
    pub fn release(&self, key: impl AsRef<[u8]>, owner: impl AsRef<[u8]>) -> Result<Outcome> {
        let (key, owner) = (view(key.as_ref()), view(owner.as_ref()));
        self.store.run(|ctx| {
            let store = self.store.raw()?;
            let (call, err) = (&mut ctx.call, &mut ctx.err);
            // SAFETY: a store of ours, bytes that live until the end of this method, and structs
            // with their size.
            let code = unsafe {
                sys::wq_lock_release(store, key.data, key.len, owner.data, owner.len, call, err)
            };
            ctx.outcome(code)
        })
    }
}
