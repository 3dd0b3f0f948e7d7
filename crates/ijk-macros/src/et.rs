//! `et!`: a program in Einsum Tuple, checked at compile time.

use crate::input::{place, read, string_value};
use crate::quoted::render;
use crate::report::{error, warning};
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
        Some(name) => ijk_syntax::render(source, name, &diagnostics, false),
        None => render(at, source, "program", &diagnostics),
    };
    let text = text.trim_end();
    if has_errors(&diagnostics) {
        let error = error(text, place(at));
        return Err(quote!(#error;));
    }
    Ok(if diagnostics.is_empty() { TokenStream::new() } else { warning(text, place(at)) })
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}
