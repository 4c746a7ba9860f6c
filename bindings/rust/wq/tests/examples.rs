//! The examples: a producer in one process, a worker in another.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::Dir;

/// An example that cargo has built for this test.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().expect("a path");
    path.pop();
    path.pop();
    path.join("examples").join(name)
}

fn run(name: &str, arguments: &[&std::ffi::OsStr]) -> String {
    let output = Command::new(example(name)).args(arguments).output().expect(name);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {}", name, errors);
    String::from_utf8(output.stdout).expect("plain text")
}

#[test]
fn what_one_process_enqueues_another_works_on() {
    let dir = Dir::new();
    let store = dir.join("store");
    let produced = run("producer", &[store.as_ref(), "apple".as_ref(), "kiwi".as_ref()]);
    assert_eq!(produced.lines().count(), 2);
    assert!(produced.starts_with("apple: job "));
    let worked = run("worker", &[store.as_ref()]);
    assert_eq!(worked, "apple: 5 letters\nkiwi: 4 letters\n");
    assert_eq!(run("worker", &[store.as_ref()]), "");
}
