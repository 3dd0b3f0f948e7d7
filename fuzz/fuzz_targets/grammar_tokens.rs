//! Tokens with any neighbourhood, as a macro may hand them over: the parser keeps its promises.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/ijk-syntax/tests/support/mod.rs"]
mod support;

use ijk_syntax::lex;

libfuzzer_sys::fuzz_target!(|input: (&str, Vec<u8>)| {
    let (source, changes) = input;
    let mut tokens = lex(source);
    for (token, change) in tokens.iter_mut().zip(changes) {
        token.touches_previous ^= change & 1 != 0;
        token.after_newline ^= change & 2 != 0;
    }
    let _ = support::check_tokens(source, &tokens);
});
