//! Classifies an index expression as a map or a reduction.

use super::arith::{divides, for_each_letter};
use super::elements::LeafTypes;
use super::functions::reducer;
use super::letters::{LetterUse, Letters};
use super::{POSITION, Shape};
use crate::codes;
use crate::core::{AxisId, IndexExpr, Init};
use crate::infer::TypeVar;
use crate::sink::Sink;
use crate::text::slice;
use ijk_syntax::Span;
use ijk_syntax::ast::{self, Position};
use ijk_types::{Reducer, ResultType, TypeSet};

/// Start value of a reduction or a map.
pub fn init(reducer: Option<Reducer>) -> Init {
    match reducer {
        Some(Reducer::Monoid(monoid)) => Init::Identity(monoid),
        _ => Init::Zero,
    }
}

/// `Some(None)` maps, `Some(Some(reducer))` reduces; `None` after an error.
pub fn kind(
    expr: &ast::IndexExpr,
    shape: &Shape,
    letters: &Letters,
    source: &str,
    sink: &mut Sink,
) -> Option<Option<Reducer>> {
    let dropped: Vec<(&str, LetterUse)> = dropped(letters);
    let reducer = shape.outer.and_then(|(function, span)| Some((reducer(function)?, span)));
    match reducer {
        Some((Reducer::ArgMax | Reducer::ArgMin, span)) => {
            let fits = check_arg(expr, shape, &dropped, span, sink);
            fits.then_some(reducer.map(|(r, _)| r))
        }
        Some((order @ Reducer::Order(_), span)) => {
            super::order::check(expr, shape, letters, source, span, sink).then_some(Some(order))
        }
        Some((reducer, _)) if !dropped.is_empty() || folds(expr) => Some(Some(reducer)),
        Some(_) => Some(None),
        None if dropped.is_empty() => Some(None),
        None => {
            report_dropped(expr, shape, letters, source, sink);
            None
        }
    }
}

pub(super) fn dropped<'a>(letters: &'a Letters) -> Vec<(&'a str, LetterUse)> {
    let pairs = letters.axes.iter().zip(&letters.uses);
    let missing = pairs.filter(|(_, uses)| uses.in_operand && !uses.in_output);
    missing.map(|(axis, uses)| (axis.name.as_str(), *uses)).collect()
}

/// Returns true if points that no letter distinguishes may fall on one element: some output bracket holds two letters,
/// a division or a remainder.
pub(super) fn folds(expr: &ast::IndexExpr) -> bool {
    expr.output.positions.iter().any(|position| match position {
        Position::Letter(_) => false,
        Position::Bracket(arith, _) => {
            let mut letters = Vec::new();
            for_each_letter(arith, &mut |letter| letters.push(letter.name));
            letters.sort_unstable();
            letters.dedup();
            letters.len() > 1 || divides(arith)
        }
    })
}

fn check_arg(
    expr: &ast::IndexExpr,
    shape: &Shape,
    dropped: &[(&str, LetterUse)],
    span: Span,
    sink: &mut Sink,
) -> bool {
    let name = shape.outer.map_or("", |(function, _)| function.spelling());
    if folds(expr) {
        let message = format!("the output of `{name}` must tell its points apart: plain letters");
        sink.push(codes::ARG_FOLDS.error(expr.output.span, message));
        return false;
    }
    if dropped.len() == 1 {
        return true;
    }
    let what = match dropped {
        [] => "none is".to_string(),
        more => format!("{} are", list(more)),
    };
    let message =
        format!("`{name}` gives positions along exactly one dropped letter; {what} dropped");
    sink.push(codes::ARG_DROPPED.error(span, message));
    false
}

/// Reports letters that stand in the output of a map but cancel out of its index.
pub fn check_kept(
    reduce: Option<Reducer>,
    out_index: &[IndexExpr],
    letters: &Letters,
    sink: &mut Sink,
) {
    if matches!(reduce, Some(Reducer::Monoid(_))) {
        return;
    }
    for (n, (axis, uses)) in letters.axes.iter().zip(&letters.uses).enumerate() {
        let mentioned = || out_index.iter().any(|e| e.mentions(AxisId(n as u32)));
        if uses.in_output && !mentioned() {
            let message = format!("letter `{}` cancels out of the output's index", axis.name);
            sink.push(codes::CANCELLED.error(uses.first, message));
        }
    }
}

pub(super) fn list(letters: &[(&str, LetterUse)]) -> String {
    let quoted: Vec<String> = letters.iter().map(|(name, _)| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cold]
fn report_dropped(
    expr: &ast::IndexExpr,
    shape: &Shape,
    letters: &Letters,
    source: &str,
    sink: &mut Sink,
) {
    let dropped = &dropped(letters)[..];
    let (is, them) = if dropped.len() == 1 { ("is", "it") } else { ("are", "them") };
    let body = shape.body.to_string();
    let output = slice(source, expr.output.span);
    let used = letters.axes.iter().zip(&letters.uses).filter(|(_, uses)| uses.in_operand);
    let all: String = used.map(|(axis, _)| axis.name.as_str()).collect();
    let offers = offers(shape, &body, &all, output);
    let why = match (shape.outer, shape.inner()) {
        (Some((function, _)), _) => format!("`{}` does not reduce", function.spelling()),
        (None, _) => format!("no operator reduces {them}"),
    };
    let message = format!("{} {is} dropped from the output, but {why}", list(dropped));
    let mut diagnostic = codes::DROPPED.error(dropped[0].1.first, message).with_label("dropped");
    for (name, uses) in &dropped[1..] {
        diagnostic = diagnostic.with_related(uses.first, format!("`{name}` too"));
    }
    for (what, text) in offers {
        diagnostic = diagnostic.with_fix(format!("{what}: `{text}`"), expr.span, text);
    }
    sink.push(diagnostic);
}

/// The sentences and texts of expressions that might have been meant.
fn offers(shape: &Shape, body: &str, all: &str, output: &str) -> Vec<(&'static str, String)> {
    let fold = |symbol: &str| match (shape.outer, shape.inner()) {
        (Some((outer, _)), None) => {
            let space = if outer.is_symbol() { "" } else { " " };
            format!("{symbol}({}{space}{body})~{output}", outer.spelling())
        }
        (_, None) => format!("{symbol}{body}~{output}"),
        _ => format!("{symbol}({body})~{output}"),
    };
    let mut offers = Vec::new();
    match (shape.outer, shape.inner()) {
        (Some((outer, _)), Some(_)) => {
            let map = format!("{}({body})~{all}", outer.spelling());
            offers.push(("to sum afterwards", format!("{map} . +{all}~{output}")));
        }
        (_, Some(inner)) if inner.reduces() && inner.spelling() != "+" => {
            offers.push(("to sum", fold("+")));
            offers.push(("to fold by the expression's own operator", fold(inner.spelling())));
        }
        _ => offers.push(("to sum", fold("+"))),
    }
    offers
}

/// The type of the result where values are of a type.
pub fn reduced_type(
    reducer: Option<Reducer>,
    shape: &Shape,
    value: TypeVar,
    types: &mut LeafTypes,
    sink: &mut Sink,
) -> TypeVar {
    let span = shape.outer.map_or(Span::default(), |(_, span)| span);
    let rule = match reducer {
        None => return value,
        Some(Reducer::Monoid(monoid)) => (monoid.op().accepts(), ResultType::Same),
        Some(reducer) if reducer.gives_positions() => {
            (TypeSet::ORDERED, ResultType::Fixed(POSITION))
        }
        Some(_) => (TypeSet::ORDERED, ResultType::Same),
    };
    types.apply(span, rule, &[value], sink)
}
