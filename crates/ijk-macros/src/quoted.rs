//! Diagnostics of a text that is the value of a string literal.

use ijk_syntax::Diagnostic;
use proc_macro2::Literal;

/// Diagnostics of a literal's value, with their places in the Rust source where they are to be found
/// there, else in the value, which is called `name`.
pub fn render(at: &Literal, value: &str, name: &str, diagnostics: &[Diagnostic]) -> String {
    let text = in_rust(at, value, diagnostics);
    text.unwrap_or_else(|| ijk_syntax::render(value, name, diagnostics, false))
}

/// The diagnostics with their places in the Rust source, where the literal has the program's text
/// as it is. (The compiler itself can only be pointed to the whole literal.)
fn in_rust(at: &Literal, source: &str, diagnostics: &[Diagnostic]) -> Option<String> {
    let literal = at.to_string();
    let start = literal.find(source).filter(|_| !source.is_empty())?;
    let span = at.span().unwrap();
    let path = span.local_file()?;
    let rust = std::fs::read_to_string(&path).ok()?;
    let (line, column) = (span.start().line().checked_sub(1)?, span.start().column());
    let before = rust.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
    let left: usize =
        rust.get(before..)?.chars().take(column.checked_sub(1)?).map(char::len_utf8).sum();
    let from = before + left;
    let shift = from + rust.get(from..)?.find(&literal)? + start;
    let shift = u32::try_from(shift).ok()?;
    let moved = diagnostics.iter().cloned().map(|diagnostic| moved(diagnostic, shift));
    Some(ijk_syntax::render(&rust, &path.display().to_string(), &moved.collect::<Vec<_>>(), false))
}

/// The diagnostic for a text that starts further on.
fn moved(mut diagnostic: Diagnostic, shift: u32) -> Diagnostic {
    let move_on = |span: &mut ijk_syntax::Span| {
        span.start += shift;
        span.end += shift;
    };
    move_on(&mut diagnostic.span);
    diagnostic.related.iter_mut().for_each(|(span, _)| move_on(span));
    let fixes = diagnostic.hints.iter_mut().filter_map(|hint| hint.replacement.as_mut());
    fixes.for_each(|(span, _)| move_on(span));
    diagnostic
}
