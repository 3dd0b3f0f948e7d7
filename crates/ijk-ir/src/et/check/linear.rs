//! Ranks and extents as sums of those that no constraint defines.

use super::super::ShapeId;
use super::super::system::{Expr, Limit, System};
use super::Symbols;
use ijk_syntax::et::ast::{IndexOp, Quantity};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A sum of multiples of ranks and extents, and a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Linear {
    terms: BTreeMap<(bool, ShapeId), i128>,
    constant: i128,
}

impl Linear {
    pub fn number(constant: i128) -> Self {
        Self { constant, ..Self::default() }
    }

    pub fn of(quantity: Quantity, shape: ShapeId) -> Self {
        let terms = BTreeMap::from([((quantity == Quantity::Rank, shape), 1)]);
        Self { terms, constant: 0 }
    }

    /// The same plus a multiple of another.
    pub fn plus(mut self, other: &Self, times: i128) -> Option<Self> {
        for (key, by) in &other.terms {
            let term = self.terms.entry(*key).or_insert(0);
            *term = term.checked_add(by.checked_mul(times)?)?;
        }
        self.terms.retain(|_, by| *by != 0);
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        Some(self)
    }

    pub fn times(&self, by: i128) -> Option<Self> {
        Self::default().plus(self, by)
    }

    pub fn as_number(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// As it is written: `2*DIMS(a) + 1`.
    pub fn text(&self, look: &Look<'_>) -> String {
        let mut text = String::new();
        for ((is_rank, shape), by) in &self.terms {
            let tuple = look.found.shapes.tuples.iter().find(|tuple| tuple.shape == *shape);
            let name = tuple.map_or("…", |tuple| &tuple.name);
            let of = if *is_rank { "RANK" } else { "DIMS" };
            let factor = if by.abs() == 1 { String::new() } else { format!("{}*", by.abs()) };
            join(&mut text, *by < 0, &format!("{factor}{of}({name})"));
        }
        if self.constant != 0 || text.is_empty() {
            join(&mut text, self.constant < 0, &self.constant.abs().to_string());
        }
        text
    }
}

/// Adds a term.
fn join(text: &mut String, negative: bool, term: &str) {
    text.push_str(match (text.is_empty(), negative) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    });
    text.push_str(term);
}

/// Operands of constraints that are looked at.
const MAX_WORK: u32 = 10_000;
/// Constraints that are followed one after another.
const MAX_DEPTH: u32 = 8;

pub(super) struct Look<'a> {
    pub found: &'a Symbols,
    pub system: &'a System,
    /// Rest of [`MAX_WORK`].
    left: Cell<u32>,
}

impl<'a> Look<'a> {
    pub fn new(found: &'a Symbols, system: &'a System) -> Self {
        Self { found, system, left: Cell::new(MAX_WORK) }
    }

    /// The extent of a shape in terms of those that no constraint defines.
    pub fn extent(&self, shape: ShapeId) -> Option<Linear> {
        self.extent_within(shape, MAX_DEPTH)
    }

    /// The extent, with at most `depth` constraints substituted one into another.
    fn extent_within(&self, shape: ShapeId, depth: u32) -> Option<Linear> {
        let rule = self.system.dims_rules[shape.0 as usize].filter(|_| depth > 0);
        match rule.map(|rule| &self.system.rules[rule].relation) {
            Some(Limit::Equals(expr)) => self.value(expr, depth - 1),
            _ => Some(Linear::of(Quantity::Dims, shape)),
        }
    }

    fn value(&self, expr: &Expr, depth: u32) -> Option<Linear> {
        self.left.set(self.left.get().checked_sub(1)?);
        match expr {
            Expr::Integer(n) => Some(Linear::number((*n).into())),
            Expr::Of(Quantity::Rank, shape) => Some(Linear::of(Quantity::Rank, *shape)),
            Expr::Of(Quantity::Dims, shape) => self.extent_within(*shape, depth),
            Expr::Sum(terms) => terms.iter().try_fold(Linear::default(), |sum, (negated, term)| {
                sum.plus(&self.value(term, depth)?, if *negated { -1 } else { 1 })
            }),
            Expr::Product(first, rest) => {
                rest.iter().try_fold(self.value(first, depth)?, |product, (op, by)| {
                    let by = self.value(by, depth)?;
                    match (product.as_number(), by.as_number()) {
                        _ if *op != IndexOp::Mul => None,
                        (_, Some(times)) => product.times(times),
                        (Some(times), _) => by.times(times),
                        _ => None,
                    }
                })
            }
            Expr::Min(..) | Expr::Max(..) => None,
        }
    }
}
