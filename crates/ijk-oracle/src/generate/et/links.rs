//! Pairs of eintups with equal ranks, and the rule that implies it.

use crate::reference::et::accesses::accesses;
use ijk_syntax::et::ast::{Access, Bound, Index, Program, Quantity, Relation, Value};
use std::collections::BTreeMap;

/// Reason for the equal ranks of two eintups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// They, or the `DIMS` of them, occur in one index expression.
    Expression,
    /// Index expressions of them occur at one place of an array.
    Place,
    /// The `DIMS` of them occur in one constraint.
    Constraint,
}

impl Link {
    pub fn text(self) -> &'static str {
        match self {
            Self::Expression => "in one index expression",
            Self::Place => "at one place",
            Self::Constraint => "in one constraint",
        }
    }
}

/// Pairs of eintups of equal ranks.
pub(crate) fn links<'p>(
    program: &'p Program,
    is_tuple: &dyn Fn(&str) -> bool,
) -> Vec<(Link, &'p str, &'p str)> {
    let mut found = Vec::new();
    let mut stood: BTreeMap<(&str, usize), &str> = BTreeMap::new();
    for access in program.statements.iter().flat_map(accesses) {
        if !is_tuple(&access.array.text) {
            places(access, &mut stood, &mut found);
        }
    }
    for constraint in &program.constraints {
        if let (Quantity::Dims, Relation::Equals(bound)) =
            (constraint.quantity, &constraint.relation)
        {
            let mut names = vec![&constraint.tuple.text[..]];
            extents(bound, &mut names);
            pairs(Link::Constraint, &names, &mut found);
        }
    }
    found
}

fn places<'p>(
    access: &'p Access,
    stood: &mut BTreeMap<(&'p str, usize), &'p str>,
    found: &mut Vec<(Link, &'p str, &'p str)>,
) {
    for (place, e) in access.indices.iter().enumerate() {
        let mut names = Vec::new();
        met(e, &mut names);
        pairs(Link::Expression, &names, found);
        let Some(&first) = names.first() else { continue };
        let before = *stood.entry((&access.array.text, place)).or_insert(first);
        pairs(Link::Place, &[before, first], found);
    }
}

fn pairs<'p>(link: Link, names: &[&'p str], found: &mut Vec<(Link, &'p str, &'p str)>) {
    let different = names.windows(2).filter(|pair| pair[0] != pair[1]);
    found.extend(different.map(|pair| (link, pair[0], pair[1])));
}

/// The eintups whose components an expression uses.
fn met<'p>(e: &'p Index, names: &mut Vec<&'p str>) {
    match e {
        Index::Tuple(name) => names.push(&name.text),
        Index::Dims(list, _) if list.len() == 1 => met(&list[0], names),
        Index::Call(_, list, _) => list.iter().for_each(|e| met(e, names)),
        Index::Sum(terms, _) => terms.iter().for_each(|(_, term)| met(term, names)),
        Index::Product(first, rest, _) => {
            met(first, names);
            rest.iter().for_each(|(_, factor)| met(factor, names));
        }
        _ => {}
    }
}

fn extents<'p>(bound: &'p Bound, names: &mut Vec<&'p str>) {
    match bound {
        Bound::Of(Quantity::Dims, tuple, _) => names.push(&tuple.text),
        Bound::Of(..) | Bound::Integer(..) => {}
        Bound::Min(x, y, _) | Bound::Max(x, y, _) => {
            extents(x, names);
            extents(y, names);
        }
        Bound::Sum(terms, _) => terms.iter().for_each(|(_, term)| extents(term, names)),
        Bound::Product(first, rest, _) => {
            extents(first, names);
            rest.iter().for_each(|(_, factor)| extents(factor, names));
        }
    }
}

/// Returns true if a value contains random numbers.
pub(crate) fn draws(value: &Value) -> bool {
    crate::reference::et::terms::sites(value) > 0
}
