//! Errors of bound arrays that do not fit, or do not determine the extents.

use super::{Bound, From, Inference, KnownExtent};
use crate::et::checked::{Checked, Solution};
use crate::et::overrides::list;
use crate::et::ranks::Problem;
use crate::et::space::{Space, name_of, rule_span};
use crate::et::system::Limit;
use crate::et::{ShapeId, Tuple, codes, report};
use crate::text::{count, quote};
use ijk_syntax::{Diagnostic, Span};

/// Solutions and names that one message lists at most.
pub const SHOWN: usize = 3;
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
        From::InBounds(read) => {
            (read.span, format!("so that no read of `{}` passes its end", read.array.text))
        }
        From::Unread => (Span::default(), "since nothing reads it".to_owned()),
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
    before: KnownExtent<'_>,
    after: KnownExtent<'_>,
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
    codes::BINDING_RANK.error(info.span, message).with_label(wanted)
}

/// The bound arrays that no ranks fit, each by itself.
pub fn unfit(alone: &Problem<'_>, bound: &Bound) -> Vec<usize> {
    let fits = |array: usize, axes: usize| {
        let mut problem = alone.clone();
        problem.bind(array, axes);
        problem.solutions().next().is_some()
    };
    let unfit = bound.iter().filter(|(array, shape)| !fits(*array, shape.len()));
    unfit.map(|(array, _)| *array).collect()
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

/// Errors about the first of several combinations of ranks, none of which fits.
pub fn of_all(mut errors: Vec<Diagnostic>, combinations: usize) -> Vec<Diagnostic> {
    if combinations > 1
        && let Some(last) = errors.last_mut()
    {
        let message =
            format!("this is so for the first of {combinations} combinations of ranks; none fits");
        last.hints.push(ijk_syntax::Hint { message, replacement: None });
    }
    errors
}

/// Several solutions.
pub fn ambiguous(checked: &Checked, solutions: &[Solution], unknown: &[ShapeId]) -> Diagnostic {
    let ranks = |t: &Tuple| {
        let mut ranks: Vec<usize> = solutions.iter().map(|s| s.of(t).len()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    };
    match checked.tuples.iter().map(|t| (t, ranks(t))).find(|(_, ranks)| ranks.len() > 1) {
        Some((tuple, ranks)) => several_ranks(tuple, &ranks),
        None => several_extents(checked, solutions, unknown),
    }
}

fn several_ranks(tuple: &Tuple, ranks: &[usize]) -> Diagnostic {
    let name = &tuple.name;
    let either: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let either = either.join(", ");
    let message = format!("the bound arrays allow more than one rank of `{name}`: {either}");
    codes::AMBIGUOUS
        .error(tuple.span, message)
        .with_hint(format!("`--rank {name}={}` decides", ranks[0]))
}

fn several_extents(checked: &Checked, solutions: &[Solution], unknown: &[ShapeId]) -> Diagnostic {
    let shown = undecided(checked, solutions, unknown);
    let names: Vec<String> = shown.iter().map(|t| format!("`{}`", t.name)).collect();
    let span = shown.first().map_or(Span::default(), |t| t.span);
    let message = format!("the bound arrays do not tell the extents of {}", names.join(", "));
    let flags = |s: &Solution| {
        let flag = |t: &&Tuple| format!("--dims {}={}", t.name, list(s.of(t)));
        format!("`{}`", shown.iter().map(flag).collect::<Vec<_>>().join(" "))
    };
    let mut offers: Vec<String> = solutions.iter().take(SHOWN).map(flags).collect();
    if offers.is_empty() {
        offers = shown.iter().map(|t| format!("`--dims {}=…`", t.name)).collect();
    }
    let open = |t: &&Tuple| checked.system.dims_rules[t.shape.0 as usize].is_none();
    let others = solutions.len() > SHOWN || shown.iter().any(open);
    let more = if others && !solutions.is_empty() { " or others" } else { "" };
    let offers = offers.join(", ");
    codes::AMBIGUOUS.error(span, message).with_hint(format!("say which: {offers}{more}"))
}

/// One eintup for each unknown shape, without those that others define and those that do not
/// differ.
fn undecided<'a>(
    checked: &'a Checked,
    solutions: &[Solution],
    unknown: &[ShapeId],
) -> Vec<&'a Tuple> {
    let differs =
        |t: &&Tuple| solutions.len() < 2 || solutions.iter().any(|s| s.of(t) != solutions[0].of(t));
    let defined = |t: &&Tuple| {
        let rule = checked.system.dims_rules[t.shape.0 as usize];
        rule.is_some_and(|r| matches!(checked.system.rules[r].relation, Limit::Equals(_)))
    };
    let first = |shape: &ShapeId| checked.tuples.iter().find(|t| t.shape == *shape);
    let tuples: Vec<&Tuple> = unknown.iter().filter_map(first).collect();
    let mut free: Vec<&Tuple> =
        tuples.iter().copied().filter(|t| differs(t) && !defined(t)).collect();
    if free.is_empty() {
        free = tuples;
    }
    free.sort_by_key(|t| t.span.start);
    free.truncate(SHOWN);
    free
}
