//! Any text of Einsum Tuple: the parser keeps the promises its own tests hold it to.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/ijk-syntax/tests/support/mod.rs"]
mod support;
#[path = "../../crates/ijk-syntax/tests/support/et.rs"]
mod texts;

libfuzzer_sys::fuzz_target!(|source: &str| drop(texts::check_text(source)));
