//! Sums along rows: of elements, of their squares, or of squares of how far they are from what a row has in
//! common (variances, norms).
//!
//! A tile program writes each difference, then each square, before they are added, and takes up each row
//! anew, which takes longer than to read them. Here they stay in registers.

use crate::check::CheckedNest;
use crate::lines::{AHEAD, LINE, prefetch, prefetch_far};
use crate::origin::Origin;
use crate::simd::Level;
use crate::simd::leveled;
use crate::threads::Workers;
use ijk_plan::plan::{Nest, Node, NodeId, Start};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};
use std::ops::{Add, Mul, Sub};

/// Elements that are added lane by lane; sums of so many are added pairwise.
const PIECE: usize = 4096;

/// Lanes of a sum.
const LANES: usize = 64;

/// Shorter rows are computed several at a time, by tiles.
const LEAST: usize = 256;

/// Longer rows are divided among threads.
const MOST: usize = 1 << 17;

/// Nanoseconds of a row, and of one of its elements.
const ROW: f64 = 6.0;
const ELEMENT: f64 = 0.03;

/// What is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    /// Elements.
    Element,
    /// Their squares.
    Square,
    /// Squares of how far they are from one element for each row.
    Distance,
}

/// Adds up the terms of a row, and writes the sum.
///
/// # Safety
/// `x` has `n` elements, one after another, `centre` has one, and `out` has room for one that nobody else uses;
/// they are of the kernel's type. The processor has the level that the kernel was chosen for.
type RowFn = unsafe fn(n: usize, x: *const u8, centre: *const u8, out: *mut u8, ahead: isize);

/// Sums made ready to run.
#[derive(Clone, Debug)]
pub(crate) struct SumsProgram {
    /// Elements, and what is subtracted from those of a row.
    x: Origin,
    centre: Option<Origin>,
    out: Origin,
    /// Axes of rows, innermost last: extents, and bytes of a step in each of the three.
    rows: Vec<(usize, [isize; 3])>,
    /// Elements of a row.
    length: usize,
    kernel: RowFn,
    /// The buffer of the elements, and how many bytes further on to ask for them.
    buffer: usize,
    ahead: isize,
    cost: f64,
}

