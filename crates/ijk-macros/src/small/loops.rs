//! Writing the loops: extents, arrays, statements.

use super::fuse::Plan;
use super::shape::{kept, sources};
use super::{SMALL_DOMAIN, tuple};
use crate::expand::Form;
use crate::names;
use crate::ops;
use crate::types::{MOST_AXES, Types};
use ijk_ir::core::{ArrayId, AxisId, Init, Pin, ScalarNode, Statement};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeMap;

/// Writes the code for small domains.
pub struct Writer<'p> {
    pub(super) plan: &'p Plan<'p>,
    pub(super) types: &'p Types<'p>,
    form: Form,
    /// Values and constants named so far.
    pub(super) values: usize,
    /// Code before a statement's loops.
    pub(super) constants: TokenStream,
}

impl<'p> Writer<'p> {
    /// For a planned program.
    pub fn new(plan: &'p Plan<'p>, types: &'p Types<'p>, form: Form) -> Self {
        Self { plan, types, form, values: 0, constants: TokenStream::new() }
    }

    /// A block that returns from the function, or is left for what follows.
    pub fn code(mut self) -> TokenStream {
        let checks = self.checks();
        let inputs: TokenStream = self.accessed().map(|(n, id)| self.input(n, id)).collect();
        let written: Vec<_> = self.plan.written().collect();
        let loops: TokenStream = written.iter().map(|(n, s)| self.statement(*n, s)).collect();
        let result = self.result();
        quote!('ijk_small: { #checks #inputs #loops #result })
    }

    /// The inputs that statements access, with their positions.
    fn accessed(&self) -> impl Iterator<Item = (usize, ArrayId)> + use<'p> {
        let program = self.plan.program;
        let accessed = |id: &ArrayId| {
            let nodes = program.statements.iter().flat_map(|s| &s.value.nodes);
            nodes.into_iter().any(|n| matches!(n, ScalarNode::Access(a) if a.array == *id))
        };
        program.inputs.iter().copied().enumerate().filter(move |(_, id)| accessed(id))
    }

    fn element(&self, array: ArrayId) -> TokenStream {
        self.types.term(self.plan.program.arrays[array.0 as usize].dtype)
    }
}

