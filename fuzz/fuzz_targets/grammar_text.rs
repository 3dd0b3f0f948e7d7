//! Any text: the parser keeps the promises its own tests hold it to.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/ijk-syntax/tests/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|source: &str| support::check_text(source));
