//! Writes that are always dropped: `y[2*p+1] += b[p]` after `y[2*p] = a[p]`, which makes `y` one too short.
//!
//! Rule 3 skips what is out of bounds, and much that is written relies on it: a shift `y[a+1]`, an eintup that is
//! trimmed, reads at borders. So a warning needs all of this: the extents of both expressions differ by a number,
//! whatever the extents of eintups are; the greatest point of the write is out of bounds; it places elements
//! apart (an eintup times 2 or more); and no read of the statement skips that point anyway.

use super::super::codes;
use super::super::system::{Expr, Limit, System};
use super::super::walk::{self, Event, Role};
use super::super::{Origin, ShapeId};
use super::Symbols;
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::et::ast::{Access, Index, IndexOp, Program, Quantity, Statement};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A sum of multiples of ranks and extents, and a number.
#[derive(Clone, Debug, Default, PartialEq)]
struct Linear {
    terms: BTreeMap<(bool, ShapeId), i128>,
    constant: i128,
}

/// The greatest value of an index expression, and the greatest factor of an eintup in it.
struct Greatest {
    value: Linear,
    factor: i128,
}

impl Linear {
    fn number(constant: i128) -> Self {
        Self { constant, ..Self::default() }
    }

    fn of(quantity: Quantity, shape: ShapeId) -> Self {
        let terms = BTreeMap::from([((quantity == Quantity::Rank, shape), 1)]);
        Self { terms, constant: 0 }
    }

    /// The same plus a multiple of another.
    fn plus(mut self, other: &Self, times: i128) -> Option<Self> {
        for (key, by) in &other.terms {
            let term = self.terms.entry(*key).or_insert(0);
            *term = term.checked_add(by.checked_mul(times)?)?;
        }
        self.terms.retain(|_, by| *by != 0);
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        Some(self)
    }

    fn times(&self, by: i128) -> Option<Self> {
        Self::default().plus(self, by)
    }

    fn as_number(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }
}

/// Warns of writes of which some are always dropped.
pub fn judge(source: &str, program: &Program, found: &Symbols, system: &System, sink: &mut Sink) {
    let look = Look { found, system, left: Cell::new(MAX_WORK) };
    let mut sized = vec![false; found.arrays.infos.len()];
    for statement in &program.statements {
        let Some(array) = found.arrays.get(&statement.left.array.text) else { continue };
        let first = !std::mem::replace(&mut sized[array], true);
        if first || found.arrays.infos[array].origin != Origin::Computed {
            continue;
        }
        let sizing = &found.arrays.sizing[array];
        if let Some((place, beyond)) = look.beyond(statement, sizing) {
            let this = quote(source, statement.left.indices[place].span(), "the index");
            let that = quote(source, sizing.span, "the first use");
            let name = &statement.left.array.text;
            let message = format!(
                "{this} reaches {beyond} beyond `{name}`, which {that} sizes: what is written there is dropped"
            );
            let warning = codes::WRITE_DROPPED
                .warning(statement.left.span, message)
                .with_related(sizing.span, "sized here")
                .with_hint(format!(
                    "size `{name}` before, by an eintup that a constraint gives the extents of: `{name}[all] = 0`"
                ));
            sink.push(warning);
        }
    }
}

/// Operands of constraints that are looked at.
const MAX_WORK: u32 = 10_000;
/// Constraints that are followed one after another.
const MAX_DEPTH: u32 = 8;

struct Look<'a> {
    found: &'a Symbols,
    system: &'a System,
    /// Rest of [`MAX_WORK`].
    left: Cell<u32>,
}

impl Look<'_> {
    /// The first place at which the greatest point of a write is out of bounds, and by how much.
    fn beyond(&self, statement: &Statement, sizing: &Access) -> Option<(usize, i128)> {
        if self.reads_skip(statement) {
            return None;
        }
        let places = statement.left.indices.iter().zip(&sizing.indices).enumerate();
        places.into_iter().find_map(|(place, (index, size))| {
            let (own, size) = (self.greatest(index)?, self.greatest(size)?);
            let beyond = own.value.plus(&size.value, -1)?.as_number()?;
            (own.factor > 1 && beyond > 0).then_some((place, beyond))
        })
    }

    /// Returns true if an access that the statement reads may skip points.
    fn reads_skip(&self, statement: &Statement) -> bool {
        let mut skips = false;
        walk::statement(statement, &mut |event| {
            if let Event::Access(access, role) = event {
                let plain = access.indices.iter().all(|e| matches!(e, Index::Tuple(_)));
                let tuple = self.found.shape(&access.array.text).is_some();
                skips |= role != Role::Left && (!plain || tuple);
            }
        });
        skips
    }

    /// The greatest value of an expression, where it is a sum of multiples of eintups, ranks, extents and
    /// numbers.
    fn greatest(&self, index: &Index) -> Option<Greatest> {
        let fixed = |value| Some(Greatest { value, factor: 0 });
        match index {
            Index::Integer(n, _) => fixed(Linear::number((*n).into())),
            Index::Tuple(name) => {
                let extent = self.extent(self.found.shape(&name.text)?, MAX_DEPTH)?;
                Some(Greatest { value: extent.plus(&Linear::number(-1), 1)?, factor: 1 })
            }
            Index::Dims(of, _) => match &of[..] {
                [Index::Tuple(name)] => {
                    fixed(self.extent(self.found.shape(&name.text)?, MAX_DEPTH)?)
                }
                _ => None,
            },
            Index::Rank(of, _) => match &of[..] {
                [Index::Tuple(name)] => {
                    fixed(Linear::of(Quantity::Rank, self.found.shape(&name.text)?))
                }
                _ => None,
            },
            Index::Sum(terms, _) => {
                let mut sum = Greatest { value: Linear::default(), factor: 0 };
                for (negated, term) in terms {
                    let term = self.greatest(term)?;
                    // A subtracted eintup has its greatest difference at 0.
                    if *negated && term.factor > 0 {
                        return None;
                    }
                    sum.value = sum.value.plus(&term.value, if *negated { -1 } else { 1 })?;
                    sum.factor = sum.factor.max(term.factor);
                }
                Some(sum)
            }
            Index::Product(first, rest, _) => {
                let mut product = self.greatest(first)?;
                for (op, by) in rest {
                    let by = self.greatest(by)?;
                    if *op != IndexOp::Mul {
                        return None;
                    }
                    let (of, times) = match (product.value.as_number(), by.value.as_number()) {
                        (_, Some(times)) if by.factor == 0 => (product, times),
                        (Some(times), _) if product.factor == 0 => (by, times),
                        _ => return None,
                    };
                    if times < 1 {
                        return None;
                    }
                    let factor = of.factor.checked_mul(times)?;
                    product = Greatest { value: of.value.times(times)?, factor };
                }
                Some(product)
            }
            Index::Flat(..) | Index::Array(_) | Index::Star(_) => None,
        }
    }

    /// The extent of a shape in terms of those that no constraint defines.
    fn extent(&self, shape: ShapeId, depth: u32) -> Option<Linear> {
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
            Expr::Of(Quantity::Dims, shape) => self.extent(*shape, depth),
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
