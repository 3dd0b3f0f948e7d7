//! Decides if strided arrays share memory.
//!
//! Bytes of two arrays coincide where a sum of multiples of strides, each bounded by an extent, falls into
//! a window as wide as an element. The search goes through strides from the largest on, and leaves a branch
//! where the window is out of reach, or holds no multiple of the common divisor of the strides that are
//! left. Strides of ordinary arrays leave one or two branches each.

use smallvec::SmallVec;

/// Branches that a search follows before it gives up.
const MOST_BRANCHES: u32 = 100_000;

/// Most of a step, and of a number of them: more than an address space holds, while sums do not overflow.
const MOST: i128 = 1 << 58;

/// Result of the comparison of two memory ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// They have no byte in common.
    Disjoint,
    /// They have a byte in common.
    Shared,
    /// The strides are too irregular to decide in bounded time.
    Unknown,
}

/// Multiples of a stride: 0 to `last` times `step` bytes.
#[derive(Clone, Copy, Debug)]
struct Term {
    step: i128,
    last: i128,
}

/// The bytes of a strided array.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The lowest address.
    low: i128,
    /// Axes of more than one position; their strides, made positive.
    terms: SmallVec<[Term; 8]>,
    /// Bytes of an element.
    item: i128,
    is_empty: bool,
}

impl Footprint {
    /// The bytes of an array whose element at index (0, 0, …) is at an address, of elements of `item` bytes
    /// each, with strides in bytes.
    pub fn new(address: usize, item: usize, shape: &[usize], strides: &[isize]) -> Self {
        let item = (item as i128).min(MOST);
        let axes = shape.iter().zip(strides).filter(|&(&extent, _)| extent > 1);
        let (mut low, mut terms) = (address as i128, SmallVec::new());
        for (&extent, &stride) in axes {
            let last = (extent as i128 - 1).min(MOST);
            let stride = (stride as i128).clamp(-MOST, MOST);
            low += last * stride.min(0);
            terms.push(Term { step: stride.abs(), last });
        }
        Self { low, terms, item, is_empty: shape.contains(&0) }
    }

    /// Overlap of two arrays.
    ///
    /// ```
    /// use ijk_tensor::{Footprint, Overlap};
    /// // The columns of a matrix of 2 by 4: the even ones, the odd ones, the last two.
    /// let [even, odd] = [800, 808].map(|at| Footprint::new(at, 8, &[2, 2], &[32, 16]));
    /// let last = Footprint::new(816, 8, &[2, 2], &[32, 8]);
    /// assert_eq!(even.overlap(&odd), Overlap::Disjoint);
    /// assert_eq!(even.overlap(&last), Overlap::Shared);
    /// ```
    pub fn overlap(&self, other: &Self) -> Overlap {
        let apart = self.end() <= other.low || other.end() <= self.low;
        if self.is_empty || other.is_empty || apart {
            return Overlap::Disjoint;
        }
        // Elements at p of this and q of the other share a byte where -item < p - q < other.item; with the
        // other's axes reversed, p - q is a sum of terms of both, from `least` on.
        let least = self.low - (other.end() - other.item);
        let terms = merged(self.terms.iter().chain(&other.terms).copied());
        Search::new(terms).run(1 - self.item - least, other.item - 1 - least)
    }

    /// Overlap of two elements of one array.
    ///
    /// ```
    /// use ijk_tensor::{Footprint, Overlap};
    /// let windows = Footprint::new(800, 8, &[3, 2], &[8, 8]);
    /// assert_eq!(windows.overlap_of_elements(), Overlap::Shared);
    /// let matrix = Footprint::new(800, 8, &[3, 2], &[16, 8]);
    /// assert_eq!(matrix.overlap_of_elements(), Overlap::Disjoint);
    /// ```
    pub fn overlap_of_elements(&self) -> Overlap {
        if self.is_empty || self.is_nested() {
            return Overlap::Disjoint;
        }
        if self.terms.iter().any(|term| term.step == 0) {
            return Overlap::Shared;
        }
        // Of two elements that coincide, let the axis `n` be one along which they differ, by `d + 1`
        // positions. Along the others they differ by -last to last, which is `last` less than a term.
        let mut found = Overlap::Disjoint;
        for (n, axis) in self.terms.iter().enumerate() {
            let others = self.terms.iter().enumerate().filter(|&(other, _)| other != n);
            let others: SmallVec<[Term; 8]> = others.map(|(_, &term)| term).collect();
            let middle = span(&others) - axis.step;
            let doubled = others.iter().map(|t| Term { last: 2 * t.last, ..*t });
            let terms = merged(doubled.chain([Term { last: axis.last - 1, ..*axis }]));
            match Search::new(terms).run(middle - self.item + 1, middle + self.item - 1) {
                Overlap::Disjoint => {}
                Overlap::Shared => return Overlap::Shared,
                Overlap::Unknown => found = Overlap::Unknown,
            }
        }
        found
    }

