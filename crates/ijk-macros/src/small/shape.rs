//! Axes of a statement: which are reduced, and where their extents come from.

use crate::names;
use ijk_ir::core::{ArrayId, AxisId, Dim, Pin, Program, ScalarNode, Statement};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The statement that defines an array.
pub fn definer(program: &Program, array: ArrayId) -> Option<usize> {
    program.statements.iter().position(|s| s.out == array)
}

/// The axes of the output in its order, each once.
pub fn kept(statement: &Statement) -> Vec<AxisId> {
    let mut kept = Vec::new();
    for axis in statement.out_index.iter().filter_map(|e| e.as_axis()) {
        if !kept.contains(&axis) {
            kept.push(axis);
        }
    }
    kept
}

/// The axes of the domain that the output does not have, in the domain's order.
pub fn reduced(statement: &Statement) -> Vec<AxisId> {
    let kept = kept(statement);
    let axes = (0..statement.domain.len() as u32).map(AxisId);
    axes.filter(|axis| !kept.contains(axis)).collect()
}

/// Returns true if the extent of an axis is known without solving: by arrays, a number in braces, or 1.
pub fn is_known(program: &Program, statement: &Statement, axis: usize) -> bool {
    let known = !sources(program, statement, axis).is_empty();
    let named = statement.domain[axis].pins.iter().any(|pin| matches!(pin, Pin::Name(..)));
    let accessed = statement.value.nodes.iter().any(|node| match node {
        ScalarNode::Access(access) => {
            access.index.iter().any(|e| e.as_axis() == Some(AxisId(axis as u32)))
        }
        _ => false,
    });
    known || (!named && !accessed)
}

/// Expressions for the extent of an axis, which must all be equal.
pub fn sources(program: &Program, statement: &Statement, axis: usize) -> Vec<TokenStream> {
    let axis = &statement.domain[axis];
    let dims = axis.dims.iter().filter_map(|dim| source(program, dim));
    let pins = axis.pins.iter().filter_map(|pin| match pin {
        Pin::Number(extent, _) => {
            let extent = Literal::u64_unsuffixed(*extent);
            Some(quote!(#extent))
        }
        Pin::Name(..) => None,
    });
    dims.chain(pins).collect()
}

fn source(program: &Program, dim: &Dim) -> Option<TokenStream> {
    if let Some(position) = names::position(program, dim.array) {
        let (argument, axis) = (names::argument(position), dim.axis as usize);
        return Some(quote!(#argument.shape()[#axis]));
    }
    let definer = definer(program, dim.array)?;
    let of = program.statements[definer].out_index[dim.axis as usize].as_axis()?;
    let extent = names::extent(definer, of);
    Some(quote!(#extent))
}
