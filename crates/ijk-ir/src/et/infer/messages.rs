//! What is said of bound arrays that do not fit, or do not tell.

use super::{Bound, From, Inference, Known};
use crate::et::checked::{Checked, Solution};
use crate::et::overrides::list;
use crate::et::ranks::Problem;
use crate::et::space::{Space, name_of, rule_span};
use crate::et::system::Rule;
use crate::et::{ShapeId, codes, report};
use crate::text::{count, quote};
use ijk_syntax::{Diagnostic, Span};

/// Solutions and names that one message lists at most.
const SHOWN: usize = 3;
/// Combinations of ranks that are looked at for a message.
const MAX_LOOKED_AT: usize = 1000;

/// `ipos` or, of several, `ipos.1`.
fn component_name(space: &Space<'_>, shape: ShapeId, component: usize) -> String {
    let name = name_of(space.checked, shape);
    match space.rank(shape) {
        1 => format!("`{name}`"),
        _ => format!("`{name}.{component}`"),
    }
}

/// Where a value comes from: a place in the text, and the words after "is 3".
fn origin(space: &Space<'_>, shape: ShapeId, from: From<'_>) -> (Span, String) {
    let checked = space.checked;
    match from {
        From::Axis { array, place, axis } => {
            let span = checked.system.sizing[array].indices[place].span();
            (span, format!("on axis {axis} of `{}`", checked.arrays[array].name))
        }
        From::Flag => {
            let tuple = checked.tuples.iter().find(|t| t.shape == shape);
            (tuple.map_or(Span::default(), |t| t.span), "by `--dims`".to_owned())
        }
        From::Counted(link) => (link.span, "as the number of components it counts".to_owned()),
        From::Rule(by) => {
            let span = rule_span(checked, by);
            (span, format!("by {}", quote(&checked.source, span, "a constraint")))
        }
    }
}

/// Two values of one extent.
pub fn conflict(
    space: &Space<'_>,
    shape: ShapeId,
    component: usize,
    before: Known<'_>,
    after: Known<'_>,
) -> Diagnostic {
    let name = component_name(space, shape, component);
    let ((at, old), (span, new)) =
        (origin(space, shape, before.from), origin(space, shape, after.from));
    let message = format!("{name} is {} {old} but {} {new}", before.value, after.value);
    codes::BINDING_CONFLICT
        .error(span, message)
        .with_label(format!("{}", after.value))
        .with_related(at, format!("{}", before.value))
}

/// A value outside of the range of a constraint.
pub fn outside(space: &Space<'_>, rule: &Rule, component: usize, known: Known<'_>) -> Diagnostic {
    let name = component_name(space, rule.shape, component);
    let span = rule_span(space.checked, rule.shape);
    let (at, from) = origin(space, rule.shape, known.from);
    let text = quote(&space.checked.source, span, "the constraint");
    let message = format!("{name} is {} {from}, outside of {text}", known.value);
    codes::BINDING_CONFLICT.error(span, message).with_related(at, format!("{}", known.value))
}

/// A constraint that the known extents leave no solution for.
pub fn unsatisfied(
    inference: &Inference<'_>,
    shape: ShapeId,
    component: usize,
    unknown: Option<ShapeId>,
) -> Diagnostic {
    let space = &inference.space;
    let span = rule_span(space.checked, shape);
    let text = quote(&space.checked.source, span, "the constraint");
    let known = inference.known[shape.0 as usize].get(component).copied().flatten();
    let mut facts = Vec::new();
    if let Some(known) = known {
        let (_, from) = origin(space, shape, known.from);
        facts.push(format!("DIMS({}) is {} {from}", name_of(space.checked, shape), known.value));
    }
    facts.extend(space.terms(shape, component, &|s, c| inference.get(s, c)));
    let facts = facts.join(", ");
    let message = match unknown {
        Some(of) => {
            let name = name_of(space.checked, of);
            format!("no extent of `{name}` satisfies {text} where {facts}")
        }
        None => format!("no extents satisfy {text} where {facts}"),
    };
    let error = codes::CONSTRAINT_FAILS.error(span, message);
    match known {
        Some(known) => {
            let (at, _) = origin(space, shape, known.from);
            error.with_related(at, format!("{}", known.value))
        }
        None => error,
    }
}

/// No ranks give the bound arrays as many axes as they have.
pub fn no_ranks(checked: &Checked, alone: &Problem<'_>, bound: &Bound) -> Vec<Diagnostic> {
    let possible = |arrays: &[&(usize, Vec<u64>)]| {
        let mut problem = alone.clone();
        arrays.iter().for_each(|(array, shape)| problem.bind(*array, shape.len()));
        problem.solutions().next().is_some()
    };
    if !possible(&[]) {
        return vec![report::explain(checked, alone)];
    }
    let single: Vec<Diagnostic> = bound
        .iter()
        .filter(|b| !possible(&[b]))
        .map(|(array, shape)| wrong_rank(checked, alone, *array, shape.len()))
        .collect();
    if !single.is_empty() {
        return single;
    }
    for (n, second) in bound.iter().enumerate() {
        if let Some(first) = bound[..n].iter().find(|first| !possible(&[first, second])) {
            return vec![apart(checked, first, second)];
        }
    }
    let mut problem = alone.clone();
    bound.iter().for_each(|(array, shape)| problem.bind(*array, shape.len()));
    vec![report::explain(checked, &problem)]
}

