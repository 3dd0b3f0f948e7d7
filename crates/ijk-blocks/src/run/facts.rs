//! Facts about the values of parts: computed where a panel may be skipped, and cached for each block for the duration
//! of a computation.

use super::part::Part;
use crate::formula::{FloatBounds, ValueSet};
use crate::plan::Expr;
use ijk_tensor::TensorView;
use ijk_types::{C64, C128, DType, Element, Ordered, bf16, f16};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Origin of a part, as a key of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// Number of an array, a block, and the bounds of each range of positions in it.
    Block(usize, Vec<usize>),
    /// Address of an expression, which is in the plan, and the bounds of ranges of its axes.
    Region(usize, Vec<usize>),
}

impl Origin {
    pub(crate) fn block(array: usize, at: &[usize], window: &[Range<usize>]) -> Self {
        Self::Block(array, at.iter().copied().chain(bounds(window)).collect())
    }

    pub(crate) fn region(of: &Expr, ranges: &[Range<usize>]) -> Self {
        Self::Region(std::ptr::from_ref(of) as usize, bounds(ranges).collect())
    }
}

fn bounds(ranges: &[Range<usize>]) -> impl Iterator<Item = usize> {
    ranges.iter().flat_map(|range| [range.start, range.end])
}

/// Cached value sets of the parts of a plan's arrays.
#[derive(Debug, Default)]
pub(crate) struct Facts(Mutex<HashMap<Origin, ValueSet>>);

impl Facts {
    fn known(&self) -> MutexGuard<'_, HashMap<Origin, ValueSet>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Value set of a part, if it is known before the part is read.
    pub(crate) fn get(&self, origin: &Origin) -> Option<ValueSet> {
        self.known().get(origin).copied()
    }

    /// Value set of a part's elements.
    pub(crate) fn of(&self, part: &Part) -> ValueSet {
        part.value_set(|| {
            let Some(origin) = part.origin() else { return look(part) };
            if let Some(known) = self.get(origin) {
                return known;
            }
            let found = look(part);
            self.known().insert(origin.clone(), found);
            found
        })
    }
}

fn look(part: &Part) -> ValueSet {
    let Some(view) = part.numbers() else { return ValueSet::Any };
    let within = match view.dtype() {
        DType::F16 => within(&view, |x: f16| [Ordered::to_f32(x)]),
        DType::BF16 => within(&view, |x: bf16| [Ordered::to_f32(x)]),
        DType::F32 => within(&view, |x: f32| [x]),
        DType::F64 => within(&view, |x: f64| [x]),
        DType::C64 => within(&view, |z: C64| [z.re, z.im]),
        DType::C128 => within(&view, |z: C128| [z.re, z.im]),
        _ => return ValueSet::Any,
    };
    within.map_or_else(|| ValueSet::unknown(view.dtype()), ValueSet::Bounds)
}

/// Bounds of elements of `N` floats each; `None` if all are NaN, or there is none.
fn within<T: Element, F: Float, const N: usize>(
    view: &TensorView,
    floats: impl Fn(T) -> [F; N],
) -> Option<FloatBounds> {
    let mut extremes = Extremes::default();
    rows(view, &mut |row| extremes.add(row, &floats));
    let mut within = extremes.within()?;
    // Comparisons do not distinguish the zeros, but they are seldom the extremes.
    let has = |zero: f64| {
        let is = |x: F| x.into().to_bits() == zero.to_bits();
        let mut found = false;
        rows(view, &mut |row| found |= row.iter().any(|&x| floats(x).into_iter().any(is)));
        found
    };
    if within.least == 0.0 {
        within.least = if has(-0.0) { -0.0 } else { 0.0 };
    }
    if within.greatest == 0.0 {
        within.greatest = if has(0.0) { 0.0 } else { -0.0 };
    }
    Some(within)
}

/// Visits contiguous runs of elements.
fn rows<T: Element>(view: &TensorView, visit: &mut impl FnMut(&[T])) {
    match view.as_slice::<T>() {
        Some(row) => visit(row),
        None => (0..view.shape()[0]).for_each(|n| rows(&view.at(0, n), visit)),
    }
}

trait Float: Copy + PartialOrd + Into<f64> {
    const INFINITY: Self;
    const NEG_INFINITY: Self;
}

impl Float for f32 {
    const INFINITY: Self = Self::INFINITY;
    const NEG_INFINITY: Self = Self::NEG_INFINITY;
}

