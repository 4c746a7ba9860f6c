//! The declarations of `wq.h`, as they are, for Rust.
//!
//! Nothing here is safe, and nothing is added: the functions, structs and constants have the names
//! and the rules of the header, whose text stands with each of them. Programs use the crate `wq`,
//! which is built on this one.
//!
//! The library is found at build time: `WQ_BUILD_DIR` (a CMake build tree of wq) first, else
//! `pkg-config wq`. Structs are made with their `init()`, which sets `struct_size` to the size that
//! these declarations know; a newer library takes a shorter struct, see "Structs" in the header.

#[rustfmt::skip]
mod raw;

pub use raw::*;

#[cfg(test)]
mod layout_test;
