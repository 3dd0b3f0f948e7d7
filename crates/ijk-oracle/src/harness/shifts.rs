//! Extents of eintups that an input has by itself beside shifts of them, literally: `i` in `y[i] = x[i+2] - x[i]`.

use crate::generate::et::EtCase;
use crate::reference::et::Shapes;
use crate::reference::et::accesses::accesses;
use ijk_ir::et::Checked;
use ijk_syntax::et::ast::{Access, Constraint, Index, Quantity, Relation, Statement};

/// Returns true if an eintup's extents may differ from those of an input that has it by itself: the input is read at
/// shifts of it, and a constraint, the caller or a sum in an index of another array so far says what they are, or no
/// read at a shift by a number passes the end.
pub fn fits_shifts(
    case: &EtCase,
    (checked, shapes): (&Checked, &Shapes),
    (array, place, here): (&str, usize, &[usize]),
    tuple: &str,
) -> bool {
    let shape = |name: &str| checked.tuples.iter().find(|t| t.name == name).map(|t| t.shape);
    let reads = |statement: &Statement| -> Vec<Index> {
        let all = accesses(statement).into_iter();
        let own = all.filter(|access: &&Access| access.array.text == array);
        own.filter_map(|access| access.indices.get(place).cloned()).collect()
    };
    let same = |index: &Index| matches!(index, Index::Tuple(t) if shape(&t.text) == shape(tuple));
    let statements = &checked.program.statements;
    let mut beside = statements.iter().map(reads).enumerate();
    let Some((at, reads)) = beside.find(|(_, reads)| reads.iter().any(same)) else { return false };
    let shifted = reads.iter().any(|index| !same(index));
    let extents = &shapes.tuples[tuple];
    let reaches = |index: &Index| {
        let by = shift(index, tuple).unwrap_or(0);
        extents.iter().zip(here).all(|(&n, &here)| {
            // A shift beyond 64 bits decides nothing: the program is refused.
            let end = (n as i64).checked_add(by);
            n == 0 || end.is_none_or(|end| end <= here as i64)
        })
    };
    let given = |name: &str| shape(name) == shape(tuple);
    let elsewhere = statements[..=at].iter().flat_map(accesses).any(|access| {
        access.array.text != array && access.indices.iter().any(|index| adds_to(index, tuple))
    });
    let decided = case.dims.keys().any(|name| given(name))
        || checked.program.constraints.iter().any(|c| is_equation(c) && given(&c.tuple.text));
    shifted && (elsewhere || decided || reads.iter().all(reaches))
}

/// Returns true for `DIMS(t) = …`.
fn is_equation(constraint: &Constraint) -> bool {
    constraint.quantity == Quantity::Dims && matches!(constraint.relation, Relation::Equals(_))
}

/// Returns true for a sum with the eintup.
fn adds_to(index: &Index, tuple: &str) -> bool {
    let Index::Sum(terms, _) = index else { return false };
    terms.iter().any(|(_, term)| matches!(term, Index::Tuple(name) if name.text == tuple))
}

/// The number that an index adds to an eintup, if that is all that it does.
fn shift(index: &Index, tuple: &str) -> Option<i64> {
    let Index::Sum(terms, _) = index else { return None };
    let (mut found, mut by) = (false, 0);
    for term in terms {
        match term {
            (false, Index::Tuple(name)) if name.text == tuple && !found => found = true,
            (true, Index::Integer(n, _)) => by = i64::saturating_sub(by, *n),
            (false, Index::Integer(n, _)) => by = i64::saturating_add(by, *n),
            _ => return None,
        }
    }
    found.then_some(by)
}
