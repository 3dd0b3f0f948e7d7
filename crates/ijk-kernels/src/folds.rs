//! Folds of rows in registers.

mod combine;

use crate::lines::{AHEAD, LINE, prefetch, prefetch_far};
use crate::simd::{FloatElements, IntegerElements, Kernel, Level, Number, Simd};
use crate::tuning::order::ROW_FOLD_PIECE;
use combine::{Add, Combiner, Kind, Max, Min};
use ijk_types::{DType, Monoid};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Function of each value that is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The value.
    Element,
    /// Its absolute value.
    Magnitude,
    /// Its square.
    Square,
}

/// Value whose function is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// An element.
    One,
    /// Difference of an element from one value for each row.
    Centre,
    /// Difference of an element from the corresponding one of another array.
    Pair,
    /// Product of an element with the corresponding one of another array.
    Product,
}

/// Folds the terms of some rows, one row after another, and writes the results.
///
/// # Safety
/// The machine supports the level of the kernel. For each row `x` has the strips of the layout; `other` has as many, or
/// one element, according to the kernel; `out` has room for one that no other thread accesses. `steps` are the strides
/// of rows.
pub type FoldFn = unsafe fn(rows: &RowLayout<'_>, count: usize, at: Tensors);

/// No vector is longer: rows of this length fill one.
pub const LEAST: usize = 16;

/// The least length of a row at a level: shorter ones leave most lanes empty, or are read element by element.
pub fn least_row(level: Level) -> usize {
    if level.name() == "avx512" { 9 } else { LEAST }
}

/// An axis of strips: extent, and strides in bytes in `x` and in the other operand.
pub type StripAxis = (usize, [isize; 2]);

/// Layout that all rows share: strips of contiguous elements, with gaps between them.
#[derive(Clone, Debug)]
pub struct RowLayout<'a> {
    /// Elements of a strip.
    pub length: usize,
    /// The strips of each row, of those that the axes have.
    pub strips: Range<usize>,
    /// Axes of strips, innermost last.
    pub axes: &'a [StripAxis],
    /// Prefetch distance in bytes; 0 for the elements that are read next.
    pub ahead: isize,
    /// Stride of rows in each tensor, in bytes.
    pub steps: [isize; 3],
    /// The identity of the monoid, as bits of the element type.
    pub identity: u64,
}

/// Addresses of the first element of a row in each tensor.
#[derive(Clone, Copy)]
pub struct Tensors {
    pub x: *const u8,
    pub other: *const u8,
    pub out: *mut u8,
}

impl RowLayout<'_> {
    /// Offsets of a strip in bytes.
    #[inline(always)]
    fn offsets(&self, strip: usize) -> [isize; 2] {
        let (mut rest, mut sums) = (strip, [0; 2]);
        for (n, &(extent, [x, other])) in self.axes.iter().enumerate().rev() {
            let at = if n == 0 { rest } else { rest % extent } as isize;
            sums = [sums[0] + at * x, sums[1] + at * other];
            rest = if n == 0 { 0 } else { rest / extent };
        }
        sums
    }
}

// SAFETY: these are only pointers; code that dereferences them guarantees access.
unsafe impl Sync for Tensors {}

impl Tensors {
    /// Addresses advanced by an offset in bytes in each tensor.
    #[inline(always)]
    pub fn further(self, [x, other, out]: [isize; 3]) -> Self {
        Self {
            x: self.x.wrapping_offset(x),
            other: self.other.wrapping_offset(other),
            out: self.out.wrapping_offset(out),
        }
    }
}

/// # Safety
/// As for [`FoldFn`].
unsafe fn folds<V: Number, K: Kind<V>, J: Combiner<V>, const TERM: u8, const OF: u8>(
    rows: &RowLayout<'_>,
    count: usize,
    at: Tensors,
) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { V::Simd::assume() };
    simd.vectorize(Folds::<V, K, J, TERM, OF> { rows, count, at, kind: PhantomData });
}

struct Folds<'a, V, K, J, const TERM: u8, const OF: u8> {
    rows: &'a RowLayout<'a>,
    count: usize,
    at: Tensors,
    kind: PhantomData<(V, K, J)>,
}

/// A row, with the other operand.
#[derive(Clone, Copy)]
struct Row<V: Number> {
    x: *const V::Element,
    other: *const V::Element,
    /// The subtracted element in each lane, if it is one for the whole row.
    centre: V,
}

/// Accumulators of a row: enough to hide the latency of an addition. They fix the order of summation, like the
/// thresholds of [`order`](crate::tuning::order).
const CHAINS: usize = 4;

