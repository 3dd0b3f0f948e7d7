//! Lexer, grammar, spans and diagnostics of the ijk languages.
//!
//! Knows no shapes and no element types. One grammar over abstract tokens serves program text and
//! the macro's token trees.

pub mod ast;
mod code;
pub mod codes;
#[deny(clippy::disallowed_methods)]
mod cursor;
mod diagnostic;
pub mod einsum;
pub mod et;
mod function;
mod lexer;
#[deny(clippy::disallowed_methods)]
mod numeral;
#[deny(clippy::disallowed_methods)]
mod parser;
mod printer;
mod render;
mod report;
mod span;
mod token;
mod visible;

pub use code::Code;
pub use cursor::MAX_NESTING;
pub use diagnostic::{Diagnostic, Hint, Severity};
pub use function::Function;
pub use lexer::lex;
pub use parser::{MAX_FUNCTIONS, MAX_NODES, parse, parse_tokens};
pub use render::{render, render_line};
pub use span::Span;
pub use token::{PUNCTUATION, Token, TokenKind};
pub use visible::visible;
