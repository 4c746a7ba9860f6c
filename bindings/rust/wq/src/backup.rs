//! Backups: a copy of an open store, its check, and a store made from it.

use std::path::Path;
use std::ptr;

use wq_sys as sys;

use crate::call::Ctx;
use crate::code::Outcome;
use crate::error::Result;
use crate::handle::Cancel;
use crate::progress::{Callback, Progress};
use crate::stats::BackupReport;
use crate::store::{c_path, Store};

/// How a backup is watched and stopped.
#[derive(Default)]
#[must_use = "options do nothing by themselves"]
pub struct BackupOptions<'a> {
    cancel: Option<Cancel>,
    progress: Option<Callback<'a>>,
}

impl<'a> BackupOptions<'a> {
    /// Neither.
    pub fn new() -> BackupOptions<'a> {
        BackupOptions::default()
    }

    /// A token that stops the work.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Told now and then the bytes done and to do; `false` stops the work.
    pub fn progress(mut self, progress: impl FnMut(u64, u64) -> bool + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl std::fmt::Debug for BackupOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupOptions").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

/// `Ok` and what was done; `Cancelled`: stopped by the token or the callback.
pub type BackupResult = Result<(Outcome, BackupReport)>;

/// Makes one of the three calls with these options.
fn with_options(
    mut options: BackupOptions<'_>,
    call: impl FnOnce(
        *const sys::wq_backup_options,
        *mut sys::wq_backup_report,
        &mut Ctx,
    ) -> Result<i32>,
) -> BackupResult {
    let mut raw = sys::wq_backup_options::init();
    raw.cancel = options.cancel.as_ref().map_or(ptr::null_mut(), Cancel::raw);
    let mut progress = Progress::new(options.progress.as_mut());
    (raw.progress, raw.progress_ctx) = progress.raw();
    let mut report = sys::wq_backup_report::init();
    let mut ctx = Ctx::new(None);
    let code = call(&raw, &mut report, &mut ctx);
    progress.finish();
    Ok((ctx.outcome(code?)?, BackupReport::of_raw(&report)))
}

impl Store {
    /// Copy the open store into this directory, which is made, or is there and empty. Producers and
    /// workers go on meanwhile. The backup is the store as of one moment after the call began.
    ///
    /// ```
    /// # fn main() -> wq::Result<()> {
    /// # let dir = wq::doc_dir("backup");
    /// # let store = wq::Store::open(dir.path().join("store"))?;
    /// let (outcome, report) = store.backup(dir.path().join("backup"), wq::BackupOptions::new())?;
    /// assert!(outcome.is_ok() && report.files > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Invalid` (path, directory not empty), `NotFound` (no parent directory), `NoSpace`, `Closed`,
    /// and those of storage.
    pub fn backup(&self, directory: impl AsRef<Path>, options: BackupOptions<'_>) -> BackupResult {
        let directory = c_path(directory.as_ref())?;
        with_options(options, |options, report, ctx| {
            let store = self.raw()?;
            // SAFETY: a store of ours, a path that ends with NUL, structs with their size.
            Ok(unsafe {
                sys::wq_store_backup(store, directory.as_ptr(), options, report, &mut ctx.err)
            })
        })
    }
}

/// Check the backup in this directory: it is complete, and each byte is as it was written.
///
/// # Errors
/// `NotFound` (no backup there), `Version`, `Corrupt` (damaged or unfinished; the message names the
/// file), `Io` and so on.
pub fn verify_backup(directory: impl AsRef<Path>, options: BackupOptions<'_>) -> BackupResult {
    let directory = c_path(directory.as_ref())?;
    with_options(options, |options, report, ctx| {
        // SAFETY: a path that ends with NUL, structs with their size.
        Ok(unsafe { sys::wq_backup_verify(directory.as_ptr(), options, report, &mut ctx.err) })
    })
}

/// Make a store at `path` from the backup in this directory. The path must not be there, or be an
/// empty directory. The whole backup is checked first; a failure leaves no store.
///
/// # Errors
/// `Invalid` (path, or path in use), `NotFound` (no backup there, no parent directory), `Version`,
/// `Corrupt`, `Locked` (another restore is at it), `NoSpace`, `Io` and so on.
pub fn restore_backup(
    directory: impl AsRef<Path>,
    path: impl AsRef<Path>,
    options: BackupOptions<'_>,
) -> BackupResult {
    let (directory, path) = (c_path(directory.as_ref())?, c_path(path.as_ref())?);
    with_options(options, |options, report, ctx| {
        let (from, to) = (directory.as_ptr(), path.as_ptr());
        // SAFETY: paths that end with NUL, structs with their size.
        Ok(unsafe { sys::wq_backup_restore(from, to, options, report, &mut ctx.err) })
    })
}