    /// Returns true if each stride steps over all that the smaller ones reach, as in arrays made by slicing and
    /// transposing: their elements share no memory.
    pub fn is_nested(&self) -> bool {
        let mut terms = self.terms.clone();
        terms.sort_unstable_by_key(|term| term.step);
        let mut reach = self.item;
        terms.iter().all(|term| {
            let steps_over = term.step >= reach;
            reach += term.step * term.last;
            steps_over
        })
    }

    /// Bytes before an address, and bytes from the first to the last element.
    pub(crate) fn extent_around(&self, address: usize) -> (usize, usize) {
        ((address as i128 - self.low) as usize, (self.end() - self.low) as usize)
    }

    /// The address after the last byte.
    fn end(&self) -> i128 {
        self.low + span(&self.terms) + self.item
    }
}

/// The greatest sum of terms.
fn span(terms: &[Term]) -> i128 {
    terms.iter().map(|term| term.step * term.last).sum()
}

/// Terms of different steps, the largest first, that have the same sums.
fn merged(terms: impl Iterator<Item = Term>) -> SmallVec<[Term; 8]> {
    let mut terms: SmallVec<[Term; 8]> = terms.filter(|term| term.step * term.last > 0).collect();
    terms.sort_unstable_by_key(|term| std::cmp::Reverse(term.step));
    terms.dedup_by(|next, kept| {
        let same = next.step == kept.step;
        if same {
            kept.last += next.last;
        }
        same
    });
    terms
}

/// A search for a sum of terms within a window.
struct Search {
    terms: SmallVec<[Term; 8]>,
    /// For each term, the greatest sum of those after it.
    rest: SmallVec<[i128; 8]>,
    /// For each term, the common divisor of its step and those after it.
    divisors: SmallVec<[i128; 8]>,
    branches: u32,
}

impl Search {
    fn new(terms: SmallVec<[Term; 8]>) -> Self {
        let (mut rest, mut divisors) = (SmallVec::new(), SmallVec::new());
        let (mut sum, mut divisor) = (0, 0);
        for term in terms.iter().rev() {
            divisor = gcd(term.step, divisor);
            rest.push(sum);
            divisors.push(divisor);
            sum += term.step * term.last;
        }
        rest.reverse();
        divisors.reverse();
        Self { terms, rest, divisors, branches: 0 }
    }

    /// Searches for a sum between `low` and `high`, both inclusive.
    fn run(mut self, low: i128, high: i128) -> Overlap {
        self.from(0, low, high)
    }

    /// The same for sums of the terms from `at` on.
    fn from(&mut self, at: usize, low: i128, high: i128) -> Overlap {
        let Some(&Term { step, last }) = self.terms.get(at) else {
            return if low <= 0 && high >= 0 { Overlap::Shared } else { Overlap::Disjoint };
        };
        let (rest, divisor) = (self.rest[at], self.divisors[at]);
        let (low, high) = (low.max(0), high.min(rest + step * last));
        if low > high || round_up(low, divisor) > high {
            return Overlap::Disjoint;
        }
        let first = round_up((low - rest).max(0), step) / step;
        for n in first..=last.min(high / step) {
            self.branches += 1;
            if self.branches > MOST_BRANCHES {
                return Overlap::Unknown;
            }
            match self.from(at + 1, low - n * step, high - n * step) {
                Overlap::Disjoint => {}
                found => return found,
            }
        }
        Overlap::Disjoint
    }
}

