//! Texts of what is wrong.

use super::codes;
use crate::text::{quote, slice};
use ijk_syntax::et::ast::{Access, Along, Name, Statement};
use ijk_syntax::{Diagnostic, Span};
use ijk_types::{DType, TypeSet};

/// Checking rejects such names, and all other causes of errors without a code.
#[cold]
pub fn unknown(name: &Name) -> Diagnostic {
    let message = format!("`{}` has no value here", name.text);
    Diagnostic::error(name.span, message)
}

#[cold]
pub fn star(span: Span) -> Diagnostic {
    Diagnostic::error(span, "`:` stands among the indices of a nested array only")
}

#[cold]
pub fn nested(source: &str, span: Span) -> Diagnostic {
    let message = format!("{} nests too many operations", quote(source, span, "the index"));
    codes::INDEX_NESTED.error(span, message)
}

#[cold]
pub fn overflow(source: &str, span: Span) -> Diagnostic {
    let text = quote(source, span, "the index");
    let message = format!("{text} needs more than 64 bits, or has too many terms");
    codes::INDEX_OVERFLOW.error(span, message)
}

#[cold]
pub fn index_type(source: &str, access: &Access, t: DType) -> Diagnostic {
    let (text, name) = (quote(source, access.span, "the array"), &access.array.text);
    let message = format!("{text} is an index, but `{name}` holds {t}: an index is an integer");
    let diagnostic = codes::INDEX_TYPE.error(access.span, message).with_label(t.name());
    if t.is_complex() {
        return diagnostic;
    }
    let indices = source.get(access.array.span.end as usize..access.span.end as usize);
    let indices = indices.filter(|text| !text.contains(':')).unwrap_or("[…]");
    let statement = format!("whole{indices} = I64({name}{indices})");
    diagnostic.with_hint(format!("make integers of them in a statement before: `{statement}`"))
}

#[cold]
pub fn star_extent(
    source: &str,
    access: &Access,
    star: Span,
    extent: u64,
    rank: u32,
) -> Diagnostic {
    let text = quote(source, access.span, "the array");
    let message = format!(
        "`:` in {text} has extent {extent}, but stands where an index of rank {rank} is needed"
    );
    codes::STAR_EXTENT.error(star, message).with_label(extent.to_string())
}

#[cold]
pub fn operand(source: &str, name: &str, span: Span, t: DType, accepts: TypeSet) -> Diagnostic {
    let text = quote(source, span, "its operand");
    let message = format!("`{name}` is for {accepts}, but {text} is {t}");
    let diagnostic = codes::OPERAND_TYPE.error(span, message).with_label(t.name());
    match t {
        DType::Bool => diagnostic.with_hint("`I64(…)` makes 0 and 1 of a bool"),
        DType::C64 | DType::C128 => diagnostic
            .with_hint("`RE(…)`, `IM(…)` and `ABS(…)` make a real number of a complex one"),
        _ => diagnostic,
    }
}

#[cold]
pub fn unbound(statement: &Statement) -> Diagnostic {
    let name = &statement.left.array.text;
    let message = format!("`{name}` is not bound, and nothing assigns it");
    codes::UNBOUND
        .error(statement.left.span, message)
        .with_label("an input")
        .with_hint(format!("bind an array to the name `{name}`"))
}

#[cold]
pub fn declared_type(statement: &Statement, given: DType, wanted: DType) -> Diagnostic {
    let name = &statement.left.array.text;
    let message = format!("`{name}` is declared {wanted}, but the array that is bound is {given}");
    codes::DECLARED_TYPE
        .error(statement.span, message)
        .with_label(format!("{given} is bound"))
        .with_hint("convert the array, or declare no type")
}

#[cold]
pub fn literal(source: &str, span: Span, t: DType) -> Diagnostic {
    let text = quote(source, span, "the number");
    codes::LITERAL_TYPE.error(span, format!("{text} is no value of {t}")).with_label(t.name())
}

#[cold]
pub fn random_bound(source: &str, span: Span, t: DType) -> Diagnostic {
    let text = quote(source, span, "a bound");
    let message = format!("bounds of RANDOM(…, INT) are integers, but {text} is {t}");
    codes::RANDOM_BOUNDS
        .error(span, message)
        .with_label(t.name())
        .with_hint("make an integer of it with `I64(…)`, or draw FLOAT")
}

