//! Handles: dropped in any order, closed under the feet of others, used by many threads.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{queue, store, take_one, until_waiting, Dir, Rng};
use wq::{Cancel, ErrorCode, KvOptions, LeaseOptions, Outcome, Settle, Wait};

fn is_closed<T: std::fmt::Debug>(result: wq::Result<T>) {
    assert_eq!(result.unwrap_err().code(), ErrorCode::Closed);
}

#[test]
fn all_can_be_shared_and_sent() {
    fn sent<T: Send + 'static>() {}
    fn shared<T: Send + Sync + 'static>() {}
    shared::<wq::Store>();
    shared::<wq::Queue>();
    shared::<wq::Job>();
    shared::<wq::Cancel>();
    shared::<wq::Error>();
    shared::<wq::OpenOptions>();
    shared::<wq::LeaseOptions>();
    shared::<wq::JobSpec<'static>>();
    shared::<wq::Transaction<'static>>();
    shared::<wq::Worker>();
    sent::<wq::EventReader>();
    sent::<wq::Jobs>();
    sent::<wq::LeaseFuture>();
    sent::<wq::Pending<wq::Enqueued>>();
}

#[test]
fn use_after_close_is_an_error() {
    let (_dir, store, queue) = queue();
    let _ = queue.enqueue("x").unwrap();
    let job = take_one(&queue);
    let mut events = store.events();
    store.close();
    store.close();
    is_closed(queue.enqueue("y"));
    is_closed(queue.enqueue_async("y").wait());
    is_closed(queue.enqueue_many(&["y".into()]));
    is_closed(queue.lease(&LeaseOptions::new().wait_forever()));
    is_closed(wq::block_on(queue.lease_async(&LeaseOptions::new().wait_forever())));
    is_closed(job.ack());
    is_closed(job.settle(&Settle::nack().delay(Duration::from_secs(1))));
    is_closed(job.extend(Duration::from_secs(1)));
    is_closed(queue.stats());
    is_closed(queue.config());
    is_closed(queue.dead().purge());
    is_closed(queue.history().get(1));
    is_closed(queue.explain());
    is_closed(store.queue("other"));
    is_closed(store.kv().get("k"));
    is_closed(store.kv().put("k", "v", &KvOptions::new()));
    is_closed(store.flows().status(1));
    is_closed(store.crons().get("c"));
    is_closed(store.stats());
    is_closed(store.sync());
    is_closed(store.shutdown(Wait::Forever));
    is_closed(events.poll(1, Duration::ZERO));
    assert_eq!(format!("{:?}", store), "Store { open: false }");
}

#[test]
fn a_queue_handle_is_closed_for_its_clones_only() {
    let (_dir, store, first) = queue();
    let second = store.queue("q").unwrap();
    let clone = first.clone();
    first.close();
    first.close();
    is_closed(clone.enqueue("x"));
    is_closed(clone.lease(&LeaseOptions::new()));
    assert!(second.enqueue("x").unwrap().is_new());
}

#[test]
fn the_last_owner_closes_whoever_it_is() {
    let mut rng = Rng::new();
    for _ in 0..if common::is_long() { 500 } else { 6 } {
        let dir = Dir::new();
        {
            let opened = store(&dir);
            let queue = opened.queue("q").unwrap();
            let _ = queue.enqueue("x").unwrap();
            let pending = queue.enqueue_async("y");
            let job = take_one(&queue);
            let jobs = queue.jobs(&LeaseOptions::new());
            let future = queue.lease_async(&LeaseOptions::new().wait_forever());
            let waiting = queue.store().queue("empty").unwrap();
            let waiting = waiting.lease_async(&LeaseOptions::new().wait_forever());
            let events = opened.events();
            let cancel = Cancel::new().unwrap();
            let mut all: Vec<Box<dyn std::any::Any>> = vec![
                Box::new(opened),
                Box::new(queue),
                Box::new(pending),
                Box::new(job),
                Box::new(jobs),
                Box::new(future),
                Box::new(waiting),
                Box::new(events),
                Box::new(cancel),
            ];
            rng.shuffle(&mut all);
            for one in all {
                drop(one);
            }
        }
        // Nothing is left behind in another thread.
        drop(store(&dir));
    }
}