impl SumsProgram {
    /// The program of a nest that was checked, if it is one of these.
    pub(crate) fn new(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        let (term, x, centre) = operands(nest)?;
        let t = nest.store.dtype;
        let several: Vec<usize> =
            (0..nest.axes.len()).filter(|&a| checked.extents[a] != 1).collect();
        let (summed, kept): (Vec<usize>, Vec<usize>) =
            several.into_iter().partition(|&a| nest.axes[a].reduced);
        let &[summed] = &summed[..] else { return None };
        let plain = nest.start == Start::Covered
            && nest.store.offset.is_none()
            && !nest.sequential
            && !checked.in_place
            && nest.loads.iter().all(|load| load.dtype == t)
            && !nest.axes.iter().any(|axis| axis.collides)
            && kept.iter().all(|a| checked.separable.contains(a));
        let stride = |load: usize| nest.loads[load].strides[summed];
        let length = checked.extents[summed];
        let along = stride(x) == 1 && centre.is_none_or(|c| stride(c) == 0);
        if !plain || !along || !(LEAST..=MOST).contains(&length) {
            return None;
        }
        let size = t.size();
        let bytes = |stride: isize| stride.checked_mul(size as isize);
        let axis = |&a: &usize| {
            let of = |load: usize| bytes(nest.loads[load].strides[a]);
            let steps = [of(x)?, centre.map_or(Some(0), of)?, bytes(nest.store.strides[a])?];
            Some((checked.extents[a], steps))
        };
        let rows = kept.iter().map(axis).collect::<Option<Vec<_>>>()?;
        let count = rows.iter().map(|&(extent, _)| extent).product::<usize>();
        let origin = |load: usize| Origin::new(nest.loads[load].base, size);
        Some(Self {
            x: origin(x),
            centre: centre.map(origin),
            out: Origin::new(nest.store.base, size),
            rows,
            length,
            kernel: kernel(t, term, level)?,
            buffer: nest.loads[x].base.buffer.0 as usize,
            ahead: 0,
            cost: count as f64 * (ROW + length as f64 * ELEMENT),
        })
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// Asks for elements of a buffer so many bytes further on while it computes; gives whether it does so.
    pub(crate) fn fetch_ahead(&mut self, buffer: usize, bytes: isize) -> bool {
        if self.buffer == buffer {
            self.ahead = bytes;
        }
        self.buffer == buffer
    }

    /// Computes all of it.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: what it reads is initialised, and
    /// nobody else accesses the output.
    pub(crate) unsafe fn run(&self, bases: &[*mut u8], workers: &Workers) {
        let count = self.rows.iter().map(|&(extent, _)| extent).product();
        let at = &Tensors {
            x: self.x.of(bases),
            // It is not used where nothing is subtracted.
            centre: self.centre.map_or(self.x.of(bases), |centre| centre.of(bases)),
            out: self.out.of(bases),
        };
        workers.parallel_ranges(count, self.cost, |rows| {
            for row in rows {
                let [x, centre, out] = self.offsets(row);
                // SAFETY: the check of the nest covered all its points, and told that rows differ in elements
                // of the output.
                unsafe {
                    let (x, centre) = (at.x.offset(x), at.centre.offset(centre));
                    (self.kernel)(self.length, x, centre, at.out.offset(out), self.ahead);
                }
            }
        });
    }

    /// Where a row is.
    fn offsets(&self, mut row: usize) -> [isize; 3] {
        let mut sums = [0; 3];
        for &(extent, steps) in self.rows.iter().rev() {
            let at = (row % extent) as isize;
            row /= extent;
            sums.iter_mut().zip(steps).for_each(|(sum, step)| *sum += at * step);
        }
        sums
    }
}

/// Where the tensors are.
struct Tensors {
    x: *const u8,
    centre: *const u8,
    out: *mut u8,
}

// SAFETY: only pointers; whoever follows them answers for that.
unsafe impl Sync for Tensors {}

/// What is added up: of the elements of which load, and of which one they are taken from.
fn operands(nest: &Nest) -> Option<(Term, usize, Option<usize>)> {
    if nest.reduce != Some(Reducer::Monoid(Monoid::Add)) {
        return None;
    }
    let square = |n: u32| Node::Binary(BinaryOp::Mul, NodeId(n), NodeId(n));
    match &nest.body[..] {
        [Node::Load(x)] => Some((Term::Element, *x as usize, None)),
        [Node::Load(x), last] if *last == square(0) => Some((Term::Square, *x as usize, None)),
        [Node::Load(x), Node::Load(c), Node::Binary(BinaryOp::Sub, NodeId(0), NodeId(1)), last]
            if *last == square(2) =>
        {
            Some((Term::Distance, *x as usize, Some(*c as usize)))
        }
        _ => None,
    }
}

/// Real numbers.
pub(crate) trait Real:
    Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
}
impl Real for f32 {}
impl Real for f64 {}

/// # Safety
/// That of [`RowFn`].
#[inline(always)]
unsafe fn row<T: Real, const TERM: u8>(
    n: usize,
    x: *const u8,
    centre: *const u8,
    out: *mut u8,
    ahead: isize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let x = std::slice::from_raw_parts(x.cast::<T>(), n);
        let centre =
            if TERM == Term::Distance as u8 { centre.cast::<T>().read() } else { T::default() };
        let term = |x: T| {
            let x = if TERM == Term::Distance as u8 { x - centre } else { x };
            if TERM == Term::Element as u8 { x } else { x * x }
        };
        out.cast::<T>().write(match ahead {
            0 => pieces::<T, false>(x, &term, ahead),
            _ => pieces::<T, true>(x, &term, ahead),
        });
    }
}

/// The sum of some terms, added pairwise piece by piece.
#[inline(always)]
fn pieces<T: Real, const LATER: bool>(x: &[T], term: &impl Fn(T) -> T, ahead: isize) -> T {
    if x.len() <= PIECE {
        return lanes::<T, LATER>(x, term, ahead);
    }
    // How many pieces each level holds is a bit; sums of as many pieces are added first.
    let mut levels = [T::default(); usize::BITS as usize];
    let mut taken = 0usize;
    for piece in x.chunks(PIECE) {
        let mut sum = lanes::<T, LATER>(piece, term, ahead);
        for level in levels.iter().take(taken.trailing_ones() as usize) {
            sum = *level + sum;
        }
        levels[taken.trailing_ones() as usize] = sum;
        taken += 1;
    }
    let held = (0..usize::BITS as usize).filter(|level| taken >> level & 1 == 1);
    held.map(|level| levels[level]).reduce(|newer, older| older + newer).unwrap_or_default()
}

