//! Tenants, overlap guard, rate keys, throttle, keys in transactions: by their effect.

mod common;

use std::time::Duration;

use common::{options, queue, take, take_one, Dir};
use wq::{
    Cause, ErrorCode, EventKind, JobSpec, Outcome, Overlap, QueueConfig, Rate, Settle, Throttle,
    Transaction,
};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn tenants_are_served_by_turns() {
    let (_dir, _store, queue) = queue();
    for job in ["a1", "a2", "a3", "b1"] {
        let _ = queue.enqueue(JobSpec::new(job).tenant(&job[..1])).unwrap();
    }
    let _ = queue.enqueue("none").unwrap();
    let jobs = take(&queue, 10);
    let order: Vec<_> = jobs.iter().map(|job| job.text().unwrap()).collect();
    assert_eq!(order, ["a1", "b1", "none", "a2", "a3"]);
    assert_eq!((&jobs[1].tenant[..], &jobs[2].tenant[..]), (&b"b"[..], &b""[..]));
    let every_byte: Vec<u8> = (0..=255).collect();
    let _ = queue.enqueue(JobSpec::new("x").tenant(&every_byte)).unwrap();
    assert_eq!(take_one(&queue).tenant, every_byte);
    let long = queue.enqueue(JobSpec::new("x").tenant(vec![0; 513])).unwrap_err();
    assert_eq!(long.code(), ErrorCode::TooLarge);
}

#[test]
fn a_job_of_a_full_group_waits_comes_later_or_ends() {
    let dir = Dir::new();
    let store = options().events(100).open(dir.join("store")).unwrap();
    let queue = store.queue("q").unwrap();
    let push = |payload: &'static str, overlap| {
        queue.enqueue(JobSpec::new(payload).group("g").overlap(overlap))
    };
    let _ = push("runs", Overlap::Skip).unwrap();
    let skipped = push("skipped", Overlap::Skip).unwrap().id;
    let later = push("later", Overlap::Release(HOUR)).unwrap().id;
    let waits = push("waits", Overlap::Park).unwrap().id;
    let running = take_one(&queue);
    assert_eq!(running.text(), Some("runs"));
    assert!(take(&queue, 10).is_empty());
    assert_eq!(queue.get(skipped).unwrap_err().code(), ErrorCode::NotFound);
    let delayed = queue.get(later).unwrap();
    assert_eq!((delayed.state, delayed.attempts), (wq::State::Delayed, 0));
    assert!(queue.get(waits).unwrap().parked);
    let stats = queue.stats().unwrap();
    assert_eq!((stats.skipped_total, stats.released_total, stats.parked), (1, 1, 1));
    let told = store.events().poll(100, Duration::ZERO).unwrap().events;
    assert!(told.iter().any(|event| (event.kind, event.job_id) == (EventKind::Skipped, skipped)));
    assert!(told.iter().any(|event| (event.kind, event.job_id) == (EventKind::Released, later)));
    assert!(running.ack().unwrap().is_ok());
    assert_eq!(take_one(&queue).id, waits);

    assert_eq!(push("x", Overlap::Release(Duration::ZERO)).unwrap_err().code(), ErrorCode::Invalid);
    let alone = queue.enqueue(JobSpec::new("x").overlap(Overlap::Skip)).unwrap_err();
    assert_eq!(alone.code(), ErrorCode::Invalid);
}

