//! Constructors of parts of surface trees. Spans are empty: printer and parser give a program its source.

use ijk_syntax::Function;
use ijk_syntax::Span;
use ijk_syntax::ast::{
    Arith, ArithOp, Body, Combinator, Compound, Extent, IndexExpr, Letter, Name, Node, NodeId,
    NodeKind, Position, Program,
};

pub(crate) fn letter(name: char) -> Letter {
    Letter { name, extent: None, span: Span::default() }
}

pub(crate) fn plain(name: char) -> Position {
    Position::Letter(letter(name))
}

pub(crate) fn bracket(arith: Arith) -> Position {
    Position::Bracket(arith, Span::default())
}

pub(crate) fn int(n: i64) -> Arith {
    Arith::Integer(n, Span::default())
}

pub(crate) fn var(name: char) -> Arith {
    Arith::Letter(letter(name))
}

/// A sum of terms with their signs.
pub(crate) fn sum(terms: Vec<(bool, Arith)>) -> Arith {
    Arith::Sum(terms, Span::default())
}

pub(crate) fn plus(a: Arith, b: Arith) -> Arith {
    sum(vec![(false, a), (false, b)])
}

pub(crate) fn minus(a: Arith, b: Arith) -> Arith {
    sum(vec![(false, a), (true, b)])
}

pub(crate) fn product(first: Arith, op: ArithOp, second: Arith) -> Arith {
    Arith::Product(Box::new(first), vec![(op, second)], Span::default())
}

pub(crate) fn times(a: Arith, b: Arith) -> Arith {
    product(a, ArithOp::Mul, b)
}

pub(crate) fn compound(positions: Vec<Position>) -> Compound {
    Compound { positions, span: Span::default() }
}

pub(crate) fn number(n: u64) -> Extent {
    Extent::Number(n, Span::default())
}

pub(crate) fn name(text: &str) -> Name {
    Name { text: text.into(), span: Span::default() }
}

/// A function of scalar expressions.
pub(crate) fn apply(function: Function, operands: Vec<Body>) -> Body {
    Body::Apply { function, symbol: Span::default(), operands }
}

pub(crate) fn expression(outer: Option<Function>, body: Body, output: Compound) -> IndexExpr {
    let outer = outer.map(|function| (function, Span::default()));
    IndexExpr { outer, body, output, span: Span::default() }
}

/// Adds a node to a program.
pub(crate) fn push(program: &mut Program, kind: NodeKind) -> NodeId {
    program.nodes.push(Node { kind, span: Span::default() });
    NodeId(program.nodes.len() as u32 - 1)
}

pub(crate) fn combined(combinator: Combinator, left: NodeId, right: NodeId) -> NodeKind {
    NodeKind::Combine { combinator, left, right, symbol: Span::default() }
}
