//! From a macro's input to a function.

use crate::input::{Input, Item, Source, place, read};
use crate::names;
use crate::report::{error, report};
use crate::small::{self, Small};
use crate::tokens::Tokens;
use crate::types::Types;
use ijk_ir::core::Program;
use ijk_ir::{Port, Rank};
use ijk_syntax::{Diagnostic, Severity};
use proc_macro2::{Literal, Span, TokenStream};
use quote::quote;

/// Kind of macro to expand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `i!`.
    Panics,
    /// `try_i!`.
    Tries,
    /// `into_i!`.
    Writes,
}

/// A checked program, and statements that report warnings or have the compiler watch a file.
struct Checked {
    program: Program,
    extra: TokenStream,
}

/// The macro's output: an expression, or an item.
pub fn expand(input: TokenStream, form: Form) -> TokenStream {
    let Input { item, program } = Input::new(input);
    let checked = match program {
        Source::Tokens(tokens) => check_tokens(tokens),
        Source::File(path) => check_file(&path),
    };
    match (checked, item) {
        (Ok(checked), Some(item)) => declare(&checked, &item, form),
        (Ok(checked), None) => function_value(&checked, form),
        (Err(errors), Some(_)) => errors,
        (Err(errors), None) => quote!({ #errors }),
    }
}

fn check_tokens(stream: TokenStream) -> Result<Checked, TokenStream> {
    let tokens = Tokens::new(stream);
    let (tree, mut diagnostics) = ijk_syntax::parse_tokens(&tokens.source, &tokens.tokens);
    let mut program = None;
    if !has_errors(&diagnostics) {
        let compiled = ijk_ir::compile(&tree, &tokens.source);
        diagnostics.extend(compiled.diagnostics);
        program = compiled.program;
    }
    let call_site = (Span::call_site(), Span::call_site());
    let report =
        |d: &Diagnostic| report(d, &tokens.source, tokens.rust(d.span).unwrap_or(call_site));
    let wrong = has_errors(&diagnostics);
    let reported = diagnostics.iter().filter(|d| !wrong || d.severity == Severity::Error);
    let extra: TokenStream = reported.map(report).map(|code| quote!(#code;)).collect();
    match program.filter(|_| !wrong) {
        Some(program) => Ok(Checked { program, extra }),
        None => Err(extra),
    }
}

fn check_file(path: &Literal) -> Result<Checked, TokenStream> {
    let (name, full, source) = read(path)?;
    let compiled = ijk_ir::compile_source(&source);
    match compiled.program {
        Some(program) => {
            let extra = quote!(
                const _: &::core::primitive::str = ::core::include_str!(#full);
            );
            Ok(Checked { program, extra })
        }
        None => {
            let text = ijk_syntax::render(&source, &name, &compiled.diagnostics, false);
            let error = error(&text, place(path));
            Err(quote!(#error;))
        }
    }
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// A block whose value is the function.
fn function_value(checked: &Checked, form: Form) -> TokenStream {
    let extra = &checked.extra;
    let name = names::function();
    let function = function(&checked.program, &quote!(#name), form);
    let lints = lints();
    quote!({ #extra #lints #function #name })
}

/// The function as an item.
fn declare(checked: &Checked, item: &Item, form: Form) -> TokenStream {
    let (extra, name) = (&checked.extra, &item.name);
    let (attributes, visibility, lints) = (&item.attributes, &item.visibility, lints());
    let function = function(&checked.program, &quote!(#name), form);
    quote!(#extra #attributes #lints #visibility #function)
}

/// Lints do not apply to the function's code; a panic has the caller's location.
pub fn lints() -> TokenStream {
    quote! {
        #[allow(unused, clippy::all)]
        #[track_caller]
    }
}

fn function(program: &Program, name: &TokenStream, form: Form) -> TokenStream {
    let types = Types::new(program);
    let small = Small::new(program, &types, form);
    let recipe = recipe(program);
    let recipe = quote!(::ijk::__private::Recipe = ::ijk::__private::Recipe::new(#recipe));
    write(name, &types, &small, &recipe, form)
}

/// A function that computes in line where it can, and has a recipe computed elsewhere. `recipe` is that
/// static's type and value.
pub fn write(
    name: &TokenStream,
    types: &Types,
    small: &Small,
    recipe: &TokenStream,
    form: Form,
) -> TokenStream {
    let (generics, conditions) = (types.generics(), types.conditions(small.real()));
    let (parameters, result) = (parameters(types, form), result(types, form));
    let (held, loops, engine) = (held(types, form), small.code(), engine(types, form));
    quote! {
        fn #name #generics (#parameters) #result #conditions {
            static RECIPE: #recipe;
            #held
            #loops
            #engine
        }
    }
}

fn recipe(program: &Program) -> Literal {
    // Encoding fails only where memory runs out.
    Literal::byte_string(&postcard::to_allocvec(program).unwrap_or_default())
}

fn parameters(types: &Types, form: Form) -> TokenStream {
    let signature = types.signature();
    let inputs = signature.inputs.iter().enumerate().map(|(n, port)| {
        let name = names::argument(n);
        if is_scalar(port) {
            let element = types.term(port.dtype);
            return quote!(#name: impl ::ijk::ScalarArgument<#element>);
        }
        let array = types.array("ArrayRef", port);
        quote!(#name: &#array)
    });
    let outputs = signature.outputs.iter().enumerate().map(|(n, port)| {
        let (name, array) = (names::place(n), types.array("ArrayRef", port));
        quote!(#name: &mut #array)
    });
    let written = outputs.filter(|_| form == Form::Writes);
    let all = inputs.chain(written);
    quote!(#(#all),*)
}

/// Returns true for an argument of rank 0, which may be a plain number.
fn is_scalar(port: &Port) -> bool {
    port.rank == Rank::Fixed(0)
}

/// Statements that make arrays of arguments that may be plain numbers.
fn held(types: &Types, form: Form) -> TokenStream {
    let wrong = match form {
        Form::Tries => quote!(return ::core::result::Result::Err(error)),
        _ => quote!(::ijk::__private::fail(error)),
    };
    let inputs = types.signature().inputs.iter().enumerate().filter(|(_, port)| is_scalar(port));
    let held = inputs.map(|(n, port)| {
        let (name, array) = (names::argument(n), types.array("ArrayRef", port));
        quote! {
            let #name = match ::ijk::ScalarArgument::hold(#name, #n) {
                ::core::result::Result::Ok(held) => held,
                ::core::result::Result::Err(error) => #wrong,
            };
            let #name: &#array = &#name;
        }
    });
    held.collect()
}

fn result(types: &Types, form: Form) -> TokenStream {
    let arrays = types.signature().outputs.iter().map(|port| types.array("Array", port));
    let arrays = small::tuple(arrays.collect());
    match form {
        Form::Panics => quote!(-> #arrays),
        Form::Tries => quote!(-> ::core::result::Result<#arrays, ::ijk::Error>),
        Form::Writes => TokenStream::new(),
    }
}

/// The call to the engine.
fn engine(types: &Types, form: Form) -> TokenStream {
    let signature = types.signature();
    let arguments = (0..signature.inputs.len()).map(names::argument);
    let inputs = quote!(&[#(::ijk::__private::TensorView::from_array(#arguments)),*]);
    if form == Form::Writes {
        let places = (0..signature.outputs.len()).map(names::place);
        let outputs = quote!(&mut [#(::ijk::__private::TensorViewMut::from_array(#places)),*]);
        return quote! {
            if let ::core::result::Result::Err(error) = RECIPE.call(#inputs, #outputs) {
                ::ijk::__private::fail(error)
            }
        };
    }
    let takes = signature.outputs.iter().map(|_| quote!(::ijk::__private::take(&mut results)?));
    let takes = small::tuple(takes.collect());
    let value = match form {
        Form::Tries => quote!(computed),
        _ => quote! {
            match computed {
                ::core::result::Result::Ok(arrays) => arrays,
                ::core::result::Result::Err(error) => ::ijk::__private::fail(error),
            }
        },
    };
    quote! {
        let computed = (|| {
            let mut results = RECIPE.apply(#inputs)?.into_iter();
            ::core::result::Result::Ok::<_, ::ijk::Error>(#takes)
        })();
        #value
    }
}
