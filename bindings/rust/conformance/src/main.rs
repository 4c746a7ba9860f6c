//! Runs a script of tests/conformance through the crate `wq` and prints the results.
//!
//!     wq-conformance DIRECTORY FILE.ops
//!
//! Exit 0: the script was run to its end; 2: it could not be. The language is described in
//! tests/conformance/README.md.

mod ops_job;
mod ops_more;
mod ops_queue;
mod ops_store;
mod runner;
mod script;

use runner::{Fail, Runner};

fn run(directory: &str, file: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let mut runner = Runner::new(directory);
    for line in script::parse(&text)? {
        let op = [ops_store::find, ops_queue::find, ops_job::find, ops_more::find]
            .iter()
            .find_map(|table| table(&line.op))
            .ok_or_else(|| format!("line {}: no op {}", line.number, line.op))?;
        match op(&mut runner, &line) {
            Ok(()) => {}
            Err(Fail::Refused(code)) => runner.print(&runner::error_word(code)),
            Err(Fail::Script(what)) => return Err(format!("line {}: {}", line.number, what)),
        }
    }
    Ok(runner.output)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (directory, file) = match &arguments[..] {
        [directory, file] => (directory, file),
        _ => {
            eprintln!("usage: wq-conformance DIRECTORY FILE.ops");
            std::process::exit(2);
        }
    };
    match run(directory, file) {
        Ok(output) => print!("{}", output),
        Err(what) => {
            eprintln!("{}: {}", file, what);
            std::process::exit(2);
        }
    }
}
