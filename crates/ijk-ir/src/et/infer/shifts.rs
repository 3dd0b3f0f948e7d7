//! Eintups that bound arrays have by themselves only beside shifts of them.
//!
//! `y[i] = x[i+2] - x[i]` reads one axis at several shifts of `i`, 0 among them: `x[i]` no more decides `i` than `x[i+2]`
//! does. So `i` goes as far as is in bounds, as if both were arithmetic. Whatever else has the eintup by itself decides:
//! another array, a statement without shifts of that array, a declaration. A shift by another eintup, as in
//! `r[k] = x[i] * x[i+k]`, is none: points that it skips are what such statements rely on.

use crate::et::checked::Checked;
use crate::et::walk::{self, Event, Standing};
use crate::et::{Origin, ShapeId};
use ijk_syntax::et::ast::{Access, Index, Statement};
use std::collections::HashSet;

/// An eintup's shape at a place of an array.
type Place = (usize, usize, ShapeId);

/// For each shape whether bound arrays have it by itself, and all of them beside shifts.
pub(in crate::et) fn shifted(checked: &Checked) -> Vec<bool> {
    let mut plain = vec![false; checked.shapes as usize];
    let mut decided = vec![false; checked.shapes as usize];
    for (array, info) in checked.arrays.iter().enumerate() {
        if matches!(info.origin, Origin::Random { .. }) {
            let shapes = checked.system.plain[array].iter().flatten();
            shapes.for_each(|shape| decided[shape.0 as usize] = true);
        }
    }
    for (n, statement) in checked.program.statements.iter().enumerate() {
        let found = Found::of(checked, statement);
        for (array, place, shape) in found.plain {
            plain[shape.0 as usize] = true;
            decided[shape.0 as usize] |= !found.shifts.contains(&(array, place, shape));
        }
        let mut conditions = Found::default();
        walk::conditions(&checked.program, n, &mut |event| conditions.note(checked, event));
        conditions.plain.iter().for_each(|(_, _, shape)| decided[shape.0 as usize] = true);
    }
    let ruled = |shape: usize| checked.system.dims_rules[shape].is_some();
    (0..plain.len()).map(|shape| plain[shape] && !decided[shape] && !ruled(shape)).collect()
}

/// Accesses of inputs in a statement.
#[derive(Default)]
struct Found {
    /// Where an eintup stands by itself.
    plain: HashSet<Place>,
    /// Where arithmetic of one eintup and static values stands.
    shifts: HashSet<Place>,
}

impl Found {
    fn of(checked: &Checked, statement: &Statement) -> Self {
        let mut found = Self::default();
        walk::statement(statement, &mut |event| found.note(checked, event));
        found
    }

    fn note(&mut self, checked: &Checked, event: Event<'_>) {
        let Event::Access(access, _) = event else { return };
        let Some(array) = checked.array(&access.array.text) else { return };
        if checked.arrays[array].origin != Origin::Input {
            return;
        }
        for (place, index) in access.indices.iter().enumerate() {
            let Some(shape) = only(checked, index) else { continue };
            let places = match index {
                Index::Tuple(_) => &mut self.plain,
                _ => &mut self.shifts,
            };
            places.insert((array, place, shape));
        }
    }
}

/// The one eintup that is a variable of an index expression without elements of arrays.
fn only(checked: &Checked, index: &Index) -> Option<ShapeId> {
    let (mut shapes, mut nested) = (Vec::new(), false);
    walk::index(index, Standing::Index, &mut |event| match event {
        Event::Name(name, Standing::Index) => {
            let shape = checked.tuple(&name.text).map(|tuple| tuple.shape);
            shapes.extend(shape.filter(|shape| !shapes.contains(shape)));
        }
        Event::Access(Access { .. }, _) => nested = true,
        Event::Name(..) => {}
    });
    match shapes.as_slice() {
        &[one] if !nested => Some(one),
        _ => None,
    }
}
