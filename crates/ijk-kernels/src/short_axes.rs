//! Kernels with runs in the lanes.

use crate::simd::lane::{Add, Complex, ComposedSemiring, Lane, Mul, MulAdd, Op, Real, Semiring};
use crate::simd::{Float, Kernel, Level, Number, Simd};
use ijk_types::DType;
use std::marker::PhantomData;
use std::ops::Range;

/// Tables of offsets in elements.
#[derive(Clone, Debug)]
pub struct OffsetTables {
    /// Offsets of rows in left, right and out, as sums of an outer and an inner table.
    pub outer: Vec<[isize; 3]>,
    /// The inner table.
    pub inner: Vec<[isize; 3]>,
    /// Offsets of columns in right and out.
    pub columns: Vec<[isize; 2]>,
    /// Offsets of steps in left and right.
    pub steps: Vec<[isize; 2]>,
    /// Elements of the run.
    pub run: usize,
    /// Elements that are computed at a time.
    pub piece: usize,
}

/// Arguments of a kernel: tables, and the addresses of the origins.
#[derive(Clone, Copy)]
pub struct ShortAxesArgs<'a> {
    pub tables: &'a OffsetTables,
    pub left: *const u8,
    pub right: *const u8,
    pub out: *mut u8,
}

// SAFETY: the kernel writes only rows that its caller owns, and otherwise reads.
unsafe impl Sync for ShortAxesArgs<'_> {}

/// Computes some pieces of rows.
///
/// # Safety
/// The machine supports the level of the kernel; the job's operands are readable, and its output writable, at all
/// offsets of the tables and along the run (right, if it is one element, at these offsets only); no other thread
/// accesses these rows of the output.
pub type ShortAxesFn = unsafe fn(&ShortAxesArgs<'_>, Range<usize>);

/// The kernels of an element type, each for a right operand that is one element along the run, and for a contiguous
/// one.
#[derive(Clone, Copy)]
pub struct Kernels {
    pub lanes: usize,
    /// Sums.
    sum: [ShortAxesFn; 2],
    /// Sums with separate rounding of each operation.
    exact: [ShortAxesFn; 2],
    /// Products without a sum.
    product: [ShortAxesFn; 2],
}

impl Kernels {
    /// The kernels of a level; `None` if it has none for the type.
    pub fn find(t: DType, level: Level) -> Option<Self> {
        level.run(FindShortAxes(t))
    }

    /// The kernel of products, or of `sums` of them, whose operations are `sequential` or may be fused; `right_runs` if
    /// the right operand has an element for each of a run.
    pub fn choose(&self, sums: bool, sequential: bool, right_runs: bool) -> ShortAxesFn {
        let kernels = match sums {
            false => self.product,
            true if sequential => self.exact,
            true => self.sum,
        };
        kernels[usize::from(right_runs)]
    }

    fn of<L: Lane, P: Semiring<L>>() -> Self
    where
        Add: Op<L>,
        Mul: Op<L>,
    {
        Self {
            lanes: L::LANES,
            sum: both::<L, P>(),
            exact: both::<L, ComposedSemiring<Mul, Add, Add>>(),
            product: both::<L, Alone>(),
        }
    }
}

fn both<L: Lane, P: Semiring<L>>() -> [ShortAxesFn; 2] {
    [rows::<L, P, false>, rows::<L, P, true>]
}

struct FindShortAxes(DType);

impl Kernel for FindShortAxes {
    type Output = Option<Kernels>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Option<Kernels> {
        fn number<V: Number>() -> Kernels {
            Kernels::of::<Real<V>, ComposedSemiring<Mul, Add, Add>>()
        }
        fn float<V: Float>() -> Kernels {
            Kernels::of::<Real<V>, MulAdd>()
        }
        fn complex<V: Float>() -> Kernels {
            Kernels::of::<Complex<V>, MulAdd>()
        }
        if !S::SPECIAL_KERNELS {
            return None;
        }
        Some(match self.0 {
            DType::I32 => number::<S::I32>(),
            DType::I64 => number::<S::I64>(),
            DType::F32 => float::<S::F32>(),
            DType::F64 => float::<S::F64>(),
            DType::C64 => complex::<S::F32>(),
            DType::C128 => complex::<S::F64>(),
            _ => return None,
        })
    }
}

/// A product instead of a sum.
struct Alone;

impl<L: Lane> Semiring<L> for Alone
where
    Mul: Op<L>,
    Add: Op<L>,
{
    type Combine = Add;
    const KERNELS: crate::simd::lane::KernelSet = crate::simd::lane::KernelSet::Rare;

    #[inline(always)]
    fn step(_: L, left: L, right: L) -> L {
        Mul::apply(left, right)
    }
}

/// # Safety
/// As for [`ShortAxesFn`].
unsafe fn rows<L: Lane, P: Semiring<L>, const RUNS: bool>(
    job: &ShortAxesArgs<'_>,
    pieces: Range<usize>,
) {
    // SAFETY: the caller guarantees that the machine supports the level.
    unsafe { L::Simd::assume().vectorize(ShortAxesKernel::<L, P, RUNS>(*job, pieces, PhantomData)) }
}

struct ShortAxesKernel<'a, L, P, const RUNS: bool>(
    ShortAxesArgs<'a>,
    Range<usize>,
    PhantomData<(L, P)>,
);

