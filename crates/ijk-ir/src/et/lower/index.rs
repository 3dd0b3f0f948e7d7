//! Index expressions, component by component.

use super::known::Version;
use super::scope::Scope;
use super::{accesses, messages};
use crate::core::{Access, Atom, IndexExpr, Terms};
use crate::et::extent::is_static;
use crate::limits::MAX_TERMS;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{self, Index, IndexFunction, IndexOp};
use std::collections::HashMap;

/// Divisions, remainders, products and elements that may stand within one another.
const MAX_DEPTH: u32 = 64;

/// A component, and how deep it nests.
#[derive(Clone, Debug)]
struct Part {
    expr: IndexExpr,
    depth: u32,
}

impl Part {
    fn constant(value: i64) -> Self {
        Self { expr: IndexExpr::constant(value), depth: 0 }
    }
}

type Parts = Option<Vec<Part>>;

impl Scope<'_, '_> {
    /// The index of an access: the components of all its places.
    pub fn indices(&mut self, indices: &[Index], places: &[u32]) -> Option<Vec<IndexExpr>> {
        let places: Vec<_> =
            indices.iter().zip(places).map(|(e, &rank)| self.place(e, rank)).collect();
        Some(places.into_iter().collect::<Option<Vec<_>>>()?.concat())
    }

    /// The components of an expression at a place.
    pub fn place(&mut self, e: &Index, rank: u32) -> Option<Vec<IndexExpr>> {
        self.integers(std::slice::from_ref(e))?;
        self.check(self.known.extents(|extents| extents.range(e, rank)))?;
        let parts = self.parts(e, rank)?;
        let indices: Vec<IndexExpr> = parts.into_iter().map(|part| part.expr).collect();
        self.guard_lost(&indices);
        Some(indices)
    }

    /// Checks that nested arrays are there and hold integers, also those of which only extents or ranks are used.
    pub fn integers(&mut self, of: &[Index]) -> Option<()> {
        let (mut wrong, mut missing) = (None, None);
        accesses::for_each_nested(of, &mut |access| {
            let array = self.known.checked.array(&access.array.text);
            let version = array.and_then(|array| self.known.versions[array].as_ref());
            let dtype = version.map(Version::dtype);
            if dtype.is_none() {
                missing.get_or_insert(access.array.clone());
            }
            if dtype.is_some_and(|dtype| dtype.is_none_or(|t| !t.is_integer())) {
                wrong.get_or_insert((access.clone(), dtype.flatten()));
            }
        });
        if let Some(name) = missing {
            return self.fail(messages::unknown(&name));
        }
        let Some((access, dtype)) = wrong else { return Some(()) };
        self.fail(messages::index_type(self.source(), &access, dtype?))
    }

    fn parts(&mut self, e: &Index, rank: u32) -> Parts {
        let all = |value| Some(vec![Part::constant(value); rank as usize]);
        let parts = match e {
            Index::Integer(value, _) => all(*value),
            Index::Rank(..) | Index::Dims(..) => self.constants(e, rank),
            Index::Tuple(name) => {
                let axes = self.axes(&name.text).or_else(|| self.fail(messages::unknown(name)))?;
                Some(axes.into_iter().map(|expr| Part { expr, depth: 0 }).collect())
            }
            Index::Flat(of, span) => self.flat(of, *span),
            Index::Call(function, of, span) => self.called(*function, of, rank, *span),
            Index::Array(access) => self.nested(access, rank),
            Index::Star(span) => self.fail(messages::star(*span)),
            Index::Sum(terms, span) => self.sum(terms, rank, *span),
            Index::Product(first, rest, _) => self.product(first, rest, rank),
        }?;
        match parts.iter().any(|part| part.depth > MAX_DEPTH) {
            true => self.fail(messages::nested(self.source(), e.span())),
            false => Some(parts),
        }
    }

    fn constants(&mut self, e: &Index, rank: u32) -> Parts {
        let values = self.check(self.known.extents(|extents| extents.static_value(e, rank)))?;
        Some(values?.into_iter().map(Part::constant).collect())
    }

    /// The components as the digits of one number; each must be within its own extent.
    fn flat(&mut self, of: &[Index], span: Span) -> Parts {
        let dims = self.check(self.known.extents(|extents| extents.all_dims(of)))?;
        let mut digits = Vec::with_capacity(dims.len());
        for e in of {
            let rank = self.known.extents(|extents| Ok(extents.own_rank(e)));
            let rank = self.check(rank)?;
            digits.extend(self.parts(e, rank)?);
        }
        let mut sum = Sum::default();
        let mut stride = Some(1i64);
        let empty = dims.contains(&0);
        for (digit, &extent) in digits.iter().zip(&dims).rev() {
            self.guard(&digit.expr, extent);
            let added = match (empty, stride) {
                (true, _) => sum.add(digit, 0),
                (false, stride) => stride.and_then(|stride| sum.add(digit, stride)),
            };
            if added.is_none() {
                return self.fail(messages::overflow(self.source(), span));
            }
            stride = i64::try_from(extent).ok().and_then(|n| stride?.checked_mul(n));
        }
        Some(vec![sum.finish()])
    }

