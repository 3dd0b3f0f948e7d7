//! Accesses that are never in bounds, whatever the extents of eintups are: rule 3 skips every point of the statement.
//!
//! `x[-1]` is no last element, and `y[DIMS(a)+a]` is behind an array that `y[a]` sized. The least and the greatest value
//! of an index are compared with the end of the axis where their difference is a number.

use super::super::Origin;
use super::super::codes;
use super::super::walk::{self, Event, Role};
use super::linear::{Linear, Look};
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::Diagnostic;
use ijk_syntax::et::ast::{Access, Index, IndexOp, Quantity, Statement};

/// Least and greatest value of an index.
struct IndexRange {
    least: Linear,
    greatest: Linear,
}

impl IndexRange {
    fn number(value: Linear) -> Self {
        Self { least: value.clone(), greatest: value }
    }

    /// The range times a number.
    fn times(&self, by: i128) -> Option<Self> {
        let (least, greatest) = (self.least.times(by)?, self.greatest.times(by)?);
        Some(match by < 0 {
            true => Self { least: greatest, greatest: least },
            false => Self { least, greatest },
        })
    }

    fn is_negative(&self) -> bool {
        self.greatest.as_number().is_some_and(|greatest| greatest < 0)
    }

    fn as_number(&self) -> Option<i128> {
        self.least.as_number().filter(|_| self.least == self.greatest)
    }
}

/// Warns of the accesses of a statement that are never in bounds; returns whether there is one.
pub(super) fn judge(source: &str, statement: &Statement, look: &Look<'_>, sink: &mut Sink) -> bool {
    let mut found: Vec<Diagnostic> = Vec::new();
    walk::statement(statement, &mut |event| {
        if let Event::Access(access, role) = event
            && role != Role::Fixed
        {
            found.extend(warning(source, access, role, look));
        }
    });
    let any = !found.is_empty();
    found.into_iter().for_each(|warning| sink.push(warning));
    any
}

fn warning(source: &str, access: &Access, role: Role, look: &Look<'_>) -> Option<Diagnostic> {
    let array = look.found.arrays.get(&access.array.text)?;
    let mut places = access.indices.iter().enumerate();
    let (place, index, range, end) = places.find_map(|(place, index)| {
        let (range, end) = (range(look, index)?, end(look, array, place));
        let above = |end: &Linear| Some(range.least.clone().plus(end, -1)?.as_number()? >= 0);
        let above = end.as_ref().and_then(above).unwrap_or(false);
        (range.is_negative() || above).then_some((place, index, range, end))
    })?;
    let name = &access.array.text;
    let this = quote(source, access.span, "the access");
    let value = match range.is_negative() {
        true => format!("at most {}", range.greatest.text(look)),
        false => format!("at least {}", range.least.text(look)),
    };
    let has = end.map(|end| format!(", and `{name}` has {} positions there", end.text(look)));
    let has = has.unwrap_or_default();
    let then = if role == Role::Left { "nothing is written" } else { "every point is skipped" };
    let message =
        format!("{this} is never in bounds: its index at place {place} is {value}{has}; {then}");
    let warning = codes::NEVER_IN_BOUNDS.warning(index.span(), message).with_label(value);
    let sizing = &look.found.arrays.sizing[array];
    let warning = match sizing.span == access.span || end_is_open(look, array) {
        true => warning,
        false => warning.with_related(sizing.span, "sized here"),
    };
    match range.as_number().filter(|n| *n < 0) {
        Some(n) => {
            let last = from_end(look, array, place, n);
            let last = last.map_or(String::new(), |last| format!("; `{last}` does"));
            Some(warning.with_hint(format!("indices don't count from the end{last}")))
        }
        None => Some(warning),
    }
}

/// The text of an index that counts from the end.
fn from_end(look: &Look<'_>, array: usize, place: usize, n: i128) -> Option<String> {
    let shape = look.found.place_shape(array, place)?;
    let tuple = look.found.shapes.tuples.iter().find(|tuple| tuple.shape == shape)?;
    Some(format!("DIMS({}) - {}", tuple.name, n.unsigned_abs()))
}

/// Returns true for arrays that are bound, and have what extents they have.
fn end_is_open(look: &Look<'_>, array: usize) -> bool {
    look.found.arrays.infos[array].origin == Origin::Input
}

/// The extent of a place; none if it may be any.
fn end(look: &Look<'_>, array: usize, place: usize) -> Option<Linear> {
    let origin = look.found.arrays.infos[array].origin;
    let sizing = look.found.arrays.sizing[array].indices.get(place)?;
    let plain = matches!(sizing, Index::Tuple(_));
    if end_is_open(look, array) || matches!(origin, Origin::Random { .. }) && !plain {
        return None;
    }
    range(look, sizing)?.greatest.plus(&Linear::number(1), 1)
}

fn range(look: &Look<'_>, index: &Index) -> Option<IndexRange> {
    match index {
        Index::Integer(n, _) => Some(IndexRange::number(Linear::number((*n).into()))),
        Index::Tuple(name) => {
            let extent = look.extent(look.found.shape(&name.text)?)?;
            let greatest = extent.plus(&Linear::number(-1), 1)?;
            Some(IndexRange { least: Linear::number(0), greatest })
        }
        Index::Dims(of, _) => match &of[..] {
            [Index::Tuple(name)] => {
                Some(IndexRange::number(look.extent(look.found.shape(&name.text)?)?))
            }
            _ => None,
        },
        Index::Rank(of, _) => match &of[..] {
            [Index::Tuple(name)] => {
                let rank = Linear::of(Quantity::Rank, look.found.shape(&name.text)?);
                Some(IndexRange::number(rank))
            }
            _ => None,
        },
        Index::Sum(terms, _) => {
            let mut sum = IndexRange::number(Linear::default());
            for (negated, term) in terms {
                let term = range(look, term)?.times(if *negated { -1 } else { 1 })?;
                sum.least = sum.least.plus(&term.least, 1)?;
                sum.greatest = sum.greatest.plus(&term.greatest, 1)?;
            }
            Some(sum)
        }
        Index::Product(first, rest, _) => {
            let mut product = range(look, first)?;
            for (op, by) in rest {
                let by = range(look, by)?;
                product = match (op, product.as_number(), by.as_number()) {
                    (IndexOp::Mul, _, Some(times)) => product.times(times)?,
                    (IndexOp::Mul, Some(times), None) => by.times(times)?,
                    _ => return None,
                };
            }
            Some(product)
        }
        Index::Flat(..) | Index::Call(..) | Index::Array(_) | Index::Star(_) => None,
    }
}
