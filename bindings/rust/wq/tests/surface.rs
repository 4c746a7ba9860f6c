//! What the conformance scripts do not reach: iterators, callbacks, tokens, defaults.

mod common;

use std::time::{Duration, SystemTime};

use common::{options, queue, store, take, take_one, Dir};
use wq::{
    Backoff, BackupOptions, Cancel, CronSpec, DeadFilter, DeadQuery, DeadReason, Durability,
    ErrorCode, EventKind, FlowOptions, JobSpec, KvOptions, LeaseOptions, NextJob, Outcome,
    QueueConfig, Settle, State, Store, Transaction, Wait,
};

#[test]
fn a_job_is_told_with_all_that_was_said() {
    let (_dir, _store, queue) = queue();
    let soon = SystemTime::now() + Duration::from_secs(3600);
    let spec = JobSpec::new("x")
        .priority(7)
        .max_attempts(9)
        .timeout(Duration::from_secs(20))
        .expires_at(soon)
        .retry_until(soon)
        .max_exceptions(5)
        .fail_on_timeout()
        .group("g")
        .then("next");
    let enqueued = queue.enqueue(spec).unwrap();
    let job = take_one(&queue);
    assert_eq!((job.id, job.priority, job.max_attempts), (enqueued.id, 7, 9));
    assert_eq!((job.attempts, job.max_exceptions, job.chain_count), (1, 5, 1));
    assert_eq!(job.timeout, Some(Duration::from_secs(20)));
    let ms = |time: SystemTime| time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert_eq!(job.expires_at.map(ms), Some(ms(soon)));
    assert_eq!(job.retry_until.map(ms), Some(ms(soon)));
    assert!(job.fail_on_timeout && !job.parked && job.flow.is_none());
    assert_eq!(job.state, State::Leased);
    assert!(job.lease_remaining <= Duration::from_secs(20));
    assert!(job.lease_remaining > Duration::from_secs(10));
    assert!(job.deadline > job.leased && job.leased >= job.enqueued);
    assert_eq!(job.queue().name(), "q");
    assert_eq!(&*job.queue_name, "q");
    assert_eq!(job.text(), Some("x"));
    assert!(format!("{:?}", job).contains("payload_len: 1"));
}

#[test]
fn settles_are_outcomes_and_may_be_repeated() {
    let (_dir, _store, queue) = queue();
    for i in 0..5 {
        let _ = queue.enqueue(format!("{}", i)).unwrap();
    }
    let jobs = take(&queue, 5);
    assert_eq!(jobs.len(), 5);
    assert!(jobs[0].confirm(Duration::ZERO).unwrap().is_ok());
    assert!(jobs[0].extend(Duration::from_secs(5)).unwrap().is_ok());
    assert!(jobs[0].ack().unwrap().is_ok());
    assert_eq!(jobs[0].ack().unwrap(), Outcome::Stale);
    assert!(jobs[1].nack("no").unwrap().is_ok());
    assert_eq!(jobs[1].ack().unwrap(), Outcome::Stale);
    assert!(jobs[2].release().unwrap().is_ok());
    assert_eq!(jobs[2].fail("no").unwrap(), Outcome::Stale);
    assert!(jobs[3].fail("no").unwrap().is_ok());
    let later = Settle::nack().delay(Duration::from_secs(60)).priority(3).no_exception();
    assert!(jobs[4].settle(&later).unwrap().is_ok());
    let told = queue.get(jobs[4].id).unwrap();
    assert_eq!((told.state, told.priority, told.exceptions), (State::Delayed, 3, 0));
    // What a kind has no place for is refused by the library, not dropped.
    let job = take_one(&queue);
    let odd = Settle::ack().delay(Duration::from_secs(1));
    assert_eq!(job.settle(&odd).unwrap_err().code(), ErrorCode::Invalid);
    let reasoned = Settle::fail().error("what?").reason(DeadReason::UnknownType);
    assert!(job.settle(&reasoned).unwrap().is_ok());
    assert_eq!(queue.get(job.id).unwrap().dead_reason, Some(DeadReason::UnknownType));
}

