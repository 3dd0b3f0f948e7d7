//! What is said where no ranks are possible.

use super::codes;
use super::ranks::{Problem, Source};
use super::{Checked, ShapeId};
use ijk_syntax::{Diagnostic, Span};

/// Names that one message mentions at most.
const MAX_NAMES: usize = 6;

/// The complaint about a program whose ranks cannot be; none where they can.
pub fn no_ranks(checked: &Checked) -> Option<Diagnostic> {
    let problem = Problem::new(checked, false);
    let mut solutions = problem.clone().solutions();
    if solutions.next().is_some() || solutions.gave_up() {
        return None;
    }
    Some(explain(checked, &problem))
}

/// Why a problem without solutions has none.
pub fn explain(checked: &Checked, problem: &Problem<'_>) -> Diagnostic {
    match problem.impossible() {
        Some((source, groups)) => one(checked, problem, source, &groups),
        None => all(checked, problem),
    }
}

fn one(checked: &Checked, problem: &Problem<'_>, source: Source, groups: &[usize]) -> Diagnostic {
    let known: Vec<String> =
        groups.iter().filter_map(|g| described(checked, problem, *g)).collect();
    let known = shortened(&known);
    let (span, why) = place(checked, source);
    let message = format!("{why} cannot hold: {known}");
    offer_rank(checked, groups, codes::NO_RANKS.error(span, message))
}

fn all(checked: &Checked, problem: &Problem<'_>) -> Diagnostic {
    let mut places = problem.sources().map(|source| place(checked, source));
    let (span, _) = places.next().unwrap_or_default();
    let message = "no ranks from 0 to 9 satisfy all constraints on ranks";
    let error = codes::NO_RANKS.error(span, message);
    places.take(MAX_NAMES).fold(error, |e, (span, why)| e.with_related(span, why))
}

/// Where a relation is seen, and its text.
fn place(checked: &Checked, source: Source) -> (Span, String) {
    let system = &checked.system;
    let quote = |span| crate::text::quote(&checked.source, span, "this constraint");
    match source {
        Source::Sum(n) => {
            (system.sums[n].span, format!("the equation of ranks that {}", system.sums[n].why))
        }
        Source::Rule(n) => {
            let span = checked.program.constraints[system.rules[n].constraint].span;
            (span, quote(span))
        }
        Source::Link(n) => {
            let span = system.links[n].span;
            (span, "the constraint on the extent that counts components here".to_owned())
        }
        Source::Axes(array) => {
            let info = &checked.arrays[array];
            (info.span, format!("the number of axes of `{}`", info.name))
        }
    }
}

/// `RANK(a) is 1 to 3`.
fn described(checked: &Checked, problem: &Problem<'_>, group: usize) -> Option<String> {
    let in_group = |shape: ShapeId| checked.system.groups[shape.0 as usize].0 as usize == group;
    let tuple = checked.tuples.iter().find(|t| in_group(t.shape))?;
    let ranks = problem.domain(tuple.shape);
    let text = match &ranks[..] {
        [] => "nothing".to_owned(),
        [one] => format!("{one}"),
        [first, .., last] => format!("{first} to {last}"),
    };
    Some(format!("RANK({}) is {text}", tuple.name))
}

fn shortened(parts: &[String]) -> String {
    let shown = parts[..parts.len().min(MAX_NAMES)].join(", ");
    match parts.len() {
        0 => "the ranks are fixed".to_owned(),
        n if n > MAX_NAMES => format!("{shown} …"),
        _ => shown,
    }
}

/// Offers a constraint for an eintup that has rank 1 only because nothing says otherwise.
pub fn offer_rank(checked: &Checked, groups: &[usize], error: Diagnostic) -> Diagnostic {
    let system = &checked.system;
    let group = |shape: ShapeId| system.groups[shape.0 as usize].0 as usize;
    let ruled: Vec<usize> = (0..checked.shapes)
        .filter(|s| system.rank_rules[*s as usize].is_some())
        .map(|s| group(ShapeId(s)))
        .collect();
    let one = system.one.0 as usize;
    let free = |g: usize| groups.contains(&g) && g != one && !ruled.contains(&g);
    match checked.tuples.iter().find(|t| free(group(t.shape))) {
        Some(tuple) => {
            let name = &tuple.name;
            error.with_hint(format!(
                "`{name}` has rank 1 where nothing says otherwise; `RANK({name}) IN [0,9]` leaves it open"
            ))
        }
        None => error,
    }
}
