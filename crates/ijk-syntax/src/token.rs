//! The abstract tokens that the grammar reads, from text or from macros.

use crate::Span;

/// A token: what it is, where its text stands in the source, and how it stands to its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: TokenKind,
    /// Where its text stands.
    pub span: Span,
    /// Nothing, not even white space, separates the token from the one before.
    pub touches_previous: bool,
    /// The token is the first of its line.
    pub after_newline: bool,
}

/// The kinds of a token. Names and numbers have their text in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A letter or `_`, then letters, digits and `_`.
    Ident,
    /// `digits [. digits] [exponent]`.
    Number,
    /// A number that letters, digits or `_` touch: `2i`, `1_000`, `0x10`.
    BadNumber,
    /// One of [`PUNCTUATION`].
    Punct(char),
    /// `>>`.
    Chain,
    /// `<<`.
    Compose,
    /// `'…'` or `"…"` on one line, where the language has them; `\` escapes a character.
    Quoted,
    /// The same without an end: the rest of the line.
    BadQuoted,
    /// Characters that mean nothing here.
    Unknown,
    /// The end of the source; the parser's own, after the last token.
    End,
}

/// The characters that are tokens by themselves.
pub const PUNCTUATION: &str = "~+-*/><^$@&|.()[]{}:;,=%";