/// Extents and sizes.
impl Writer<'_> {
    /// Leaves the block unless types, ranks, extents and sizes are as the loops have them.
    fn checks(&self) -> TokenStream {
        let types = self.types.loose().map(|(of, set)| {
            let set = set.iter().map(ops::dtype);
            let dtype = quote!(<#of as ::ijk::__private::Element>::DTYPE);
            leave_if(&quote!(!::core::matches!(#dtype, #(#set)|*)))
        });
        let mut checks: TokenStream = types.collect();
        checks.extend(self.ranks());
        let mut named = BTreeMap::new();
        for (n, statement) in self.plan.program.statements.iter().enumerate() {
            checks.extend(self.extents(n, statement, &mut named));
            let domain = (0..statement.domain.len() as u32).map(|a| names::extent(n, AxisId(a)));
            checks.extend(leave_if_large(domain));
            if kept(statement).len() < statement.out_index.len() {
                checks.extend(leave_if_large(shape(n, statement).into_iter()));
            }
        }
        checks.extend(self.places());
        checks
    }

    /// Checks ranks that the dimension types do not determine.
    fn ranks(&self) -> TokenStream {
        let program = self.plan.program;
        let checks = program.inputs.iter().enumerate().filter_map(|(n, id)| {
            let rank =
                program.arrays[id.0 as usize].rank.filter(|rank| *rank > MOST_AXES)? as usize;
            let argument = names::argument(n);
            Some(leave_if(&quote!(#argument.ndim() != #rank)))
        });
        checks.collect()
    }

    fn extents(
        &self,
        n: usize,
        statement: &Statement,
        named: &mut BTreeMap<u32, Ident>,
    ) -> TokenStream {
        let mut code = TokenStream::new();
        for (axis, of) in statement.domain.iter().enumerate() {
            let extent = names::extent(n, AxisId(axis as u32));
            let mut sources = sources(self.plan.program, statement, axis).into_iter();
            let first = sources.next().unwrap_or(quote!(1));
            code.extend(quote!(let #extent: ::core::primitive::usize = #first;));
            code.extend(sources.map(|other| leave_if(&quote!(#extent != #other))));
            for pin in &of.pins {
                let Pin::Name(name, _) = pin else { continue };
                let first = named.entry(*name).or_insert_with(|| extent.clone());
                code.extend(leave_if(&quote!(#extent != #first)));
            }
        }
        code
    }

    /// Condition that the places for results have their shapes.
    fn places(&self) -> TokenStream {
        let outputs = self.plan.program.outputs.iter().enumerate();
        let checks = outputs.filter(|_| self.form == Form::Writes).map(|(n, id)| {
            let (place, shape) = (names::place(n), self.output_shape(*id));
            leave_if(&quote!(*#place.shape() != [#(#shape),*]))
        });
        checks.collect()
    }

    fn output_shape(&self, array: ArrayId) -> Vec<Ident> {
        let statements = self.plan.program.statements.iter().enumerate();
        let definer = statements.into_iter().find(|(_, s)| s.out == array);
        definer.map_or(Vec::new(), |(n, s)| shape(n, s))
    }
}

/// The extents of a statement's result.
fn shape(n: usize, statement: &Statement) -> Vec<Ident> {
    let axes = statement.out_index.iter().filter_map(|e| e.as_axis());
    axes.map(|axis| names::extent(n, axis)).collect()
}

fn leave_if(condition: &TokenStream) -> TokenStream {
    quote!(if #condition { break 'ijk_small; })
}

fn leave_if_large(extents: impl Iterator<Item = Ident>) -> TokenStream {
    let size = product(extents);
    leave_if(&quote!(#size > #SMALL_DOMAIN))
}

/// The product of extents; large where it overflows, but for a factor of 0 after the overflow.
fn product(mut extents: impl Iterator<Item = Ident>) -> TokenStream {
    match extents.next() {
        None => quote!(1usize),
        Some(first) => quote!(#first #(.saturating_mul(#extents))*),
    }
}

/// Arrays.
impl Writer<'_> {
    /// An input's elements in C order: its own, or a copy.
    fn input(&self, position: usize, array: ArrayId) -> TokenStream {
        let (argument, element) = (names::argument(position), self.element(array));
        let (memory, elements) = (names::memory(array), names::elements(array));
        quote! {
            let mut #memory;
            let #elements: &[#element] = match #argument.as_slice() {
                ::core::option::Option::Some(elements) => elements,
                ::core::option::Option::None => {
                    if #argument.len() > #SMALL_DOMAIN {
                        break 'ijk_small;
                    }
                    #memory = [<#element as ::core::default::Default>::default(); #SMALL_DOMAIN];
                    for (to, from) in #memory.iter_mut().zip(#argument.iter()) {
                        *to = *from;
                    }
                    &#memory
                }
            };
        }
    }

    /// Returns true if an array is a result of the program.
    fn is_result(&self, array: ArrayId) -> bool {
        self.form != Form::Writes && self.plan.program.outputs.contains(&array)
    }

    /// A statement's loops, into memory of its own.
    fn statement(&mut self, n: usize, statement: &Statement) -> TokenStream {
        let element = self.element(statement.out);
        let (memory, elements) = (names::memory(statement.out), names::elements(statement.out));
        let size = product(shape(n, statement).into_iter());
        let covered = kept(statement).len() == statement.out_index.len();
        let heap = self.is_result(statement.out);
        let start = match statement.init {
            Init::Identity(monoid) => ops::identity(monoid, &element),
            _ => quote!(<#element as ::core::default::Default>::default()),
        };
        let create = match (heap, covered) {
            (true, true) => quote!(::std::vec::Vec::<#element>::with_capacity(#size)),
            (true, false) => quote!(::std::vec![#start; #size]),
            (false, _) => quote!([#start; #SMALL_DOMAIN]),
        };
        let (body, value) = self.element_value(n, statement, &element);
        let store = match (heap, covered) {
            (true, true) => quote!(#memory.push(#value);),
            (false, true) => quote!(#memory[at] = #value; at += 1;),
            (_, false) => {
                let offset = offset(n, statement.out_index.iter().filter_map(|e| e.as_axis()));
                quote!(#memory[#offset] = #value;)
            }
        };
        let nest = nest(n, &kept(statement), quote!(#body #store));
        let constants = std::mem::take(&mut self.constants);
        quote! {
            #constants
            let mut #memory = #create;
            let mut at = 0usize;
            #nest
            let #elements: &[#element] = &#memory;
        }
    }

    fn result(&self) -> TokenStream {
        let outputs = &self.plan.program.outputs;
        if self.form == Form::Writes {
            let writes = outputs.iter().enumerate().map(|(n, id)| {
                let (place, elements) = (names::place(n), names::elements(*id));
                quote!(for (to, from) in #place.iter_mut().zip(#elements) { *to = *from; })
            });
            return quote!(#(#writes)* return;);
        }
        let arrays = outputs.iter().enumerate().map(|(n, id)| {
            let again = outputs[n + 1..].contains(id);
            self.array(*id, again)
        });
        let arrays = tuple(arrays.collect());
        match self.form {
            Form::Tries => quote!(return ::core::result::Result::Ok(#arrays);),
            _ => quote!(return #arrays;),
        }
    }

    /// The memory of a result as an array.
    fn array(&self, id: ArrayId, again: bool) -> TokenStream {
        let (memory, shape) = (names::memory(id), self.output_shape(id));
        let memory = if again { quote!(#memory.clone()) } else { quote!(#memory) };
        let dimension = match shape.len() as u32 {
            rank if rank <= MOST_AXES => {
                let name = format_ident!("Ix{rank}");
                quote!(::ijk::ndarray::#name(#(#shape),*))
            }
            _ => quote!(::ijk::ndarray::IxDyn(&[#(#shape),*])),
        };
        quote! {
            match ::ijk::ndarray::Array::from_shape_vec(#dimension, #memory) {
                ::core::result::Result::Ok(array) => array,
                ::core::result::Result::Err(_) => break 'ijk_small,
            }
        }
    }
}

/// Loops over axes, the first outermost.
pub(super) fn nest(n: usize, axes: &[AxisId], body: TokenStream) -> TokenStream {
    axes.iter().rev().fold(body, |body, &axis| {
        let (index, extent) = (names::index(axis), names::extent(n, axis));
        quote!(for #index in 0..#extent { #body })
    })
}

/// The offset of an element in C order, by the axes of its index.
fn offset(n: usize, axes: impl Iterator<Item = AxisId>) -> TokenStream {
    let terms: Vec<_> = axes.map(|axis| (names::index(axis), names::extent(n, axis))).collect();
    horner(terms.iter().map(|(x, n)| (quote!(#x), n.clone())))
}

pub(super) fn horner(terms: impl Iterator<Item = (TokenStream, Ident)>) -> TokenStream {
    terms.fold(TokenStream::new(), |sum, (index, extent)| {
        if sum.is_empty() { index } else { quote!((#sum) * #extent + #index) }
    })
}
