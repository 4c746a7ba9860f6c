//! Operations by chance with sizes by chance, hostile ones among them: nothing crashes, bytes come
//! back, and the counts of the store agree with what was answered.

mod common;

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{queue, take, Rng};
use wq::{
    Backoff, CronSpec, DeadFilter, DeadQuery, Job, JobSpec, KvOptions, LeaseOptions, Outcome,
    Queue, QueueConfig, Rate, Settle, State, Store, Token, Transaction,
};

const EDGES: [u64; 12] =
    [0, 1, 2, 3, 99, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 62, 1 << 63, u64::MAX];

fn number(rng: &mut Rng) -> u64 {
    match rng.below(3) {
        0 => EDGES[rng.below(EDGES.len() as u64) as usize],
        1 => rng.below(1000),
        _ => rng.next(),
    }
}

fn size(rng: &mut Rng) -> usize {
    let edges = [0, 1, 63, 255, 256, 511, 512, 513, 4096, 4097, 65_536, 70_000, 1 << 20];
    match rng.below(4) {
        0 => edges[rng.below(edges.len() as u64) as usize],
        _ => rng.below(300) as usize,
    }
}

fn duration(rng: &mut Rng) -> Duration {
    Duration::from_millis(number(rng))
}

fn time(rng: &mut Rng) -> SystemTime {
    let distance = Duration::from_millis(number(rng) >> rng.below(64));
    UNIX_EPOCH.checked_add(distance).unwrap_or(UNIX_EPOCH)
}

fn some_bytes(rng: &mut Rng) -> Vec<u8> {
    let len = size(rng);
    rng.bytes(len)
}

fn text(rng: &mut Rng) -> String {
    String::from_utf8_lossy(&some_bytes(rng)).into_owned()
}

fn backoff(rng: &mut Rng) -> Backoff {
    let backoff = match rng.below(3) {
        0 => Backoff::fixed(duration(rng)),
        1 => Backoff::exponential(duration(rng), duration(rng)),
        _ => {
            let count = rng.below(40);
            Backoff::list((0..count).map(|_| duration(rng)).collect::<Vec<_>>())
        }
    };
    backoff.jitter(number(rng) as u32)
}

fn spec(rng: &mut Rng) -> JobSpec<'static> {
    let mut spec = JobSpec::new(some_bytes(rng));
    for _ in 0..rng.below(4) {
        spec = spec.header(some_bytes(rng), some_bytes(rng));
    }
    for _ in 0..rng.below(5) {
        spec = match rng.below(14) {
            0 => spec.delay(duration(rng)),
            1 => spec.run_at(time(rng)),
            2 => spec.priority(rng.next() as u8),
            3 => spec.max_attempts(number(rng) as u32),
            4 => spec.backoff(backoff(rng)),
            5 => spec.expires_at(time(rng)),
            6 => spec.retry_until(time(rng)),
            7 => spec.timeout(duration(rng)),
            8 => spec.max_exceptions(number(rng) as u32),
            9 => spec.unique(some_bytes(rng), Some(duration(rng))),
            10 => spec.debounce(some_bytes(rng), duration(rng), None),
            11 => spec.idempotency(some_bytes(rng), duration(rng)),
            12 => spec.flow(number(rng)),
            _ => spec.group(some_bytes(rng)).group_limit(number(rng) as u32),
        };
    }
    for _ in 0..rng.below(3) {
        spec = spec.then(JobSpec::new(some_bytes(rng)));
    }
    spec
}

fn settle(rng: &mut Rng) -> Settle<'static> {
    let mut how = match rng.below(4) {
        0 => Settle::ack(),
        1 => Settle::nack(),
        2 => Settle::fail(),
        _ => Settle::release(),
    };
    for _ in 0..rng.below(3) {
        how = match rng.below(6) {
            0 => how.delay(duration(rng)),
            1 => how.front(),
            2 => how.priority(rng.next() as u8),
            3 => how.error(some_bytes(rng)),
            4 => how.reason(wq::DeadReason::from_raw(rng.below(12) as u32)),
            _ => how.result(some_bytes(rng)),
        };
    }
    how
}

fn config(rng: &mut Rng) -> QueueConfig {
    let mut config = QueueConfig::new();
    config.max_retries = Some(number(rng) as u32);
    config.backoff = Some(backoff(rng));
    config.group_limit = Some(number(rng) as u32);
    config.version = Some(number(rng));
    let (count, burst) = (number(rng) as u32, number(rng) as u32);
    config.rate(Rate { count, burst, window: duration(rng) })
}