impl Float for f64 {
    const INFINITY: Self = Self::INFINITY;
    const NEG_INFINITY: Self = Self::NEG_INFINITY;
}

/// Number of elements that are compared at a time: one vector, or a few.
const LANES: usize = 16;

/// The extremes in each lane, and the last NaN there, or infinity.
struct Extremes<F> {
    least: [F; LANES],
    greatest: [F; LANES],
    nan: [F; LANES],
}

impl<F: Float> Default for Extremes<F> {
    fn default() -> Self {
        let (least, greatest) = ([F::INFINITY; LANES], [F::NEG_INFINITY; LANES]);
        Self { least, greatest, nan: least }
    }
}

impl<F: Float> Extremes<F> {
    fn add<T: Copy, const N: usize>(&mut self, row: &[T], floats: impl Fn(T) -> [F; N]) {
        let (vectors, rest) = row.as_chunks::<LANES>();
        vectors.iter().for_each(|vector| self.add_lanes(vector, &floats));
        self.add_lanes(rest, floats);
    }

    #[inline(always)]
    fn add_lanes<T: Copy, const N: usize>(&mut self, row: &[T], floats: impl Fn(T) -> [F; N]) {
        for (lane, &element) in row.iter().enumerate() {
            for x in floats(element) {
                let (least, greatest) = (self.least[lane], self.greatest[lane]);
                self.least[lane] = if x < least { x } else { least };
                self.greatest[lane] = if x > greatest { x } else { greatest };
                self.nan[lane] = if x <= F::INFINITY { self.nan[lane] } else { x };
            }
        }
    }

    /// Bounds in which zeros have no sign; `None` if all elements are NaN.
    fn within(&self) -> Option<FloatBounds> {
        let least = self.least.iter().fold(f64::INFINITY, |m, &x| m.min(x.into()));
        let greatest = self.greatest.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x.into()));
        let nan = self.nan.iter().any(|&x| x.into().is_nan());
        (least <= greatest).then_some(FloatBounds { least, greatest, nan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;
    use ijk_tensor::Tensor;
    use std::sync::Arc;

    fn of(values: &[f64]) -> FloatBounds {
        let tensor = Tensor::from_vec(values.to_vec(), &[values.len()]).unwrap();
        let part = Part::whole(Block::Numbers(tensor), vec![0]);
        match Facts::default().of(&part) {
            ValueSet::Bounds(within) => within,
            other => panic!("{other:?}"),
        }
    }

    fn bits(within: FloatBounds) -> (u64, u64, bool) {
        (within.least.to_bits(), within.greatest.to_bits(), within.nan)
    }

    #[test]
    fn bounds_are_those_of_the_elements() {
        let mut values = vec![1.0; 100];
        assert_eq!(bits(of(&values)), (1f64.to_bits(), 1f64.to_bits(), false));
        values[37] = -3.5;
        values[99] = f64::INFINITY;
        values[64] = f64::NAN;
        let found = of(&values);
        assert_eq!((found.least, found.greatest, found.nan), (-3.5, f64::INFINITY, true));
        assert_eq!(bits(of(&[0.0, -0.0])), ((-0.0f64).to_bits(), 0, false));
        assert_eq!(bits(of(&[-0.0, -1.0])).1, (-0.0f64).to_bits());
        assert_eq!(bits(of(&[0.0, 2.0])).0, 0);
        assert!(of(&[f64::NAN]).nan && of(&[f64::NAN]).greatest == f64::INFINITY);
    }

    #[test]
    fn only_the_part_is_looked_at() {
        let values = (0..12).map(|n| if n == 3 { f32::NAN } else { n as f32 }).collect();
        let block = Arc::new(Block::Numbers(Tensor::from_vec(values, &[3, 4]).unwrap()));
        let part = Part::new(block, vec![0..3, 0..3], vec![0, 1]);
        let expected = FloatBounds { least: 0.0, greatest: 10.0, nan: false };
        assert_eq!(Facts::default().of(&part), ValueSet::Bounds(expected));
    }

    #[test]
    fn parts_of_complex_numbers_count_both() {
        let values = vec![C128::new(1.0, -4.0), C128::new(2.0, f64::INFINITY)];
        let part = Part::whole(Block::Numbers(Tensor::from_vec(values, &[2]).unwrap()), vec![0]);
        let expected = FloatBounds { least: -4.0, greatest: f64::INFINITY, nan: false };
        assert_eq!(Facts::default().of(&part), ValueSet::Bounds(expected));
    }
}
