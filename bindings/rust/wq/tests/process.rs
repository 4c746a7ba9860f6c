//! What a process does: forks, gets signals, runs workers that panic.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use common::{queue, take, until_waiting};
use wq::{ErrorCode, JobSpec, LeaseOptions, QueueConfig, State, Worker};

extern "C" {
    fn fork() -> i32;
    fn _exit(code: i32) -> !;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn getpid() -> i32;
    fn kill(pid: i32, signal: i32) -> i32;
    fn setrlimit(resource: i32, limit: *const u64) -> i32;
    fn signal(signal: i32, handler: extern "C" fn(i32)) -> usize;
}

/// What the child sees, as the number that it exits with.
fn in_child(store: &wq::Store, queue: &wq::Queue) -> i32 {
    let forked = |code: ErrorCode| code == ErrorCode::Forked;
    let answers = [
        queue.enqueue("x").map_err(|error| error.code()).err().map_or(false, forked),
        queue.enqueue_async("x").wait().map_err(|error| error.code()).err().map_or(false, forked),
        store.stats().map_err(|error| error.code()).err().map_or(false, forked),
        queue.lease(&LeaseOptions::new()).map_err(|e| e.code()).err().map_or(false, forked),
        wq::Store::open("/nowhere/at/all").map_err(|e| e.code()).err().is_some(),
    ];
    // Only forgets; waits for nobody.
    queue.close();
    store.close();
    let bits = answers.iter().enumerate().map(|(i, right)| i32::from(!right) << i);
    bits.sum()
}

#[test]
fn a_forked_child_is_told() {
    let (_dir, store, queue) = queue();
    let _ = queue.enqueue_async("x").wait().unwrap();
    // SAFETY: the child calls the library, which is made for this, and leaves by _exit.
    let child = unsafe { fork() };
    assert!(child >= 0);
    if child == 0 {
        let code = in_child(&store, &queue);
        // SAFETY: nothing of the parent is torn down.
        unsafe { _exit(code) };
    }
    let mut status = -1;
    // SAFETY: our child, and a valid place.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "exit {}", status >> 8);
    assert!(queue.enqueue("y").unwrap().is_new());
}

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_signal(_: i32) {
    SIGNALS.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_signal_does_not_end_a_wait() {
    const SIGUSR1: i32 = 10;
    let (_dir, store, queue) = queue();
    let clone = queue.clone();
    let waiter = std::thread::spawn(move || {
        clone.lease(&LeaseOptions::new().wait_forever()).map(|lease| lease.len())
    });
    until_waiting(&store, 1);
    // SAFETY: a handler that only counts, and a signal to this process.
    unsafe {
        signal(SIGUSR1, on_signal);
        for _ in 0..100 {
            assert_eq!(kill(getpid(), SIGUSR1), 0);
        }
    }
    while SIGNALS.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert!(queue.enqueue("x").unwrap().is_new());
    assert_eq!(waiter.join().unwrap().unwrap(), 1);
}

#[test]
fn a_worker_settles_by_what_the_handler_does() {
    let (_dir, store, queue) = queue();
    let retries = QueueConfig::new().max_retries(0);
    assert!(queue.configure(&retries).unwrap().is_ok());
    for what in ["ok", "error", "panic", "settled", "ok"] {
        let _ = queue.enqueue(what).unwrap();
    }
    let worker = Worker::new(&queue).unwrap().threads(3);
    let stop = worker.stop_token();
    let left = AtomicU32::new(5);
    let report = worker
        .run(|job| {
            if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                stop.fire();
            }
            match job.text() {
                Some("error") => Err("it did not work"),
                Some("panic") => panic!("{}", "a handler that panics"),
                Some("settled") => job.ack().map(drop).map_err(|_| "no ack"),
                _ => Ok(()),
            }
        })
        .unwrap();
    assert_eq!((report.done, report.failed, report.panicked, report.lost), (2, 1, 1, 1));
    let letters: Vec<_> =
        queue.dead().iter(&wq::DeadQuery::new()).map(|letter| letter.unwrap().last_error).collect();
    assert!(letters.contains(&b"it did not work".to_vec()));
    assert!(letters.contains(&b"panic: a handler that panics".to_vec()));
    assert_eq!(store.stats().unwrap().leased, 0);
}

/// An error that can not be told.
struct Untellable;

impl std::fmt::Display for Untellable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Err(std::fmt::Error)
    }
}

