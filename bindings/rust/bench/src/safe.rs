//! Through the crate, as a program would write it.

use std::path::Path;

use wq::{Durability, JobSpec, LeaseOptions, Store, Token};

use crate::{Clocks, Run};

const PAYLOAD: [u8; 128] = [b'x'; 128];

pub fn run(dir: &Path, level: u32, batch: usize, jobs: usize) -> Run {
    let store = Store::open(dir).expect("a store").with_durability(Durability::from_raw(level));
    let queue = store.queue("q").expect("a queue");
    let take = LeaseOptions::new().max_jobs(batch as u32);
    let mut acked = 0;
    let clocks = Clocks::start();
    for _ in 0..jobs / batch {
        if batch == 1 {
            assert!(queue.enqueue(&PAYLOAD).expect("a job").is_new());
            for job in queue.lease(&take).expect("a lease") {
                assert_eq!(job.payload.len(), PAYLOAD.len());
                acked += usize::from(job.ack().expect("an ack").is_ok());
            }
            continue;
        }
        let specs: Vec<JobSpec<'_>> = (0..batch).map(|_| JobSpec::new(&PAYLOAD)).collect();
        assert_eq!(queue.enqueue_many(&specs).expect("jobs").accepted, batch);
        let lease = queue.lease(&take).expect("a lease");
        let tokens: Vec<Token> = lease.iter().map(Token::from).collect();
        let items = queue.ack_many(&tokens).expect("acks");
        acked += items.as_slice().iter().filter(|item| **item == Ok(wq::Outcome::Ok)).count();
    }
    clocks.stop(acked)
}
