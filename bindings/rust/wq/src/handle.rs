//! The handles of the library, owned: a store, a queue, a cancel token, and what is read out of it.
//!
//! Everything is shared by `Arc`: a queue keeps its store, a job keeps its queue. The library lets
//! handles be closed in any order, and answers `CLOSED` to a call with a handle that was closed, also
//! to one that comes late with a copied pointer: the memory of a handle stays one for ever, and is
//! used again late. So `close` may run beside other calls: it takes the pointer away for those to
//! come, and the library wakes and waits for those that are inside.
//! Thread model: any thread.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex};

use wq_sys as sys;

use crate::call::Ctx;
use crate::driver::{Driver, Pending};
use crate::error::{check_ok, Error, Result};
use crate::words::Durability;

/// An open store. Closed when the last of those who share it is dropped, or by `close`.
pub(crate) struct StoreInner {
    handle: AtomicPtr<sys::wq_store>,
    /// Held while the library closes, so that a second `close` returns when it is done.
    closing: Mutex<()>,
    /// Made by the first asynchronous call. Never held while something waits: a waker may need it.
    driver: Mutex<Option<Arc<Driver>>>,
}

impl StoreInner {
    pub(crate) fn new(handle: *mut sys::wq_store) -> StoreInner {
        StoreInner {
            handle: AtomicPtr::new(handle),
            closing: Mutex::new(()),
            driver: Mutex::new(None),
        }
    }

    pub(crate) fn raw(&self) -> Result<*mut sys::wq_store> {
        // acquire: pairs with the swap in close
        let handle = self.handle.load(Ordering::Acquire);
        if handle.is_null() {
            return Err(Error::closed("store"));
        }
        Ok(handle)
    }

    /// Wakes all who wait in the store, flushes and gives the directory up. A second call waits for
    /// the first, and does nothing.
    pub(crate) fn close(&self) {
        let closing = lock(&self.closing);
        let mut handle = self.handle.swap(ptr::null_mut(), Ordering::AcqRel);
        if handle.is_null() {
            return;
        }
        // SAFETY: the handle was ours, and nobody gets it from here any more. Calls that have it
        // already are woken or answered CLOSED by the library.
        unsafe { sys::wq_store_close(&mut handle) };
        drop(closing);
        let driver = lock(&self.driver).take();
        if let Some(driver) = driver {
            driver.join();
        }
    }

    fn driver(&self) -> Result<Arc<Driver>> {
        let mut driver = lock(&self.driver);
        if let Some(driver) = driver.as_ref() {
            return Ok(driver.clone());
        }
        let made = Driver::start(self.raw()?)?;
        *driver = Some(made.clone());
        Ok(made)
    }

    /// One call that waits for its durability itself.
    pub(crate) fn run<T>(
        &self,
        durability: Option<Durability>,
        call: impl FnOnce(&mut Ctx) -> Result<T>,
    ) -> Result<T> {
        call(&mut Ctx::new(durability))
    }

    /// One call that is told of its durability by the completion queue. At level memory it has that
    /// when it returns, and the thread of the queue is not woken for it.
    pub(crate) fn begin<T>(
        &self,
        durability: Option<Durability>,
        call: impl FnOnce(&mut Ctx) -> Result<T>,
    ) -> Pending<T> {
        if durability == Some(Durability::Memory) {
            return Pending::ready(self.run(durability, call));
        }
        match self.driver() {
            Ok(driver) => driver.begin(Ctx::new(durability), call),
            Err(error) => Pending::ready(Err(error)),
        }
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        self.close();
    }
}

/// A handle on a queue.
pub(crate) struct QueueInner {
    handle: AtomicPtr<sys::wq_queue>,
    pub(crate) store: Arc<StoreInner>,
    pub(crate) name: Arc<str>,
}

impl QueueInner {
    pub(crate) fn new(
        handle: *mut sys::wq_queue,
        store: Arc<StoreInner>,
        name: Arc<str>,
    ) -> QueueInner {
        QueueInner { handle: AtomicPtr::new(handle), store, name }
    }

    pub(crate) fn raw(&self) -> Result<*mut sys::wq_queue> {
        // acquire: pairs with the swap in close
        let handle = self.handle.load(Ordering::Acquire);
        if handle.is_null() {
            return Err(Error::closed("queue"));
        }
        Ok(handle)
    }

    pub(crate) fn close(&self) {
        let mut handle = self.handle.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: as in StoreInner::close; NULL is nothing to close.
        unsafe { sys::wq_queue_close(&mut handle) };
    }
}

impl Drop for QueueInner {
    fn drop(&mut self) {
        self.close();
    }
}

