//! Element types inside an expression. A number takes the type of what it is combined with.

use super::form::{Form, Leaf, Map, Tree};
use super::point::{literal, spread_over_operands};
use super::{cell, form};
use crate::EvalError;
use ijk_syntax::ast::Number;
use ijk_types::{BinaryOp, DType, Monoid, Reducer, ResultType, TypeSet};

/// Element types inside an expression.
#[derive(Clone, Debug)]
pub(super) struct Types {
    /// Types of the operands.
    pub operands: Vec<DType>,
    /// Type of the value at a point.
    pub value: DType,
}

/// Type of a part of an expression.
#[derive(Clone, Copy)]
enum Known {
    Only(DType),
    /// A function of numbers only: one of these, as what it is combined with.
    Open(TypeSet),
}

/// The types for arguments of these types.
pub(super) fn types(form: &Form, arguments: &[DType]) -> Result<Types, EvalError> {
    let given = spread_over_operands(form, arguments.iter().copied().map(Some));
    let mut typing = Typing { form, operands: given };
    let mut value = typing.of(&form.body)?;
    if let Some(outer) = form.outer {
        value = typing.applied(outer, &[&form.body], &[value])?;
    }
    let accepted = match form.reduce {
        Some(Reducer::Monoid(monoid)) => monoid.op().accepts(),
        Some(_) => TypeSet::ORDERED,
        None => TypeSet::ALL,
    };
    let value = match value {
        Known::Only(t) => t,
        Known::Open(set) => {
            let t = set.intersect(accepted).single().ok_or_else(undetermined)?;
            typing.assign(&form.body, t);
            t
        }
    };
    let operands = typing.operands.iter().map(|t| t.ok_or_else(undetermined));
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    for (leaf, &t) in form.operands.iter().zip(&operands) {
        if let Leaf::Number(number) = leaf {
            literal(*number, t)?;
        }
    }
    check_powers(form, &form.body, &operands)?;
    if accepted.contains(value) {
        Ok(Types { operands, value })
    } else {
        Err(EvalError::Type(value))
    }
}

fn undetermined() -> EvalError {
    EvalError::Undetermined("an element type".into())
}

struct Typing<'a> {
    form: &'a Form,
    operands: Vec<Option<DType>>,
}

impl Typing<'_> {
    fn of(&mut self, tree: &Tree) -> Result<Known, EvalError> {
        match tree {
            Tree::Operand(n) => Ok(match (&self.form.operands[*n], self.operands[*n]) {
                (_, Some(t)) => Known::Only(t),
                (Leaf::Number(number), None) => Known::Open(number_types(*number)),
                (Leaf::Extent(_), None) => Known::Open(TypeSet::NUMBER),
                (Leaf::Index(_), None) => unreachable!("an index operand has an argument"),
            }),
            Tree::Apply(map, parts) => {
                let known = parts.iter().map(|part| self.of(part));
                let known = known.collect::<Result<Vec<_>, _>>()?;
                self.applied(*map, &parts.iter().collect::<Vec<_>>(), &known)
            }
        }
    }

    /// The type of a function of parts.
    fn applied(&mut self, map: Map, parts: &[&Tree], known: &[Known]) -> Result<Known, EvalError> {
        if map == Map::Where {
            return self.chosen(parts, known);
        }
        let (accepts, result) = rule(map);
        let only = known.iter().find_map(|part| match part {
            Known::Only(t) => Some(*t),
            Known::Open(_) => None,
        });
        let open = known.iter().fold(accepts, |set, part| match part {
            Known::Open(own) => set.intersect(*own),
            Known::Only(_) => set,
        });
        let Some(t) = only.or(open.single()) else {
            return match result {
                _ if open.is_empty() => Err(EvalError::Undetermined("no element type".into())),
                ResultType::Same => Ok(Known::Open(open)),
                ResultType::Real if open.iter().all(|t| !t.is_complex()) => Ok(Known::Open(open)),
                ResultType::Fixed(t) => Ok(Known::Only(t)),
                ResultType::Real => Err(undetermined()),
            };
        };
        let types = self.assigned(parts, known, t)?;
        Ok(Known::Only(cell::map_type(map, &types)?))
    }

    fn chosen(&mut self, parts: &[&Tree], known: &[Known]) -> Result<Known, EvalError> {
        let condition = self.assigned(&parts[..1], &known[..1], DType::Bool)?;
        let (values, types) = (&parts[1..], &known[1..]);
        match (types[0], types[1]) {
            (Known::Open(x), Known::Open(y)) if x.intersect(y).single().is_none() => {
                cell::map_type(Map::Where, &[condition[0], DType::Bool, DType::Bool])?;
                Ok(Known::Open(x.intersect(y)))
            }
            (Known::Open(x), Known::Open(y)) => {
                let t = x.intersect(y).single().expect("one type");
                self.assigned(values, types, t)?;
                Ok(Known::Only(t))
            }
            (Known::Only(t), _) | (_, Known::Only(t)) => {
                let chosen = self.assigned(values, types, t)?;
                Ok(Known::Only(cell::map_type(Map::Where, &[condition[0], chosen[0], chosen[1]])?))
            }
        }
    }

    /// The types of parts, where open ones become `t`, which they must be able to be.
    fn assigned(
        &mut self,
        parts: &[&Tree],
        known: &[Known],
        t: DType,
    ) -> Result<Vec<DType>, EvalError> {
        let of = |(part, known): (&&Tree, &Known)| match known {
            Known::Only(own) => Ok(*own),
            Known::Open(set) if !set.contains(t) => Err(EvalError::Type(t)),
            Known::Open(_) => {
                self.assign(part, t);
                Ok(t)
            }
        };
        parts.iter().zip(known).map(of).collect()
    }

    /// Gives the numbers of an open part a type.
    fn assign(&mut self, part: &Tree, t: DType) {
        match part {
            Tree::Operand(n) => self.operands[*n] = self.operands[*n].or(Some(t)),
            Tree::Apply(Map::Where, parts) => {
                parts[1..].iter().for_each(|part| self.assign(part, t));
            }
            Tree::Apply(Map::Index(_), _) => {}
            Tree::Apply(map, parts) => {
                if matches!(rule(*map).1, ResultType::Same | ResultType::Real) {
                    parts.iter().for_each(|part| self.assign(part, t));
                }
            }
        }
    }
}

fn rule(map: Map) -> (TypeSet, ResultType) {
    match map {
        Map::Index(_) => (TypeSet::ALL, ResultType::Fixed(DType::I64)),
        Map::Unary(op) => (op.accepts(), op.result()),
        Map::FromIdentity(monoid) => (Monoid::op(monoid).accepts(), ResultType::Same),
        Map::Binary(op) => (op.accepts(), op.result()),
        Map::Where => (TypeSet::ALL, ResultType::Same),
    }
}

fn number_types(number: Number) -> TypeSet {
    TypeSet::ALL.filter(|t| form::literal_of(number).to_scalar(t).is_ok())
}

/// Integers have no powers whose exponent is a negative number.
fn check_powers(form: &Form, tree: &Tree, operands: &[DType]) -> Result<(), EvalError> {
    let Tree::Apply(map, parts) = tree else { return Ok(()) };
    if let (Map::Binary(BinaryOp::Pow), Tree::Operand(n)) = (map, &parts[parts.len() - 1])
        && let Leaf::Number(Number::Integer(..0)) = form.operands[*n]
        && operands[*n].is_integer()
    {
        return Err(EvalError::Type(operands[*n]));
    }
    parts.iter().try_for_each(|part| check_powers(form, part, operands))
}
