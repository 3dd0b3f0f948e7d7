//! Ranks, ranges and extents of index expressions under a [`Solution`].
//!
//! An expression's *range* is found by interval arithmetic, component by component; its *extents*
//! (`DIMS`) are the greatest values + 1, clamped at 0, and 0 where an eintup in it is empty.
//! Integers and `RANK` stand for as many equal components as their place has.

use super::arith;
use super::codes;
use super::{Checked, Solution};
use crate::interval::Interval;
use crate::text::quote;
use ijk_syntax::et::ast::{Access, Index, IndexFunction, IndexOp, Name};
use ijk_syntax::{Diagnostic, Span};

/// Range of each component that a nested array yields; none before the array has elements.
pub type Elements<'a> = &'a dyn Fn(&Access) -> Option<Vec<Interval>>;

/// Number of components of a nested array with `:`, if known.
pub type Counts<'a> = &'a dyn Fn(&Access) -> Option<u64>;

/// Answers about index expressions of one program under one solution.
///
/// ```
/// use ijk_ir::et::{Checked, Extents, ShapeId, Solution, Tuple};
/// use ijk_syntax::Span;
/// use ijk_syntax::et::ast::{Index, Name};
///
/// let span = Span::default();
/// let a = Tuple { name: "a".into(), span, shape: ShapeId(0) };
/// let checked = Checked { tuples: vec![a], shapes: 1, ..Checked::default() };
/// let solution = Solution { dims: vec![vec![4, 5]], places: vec![] };
/// let extents = Extents::new(&checked, &solution);
///
/// let a = Index::Tuple(Name { text: "a".into(), span });
/// let sum = Index::Sum(vec![(false, a), (false, Index::Integer(3, span))], span);
/// assert_eq!(extents.rank(&sum), Some(2));
/// assert_eq!(extents.dims(&sum, 2), Ok(Some(vec![7, 8])));
/// ```
#[derive(Clone, Copy)]
pub struct Extents<'a> {
    checked: &'a Checked,
    solution: &'a Solution,
    elements: Option<Elements<'a>>,
    counts: Option<Counts<'a>>,
}

/// The range of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ComponentRange {
    range: Interval,
    /// An eintup in the expression is empty.
    empty: bool,
    /// No unknown element of an array takes part.
    known: bool,
}

impl ComponentRange {
    fn point(value: i128) -> Self {
        Self { range: Interval::point(value), empty: false, known: true }
    }

    fn of_extent(extent: u64) -> Self {
        Self { range: Interval::of_extent(extent), empty: extent == 0, known: true }
    }

    fn unknown() -> Self {
        let range = Interval { least: i64::MIN.into(), greatest: i64::MAX.into() };
        Self { range, empty: false, known: false }
    }

    fn with(self, other: Self, range: Interval) -> Self {
        let (empty, known) = (self.empty || other.empty, self.known && other.known);
        Self { range, empty, known }
    }

    fn extent(self) -> u64 {
        if self.empty { 0 } else { u64::try_from(self.range.greatest + 1).unwrap_or(0) }
    }
}

type ComponentRanges = Result<Vec<ComponentRange>, Diagnostic>;

impl<'a> Extents<'a> {
    /// Answers that take nested arrays for unknown.
    pub fn new(checked: &'a Checked, solution: &'a Solution) -> Self {
        Self { checked, solution, elements: None, counts: None }
    }

    /// Answers that ask `elements` for the ranges of what nested arrays yield, and `counts` for the
    /// extents of the axes with `:`.
    pub fn with_elements(self, elements: Elements<'a>, counts: Counts<'a>) -> Self {
        Self { elements: Some(elements), counts: Some(counts), ..self }
    }

