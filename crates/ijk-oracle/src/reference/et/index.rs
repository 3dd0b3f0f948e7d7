//! Index expressions with resolved names: ranks, values at a point, ranges of values.

use super::EtError;
use super::range::{Interval, apply, call};
use crate::Bounded;
use crate::reference::surface::advance;
use crate::reference::value::{as_i64, position};
use ijk_syntax::et::ast::{IndexFunction, IndexOp};
use ijk_types::Scalar;

/// An index expression of one or more components.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    /// An integer or `RANK(…)`: the same for every component.
    Scalar(i128),
    /// `DIMS(…)`.
    Static(Vec<i128>),
    /// An eintup: its first axis in the domain (`None` in `DIMS()`), and its extents.
    Tuple(Option<usize>, Vec<u64>),
    /// A nested array.
    Element(Element<'a>),
    /// `FLAT(…)`: every component with its extent.
    Flat(Vec<(Node<'a>, Vec<u64>)>),
    /// A function of its operands.
    Call(IndexFunction, Vec<Node<'a>>),
    /// Terms, each with true if it is negated.
    Sum(Vec<(bool, Node<'a>)>),
    /// Factors, applied from left to right.
    Product(Box<Node<'a>>, Vec<(IndexOp, Node<'a>)>),
}

/// An element of an array, or with a star a tuple of elements.
#[derive(Clone, Debug)]
pub(crate) struct Element<'a> {
    pub array: &'a Bounded,
    /// Index and rank of each place.
    pub places: Vec<(PlaceIndex<'a>, usize)>,
}

/// Index at a place of a nested array.
#[derive(Clone, Debug)]
pub(crate) enum PlaceIndex<'a> {
    Index(Node<'a>),
    Star,
}

impl Node<'_> {
    /// Number of components; `None` for scalars, which adapt.
    pub fn rank(&self) -> Option<usize> {
        match self {
            Self::Scalar(_) => None,
            Self::Static(values) => Some(values.len()),
            Self::Tuple(_, extents) => Some(extents.len()),
            Self::Element(element) => Some(element.rank()),
            Self::Flat(_) => Some(1),
            Self::Call(_, operands) => operands.iter().find_map(Node::rank),
            Self::Sum(terms) => terms.iter().find_map(|(_, term)| term.rank()),
            Self::Product(first, rest) => {
                first.rank().or_else(|| rest.iter().find_map(|(_, factor)| factor.rank()))
            }
        }
    }

    /// Number of components in a context that does not determine it.
    pub fn own_rank(&self) -> usize {
        self.rank().unwrap_or(1)
    }

    pub fn is_static(&self) -> bool {
        match self {
            Self::Scalar(_) | Self::Static(_) => true,
            Self::Tuple(..) | Self::Element(_) | Self::Flat(_) => false,
            Self::Call(_, operands) => operands.iter().all(Node::is_static),
            Self::Sum(terms) => terms.iter().all(|(_, term)| term.is_static()),
            Self::Product(first, rest) => {
                first.is_static() && rest.iter().all(|(_, factor)| factor.is_static())
            }
        }
    }

    /// A component at a point; `None` if an element that it reads is out of bounds.
    pub fn at(&self, component: usize, point: &[usize]) -> Option<i128> {
        match self {
            Self::Scalar(value) => Some(*value),
            Self::Static(values) => Some(values[component]),
            Self::Tuple(first, _) => {
                let first = first.expect("a variable of the statement");
                Some(point[first + component] as i128)
            }
            Self::Element(element) => element.at(component, point),
            Self::Flat(digits) => flat(digits, point),
            Self::Call(function, operands) => {
                let values = operands.iter().map(|operand| operand.at(component, point));
                let values = values.collect::<Option<Vec<_>>>()?;
                Some(call(*function, &values))
            }
            Self::Sum(terms) => terms.iter().try_fold(0, |sum, (negated, term)| {
                let value = term.at(component, point)?;
                Some(if *negated { sum - value } else { sum + value })
            }),
            Self::Product(first, rest) => {
                rest.iter().try_fold(first.at(component, point)?, |product, (op, factor)| {
                    let factor = factor.at(component, point)?;
                    Some(apply(*op, product, factor).expect("checked when it was resolved"))
                })
            }
        }
    }

    /// Returns true if it contains an eintup or a nested array without values.
    fn empty(&self) -> bool {
        match self {
            Self::Scalar(_) | Self::Static(_) => false,
            Self::Tuple(_, extents) => extents.contains(&0),
            Self::Element(element) => element.empty(),
            Self::Flat(digits) => digits.iter().any(|(_, extents)| extents.contains(&0)),
            Self::Call(_, operands) => operands.iter().any(Node::empty),
            Self::Sum(terms) => terms.iter().any(|(_, term)| term.empty()),
            Self::Product(first, rest) => {
                first.empty() || rest.iter().any(|(_, factor)| factor.empty())
            }
        }
    }

    /// Returns true if the indices of nested arrays without components are in bounds; [`Self::at`] checks the others.
    pub fn inside(&self, point: &[usize]) -> bool {
        match self {
            Self::Scalar(_) | Self::Static(_) | Self::Tuple(..) => true,
            Self::Element(element) => element.inside(point),
            Self::Flat(digits) => digits.iter().all(|(e, _)| e.inside(point)),
            Self::Call(_, operands) => operands.iter().all(|operand| operand.inside(point)),
            Self::Sum(terms) => terms.iter().all(|(_, term)| term.inside(point)),
            Self::Product(first, rest) => {
                first.inside(point) && rest.iter().all(|(_, factor)| factor.inside(point))
            }
        }
    }

    /// The values of a component, by interval arithmetic.
    pub fn range(&self, component: usize) -> Result<Interval, EtError> {
        let range = match self {
            Self::Scalar(value) => Interval::one(*value),
            Self::Static(values) => Interval::one(values[component]),
            Self::Tuple(_, extents) => Interval::below(extents[component]),
            Self::Element(element) => element.range(component)?,
            Self::Flat(digits) => {
                let extents = digits.iter().flat_map(|(_, extents)| extents);
                let count = extents.copied().fold(1, u64::saturating_mul);
                Interval::below(count)
            }
            Self::Call(function, operands) => {
                let ranges = operands.iter().map(|operand| operand.range(component));
                Interval::call(*function, &ranges.collect::<Result<Vec<_>, _>>()?)
            }
            Self::Sum(terms) => {
                terms.iter().try_fold(Interval::one(0), |sum, (negated, term)| {
                    sum.add(*negated, term.range(component)?).check()
                })?
            }
            Self::Product(first, rest) => {
                rest.iter().try_fold(first.range(component)?, |product, (op, factor)| {
                    product.product(*op, factor.range(component)?)?.check()
                })?
            }
        };
        range.check()
    }

    /// `DIMS` of the expression: the exclusive upper bounds of `rank` components.
    pub fn dims(&self, rank: usize) -> Result<Vec<u64>, EtError> {
        (0..rank).map(|component| Ok(self.range(component)?.extent())).collect()
    }
}

/// The number whose digits are the components, the first most significant.
fn flat(digits: &[(Node, Vec<u64>)], point: &[usize]) -> Option<i128> {
    let mut number = 0;
    for (e, extents) in digits {
        for (component, &extent) in extents.iter().enumerate() {
            let extent = i128::from(extent);
            let digit = e.at(component, point).filter(|digit| (0..extent).contains(digit))?;
            number = number * extent + digit;
        }
    }
    Some(number)
}

impl Element<'_> {
    /// The axis of the array that the star indexes.
    fn star(&self) -> Option<usize> {
        let star = self.places.iter().position(|(place, _)| matches!(place, PlaceIndex::Star))?;
        Some(self.places[..star].iter().map(|(_, rank)| rank).sum())
    }

    /// Returns true if one of its indices has no value, or an indexed axis has no element.
    fn empty(&self) -> bool {
        let star = self.star();
        let mut axes = self.array.shape.iter().enumerate();
        axes.any(|(axis, &extent)| extent == 0 && Some(axis) != star)
            || self.places.iter().any(|(place, _)| match place {
                PlaceIndex::Index(e) => e.empty(),
                PlaceIndex::Star => false,
            })
    }

    fn rank(&self) -> usize {
        self.star().map_or(1, |axis| self.array.shape[axis])
    }

    /// Same as [`Node::inside`].
    pub fn inside(&self, point: &[usize]) -> bool {
        let mut axis = 0;
        self.places.iter().all(|(place, rank)| {
            let first = axis;
            axis += rank;
            let PlaceIndex::Index(e) = place else { return true };
            let fits = |c: usize| {
                let extent = self.array.shape[first + c] as i128;
                e.at(c, point).is_some_and(|i| (0..extent).contains(&i))
            };
            e.inside(point) && (self.rank() > 0 || (0..*rank).all(fits))
        })
    }

    fn at(&self, component: usize, point: &[usize]) -> Option<i128> {
        Some(whole(self.array.cells[self.position(component, point)?].value))
    }

    /// Position of the element in C order, if every index is in bounds.
    pub fn position(&self, component: usize, point: &[usize]) -> Option<usize> {
        let mut index = Vec::with_capacity(self.array.shape.len());
        for (place, rank) in &self.places {
            for c in 0..*rank {
                let value = match place {
                    PlaceIndex::Star => component as i128,
                    PlaceIndex::Index(e) => e.at(c, point)?,
                };
                let extent = *self.array.shape.get(index.len())? as i128;
                index.push(Some(value).filter(|i| (0..extent).contains(i))? as usize);
            }
        }
        Some(position(&self.array.shape, index))
    }

    /// The values of the array for a component; empty if the place is never indexed.
    fn range(&self, component: usize) -> Result<Interval, EtError> {
        let (shape, star) = (&self.array.shape, self.star());
        if self.empty() || shape.contains(&0) {
            return Ok(Interval::EMPTY);
        }
        let mut held = Vec::new();
        let mut index = vec![0; shape.len()];
        loop {
            if star.is_none_or(|axis| index[axis] == component) {
                held.push(whole(self.array.cells[position(shape, index.iter().copied())].value));
            }
            if !advance(&mut index, shape) {
                return Ok(Interval::of(held.into_iter()));
            }
        }
    }
}

fn whole(x: Scalar) -> i128 {
    as_i64(x).expect("index arrays hold integers").into()
}
