//! A directory for the examples of the documentation, removed in the end.

use std::path::{Path, PathBuf};

/// Removes the directory when it is dropped.
#[derive(Debug)]
pub struct DocDir(PathBuf);

impl DocDir {
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for DocDir {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for DocDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An empty directory of this process. Each example of the documentation is a program of its own.
pub fn doc_dir(name: &str) -> DocDir {
    let dir = std::env::temp_dir().join(format!("wq-doc-{}-{}", name, std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    DocDir(dir)
}
