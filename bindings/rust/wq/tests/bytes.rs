//! Bytes come back as they were given, through everything that takes some.

mod common;

use common::{queue, take_one};
use wq::{JobSpec, KeepDone, KvOptions, QueueConfig};

fn samples() -> Vec<Vec<u8>> {
    let mut samples = vec![
        Vec::new(),
        (0..=255).collect(),
        b"a\0b\0".to_vec(),
        b"\xff\xfe broken \xc3".to_vec(),
        "gr\u{fc}n \u{1f600}".as_bytes().to_vec(),
    ];
    samples.extend((0..=255).map(|byte| vec![byte]));
    samples
}

#[test]
fn payloads_headers_and_groups() {
    let (_dir, _store, queue) = queue();
    for bytes in samples() {
        let spec = JobSpec::new(&bytes).header("h", &bytes).header("empty", "").group(&bytes);
        assert!(queue.enqueue(spec).unwrap().is_new());
        let job = take_one(&queue);
        assert_eq!(job.payload, bytes);
        assert_eq!(job.header("h"), Some(&bytes[..]));
        assert_eq!(job.header("empty"), Some(&b""[..]));
        assert_eq!(job.header("none"), None);
        assert_eq!(job.group, bytes);
        assert!(job.ack().unwrap().is_ok());
    }
}

#[test]
fn a_megabyte_with_every_byte() {
    let (_dir, _store, queue) = queue();
    let bytes: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    assert!(queue.enqueue(&bytes).unwrap().is_new());
    let job = take_one(&queue);
    assert!(job.payload == bytes);
    assert!(job.ack().unwrap().is_ok());
}

#[test]
fn error_texts_and_notes() {
    let (_dir, _store, queue) = queue();
    assert!(queue.enqueue(JobSpec::new("x").max_attempts(1000)).unwrap().is_new());
    for bytes in samples() {
        let job = take_one(&queue);
        assert!(job.progress(&bytes).unwrap().is_ok());
        assert!(job.nack(&bytes).unwrap().is_ok());
        let told = queue.get(job.id).unwrap();
        assert_eq!(told.progress, bytes);
        if !bytes.is_empty() {
            assert_eq!(told.last_error, bytes);
        }
    }
}

#[test]
fn rows_and_results() {
    let (_dir, store, queue) = queue();
    let keep = QueueConfig::new().keep_done(KeepDone { count: 1000, ..KeepDone::default() });
    assert!(queue.configure(&keep).unwrap().is_ok());
    for bytes in samples() {
        let key = [b"key:", &bytes[..]].concat();
        assert!(store.kv().put(&key, &bytes, &KvOptions::new()).unwrap().outcome().is_ok());
        let row = store.kv().get(&key).unwrap().expect("a row");
        assert_eq!((row.key, row.value), (key, bytes.clone()));

        let id = queue.enqueue("x").unwrap().id;
        assert!(take_one(&queue).ack_with(&bytes).unwrap().is_ok());
        assert_eq!(queue.history().get(id).unwrap().result, bytes);
    }
    assert_eq!(store.kv().iter("key:").count(), samples().len());
    assert_eq!(queue.history().iter().count(), samples().len());
}