#[cold]
pub fn operands(name: &str, span: Span, found: usize) -> Diagnostic {
    Diagnostic::error(span, format!("`{name}` does not take {found} operands"))
}

#[cold]
pub fn component_count(source: &str, span: Span, found: u64) -> Diagnostic {
    let text = quote(source, span, "it");
    let message = format!("{text} has {found} components, but a value is one number");
    Diagnostic::error(span, message).with_hint("choose one of them: `[…]`")
}

/// Values along an eintup of which some are out of bounds.
#[cold]
pub fn along_skips(source: &str, along: &Along) -> Diagnostic {
    let text = quote(source, along.of.span(), "a value");
    let tuple = &along.tuple.text;
    let message = format!(
        "{text} is out of bounds at some points, but all values along `{tuple}` are ordered"
    );
    codes::NOT_WITHIN.error(along.of.span(), message).with_related(along.name, "by this").with_hint(
        "a statement before gives all of them a value: what is out of bounds is 0 in `z[…] = …`",
    )
}

/// An order with more places than values.
#[cold]
pub fn places(source: &str, along: &Along, count: u64, values: u64) -> Diagnostic {
    let tuple = &along.tuple;
    let span = along.place.as_ref().map_or(tuple.span, ijk_syntax::et::ast::Index::span);
    let text = quote(source, span, "the place");
    let message = format!(
        "{text} has {count} places of an order of the {values} values along `{}`",
        tuple.text
    );
    codes::PLACES
        .error(span, message)
        .with_label(count.to_string())
        .with_related(tuple.span, values.to_string())
}

/// The position of an extreme among no values.
#[cold]
pub fn along_nothing(along: &Along) -> Diagnostic {
    let tuple = &along.tuple;
    let message =
        format!("`{}` is empty: no position along it is that of an extreme value", tuple.text);
    codes::ALONG_NOTHING.error(tuple.span, message)
}

#[cold]
pub fn assigned_type(
    source: &str,
    (symbol, value): (Span, Span),
    name: &str,
    t: DType,
) -> Diagnostic {
    let symbol_text = quote(source, symbol, "the assignment");
    let message = format!("`{name}` would be {t}, for which {symbol_text} means nothing");
    let error = codes::NOT_ORDERED.error(symbol, message).with_label(t.name());
    if t.is_complex() {
        return error;
    }
    let value = slice(source, value);
    error.with_hint(format!("it is of floating-point numbers: `F64({value})`"))
}

#[cold]
pub fn too_large(name: &str, span: Span, shape: &[u64]) -> Diagnostic {
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shape = shape.join(", ");
    let message = format!("`{name}` of shape [{shape}] is too large for memory");
    codes::ARRAY_TOO_LARGE.error(span, message)
}

#[cold]
pub fn domain_too_large(source: &str, span: Span, extents: &[(String, u64)]) -> Diagnostic {
    let extents: Vec<String> = extents.iter().map(|(name, n)| format!("`{name}` {n}")).collect();
    let text = quote(source, span, "the statement");
    let message = format!("{text} has too many points: {}", extents.join(", "));
    codes::DOMAIN_TOO_LARGE.error(span, message)
}

#[cold]
pub fn too_many_axes(source: &str, span: Span, found: usize, most: usize) -> Diagnostic {
    let text = quote(source, span, "it");
    codes::TOO_MANY_AXES.error(span, format!("{text} has {found} axes, more than {most}"))
}

#[cold]
pub fn too_long(span: Span) -> Diagnostic {
    codes::VALUE_TOO_LONG.error(span, "the right side has too many operations")
}

#[cold]
pub fn binding_shape(name: &str, span: Span, shape: &[u64], places: &[u32]) -> Diagnostic {
    let (rank, wanted) = (shape.len(), places.iter().map(|&r| u64::from(r)).sum::<u64>());
    let message = format!("`{name}` is bound to an array of rank {rank}, but has rank {wanted}");
    Diagnostic::error(span, message)
}