    /// The number of components; none for scalars and for nested arrays with a `:`, which have as
    /// many as their place.
    pub fn rank(&self, index: &Index) -> Option<u32> {
        match index {
            Index::Integer(..) | Index::Rank(..) | Index::Star(_) => None,
            Index::Tuple(name) => self.tuple(name).map(|dims| dims.len() as u32),
            Index::Dims(of, _) => Some(self.total_rank(of)),
            Index::Flat(..) => Some(1),
            Index::Array(access) => {
                let star = access.indices.iter().any(|i| matches!(i, Index::Star(_)));
                (!star).then_some(1)
            }
            Index::Call(_, of, _) => of.iter().find_map(|e| self.rank(e)),
            Index::Sum(terms, _) => terms.iter().find_map(|(_, term)| self.rank(term)),
            Index::Product(first, rest, _) => {
                self.rank(first).or_else(|| rest.iter().find_map(|(_, factor)| self.rank(factor)))
            }
        }
    }

    /// The number of components where no place determines it: 1 for scalars, for nested arrays with a `:` the extent of
    /// that axis.
    pub fn own_rank(&self, index: &Index) -> u32 {
        self.rank(index).or_else(|| self.count(index)).unwrap_or(1)
    }

    /// The extent of the axis with `:` of a nested array that is combined with scalars only.
    fn count(&self, index: &Index) -> Option<u32> {
        match index {
            Index::Array(access) => {
                let place = access.indices.iter().position(|i| matches!(i, Index::Star(_)))?;
                let known = self.counts.and_then(|counts| counts(access));
                let extent = known.or_else(|| {
                    let array = self.checked.array(&access.array.text)?;
                    let shape = self.checked.place_shape(array, place)?;
                    self.solution.dims[shape.0 as usize].first().copied()
                });
                u32::try_from(extent?).ok()
            }
            Index::Dims(of, _) => match &of[..] {
                [e] => self.count(e),
                _ => None,
            },
            Index::Call(_, of, _) => of.iter().find_map(|e| self.count(e)),
            Index::Sum(terms, _) => terms.iter().find_map(|(_, term)| self.count(term)),
            Index::Product(first, rest, _) => {
                self.count(first).or_else(|| rest.iter().find_map(|(_, factor)| self.count(factor)))
            }
            _ => None,
        }
    }

    /// `RANK(of, …)`: the sum of the ranks, where a scalar has 1.
    pub fn total_rank(&self, of: &[Index]) -> u32 {
        of.iter().fold(0, |sum: u32, e| sum.saturating_add(self.own_rank(e)))
    }

    /// Least and greatest value of each of `rank` components. An empty eintup counts as if its
    /// only value were 0; elements of nested arrays of which nothing is known are any `i64`.
    ///
    /// # Errors
    /// Values beyond `i64`, division by 0, ranks that differ.
    pub fn range(&self, index: &Index, rank: u32) -> Result<Vec<Interval>, Diagnostic> {
        Ok(self.components(index, rank)?.into_iter().map(|c| c.range).collect())
    }

    /// The extents of `rank` components; none where they depend on unknown elements of arrays.
    ///
    /// # Errors
    /// As of [`Extents::range`].
    pub fn dims(&self, index: &Index, rank: u32) -> Result<Option<Vec<u64>>, Diagnostic> {
        let components = self.components(index, rank)?;
        let known = components.iter().all(|c| c.known);
        Ok(known.then(|| components.into_iter().map(ComponentRange::extent).collect()))
    }

    /// `DIMS(of, …)`: the extents of all, one after another, a scalar having one component.
    ///
    /// # Errors
    /// As of [`Extents::range`], and where an extent depends on elements of arrays.
    pub fn all_dims(&self, of: &[Index]) -> Result<Vec<u64>, Diagnostic> {
        let mut all = Vec::new();
        for e in of {
            let dims = self.dims(e, self.own_rank(e))?;
            all.extend(dims.ok_or_else(|| self.of_data(e.span()))?);
        }
        Ok(all)
    }

    /// The values of `rank` components of an expression of integers, `RANK` and `DIMS` alone;
    /// none of another.
    ///
    /// # Errors
    /// As of [`Extents::range`].
    pub fn static_value(&self, index: &Index, rank: u32) -> Result<Option<Vec<i64>>, Diagnostic> {
        if !is_static(index) {
            return Ok(None);
        }
        let components = self.components(index, rank)?;
        Ok(Some(components.into_iter().map(|c| c.range.least as i64).collect()))
    }

