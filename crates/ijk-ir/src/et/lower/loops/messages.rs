//! Texts of what is wrong with loops.

use super::super::codes;
use crate::text::quote;
use ijk_syntax::et::ast::{Access, Statement};
use ijk_syntax::{Diagnostic, Span};
use ijk_types::DType;

#[cold]
pub fn extent(access: &Access) -> Diagnostic {
    let name = &access.array.text;
    let message = format!("elements of `{name}` decide extents, and change in the loop");
    let error = codes::LOOP_EXTENT.error(access.span, message);
    error.with_hint("extents are the same in all passes: compute what decides them before the loop")
}

#[cold]
pub fn changing_type(statement: &Statement, array: DType, value: DType) -> Diagnostic {
    let name = &statement.left.array.text;
    let message = format!("`{name}` holds {array} in this loop, but this makes {value} of it");
    let error = codes::LOOP_TYPE.error(statement.symbol, message);
    error.with_hint("in a loop an array has one element type: name another array, or convert")
}

#[cold]
pub fn later_pass(source: &str, name: &str, read: Span, write: Span) -> Diagnostic {
    let text = quote(source, read, "this");
    let message = format!("{text} may read an element of `{name}` that only a later pass assigns");
    let error = codes::LATER_PASS.error(read, message);
    error.with_related(write, "assigned here, pass by pass").with_hint(format!(
        "passes run in the order of the loop, `LOOP -t` in reverse; elements that `{name}` has before the loop may be \
         read, too"
    ))
}

#[cold]
pub fn same_pass(source: &str, name: &str, read: Span, write: Span) -> Diagnostic {
    let text = quote(source, read, "this");
    let message = format!("{text} may read an element of `{name}` that this pass has not assigned");
    let error = codes::LATER_PASS.error(read, message);
    error.with_related(write, "assigned here").with_hint("statements of a pass run in order")
}

#[cold]
pub fn unknown_pass(source: &str, name: &str, read: Span, write: Span) -> Diagnostic {
    let text = quote(source, read, "this");
    let message =
        format!("which pass assigns the element of `{name}` that {text} reads is not known");
    let error = codes::LATER_PASS.error(read, message);
    error
        .with_related(write, "assigned at computed positions")
        .with_hint(format!("give `{name}` elements before the loop"))
}

#[cold]
pub fn until_type(span: Span, dtype: DType) -> Diagnostic {
    let message = format!("a condition of `UNTIL` is a comparison, but this is of type {dtype}");
    let error = codes::UNTIL_TYPE.error(span, message);
    error.with_hint("`LT(x, y)`, `GT`, `LE`, `GE`, `EQ` and `NE` compare")
}
