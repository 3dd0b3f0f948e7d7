//! `einsum!` and its kin: subscripts parsed and checked at compile time.

use crate::expand::{Form, lints, write};
use crate::input::{place, string_value};
use crate::names;
use crate::quoted::render;
use crate::report::error;
use crate::small::Small;
use crate::types::Types;
use ijk_ir::core::Program;
use ijk_ir::einsum::{check_count, symbolic};
use ijk_syntax::Diagnostic;
use ijk_syntax::einsum::Subscripts;
use proc_macro2::{Delimiter, Literal, Span, TokenStream, TokenTree};
use quote::quote;

/// Greatest number of operands of an einsum that is computed in line. The order of more depends on their shapes.
const MOST_IN_LINE: usize = 2;

/// The macro's output: the result. The input has an expression each for subscripts, operands, and
/// where it is to be written the result.
pub fn expand(input: TokenStream, form: Form) -> TokenStream {
    let mut trees = input.into_iter();
    let first = trees.next().map(inner);
    let operands: Vec<TokenTree> = trees.collect();
    let Some(TokenTree::Literal(text)) = &first else {
        let at = first.map_or_else(Span::call_site, |tree| tree.span());
        let text = "the subscripts are a string literal, as in `einsum!(\"ij,jk->ik\", &a, &b)`; \
                    the function `einsum` takes those of run time";
        let error = error(text, (at, at));
        return quote!({ #error });
    };
    match call(text, &operands, form) {
        Ok(call) => call,
        Err(error) => quote!({ #error }),
    }
}

/// Strips the invisible group that `macro_rules!` puts around an expression of one token.
fn inner(tree: TokenTree) -> TokenTree {
    let TokenTree::Group(group) = &tree else { return tree };
    let mut trees = group.stream().into_iter();
    match (group.delimiter(), trees.next(), trees.next()) {
        (Delimiter::None, Some(only), None) => inner(only),
        _ => tree,
    }
}

/// A function, called.
fn call(text: &Literal, arguments: &[TokenTree], form: Form) -> Result<TokenStream, TokenStream> {
    let value = string_value(text).ok_or_else(|| {
        error("subscripts are a string, without other escapes than \\n and such", place(text))
    })?;
    let wrong = |diagnostics: &[Diagnostic]| {
        error(render(text, &value, "subscripts", diagnostics).trim_end(), place(text))
    };
    let subscripts = Subscripts::parse(&value).map_err(|errors| wrong(&errors))?;
    let operands = match form {
        Form::Writes => arguments.len().saturating_sub(1),
        _ => arguments.len(),
    };
    check_count(&subscripts, operands).map_err(|error| match form {
        Form::Writes => wrong(&[error.with_hint("the place for the result comes after them")]),
        _ => wrong(&[error]),
    })?;
    let program = symbolic(&subscripts);
    let types = Types::new(&program);
    let small = small(&program, &types, form);
    let bytes = Literal::byte_string(&postcard::to_allocvec(&subscripts).unwrap_or_default());
    let recipe =
        quote!(::ijk::__private::EinsumRecipe = ::ijk::__private::EinsumRecipe::new(#bytes));
    let (name, lints) = (names::function(), lints());
    let function = write(&quote!(#name), &types, &small, &recipe, form);
    Ok(quote!({ #lints #function #name(#(#arguments),*) }))
}

fn small(program: &Program, types: &Types, form: Form) -> Small {
    match program.inputs.len() <= MOST_IN_LINE && !program.statements.is_empty() {
        true => Small::new(program, types, form),
        false => Small::default(),
    }
}
