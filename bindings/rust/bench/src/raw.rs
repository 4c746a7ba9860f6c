//! Through the C calls alone, with as little around them as a C program has.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use wq_sys as sys;

use crate::{Clocks, Run};

const PAYLOAD: [u8; 128] = [b'x'; 128];

struct Raw {
    store: *mut sys::wq_store,
    queue: *mut sys::wq_queue,
    level: u32,
}

fn open(dir: &Path, level: u32) -> Raw {
    let path = CString::new(dir.as_os_str().as_bytes()).expect("a path");
    let mut raw = Raw { store: ptr::null_mut(), queue: ptr::null_mut(), level };
    // SAFETY: a path that ends with NUL, and valid places to write to.
    unsafe {
        let none = ptr::null_mut();
        let abi = sys::WQ_ABI_VERSION;
        let code = sys::wq_store_open_abi(path.as_ptr(), ptr::null(), abi, &mut raw.store, none);
        assert_eq!(code, sys::WQ_OK);
        let name = b"q".as_ptr().cast();
        let config = ptr::null();
        let code = sys::wq_queue_open(raw.store, name, 1, config, 0, &mut raw.queue, none);
        assert_eq!(code, sys::WQ_OK);
    }
    raw
}

impl Raw {
    fn call(&self) -> sys::wq_call {
        let mut call = sys::wq_call::init();
        call.durability = self.level;
        call
    }

    fn enqueue(&self, specs: &[sys::wq_job_spec], out: &mut [sys::wq_enqueued]) {
        let mut err = sys::wq_error::init();
        let mut call = self.call();
        // SAFETY: a queue, arrays of the length that is told, structs with their size.
        let code = unsafe {
            if specs.len() == 1 {
                sys::wq_enqueue(self.queue, &specs[0], &mut call, &mut out[0], &mut err)
            } else {
                let sizes = (
                    std::mem::size_of::<sys::wq_job_spec>(),
                    std::mem::size_of::<sys::wq_enqueued>(),
                );
                let (specs, n, out) = (specs.as_ptr(), specs.len(), out.as_mut_ptr());
                let none = ptr::null_mut();
                let (queue, call, err) = (self.queue, &mut call, &mut err);
                sys::wq_enqueue_many(queue, specs, n, sizes.0, 0, call, out, sizes.1, none, err)
            }
        };
        assert_eq!(code, sys::WQ_OK);
    }

    /// Leases up to `tokens.len()` jobs, looks at each and gives how many there were.
    fn lease(&self, tokens: &mut [sys::wq_token]) -> usize {
        let mut err = sys::wq_error::init();
        let mut call = self.call();
        let mut options = sys::wq_lease_options::init();
        options.max_jobs = tokens.len() as u32;
        let mut batch = ptr::null_mut();
        let mut job = sys::wq_job::init();
        // SAFETY: handles, structs with their size, and a batch that is freed at the end.
        unsafe {
            let (store, queue, none) = (self.store, &self.queue, ptr::null_mut());
            let code =
                sys::wq_lease(store, queue, 1, &options, none, &mut call, &mut batch, &mut err);
            assert_eq!(code, sys::WQ_OK);
            let count = sys::wq_batch_count(batch);
            for (i, token) in tokens.iter_mut().enumerate().take(count) {
                assert_eq!(sys::wq_batch_job(batch, i, &mut job), sys::WQ_OK);
                assert_eq!(job.payload.len, PAYLOAD.len());
                *token = sys::wq_token { id: job.id, generation: job.generation };
            }
            sys::wq_batch_free(&mut batch);
            count
        }
    }

    fn ack(&self, tokens: &[sys::wq_token], items: &mut [sys::wq_settle_item]) {
        let mut err = sys::wq_error::init();
        let mut call = self.call();
        for (item, token) in items.iter_mut().zip(tokens) {
            item.kind = sys::WQ_SETTLE_ACK;
            item.id = token.id;
            item.generation = token.generation;
        }
        // SAFETY: a queue, an array of the length that is told, structs with their size.
        let code = unsafe {
            if tokens.len() == 1 {
                let token = tokens[0];
                sys::wq_ack(self.queue, token.id, token.generation, &mut call, &mut err)
            } else {
                let size = std::mem::size_of::<sys::wq_settle_item>();
                let (items, n, codes) = (items.as_ptr(), tokens.len(), ptr::null_mut());
                sys::wq_settle_many(self.queue, items, n, size, codes, &mut call, &mut err)
            }
        };
        assert_eq!(code, sys::WQ_OK);
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: both are ours.
        unsafe {
            sys::wq_queue_close(&mut self.queue);
            sys::wq_store_close(&mut self.store);
        }
    }
}

pub fn run(dir: &Path, level: u32, batch: usize, jobs: usize) -> Run {
    let raw = open(dir, level);
    let mut spec = sys::wq_job_spec::init();
    spec.payload = sys::wq_bytes { data: PAYLOAD.as_ptr().cast(), len: PAYLOAD.len() };
    let specs = vec![spec; batch];
    let mut out = vec![sys::wq_enqueued::init(); batch];
    let mut tokens = vec![sys::wq_token { id: 0, generation: 0 }; batch];
    let mut items = vec![sys::wq_settle_item::init(); batch];
    let mut acked = 0;
    let clocks = Clocks::start();
    for _ in 0..jobs / batch {
        raw.enqueue(&specs, &mut out);
        let count = raw.lease(&mut tokens);
        raw.ack(&tokens[..count], &mut items);
        acked += count;
    }
    clocks.stop(acked)
}
