//! What the tests share: a directory, a store in it, numbers by chance.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use wq::{Job, LeaseOptions, OpenOptions, Queue, Store};

/// An empty directory, removed in the end.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new() -> Dir {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wq-rust-{}-{}", std::process::id(), number);
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Dir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A small store: little is written to open it.
pub fn options() -> OpenOptions {
    OpenOptions::new().segment_bytes(1 << 20).spare_segments(1)
}

pub fn store(dir: &Dir) -> Store {
    options().open(dir.join("store")).expect("a store")
}

/// A directory, a store and a queue whose changes wait for no device.
pub fn queue() -> (Dir, Store, Queue) {
    let dir = Dir::new();
    let store = store(&dir).with_durability(wq::Durability::Memory);
    let queue = store.queue("q").expect("a queue");
    (dir, store, queue)
}

pub fn take(queue: &Queue, count: u32) -> Vec<Job> {
    queue.lease(&LeaseOptions::new().max_jobs(count)).expect("a lease").into_jobs()
}

pub fn take_one(queue: &Queue) -> Job {
    take(queue, 1).pop().expect("a job")
}

/// Until somebody waits in a lease of this store.
pub fn until_waiting(store: &Store, count: u64) {
    while store.stats().expect("stats").waiting < count {
        std::thread::yield_now();
    }
}

/// Whether the test is to take its time.
pub fn is_long() -> bool {
    std::env::var_os("WQ_TEST_LONG").is_some()
}

/// SplitMix64 with a seed that is printed: `WQ_TEST_SEED` repeats a run.
pub struct Rng(u64);

impl Rng {
    pub fn new() -> Rng {
        let given = std::env::var("WQ_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.expect("after 1970").as_nanos() as u64
        });
        println!("WQ_TEST_SEED={}", seed);
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
