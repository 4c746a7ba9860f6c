//! Opened and closed many times: memory and file descriptors stay where they are. Alone in its
//! process, as it counts what the process has.

mod common;

use common::{options, Dir};
use wq::{Cancel, LeaseOptions};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("proc").count()
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("proc");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("a number of pages") * 4096
}

/// Everything once, with what is pending and waiting when the store closes.
fn once(dir: &Dir) {
    let store = options().events(16).open(dir.join("store")).expect("a store");
    let queue = store.queue("q").expect("a queue");
    let pending = queue.enqueue_async("x");
    let job = queue.lease(&LeaseOptions::new()).expect("a lease").into_jobs().pop();
    let ack = job.expect("a job").ack_async();
    let waiting = queue.lease_async(&LeaseOptions::new().wait_forever());
    let _cancel = Cancel::new().expect("a token");
    assert!(pending.wait().expect("durable").is_new());
    assert!(ack.wait().expect("durable").is_ok());
    store.close();
    assert!(wq::block_on(waiting).is_err());
}

#[test]
fn opened_and_closed_many_times() {
    let rounds = if common::is_long() { 10_000 } else { 200 };
    let dir = Dir::new();
    // The first ones fill the pools of the library and of the allocator.
    for _ in 0..rounds / 4 {
        once(&dir);
    }
    let (fds, memory) = (descriptors(), resident_bytes());
    for _ in 0..rounds - rounds / 4 {
        once(&dir);
    }
    assert!(descriptors() <= fds + 2, "{} descriptors, {} before", descriptors(), fds);
    let grown = resident_bytes().saturating_sub(memory);
    assert!(grown < 24 << 20, "{} bytes more than before", grown);
    println!("{} rounds, {} bytes more", rounds, grown);
}

/// Handles alone, which need no disk, in their thousands.
#[test]
fn handles_on_a_store_that_stays() {
    let dir = Dir::new();
    let store = options().open(dir.join("store")).expect("a store");
    let _ = store.queue("q").expect("a queue");
    let turn = || {
        let queue = store.queue("q").expect("a queue");
        let _ = (queue.clone(), Cancel::new().expect("a token"));
        assert!(queue.lease(&LeaseOptions::new()).expect("a lease").is_empty());
    };
    (0..2_000).for_each(|_| turn());
    let memory = resident_bytes();
    (0..50_000).for_each(|_| turn());
    let grown = resident_bytes().saturating_sub(memory);
    assert!(grown < 24 << 20, "{} bytes more than before", grown);
}