/// The sum of some terms: lane `l` takes the elements `l`, `l + LANES`, and so on. What is read next is
/// asked for, or what is read `LATER`, so many bytes further on.
#[inline(always)]
fn lanes<T: Real, const LATER: bool>(x: &[T], term: &impl Fn(T) -> T, ahead: isize) -> T {
    let mut sums = [T::default(); LANES];
    let (strips, tail) = x.as_chunks::<LANES>();
    for strip in strips {
        let strip_start = strip.as_ptr().cast::<u8>();
        for at in (0..size_of_val(strip)).step_by(LINE) {
            match LATER {
                true => prefetch_far(strip_start.wrapping_offset(ahead).wrapping_add(at)),
                false => prefetch(strip_start.wrapping_add(AHEAD + at)),
            }
        }
        for l in 0..LANES {
            sums[l] = sums[l] + term(strip[l]);
        }
    }
    if tail.is_empty() {
        return joined(&sums);
    }
    // A copy: lanes that are counted out at run time are in memory, and from the first strip on.
    let mut all = sums;
    for (sum, &x) in all.iter_mut().zip(tail) {
        *sum = *sum + term(x);
    }
    joined(&all)
}

/// The sum of all lanes, joined by halving: written out, it stays in registers, and the next row is read
/// meanwhile.
#[inline(always)]
fn joined<T: Real>(sums: &[T; LANES]) -> T {
    let mut quarter = [T::default(); LANES / 4];
    for l in 0..LANES / 4 {
        let (even, odd) =
            (sums[l] + sums[l + LANES / 2], sums[l + LANES / 4] + sums[l + 3 * LANES / 4]);
        quarter[l] = even + odd;
    }
    let mut eight = [T::default(); LANES / 8];
    for l in 0..LANES / 8 {
        eight[l] = quarter[l] + quarter[l + LANES / 8];
    }
    let mut four = [T::default(); LANES / 16];
    for l in 0..LANES / 16 {
        four[l] = eight[l] + eight[l + LANES / 16];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

leveled!(row_at, row, [T: Real, const TERM: u8], [T, TERM],
    (n: usize, x: *const u8, centre: *const u8, out: *mut u8, ahead: isize) -> ());

/// The kernel of a type.
fn kernel(t: DType, term: Term, level: Level) -> Option<RowFn> {
    match t {
        DType::F32 => Some(kernel_of::<f32>(term, level)),
        DType::F64 => Some(kernel_of::<f64>(term, level)),
        _ => None,
    }
}

fn kernel_of<T: Real>(term: Term, level: Level) -> RowFn {
    match term {
        Term::Element => row_at::<T, { Term::Element as u8 }>(level),
        Term::Square => row_at::<T, { Term::Square as u8 }>(level),
        Term::Distance => row_at::<T, { Term::Distance as u8 }>(level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_added_pairwise() {
        for n in [0, 1, 63, 64, 65, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7, 40 * PIECE + 9] {
            let x: Vec<f64> = (0..n).map(|n| (n % 11) as f64 - 5.0).collect();
            let expected: f64 = x.iter().map(|x| x * x).sum();
            assert_eq!(pieces::<f64, false>(&x, &|x| x * x, 0), expected, "{n}");
            assert_eq!(pieces::<f64, true>(&x, &|x| x * x, 4096), expected, "{n}");
        }
    }

    #[test]
    fn many_pieces_lose_little() {
        let x = vec![0.1f32; 4_000_000];
        let sum = pieces::<f32, false>(&x, &|x| x * x, 0) as f64;
        let expected = 4_000_000.0 * f64::from(0.1f32 * 0.1f32);
        assert!((sum - expected).abs() < 1e-6 * expected, "{sum} for {expected}");
    }
}
