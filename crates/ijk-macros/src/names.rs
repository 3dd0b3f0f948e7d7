//! Identifiers of the code the macros write. No name of a program enters it.

use ijk_ir::core::{ArrayId, AxisId, Program};
use proc_macro2::Ident;
use quote::format_ident;

/// The function of an expression.
pub fn function() -> Ident {
    format_ident!("ijk_function")
}

/// The argument of that position.
pub fn argument(position: usize) -> Ident {
    format_ident!("ijk_a{position}")
}

/// The place that the result of that position is written to.
pub fn place(position: usize) -> Ident {
    format_ident!("ijk_o{position}")
}

/// The elements of an array, in C order.
pub fn elements(array: ArrayId) -> Ident {
    format_ident!("ijk_e{}", array.0)
}

/// The memory behind [`elements`] that are copied or computed.
pub fn memory(array: ArrayId) -> Ident {
    format_ident!("ijk_m{}", array.0)
}

/// The extent of an axis of a statement's domain.
pub fn extent(statement: usize, axis: AxisId) -> Ident {
    format_ident!("ijk_n{statement}_{}", axis.0)
}

/// The value of an axis of a statement's domain, in its loops.
pub fn index(axis: AxisId) -> Ident {
    format_ident!("ijk_x{}", axis.0)
}

/// The position of an input array among the arguments.
pub fn position(program: &Program, array: ArrayId) -> Option<usize> {
    program.inputs.iter().position(|input| *input == array)
}
