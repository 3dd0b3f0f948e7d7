//! Any subscripts, in the input's first line, with operands that the rest chooses: what is refused is
//! refused with places in the text, and everything else has the value of a literal evaluation, along the
//! order that is found and along a given path, whole and in slices.

#![no_main]

#[path = "../../crates/ijk/tests/common/einsum.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    let (text, bytes) = input.split_at(end);
    if let Ok(text) = std::str::from_utf8(text) {
        checks::check(text, bytes.get(1..).unwrap_or_default());
    }
});