#[test]
fn many_at_once_and_one_that_is_refused() {
    let (_dir, _store, queue) = queue();
    let specs: Vec<_> = (0..10).map(|i| JobSpec::new(format!("{}", i))).collect();
    let many = queue.enqueue_many(&specs).unwrap();
    assert_eq!((many.accepted, many.ids().count()), (10, 10));
    let jobs = take(&queue, 10);
    let mut tokens: Vec<_> = jobs.iter().map(wq::Token::from).collect();
    assert!(queue.extend_many(&tokens, Duration::from_secs(9)).unwrap().all_ok());
    tokens[3].generation += 1;
    let items = queue.ack_many(&tokens).unwrap();
    assert_eq!(items.first(), Ok(Outcome::Stale));
    assert_eq!(items.as_slice().iter().filter(|item| **item == Ok(Outcome::Ok)).count(), 9);
    assert_eq!(queue.ack_many(&[]).unwrap_err().code(), ErrorCode::Invalid);
    assert_eq!(queue.enqueue_many(&[]).unwrap_err().code(), ErrorCode::Invalid);

    let small = queue.store().queue_with("small", &QueueConfig::new().max_depth(2)).unwrap();
    assert_eq!(small.enqueue_many(&specs).unwrap_err().code(), ErrorCode::Full);
    let partial = small.enqueue_partial(&specs).unwrap();
    assert_eq!(partial.accepted, 2);
    assert_eq!(partial.refusal.map(|error| error.code()), Some(ErrorCode::Full));
    assert_eq!(partial.items[2].as_ref().unwrap_err().code(), ErrorCode::Full);
    assert_eq!(small.enqueue_partial(&specs).unwrap_err().code(), ErrorCode::Full);
}

#[test]
fn an_iterator_of_jobs_ends_and_gives_back_what_it_did_not_give_out() {
    let (_dir, store, queue) = queue();
    for i in 0..5 {
        let _ = queue.enqueue(format!("{}", i)).unwrap();
    }
    let mut seen = Vec::new();
    for job in queue.jobs(&LeaseOptions::new().max_jobs(2)) {
        let job = job.unwrap();
        seen.push(job.text().unwrap().to_string());
        assert!(job.ack().unwrap().is_ok());
    }
    assert_eq!(seen, ["0", "1", "2", "3", "4"]);

    for i in 0..5 {
        let _ = queue.enqueue(format!("{}", i)).unwrap();
    }
    let mut jobs = queue.jobs(&LeaseOptions::new().max_jobs(4));
    assert!(jobs.next().unwrap().unwrap().ack().unwrap().is_ok());
    drop(jobs);
    let stats = queue.stats().unwrap();
    assert_eq!((stats.ready, stats.leased), (4, 0));
    let order: Vec<_> = take(&queue, 4).iter().map(|job| job.payload.clone()).collect();
    assert_eq!(order, [b"1", b"2", b"3", b"4"]);

    let mut ended = queue.jobs(&LeaseOptions::new().wait_forever());
    store.close();
    assert!(ended.next().is_none() && ended.next().is_none());
}

#[test]
fn several_queues_in_one_lease() {
    let (_dir, store, first) = queue();
    let second = store.queue("second").unwrap();
    let _ = second.enqueue("b").unwrap();
    let _ = first.enqueue("a").unwrap();
    let lease = store.lease(&[&first, &second], &LeaseOptions::new().max_jobs(9)).unwrap();
    let told: Vec<_> = lease.iter().map(|job| (job.queue().name(), &job.payload[..])).collect();
    assert_eq!(told, [("q", &b"a"[..]), ("second", &b"b"[..])]);
    for job in lease {
        assert!(job.ack().unwrap().is_ok());
    }
    let none = store.lease(&[], &LeaseOptions::new()).unwrap_err();
    assert_eq!(none.code(), ErrorCode::Invalid);
    let twice = store.lease(&[&first, &first], &LeaseOptions::new()).unwrap_err();
    assert_eq!(twice.code(), ErrorCode::Invalid);
    let other = Dir::new();
    let foreign = common::store(&other).queue("q").unwrap();
    let mixed = store.lease(&[&first, &foreign], &LeaseOptions::new()).unwrap_err();
    assert_eq!(mixed.code(), ErrorCode::Invalid);
}

