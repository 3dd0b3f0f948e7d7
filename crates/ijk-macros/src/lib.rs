//! The `i!` family of procedural macros: programs checked and lowered at compile time; `et!`, which
//! checks programs in Einsum Tuple (`et`); and what `einsum!` is made of (`einsum`).
//!
//! A macro's input becomes abstract tokens (`tokens`), which the one grammar parses; `ijk-ir`
//! checks and lowers the tree; what is wrong becomes compile errors on the tokens concerned
//! (`report`). The lowered program is embedded as bytes, planned and run by `ijk` at run time;
//! for small domains the macro writes loops in line (`small`).

mod einsum;
mod et;
mod expand;
mod input;
mod names;
mod ops;
mod quoted;
mod report;
mod small;
mod tokens;
mod types;

use expand::Form;
use proc_macro::TokenStream;

/// A program in i as a function of references to ndarray's arrays and views, which gives owned
/// arrays, several as a tuple. It panics where extents do not fit, with the program quoted.
///
/// Documented at its re-export in `ijk`.
#[proc_macro]
pub fn i(input: TokenStream) -> TokenStream {
    expand::expand(input.into(), Form::Panics).into()
}

/// Like [`i!`](macro@i), but the function gives a `Result` with `ijk::Error`.
#[proc_macro]
pub fn try_i(input: TokenStream) -> TokenStream {
    expand::expand(input.into(), Form::Tries).into()
}

/// Like [`i!`](macro@i), but the function writes its results into further arguments, mutable
/// references to arrays of the results' shapes, which come last.
#[proc_macro]
pub fn into_i(input: TokenStream) -> TokenStream {
    expand::expand(input.into(), Form::Writes).into()
}

/// A program in Einsum Tuple: a string or `file "…"`.
///
/// Documented at its re-export in `ijk`.
#[proc_macro]
pub fn et(input: TokenStream) -> TokenStream {
    et::expand(input.into()).into()
}

/// Implementation of `ijk::einsum!`: subscripts and operands, an expression each.
#[proc_macro]
pub fn einsum(input: TokenStream) -> TokenStream {
    einsum::expand(input.into(), Form::Panics).into()
}

/// Implementation of `ijk::try_einsum!`.
#[proc_macro]
pub fn try_einsum(input: TokenStream) -> TokenStream {
    einsum::expand(input.into(), Form::Tries).into()
}

/// Implementation of `ijk::into_einsum!`: subscripts, operands, and the place for the result.
#[proc_macro]
pub fn into_einsum(input: TokenStream) -> TokenStream {
    einsum::expand(input.into(), Form::Writes).into()
}