    /// An element of an array, or one for each component.
    fn nested(&mut self, access: &ast::Access, rank: u32) -> Parts {
        let array = self.known.checked.array(&access.array.text);
        let array = array.or_else(|| self.fail(messages::unknown(&access.array)))?;
        let version = self.known.versions[array].as_ref();
        let version = version.or_else(|| self.fail(messages::unknown(&access.array)))?;
        let (dtype, shape) = (version.dtype(), version.shape.as_ref());
        let places = self.known.places(array);
        let mut index: Vec<Vec<Part>> = Vec::with_capacity(places.len());
        let mut star = None;
        for (e, &place) in access.indices.iter().zip(places) {
            if let Index::Star(span) = e {
                star = Some((index.iter().map(Vec::len).sum::<usize>(), *span));
                index.push(vec![Part::constant(0)]);
            } else {
                let range = self.known.extents(|extents| extents.range(e, place));
                self.check(range)?;
                index.push(self.parts(e, place)?);
            }
        }
        let (Some(_), Some(shape)) = (dtype, shape.cloned()) else { return None };
        if let Some((axis, span)) = star
            && let Some(&extent) = shape.get(axis)
            && extent != u64::from(rank)
        {
            return self.fail(messages::star_extent(self.source(), access, span, extent, rank));
        }
        let id = self.stage.read(array, self.known);
        let index: Vec<Part> = index.concat();
        if rank == 0 {
            // No component reads the array, but points beyond it are skipped all the same.
            for (axis, (part, &extent)) in index.iter().zip(&shape).enumerate() {
                if star.is_none_or(|(star, _)| star != axis) {
                    self.guard(&part.expr, extent);
                }
            }
        }
        let depth = 1 + index.iter().map(|part| part.depth).max().unwrap_or(0);
        let component = |component: u32| {
            let mut index: Vec<IndexExpr> = index.iter().map(|part| part.expr.clone()).collect();
            if let Some((axis, _)) = star {
                index[axis] = IndexExpr::constant(component.into());
            }
            let access = Access { array: id, index, span: access.span.into() };
            Part { expr: IndexExpr::element(access), depth }
        };
        let parts: Vec<Part> = (0..rank).map(component).collect();
        for (_, atom) in parts.iter().flat_map(|part| &part.expr.terms) {
            if let Atom::Element(access) = atom {
                self.elements.push(((**access).clone(), shape.clone()));
            }
        }
        Some(parts)
    }

    fn sum(&mut self, terms: &[(bool, Index)], rank: u32, span: Span) -> Parts {
        let mut sums: Vec<Sum> = (0..rank).map(|_| Sum::default()).collect();
        for (negated, term) in terms {
            let factor = if *negated { -1 } else { 1 };
            for (sum, part) in sums.iter_mut().zip(self.parts(term, rank)?) {
                if sum.add(&part, factor).is_none() {
                    return self.fail(messages::overflow(self.source(), span));
                }
            }
        }
        Some(sums.into_iter().map(Sum::finish).collect())
    }

    /// A function of the components of its operands.
    fn called(&mut self, function: IndexFunction, of: &[Index], rank: u32, span: Span) -> Parts {
        let operands = of.iter().map(|e| self.parts(e, rank)).collect::<Option<Vec<_>>>()?;
        let component = |c: usize| {
            let depth = operands.iter().map(|operand| operand[c].depth).max()?;
            let each = operands.iter().map(|operand| operand[c].expr.clone());
            let expr = match function {
                IndexFunction::Abs => operands.first()?[c].expr.clone().magnitude()?,
                IndexFunction::Max => each.reduce(IndexExpr::maximum)?,
                IndexFunction::Min => each.reduce(IndexExpr::minimum)?,
            };
            let depth = if expr.is_affine() { 0 } else { depth + 1 };
            Some(Part { expr, depth })
        };
        let parts: Parts = (0..rank as usize).map(component).collect();
        parts.or_else(|| self.fail(messages::overflow(self.source(), span)))
    }

    fn product(&mut self, first: &Index, rest: &[(IndexOp, Index)], rank: u32) -> Parts {
        let mut product = self.parts(first, rank)?;
        for (op, factor) in rest {
            let span = first.span().to(factor.span());
            if *op != IndexOp::Mul && !is_static(factor) {
                return self.fail(messages::overflow(self.source(), span));
            }
            let factors = self.parts(factor, rank)?;
            for (part, factor) in product.iter_mut().zip(factors) {
                match apply(*op, part, &factor) {
                    Some(next) if next.depth <= MAX_DEPTH => *part = next,
                    Some(_) => return self.fail(messages::nested(self.source(), span)),
                    None => return self.fail(messages::overflow(self.source(), span)),
                }
            }
        }
        Some(product)
    }

