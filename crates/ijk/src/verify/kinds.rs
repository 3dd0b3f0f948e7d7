//! Element types of a program's arrays when nothing is bound, as far as rounding depends on them.

use ijk_syntax::Function as F;
use ijk_syntax::et::ast::{AssignOp, Number, Program, Statement, Value, ValueOp};
use std::collections::BTreeMap;

/// Kinds of element types, in the order of conversion: the result of two kinds is the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Bool,
    Int,
    Float,
}

/// The kinds of the arrays so far.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    arrays: BTreeMap<String, Kind>,
}

impl Kinds {
    /// The kind of an array, if it has been assigned.
    pub fn of(&self, array: &str) -> Option<Kind> {
        self.arrays.get(array).copied()
    }

    /// Sets the kind of an array.
    pub fn assign(&mut self, array: &str, kind: Kind) {
        self.arrays.insert(array.into(), kind);
    }

    /// The kind of a statement's array after the statement.
    pub fn after(&self, statement: &Statement) -> Kind {
        let value = self.value(&statement.value);
        match statement.assign.op {
            AssignOp::And | AssignOp::Or => Kind::Bool,
            _ if statement.assign.accumulate => {
                self.of(&statement.left.array.text).map_or(value, |old| old.max(value))
            }
            _ => value,
        }
    }

    /// The kind of a value. A name that is no array is an eintup.
    pub fn value(&self, v: &Value) -> Kind {
        match v {
            Value::Number(Number::Float(_), _) => Kind::Float,
            Value::Number(..) | Value::Tuple(_) | Value::Dims { .. } | Value::Rank(..) => Kind::Int,
            Value::Random { float, .. } => {
                if *float {
                    Kind::Float
                } else {
                    Kind::Int
                }
            }
            Value::Element(access) => self.of(&access.array.text).unwrap_or(Kind::Int),
            Value::Sum(terms, _) => self.join(terms.iter().map(|(_, term)| term)),
            Value::Product(first, rest, _) => {
                let divides = rest.iter().any(|(op, _)| *op == ValueOp::Div);
                let factors = rest.iter().map(|(_, factor)| factor).chain([&**first]);
                if divides { Kind::Float } else { self.join(factors) }
            }
            Value::Call { function, args, .. } => self.function(function.0, args),
            Value::Along(along) => match along.function {
                F::Sort | F::TopK => self.value(&along.of),
                _ => Kind::Int,
            },
        }
    }

    fn function(&self, function: F, args: &[Value]) -> Kind {
        match function {
            F::Eq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge | F::And | F::Or | F::Not => Kind::Bool,
            F::CastBool => Kind::Bool,
            F::CastU8 | F::CastU16 | F::CastU32 | F::CastU64 => Kind::Int,
            F::CastI8 | F::CastI16 | F::CastI32 | F::CastI64 => Kind::Int,
            F::Add | F::Mul | F::Sub | F::Max | F::Min | F::Mod => self.join(args),
            F::Abs | F::Sign | F::Floor | F::Ceil | F::Round => self.join(args),
            F::Conj | F::Re | F::Im => self.join(args),
            F::Where => self.join(args.iter().skip(1)),
            F::Pow if args.len() == 2 => self.join(args),
            _ => Kind::Float,
        }
    }

    fn join<'a>(&self, values: impl IntoIterator<Item = &'a Value>) -> Kind {
        values.into_iter().map(|v| self.value(v)).max().unwrap_or(Kind::Int)
    }
}

/// True if a program converts to single precision.
pub(super) fn has_f32(program: &Program) -> bool {
    program.statements.iter().any(|s| casts(&s.value))
}

fn casts(v: &Value) -> bool {
    match v {
        Value::Call { function, args, .. } => {
            let single = matches!(function.0, F::CastF16 | F::CastBf16 | F::CastF32);
            single || args.iter().any(casts)
        }
        Value::Random { lo, hi, .. } => casts(lo) || casts(hi),
        Value::Along(along) => casts(&along.of),
        Value::Sum(terms, _) => terms.iter().any(|(_, term)| casts(term)),
        Value::Product(first, rest, _) => casts(first) || rest.iter().any(|(_, f)| casts(f)),
        _ => false,
    }
}