    fn tuple(&self, name: &Name) -> Option<&'a [u64]> {
        self.checked.tuple(&name.text).map(|t| self.solution.of(t))
    }

    fn components(&self, index: &Index, rank: u32) -> ComponentRanges {
        let all = |component: ComponentRange| vec![component; rank as usize];
        let found = match index {
            Index::Integer(value, _) => all(ComponentRange::point((*value).into())),
            Index::Rank(of, _) => all(ComponentRange::point(self.total_rank(of).into())),
            Index::Tuple(name) => {
                let dims = self.tuple(name).ok_or_else(|| unknown(name))?;
                dims.iter().copied().map(ComponentRange::of_extent).collect()
            }
            Index::Dims(of, _) => {
                let dims = self.all_dims(of)?;
                dims.into_iter().map(|n| ComponentRange::point(n.into())).collect()
            }
            Index::Flat(of, _) => vec![self.flat(of)?],
            Index::Call(function, of, _) => self.call(*function, of, rank)?,
            Index::Array(access) => self.element(access, rank),
            Index::Star(_) => all(ComponentRange::unknown()),
            Index::Sum(terms, _) => self.sum(terms, rank)?,
            Index::Product(first, rest, _) => self.product(first, rest, rank)?,
        };
        self.judge(index.span(), found, rank)
    }

    /// Refuses what no index can be.
    fn judge(&self, span: Span, found: Vec<ComponentRange>, rank: u32) -> ComponentRanges {
        if found.len() != rank as usize {
            let text = quote(&self.checked.source, span, "it");
            let (have, want) = (found.len(), rank);
            let message = format!("{text} has rank {have} where rank {want} is needed");
            return Err(codes::RANKS_DIFFER.error(span, message));
        }
        let fits = |c: &ComponentRange| {
            !c.known
                || (c.range.least >= i64::MIN.into() && c.range.greatest < i128::from(i64::MAX))
        };
        match found.iter().find(|c| !fits(c)) {
            None => Ok(found),
            Some(c) => {
                let text = quote(&self.checked.source, span, "it");
                let (least, greatest) = (c.range.least, c.range.greatest);
                let message =
                    format!("{text} reaches from {least} to {greatest}: more than 64 bits hold");
                Err(codes::INDEX_TOO_LARGE.error(span, message))
            }
        }
    }

    fn flat(&self, of: &[Index]) -> Result<ComponentRange, Diagnostic> {
        let dims = self.all_dims(of)?;
        let product = dims.iter().fold(1i128, |p, n| p.saturating_mul((*n).into()));
        let range = Interval { least: 0, greatest: (product - 1).max(0) };
        Ok(ComponentRange { range, empty: product == 0, known: true })
    }

    fn call(&self, function: IndexFunction, of: &[Index], rank: u32) -> ComponentRanges {
        let operands = of.iter().map(|e| self.components(e, rank));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let component = |c: usize| {
            let each = operands.iter().map(|operand| operand[c]);
            let combined =
                each.reduce(|a, b| a.with(b, arith::extreme(function, a.range, b.range)));
            let all = combined.unwrap_or(ComponentRange::point(0));
            match function {
                IndexFunction::Abs => ComponentRange { range: all.range.magnitude(), ..all },
                _ => all,
            }
        };
        Ok((0..rank as usize).map(component).collect())
    }

    fn element(&self, access: &Access, rank: u32) -> Vec<ComponentRange> {
        let found = self.elements.and_then(|elements| elements(access));
        let known = |range: Interval| ComponentRange {
            range: Interval { least: range.least, greatest: range.greatest.max(range.least) },
            empty: range.greatest < range.least,
            known: true,
        };
        match found {
            Some(ranges) => ranges.into_iter().map(known).collect(),
            None => vec![ComponentRange::unknown(); rank as usize],
        }
    }

    fn sum(&self, terms: &[(bool, Index)], rank: u32) -> ComponentRanges {
        let mut sum = vec![ComponentRange::point(0); rank as usize];
        for (negated, term) in terms {
            for (s, t) in sum.iter_mut().zip(self.components(term, rank)?) {
                let r = t.range;
                let range = match negated {
                    true => Interval { least: -r.greatest, greatest: -r.least },
                    false => r,
                };
                *s = s.with(t, s.range.plus(range));
            }
        }
        Ok(sum)
    }

    fn product(&self, first: &Index, rest: &[(IndexOp, Index)], rank: u32) -> ComponentRanges {
        let mut product = self.components(first, rank)?;
        for (op, factor) in rest {
            let by = self.components(factor, rank)?;
            for (p, f) in product.iter_mut().zip(by) {
                let range = match op {
                    IndexOp::Mul => p.range.product(f.range),
                    _ => self.divide(*op, p.range, f.range, factor.span())?,
                };
                *p = p.with(f, range);
            }
            product = self.judge(first.span().to(factor.span()), product, rank)?;
        }
        Ok(product)
    }

    fn divide(
        &self,
        op: IndexOp,
        a: Interval,
        by: Interval,
        span: Span,
    ) -> Result<Interval, Diagnostic> {
        let text = || quote(&self.checked.source, span, "it");
        if by.least != by.greatest {
            return Err(not_static(&self.checked.source, op, span));
        }
        arith::range_by(op, a, by.least).ok_or_else(|| {
            let spelling = spelling(op);
            let message = format!("the right operand of `{spelling}`, {}, is 0", text());
            codes::ZERO_DIVISOR.error(span, message).with_label("0")
        })
    }

    fn of_data(&self, span: Span) -> Diagnostic {
        let text = quote(&self.checked.source, span, "it");
        let message = format!("the extents of {text} depend on elements of arrays");
        codes::EXTENTS_OF_DATA.error(span, message)
    }
}

