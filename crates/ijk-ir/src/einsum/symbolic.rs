//! An einsum as a program for operands of any shapes.

use super::lower::product;
use crate::core::{
    Array, ArrayId, Axis, AxisId, Dim, IndexExpr, Init, Program, ScalarExpr, Span, Statement,
    TypeTerm,
};
use ijk_syntax::einsum::{Subscripts, Term};
use ijk_types::{BinaryOp, Monoid, Reducer, TypeSet};

/// An einsum as a program of one statement, for operands of any one element type, in which every axis
/// of an index has the same extent: no element stands for a whole axis.
///
/// Where subscripts have `...`, the rank of what they are of is not known, and the program has no
/// statement.
///
/// ```
/// use ijk_syntax::einsum::Subscripts;
/// let program = ijk_ir::einsum::symbolic(&Subscripts::parse("ij,jk->ik").unwrap());
/// assert_eq!(program.statements[0].domain.len(), 3);
/// let signature = ijk_ir::Signature::of(&program).to_string();
/// assert!(signature.starts_with("(T[2], T[2]) -> T[2] where T: bool"));
///
/// let program = ijk_ir::einsum::symbolic(&Subscripts::parse("...ij->...ji").unwrap());
/// assert!(program.statements.is_empty());
/// assert!(ijk_ir::Signature::of(&program).to_string().starts_with("(T[r]) -> T[r1]"));
/// ```
pub fn symbolic(subscripts: &Subscripts) -> Program {
    let operands = subscripts.operands.len() as u32;
    let all = || subscripts.operands.iter().chain([&subscripts.output]);
    let mut program = Program {
        source: subscripts.source.clone(),
        arrays: all().map(array).collect(),
        inputs: (0..operands).map(ArrayId).collect(),
        outputs: vec![ArrayId(operands)],
        types: vec![TypeSet::ALL],
        ..Program::default()
    };
    if all().all(|term| term.ellipsis.is_none()) {
        program.statements.push(statement(subscripts));
    }
    program
}

fn array(term: &Term) -> Array {
    let rank = term.ellipsis.is_none().then_some(term.indices.len() as u32);
    Array { rank, dtype: TypeTerm::Var(0), span: term.span.into() }
}

/// The sum of products. Its domain begins with the output's axes.
fn statement(subscripts: &Subscripts) -> Statement {
    let (operands, output) = (&subscripts.operands, &subscripts.output);
    let mut domain: Vec<u32> = Vec::new();
    for index in [output].into_iter().chain(operands).flat_map(|term| &term.indices) {
        if !domain.contains(&index.number) {
            domain.push(index.number);
        }
    }
    let index = |term: &Term| -> Vec<IndexExpr> {
        let axes = term.indices.iter();
        let position = axes.map(|index| domain.iter().position(|other| *other == index.number));
        position.map(|at| IndexExpr::axis(AxisId(at.unwrap_or(0) as u32))).collect()
    };
    let accesses = operands.iter().enumerate().map(|(n, term)| (ArrayId(n as u32), index(term)));
    let reduces = domain.len() > output.indices.len();
    Statement {
        out: ArrayId(operands.len() as u32),
        domain: domain.iter().map(|&number| axis(subscripts, number)).collect(),
        out_index: index(output),
        init: if reduces { Init::Identity(Monoid::Add) } else { Init::Zero },
        reduce: reduces.then_some(Reducer::Monoid(Monoid::Add)),
        value: ScalarExpr { nodes: product(BinaryOp::Mul, accesses, |_| None) },
        guards: Vec::new(),
        span: Span::default(),
    }
}

/// An index, with all axes that have it.
fn axis(subscripts: &Subscripts, number: u32) -> Axis {
    let mut dims = Vec::new();
    for (n, operand) in subscripts.operands.iter().enumerate() {
        let own = operand.indices.iter().enumerate().filter(|(_, index)| index.number == number);
        dims.extend(own.map(|(axis, index)| Dim {
            array: ArrayId(n as u32),
            axis: axis as u32,
            span: index.span.into(),
        }));
    }
    Axis { name: subscripts.name(number).into(), dims, pins: Vec::new() }
}