impl<L: Lane, P: Semiring<L>, const RUNS: bool> Kernel for ShortAxesKernel<'_, L, P, RUNS> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(job, pieces, _) = self;
        let tables = job.tables;
        let count = tables.run.div_ceil(tables.piece);
        for at in pieces {
            // Divisions take longer than the sum of a few elements.
            let (row, start) =
                if count == 1 { (at, 0) } else { (at / count, at % count * tables.piece) };
            let (outer, inner) = match tables.inner.len() {
                1 => (row, 0),
                inner => (row / inner, row % inner),
            };
            let [x, y] = [tables.outer[outer], tables.inner[inner]];
            let [left, right, out] = [x[0] + y[0], x[1] + y[1], x[2] + y[2]];
            let right = right + if RUNS { start as isize } else { 0 };
            let row = ProductRow::<L> {
                tables,
                left: job.left.cast::<L::Element>().wrapping_offset(left + start as isize),
                right: job.right.cast::<L::Element>().wrapping_offset(right),
                out: job.out.cast::<L::Element>().wrapping_offset(out + start as isize),
            };
            let length = tables.piece.min(tables.run - start);
            // SAFETY: only `rows` constructs these, and its caller guarantees the contract.
            unsafe { row.compute::<P, RUNS>(length) };
        }
    }
}

/// A piece of a row.
struct ProductRow<'a, L: Lane> {
    tables: &'a OffsetTables,
    left: *const L::Element,
    right: *const L::Element,
    out: *mut L::Element,
}

impl<L: Lane> ProductRow<'_, L> {
    /// # Safety
    /// As for [`ShortAxesFn`], for `length` elements.
    #[inline(always)]
    unsafe fn compute<P: Semiring<L>, const RUNS: bool>(&self, length: usize) {
        let mut at = 0;
        while at < length {
            let left = length - at;
            // SAFETY: guaranteed by the caller.
            unsafe {
                if left >= 2 * L::LANES {
                    self.columns::<P, 2, RUNS>(at, 2 * L::LANES);
                    at += 2 * L::LANES;
                } else {
                    self.columns::<P, 1, RUNS>(at, left.min(L::LANES));
                    at += L::LANES;
                }
            }
        }
    }

    /// Computes all columns of `count` elements, at most `U` groups.
    ///
    /// # Safety
    /// As for [`ShortAxesFn`].
    #[inline(always)]
    unsafe fn columns<P: Semiring<L>, const U: usize, const RUNS: bool>(
        &self,
        at: usize,
        count: usize,
    ) {
        let mut columns = &self.tables.columns[..];
        // SAFETY: guaranteed by the caller.
        unsafe {
            while let Some((four, rest)) = columns.split_first_chunk::<4>() {
                self.block::<P, 4, U, RUNS>(four, at, count);
                columns = rest;
            }
            match *columns {
                [a, b, c] => self.block::<P, 3, U, RUNS>(&[a, b, c], at, count),
                [a, b] => self.block::<P, 2, U, RUNS>(&[a, b], at, count),
                [a] => self.block::<P, 1, U, RUNS>(&[a], at, count),
                _ => {}
            }
        }
    }

    /// Computes `C` columns of these elements.
    ///
    /// # Safety
    /// As for [`ShortAxesFn`]; if `U` is more than 1, `count` is that many groups.
    #[inline(always)]
    unsafe fn block<P: Semiring<L>, const C: usize, const U: usize, const RUNS: bool>(
        &self,
        columns: &[[isize; 2]; C],
        at: usize,
        count: usize,
    ) {
        let whole = U > 1 || count == L::LANES;
        // SAFETY: guaranteed by the caller; all bits zero are a zero of every element type.
        unsafe {
            let simd = L::Simd::assume();
            let zero = L::splat(simd, std::mem::zeroed());
            let mut sums = [[zero; U]; C];
            let left = self.left.add(at);
            let mut rights = [self.right.wrapping_add(if RUNS { at } else { 0 }); C];
            for c in 0..C {
                rights[c] = rights[c].wrapping_offset(columns[c][0]);
            }
            for &[left_step, right_step] in &self.tables.steps {
                let from = left.offset(left_step);
                let mut values = [zero; U];
                for u in 0..U {
                    values[u] = group(from.wrapping_add(u * L::LANES), whole, count);
                }
                for c in 0..C {
                    let right = rights[c].offset(right_step);
                    if RUNS {
                        for u in 0..U {
                            let factor = group(right.wrapping_add(u * L::LANES), whole, count);
                            sums[c][u] = P::step(sums[c][u], values[u], factor);
                        }
                    } else {
                        let factor = L::splat(simd, right.read());
                        for u in 0..U {
                            sums[c][u] = P::step(sums[c][u], values[u], factor);
                        }
                    }
                }
            }
            for c in 0..C {
                let to = self.out.offset(columns[c][1]).add(at);
                for u in 0..U {
                    let to = to.wrapping_add(u * L::LANES);
                    match whole {
                        true => sums[c][u].write(to),
                        false => sums[c][u].write_partial(to, count),
                    }
                }
            }
        }
    }
}

/// A group of elements, or the first `count` of one. A function, since a closure may be compiled separately, without
/// the instructions of the level.
///
/// # Safety
/// `count` elements are readable at `from`, a group if `whole`.
#[inline(always)]
unsafe fn group<L: Lane>(from: *const L::Element, whole: bool, count: usize) -> L {
    // SAFETY: guaranteed by the caller.
    unsafe { if whole { L::read(from) } else { L::read_partial(from, count) } }
}
