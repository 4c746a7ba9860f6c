//! How a store is opened.

use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use wq_sys as sys;

use crate::error::{check_ok, Result};
use crate::handle::{view, StoreInner};
use crate::store::{c_path, check_version, Store};
use crate::time::opt_ms;
use crate::words::IoBackend;

#[cfg(doc)]
use crate::{code::ErrorCode, words::Durability};

/// How to open a store. What is not said is the default of the library.
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("options");
/// let store = wq::OpenOptions::new().memory_budget(16 << 20).events(1000).open(&dir)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until open is called"]
pub struct OpenOptions {
    /// Its pointer is NULL: `open` sets it in a copy.
    raw: sys::wq_store_options,
    keys: Vec<Secret>,
}

// SAFETY: the pointer in `raw` is always NULL, and all else is plain data.
unsafe impl Send for OpenOptions {}
// SAFETY: the same.
unsafe impl Sync for OpenOptions {}

/// A key, whose bytes are wiped when it is dropped.
#[derive(Clone)]
struct Secret {
    id: u32,
    bytes: Box<[u8]>,
}

impl Secret {
    fn view(&self) -> sys::wq_key {
        let mut raw = sys::wq_key::init();
        raw.id = self.id;
        raw.bytes = view(&self.bytes);
        raw
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        for byte in self.bytes.iter_mut() {
            // SAFETY: a byte that is ours. Volatile, so that it is not left out as useless.
            unsafe { ptr::write_volatile(byte, 0) };
        }
    }
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions")
            .field("flags", &self.raw.flags)
            .field("memory_budget_bytes", &self.raw.memory_budget_bytes)
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// All defaults.
    pub fn new() -> OpenOptions {
        OpenOptions { raw: sys::wq_store_options::init(), keys: Vec::new() }
    }

    /// Refuse ([`ErrorCode::NotFound`]) if there is no store at the path.
    pub fn no_create(mut self) -> Self {
        self.raw.flags |= sys::WQ_OPEN_NO_CREATE;
        self
    }

    /// Take the leases of the time before back at once.
    pub fn expire_leases(mut self) -> Self {
        self.raw.flags |= sys::WQ_OPEN_EXPIRE_LEASES;
        self
    }

    /// No background threads: [`Store::tick`] drives everything.
    pub fn no_threads(mut self) -> Self {
        self.raw.flags |= sys::WQ_OPEN_NO_THREADS;
        self
    }

    /// How files are read and written.
    pub fn io_backend(mut self, backend: IoBackend) -> Self {
        self.raw.io_backend = backend.raw();
        self
    }

    /// Zero-filled log segments kept ready; up to 64. Default 2.
    pub fn spare_segments(mut self, count: u32) -> Self {
        self.raw.spare_segments = count;
        self
    }

    /// Bound of jobs held in memory, in bytes; from 1 MiB. Default 64 MiB.
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.raw.memory_budget_bytes = bytes;
        self
    }

    /// Largest payload; up to 256 MiB. Default 16 MiB.
    pub fn payload_max(mut self, bytes: u64) -> Self {
        self.raw.payload_bytes_max = bytes;
        self
    }

    /// Size of a segment of the log: 16 KiB to 1 GiB, a multiple of 4096. Default 32 MiB.
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.raw.segment_bytes = bytes;
        self
    }

    /// Log bytes that start a checkpoint. Default 128 MiB.
    pub fn checkpoint_log_bytes(mut self, bytes: u64) -> Self {
        self.raw.checkpoint_log_bytes = bytes;
        self
    }

    /// With less disk space free, enqueue answers [`ErrorCode::NoSpace`]. Default 64 MiB.
    pub fn disk_reserve(mut self, bytes: u64) -> Self {
        self.raw.disk_reserve_bytes = bytes;
        self
    }

    /// Bound of the loss window of [`Durability::Memory`]; up to an hour. Default 50 ms.
    pub fn memory_window(mut self, window: Duration) -> Self {
        self.raw.memory_window_ms = opt_ms(Some(window));
        self
    }

    /// Events kept for [`Store::events`], 64 bytes each; up to 2^24. Default: none.
    pub fn events(mut self, max: u32) -> Self {
        self.raw.events_max = max;
        self
    }

    /// Bound of the bytes of all jobs: with more, enqueue answers [`ErrorCode::Full`]. Not stored.
    pub fn quota(mut self, bytes: u64) -> Self {
        self.raw.quota_bytes = bytes;
        self
    }

    /// Give the store a key that payloads may be sealed with (AES-256-GCM): `id` is your number for
    /// it, 1 and up, which is stored with each job, and `bytes` are 32 random ones, which are never
    /// stored or told. Up to 1,000 keys; the copies here and in the store are wiped at their end.
    ///
    /// Sealed are payloads and kept results of queues with
    /// [`QueueConfig::encrypt`](crate::QueueConfig) and of jobs with
    /// [`JobSpec::encrypt`](crate::JobSpec::encrypt); headers, names, keys of jobs, error texts and
    /// rows are not. All keys open; the one of [`current_key`](OpenOptions::current_key) seals. To
    /// rotate, make a new one the current one and keep the old one until [`Store::keys`] counts
    /// nothing of it.
    ///
    /// A job whose key is not there is dead when its turn comes
    /// ([`DeadReason::Unreadable`](crate::DeadReason)), and can be replayed with the key. A store
    /// without any key leases nothing from a queue that encrypts: [`ErrorCode::NoKey`].
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("keys");
    /// # let random = [7u8; 32];
    /// let store = wq::OpenOptions::new().key(1, random).current_key(1).open(&dir)?;
    /// let queue = store.queue_with("mail", &wq::QueueConfig::new().encrypt(true))?;
    /// let job = queue.enqueue("secret")?;
    /// assert_eq!(queue.get(job.id)?.key_id, Some(1));
    /// assert_eq!(store.keys()?[0].payloads, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(mut self, id: u32, bytes: impl AsRef<[u8]>) -> Self {
        self.keys.push(Secret { id, bytes: bytes.as_ref().into() });
        self
    }

    /// The key that seals new payloads, by its id. Without one, or with 0, a call that gives what is
    /// to be sealed answers [`ErrorCode::NoKey`].
    pub fn current_key(mut self, id: u32) -> Self {
        self.raw.current_key = id;
        self
    }

    /// Open the store in this directory, creating it if it is not there. Recovers from whatever
    /// happened before; a refused open writes nothing.
    ///
    /// # Errors
    /// `Invalid` (path, option, key), `Unsupported`, `Version` (library or store does not match),
    /// `NotFound` (no store and [`no_create`](OpenOptions::no_create), or no parent directory),
    /// `Locked` (open elsewhere), `Forked`, `NoSpace`, `Io`, `Corrupt` and so on.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Store> {
        check_version(unsafe { sys::wq_version() })?;
        let path = c_path(path.as_ref())?;
        let mut handle = ptr::null_mut();
        let mut err = sys::wq_error::init();
        let keys: Vec<_> = self.keys.iter().map(Secret::view).collect();
        let mut raw = self.raw;
        raw.keys = keys.as_ptr();
        raw.keys_count = keys.len();
        // SAFETY: a path that ends with NUL, a struct with its size, whose pointer leads to `keys`
        // and from there into `self`, valid places to write to.
        let code = unsafe {
            let abi = sys::WQ_ABI_VERSION;
            sys::wq_store_open_abi(path.as_ptr(), &raw, abi, &mut handle, &mut err)
        };
        check_ok(code, &err)?;
        Ok(Store { inner: Arc::new(StoreInner::new(handle)), durability: None })
    }
}