/// A lock whose holder panicked is taken all the same: what these guard is whole at every moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A handle that one thread reads: a batch, a list, a page, a text.
macro_rules! owned {
    ($name:ident, $raw:ident, $free:ident) => {
        pub(crate) struct $name(pub(crate) *mut sys::$raw);

        impl $name {
            pub(crate) fn null() -> $name {
                $name(ptr::null_mut())
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the pointer is NULL or ours alone.
                unsafe { sys::$free(&mut self.0) };
            }
        }
    };
}

owned!(BatchHandle, wq_batch, wq_batch_free);
owned!(ListHandle, wq_list, wq_list_free);
owned!(TextHandle, wq_text, wq_text_free);
owned!(PageHandle, wq_kv_page, wq_kv_page_free);
owned!(CronsHandle, wq_crons, wq_crons_free);

impl TextHandle {
    pub(crate) fn text(&self) -> String {
        // SAFETY: a text, or NULL; the bytes live as long as it.
        let bytes = unsafe { bytes_of(sys::wq_text_bytes(self.0)) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// The bytes behind a view.
///
/// # Safety
/// The handle that owns the view must outlive `'a`.
pub(crate) unsafe fn bytes_of<'a>(view: sys::wq_bytes) -> &'a [u8] {
    if view.data.is_null() || view.len == 0 {
        return &[];
    }
    std::slice::from_raw_parts(view.data as *const u8, view.len)
}

/// Bytes as the library reads them during a call.
pub(crate) fn view(bytes: &[u8]) -> sys::wq_bytes {
    if bytes.is_empty() {
        return sys::wq_bytes { data: ptr::null(), len: 0 };
    }
    sys::wq_bytes { data: bytes.as_ptr().cast(), len: bytes.len() }
}

/// Ends waits from another thread. One token may serve any number of calls, of any store.
///
/// Clones are the same token. It stays fired.
///
/// ```
/// # fn main() -> wq::Result<()> {
/// # let dir = wq::doc_dir("cancel");
/// let store = wq::Store::open(&dir)?;
/// let queue = store.queue("mail")?;
/// let cancel = wq::Cancel::new()?;
/// let waiter = std::thread::spawn({
///     let options = wq::LeaseOptions::new().wait_forever().cancel(&cancel);
///     move || queue.lease(&options)
/// });
/// cancel.fire();
/// assert_eq!(waiter.join().unwrap()?.outcome(), wq::Outcome::Cancelled);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cancel(Arc<CancelInner>);

struct CancelInner {
    handle: *mut sys::wq_cancel,
    /// Tokens that fire with this one.
    linked: Mutex<Links>,
}

#[derive(Default)]
struct Links {
    fired: bool,
    tokens: Vec<std::sync::Weak<CancelInner>>,
}

// SAFETY: the header says "Thread: any" of all calls on a cancel token.
unsafe impl Send for CancelInner {}
// SAFETY: the same.
unsafe impl Sync for CancelInner {}

impl Cancel {
    /// A new token that is not fired.
    ///
    /// # Errors
    /// [`ErrorCode::NoMemory`](crate::ErrorCode::NoMemory).
    pub fn new() -> Result<Cancel> {
        let mut handle = ptr::null_mut();
        let mut err = sys::wq_error::init();
        // SAFETY: both are valid for writing.
        let code = unsafe { sys::wq_cancel_new(&mut handle, &mut err) };
        check_ok(code, &err)?;
        Ok(Cancel(Arc::new(CancelInner { handle, linked: Mutex::default() })))
    }

    /// Fire it: calls that wait with it end with [`Outcome::Cancelled`](crate::Outcome::Cancelled),
    /// and so does each later one before it does anything. A call that has its jobs already returns
    /// them. Takes locks: not for signal handlers.
    pub fn fire(&self) {
        self.0.fire();
    }

    /// Whether it was fired.
    pub fn is_fired(&self) -> bool {
        lock(&self.0.linked).fired
    }

    pub(crate) fn raw(&self) -> *mut sys::wq_cancel {
        self.0.handle
    }

    /// `child` fires when this does, at once if it has.
    pub(crate) fn link(&self, child: &Cancel) {
        let mut links = lock(&self.0.linked);
        if links.fired {
            drop(links);
            return child.fire();
        }
        links.tokens.retain(|token| token.strong_count() > 0);
        links.tokens.push(Arc::downgrade(&child.0));
    }
}

impl CancelInner {
    fn fire(&self) {
        let tokens = {
            let mut links = lock(&self.linked);
            links.fired = true;
            std::mem::take(&mut links.tokens)
        };
        // SAFETY: the handle lives as long as self.
        unsafe { sys::wq_cancel_fire(self.handle) };
        for token in tokens.iter().filter_map(std::sync::Weak::upgrade) {
            token.fire();
        }
    }
}

impl Drop for CancelInner {
    fn drop(&mut self) {
        // SAFETY: the last owner; every call that uses the token holds one.
        unsafe { sys::wq_cancel_free(&mut self.handle) };
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancel").field("fired", &self.is_fired()).finish()
    }
}
