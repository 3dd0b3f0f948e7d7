//! Resolves the index and the extent of each axis.

use super::{Product, messages};
use ijk_syntax::einsum::{Subscripts, Term};
use ijk_syntax::{Diagnostic, Span};

/// An axis of an operand, with its place in the subscripts.
#[derive(Clone, Copy)]
pub(super) struct AxisPlace {
    pub(super) operand: usize,
    pub(super) axis: usize,
    pub(super) extent: u64,
    pub(super) span: Span,
}

impl Product {
    /// Checks subscripts against shapes.
    ///
    /// # Errors
    /// Everything that does not fit: another number of operands or of axes than subscripts, an index
    /// of two extents (one of them may be 1, unless both are in one operand), axes of `...` that the
    /// result leaves out. Messages count operands from 1 and axes from 0.
    pub fn new(subscripts: &Subscripts, shapes: &[&[u64]]) -> Result<Self, Vec<Diagnostic>> {
        super::check_count(subscripts, shapes.len()).map_err(|error| vec![error])?;
        let mut resolver = Resolver::new(subscripts, shapes);
        let axes = resolver.axes(shapes);
        resolver.check_extents();
        let result = resolver.result();
        let errors = resolver.errors;
        if !errors.is_empty() {
            return Err(errors);
        }
        let product = Self {
            source: subscripts.source.clone(),
            extents: resolver.extents,
            names: resolver.names,
            operands: axes,
            result,
            shapes: shapes.iter().map(|shape| shape.to_vec()).collect(),
        };
        Ok(product.without_ones())
    }

    /// The same without indices of extent 1.
    fn without_ones(mut self) -> Self {
        let kept: Vec<bool> = self.extents.iter().map(|&extent| extent != 1).collect();
        let mut numbers = Vec::with_capacity(kept.len());
        let mut next = 0;
        for &kept in &kept {
            numbers.push(kept.then_some(next));
            next += u32::from(kept);
        }
        let renumber = |index: &mut Option<u32>| *index = index.and_then(|i| numbers[i as usize]);
        for axes in self.operands.iter_mut().chain([&mut self.result]) {
            axes.iter_mut().for_each(renumber);
        }
        let mut of = kept.iter();
        self.names.retain(|_| *of.next().unwrap_or(&false));
        self.extents.retain(|&extent| extent != 1);
        self
    }
}

struct Resolver<'a> {
    subscripts: &'a Subscripts,
    /// Number of axes that `...` stands for.
    unnamed: usize,
    names: Vec<String>,
    extents: Vec<u64>,
    /// Where each index occurs.
    places: Vec<Vec<AxisPlace>>,
    errors: Vec<Diagnostic>,
}

impl<'a> Resolver<'a> {
    fn new(subscripts: &'a Subscripts, shapes: &[&[u64]]) -> Self {
        let spare =
            subscripts.operands.iter().zip(shapes).filter(|(term, _)| term.ellipsis.is_some());
        let spare = spare.map(|(term, shape)| shape.len().saturating_sub(term.indices.len()));
        let unnamed = spare.max().unwrap_or(0);
        let mut names = subscripts.names.clone();
        names.extend((0..unnamed).rev().map(|n| format!("...[-{}]", n + 1)));
        let count = names.len();
        let places = vec![Vec::new(); count];
        Self { subscripts, unnamed, names, extents: vec![1; count], places, errors: Vec::new() }
    }

    /// The index of each axis; of axes that are a single element beside longer ones, none.
    fn axes(&mut self, shapes: &[&[u64]]) -> Vec<Vec<Option<u32>>> {
        let terms = self.subscripts.operands.iter().zip(shapes).enumerate();
        let mut all = Vec::with_capacity(shapes.len());
        for (operand, (term, shape)) in terms {
            let named = term.indices.len();
            let fits = match term.ellipsis {
                Some(_) => named <= shape.len(),
                None => named == shape.len(),
            };
            if !fits {
                self.errors.push(messages::axes(term, operand, shape));
                all.push(Vec::new());
                continue;
            }
            let indices = self.numbered(term, shape.len() - named);
            for (axis, (&(number, span), &extent)) in indices.iter().zip(*shape).enumerate() {
                self.places[number as usize].push(AxisPlace { operand, axis, extent, span });
            }
            all.push(indices.into_iter().map(|(number, _)| Some(number)).collect());
        }
        for (number, places) in self.places.iter().enumerate() {
            let long = places.iter().map(|place| place.extent).find(|&extent| extent != 1);
            self.extents[number] = long.unwrap_or(1);
            if long.is_some() {
                for place in places.iter().filter(|place| place.extent == 1) {
                    all[place.operand][place.axis] = None;
                }
            }
        }
        all
    }

