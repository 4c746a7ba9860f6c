//! Works until the queue is empty: counts the letters of each word.
//!
//!     cargo run --example worker -- DIRECTORY

use std::time::Duration;

use wq::{LeaseOptions, Store};

fn letters(word: Option<&str>) -> Result<usize, &'static str> {
    word.map(|word| word.chars().count()).ok_or("not a word")
}

fn main() -> wq::Result<()> {
    let directory = match std::env::args().nth(1) {
        Some(directory) => directory,
        None => {
            eprintln!("usage: worker DIRECTORY");
            std::process::exit(2);
        }
    };
    let store = Store::open(directory)?;
    let words = store.queue("words")?;
    let options = LeaseOptions::new().max_jobs(10).wait(Duration::ZERO);
    for job in words.jobs(&options) {
        let job = job?;
        let outcome = match letters(job.text()) {
            Ok(count) => {
                println!("{}: {} letters", job.text().unwrap_or_default(), count);
                job.ack()?
            }
            Err(error) => job.fail(error)?,
        };
        if !outcome.is_ok() {
            println!("job {}: {}", job.id, outcome);
        }
    }
    Ok(())
}
