//! Finds libwq: `WQ_BUILD_DIR` (a CMake build tree of wq) first, else pkg-config.
//!
//! Tells cargo where to link, dependents where the header is (`DEP_WQ_INCLUDE`), and this crate's own
//! test the same (`WQ_INCLUDE_DIR`). Documentation is built with no library there.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=WQ_BUILD_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        println!("cargo:rustc-env=WQ_INCLUDE_DIR=");
        return;
    }
    let (include, libs) = match env::var_os("WQ_BUILD_DIR") {
        Some(dir) if !dir.is_empty() => from_build_tree(Path::new(&dir)),
        _ => from_pkg_config(),
    };
    for dir in libs {
        println!("cargo:rustc-link-search=native={}", dir.display());
    }
    println!("cargo:rustc-link-lib=dylib=wq");
    println!("cargo:include={}", include.display());
    println!("cargo:rustc-env=WQ_INCLUDE_DIR={}", include.display());
}

/// The library of a build tree, and the header of the source that it was configured from.
fn from_build_tree(dir: &Path) -> (PathBuf, Vec<PathBuf>) {
    let library = dir.join("lib").join("libwq.so");
    println!("cargo:rerun-if-changed={}", library.display());
    if !library.exists() {
        panic!("WQ_BUILD_DIR is {}, and there is no lib/libwq.so in it", dir.display());
    }
    let include = source_of(dir).unwrap_or_else(|| dir.to_path_buf()).join("include");
    (include, vec![dir.join("lib")])
}

fn source_of(dir: &Path) -> Option<PathBuf> {
    let cache = std::fs::read_to_string(dir.join("CMakeCache.txt")).ok()?;
    let line = cache.lines().find(|line| line.starts_with("CMAKE_HOME_DIRECTORY:"))?;
    line.split_once('=').map(|(_, path)| PathBuf::from(path.trim()))
}

fn from_pkg_config() -> (PathBuf, Vec<PathBuf>) {
    let include = pkg_config(&["--variable=includedir", "wq"]);
    let libs = pkg_config(&["--libs-only-L", "wq"]);
    let mut dirs: Vec<PathBuf> = libs
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("-L"))
        .map(From::from)
        .collect();
    if dirs.is_empty() {
        dirs.push(PathBuf::from(pkg_config(&["--variable=libdir", "wq"]).trim()));
    }
    (PathBuf::from(include.trim()), dirs)
}

fn pkg_config(arguments: &[&str]) -> String {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let hint = "set WQ_BUILD_DIR to a build tree of wq, or install wq \
                (cmake --install build/release --prefix /usr/local) and set PKG_CONFIG_PATH";
    match Command::new(&program).args(arguments).output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        Ok(output) => panic!(
            "{} does not know wq: {}; {}",
            program,
            String::from_utf8_lossy(&output.stderr).trim(),
            hint
        ),
        Err(error) => panic!("{} can not be run: {}; {}", program, error, hint),
    }
}
