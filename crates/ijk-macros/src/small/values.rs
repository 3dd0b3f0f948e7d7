//! Writing the values at the points of a domain, and what reduces them.

use super::loops::{Writer, horner, nest};
use super::shape::reduced;
use crate::names;
use crate::ops::{self, Code};
use ijk_ir::core::{Access, AxisId, ScalarId, ScalarNode, Statement};
use ijk_types::{Monoid, Reducer};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

impl Writer<'_> {
    /// Code for the value of an element of a statement's result, and the value.
    pub(super) fn element_value(
        &mut self,
        n: usize,
        statement: &Statement,
        element: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let indices: Vec<_> = (0..statement.domain.len() as u32)
            .map(|axis| names::index(AxisId(axis)))
            .map(|index| quote!(#index))
            .collect();
        let mut body = TokenStream::new();
        let value = self.value(n, &indices, &mut body);
        match statement.reduce {
            // Orders are no loops in line.
            None | Some(Reducer::Order(_)) => (body, quote!(#value)),
            Some(Reducer::Monoid(monoid)) => {
                reduction(n, statement, monoid, element, &body, &value)
            }
            Some(Reducer::ArgMax) => position(n, statement, "beats_max", &body, &value),
            Some(Reducer::ArgMin) => position(n, statement, "beats_min", &body, &value),
        }
    }

    /// Writes a statement's value at a point, given its indices.
    fn value(&mut self, n: usize, indices: &[TokenStream], body: &mut TokenStream) -> Ident {
        let plan = self.plan;
        let statement = &plan.program.statements[n];
        let mut values: Vec<Ident> = Vec::new();
        for node in &statement.value.nodes {
            let value = self.node(n, node, indices, &values, body);
            values.push(value);
        }
        values.pop().unwrap_or_else(|| format_ident!("ijk_no_value"))
    }

    fn node(
        &mut self,
        n: usize,
        node: &ScalarNode,
        indices: &[TokenStream],
        values: &[Ident],
        body: &mut TokenStream,
    ) -> Ident {
        let value = |id: &ScalarId| &values[id.0 as usize];
        let code = match node {
            ScalarNode::Access(access) => return self.access(n, access, indices, body),
            ScalarNode::Const(literal, term) => {
                let literal = ops::literal(*literal, &self.types.term(*term));
                let name = self.fresh();
                self.constants.extend(bind(&name, Code { code: literal, fallible: true }));
                return name;
            }
            ScalarNode::Index(e) => {
                let axis = e.as_axis().map_or(0, |axis| axis.0 as usize);
                let index = &indices[axis];
                Code { code: quote!((#index) as ::core::primitive::i64), fallible: false }
            }
            ScalarNode::Unary(op, x) => ops::unary(*op, value(x)),
            ScalarNode::Binary(op, x, y) => ops::binary(*op, value(x), value(y)),
            ScalarNode::Select(c, x, y) => {
                let (c, x, y) = (value(c), value(x), value(y));
                Code { code: quote!(if #c { #x } else { #y }), fallible: false }
            }
            ScalarNode::Extent(..) => unreachable!("extents are not written in line"),
            ScalarNode::Random { .. } => unreachable!("i has no random numbers"),
        };
        let name = self.fresh();
        body.extend(bind(&name, code));
        name
    }

    /// An element of an array, or the value of the statement that is evaluated here.
    fn access(
        &mut self,
        n: usize,
        access: &Access,
        indices: &[TokenStream],
        body: &mut TokenStream,
    ) -> Ident {
        let axes: Vec<_> = access.index.iter().filter_map(|e| e.as_axis()).collect();
        if let Some(fused) = self.plan.fused(access.array) {
            let statement = &self.plan.program.statements[fused];
            let mut inner = vec![quote!(0usize); statement.domain.len()];
            for (position, axis) in statement.out_index.iter().zip(&axes) {
                if let Some(own) = position.as_axis() {
                    inner[own.0 as usize] = indices[axis.0 as usize].clone();
                }
            }
            return self.value(fused, &inner, body);
        }
        let terms = axes.iter().map(|a| (indices[a.0 as usize].clone(), names::extent(n, *a)));
        let offset = if axes.is_empty() { quote!(0) } else { horner(terms) };
        let (name, elements) = (self.fresh(), names::elements(access.array));
        body.extend(quote!(let #name = #elements[#offset];));
        name
    }

    fn fresh(&mut self) -> Ident {
        self.values += 1;
        format_ident!("ijk_v{}", self.values)
    }
}

fn bind(name: &Ident, Code { code, fallible }: Code) -> TokenStream {
    match fallible {
        false => quote!(let #name = #code;),
        true => quote! {
            let #name = match #code {
                ::core::result::Result::Ok(value) => value,
                ::core::result::Result::Err(_) => break 'ijk_small,
            };
        },
    }
}

/// Combines values over the reduced axes.
fn reduction(
    n: usize,
    statement: &Statement,
    monoid: Monoid,
    element: &TokenStream,
    body: &TokenStream,
    value: &Ident,
) -> (TokenStream, TokenStream) {
    let (total, start) = (format_ident!("ijk_total"), ops::identity(monoid, element));
    let combine = ops::binary(monoid.op(), &total, value).code;
    let nest = nest(n, &reduced(statement), quote!(#body #total = #combine;));
    (quote!(let mut #total = #start; #nest), quote!(#total))
}

/// Finds the position of the best value along the one reduced axis.
fn position(
    n: usize,
    statement: &Statement,
    beats: &str,
    body: &TokenStream,
    value: &Ident,
) -> (TokenStream, TokenStream) {
    let Some(&axis) = reduced(statement).first() else {
        return (TokenStream::new(), quote!(0));
    };
    let (index, extent, beats) =
        (names::index(axis), names::extent(n, axis), format_ident!("{beats}"));
    let code = quote! {
        if #extent == 0 {
            break 'ijk_small;
        }
        let mut ijk_best = ::core::default::Default::default();
        let mut ijk_at: ::core::primitive::i64 = 0;
        for #index in 0..#extent {
            #body
            if #index == 0 || ::ijk::__private::Ordered::#beats(#value, ijk_best) {
                ijk_best = #value;
                ijk_at = #index as ::core::primitive::i64;
            }
        }
    };
    (code, quote!(ijk_at))
}