impl<V: Number, K: Kind<V>, J: Combiner<V>, const TERM: u8, const OF: u8> Kernel
    for Folds<'_, V, K, J, TERM, OF>
{
    type Output = ();

    #[inline(always)]
    fn run<L: Simd>(self, _: L) {
        const { assert!(V::LANES <= LEAST && V::LANES.is_power_of_two()) };
        let mut at = self.at;
        // SAFETY: only `folds` constructs these, and its caller guarantees the contract.
        unsafe {
            let simd = V::Simd::assume();
            let identity = (&raw const self.rows.identity).cast::<V::Element>().read();
            let identity = V::splat(simd, identity);
            let length = self.rows.length;
            let one_piece = self.rows.strips.len() * length <= ROW_FOLD_PIECE;
            let pieces = (one_piece, (ROW_FOLD_PIECE / length.max(1)).max(1));
            let short = self.rows.axes.is_empty() && length < CHAINS * V::LANES;
            let [x_step, other_step, step] = self.rows.steps;
            let dense = step == size_of::<V::Element>() as isize;
            let mut folds = [identity; LEAST];
            for first in (0..self.count).step_by(V::LANES) {
                let count = V::LANES.min(self.count - first);
                for fold in &mut folds[..count] {
                    let other = at.other.cast::<V::Element>();
                    let centre = if OF == Of::Centre as u8 {
                        V::splat(simd, other.read())
                    } else {
                        identity
                    };
                    let row = Row { x: at.x.cast(), other, centre };
                    *fold = match short {
                        true => self.short(row, length, identity),
                        false => self.row(row, identity, pieces),
                    };
                    at = at.further([x_step, other_step, 0]);
                }
                if dense && count == V::LANES {
                    K::across_all(&mut folds, J::join).store(at.out.cast());
                    at = at.further([0, 0, V::LANES as isize * step]);
                    continue;
                }
                for &fold in &folds[..count] {
                    at.out.cast::<V::Element>().write(K::across(fold, J::join));
                    at = at.further([0, 0, step]);
                }
            }
        }
    }
}

