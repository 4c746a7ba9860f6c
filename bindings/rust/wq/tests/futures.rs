//! Futures: many under way, dropped, woken by a store that closes.

mod common;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};

use common::{queue, store, take, take_one, until_waiting, Dir};
use wq::{block_on, Cancel, Durability, ErrorCode, KvOptions, LeaseOptions, Outcome, Settle};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("proc").count()
}

#[test]
fn ten_thousand_under_way_and_no_thread_each() {
    let dir = Dir::new();
    let store = store(&dir);
    let queue = store.queue("q").unwrap();
    let before = threads();
    let pending: Vec<_> = (0..10_000).map(|i| queue.enqueue_async(format!("{}", i))).collect();
    assert!(threads() <= before + 20, "{} threads, {} before", threads(), before);
    let mut ids: Vec<u64> = block_on(async {
        let mut ids = Vec::new();
        for one in pending {
            ids.push(one.await.unwrap().id);
        }
        ids
    });
    ids.dedup();
    assert_eq!(ids.len(), 10_000);
    let jobs = take(&queue, 10_000);
    assert!(!jobs.is_empty());
    let acks: Vec<_> = jobs.iter().map(|job| job.ack_async()).collect();
    for ack in acks {
        assert!(ack.wait().unwrap().is_ok());
    }
    let durable = store.stats().unwrap();
    assert_eq!(durable.durable_lsn, durable.last_lsn);
    assert_eq!(queue.stats().unwrap().acked_total, jobs.len() as u64);
}

#[test]
fn every_call_that_has_one() {
    let (_dir, store, queue) = queue();
    block_on(async {
        assert!(queue.enqueue_async("a").await.unwrap().is_new());
        let specs = ["b".into(), "c".into()];
        assert_eq!(queue.enqueue_many_async(&specs).await.unwrap().accepted, 2);
        assert_eq!(queue.enqueue_partial_async(&specs).await.unwrap().accepted, 2);
        let lease = queue.lease_async(&LeaseOptions::new().max_jobs(5)).await.unwrap();
        assert_eq!(lease.len(), 5);
        assert!(lease[0].ack_async().await.unwrap().is_ok());
        assert!(lease[1].settle_async(&Settle::nack().error("no")).await.unwrap().is_ok());
        assert_eq!(lease[1].ack_async().await.unwrap(), Outcome::Stale);
        let items = [(lease[2].token(), Settle::ack()), (lease[1].token(), Settle::ack())];
        let items = queue.settle_many_async(&items).await.unwrap();
        assert_eq!(items.as_slice(), [Ok(Outcome::Ok), Ok(Outcome::Stale)]);
        let put = store.kv().put_async("k", "v", &KvOptions::new()).await.unwrap();
        assert!(put.version().is_some());
        let none = queue.lease_async(&LeaseOptions::new());
        assert_eq!(none.await.unwrap().len(), 1);
        let none = queue.lease_async(&LeaseOptions::new()).await.unwrap();
        assert_eq!(none.outcome(), Outcome::Empty);
        queue.pause().unwrap();
        let paused = queue.lease_async(&LeaseOptions::new()).await.unwrap();
        assert_eq!(paused.outcome(), Outcome::Paused);
        let wrong = queue.enqueue_async(wq::JobSpec::new("x").unique("k".repeat(600), None));
        assert_eq!(wrong.await.unwrap_err().code(), ErrorCode::TooLarge);
    });
}

#[test]
fn a_lease_that_waits_is_woken_by_a_job() {
    let (_dir, store, queue) = queue();
    let lease = queue.lease_async(&LeaseOptions::new().wait_forever());
    until_waiting(&store, 1);
    let _ = queue.enqueue("hello").unwrap();
    let lease = block_on(lease).unwrap();
    assert_eq!(lease[0].payload, b"hello");
}

#[test]
fn dropping_a_lease_cancels_its_wait() {
    let (_dir, store, queue) = queue();
    let lease = queue.lease_async(&LeaseOptions::new().wait_forever());
    until_waiting(&store, 1);
    drop(lease);
    while store.stats().unwrap().waiting != 0 {
        std::thread::yield_now();
    }
    let _ = queue.enqueue("not lost").unwrap();
    let job = take_one(&queue);
    assert_eq!((job.text(), job.attempts), (Some("not lost"), 1));
}

