//! Accesses that are never in bounds, for the shapes of bound arrays.
//!
//! `check` finds what is out of bounds whatever the extents are. `x[i+1000]` is where `x` has 10 elements, which only a run
//! knows. Programs rely on rule 3 where eintups are short, as in the first pass of a recurrence. So an access counts only if
//! it would stay out of bounds with longer eintups, and if the array has more than one position.

use super::checked::{Checked, Solution};
use super::codes;
use super::extent::Extents;
use super::infer::{Bound, is_replaced};
use super::walk::{self, Event, Role};
use crate::interval::Interval;
use crate::text::quote;
use ijk_syntax::Diagnostic;
use ijk_syntax::et::ast::{Access, Index};

/// Shorter eintups are taken to be as long as this.
const LONG: u64 = 64;

/// Warnings of accesses that are never in bounds for arrays of these shapes.
pub fn unreached(checked: &Checked, bound: &Bound, solution: &Solution) -> Vec<Diagnostic> {
    let longer = |dims: &Vec<u64>| dims.iter().map(|&n| n.max(LONG)).collect();
    let longer = Solution {
        dims: solution.dims.iter().map(longer).collect(),
        places: solution.places.clone(),
    };
    let run = BoundRun { checked, bound, solution: &longer };
    let mut found = Vec::new();
    for (n, statement) in checked.program.statements.iter().enumerate() {
        if is_replaced(checked, bound, n) {
            continue;
        }
        walk::statement(statement, &mut |event| {
            if let Event::Access(access, Role::Right | Role::Nested) = event {
                found.extend(run.judge(access));
            }
        });
    }
    found
}

/// Bound arrays, and the eintups of a run.
struct BoundRun<'a> {
    checked: &'a Checked,
    bound: &'a Bound,
    solution: &'a Solution,
}

impl BoundRun<'_> {
    fn judge(&self, access: &Access) -> Option<Diagnostic> {
        let array = self.checked.array(&access.array.text)?;
        let (_, shape) = self.bound.iter().find(|(bound, _)| *bound == array)?;
        let ranks = self.solution.places.get(array)?;
        let mut first = 0;
        for (place, (index, &rank)) in access.indices.iter().zip(ranks).enumerate() {
            let here = shape.get(first..first + rank as usize)?;
            first += rank as usize;
            if let Some((range, extent)) = self.outside(index, here) {
                return Some(self.warning(access, (place, index), range, extent));
            }
        }
        None
    }

    /// The range of a component that is never within the extent of its axis, which has several positions.
    fn outside(&self, index: &Index, extents: &[u64]) -> Option<(Interval, u64)> {
        if matches!(index, Index::Star(_)) {
            return None;
        }
        let ranges = Extents::new(self.checked, self.solution).range(index, extents.len() as u32);
        let never = |(range, extent): &(Interval, u64)| {
            *extent > 1 && (range.greatest < 0 || range.least >= i128::from(*extent))
        };
        ranges.ok()?.into_iter().zip(extents.iter().copied()).find(never)
    }

    fn warning(
        &self,
        access: &Access,
        (place, index): (usize, &Index),
        range: Interval,
        extent: u64,
    ) -> Diagnostic {
        let this = quote(&self.checked.source, access.span, "the access");
        let name = &access.array.text;
        let value = match range.greatest < 0 {
            true => "negative".to_owned(),
            false => format!("at least {}", range.least),
        };
        let message = format!(
            "{this} is never in bounds: its index at place {place} is {value}, and the array bound to `{name}` has \
             {extent} positions there; every point is skipped"
        );
        codes::NEVER_IN_BOUNDS.warning(index.span(), message).with_label(value)
    }
}
