//! Errors of programs that no ranks satisfy.

use super::codes;
use super::ranks::{Impossible, Problem, Source};
use super::space::rule_span;
use super::system::CountedQuantity;
use super::{Checked, ShapeId};
use ijk_syntax::{Diagnostic, Span};

/// Names that one message mentions at most.
const MAX_NAMES: usize = 6;

/// Error about a program without possible ranks; none where there are some.
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
        Some(found) => one(checked, &found),
        None => all(checked, problem),
    }
}

fn one(checked: &Checked, found: &Impossible<'_>) -> Diagnostic {
    let groups = &found.groups;
    let known: Vec<String> =
        groups.iter().filter_map(|g| described(checked, &found.problem, *g)).collect();
    let (span, why) = place(checked, found.source);
    let message = format!("{why} cannot hold: {}", shortened(&known));
    let mut error = codes::NO_RANKS.error(span, message);
    for other in found.others.iter().take(MAX_NAMES) {
        let (at, why) = place(checked, *other);
        let why = why.trim_start_matches("that ").trim_end_matches(',');
        error = error.with_related(at, why);
    }
    offer_rank(checked, groups, error)
}

fn all(checked: &Checked, problem: &Problem<'_>) -> Diagnostic {
    let mut places = problem.sources().map(|source| place(checked, source));
    let (span, _) = places.next().unwrap_or_default();
    let message = "no ranks from 0 to 9 satisfy all constraints on ranks";
    let error = codes::NO_RANKS.error(span, message);
    places.take(MAX_NAMES).fold(error, |e, (span, _)| e.with_related(span, "one of them"))
}

/// Where a relation is seen, and its text.
fn place(checked: &Checked, source: Source) -> (Span, String) {
    let system = &checked.system;
    let quote = |span| crate::text::quote(&checked.source, span, "this constraint");
    match source {
        Source::Sum(n) => (system.sums[n].span, format!("that {}", system.sums[n].why)),
        Source::Rule(n) => {
            let span = checked.program.constraints[system.rules[n].constraint].span;
            (span, quote(span))
        }
        Source::Link(n) => {
            let CountedQuantity::Shape(shape) = system.links[n].counts else {
                return Default::default();
            };
            let span = rule_span(checked, shape);
            (span, format!("{}, the number of components that `:` yields,", quote(span)))
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

/// Suggests a constraint for an eintup that has rank 1 only by default.
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