#[test]
fn closing_and_cancelling_wake_those_who_wait() {
    let (_dir, store, queue) = queue();
    let cancel = Cancel::new().unwrap();
    let waiter = |options: LeaseOptions| {
        let queue = queue.clone();
        std::thread::spawn(move || queue.lease(&options).map(|lease| lease.outcome()))
    };
    let cancelled = waiter(LeaseOptions::new().wait_forever().cancel(&cancel));
    until_waiting(&store, 1);
    cancel.fire();
    assert_eq!(cancelled.join().unwrap().unwrap(), Outcome::Cancelled);
    let at_once = queue.lease(&LeaseOptions::new().wait_forever().cancel(&cancel)).unwrap();
    assert_eq!(at_once.outcome(), Outcome::Cancelled);
    let woken = waiter(LeaseOptions::new().wait_forever());
    until_waiting(&store, 1);
    store.close();
    is_closed(woken.join().unwrap());
}

#[test]
fn closing_a_queue_handle_wakes_its_lease() {
    let (_dir, store, queue) = queue();
    let clone = queue.clone();
    let waiter = std::thread::spawn(move || clone.lease(&LeaseOptions::new().wait_forever()));
    until_waiting(&store, 1);
    queue.close();
    is_closed(waiter.join().unwrap());
}

#[test]
fn many_threads_and_each_job_once() {
    let (_dir, store, queue) = queue();
    const JOBS: usize = 400;
    const THREADS: usize = 8;
    let acked = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for i in 0..JOBS / THREADS {
                    assert!(queue.enqueue(format!("{}", i)).unwrap().is_new());
                }
            });
            scope.spawn(|| {
                for job in queue.jobs(&LeaseOptions::new().max_jobs(3).wait_forever()) {
                    assert!(job.unwrap().ack().unwrap().is_ok());
                    if acked.fetch_add(1, Ordering::SeqCst) + 1 == JOBS {
                        // Ends the iterators of all.
                        assert!(store.shutdown(Wait::Forever).unwrap().is_ok());
                    }
                }
            });
        }
    });
    assert_eq!(acked.load(Ordering::SeqCst), JOBS);
    assert_eq!(queue.stats().unwrap().acked_total, JOBS as u64);
}

#[test]
fn close_beside_calls_of_other_threads() {
    for _ in 0..if common::is_long() { 200 } else { 5 } {
        let (_dir, store, queue) = queue();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| loop {
                    let pending = queue.enqueue_async("x");
                    if let Err(error) = pending.wait().and(store.stats().map(|_| ())) {
                        assert_eq!(error.code(), ErrorCode::Closed);
                        break;
                    }
                });
            }
            scope.spawn(|| {
                while queue.stats().map_or(false, |stats| stats.enqueued_total < 50) {
                    std::thread::yield_now();
                }
                store.close();
            });
        });
    }
}

#[test]
fn a_lease_is_filled_again() {
    let (_dir, store, first) = queue();
    let second = store.queue("second").unwrap();
    let options = LeaseOptions::new().max_jobs(100);
    let mut lease = wq::Lease::default();
    assert_eq!((lease.len(), lease.outcome()), (0, Outcome::Empty));
    for (round, sizes) in [&[100, 1, 5000][..], &[7], &[1; 4], &[9, 1 << 20]].iter().enumerate() {
        let of = |i: usize| if (i + round) % 2 == 0 { &first } else { &second };
        for (i, size) in sizes.iter().enumerate() {
            let spec = wq::JobSpec::new(vec![i as u8; *size]);
            let spec = if i % 2 == 0 { spec.header("i", "").group(i.to_string()) } else { spec };
            let _ = of(i).enqueue(spec).unwrap();
        }
        assert!(store.lease_into(&[&first, &second], &options, &mut lease).unwrap().is_ok());
        assert_eq!(lease.len(), sizes.len());
        for job in &lease {
            let i = usize::from(job.payload[0]);
            assert_eq!(job.payload, vec![i as u8; sizes[i]]);
            assert_eq!((job.headers.len(), job.group.len()), ((i + 1) % 2, (i + 1) % 2));
            assert_eq!((&*job.queue_name, job.queue().name()), (of(i).name(), of(i).name()));
            assert!(job.ack().unwrap().is_ok());
        }
    }
    assert_eq!(first.lease_into(&options, &mut lease).unwrap(), Outcome::Empty);
    assert!(lease.is_empty());
    let _ = first.enqueue("x").unwrap();
    assert!(first.lease_into(&options, &mut lease).unwrap().is_ok());
    assert!(lease[0].headers.is_empty() && lease[0].group.is_empty());
    store.close();
    is_closed(first.lease_into(&options, &mut lease));
    assert!(lease.is_empty());
}
