//! Trees without spans.

use ijk_syntax::Span;
use ijk_syntax::et::ast::{
    Access, Bound, Index, IndexFunction, IndexOp, Name, Quantity, Value, ValueFunction,
};
use ijk_syntax::{Function, ast::Number};

pub(crate) const SPAN: Span = Span { start: 0, end: 0 };

pub(crate) fn name(text: &str) -> Name {
    Name { text: text.into(), span: SPAN }
}

pub(crate) fn integer(n: i64) -> Index {
    match n {
        0.. => Index::Integer(n, SPAN),
        _ => Index::Sum(vec![(true, Index::Integer(-n, SPAN))], SPAN),
    }
}

pub(crate) fn tuple(text: &str) -> Index {
    Index::Tuple(name(text))
}

pub(crate) fn dims(list: Vec<Index>) -> Index {
    Index::Dims(list, SPAN)
}

pub(crate) fn rank(list: Vec<Index>) -> Index {
    Index::Rank(list, SPAN)
}

/// A function of index expressions.
pub(crate) fn function(of: IndexFunction, operands: Vec<Index>) -> Index {
    Index::Call(of, operands, SPAN)
}

/// `left op right`.
pub(crate) fn product(left: Index, op: IndexOp, right: Index) -> Index {
    Index::Product(Box::new(left), vec![(op, right)], SPAN)
}

/// `left + right`, or `left - right`.
pub(crate) fn sum(left: Index, minus: bool, right: Index) -> Index {
    Index::Sum(vec![(false, left), (minus, right)], SPAN)
}

pub(crate) fn access(array: &str, indices: Vec<Index>) -> Access {
    Access { array: name(array), indices, span: SPAN }
}

pub(crate) fn number(n: Number) -> Value {
    match n {
        Number::Integer(n) if n < 0 => {
            Value::Sum(vec![(true, Value::Number(Number::Integer(-n), SPAN))], SPAN)
        }
        Number::Float(x) if x < 0.0 => {
            Value::Sum(vec![(true, Value::Number(Number::Float(-x), SPAN))], SPAN)
        }
        n => Value::Number(n, SPAN),
    }
}

pub(crate) fn whole(n: i64) -> Value {
    number(Number::Integer(n))
}

pub(crate) fn call(function: Function, args: Vec<Value>) -> Value {
    Value::Call { function: ValueFunction(function), name: SPAN, args, span: SPAN }
}

pub(crate) fn constant(n: i64) -> Bound {
    match n {
        0.. => Bound::Integer(n, SPAN),
        _ => Bound::Sum(vec![(true, Bound::Integer(-n, SPAN))], SPAN),
    }
}

pub(crate) fn of(quantity: Quantity, tuple: &str) -> Bound {
    Bound::Of(quantity, name(tuple), SPAN)
}
