//! Einsum Tuple: surface trees and grammar.

pub mod ast;
