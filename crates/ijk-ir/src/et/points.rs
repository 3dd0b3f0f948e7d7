//! Number of points of a statement.

use super::ShapeId;
use super::checked::Checked;
use super::walk::{self, Event, Role, Standing};
use std::collections::HashMap;

/// For each statement the shapes of its variables and of the loops around it, as often as there are variables of a
/// shape.
pub fn variables(checked: &Checked) -> Vec<Vec<ShapeId>> {
    let by_name: HashMap<&str, usize> =
        checked.tuples.iter().enumerate().map(|(n, t)| (t.name.as_str(), n)).collect();
    let of = |(n, statement)| {
        let around = checked.program.loops_around(n);
        let mut found: Vec<usize> =
            around.filter_map(|l| by_name.get(l.tuple.text.as_str()).copied()).collect();
        walk::statement(statement, &mut |event| {
            let name = match event {
                Event::Name(_, Standing::Fixed) | Event::Access(_, Role::Left) => return,
                Event::Name(name, _) => &name.text,
                Event::Access(access, _) => &access.array.text,
            };
            found.extend(by_name.get(name.as_str()));
        });
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|t| checked.tuples[t].shape).collect()
    };
    checked.program.statements.iter().enumerate().map(of).collect()
}

/// The number of points of the domain that variables of these shapes span.
pub fn points(variables: &[ShapeId], dims: &[Vec<u64>]) -> u128 {
    let extents = variables.iter().flat_map(|s| &dims[s.0 as usize]);
    if extents.clone().any(|n| *n == 0) {
        return 0;
    }
    extents.fold(1, |product: u128, n| product.saturating_mul((*n).into()))
}