#[test]
fn dead_letters_page_by_page_and_stopped() {
    let (_dir, _store, queue) = queue();
    for i in 0..25 {
        let _ = queue.enqueue(format!("{}", i)).unwrap();
    }
    for job in take(&queue, 25) {
        assert!(job.fail(format!("error {}", job.id % 2)).unwrap().is_ok());
    }
    let query = DeadQuery::new().oldest_first().limit(10);
    let letters: Vec<_> = queue.dead().iter(&query).map(Result::unwrap).collect();
    assert_eq!(letters.len(), 25);
    assert!(letters.windows(2).all(|pair| pair[0].id < pair[1].id));
    let some = DeadQuery::new().error_part("error 1").reason(DeadReason::Failed);
    assert_eq!(queue.dead().iter(&some).count(), 12 + letters[0].id as usize % 2);

    let dry = queue.dead().remove_many(DeadFilter::all().dry_run()).unwrap();
    assert_eq!((dry.outcome, dry.changed, dry.examined), (Outcome::Ok, 25, 25));
    let mut steps = 0;
    let stopped = queue.dead().replay_many(DeadFilter::all().progress(|_, _| {
        steps += 1;
        false
    }));
    assert_eq!(stopped.unwrap().outcome, Outcome::Cancelled);
    assert_eq!(steps, 1);
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        queue.dead().replay_many(DeadFilter::all().progress(|_, _| panic!("in a callback")))
    }));
    assert_eq!(*unwound.unwrap_err().downcast::<&str>().unwrap(), "in a callback");
    let cancel = Cancel::new().unwrap();
    cancel.fire();
    let cancelled = queue.dead().replay_many(DeadFilter::all().cancel(&cancel)).unwrap();
    assert_eq!((cancelled.outcome, cancelled.changed), (Outcome::Cancelled, 0));
    let bare = queue.dead().replay_many(DeadFilter::new()).unwrap_err();
    assert_eq!(bare.code(), ErrorCode::Invalid);

    let tokens: Vec<_> = letters.iter().take(5).map(wq::Token::from).collect();
    assert_eq!(queue.dead().replay_many(DeadFilter::entries(&tokens)).unwrap().changed, 5);
    assert_eq!(queue.dead().get(tokens[0]).unwrap(), None);
    assert_eq!(queue.dead().remove(tokens[0]).unwrap(), Outcome::Stale);
    assert_eq!(queue.dead().purge().unwrap(), 20);
}

#[test]
fn events_are_read_where_the_reader_stands() {
    let dir = Dir::new();
    let store = options().events(1000).open(dir.join("store")).unwrap();
    let queue = store.queue("q").unwrap();
    let id = queue.enqueue("x").unwrap().id;
    let mut all = store.events();
    let mut late = store.events().from_now();
    let told = all.poll(100, Duration::ZERO).unwrap();
    let kinds: Vec<_> = told.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::QueueDeclared, EventKind::Queued]);
    assert_eq!((told.events[1].job_id, &*told.events[1].queue_name), (id, "q"));
    assert_eq!(told.dropped, 0);
    assert_eq!(late.poll(100, Duration::ZERO).unwrap().outcome, Outcome::Empty);
    queue.pause().unwrap();
    let told = late.poll(1, Wait::Forever).unwrap();
    assert_eq!(told.events[0].kind, EventKind::QueueChanged);
    assert_eq!(all.poll(0, Duration::ZERO).unwrap_err().code(), ErrorCode::Invalid);
    let cancel = Cancel::new().unwrap();
    let mut waiting = store.events().from_now().cancel(&cancel);
    let thread = std::thread::spawn(move || waiting.poll(1, Wait::Forever).map(|e| e.outcome));
    cancel.fire();
    assert_eq!(thread.join().unwrap().unwrap(), Outcome::Cancelled);
}

#[test]
fn a_backup_is_watched_stopped_checked_and_restored() {
    let (dir, store, queue) = queue();
    let _ = queue.enqueue("kept").unwrap();
    let stopped =
        store.backup(dir.join("stopped"), BackupOptions::new().progress(|_, _| false)).unwrap();
    assert_eq!(stopped.0, Outcome::Cancelled);
    let mut calls = 0;
    let watch = BackupOptions::new().progress(|done, total| {
        calls += 1;
        done <= total
    });
    let (outcome, report) = store.backup(dir.join("backup"), watch).unwrap();
    assert!(outcome.is_ok() && report.bytes > 0 && calls > 0);
    let (outcome, _) = wq::verify_backup(dir.join("backup"), BackupOptions::new()).unwrap();
    assert!(outcome.is_ok());
    let new = dir.join("new");
    let (outcome, _) = wq::restore_backup(dir.join("backup"), &new, BackupOptions::new()).unwrap();
    assert!(outcome.is_ok());
    let restored = Store::open(&new).unwrap();
    assert_eq!(take_one(&restored.queue("q").unwrap()).payload, b"kept");
    let none = wq::verify_backup(dir.join("none"), BackupOptions::new()).unwrap_err();
    assert_eq!(none.code(), ErrorCode::NotFound);
}