impl<V: Number, K: Kind<V>, J: Combiner<V>, const TERM: u8, const OF: u8>
    Folds<'_, V, K, J, TERM, OF>
{
    /// True if the other operand has an element for each of a row.
    const PAIRED: bool = OF == Of::Pair as u8 || OF == Of::Product as u8;

    /// Fold of a row, not yet across lanes: of pieces, combined pairwise, unless it is one. Pieces have `together` strips,
    /// or parts of a strip.
    ///
    /// # Safety
    /// As for [`FoldFn`], for that row.
    #[inline(always)]
    unsafe fn row(&self, row: Row<V>, identity: V, (one_piece, together): (bool, usize)) -> V {
        let RowLayout { length, ref strips, .. } = *self.rows;
        // Binary counter: bit `level` of `taken` is set if the level has a fold of `1 << level` pieces.
        let mut levels = [const { MaybeUninit::<V>::uninit() }; usize::BITS as usize];
        let mut taken = 0usize;
        for first in strips.clone().step_by(together) {
            let strips = first..strips.end.min(first + together);
            for start in (0..length).step_by(ROW_FOLD_PIECE) {
                let part = start..length.min(start + ROW_FOLD_PIECE);
                // SAFETY: guaranteed by the caller.
                let mut fold = unsafe { self.piece(row, strips.clone(), part, identity) };
                if one_piece {
                    return fold;
                }
                for level in levels.iter().take(taken.trailing_ones() as usize) {
                    // SAFETY: the bits of these levels are set.
                    fold = J::join(unsafe { level.assume_init() }, fold);
                }
                levels[taken.trailing_ones() as usize].write(fold);
                taken += 1;
            }
        }
        let held = (0..usize::BITS as usize).filter(|level| taken >> level & 1 == 1);
        // SAFETY: the bits of these levels are set.
        let held = held.map(|level| unsafe { levels[level].assume_init() });
        held.reduce(|newer, older| J::join(older, newer)).unwrap_or(identity)
    }

    /// Fold of a row of a few vectors, not yet across lanes: other accumulators would be added for nothing.
    ///
    /// # Safety
    /// As for [`FoldFn`], for that row.
    #[inline(always)]
    unsafe fn short(&self, row: Row<V>, length: usize, identity: V) -> V {
        let (mut sum, mut at) = (identity, 0);
        // SAFETY: guaranteed by the caller.
        unsafe {
            while at + V::LANES <= length {
                self.ask::<1>(row, at);
                sum = J::join(sum, self.term(row, at));
                at += V::LANES;
            }
            if at < length {
                self.ask::<1>(row, at);
                sum = J::join(sum, self.end(row, at, length));
            }
            sum
        }
    }

    /// Terms of the last elements of a strip, fewer than a vector, from `at` on; in the other lanes what leaves a fold
    /// as it is.
    ///
    /// # Safety
    /// The strip has them.
    #[inline(always)]
    unsafe fn end(&self, row: Row<V>, at: usize, end: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match J::IDEMPOTENT {
                // Elements before belong to the strip.
                true if end >= V::LANES => self.term(row, end - V::LANES),
                true => self.repeated(row, end),
                false => self.rest(row, at, end - at),
            }
        }
    }

    /// Fold of the same part of some strips, at least one, not yet across lanes.
    ///
    /// # Safety
    /// As for [`FoldFn`], for that row.
    #[inline(always)]
    unsafe fn piece(
        &self,
        row: Row<V>,
        strips: Range<usize>,
        part: Range<usize>,
        identity: V,
    ) -> V {
        let mut sums = [identity; CHAINS];
        let mut strip = strips.start;
        let mut at = if strip == 0 { row } else { self.beginning(row, strip) };
        loop {
            // SAFETY: guaranteed by the caller.
            unsafe { self.strip(at, part.clone(), &mut sums) };
            strip += 1;
            if strip >= strips.end {
                break;
            }
            at = self.beginning(row, strip);
            // It begins with another accumulator, since short strips use only the last.
            sums = [sums[1], sums[2], sums[3], sums[0]];
        }
        J::join(J::join(sums[0], sums[2]), J::join(sums[1], sums[3]))
    }

    /// The row from a strip on.
    #[inline(always)]
    fn beginning(&self, row: Row<V>, strip: usize) -> Row<V> {
        let [x, other] = self.rows.offsets(strip);
        let (x, other) = (row.x.wrapping_byte_offset(x), row.other.wrapping_byte_offset(other));
        Row { x, other, ..row }
    }

    /// Folds a part of a strip into the accumulators.
    ///
    /// # Safety
    /// As for [`FoldFn`], for that strip.
    #[inline(always)]
    unsafe fn strip(&self, row: Row<V>, part: Range<usize>, sums: &mut [V; CHAINS]) {
        let (mut at, end) = (part.start, part.end);
        // SAFETY: guaranteed by the caller; elements are within the part.
        unsafe {
            while at + CHAINS * V::LANES <= end {
                self.ask::<CHAINS>(row, at);
                for (n, sum) in sums.iter_mut().enumerate() {
                    *sum = J::join(*sum, self.term(row, at + n * V::LANES));
                }
                at += CHAINS * V::LANES;
            }
            for sum in &mut sums[..CHAINS - 1] {
                if at + V::LANES <= end {
                    self.ask::<1>(row, at);
                    *sum = J::join(*sum, self.term(row, at));
                    at += V::LANES;
                }
            }
            if at < end {
                self.ask::<1>(row, at);
                sums[CHAINS - 1] = J::join(sums[CHAINS - 1], self.end(row, at, end));
            }
        }
    }

    /// Prefetches as many vectors behind the next ones, or at the prefetch distance; of the other operand, too, unless
    /// all rows have the same elements of it.
    #[inline(always)]
    fn ask<const VECTORS: usize>(&self, row: Row<V>, at: usize) {
        let next = |operand: *const V::Element| operand.wrapping_add(at).cast::<u8>();
        let lines = (0..VECTORS * V::LANES * size_of::<V::Element>()).step_by(LINE);
        match self.rows.ahead {
            0 => lines.clone().for_each(|line| prefetch(next(row.x).wrapping_add(AHEAD + line))),
            ahead => {
                let later = next(row.x).wrapping_offset(ahead);
                lines.clone().for_each(|line| prefetch_far(later.wrapping_add(line)));
            }
        }
        if Self::PAIRED && self.rows.steps[1] != 0 {
            lines.for_each(|line| prefetch(next(row.other).wrapping_add(AHEAD + line)));
        }
    }

    /// Terms of a vector of elements.
    ///
    /// # Safety
    /// The row has them.
    #[inline(always)]
    unsafe fn term(&self, row: Row<V>, at: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let other = if Self::PAIRED { V::load(row.other.add(at)) } else { row.centre };
            term::<V, K, TERM, OF>(V::load(row.x.add(at)), other)
        }
    }

    /// Terms of the first `count` elements, in the other lanes that of the first.
    ///
    /// # Safety
    /// The strip has them.
    #[inline(always)]
    unsafe fn repeated(&self, row: Row<V>, count: usize) -> V {
        // SAFETY: guaranteed by the caller, whose caller guarantees that the machine supports the level.
        unsafe {
            let simd = V::Simd::assume();
            let read =
                |from: *const V::Element| V::splat(simd, from.read()).load_partial_or(from, count);
            let other = if Self::PAIRED { read(row.other) } else { row.centre };
            term::<V, K, TERM, OF>(read(row.x), other)
        }
    }

    /// Terms of `count` elements; the other lanes are 0.
    ///
    /// # Safety
    /// The row has them.
    #[inline(always)]
    unsafe fn rest(&self, row: Row<V>, at: usize, count: usize) -> V {
        // SAFETY: guaranteed by the caller; there is room for a vector.
        unsafe {
            let other = match OF {
                _ if Self::PAIRED => V::load_partial(row.other.add(at), count),
                _ if OF == Of::Centre as u8 => {
                    V::load_partial([row.other.read(); LEAST].as_ptr(), count)
                }
                _ => row.centre,
            };
            term::<V, K, TERM, OF>(V::load_partial(row.x.add(at), count), other)
        }
    }
}

