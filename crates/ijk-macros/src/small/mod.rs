//! Loops in line for small domains.
//!
//! Where every statement's domain has at most [`SMALL_DOMAIN`] points, the function computes in
//! nested loops that the macro writes, without a plan and without temporaries on the heap. A point's
//! values combine in lexicographic order from the identity on, one rounding for each operation:
//! what the engine does for such domains, bit for bit. Wherever something is out of the ordinary
//! (an extent does not agree, a division fails) the loops are left for the engine, which says so.
//!
//! Only letters alone are written as loops; programs with arithmetic in brackets, or with loops of their own, go to the
//! engine.

mod fuse;
mod loops;
mod real;
mod shape;
mod values;

use crate::expand::Form;
use crate::types::Types;
use ijk_ir::core::{Init, Program, ScalarNode, Statement};
use ijk_types::{Monoid, Reducer, TypeSet};
use proc_macro2::TokenStream;
use quote::quote;
use std::collections::BTreeMap;

/// Points of the largest domain that is computed in line, as in `ijk-plan`, and elements of the
/// largest temporary.
pub const SMALL_DOMAIN: usize = 256;

/// Statements of the longest program that is computed in line.
const MOST_STATEMENTS: usize = 64;

/// Temporaries on the stack at most.
const MOST_TEMPORARIES: usize = 12;

/// The code for small domains.
#[derive(Default)]
pub struct Small {
    code: TokenStream,
    real: BTreeMap<u32, TypeSet>,
}

impl Small {
    /// For a program: nothing where it can't be computed in line.
    pub fn new(program: &Program, types: &Types, form: Form) -> Self {
        let simple = program.statements.len() <= MOST_STATEMENTS
            && program.loops.is_empty()
            && program.statements.iter().all(|s| is_simple(program, s))
            && program.outputs.iter().all(|output| !program.inputs.contains(output));
        let Some(real) = real::requirements(program).filter(|_| simple) else {
            return Self::default();
        };
        let plan = fuse::Plan::new(program);
        if plan.written().count() > MOST_TEMPORARIES {
            return Self::default();
        }
        let code = loops::Writer::new(&plan, types, form).code();
        Self { code, real }
    }

    /// Statements that return the result, or do nothing.
    pub fn code(&self) -> &TokenStream {
        &self.code
    }

    /// Types that the real parts of type variables are restricted to.
    pub fn real(&self) -> &BTreeMap<u32, TypeSet> {
        &self.real
    }
}

/// Returns true if loops can be written for a statement.
fn is_simple(program: &Program, statement: &Statement) -> bool {
    let plain = statement.out_index.iter().all(|e| e.as_axis().is_some());
    let known = (0..statement.domain.len()).all(|n| shape::is_known(program, statement, n));
    let nodes = statement.value.nodes.iter().all(|node| match node {
        ScalarNode::Access(access) => access.index.iter().all(|e| e.as_axis().is_some()),
        ScalarNode::Index(e) => e.as_axis().is_some(),
        ScalarNode::Extent(..) => false,
        _ => true,
    });
    let reduced = shape::reduced(statement).len();
    let reduces = match statement.reduce {
        None => reduced == 0,
        // The engine takes it relative to the greatest term.
        Some(Reducer::Monoid(monoid)) => monoid != Monoid::LogAddExp,
        Some(Reducer::ArgMax | Reducer::ArgMin) => reduced == 1,
        Some(Reducer::Order(_)) => false,
    };
    plain && known && nodes && reduces && !matches!(statement.init, Init::From(_))
}

/// A tuple, but of one thing that thing.
pub fn tuple(mut parts: Vec<TokenStream>) -> TokenStream {
    match parts.len() {
        1 => parts.remove(0),
        _ => quote!((#(#parts),*)),
    }
}