#[test]
fn flows_schedules_and_transactions() {
    let (_dir, store, queue) = queue();
    let done = NextJob::in_queue("q", "all done");
    let flow = store.flows().create(&FlowOptions::new().on_complete(done)).unwrap();
    let _ = queue.enqueue(JobSpec::new("member").flow(flow)).unwrap();
    store.flows().seal(flow).unwrap();
    let job = take_one(&queue);
    let committed = Transaction::new()
        .settle_job(&job, Settle::ack())
        .enqueue(&queue, "more")
        .kv_add("count", 5, KvOptions::new())
        .commit_async(&store)
        .wait()
        .unwrap();
    assert!(committed.is_ok() && committed.lsn > 0);
    assert_eq!((committed.job_id(0), committed.sum(2)), (None, Some(5)));
    assert!(committed.job_id(1).is_some());
    let status = store.flows().status(flow).unwrap();
    assert!(status.is_finished && status.follow_up.is_some() && status.done == 1);
    assert_eq!(store.flows().iter().count(), 1);

    let stale = Transaction::new().kv_put("k", "v", KvOptions::new()).settle(
        &queue,
        job.token(),
        Settle::ack(),
    );
    let refused = stale.commit(&store).unwrap();
    assert_eq!((refused.outcome, refused.failed), (Outcome::Stale, Some(1)));
    assert_eq!(store.kv().get("k").unwrap(), None);
    let keyed = Transaction::new().kv_erase("k", KvOptions::new());
    let keyed = keyed.enqueue(&queue, JobSpec::new("x").rate_key("k").group("g"));
    let error = keyed.commit(&store).unwrap_err();
    assert_eq!((error.code(), error.failed_index()), (ErrorCode::Unsupported, Some(1)));
    let check = Transaction::new().kv_check("count", KvOptions::new().if_absent());
    let refused = check.commit(&store).unwrap();
    assert_eq!((refused.outcome, refused.failed), (Outcome::Conflict, Some(0)));

    for name in ["b", "a", "c"] {
        store.crons().put(&queue, name, &CronSpec::new("@hourly").job("tick")).unwrap();
    }
    let crons = store.crons();
    let names: Vec<_> = crons.iter(Some(&queue)).map(|cron| cron.unwrap().name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let policies = [
        Backoff::none(),
        Backoff::fixed(Duration::from_secs(3)),
        Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60)).jitter(100),
        Backoff::list([Duration::from_secs(1), Duration::from_millis(2_500)]).jitter(7),
    ];
    for policy in policies {
        let job = JobSpec::new("tick").backoff(policy.clone());
        store.crons().put(&queue, "policy", &CronSpec::new("@hourly").job(job)).unwrap();
        assert_eq!(crons.get("policy").unwrap().backoff, policy);
    }
    let wrong = store.crons().put(&queue, "d", &CronSpec::new("61 * * * *")).unwrap_err();
    assert_eq!(wrong.code(), ErrorCode::Invalid);
    assert!(wrong.message().contains("minute"), "{}", wrong);
}

#[test]
fn a_store_without_threads_is_driven_by_ticks() {
    let dir = Dir::new();
    let store = options().no_threads().open(dir.join("store")).unwrap();
    let queue = store.queue("q").unwrap();
    let _ = queue.enqueue("x").unwrap();
    let pending = queue.enqueue_async("y");
    assert!(store.tick().is_ok());
    assert!(pending.wait().unwrap().is_new());
    drop((queue, store));
    let threaded = common::store(&dir);
    assert_eq!(threaded.tick().unwrap_err().code(), ErrorCode::Unsupported);
}

#[test]
fn the_store_itself() {
    let dir = Dir::new();
    let missing = options().no_create().open(dir.join("store")).unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound);
    let nul = Store::open("a\0b").unwrap_err();
    assert_eq!(nul.code(), ErrorCode::Invalid);
    let first = store(&dir);
    let second = options().open(dir.join("store")).unwrap_err();
    assert_eq!(second.code(), ErrorCode::Locked);
    assert!(second.message().contains(&std::process::id().to_string()), "{}", second);
    assert!(second.is_retryable());
    let queue = first.queue("b").unwrap();
    let _ = first.queue("a").unwrap();
    assert_eq!(first.queues().unwrap(), ["a", "b"]);
    let lsn = queue.with_durability(Durability::Memory).enqueue("x").unwrap().lsn;
    assert!(first.wait_durable(lsn, Durability::Power, Wait::Forever).unwrap().is_ok());
    let future = first.wait_durable(u64::MAX, Durability::Power, Duration::ZERO).unwrap_err();
    assert_eq!(future.code(), ErrorCode::Invalid);
    assert!(first.metrics().unwrap().contains("wq_"));
    assert_eq!(first.verify().unwrap().problems, 0);
    first.checkpoint().unwrap();
    first.sync().unwrap();
    let job = take_one(&queue);
    assert_eq!(first.shutdown(Duration::ZERO).unwrap(), Outcome::Timeout);
    assert!(job.ack().unwrap().is_ok());
    assert_eq!(first.shutdown(Wait::Forever).unwrap(), Outcome::Ok);
    assert_eq!(queue.lease(&LeaseOptions::new()).unwrap_err().code(), ErrorCode::Closed);
    first.close();
    assert!(store(&dir).recovery().unwrap().clean);
    let io: std::io::Error = missing.into();
    assert_eq!(io.kind(), std::io::ErrorKind::NotFound);
}
