//! The store: opening, closing, looking after it.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use wq_sys as sys;

use crate::call::Ctx;
use crate::code::{ErrorCode, Outcome};
use crate::config::QueueConfig;
use crate::driver::Pending;
use crate::error::{Error, Result};
use crate::handle::{bytes_of, ListHandle, QueueInner, StoreInner, TextHandle};
use crate::options::OpenOptions;
use crate::queue::Queue;
use crate::stats::{Recovery, StoreStats, VerifyReport};
use crate::time::to_ms;
use crate::words::Durability;

/// A wait with an end, or for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// At most so long; zero does not wait.
    For(Duration),
    /// Until it is over, the store closes, or a [`Cancel`](crate::Cancel) ends it.
    Forever,
}

impl Wait {
    pub(crate) fn ms(self) -> i64 {
        match self {
            Wait::For(duration) => to_ms(duration),
            Wait::Forever => -1,
        }
    }
}

impl From<Duration> for Wait {
    fn from(duration: Duration) -> Wait {
        Wait::For(duration)
    }
}

/// The library that runs must have the major and minor version of the header that this crate was
/// made from; `version` is major << 16 | minor << 8 | patch.
pub(crate) fn check_version(version: u32) -> Result<()> {
    let header = (sys::WQ_VERSION_MAJOR, sys::WQ_VERSION_MINOR);
    let library = (version >> 16, version >> 8 & 0xff);
    if library == header {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Version,
        format!(
            "this crate is made for libwq {}.{}, and the one that was loaded is {}.{}.{}",
            header.0,
            header.1,
            library.0,
            library.1,
            version & 0xff
        ),
    ))
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorCode::Invalid, "path: there is a NUL in it"))
}

/// An open store: a directory with queues and jobs in it. One process has it open at a time.
///
/// Clones are the same store. It is closed when the last of its clones, queues, jobs and other
/// descendants is dropped, or at once by [`close`](Store::close): whatever is still there answers
/// [`ErrorCode::Closed`] then. All methods may be called from any number of threads at once.
///
/// A child process must not use what was opened before the fork; every call answers
/// [`ErrorCode::Forked`] there.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<StoreInner>,
    pub(crate) durability: Option<Durability>,
}