fn unknown(name: &Name) -> Diagnostic {
    codes::UNKNOWN_TUPLE.error(name.span, format!("unknown eintup `{}`", name.text))
}

/// Error about a divisor that differs from point to point.
pub(super) fn not_static(source: &str, op: IndexOp, span: Span) -> Diagnostic {
    let (text, spelling) = (quote(source, span, "it"), spelling(op));
    let message =
        format!("{text} differs from point to point, and cannot stand right of `{spelling}`");
    codes::NOT_STATIC
        .error(span, message)
        .with_hint("integers, `RANK(…)`, `DIMS(…)` and arithmetic over those can")
}

/// Spelling of an operator.
pub(super) fn spelling(op: IndexOp) -> &'static str {
    match op {
        IndexOp::Mul => "*",
        IndexOp::FloorDiv => "//",
        IndexOp::CeilDiv => "//^",
        IndexOp::Mod => "%",
    }
}

/// Returns true for expressions of integers, `RANK` and `DIMS` alone, whose value is the same at every point.
pub fn is_static(index: &Index) -> bool {
    match index {
        Index::Integer(..) | Index::Dims(..) | Index::Rank(..) => true,
        Index::Tuple(_) | Index::Flat(..) | Index::Array(_) | Index::Star(_) => false,
        Index::Call(_, of, _) => of.iter().all(is_static),
        Index::Sum(terms, _) => terms.iter().all(|(_, term)| is_static(term)),
        Index::Product(first, rest, _) => {
            is_static(first) && rest.iter().all(|(_, factor)| is_static(factor))
        }
    }
}

/// Returns true for expressions without a rank of their own: integers, `RANK` and arithmetic over those.
pub fn is_scalar(index: &Index) -> bool {
    match index {
        Index::Integer(..) | Index::Rank(..) => true,
        Index::Call(_, of, _) => of.iter().all(is_scalar),
        Index::Sum(terms, _) => terms.iter().all(|(_, term)| is_scalar(term)),
        Index::Product(first, rest, _) => {
            is_scalar(first) && rest.iter().all(|(_, factor)| is_scalar(factor))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
