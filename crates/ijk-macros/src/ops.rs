//! Scalar operations as Rust code over the element traits.

use crate::types::element;
use ijk_types::{BinaryOp, DType, Literal, Monoid, UnaryOp};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// Code for a value, and whether it is a `Result`.
pub struct Code {
    /// The expression.
    pub code: TokenStream,
    /// The operation can fail.
    pub fallible: bool,
}

fn infallible(code: TokenStream) -> Code {
    Code { code, fallible: false }
}

/// A method of an element trait.
fn method(of: &str, name: &str) -> TokenStream {
    let (of, name) = (format_ident!("{of}"), format_ident!("{name}"));
    quote!(::ijk::__private::#of::#name)
}

/// A function of one operand.
pub fn unary(op: UnaryOp, x: &Ident) -> Code {
    let (of, name) = match op {
        UnaryOp::Recip => {
            let recip = method("Number", "recip");
            return Code { code: quote!(#recip(#x)), fallible: true };
        }
        UnaryOp::Not => return infallible(quote!(!#x)),
        UnaryOp::Cast(to) => {
            let (cast, to) = (method("Ordered", "cast"), element(to));
            return infallible(quote!(#cast::<#to>(#x)));
        }
        UnaryOp::Neg => ("Number", "neg"),
        UnaryOp::Abs => ("Number", "abs"),
        UnaryOp::Conj => ("Number", "conj"),
        UnaryOp::Re => ("Number", "re"),
        UnaryOp::Im => ("Number", "im"),
        UnaryOp::Sign => ("OrderedNumber", "sign"),
        UnaryOp::Exp => ("Inexact", "exp"),
        UnaryOp::Ln => ("Inexact", "ln"),
        UnaryOp::Sqrt => ("Inexact", "sqrt"),
        UnaryOp::Sin => ("Inexact", "sin"),
        UnaryOp::Cos => ("Inexact", "cos"),
        UnaryOp::Tan => ("Inexact", "tan"),
        UnaryOp::Tanh => ("Inexact", "tanh"),
        UnaryOp::Sinh => ("Inexact", "sinh"),
        UnaryOp::Cosh => ("Inexact", "cosh"),
        UnaryOp::Floor => ("Real", "floor"),
        UnaryOp::Ceil => ("Real", "ceil"),
        UnaryOp::Round => ("Real", "round"),
        UnaryOp::Erf => ("Real", "erf"),
        UnaryOp::Sigmoid => ("Real", "sigmoid"),
        UnaryOp::Gelu => ("Real", "gelu"),
        UnaryOp::Log1p => ("Real", "log1p"),
        UnaryOp::Expm1 => ("Real", "expm1"),
    };
    let method = method(of, name);
    infallible(quote!(#method(#x)))
}

/// A function of two operands.
pub fn binary(op: BinaryOp, x: &Ident, y: &Ident) -> Code {
    let (of, name, fallible) = match op {
        BinaryOp::Eq => return infallible(quote!(#x == #y)),
        BinaryOp::Ne => return infallible(quote!(#x != #y)),
        BinaryOp::Gt => return binary(BinaryOp::Lt, y, x),
        BinaryOp::Ge => return binary(BinaryOp::Le, y, x),
        BinaryOp::And => return infallible(quote!(#x & #y)),
        BinaryOp::Or => return infallible(quote!(#x | #y)),
        BinaryOp::Add => ("Element", "add", false),
        BinaryOp::Mul => ("Element", "mul", false),
        BinaryOp::Max => ("Ordered", "max", false),
        BinaryOp::Min => ("Ordered", "min", false),
        BinaryOp::Lt => ("Ordered", "lt", false),
        BinaryOp::Le => ("Ordered", "le", false),
        BinaryOp::Sub => ("Number", "sub", false),
        BinaryOp::Div => ("Number", "div", true),
        BinaryOp::Pow => ("Number", "pow", true),
        BinaryOp::Mod => ("OrderedNumber", "modulo", true),
        BinaryOp::Log => ("Inexact", "log", false),
        BinaryOp::Atan2 => ("Real", "atan2", false),
        BinaryOp::Hypot => ("Real", "hypot", false),
        BinaryOp::LogAddExp => ("Real", "log_add_exp", false),
        BinaryOp::FloorDiv => ("Real", "floor_div", false),
    };
    let method = method(of, name);
    Code { code: quote!(#method(#x, #y)), fallible }
}

/// Neutral value of `monoid` in a type, from which a reduction starts.
pub fn identity(monoid: Monoid, of: &TokenStream) -> TokenStream {
    let monoid = format_ident!("{monoid:?}");
    quote!(<#of as ::ijk::__private::Element>::identity(::ijk::__private::Monoid::#monoid))
}

/// A number in a type, a `Result`.
pub fn literal(literal: Literal, of: &TokenStream) -> TokenStream {
    let literal = match literal {
        Literal::Integer(n) => quote!(Integer(#n)),
        Literal::Float(x) => {
            let bits = x.to_bits();
            quote!(Float(::core::primitive::f64::from_bits(#bits)))
        }
    };
    let path = quote!(::ijk::__private::Literal);
    quote!(<#of as ::ijk::__private::Element>::from_literal(#path::#literal))
}

/// An element type as a value.
pub fn dtype(dtype: DType) -> TokenStream {
    let name = format_ident!("{dtype:?}");
    quote!(::ijk::__private::DType::#name)
}
