//! Enqueues each word of the command line as a job.
//!
//!     cargo run --example producer -- DIRECTORY WORD...

use wq::{JobSpec, Store};

fn main() -> wq::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = match arguments.next() {
        Some(directory) => directory,
        None => {
            eprintln!("usage: producer DIRECTORY WORD...");
            std::process::exit(2);
        }
    };
    let store = Store::open(directory)?;
    let words = store.queue("words")?;
    // All are under way at once; each is durable when its wait is over.
    let pending: Vec<_> = arguments
        .map(|word| {
            let spec = JobSpec::new(word.clone()).header("origin", "producer");
            (words.enqueue_async(spec), word)
        })
        .collect();
    for (enqueued, word) in pending {
        println!("{}: job {}", word, enqueued.wait()?.id);
    }
    Ok(())
}