#[test]
fn a_worker_survives_an_error_that_can_not_be_told() {
    let (_dir, store, queue) = queue();
    assert!(queue.configure(&QueueConfig::new().max_retries(0)).unwrap().is_ok());
    for _ in 0..3 {
        let _ = queue.enqueue("x").unwrap();
    }
    let worker = Worker::new(&queue).unwrap();
    let stop = worker.stop_token();
    let report = worker
        .run(|job| {
            if job.id == 3 {
                stop.fire();
                return Ok(());
            }
            Err(Untellable)
        })
        .unwrap();
    assert_eq!((report.done, report.failed, report.panicked, report.lost), (1, 0, 2, 0));
    assert_eq!(store.stats().unwrap().leased, 0);
    let letter = queue.dead().iter(&wq::DeadQuery::new()).next().unwrap().unwrap();
    assert!(letter.last_error.starts_with(b"panic: "));
}

/// Panics when it goes, where no handler runs any more.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the bomb");
    }
}

#[test]
fn a_worker_tells_that_its_threads_died() {
    let (_dir, _store, queue) = queue();
    let _ = queue.enqueue("x").unwrap();
    let worker = Worker::new(&queue).unwrap().threads(2);
    let run = || worker.run(|_| -> Result<(), String> { std::panic::panic_any(Bomb) });
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the bomb"));
    assert_eq!(queue.stats().unwrap().leased, 0);
}

/// No address space for another stack: Linux' RLIMIT_AS, as large as what is in use.
fn no_more_threads() {
    const RLIMIT_AS: i32 = 9;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmSize:")).unwrap();
    let used: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let limit = [used * 1024 + (1 << 20), used * 1024 + (1 << 20)];
    // SAFETY: two numbers, as the struct has them.
    assert_eq!(unsafe { setrlimit(RLIMIT_AS, limit.as_ptr()) }, 0);
}

/// In a process of its own, which the test behind it starts.
#[test]
#[ignore]
fn alone_without_threads() {
    let (_dir, _store, queue) = queue();
    let worker = Worker::new(&queue).unwrap().threads(20);
    no_more_threads();
    let error = worker.run(|_| Ok::<(), String>(())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NoMemory);
}

#[test]
fn a_worker_that_gets_no_thread_says_so() {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "alone_without_threads", "--ignored", "--test-threads=1"];
    let output = std::process::Command::new(program).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_worker_keeps_the_leases_of_what_it_works_on() {
    let (_dir, _store, queue) = queue();
    let _ = queue.enqueue(JobSpec::new("slow").max_attempts(1)).unwrap();
    let worker = Worker::new(&queue).unwrap().lease(Duration::from_millis(200));
    let stop = worker.stop_token();
    let report = worker
        .run(|job| {
            // Until its lease would have run out more than twice.
            let first = queue.get(job.id).map_err(|error| error.to_string())?.deadline;
            let wanted = first.map(|deadline| deadline + Duration::from_millis(400));
            while queue.get(job.id).map_err(|error| error.to_string())?.deadline < wanted {
                std::thread::yield_now();
            }
            stop.fire();
            Ok::<(), String>(())
        })
        .unwrap();
    assert_eq!((report.done, report.lost), (1, 0));
}

#[test]
fn a_worker_ends_with_its_store_and_tells_other_errors() {
    let (_dir, store, queue) = queue();
    let worker = Worker::new(&queue).unwrap().threads(2);
    std::thread::scope(|scope| {
        let running = scope.spawn(move || worker.run(|_| Ok::<(), String>(())));
        until_waiting(&store, 2);
        store.close();
        assert_eq!(running.join().unwrap().unwrap().done, 0);
    });

    let (_dir, _store, deleted) = common::queue();
    let worker = Worker::new(&deleted).unwrap().threads(2);
    deleted.delete().unwrap();
    let error = worker.run(|_| Ok::<(), String>(())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
}

#[test]
fn jobs_go_to_threads_and_are_settled_there() {
    let (_dir, _store, queue) = queue();
    for i in 0..20 {
        let _ = queue.enqueue(format!("{}", i)).unwrap();
    }
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for job in take(&queue, 20) {
            let told = &told;
            scope.spawn(move || {
                assert_eq!(job.state, State::Leased);
                assert!(job.ack().unwrap().is_ok());
                told.lock().unwrap().push(job.id);
            });
        }
    });
    assert_eq!(told.into_inner().unwrap().len(), 20);
    assert_eq!(queue.stats().unwrap().acked_total, 20);
}
