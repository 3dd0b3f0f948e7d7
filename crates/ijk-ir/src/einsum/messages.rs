//! Errors of an einsum whose operands do not fit.

use super::codes;
use super::resolve::AxisPlace;
use crate::text::{count, count_of};
use ijk_syntax::einsum::{Subscripts, Term, visible};
use ijk_syntax::{Diagnostic, Span};

pub(super) fn operands(subscripts: &Subscripts, given: usize) -> Diagnostic {
    let named = count(subscripts.operands.len(), "operand");
    let message = format!("the subscripts are of {named}, but {given} {} given", are(given));
    let end = subscripts.operands.last().map_or(0, |term| term.span.end);
    codes::OPERANDS.error(Span::new(0, end), message)
}

pub(super) fn axes(term: &Term, operand: usize, shape: &[u64]) -> Diagnostic {
    let named = count_of(term.indices.len(), "index", "indices");
    let axes = count_of(shape.len(), "axis", "axes");
    let at_least = if term.ellipsis.is_some() { "at least " } else { "" };
    let message = format!(
        "operand {} has {axes} (its shape is {shape:?}), but its subscripts have {at_least}{named}",
        operand + 1
    );
    let error = codes::AXES.error(term.span, message);
    match term.indices.len() < shape.len() {
        true => error.with_hint("`...` stands for axes that no letter names"),
        false => error,
    }
}

pub(super) fn extents(name: &str, first: &AxisPlace, other: &AxisPlace) -> Diagnostic {
    let name = visible(name);
    let message = format!(
        "index `{name}` is {} on axis {} of operand {} but {} on axis {} of operand {}",
        first.extent,
        first.axis,
        first.operand + 1,
        other.extent,
        other.axis,
        other.operand + 1
    );
    let error = codes::EXTENTS.error(other.span, message).with_label(other.extent.to_string());
    error.with_related(first.span, first.extent.to_string())
}

pub(super) fn diagonal(name: &str, first: &AxisPlace, other: &AxisPlace) -> Diagnostic {
    let name = visible(name);
    let (first, other) = if first.axis < other.axis { (first, other) } else { (other, first) };
    let message = format!(
        "index `{name}` takes a diagonal of operand {}, whose axes {} and {} have the extents {} and {}",
        first.operand + 1,
        first.axis,
        other.axis,
        first.extent,
        other.extent
    );
    codes::DIAGONAL.error(first.span.to(other.span), message)
}

pub(super) fn output_ellipsis(subscripts: &Subscripts, unnamed: usize) -> Diagnostic {
    let axes = count_of(unnamed, "axis", "axes");
    let span = subscripts.output.span;
    let message = format!("`...` stands for {axes} of the operands, but the output has no `...`");
    let error = codes::OUTPUT_ELLIPSIS.error(span, message);
    match subscripts.explicit {
        true => {
            let text = format!("...{}", subscripts.output_text());
            error.with_fix("keep those axes, or name them to sum over them", span, text)
        }
        false => error,
    }
}

fn are(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}
