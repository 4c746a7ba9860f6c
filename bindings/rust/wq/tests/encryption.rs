//! Encryption and compression: what is sealed, what opens, and what becomes of what does not.

mod common;

use common::{options, take, take_one, Dir};
use wq::{
    CronSpec, DeadFilter, DeadReason, ErrorCode, JobSpec, KeepDone, NextJob, Queue, QueueConfig,
    Store,
};

const FIRST: [u8; 32] = [0xa1; 32];
const SECOND: [u8; 32] = [0xb2; 32];

fn open(dir: &Dir, keys: &[(u32, [u8; 32])], current: u32) -> (Store, Queue) {
    let with_keys = keys.iter().fold(options(), |options, (id, bytes)| options.key(*id, bytes));
    let store = with_keys.current_key(current).open(dir.join("store")).unwrap();
    let queue = store.queue("q").unwrap();
    (store, queue)
}

#[test]
fn keys_are_checked_and_not_told() {
    let dir = Dir::new();
    let refused = |options: wq::OpenOptions| {
        let error = options.open(dir.join("store")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Invalid, "{}", error);
    };
    refused(options().key(1, [0; 31]));
    refused(options().key(0, FIRST));
    refused(options().key(1, FIRST).key(1, SECOND));
    refused(options().key(1, FIRST).current_key(2));
    assert!(!dir.join("store").exists());
    let told = format!("{:?}", options().key(7, FIRST));
    assert!(told.contains("keys: 1") && !told.contains("161") && !told.contains("a1"), "{}", told);
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&options().key(1, FIRST));
}

#[test]
fn without_a_key_nothing_is_sealed_and_nothing_sealed_is_leased() {
    let dir = Dir::new();
    let (store, queue) = open(&dir, &[], 0);
    let sealed = JobSpec::new("x").encrypt(true);
    assert_eq!(queue.enqueue(sealed).unwrap_err().code(), ErrorCode::NoKey);
    let config = QueueConfig::new().encrypt(true);
    assert!(queue.configure(&config).unwrap().is_ok());
    assert_eq!(queue.enqueue("x").unwrap_err().code(), ErrorCode::NoKey);
    let id = queue.enqueue(JobSpec::new("x").encrypt(false)).unwrap().id;
    let refused = queue.lease(&wq::LeaseOptions::new()).unwrap_err();
    assert_eq!((refused.code(), refused.is_retryable()), (ErrorCode::NoKey, false));
    assert_eq!(store.keys().unwrap(), []);
    let plain = queue.get(id).unwrap();
    assert_eq!((plain.text(), plain.key_id, plain.payload_error), (Some("x"), None, None));
}

#[test]
fn sealed_payloads_are_in_no_file_and_come_back_as_they_were() {
    let dir = Dir::new();
    let (store, queue) = open(&dir, &[(1, FIRST)], 1);
    let config = QueueConfig::new().encrypt(true).compress_min_bytes(100);
    assert!(queue.configure(&config).unwrap().is_ok());
    let told = queue.config().unwrap();
    assert_eq!((told.encrypt, told.compress_min_bytes), (Some(true), Some(100)));
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = vec![b'x'; 100_000];
    let payloads = [&every_byte[..], &large[..], b"a secret word", b""];
    for payload in payloads {
        let _ = queue.enqueue(payload).unwrap();
    }
    let _ = queue.enqueue(JobSpec::new("an open word").encrypt(false)).unwrap();
    assert!(queue.stats().unwrap().job_bytes < 5_000, "not compressed");
    store.checkpoint().unwrap();
    assert!(is_in_files(dir.path(), b"an open word"));
    assert!(!is_in_files(dir.path(), b"a secret word"));
    let jobs = take(&queue, 10);
    for (job, payload) in jobs.iter().zip(payloads) {
        assert_eq!((&job.payload[..], job.key_id), (payload, Some(1)));
    }
    assert_eq!((jobs[4].text(), jobs[4].key_id), (Some("an open word"), None));
}

