//! Constants among the factors of scattered sums.
//!
//! A scatter has no epilogue for constants, so they are folded into one: `y[r[z]] += 2 * x[z] / 2` multiplies by none.

use super::{product, quotient};
use crate::SMALL_DOMAIN;
use crate::graph::expr::{Builder, extract, same_bits};
use crate::graph::terms::{Algebra, Terms};
use crate::graph::{Expr, ExprNode, Graph, Stmt};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// The statement with all constant factors and divisors folded into one, if there are several.
pub(super) fn joined(graph: &Graph, stmt: &Stmt) -> Option<Stmt> {
    let dtype = graph.array(stmt.out).dtype;
    let sums = stmt.reduce == Some(Reducer::Monoid(Monoid::Add)) && dtype.is_float();
    if graph.strict || !sums || stmt.points() <= SMALL_DOMAIN || stmt.scan.is_some() {
        return None;
    }
    let algebra = Algebra::of(Monoid::Add, dtype, &stmt.value)?;
    let (terms, types) = (Terms::of(&stmt.value, &algebra), graph.node_types(&stmt.value));
    if terms.all.iter().any(|term| types[term.root as usize] != dtype) {
        return None;
    }
    let (mut number, mut count) = (algebra.one(), 0);
    let (mut factors, mut divisors): (Vec<Expr>, Vec<Expr>) = (Vec::new(), Vec::new());
    for term in &terms.all {
        if let ExprNode::Const(c) = stmt.value.nodes[term.root as usize] {
            let op = if term.inverse { BinaryOp::Div } else { BinaryOp::Mul };
            (number, count) = (scalar::binary(op, number, c).ok()?, count + 1);
            continue;
        }
        let side = if term.inverse { &mut divisors } else { &mut factors };
        side.push(extract(&stmt.value.nodes, term.root));
    }
    if count < 2 || factors.is_empty() || !is_finite(number) {
        return None;
    }
    let mut value = quotient(&algebra, &factors, &divisors);
    if !same_bits(number, algebra.one()) {
        let number = Expr { nodes: vec![ExprNode::Const(number)] };
        value = product(algebra.op, [&value, &number].into_iter());
    }
    if terms.negative {
        let mut builder = Builder::default();
        let root = builder.push_all(&value);
        let root = builder.push(ExprNode::Unary(UnaryOp::Neg, root));
        value = builder.finish(root);
    }
    Some(Stmt { value, ..stmt.clone() })
}

/// Tells whether the folded constant neither overflowed nor underflowed.
fn is_finite(number: Scalar) -> bool {
    match number {
        Scalar::F32(x) => x.is_normal(),
        Scalar::F64(x) => x.is_normal(),
        _ => false,
    }
}
