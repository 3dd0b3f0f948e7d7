//! Einsum Tuple: surface trees and grammar.

pub mod ast;
pub mod codes;
#[deny(clippy::disallowed_methods)]
mod parser;
mod printer;
mod tree;
mod words;

pub use parser::parse;
