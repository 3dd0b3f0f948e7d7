//! Lexer, grammar, spans and diagnostics of the ijk languages.
//!
//! Knows no shapes and no element types. One grammar over abstract tokens serves program text and
//! the macro's token trees.

pub mod ast;
mod diagnostic;
mod function;
mod span;

pub use diagnostic::{Diagnostic, Hint, Severity};
pub use function::Function;
pub use span::Span;
