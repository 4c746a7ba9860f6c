//! Which keys a store has and needs.

use wq_sys as sys;

use crate::error::Result;
use crate::store::Store;

/// One key that the store was given, or that something in it is sealed with; see
/// [`Store::keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyUse {
    /// Its id.
    pub id: u32,
    /// Payloads and results that it has sealed; some may be gone since just now.
    pub payloads: u64,
    /// The store was opened with it.
    pub known: bool,
    /// New payloads are sealed with it.
    pub current: bool,
}

impl Store {
    /// The encryption keys that this store has and needs, by id: those of
    /// [`OpenOptions::key`](crate::OpenOptions::key), and those that something is sealed with. Reads
    /// all that is stored, after a checkpoint. (The keys of jobs are at [`Queue::keys`](crate::Queue::keys).)
    ///
    /// # Errors
    /// `Closed`, `NoSpace`, and those of storage.
    pub fn keys(&self) -> Result<Vec<KeyUse>> {
        let mut raw = vec![sys::wq_key_use::init(); 32];
        loop {
            let mut count = 0;
            self.run(|ctx| {
                let store = self.raw()?;
                // SAFETY: a store of ours, and an array of the length that is told.
                let code = unsafe {
                    let (out, size) = (raw.as_mut_ptr(), std::mem::size_of::<sys::wq_key_use>());
                    sys::wq_store_get_keys(store, out, raw.len(), size, &mut count, &mut ctx.err)
                };
                ctx.done(code)
            })?;
            if count <= raw.len() {
                return Ok(raw[..count].iter().map(KeyUse::of_raw).collect());
            }
            raw.resize(count, sys::wq_key_use::init());
        }
    }
}

impl KeyUse {
    fn of_raw(raw: &sys::wq_key_use) -> KeyUse {
        KeyUse {
            id: raw.id,
            payloads: raw.payloads,
            known: raw.flags & sys::WQ_KEY_KNOWN != 0,
            current: raw.flags & sys::WQ_KEY_CURRENT != 0,
        }
    }
}
