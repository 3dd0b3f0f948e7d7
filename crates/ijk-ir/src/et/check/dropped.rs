//! Writes that are always dropped: `y[2*p+1] += b[p]` after `y[2*p] = a[p]`, which makes `y` one too short.
//!
//! Rule 3 skips what is out of bounds, and much that is written relies on it: a shift `y[a+1]`, an eintup that is
//! trimmed, reads at borders. So a warning needs all of this: the extents of both expressions differ by a number,
//! whatever the extents of eintups are; the greatest point of the write is out of bounds; it places elements
//! apart (an eintup times 2 or more); and no read of the statement skips that point anyway.

use super::super::Origin;
use super::super::codes;
use super::super::system::System;
use super::super::walk::{self, Event, Role};
use super::linear::{Linear, Look};
use super::{Symbols, never};
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::et::ast::{Access, Index, IndexOp, Program, Quantity, Statement};

/// The greatest value of an index expression, and the greatest factor of an eintup in it.
struct Greatest {
    value: Linear,
    factor: i128,
}

/// Warns of writes of which some are always dropped.
pub fn judge(source: &str, program: &Program, found: &Symbols, system: &System, sink: &mut Sink) {
    let look = Look::new(found, system);
    let mut sized = vec![false; found.arrays.infos.len()];
    for statement in &program.statements {
        let never = never::judge(source, statement, &look, sink);
        let Some(array) = found.arrays.get(&statement.left.array.text) else { continue };
        let first = !std::mem::replace(&mut sized[array], true);
        if never || first || found.arrays.infos[array].origin != Origin::Computed {
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
                let extent = self.extent(self.found.shape(&name.text)?)?;
                Some(Greatest { value: extent.plus(&Linear::number(-1), 1)?, factor: 1 })
            }
            Index::Dims(of, _) => match &of[..] {
                [Index::Tuple(name)] => fixed(self.extent(self.found.shape(&name.text)?)?),
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
            Index::Flat(..) | Index::Call(..) | Index::Array(_) | Index::Star(_) => None,
        }
    }
}