#[test]
fn each_rate_key_has_its_own_rate() {
    let (_dir, _store, queue) = queue();
    let rate = Rate { count: 2, burst: 2, window: HOUR };
    assert!(queue.configure(&QueueConfig::new().key_rate(rate)).unwrap().is_ok());
    assert_eq!(queue.config().unwrap().key_rate, Some(rate));
    let push = |key: &'static str, cost| {
        queue.enqueue(JobSpec::new(key).rate_key(key).rate_cost(cost)).unwrap().id
    };
    push("k", 2);
    let second = push("k", 0);
    push("other", 1);
    let jobs = take(&queue, 10);
    assert_eq!(jobs.len(), 2);
    assert_eq!((&jobs[0].rate_key[..], jobs[0].rate_cost), (&b"k"[..], 2));
    let parked = queue.get(second).unwrap();
    assert!(parked.parked && parked.rate_cost == 1);
    let (told, _) = queue.explain_job(second).unwrap();
    assert!(told.causes.contains(Cause::Rate) && told.until.is_some());
    assert!(queue.stats().unwrap().rate_wait > Duration::from_secs(60));
    // Without the rate no key is held back.
    assert!(queue.configure(&QueueConfig::new().key_rate(Rate::default())).unwrap().is_ok());
    assert_eq!(take_one(&queue).id, second);

    let grouped = JobSpec::new("x").rate_key("k").group("g");
    assert_eq!(queue.enqueue(grouped).unwrap_err().code(), ErrorCode::Unsupported);
    let dear = JobSpec::new("x").rate_key("k").rate_cost(1_000_001);
    assert_eq!(queue.enqueue(dear).unwrap_err().code(), ErrorCode::Invalid);
    let keyless = queue.enqueue(JobSpec::new("x").rate_cost(2)).unwrap_err();
    assert_eq!(keyless.code(), ErrorCode::Invalid);
}

#[test]
fn a_rate_key_cools_down_after_exceptions() {
    let dir = Dir::new();
    let store = options().events(100).open(dir.join("store")).unwrap();
    let throttle = Throttle { count: 2, window: HOUR, cool: Duration::ZERO };
    let config = QueueConfig::new().throttle(throttle).max_retries(10);
    let queue = store.queue_with("q", &config).unwrap();
    let told = queue.config().unwrap().throttle.unwrap();
    assert_eq!(told, Throttle { cool: HOUR, ..throttle }, "as the window");
    let id = queue.enqueue(JobSpec::new("x").rate_key("host")).unwrap().id;
    assert!(take_one(&queue).settle(&Settle::nack().no_exception()).unwrap().is_ok());
    for _ in 0..2 {
        assert!(take_one(&queue).nack("no answer").unwrap().is_ok());
    }
    assert!(take(&queue, 1).is_empty());
    let (told, _) = queue.explain_job(id).unwrap();
    assert!(told.causes.contains(Cause::Cooling));
    let events = store.events().poll(100, Duration::ZERO).unwrap().events;
    let cools: Vec<_> = events.iter().filter(|e| e.kind == EventKind::KeyCools).collect();
    assert_eq!(cools.len(), 1);
    assert_eq!((cools[0].job_id, cools[0].time), (id, told.until));
    assert!(queue.configure(&QueueConfig::new().throttle(Throttle::default())).unwrap().is_ok());
    assert_eq!(take_one(&queue).id, id);
    let many = Throttle { count: 101, ..throttle };
    let refused = queue.configure(&QueueConfig::new().throttle(many)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Invalid);
}

#[test]
fn a_transaction_tells_who_holds_the_key() {
    let (_dir, store, queue) = queue();
    let holder = queue.enqueue(JobSpec::new("x").unique("k", None)).unwrap().id;
    let held = || JobSpec::new("next").unique("k", None);
    let refused = Transaction::new().enqueue(&queue, "other").enqueue(&queue, held());
    let refused = refused.commit(&store).unwrap();
    assert_eq!((refused.outcome, refused.failed), (Outcome::Duplicate, Some(1)));
    assert_eq!(
        (refused.holder(), refused.job_id(0), refused.job_id(1)),
        (Some(holder), None, None)
    );
    let job = take_one(&queue);
    let done = Transaction::new().settle_job(&job, Settle::ack()).enqueue(&queue, held());
    let done = done.commit(&store).unwrap();
    assert!(done.is_ok() && done.holder().is_none());
    assert_eq!(done.job_id(1), Some(take_one(&queue).id));
}