/// The least multiple of `step` that is not less.
fn round_up(n: i128, step: i128) -> i128 {
    (n + step - 1).div_euclid(step) * step
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// An array of a few elements near an address.
    #[derive(Clone, Debug)]
    struct Array {
        address: usize,
        item: usize,
        axes: Vec<(usize, isize)>,
    }

    fn arrays() -> impl Strategy<Value = Array> {
        let items = prop::sample::select(vec![1usize, 2, 4, 8, 16]);
        let axes = prop::collection::vec((0usize..5, -9isize..10), 0..4);
        (900usize..1100, items, axes, any::<bool>()).prop_map(|(address, item, mut axes, whole)| {
            let unit = if whole { item as isize } else { 1 };
            axes.iter_mut().for_each(|axis| axis.1 *= unit);
            Array { address, item, axes }
        })
    }

    impl Array {
        fn footprint(&self) -> Footprint {
            let (shape, strides): (Vec<_>, Vec<_>) = self.axes.iter().copied().unzip();
            Footprint::new(self.address, self.item, &shape, &strides)
        }

        fn bytes(&self) -> Vec<isize> {
            let mut all = vec![self.address as isize];
            for &(extent, stride) in &self.axes {
                let along = |at| (0..extent as isize).map(move |n| at + n * stride);
                all = all.into_iter().flat_map(along).collect();
            }
            all.into_iter().flat_map(|at| at..at + self.item as isize).collect()
        }
    }

    fn said(is_shared: bool) -> Overlap {
        if is_shared { Overlap::Shared } else { Overlap::Disjoint }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn overlaps_are_those_of_bytes(a in arrays(), b in arrays()) {
            let bytes: HashSet<isize> = a.bytes().into_iter().collect();
            let shared = b.bytes().iter().any(|at| bytes.contains(at));
            prop_assert_eq!(a.footprint().overlap(&b.footprint()), said(shared));
            prop_assert_eq!(b.footprint().overlap(&a.footprint()), said(shared));
        }

        #[test]
        fn elements_that_share_bytes_are_found(a in arrays()) {
            let bytes = a.bytes();
            let different: HashSet<isize> = bytes.iter().copied().collect();
            let shared = different.len() < bytes.len();
            prop_assert_eq!(a.footprint().overlap_of_elements(), said(shared));
        }
    }

    #[test]
    fn parts_of_large_arrays_are_told_apart() {
        let n = 1 << 20;
        let part = |at: usize, shape: &[usize], strides: &[isize]| {
            let strides: Vec<isize> = strides.iter().map(|stride| 8 * stride).collect();
            Footprint::new(4096 + 8 * at, 8, shape, &strides)
        };
        let wide = 2 * n as isize;
        let left = part(0, &[n, n], &[wide, 1]);
        let right = part(n, &[n, n], &[wide, 1]);
        assert_eq!(left.overlap(&right), Overlap::Disjoint);
        assert_eq!(left.overlap(&part(n - 1, &[n, 2], &[wide, 1])), Overlap::Shared);
        // Reversed and transposed; rows in turn; tiles of a tensor of many axes.
        let reversed = part(2 * n - 1, &[n, n], &[-1, wide]);
        assert_eq!(left.overlap(&reversed), Overlap::Disjoint);
        assert_eq!(right.overlap(&reversed), Overlap::Shared);
        let odd = part(2 * n, &[n / 2, 2 * n], &[2 * wide, 1]);
        let even = part(0, &[n / 2, 2 * n], &[2 * wide, 1]);
        assert_eq!(odd.overlap(&even), Overlap::Disjoint);
        let strides: Vec<isize> = (0..20).map(|axis| 1 << (2 * axis)).collect();
        let tiles = [0, 2, 1 << 39].map(|at| part(at, &[2; 20], &strides));
        assert_eq!(tiles[0].overlap(&tiles[1]), Overlap::Disjoint);
        assert_eq!(tiles[0].overlap(&tiles[2]), Overlap::Disjoint);
        assert_eq!(tiles[0].overlap(&tiles[0]), Overlap::Shared);
        assert_eq!(tiles[0].overlap_of_elements(), Overlap::Disjoint);
    }

    #[test]
    fn searches_end() {
        // Subset sums of large numbers.
        let strides: Vec<isize> = (0..60).map(|n| (1 << 58) / 3 + 1_234_567 * n * n * n).collect();
        let hard = Footprint::new(1 << 40, 1, &[2; 60], &strides);
        let other = Footprint::new((1 << 40) + 12_345, 1, &[2; 60], &strides);
        let _ = (hard.overlap(&other), hard.overlap_of_elements());
        let most = Footprint::new(usize::MAX, usize::MAX, &[usize::MAX; 64], &[isize::MIN; 64]);
        assert_eq!(most.overlap(&most), Overlap::Shared);
        assert_eq!(most.overlap_of_elements(), Overlap::Shared);
    }
}