#[test]
fn jobs_of_a_lease_that_nobody_took_go_back_uncounted() {
    let (_dir, store, queue) = queue();
    for i in 0..3 {
        let _ = queue.enqueue(format!("{}", i)).unwrap();
    }
    // At hand when the future was made.
    drop(queue.lease_async(&LeaseOptions::new().max_jobs(3)));
    // Come while it waited, and not asked for any more.
    let other = store.queue("other").unwrap();
    let lease = other.lease_async(&LeaseOptions::new().wait_forever());
    until_waiting(&store, 1);
    let _ = other.enqueue("late").unwrap();
    while other.stats().unwrap().leased == 0 {
        std::thread::yield_now();
    }
    drop(lease);
    while other.stats().unwrap().ready == 0 {
        std::thread::yield_now();
    }
    assert_eq!(take_one(&other).attempts, 1);
    let jobs = take(&queue, 3);
    let told: Vec<_> = jobs.iter().map(|job| (job.text().unwrap(), job.attempts)).collect();
    assert_eq!(told, [("0", 1), ("1", 1), ("2", 1)]);
}

#[test]
fn a_token_of_the_caller_ends_an_asynchronous_lease() {
    let (_dir, store, queue) = queue();
    let cancel = Cancel::new().unwrap();
    let options = LeaseOptions::new().wait_forever().cancel(&cancel);
    let (one, two) = (queue.lease_async(&options), queue.lease_async(&options));
    until_waiting(&store, 2);
    cancel.fire();
    assert_eq!(block_on(one).unwrap().outcome(), Outcome::Cancelled);
    assert_eq!(block_on(two).unwrap().outcome(), Outcome::Cancelled);
    let late = block_on(queue.lease_async(&options)).unwrap();
    assert_eq!(late.outcome(), Outcome::Cancelled);
    assert!(cancel.is_fired());
}

#[test]
fn a_store_that_closes_answers_all_that_is_under_way() {
    let dir = Dir::new();
    let store = store(&dir);
    let queue = store.queue("q").unwrap();
    let lease = queue.store().queue("empty").unwrap();
    let lease = lease.lease_async(&LeaseOptions::new().wait_forever());
    let pending: Vec<_> = (0..1000).map(|_| queue.enqueue_async("x")).collect();
    store.close();
    let mut durable = 0;
    for one in pending {
        match one.wait() {
            Ok(enqueued) => durable += u64::from(enqueued.is_new()),
            Err(error) => assert!(error.maybe_committed(), "{}", error),
        }
    }
    assert_eq!(block_on(lease).unwrap_err().code(), ErrorCode::Closed);
    let again = common::store(&dir);
    assert!(again.queue("q").unwrap().stats().unwrap().ready >= durable);
}

/// Counts its wakes, and panics or closes the store when it is woken.
struct Odd {
    woken: AtomicUsize,
    store: Option<wq::Store>,
}

impl Wake for Odd {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        match &self.store {
            Some(store) => store.close(),
            None => panic!("a waker that panics"),
        }
    }
}

fn poll_once<F: Future + Unpin>(future: &mut F, odd: &Arc<Odd>) -> Poll<F::Output> {
    let waker = odd.clone().into();
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

#[test]
fn wakers_may_do_as_they_like() {
    let dir = Dir::new();
    let store = store(&dir);
    let queue = store.queue("q").unwrap().with_durability(Durability::Power);
    let panics = Arc::new(Odd { woken: AtomicUsize::new(0), store: None });
    let mut pending = queue.enqueue_async("x");
    let ready = poll_once(&mut pending, &panics).is_ready();
    assert!(queue.enqueue_async("y").wait().unwrap().is_new());
    if !ready {
        while panics.woken.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }
    let closes = Arc::new(Odd { woken: AtomicUsize::new(0), store: Some(store.clone()) });
    let mut pending = queue.enqueue_async("z");
    if poll_once(&mut pending, &closes).is_pending() {
        while closes.woken.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert!(block_on(pending).unwrap().is_new());
        // From the thread that polls: it must not wait for itself. Closed when it can be opened.
        while common::options().open(dir.join("store")).is_err() {
            std::thread::yield_now();
        }
        assert!(store.stats().is_err());
    }
}

#[test]
fn at_level_memory_nothing_is_waited_for() {
    let (_dir, store, queue) = queue();
    for _ in 0..100 {
        let pending = queue.enqueue_async("x");
        assert!(pending.is_done());
        assert!(pending.wait().unwrap().is_new());
    }
    store.close();
    assert_eq!(queue.enqueue_async("x").wait().unwrap_err().code(), wq::ErrorCode::Closed);
}
