//! Elements as words, moved without interpretation.

/// A word of the size of an element, moved without interpretation.
pub trait ElementWord: Copy {
    /// All bits 0.
    const ZERO: Self;
}

impl ElementWord for u8 {
    const ZERO: Self = 0;
}

impl ElementWord for u32 {
    const ZERO: Self = 0;
}

impl ElementWord for u64 {
    const ZERO: Self = 0;
}

impl ElementWord for [u64; 2] {
    const ZERO: Self = [0; 2];
}

/// Evaluates an expression with `$W` bound to the word of the size of an element.
#[macro_export]
macro_rules! for_word {
    ($size:expr, $W:ident => $body:expr) => {
        match $size {
            1 => for_word!(@ $W, u8, $body),
            4 => for_word!(@ $W, u32, $body),
            8 => for_word!(@ $W, u64, $body),
            _ => for_word!(@ $W, [u64; 2], $body),
        }
    };
    (@ $W:ident, $word:ty, $body:expr) => {{
        type $W = $word;
        $body
    }};
}

pub use crate::for_word;
