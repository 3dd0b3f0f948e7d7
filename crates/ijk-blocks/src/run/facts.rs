//! Which values the elements of parts are among: looked at where a panel may be skipped, and remembered for each
//! block as long as a computation runs.

use super::part::Part;
use crate::formula::{Among, Within};
use crate::plan::Expr;
use ijk_tensor::TensorView;
use ijk_types::{C64, C128, DType};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a part was read, or of what it was computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The number of an array, a block, and the bounds of each range of positions in it.
    Block(usize, Vec<usize>),
    /// An expression, told from others by where it is, which is in the plan, and the bounds of ranges of its axes.
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

/// What is known of the parts of a plan's arrays.
#[derive(Debug, Default)]
pub(crate) struct Facts(Mutex<HashMap<Origin, Among>>);

impl Facts {
    fn known(&self) -> MutexGuard<'_, HashMap<Origin, Among>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a part before it is read.
    pub(crate) fn get(&self, origin: &Origin) -> Option<Among> {
        self.known().get(origin).copied()
    }

    /// What a part's elements are among.
    pub(crate) fn of(&self, part: &Part) -> Among {
        part.among(|| {
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

fn look(part: &Part) -> Among {
    let Some(view) = part.numbers() else { return Among::Any };
    let mut seen = Seen::default();
    match view.dtype() {
        DType::F32 => rows(&view, &mut |row: &[f32]| seen.add(row, |x| [f64::from(x)])),
        DType::F64 => rows(&view, &mut |row: &[f64]| seen.add(row, |x| [x])),
        DType::C64 => rows(&view, &mut |row: &[C64]| {
            seen.add(row, |z| [f64::from(z.re), f64::from(z.im)]);
        }),
        DType::C128 => rows(&view, &mut |row: &[C128]| seen.add(row, |z| [z.re, z.im])),
        _ => return Among::Any,
    }
    seen.among(view.dtype())
}

/// Visits elements that lie side by side.
fn rows<T: ijk_types::Element>(view: &TensorView, visit: &mut impl FnMut(&[T])) {
    match view.as_slice::<T>() {
        Some(row) => visit(row),
        None => (0..view.shape()[0]).for_each(|n| rows(&view.at(0, n), visit)),
    }
}

/// So many elements side by side are one vector, or some.
const LANES: usize = 16;

/// What is seen of floats.
struct Seen {
    least: [f64; LANES],
    greatest: [f64; LANES],
    nan: bool,
    /// Whether there are zeros without a sign, and with one.
    zeros: [bool; 2],
}

impl Default for Seen {
    fn default() -> Self {
        let (least, greatest) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        Self { least, greatest, nan: false, zeros: [false; 2] }
    }
}

impl Seen {
    /// Adds a row, each element of which is so many floats.
    fn add<T: Copy, const N: usize>(&mut self, row: &[T], floats: impl Fn(T) -> [f64; N]) {
        for chunk in row.chunks(LANES) {
            let [mut nan, mut plain, mut signed] = [false; 3];
            for (lane, &element) in chunk.iter().enumerate() {
                for x in floats(element) {
                    let (least, greatest) = (&mut self.least[lane], &mut self.greatest[lane]);
                    *least = if x < *least { x } else { *least };
                    *greatest = if x > *greatest { x } else { *greatest };
                    nan |= x.is_nan();
                    plain |= x.to_bits() == 0;
                    signed |= x.to_bits() == 1 << 63;
                }
            }
            self.nan |= nan;
            self.zeros[0] |= plain;
            self.zeros[1] |= signed;
        }
    }

    fn among(&self, dtype: DType) -> Among {
        let least = self.least.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = self.greatest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if least > greatest {
            // All are NaN, or there is none.
            return Among::unknown(dtype);
        }
        let [plain, signed] = self.zeros;
        let least = if least == 0.0 { if signed { -0.0 } else { 0.0 } } else { least };
        let greatest = if greatest == 0.0 { if plain { 0.0 } else { -0.0 } } else { greatest };
        Among::Within(Within { least, greatest, nan: self.nan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;
    use ijk_tensor::Tensor;
    use std::sync::Arc;

    fn of(values: &[f64]) -> Within {
        let tensor = Tensor::from_vec(values.to_vec(), &[values.len()]).unwrap();
        let part = Part::whole(Block::Numbers(tensor), vec![0]);
        match Facts::default().of(&part) {
            Among::Within(within) => within,
            other => panic!("{other:?}"),
        }
    }

    fn bits(within: Within) -> (u64, u64, bool) {
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
        let expected = Within { least: 0.0, greatest: 10.0, nan: false };
        assert_eq!(Facts::default().of(&part), Among::Within(expected));
    }

    #[test]
    fn parts_of_complex_numbers_count_both() {
        let values = vec![C128::new(1.0, -4.0), C128::new(2.0, f64::INFINITY)];
        let part = Part::whole(Block::Numbers(Tensor::from_vec(values, &[2]).unwrap()), vec![0]);
        let expected = Within { least: -4.0, greatest: f64::INFINITY, nan: false };
        assert_eq!(Facts::default().of(&part), Among::Within(expected));
    }
}
