//! The whole life of jobs (enqueue, lease, ack) through the safe crate and through the C calls alone,
//! on stores of their own: what the crate costs.
//!
//!     wq-bench [JOBS]      one line of JSON for each level of durability and size of batch
//!
//! `ns_per_job` is of the crate, `c_ns_per_job` of the C calls. A run whose counts are wrong ends with 1.

mod raw;
mod safe;

use std::path::Path;
use std::time::Duration;

/// The time from the first enqueue to the last ack, and how many jobs were acked.
pub type Side = fn(&Path, u32, usize, usize) -> (Duration, usize);

/// Runs one side on a new store.
fn measure(dir: &Path, side: Side, level: u32, batch: usize, jobs: usize) -> (u64, usize) {
    let _ = std::fs::remove_dir_all(dir);
    let (time, acked) = side(dir, level, batch, jobs);
    let _ = std::fs::remove_dir_all(dir);
    (time.as_nanos() as u64, acked)
}

fn main() {
    let jobs = std::env::args().nth(1).and_then(|jobs| jobs.parse().ok()).unwrap_or(20_000);
    let dir = std::env::temp_dir().join(format!("wq-bench-{}", std::process::id()));
    let mut right = true;
    for (level, name) in [(wq_sys::WQ_MEMORY, "memory"), (wq_sys::WQ_POWER, "power")] {
        for batch in [1, 100] {
            // Waiting for the device one by one is about the device.
            let jobs = if level == wq_sys::WQ_POWER && batch == 1 { jobs / 100 } else { jobs };
            let jobs = (jobs / batch).max(1) * batch;
            let mut best = (u64::MAX, u64::MAX);
            for _ in 0..3 {
                let (ns, acked) = measure(&dir, safe::run, level, batch, jobs);
                let (c_ns, c_acked) = measure(&dir, raw::run, level, batch, jobs);
                right &= acked == jobs && c_acked == jobs;
                best = (best.0.min(ns), best.1.min(c_ns));
            }
            let per_job = |ns: u64| ns as f64 / jobs as f64;
            println!(
                "{{\"language\":\"rust\",\"level\":\"{}\",\"batch\":{},\"enqueued\":{},\
                 \"delivered\":{},\"ns_per_job\":{:.0},\"c_ns_per_job\":{:.0},\
                 \"jobs_per_s\":{:.0},\"c_jobs_per_s\":{:.0},\"ratio\":{:.3}}}",
                name,
                batch,
                jobs,
                if right { jobs } else { 0 },
                per_job(best.0),
                per_job(best.1),
                1e9 / per_job(best.0),
                1e9 / per_job(best.1),
                best.1 as f64 / best.0 as f64
            );
        }
    }
    if !right {
        eprintln!("not every job was delivered and acked once");
        std::process::exit(1);
    }
}
