//! `et!`: a program in Einsum Tuple, checked at compile time.

use crate::complain::{error, warning};
use crate::input::{place, read, string_value};
use ijk_syntax::{Diagnostic, Severity};
use proc_macro2::{Literal, Span, TokenStream, TokenTree};
use quote::quote;

/// The macro's output: an expression of type `&'static ijk::et::Program`.
pub fn expand(input: TokenStream) -> TokenStream {
    match program(input) {
        Ok((source, extra)) => quote!({
            #extra
            static PROGRAM: ::ijk::__private::EtRecipe = ::ijk::__private::EtRecipe::new(#source);
            PROGRAM.program()
        }),
        Err(errors) => quote!({ #errors }),
    }
}

/// An expression for the program's text, and statements that report warnings.
fn program(input: TokenStream) -> Result<(TokenStream, TokenStream), TokenStream> {
    let trees: Vec<TokenTree> = input.into_iter().collect();
    match &trees[..] {
        [TokenTree::Literal(text)] => text_program(text),
        [TokenTree::Ident(word), TokenTree::Literal(path)] if *word == "file" => file_program(path),
        _ => {
            let first = trees.first().map_or_else(Span::call_site, TokenTree::span);
            let last = trees.last().map_or_else(Span::call_site, TokenTree::span);
            let text = "a program in Einsum Tuple is a string: `et!(\"out[i] = in[i]\")`, \
                        or `et!(file \"conv.et\")`";
            let error = error(text, (first, last));
            Err(quote!(#error;))
        }
    }
}

fn text_program(text: &Literal) -> Result<(TokenStream, TokenStream), TokenStream> {
    let source = string_value(text).ok_or_else(|| {
        let error =
            error("a program is a string, without other escapes than \\n and such", place(text));
        quote!(#error;)
    })?;
    let extra = judge(&source, None, text)?;
    Ok((quote!(#source), extra))
}

fn file_program(path: &Literal) -> Result<(TokenStream, TokenStream), TokenStream> {
    let (name, full, source) = read(path)?;
    let extra = judge(&source, Some(&name), path)?;
    Ok((quote!(::core::include_str!(#full)), extra))
}

/// Statements that report what is suspicious; errors where the program means nothing. `file` is the
/// program's; without one it stands in the literal.
fn judge(source: &str, file: Option<&str>, at: &Literal) -> Result<TokenStream, TokenStream> {
    let (program, mut diagnostics) = ijk_syntax::et::parse(source);
    if !has_errors(&diagnostics) {
        diagnostics.extend(ijk_ir::et::check(source, program).1);
    }
    let text = match file {
        Some(_) => None,
        None => in_rust(at, source, &diagnostics),
    };
    let origin = file.unwrap_or("program");
    let text = text.unwrap_or_else(|| ijk_syntax::render(source, origin, &diagnostics, false));
    let text = text.trim_end();
    if has_errors(&diagnostics) {
        let error = error(text, place(at));
        return Err(quote!(#error;));
    }
    Ok(if diagnostics.is_empty() { TokenStream::new() } else { warning(text, place(at)) })
}

/// The diagnostics with their places in the Rust source, where the literal has the program's text
/// as it is. (The compiler itself can only be pointed to the whole literal.)
fn in_rust(at: &Literal, source: &str, diagnostics: &[Diagnostic]) -> Option<String> {
    let literal = at.to_string();
    let start = literal.find(source).filter(|_| !source.is_empty())?;
    let span = at.span().unwrap();
    let path = span.local_file()?;
    let rust = std::fs::read_to_string(&path).ok()?;
    let line = rust.split_inclusive('\n').take(span.start().line().checked_sub(1)?);
    let line: usize = line.map(str::len).sum();
    let shift = line + rust.get(line..)?.find(&literal)? + start;
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

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}
