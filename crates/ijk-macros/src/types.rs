//! Element types and ranks as Rust types, type variables as generics.

use ijk_ir::core::{Program, TypeTerm};
use ijk_ir::{Port, Rank, Signature};
use ijk_types::{DType, TypeSet};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeMap;

/// The traits of elements, least first, each with the types that have it.
const TRAITS: [(&str, TypeSet); 6] = [
    ("Real", TypeSet::REAL),
    ("OrderedNumber", TypeSet::ORDERED_NUMBER),
    ("Inexact", TypeSet::INEXACT),
    ("Ordered", TypeSet::ORDERED),
    ("Number", TypeSet::NUMBER),
    ("Element", TypeSet::ALL),
];

/// The least trait that all types of a set implement, and all types that implement it.
pub fn bound(set: TypeSet) -> (Ident, TypeSet) {
    let (name, types) = TRAITS
        .into_iter()
        .filter(|(_, types)| set.is_subset(*types))
        .min_by_key(|(_, types)| types.iter().count())
        .unwrap_or(TRAITS[5]);
    (format_ident!("{name}"), types)
}

/// The Rust type of an element type.
pub fn element(dtype: DType) -> TokenStream {
    match dtype {
        DType::Bool => quote!(::core::primitive::bool),
        DType::I32 => quote!(::core::primitive::i32),
        DType::I64 => quote!(::core::primitive::i64),
        DType::U8 => quote!(::core::primitive::u8),
        DType::U16 => quote!(::core::primitive::u16),
        DType::U32 => quote!(::core::primitive::u32),
        DType::U64 => quote!(::core::primitive::u64),
        DType::I8 => quote!(::core::primitive::i8),
        DType::I16 => quote!(::core::primitive::i16),
        DType::F16 => quote!(::ijk::half::f16),
        DType::BF16 => quote!(::ijk::half::bf16),
        DType::F32 => quote!(::core::primitive::f32),
        DType::F64 => quote!(::core::primitive::f64),
        DType::C64 => quote!(::ijk::num_complex::Complex32),
        DType::C128 => quote!(::ijk::num_complex::Complex64),
    }
}

/// The Rust types of a program.
pub struct Types<'p> {
    program: &'p Program,
    signature: Signature,
}

impl<'p> Types<'p> {
    /// Of a lowered program.
    pub fn new(program: &'p Program) -> Self {
        Self { program, signature: Signature::of(program) }
    }

    /// Arguments and results.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The Rust type of a type term.
    pub fn term(&self, term: TypeTerm) -> TokenStream {
        match (term, self.single(term)) {
            (_, Some(dtype)) => element(dtype),
            (TypeTerm::RealOf(v), _) => {
                let variable = variable(v);
                quote!(<#variable as ::ijk::__private::Element>::Real)
            }
            (TypeTerm::Var(v), _) => {
                let variable = variable(v);
                quote!(#variable)
            }
            (TypeTerm::Fixed(dtype), _) => element(dtype),
        }
    }

    /// The element type a term stands for, where only one is possible.
    fn single(&self, term: TypeTerm) -> Option<DType> {
        match term {
            TypeTerm::Fixed(dtype) => Some(dtype),
            TypeTerm::Var(v) => self.program.types[v as usize].single(),
            TypeTerm::RealOf(v) => self.program.types[v as usize].single().map(DType::real),
        }
    }

    /// `ArrayRef` or `Array` of an argument's or result's element type and rank.
    pub fn array(&self, container: &str, port: &Port) -> TokenStream {
        let container = format_ident!("{container}");
        let (element, dimension) = (self.term(port.dtype), dimension(port.rank));
        quote!(::ijk::ndarray::#container<#element, #dimension>)
    }

    /// The generics of the function: element types, ranks.
    pub fn generics(&self) -> TokenStream {
        let types = self.variables().map(|(v, set)| {
            let (name, bound) = (variable(v), bound(set).0);
            quote!(#name: ::ijk::__private::#bound)
        });
        let ranks = self.ranks();
        let ranks = ranks.iter().map(|&v| {
            let name = rank(v);
            quote!(#name: ::ijk::ndarray::Dimension)
        });
        let all: Vec<_> = types.chain(ranks).collect();
        if all.is_empty() { TokenStream::new() } else { quote!(<#(#all),*>) }
    }

    /// The conditions on the generics; `real` restricts the real parts of variables.
    pub fn conditions(&self, real: &BTreeMap<u32, TypeSet>) -> TokenStream {
        let same = self.program.same_real.iter().map(|&(a, b)| {
            let (one, part) = (self.term(TypeTerm::Var(a)), self.term(TypeTerm::RealOf(b)));
            quote!(#one: ::ijk::__private::Element<Real = #part>)
        });
        let real = real.iter().filter(|(v, _)| self.single(TypeTerm::Var(**v)).is_none());
        let real = real.map(|(&v, &set)| {
            let (part, bound) = (self.term(TypeTerm::RealOf(v)), bound(set).0);
            quote!(#part: ::ijk::__private::#bound)
        });
        let all: Vec<_> = same.chain(real).collect();
        if all.is_empty() { TokenStream::new() } else { quote!(where #(#all),*) }
    }

    /// Variables whose trait lets in types that the program does not, with those it does.
    pub fn loose(&self) -> impl Iterator<Item = (TokenStream, TypeSet)> {
        let loose = self.variables().filter(|(_, set)| bound(*set).1 != *set);
        loose.map(|(v, set)| (self.term(TypeTerm::Var(v)), set))
    }

    /// The type variables that are generic.
    fn variables(&self) -> impl Iterator<Item = (u32, TypeSet)> {
        let sets = self.program.types.iter().enumerate();
        sets.filter(|(_, set)| set.single().is_none()).map(|(v, set)| (v as u32, *set))
    }

    fn ranks(&self) -> Vec<u32> {
        let mut ranks = Vec::new();
        for port in self.signature.inputs.iter().chain(&self.signature.outputs) {
            if let Rank::Var(v) = port.rank
                && !ranks.contains(&v)
            {
                ranks.push(v);
            }
        }
        ranks
    }
}

fn variable(v: u32) -> Ident {
    format_ident!("{}", Signature::type_name(v))
}

fn rank(v: u32) -> Ident {
    format_ident!("D{v}")
}

/// The greatest rank that has a dimension type of its own.
pub const MOST_AXES: u32 = 6;

/// ndarray's dimension type of a rank.
fn dimension(of: Rank) -> TokenStream {
    match of {
        Rank::Fixed(n) if n <= MOST_AXES => {
            let name = format_ident!("Ix{n}");
            quote!(::ijk::ndarray::#name)
        }
        Rank::Fixed(_) => quote!(::ijk::ndarray::IxDyn),
        Rank::Var(v) => {
            let name = rank(v);
            quote!(#name)
        }
    }
}
