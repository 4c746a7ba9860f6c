//! What rustc, the generated table and the C compiler say of each struct must be the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// `struct` -> its size; `struct.field` -> (offset, size).
type Sizes = BTreeMap<String, (usize, usize)>;

fn of_table() -> Sizes {
    let mut sizes = Sizes::new();
    for (name, size, fields) in super::LAYOUT {
        sizes.insert(name.to_string(), (0, *size));
        for (field, offset, size) in *fields {
            sizes.insert(format!("{}.{}", name, field), (*offset, *size));
        }
    }
    sizes
}

fn of_rustc() -> Sizes {
    let mut sizes = Sizes::new();
    for (name, size, fields) in super::raw::layout() {
        sizes.insert(name.to_string(), (0, size));
        for (field, offset, size) in fields {
            sizes.insert(format!("{}.{}", name, field.trim_start_matches("r#")), (offset, size));
        }
    }
    sizes
}

/// A C program that prints the same lines, compiled against the header itself.
fn c_source() -> String {
    let mut c = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <wq.h>\nint main(void) {\n",
    );
    for (name, _, fields) in super::LAYOUT {
        let _ = writeln!(c, "  printf(\"{0} 0 %zu\\n\", sizeof({0}));", name);
        for (field, _, _) in *fields {
            let _ = writeln!(
                c,
                "  printf(\"{0}.{1} %zu %zu\\n\", offsetof({0}, {1}), sizeof((({0} *)0)->{1}));",
                name, field
            );
        }
    }
    for (name, code) in super::CODES {
        let prefix = if *code < 0 { "WQ_E_" } else { "WQ_" };
        let _ = writeln!(c, "  printf(\"code:{0} %d 0\\n\", {1}{0} + 1000);", name, prefix);
    }
    c.push_str("  return 0;\n}\n");
    c
}

fn scratch() -> PathBuf {
    let dir = std::env::temp_dir().join(format!("wq-sys-layout-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    dir
}

fn of_c() -> Sizes {
    let dir = scratch();
    let (source, program) = (dir.join("layout.c"), dir.join("layout"));
    std::fs::write(&source, c_source()).expect("writing the C program");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut words = compiler.split_whitespace();
    let output = Command::new(words.next().expect("CC names a compiler"))
        .args(words)
        .arg("-I")
        .arg(env!("WQ_INCLUDE_DIR"))
        .arg("-o")
        .args([&program, &source])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = Command::new(&program).output().expect("running the C program").stdout;
    let _ = std::fs::remove_dir_all(&dir);
    let text = String::from_utf8(printed).expect("plain text");
    let mut sizes = Sizes::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words[i].parse::<usize>().expect("a number");
        sizes.insert(words[0].to_string(), (number(1), number(2)));
    }
    sizes
}

#[test]
fn rustc_lays_out_as_the_table_says() {
    let table = of_table();
    assert!(table.len() > 400, "only {} entries", table.len());
    assert_eq!(of_rustc(), table);
}

#[test]
#[cfg_attr(miri, ignore)]
fn the_c_compiler_lays_out_as_the_table_says() {
    let mut expected = of_table();
    for (name, code) in super::CODES {
        expected.insert(format!("code:{}", name), ((*code + 1000) as usize, 0));
    }
    assert_eq!(of_c(), expected);
}
