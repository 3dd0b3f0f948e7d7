//! Ranks and extents that are given with the program.

use super::checked::Checked;
use super::ranks::{MAX_RANK, Problem};
use super::space::name_of;
use super::{ShapeId, codes};
use crate::compile::order::nearest;
use ijk_syntax::{Diagnostic, Span};
use std::collections::BTreeMap;

/// Ranks and extents that the user decides: `--rank ipos=2`, `--dims stride=2,2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Ranks by the names of eintups.
    pub ranks: BTreeMap<String, u32>,
    /// Extents by the names of eintups; their number is the rank.
    pub dims: BTreeMap<String, Vec<u64>>,
}

/// Overrides with their names looked up.
pub struct Given {
    /// For each shape.
    pub dims: Vec<Option<Vec<u64>>>,
    ranks: Vec<(ShapeId, u32, Span, String)>,
}

impl Given {
    pub fn new(checked: &Checked, overrides: &Overrides) -> Result<Self, Vec<Diagnostic>> {
        let mut given = Self { dims: vec![None; checked.shapes as usize], ranks: Vec::new() };
        let mut errors = Vec::new();
        for (name, rank) in &overrides.ranks {
            match checked.tuple(name) {
                Some(t) => {
                    given.ranks.push((t.shape, *rank, t.span, format!("--rank {name}={rank}")))
                }
                None => errors.push(unknown(checked, "rank", name)),
            }
        }
        for (name, dims) in &overrides.dims {
            let Some(tuple) = checked.tuple(name) else {
                errors.push(unknown(checked, "dims", name));
                continue;
            };
            let flag = format!("--dims {name}={}", list(dims));
            let place = &mut given.dims[tuple.shape.0 as usize];
            if place.as_ref().is_some_and(|other| other != dims) {
                let message = format!(
                    "`{flag}` and another `--dims` differ, but their eintups share one shape"
                );
                errors.push(codes::BINDING_CONFLICT.error(tuple.span, message));
            }
            given.ranks.push((tuple.shape, dims.len() as u32, tuple.span, flag));
            *place = Some(dims.clone());
        }
        if errors.is_empty() { Ok(given) } else { Err(errors) }
    }

    /// Fixes the ranks; reports each that does not fit by itself.
    pub fn fix(&self, problem: &mut Problem<'_>) -> Result<(), Vec<Diagnostic>> {
        let mut errors = Vec::new();
        for (shape, rank, span, flag) in &self.ranks {
            let before = problem.clone().narrowed().domain(*shape);
            let open = problem.is_open(*shape);
            problem.fix(*shape, *rank);
            if problem.domain(*shape).is_empty() || !(open || before.contains(rank)) {
                let rank_text = match &before[..] {
                    [only] => format!("{only}"),
                    [least, .., greatest] => format!("{least} to {greatest}"),
                    [] => "nothing".to_owned(),
                };
                let name = name_of(problem.checked(), *shape);
                let message = match *rank > MAX_RANK {
                    true => format!("`{flag}` does not fit: ranks go up to {MAX_RANK}"),
                    false => format!("`{flag}` does not fit: the rank of `{name}` is {rank_text}"),
                };
                let error = codes::BINDING_CONFLICT.error(*span, message);
                errors.push(match rule(problem.checked(), *shape).filter(|_| *rank <= MAX_RANK) {
                    Some(rule) => error.with_related(rule, rank_text),
                    None => error,
                });
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// Where the constraint on a shape's rank stands.
fn rule(checked: &Checked, shape: ShapeId) -> Option<Span> {
    let rule = checked.system.rank_rules[shape.0 as usize]?;
    Some(checked.program.constraints[checked.system.rules[rule].constraint].span)
}

/// `2,3`.
pub fn list(dims: &[u64]) -> String {
    dims.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn unknown(checked: &Checked, flag: &str, name: &str) -> Diagnostic {
    let names: Vec<&str> = checked.tuples.iter().map(|t| t.name.as_str()).collect();
    let message = format!("`--{flag}` names an unknown eintup, `{name}`");
    let error = codes::UNKNOWN_OVERRIDE.error(Span::default(), message);
    match nearest(name, names.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(format!("the eintups are {}", names.join(", "))),
    }
}