fn is_in_files(dir: &std::path::Path, word: &[u8]) -> bool {
    let mut paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.any(|path| {
        if path.is_dir() {
            return is_in_files(&path, word);
        }
        std::fs::read(path).unwrap().windows(word.len()).any(|window| window == word)
    })
}

#[test]
fn keys_are_rotated_and_a_job_without_its_key_waits_among_the_dead() {
    let dir = Dir::new();
    let (store, queue) = open(&dir, &[(1, FIRST)], 1);
    let first = queue.enqueue(JobSpec::new("first").encrypt(true)).unwrap().id;
    store.close();
    let (store, queue) = open(&dir, &[(1, FIRST), (2, SECOND)], 2);
    let _ = queue.enqueue(JobSpec::new("second").encrypt(true)).unwrap();
    store.close();
    let (store, queue) = open(&dir, &[(2, SECOND)], 2);
    let keys = store.keys().unwrap();
    let told: Vec<_> = keys.iter().map(|k| (k.id, k.payloads, k.known, k.current)).collect();
    assert_eq!(told, [(1, 1, false, false), (2, 1, true, true)]);
    let unread = queue.get(first).unwrap();
    assert_eq!((unread.payload_error, unread.key_id), (Some(ErrorCode::NoKey), Some(1)));
    assert!(unread.payload.is_empty());
    let jobs = take(&queue, 10);
    assert_eq!((jobs.len(), jobs[0].text()), (1, Some("second")));
    assert_eq!(queue.get(first).unwrap().dead_reason, Some(DeadReason::Unreadable));
    let none = queue.dead().replay_many(DeadFilter::new().reason(DeadReason::Timeout));
    assert_eq!(none.unwrap().changed, 0);
    store.close();
    let (_store, queue) = open(&dir, &[(1, FIRST)], 1);
    let filter = DeadFilter::new().reason(DeadReason::Unreadable);
    assert_eq!(queue.dead().replay_many(filter).unwrap().changed, 1);
    assert_eq!(take_one(&queue).text(), Some("first"));
}

#[test]
fn results_schedules_and_what_follows_are_sealed_too() {
    let dir = Dir::new();
    let (store, queue) = open(&dir, &[(1, FIRST)], 1);
    let keep = KeepDone { count: 10, ..KeepDone::default() };
    assert!(queue.configure(&QueueConfig::new().encrypt(true).keep_done(keep)).unwrap().is_ok());
    let plain = NextJob::in_queue("q", JobSpec::new("next").encrypt(false));
    let _ = queue.enqueue(JobSpec::new("first").then(plain)).unwrap();
    store.crons().put(&queue, "yearly", &CronSpec::new("0 0 1 1 *").job("tick")).unwrap();
    let job = take_one(&queue);
    assert!(job.ack_with("result").unwrap().is_ok());
    let next = take_one(&queue);
    assert_eq!((next.text(), next.key_id), (Some("next"), None));
    let done = queue.history().get(job.id).unwrap();
    assert_eq!((&done.result[..], done.key_id), (&b"result"[..], Some(1)));
    assert_eq!(done.result_error, None);
    let cron = store.crons().get("yearly").unwrap();
    assert_eq!((&cron.payload[..], cron.key_id), (&b"tick"[..], Some(1)));
    store.close();
    let (store, queue) = open(&dir, &[(2, SECOND)], 2);
    let done = queue.history().get(job.id).unwrap();
    assert_eq!((done.result.len(), done.result_error), (0, Some(ErrorCode::NoKey)));
    let listed = queue.history().iter().next().unwrap().unwrap();
    assert_eq!(listed.result_error, Some(ErrorCode::NoKey));
    let cron = store.crons().get("yearly").unwrap();
    assert_eq!((cron.payload.len(), cron.payload_error), (0, Some(ErrorCode::NoKey)));
}
