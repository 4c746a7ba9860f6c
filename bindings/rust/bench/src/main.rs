//! The whole life of jobs (enqueue, lease, ack) through the crate, as a program would write it; to be
//! compared with `bench/bindings/life.c` by `bench/run.sh BUILD_DIR --bindings`.
//!
//!     wq-bench LEVEL BATCH JOBS DIRECTORY      one line of JSON; LEVEL: memory or power
//!
//! 32 changes may be under way; leases are at the memory level. Exit 1 if not every job was delivered
//! with its payload and acked once.

use std::collections::VecDeque;
use std::process::exit;
use std::time::Instant;

use wq::{
    Durability, Enqueued, EnqueuedMany, Items, JobSpec, Lease, LeaseOptions, Outcome, Pending,
    Queue, Result, Settle, Store, Token,
};

const UNDER_WAY_MAX: usize = 32;
static PAYLOAD: [u8; 100] = [b'x'; 100];

/// A change under way.
enum Change {
    Enqueue(Pending<Enqueued>),
    EnqueueMany(Pending<EnqueuedMany>),
    Ack(Pending<Outcome>),
    AckMany(Pending<Items>),
}

impl Change {
    fn wait(self) -> Result<bool> {
        Ok(match self {
            Change::Enqueue(pending) => pending.wait()?.is_new(),
            Change::EnqueueMany(pending) => pending.wait()?.outcome.is_ok(),
            Change::Ack(pending) => pending.wait()?.is_ok(),
            Change::AckMany(pending) => pending.wait()?.first() == Ok(Outcome::Ok),
        })
    }
}

struct Bench {
    queue: Queue,
    leases: Queue,
    batch: usize,
    specs: Vec<JobSpec<'static>>,
    lease: Lease,
    under_way: VecDeque<Change>,
    delivered: usize,
}

impl Bench {
    /// Wait for the oldest changes, until so many are left.
    fn settle_down(&mut self, left: usize) -> Result<()> {
        while self.under_way.len() > left {
            let oldest = self.under_way.pop_front().expect("there is one");
            assert!(oldest.wait()?, "a change did not do what it should");
        }
        Ok(())
    }

    fn begun(&mut self, change: Change) -> Result<()> {
        self.under_way.push_back(change);
        self.settle_down(UNDER_WAY_MAX - 1)
    }

    fn turn(&mut self) -> Result<()> {
        let take = LeaseOptions::new().max_jobs(self.batch as u32);
        if self.batch == 1 {
            self.begun(Change::Enqueue(self.queue.enqueue_async(&PAYLOAD)))?;
            let _ = self.leases.lease_into(&take, &mut self.lease)?;
            assert_eq!(self.lease[0].payload, PAYLOAD);
            self.delivered += 1;
            let token = self.lease[0].token();
            return self.begun(Change::Ack(self.queue.settle_async(token, &Settle::ack())));
        }
        self.begun(Change::EnqueueMany(self.queue.enqueue_many_async(&self.specs)))?;
        let _ = self.leases.lease_into(&take, &mut self.lease)?;
        let mut tokens: Vec<Token> = Vec::with_capacity(self.lease.len());
        for job in &self.lease {
            assert_eq!(job.payload, PAYLOAD);
            tokens.push(job.token());
        }
        self.delivered += tokens.len();
        self.begun(Change::AckMany(self.queue.ack_many_async(&tokens)))
    }
}

fn run(level: &str, batch: usize, jobs: usize, dir: &str) -> Result<bool> {
    let store = Store::open(dir)?;
    let queue = store.queue("life")?;
    let durability = if level == "power" { Durability::Power } else { Durability::Memory };
    let mut bench = Bench {
        leases: queue.with_durability(Durability::Memory),
        queue: queue.with_durability(durability),
        batch,
        specs: (0..batch).map(|_| JobSpec::new(&PAYLOAD)).collect(),
        lease: Lease::default(),
        under_way: VecDeque::new(),
        delivered: 0,
    };
    let start = Instant::now();
    for _ in 0..jobs / batch {
        bench.turn()?;
    }
    bench.settle_down(0)?;
    let seconds = start.elapsed().as_secs_f64();
    let acked = queue.stats()?.acked_total;
    println!(
        "{{\"language\": \"rust\", \"level\": \"{}\", \"batch\": {}, \"jobs\": {}, \
         \"seconds\": {:.6}, \"delivered\": {}, \"acked\": {}}}",
        level, batch, jobs, seconds, bench.delivered, acked
    );
    Ok(bench.delivered == jobs && acked == jobs as u64)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let numbers =
        args.get(2..4).map(|words| (words[0].parse::<usize>(), words[1].parse::<usize>()));
    let (Some((Ok(batch), Ok(jobs))), 5) = (numbers, args.len()) else {
        eprintln!("usage: wq-bench memory|power BATCH JOBS DIRECTORY");
        exit(2);
    };
    match run(&args[1], batch, jobs / batch * batch, &args[4]) {
        Ok(true) => {}
        Ok(false) => exit(1),
        Err(error) => {
            eprintln!("wq-bench: {}", error);
            exit(1);
        }
    }
}