    /// The numbers of a term's indices, with those of `unnamed` axes of `...`.
    fn numbered(&self, term: &Term, unnamed: usize) -> Vec<(u32, Span)> {
        let mut indices: Vec<_> = term.indices.iter().map(|i| (i.number, i.span)).collect();
        if let Some(ellipsis) = term.ellipsis {
            let end = self.names.len() as u32;
            let numbers = end - unnamed as u32..end;
            indices.splice(ellipsis.at..ellipsis.at, numbers.map(|n| (n, ellipsis.span)));
        }
        indices
    }

    /// All extents of an index are one, but for 1s; within one operand, those too.
    fn check_extents(&mut self) {
        for (number, places) in self.places.iter().enumerate() {
            let name = &self.names[number];
            let mut operands = places.chunk_by(|one, next| one.operand == next.operand);
            let diagonal = operands.find_map(|own| Some((&own[0], other(own, &own[0])?)));
            if let Some((first, next)) = diagonal {
                self.errors.push(messages::diagonal(name, first, next));
                continue;
            }
            let mut long = places.iter().filter(|place| place.extent != 1);
            let Some(first) = long.next() else { continue };
            if let Some(next) = long.find(|place| place.extent != first.extent) {
                self.errors.push(messages::extents(name, first, next));
            }
        }
    }

    /// The index of each axis of the result.
    fn result(&mut self) -> Vec<Option<u32>> {
        let term = &self.subscripts.output;
        if term.ellipsis.is_none() && self.unnamed > 0 {
            self.errors.push(messages::output_ellipsis(self.subscripts, self.unnamed));
        }
        let unnamed = if term.ellipsis.is_some() { self.unnamed } else { 0 };
        self.numbered(term, unnamed).into_iter().map(|(number, _)| Some(number)).collect()
    }
}

/// A place of another extent.
fn other<'a>(places: &'a [AxisPlace], than: &AxisPlace) -> Option<&'a AxisPlace> {
    places.iter().find(|place| place.extent != than.extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Subscripts, shapes of operands, and what is expected.
    type Cases<'a, T> = &'a [(&'a str, &'a [&'a [u64]], &'a [T])];

    fn product(text: &str, shapes: &[&[u64]]) -> Result<Product, Vec<(&'static str, u32)>> {
        let subscripts = Subscripts::parse(text).unwrap();
        let code = |e: &Diagnostic| (e.code.map_or("", |code| code.name()), e.span.start);
        Product::new(&subscripts, shapes).map_err(|errors| errors.iter().map(code).collect())
    }

    #[test]
    fn shapes_of_results() {
        let cases: Cases<u64> = &[
            ("ij,jk", &[&[2, 3], &[3, 4]], &[2, 4]),
            ("ij,jk->ik", &[&[2, 1], &[3, 4]], &[2, 4]),
            ("i,i->i", &[&[0], &[1]], &[0]),
            ("i,i->i", &[&[1], &[1]], &[1]),
            ("...,...", &[&[2, 3], &[3]], &[2, 3]),
            ("i...,i...", &[&[2, 3], &[2, 5, 1]], &[5, 3]),
            ("i...j->j...i", &[&[2, 3, 4, 5]], &[5, 3, 4, 2]),
            ("i->...i", &[&[4]], &[4]),
            ("ii->i", &[&[3, 3]], &[3]),
            ("", &[&[]], &[]),
        ];
        for (text, shapes, expected) in cases {
            assert_eq!(product(text, shapes).unwrap().result_shape(), *expected, "{text}");
        }
    }

    #[test]
    fn single_elements_have_no_index() {
        let product = product("ij,jk->ik", &[&[1, 1], &[3, 4]]).unwrap();
        assert_eq!(product.operands, [[None, None], [Some(0), Some(1)]]);
        assert_eq!(product.result, [None, Some(1)]);
        assert_eq!(
            (&product.extents[..], &product.names[..]),
            (&[3, 4][..], &["j".into(), "k".into()][..])
        );
    }

    #[test]
    fn what_does_not_fit() {
        let cases: Cases<(&str, u32)> = &[
            ("ij,jk", &[&[2, 3], &[4, 5]], &[("einsum-extents", 3)]),
            ("ij,jk", &[&[2, 3]], &[("einsum-operands", 0)]),
            ("ij,j", &[&[2], &[3, 4]], &[("einsum-axes", 0), ("einsum-axes", 3)]),
            ("...ij", &[&[2]], &[("einsum-axes", 0)]),
            ("ii", &[&[1, 3]], &[("einsum-diagonal", 0)]),
            ("i,ii", &[&[3], &[1, 3]], &[("einsum-diagonal", 2)]),
            ("ii,i", &[&[3, 1], &[2]], &[("einsum-diagonal", 0)]),
            ("...i->i", &[&[2, 3]], &[("einsum-output-ellipsis", 6)]),
            ("ij,ij", &[&[2, 3], &[4, 5]], &[("einsum-extents", 3), ("einsum-extents", 4)]),
            ("...,...", &[&[2], &[3]], &[("einsum-extents", 4)]),
        ];
        for (text, shapes, expected) in cases {
            assert_eq!(product(text, shapes).unwrap_err(), *expected, "{text}");
        }
    }
}
