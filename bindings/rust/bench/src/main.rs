//! The whole life of jobs (enqueue, lease, ack) through the safe crate and through the C calls alone,
//! on stores of their own: what the crate costs.
//!
//!     wq-bench [JOBS]      one line of JSON for each level of durability and size of batch
//!
//! `ns_per_job` is of the crate, `c_ns_per_job` of the C calls, `cpu_` what the calling thread took of
//! the processor: the best of five runs each. A run whose counts are wrong ends with 1.

mod raw;
mod safe;

use std::path::Path;
use std::time::{Duration, Instant};

/// From the first enqueue to the last ack: the time, that of the processor on this thread, and how
/// many jobs were acked.
pub struct Run {
    pub time: Duration,
    pub cpu: Duration,
    pub acked: usize,
}

pub type Side = fn(&Path, u32, usize, usize) -> Run;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// What this thread has used of the processor. Not disturbed by what else the machine does.
fn cpu_time() -> Duration {
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: a clock that every thread has, and a valid place.
    assert_eq!(unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

/// Both clocks, started.
pub struct Clocks(Instant, Duration);

impl Clocks {
    pub fn start() -> Clocks {
        Clocks(Instant::now(), cpu_time())
    }

    pub fn stop(self, acked: usize) -> Run {
        Run { time: self.0.elapsed(), cpu: cpu_time() - self.1, acked }
    }
}

/// Runs one side on a new store.
fn measure(dir: &Path, side: Side, level: u32, batch: usize, jobs: usize) -> Run {
    let _ = std::fs::remove_dir_all(dir);
    let run = side(dir, level, batch, jobs);
    let _ = std::fs::remove_dir_all(dir);
    run
}

/// Both sides in turn; prints the line, and gives whether the counts are right.
fn compare(dir: &Path, level: u32, name: &str, batch: usize, jobs: usize) -> bool {
    let mut ours = Vec::new();
    let mut of_c = Vec::new();
    for _ in 0..5 {
        ours.push(measure(dir, safe::run, level, batch, jobs));
        of_c.push(measure(dir, raw::run, level, batch, jobs));
    }
    let delivered = ours.iter().chain(&of_c).map(|run| run.acked).min().unwrap_or(0);
    let per_job =
        |time: Option<Duration>| time.map_or(0.0, |time| time.as_nanos() as f64 / jobs as f64);
    let wall = |runs: &[Run]| per_job(runs.iter().map(|run| run.time).min());
    let cpu = |runs: &[Run]| per_job(runs.iter().map(|run| run.cpu).min());
    println!(
        "{{\"language\":\"rust\",\"level\":\"{}\",\"batch\":{},\"enqueued\":{},\"delivered\":{},\
         \"ns_per_job\":{:.0},\"c_ns_per_job\":{:.0},\"cpu_ns_per_job\":{:.0},\
         \"c_cpu_ns_per_job\":{:.0},\"jobs_per_s\":{:.0},\"c_jobs_per_s\":{:.0},\"ratio\":{:.3}}}",
        name,
        batch,
        jobs,
        delivered,
        wall(&ours),
        wall(&of_c),
        cpu(&ours),
        cpu(&of_c),
        1e9 / wall(&ours),
        1e9 / wall(&of_c),
        wall(&of_c) / wall(&ours)
    );
    delivered == jobs
}

fn main() {
    let jobs = std::env::args().nth(1).and_then(|jobs| jobs.parse().ok()).unwrap_or(20_000);
    let dir = std::env::temp_dir().join(format!("wq-bench-{}", std::process::id()));
    let mut right = true;
    for (level, name) in [(wq_sys::WQ_MEMORY, "memory"), (wq_sys::WQ_POWER, "power")] {
        for batch in [1, 100] {
            // Waiting for the device one by one is about the device.
            let jobs = if level == wq_sys::WQ_POWER && batch == 1 { jobs / 100 } else { jobs };
            right &= compare(&dir, level, name, batch, (jobs / batch).max(1) * batch);
        }
    }
    if !right {
        eprintln!("not every job was delivered and acked once");
        std::process::exit(1);
    }
}