    /// The program's text.
    pub fn source(&self) -> &str {
        &self.known.checked.source
    }
}

/// `left op right`; none on overflow, and for divisors that are not constant or 0.
fn apply(op: IndexOp, left: &Part, right: &Part) -> Option<Part> {
    if op == IndexOp::Mul {
        let constant = left.expr.as_constant().is_some() || right.expr.as_constant().is_some();
        let depth = left.depth.max(right.depth) + u32::from(!constant);
        return Some(Part { expr: left.expr.product(&right.expr)?, depth });
    }
    let divisor = right.expr.as_constant().filter(|d| *d != 0)?;
    let expr = divide(op, &left.expr, divisor)?;
    let depth = if expr.is_affine() { 0 } else { left.depth + 1 };
    Some(Part { expr, depth })
}

/// Divisions by a positive number only: `x // -d` is `-x // d`, `x % -d` is `-(-x % d)`.
fn divide(op: IndexOp, x: &IndexExpr, divisor: i64) -> Option<IndexExpr> {
    let size = i64::try_from(divisor.unsigned_abs()).ok()?;
    let x = if divisor < 0 { x.times(-1)? } else { x.clone() };
    match op {
        IndexOp::Mul => x.times(size),
        IndexOp::FloorDiv => Some(x.floor_div(size)),
        IndexOp::CeilDiv => Some(x.plus(&IndexExpr::constant(size - 1))?.floor_div(size)),
        IndexOp::Mod => x.modulo(size).times(divisor.signum()),
    }
}

/// A sum that is being added up.
#[derive(Default)]
struct Sum {
    constant: i64,
    terms: Terms,
    places: HashMap<Atom, usize>,
    depth: u32,
}

impl Sum {
    /// Adds a multiple; none on overflow, and where there are too many terms.
    fn add(&mut self, part: &Part, factor: i64) -> Option<()> {
        let constant = part.expr.constant.checked_mul(factor)?;
        self.constant = self.constant.checked_add(constant)?;
        self.depth = self.depth.max(part.depth);
        for (coefficient, atom) in &part.expr.terms {
            let coefficient = coefficient.checked_mul(factor)?;
            let next = self.terms.len();
            // Where two reads of an element cancel, that is seen here: `guard_lost` keeps its bounds.
            let at = *self.places.entry(atom.without_spans()).or_insert(next);
            if at == next {
                self.terms.push((0, atom.clone()));
            }
            self.terms[at].0 = self.terms[at].0.checked_add(coefficient)?;
        }
        (self.terms.len() <= MAX_TERMS).then_some(())
    }

    /// The sum in normal form.
    fn finish(mut self) -> Part {
        self.terms.retain(|(coefficient, _)| *coefficient != 0);
        self.terms.sort_by_key(|(_, atom)| match atom {
            Atom::Axis(axis) => axis.0,
            _ => u32::MAX,
        });
        let expr = IndexExpr { constant: self.constant, terms: self.terms };
        Part { expr, depth: self.depth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::AxisId;

    #[test]
    fn divisions_by_negative_numbers_are_those_of_python() {
        let x = IndexExpr::axis(AxisId(0));
        let at = |op, divisor, x_value: i64| divide(op, &x, divisor).unwrap().eval(&[x_value]);
        assert_eq!(at(IndexOp::FloorDiv, -2, 7), -4);
        assert_eq!(at(IndexOp::Mod, -2, 7), -1);
        assert_eq!(at(IndexOp::CeilDiv, -2, 7), -3);
        assert_eq!(at(IndexOp::FloorDiv, -2, -7), 3);
        assert_eq!(at(IndexOp::CeilDiv, 2, 7), 4);
        assert_eq!(at(IndexOp::CeilDiv, 2, -7), -3);
        assert_eq!(at(IndexOp::Mod, 3, -7), 2);
        assert_eq!(divide(IndexOp::Mod, &x, i64::MIN), None);
    }

    #[test]
    fn sums_merge_equal_terms() {
        let half = || Part { expr: IndexExpr::axis(AxisId(1)).floor_div(2), depth: 1 };
        let mut sum = Sum::default();
        for (part, factor) in [(half(), 1), (half(), 1)] {
            sum.add(&part, factor).unwrap();
        }
        let axis = Part { expr: IndexExpr::axis(AxisId(0)), depth: 0 };
        sum.add(&axis, 3).unwrap();
        let expr = sum.finish().expr;
        assert_eq!(expr.terms.iter().map(|t| t.0).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(expr.eval(&[1, 5]), 7);
        assert_eq!(Sum::default().add(&axis, i64::MAX).and(None::<()>), None);
    }
}