impl Store {
    /// Open the store in this directory with all defaults, creating it if it is not there.
    ///
    /// # Errors
    /// See [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Store> {
        OpenOptions::new().open(path)
    }

    pub(crate) fn raw(&self) -> Result<*mut sys::wq_store> {
        self.inner.raw()
    }

    pub(crate) fn run<T>(&self, call: impl FnOnce(&mut Ctx) -> Result<T>) -> Result<T> {
        self.inner.run(self.durability, call)
    }

    pub(crate) fn begin<T>(&self, call: impl FnOnce(&mut Ctx) -> Result<T>) -> Pending<T> {
        self.inner.begin(self.durability, call)
    }

    /// The same store, whose changing calls have this durability instead of their defaults; so have
    /// those on queues that are opened from it.
    #[must_use]
    pub fn with_durability(&self, durability: Durability) -> Store {
        Store { inner: self.inner.clone(), durability: Some(durability) }
    }

    /// Close the store: those who wait in it get [`ErrorCode::Closed`], everything is flushed, and
    /// the directory is given up. Leases go on after the next open. Doing it twice is fine.
    ///
    /// What can not be flushed is lost without a word: call [`shutdown`](Store::shutdown) or
    /// [`sync`](Store::sync) before, if you want to know.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Stop in an orderly way: no new leases, wait for the open ones, flush, checkpoint. It can not
    /// be undone; [`close`](Store::close) follows. [`Outcome::Timeout`]: jobs are still leased; the
    /// rest was done.
    ///
    /// # Errors
    /// `Closed`, `NoSpace`, `Io`, `Poisoned` and so on.
    pub fn shutdown(&self, timeout: impl Into<Wait>) -> Result<Outcome> {
        let timeout_ms = timeout.into().ms();
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, and a struct with its size.
            let code = unsafe { sys::wq_store_shutdown(store, timeout_ms, &mut ctx.err) };
            ctx.outcome(code)
        })
    }

    /// Flush everything that was changed before the call, at whatever level, to
    /// [`Durability::Power`].
    ///
    /// # Errors
    /// `Closed`, `Io`, `Poisoned` and so on.
    pub fn sync(&self) -> Result<()> {
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, and a struct with its size.
            let code = unsafe { sys::wq_store_sync(store, &mut ctx.err) };
            ctx.done(code)
        })
    }

    /// Make a checkpoint now. Never needed for safety; it shortens the next open.
    ///
    /// # Errors
    /// `Closed`, `NoSpace`, `Io`, `Poisoned` and so on.
    pub fn checkpoint(&self) -> Result<()> {
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, and a struct with its size.
            let code = unsafe { sys::wq_store_checkpoint(store, &mut ctx.err) };
            ctx.done(code)
        })
    }

    /// Do a bounded piece of maintenance. Only for stores opened with
    /// [`OpenOptions::no_threads`]. Gives how long nothing will be due; `None`: nothing is planned.
    ///
    /// # Errors
    /// `Unsupported` (the store has threads), `Closed`, and those of storage.
    pub fn tick(&self) -> Result<Option<Duration>> {
        let mut due_ms = 0;
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, a valid place to write to, and a struct with its size.
            let code = unsafe { sys::wq_store_tick(store, &mut due_ms, &mut ctx.err) };
            ctx.done(code)?;
            Ok(u64::try_from(due_ms).ok().map(Duration::from_millis))
        })
    }

    /// Wait until the change with this LSN has reached a level: `Process` or `Power`.
    /// [`Outcome::Timeout`]: not yet.
    ///
    /// # Errors
    /// `Invalid` (an LSN that was not given out), `Closed`, `Io`, `Poisoned` and so on.
    pub fn wait_durable(
        &self,
        lsn: u64,
        level: Durability,
        timeout: impl Into<Wait>,
    ) -> Result<Outcome> {
        let timeout_ms = timeout.into().ms();
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, and a struct with its size.
            let code = unsafe {
                sys::wq_store_wait_durable(store, lsn, level.raw(), timeout_ms, &mut ctx.err)
            };
            ctx.outcome(code)
        })
    }

    /// The figures of the store. Works on a poisoned store.
    ///
    /// # Errors
    /// `Closed`, `Forked`.
    pub fn stats(&self) -> Result<StoreStats> {
        let mut raw = sys::wq_store_stats::init();
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, and structs with their size.
            let code = unsafe { sys::wq_store_get_stats(store, &mut raw, &mut ctx.err) };
            ctx.done(code)?;
            Ok(StoreStats::of_raw(&raw))
        })
    }

    /// What opening this store found and did.
    ///
    /// # Errors
    /// `Closed`, `Forked`.
    pub fn recovery(&self) -> Result<Recovery> {
        let mut raw = sys::wq_recovery::init();
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, and structs with their size.
            let code = unsafe { sys::wq_store_get_recovery(store, &mut raw, &mut ctx.err) };
            ctx.done(code)?;
            Ok(Recovery::of_raw(&raw))
        })
    }

    /// All figures of the store and its queues, in the text format of Prometheus.
    ///
    /// # Errors
    /// `Closed`, `Io`.
    pub fn metrics(&self) -> Result<String> {
        self.run(|ctx| {
            let store = self.raw()?;
            let mut text = TextHandle::null();
            // SAFETY: a store of ours, and a valid place for the text, which its owner frees.
            let code = unsafe { sys::wq_store_metrics(store, &mut text.0, &mut ctx.err) };
            ctx.done(code)?;
            Ok(text.text())
        })
    }

    /// Check the whole store: states, index entries, counts, checksums. Repairs nothing; other calls
    /// wait meanwhile.
    ///
    /// # Errors
    /// `Corrupt` (the message is the first problem), `Closed`, `Io` and so on.
    pub fn verify(&self) -> Result<VerifyReport> {
        let mut raw = sys::wq_verify_report::init();
        self.run(|ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, and structs with their size.
            let code = unsafe { sys::wq_store_verify(store, &mut raw, &mut ctx.err) };
            ctx.done(code)?;
            Ok(VerifyReport::of_raw(&raw))
        })
    }

    /// The names of all queues, in byte order, as of one moment.
    ///
    /// # Errors
    /// `Closed`, `NoMemory`.
    pub fn queues(&self) -> Result<Vec<String>> {
        self.run(|ctx| {
            let store = self.raw()?;
            let mut list = ListHandle::null();
            // SAFETY: a store of ours, and a valid place for the list, which its owner frees.
            let code = unsafe { sys::wq_store_queues(store, &mut list.0, &mut ctx.err) };
            ctx.done(code)?;
            // SAFETY: a list that this thread alone reads.
            let count = unsafe { sys::wq_list_count(list.0) };
            (0..count)
                .map(|i| {
                    let mut name = sys::wq_bytes::init();
                    // SAFETY: the same; the bytes are copied while the list is there.
                    unsafe {
                        ctx.done(sys::wq_list_name(list.0, i, &mut name))?;
                        Ok(String::from_utf8_lossy(bytes_of(name)).into_owned())
                    }
                })
                .collect()
        })
    }

    /// A handle on the queue of this name, which is declared with all defaults if it is not there.
    /// A name has 1 to 255 bytes and no control characters.
    ///
    /// # Errors
    /// `Invalid` (name), `Closed`, `NoSpace`, and those of storage.
    pub fn queue(&self, name: &str) -> Result<Queue> {
        self.open_queue(name, None, 0)
    }

    /// The same; a queue that is declared by this call has this configuration. One that is there
    /// keeps its own.
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("queue_with");
    /// # let store = wq::Store::open(&dir)?;
    /// let queue = store.queue_with("mail", &wq::QueueConfig::new().max_retries(5))?;
    /// assert_eq!(queue.config()?.max_retries, Some(5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`queue`](Store::queue); `Invalid` names a field as well.
    pub fn queue_with(&self, name: &str, config: &QueueConfig) -> Result<Queue> {
        self.open_queue(name, Some(config), 0)
    }

    /// A handle on a queue that is there.
    ///
    /// # Errors
    /// As [`queue`](Store::queue), and `NotFound`.
    pub fn existing_queue(&self, name: &str) -> Result<Queue> {
        self.open_queue(name, None, sys::WQ_QUEUE_NO_CREATE)
    }

    fn open_queue(&self, name: &str, config: Option<&QueueConfig>, flags: u32) -> Result<Queue> {
        let config = config.map(QueueConfig::lower);
        let config = config.as_ref().map_or(ptr::null(), |config| config as *const _);
        let mut handle = ptr::null_mut();
        self.run(|ctx| {
            let store = self.raw()?;
            let (data, len) = (name.as_ptr().cast(), name.len());
            // SAFETY: a store of ours, a name of that length, a struct with its size or NULL.
            let code = unsafe {
                sys::wq_queue_open(store, data, len, config, flags, &mut handle, &mut ctx.err)
            };
            ctx.done(code)
        })?;
        let inner = QueueInner::new(handle, self.inner.clone(), name.into());
        Ok(Queue { inner: Arc::new(inner), durability: self.durability })
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("open", &self.raw().is_ok()).finish()
    }
}

/// Version of the library that runs, as text: `"0.1.0"`.
pub fn library_version() -> &'static str {
    // SAFETY: a constant string, never NULL.
    let text = unsafe { std::ffi::CStr::from_ptr(sys::wq_version_string()) };
    text.to_str().unwrap_or("")
}

/// One line on how the library was built, for people and bug reports.
pub fn build_info() -> &'static str {
    // SAFETY: a constant string, never NULL.
    let text = unsafe { std::ffi::CStr::from_ptr(sys::wq_build_info()) };
    text.to_str().unwrap_or("")
}

/// Version of the format on disk that the library writes. A store of a newer one is refused:
/// [`ErrorCode::Version`](crate::ErrorCode).
pub fn format_version() -> u32 {
    // SAFETY: it takes and touches nothing.
    unsafe { sys::wq_format_version() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_library_is_named() {
        let ours = sys::WQ_VERSION_MAJOR << 16 | sys::WQ_VERSION_MINOR << 8;
        assert!(check_version(ours).is_ok());
        assert!(check_version(ours | 9).is_ok());
        let error = check_version(7 << 16 | 3 << 8 | 2).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Version);
        assert!(error.message().ends_with("is 7.3.2"), "{}", error);
    }
}