fn token(rng: &mut Rng, jobs: &[Job]) -> Token {
    match jobs.get(rng.below(jobs.len() as u64 + 1) as usize) {
        Some(job) => job.token(),
        None => Token { id: number(rng), generation: number(rng) },
    }
}

/// Whatever comes: an outcome or an error, and no crash.
fn odd_call(rng: &mut Rng, store: &Store, queue: &Queue, jobs: &[Job]) {
    match rng.below(17) {
        0 => drop(store.queue(&text(rng))),
        1 => drop(queue.configure(&config(rng))),
        2 => drop(queue.get(number(rng))),
        3 => drop(queue.cancel(number(rng) | 1 << 40)),
        4 => drop(queue.reprioritise(number(rng), rng.next() as u8)),
        5 => drop(queue.extend_many(&[token(rng, jobs), token(rng, jobs)], duration(rng))),
        6 => drop(queue.progress(token(rng, jobs), some_bytes(rng))),
        7 => drop(queue.lease(&LeaseOptions::new().max_jobs(0).lease(duration(rng)))),
        8 => drop(queue.dead().page(&DeadQuery::new().limit(number(rng) as u32), number(rng))),
        9 => drop(queue.dead().remove_many(DeadFilter::entries(&[token(rng, jobs)]))),
        10 => drop(queue.history().page(&mut number(rng), number(rng) as usize)),
        11 => drop(store.flows().page(&mut number(rng), number(rng) as usize)),
        12 => drop(store.kv().page(some_bytes(rng), some_bytes(rng), number(rng) as u32)),
        13 => drop(store.locks().take(some_bytes(rng), some_bytes(rng), duration(rng))),
        14 => drop(wq::Crons::next(&text(rng), &text(rng), time(rng), number(rng) as usize)),
        15 => drop(store.crons().put(queue, &text(rng), &CronSpec::new(text(rng)))),
        _ => {
            let odd = Transaction::new().settle(queue, token(rng, &[]), settle(rng)).kv_put(
                some_bytes(rng),
                some_bytes(rng),
                KvOptions::new().ttl(duration(rng)),
            );
            assert!(odd.commit(store).map_or(true, |committed| !committed.is_ok()));
        }
    }
}

fn round(rng: &mut Rng, store: &Store, queue: &Queue, jobs: &mut Vec<Job>, rows: &mut Rows) {
    match rng.below(6) {
        0 | 1 => match queue.enqueue(spec(rng)) {
            Ok(enqueued) => assert!(enqueued.outcome != Outcome::Ok || enqueued.id > 0),
            Err(error) => assert!(!error.is_fatal(), "{}", error),
        },
        2 => jobs.extend(take(queue, rng.below(5) as u32 + 1)),
        3 if !jobs.is_empty() => {
            let job = jobs.swap_remove(rng.below(jobs.len() as u64) as usize);
            if let Err(error) = job.settle(&settle(rng)) {
                assert!(!error.is_fatal(), "{}", error);
            }
        }
        4 => {
            let (key, value) = (some_bytes(rng), some_bytes(rng));
            match store.kv().put(&key, &value, &KvOptions::new()) {
                Ok(change) => {
                    assert!(change.outcome().is_ok());
                    rows.insert(key, value);
                }
                Err(error) => assert!(key.is_empty() || key.len() > 512, "{}", error),
            }
        }
        _ => odd_call(rng, store, queue, jobs),
    }
}

type Rows = HashMap<Vec<u8>, Vec<u8>>;

#[test]
fn operations_by_chance() {
    let mut rng = Rng::new();
    let (_dir, store, queue) = queue();
    let (mut jobs, mut rows) = (Vec::new(), Rows::new());
    for _ in 0..if common::is_long() { 200_000 } else { 1_000 } {
        round(&mut rng, &store, &queue, &mut jobs, &mut rows);
    }
    for (key, value) in &rows {
        let row = store.kv().get(key).unwrap().expect("a row that was put");
        assert!(row.value == *value, "key {:?}", key);
    }
    let report = store.verify().unwrap();
    assert_eq!(report.problems, 0, "{}", report.first_problem);
    drop(jobs);
    let removed = queue
        .clear(&[State::Ready, State::Delayed, State::Leased, State::Running, State::Dead])
        .unwrap();
    let stats = queue.stats().unwrap();
    assert_eq!((stats.ready, stats.delayed, stats.leased, stats.dead), (0, 0, 0, 0));
    println!("{} rows, {} jobs left", rows.len(), removed);
}