fn wrong_rank(checked: &Checked, alone: &Problem<'_>, array: usize, axes: usize) -> Diagnostic {
    let info = &checked.arrays[array];
    let totals = alone.clone().solutions().take(MAX_LOOKED_AT);
    let mut totals: Vec<u32> = totals.map(|r| r.places[array].iter().sum()).collect();
    totals.sort_unstable();
    totals.dedup();
    let wanted = match &totals[..] {
        [one] => count(*one as usize, "axis"),
        [first, .., last] => format!("{first} to {last} axes"),
        [] => "no axes".to_owned(),
    };
    let wanted = wanted.replace("axiss", "axes");
    let text = quote(&checked.source, info.span, "the array");
    let message = format!("{text} has {wanted}, but the array bound to it has {axes}");
    let error = codes::BINDING_RANK.error(info.span, message).with_label(wanted);
    let groups: Vec<usize> = (0..info.places)
        .map(|p| checked.system.places[array] as usize + p)
        .map(|node| checked.system.groups[node].0 as usize)
        .collect();
    report::offer_rank(checked, &groups, error)
}

fn apart(checked: &Checked, first: &(usize, Vec<u64>), second: &(usize, Vec<u64>)) -> Diagnostic {
    let (a, b) = (&checked.arrays[first.0], &checked.arrays[second.0]);
    let axes = |n: usize| count(n, "axis").replace("axiss", "axes");
    let (have, other) = (axes(second.1.len()), axes(first.1.len()));
    let message = format!(
        "`{}` has {other} and `{}` has {have}, which no ranks of their eintups allow together",
        a.name, b.name
    );
    codes::BINDING_RANK.error(b.span, message).with_label(have).with_related(a.span, other)
}

/// Several solutions.
pub fn ambiguous(checked: &Checked, solutions: &[Solution]) -> Diagnostic {
    let ranks = |t: &crate::et::Tuple| {
        let mut ranks: Vec<usize> = solutions.iter().map(|s| s.of(t).len()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    };
    if let Some(tuple) = checked.tuples.iter().find(|t| ranks(t).len() > 1) {
        let name = &tuple.name;
        let ranks = ranks(tuple);
        let either: Vec<String> = ranks.iter().map(usize::to_string).collect();
        let message =
            format!("the bound arrays allow more than one rank of `{name}`: {}", either.join(", "));
        return codes::AMBIGUOUS
            .error(tuple.span, message)
            .with_hint(format!("`--rank {name}={}` decides", ranks[0]));
    }
    extents(checked, solutions)
}

fn extents(checked: &Checked, solutions: &[Solution]) -> Diagnostic {
    let differs = |t: &&crate::et::Tuple| {
        solutions.len() < 2 || solutions.iter().any(|s| s.of(t) != solutions[0].of(t))
    };
    let mut shapes = Vec::new();
    let tuples = checked.tuples.iter().filter(differs);
    let tuples: Vec<_> = tuples
        .filter(|t| {
            let new = !shapes.contains(&t.shape);
            shapes.push(t.shape);
            new
        })
        .collect();
    let free = tuples.iter().filter(|t| {
        let rule = checked.system.dims_rules[t.shape.0 as usize];
        !rule.is_some_and(|r| {
            matches!(checked.system.rules[r].relation, crate::et::system::Limit::Equals(_))
        })
    });
    let mut shown: Vec<_> = free.take(SHOWN).copied().collect();
    if shown.is_empty() {
        shown = tuples.iter().take(SHOWN).copied().collect();
    }
    let names: Vec<String> = shown.iter().map(|t| format!("`{}`", t.name)).collect();
    let span = shown.first().map_or(Span::default(), |t| t.span);
    let message = format!("the bound arrays do not tell the extents of {}", names.join(", "));
    let flags = |s: &Solution| {
        let flag = |t: &&crate::et::Tuple| format!("--dims {}={}", t.name, list(s.of(t)));
        format!("`{}`", shown.iter().map(flag).collect::<Vec<_>>().join(" "))
    };
    let offers: Vec<String> = solutions.iter().take(SHOWN).map(flags).collect();
    let offers = offers.join(", ");
    let more = if solutions.len() > SHOWN || solutions.len() < 2 { " or others" } else { "" };
    codes::AMBIGUOUS.error(span, message).with_hint(format!("say which: {offers}{more}"))
}
