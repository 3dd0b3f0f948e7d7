//! Shapes whose extents a run needs.

use super::Bound;
use super::in_bounds::is_replaced;
use crate::et::checked::Checked;
use crate::et::system::Limit;
use crate::et::walk::{self, Event, Standing};

/// For each shape whether something reads its extents: a variable of a statement that runs, `DIMS`, a
/// constraint on another's extents, a loop. `RANK` does not.
pub fn shapes(checked: &Checked, bound: &Bound) -> Vec<bool> {
    let mut read = vec![false; checked.shapes as usize];
    let mut note = |event: Event<'_>| {
        let name = match event {
            Event::Name(_, Standing::Ranked) => return,
            Event::Name(name, _) => &name.text,
            Event::Access(access, _) => &access.array.text,
        };
        if let Some(tuple) = checked.tuple(name) {
            read[tuple.shape.0 as usize] = true;
        }
    };
    for (n, statement) in checked.program.statements.iter().enumerate() {
        if !is_replaced(checked, bound, n) {
            walk::statement(statement, &mut note);
        }
        walk::conditions(&checked.program, n, &mut note);
    }
    if let Some(call) = &checked.program.call {
        walk::call(call, &mut note);
    }
    for looped in checked.program.loops.iter().filter_map(|l| checked.tuple(&l.tuple.text)) {
        read[looped.shape.0 as usize] = true;
    }
    for rule in &checked.system.rules {
        if let Limit::Equals(expr) = &rule.relation {
            expr.dims().into_iter().for_each(|shape| read[shape.0 as usize] = true);
        }
    }
    read
}
