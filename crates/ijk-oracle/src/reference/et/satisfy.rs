//! Literal check that ranks and extents satisfy a program's constraints.

use super::Shapes;
use super::range::apply;
use ijk_syntax::et::ast::{Bound, Constraint, Quantity, Relation};

/// The first constraint that ranks and extents violate. If arrays are bound, ranges of extents are ignored: they
/// specify drawn extents.
pub fn broken<'p>(
    constraints: &'p [Constraint],
    shapes: &Shapes,
    bound: bool,
) -> Option<&'p Constraint> {
    let draws = |constraint: &Constraint| {
        let range = matches!(constraint.relation, Relation::In(..));
        bound && range && constraint.quantity == Quantity::Dims
    };
    constraints.iter().find(|constraint| !draws(constraint) && !holds(constraint, shapes))
}

fn holds(constraint: &Constraint, shapes: &Shapes) -> bool {
    let Some(extents) = shapes.tuples.get(&constraint.tuple.text) else { return false };
    let found: Vec<i128> = match constraint.quantity {
        Quantity::Rank => vec![extents.len() as i128],
        Quantity::Dims => extents.iter().map(|&n| n.into()).collect(),
    };
    found.iter().enumerate().all(|(component, &n)| match &constraint.relation {
        Relation::In((lo, _), (hi, _)) => (i128::from(*lo)..=i128::from(*hi)).contains(&n),
        Relation::Equals(bound) => {
            let rank = |name: &str| shapes.tuples.get(name).map(Vec::len);
            demanded(bound, component, shapes, &rank) == Some(n)
        }
    })
}

/// A component of the right side; `None` if it has no value.
pub(crate) fn demanded(
    bound: &Bound,
    component: usize,
    shapes: &Shapes,
    rank: &dyn Fn(&str) -> Option<usize>,
) -> Option<i128> {
    let of = |bound: &Bound| demanded(bound, component, shapes, rank);
    match bound {
        Bound::Integer(n, _) => Some((*n).into()),
        Bound::Of(Quantity::Rank, tuple, _) => Some(rank(&tuple.text)? as i128),
        Bound::Of(Quantity::Dims, tuple, _) => {
            shapes.tuples.get(&tuple.text)?.get(component).map(|&n| n.into())
        }
        Bound::Min(x, y, _) => Some(of(x)?.min(of(y)?)),
        Bound::Max(x, y, _) => Some(of(x)?.max(of(y)?)),
        Bound::Sum(terms, _) => terms.iter().try_fold(0, |sum, (negated, term)| {
            let term = of(term)?;
            Some(if *negated { sum - term } else { sum + term })
        }),
        Bound::Product(first, rest, _) => {
            rest.iter().try_fold(of(first)?, |left, (op, right)| apply(*op, left, of(right)?).ok())
        }
    }
}