/// The term of each lane.
#[inline(always)]
fn term<V: Number, K: Kind<V>, const TERM: u8, const OF: u8>(x: V, other: V) -> V {
    let x = match OF {
        _ if OF == Of::One as u8 => x,
        _ if OF == Of::Product as u8 => x.mul(other),
        _ => x.sub(other),
    };
    match TERM {
        _ if TERM == Term::Square as u8 => x.mul(x),
        _ if TERM == Term::Magnitude as u8 => K::magnitude(x),
        _ => x,
    }
}

/// The kernel of a fold, if it exists.
pub fn find(t: DType, how: (Monoid, Term, Of), level: Level) -> Option<FoldFn> {
    level.run(Find { t, how })
}

struct Find {
    t: DType,
    how: (Monoid, Term, Of),
}

impl Kernel for Find {
    type Output = Option<FoldFn>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Option<FoldFn> {
        if !S::SPECIAL_KERNELS {
            return None;
        }
        match self.t {
            DType::F32 => self.joined::<S::F32, FloatElements>(),
            DType::F64 => self.joined::<S::F64, FloatElements>(),
            // The magnitude of the minimum overflows; integers use tiles instead.
            _ if self.how.1 == Term::Magnitude => None,
            DType::I32 => self.joined::<S::I32, IntegerElements>(),
            DType::I64 => self.joined::<S::I64, IntegerElements>(),
            _ => None,
        }
    }
}

impl Find {
    fn joined<V: Number, K: Kind<V>>(&self) -> Option<FoldFn> {
        match self.how.0 {
            Monoid::Add => Some(self.termed::<V, K, Add>()),
            Monoid::Max => self.extreme::<V, K, Max<K>>(),
            Monoid::Min => self.extreme::<V, K, Min<K>>(),
            _ => None,
        }
    }

    /// Maxima and minima of elements, magnitudes and distances. Nests compute those of other terms, with the same results.
    fn extreme<V: Number, K: Kind<V>, J: Combiner<V>>(&self) -> Option<FoldFn> {
        const ELEMENT: u8 = Term::Element as u8;
        const MAGNITUDE: u8 = Term::Magnitude as u8;
        match (self.how.1, self.how.2) {
            (Term::Element, Of::One) => Some(folds::<V, K, J, ELEMENT, { Of::One as u8 }>),
            (Term::Magnitude, Of::One) => Some(folds::<V, K, J, MAGNITUDE, { Of::One as u8 }>),
            (Term::Magnitude, Of::Pair) => Some(folds::<V, K, J, MAGNITUDE, { Of::Pair as u8 }>),
            _ => None,
        }
    }

    fn termed<V: Number, K: Kind<V>, J: Combiner<V>>(&self) -> FoldFn {
        match self.how.1 {
            Term::Element => self.of::<V, K, J, { Term::Element as u8 }>(),
            Term::Magnitude => self.of::<V, K, J, { Term::Magnitude as u8 }>(),
            Term::Square => self.of::<V, K, J, { Term::Square as u8 }>(),
        }
    }

    fn of<V: Number, K: Kind<V>, J: Combiner<V>, const TERM: u8>(&self) -> FoldFn {
        match self.how.2 {
            Of::One => folds::<V, K, J, TERM, { Of::One as u8 }>,
            Of::Centre => folds::<V, K, J, TERM, { Of::Centre as u8 }>,
            Of::Pair => folds::<V, K, J, TERM, { Of::Pair as u8 }>,
            Of::Product => folds::<V, K, J, TERM, { Of::Product as u8 }>,
        }
    }
}
