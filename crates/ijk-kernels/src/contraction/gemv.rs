//! Microkernels of gemv: dot products, with k in the lanes, and axpy.
use crate::contraction::thin::{ThinFn, ThinTable};
use crate::lines::{AHEAD, prefetch};
use crate::simd::lane::{KernelSet, Lane, Op, Semiring, kernel_set};
use crate::simd::{Kernel, Simd};

/// Arguments of a kernel of dot products: contiguous rows of lhs by one contiguous column of rhs.
pub struct DotArgs {
    /// Number of elements in each row.
    pub k: usize,
    /// Base of row offsets.
    pub left: *const u8,
    /// Offset of each row, in elements.
    pub offsets: *const isize,
    /// Number of rows.
    pub count: usize,
    /// The column.
    pub right: *const u8,
    /// One element for each row, with which its product is combined.
    pub sums: *mut u8,
    /// Initial value of each sum.
    pub identity: *const u8,
}

/// A compiled microkernel of dot products.
///
/// # Safety
/// The machine supports the kernel's level; rows and column hold `k` elements; `sums` holds `count`.
pub type DotFn = unsafe fn(&DotArgs);

/// Arguments of a kernel of batched dot products: contiguous rows of lhs, each by its own contiguous column of rhs.
pub struct PairedDotArgs {
    /// Number of elements in each row.
    pub k: usize,
    /// Addresses of the rows of lhs and of the columns of rhs.
    pub rows: [[*const u8; MOST_LANES]; 2],
    /// Number of pairs.
    pub count: usize,
    /// Receives one element for each pair.
    pub out: *mut u8,
    /// Initial value of each sum.
    pub identity: *const u8,
}

/// A compiled microkernel of dot products of pairs.
///
/// # Safety
/// The machine supports the kernel's level; there are `count` rows of `k` elements of each operand; `out` holds
/// `count`.
pub type PairedDotFn = unsafe fn(&PairedDotArgs);

/// Arguments of axpy: rows of lhs, each multiplied by a factor and added to sums.
pub struct AxpyArgs {
    /// Addresses of the rows.
    pub rows: [*const u8; AXPY_ROWS],
    /// Number of rows.
    pub count: usize,
    /// One factor for each row.
    pub factors: *const u8,
    /// The sums.
    pub sums: *mut u8,
    /// Elements of a row and of the sums.
    pub len: usize,
}

/// A compiled microkernel of axpy.
///
/// # Safety
/// The machine supports the kernel's level; rows and sums hold `len` elements; there are `count` rows and factors.
pub type AxpyFn = unsafe fn(&AxpyArgs);

/// Rows that one call adds.
pub const AXPY_ROWS: usize = 8;

/// The microkernels of one pair of map and reduction.
#[derive(Clone, Copy, Debug)]
pub struct GemvKernelSet {
    /// Dot products and axpy; `None` if the pair has neither.
    pub kernels: Option<GemvKernels>,
    /// Few rows by few columns; `None` if the pair has no such kernel.
    pub thin: Option<ThinFn>,
    /// `x[n] = combine(x[n], y[n])` for `n` in `0..count`.
    pub combine: unsafe fn(*mut u8, *const u8, usize),
}

/// GemvTable that only pairs of [`KernelSet::Full`] have.
#[derive(Clone, Copy, Debug)]
pub struct GemvKernels {
    /// Dot products of four rows at a time: each element of the column is loaded once for all of them.
    pub cached: DotFn,
    /// The same with prefetch of the next rows, for rows out of cache that are too short for `streamed`.
    pub short_streamed: DotFn,
    /// Dot products row by row: memory is read as one stream, with prefetch.
    pub streamed: DotFn,
    /// Dot products of pairs, bitwise equal to `streamed` for one row.
    pub pairs: PairedDotFn,
    /// axpy.
    pub axpy: AxpyFn,
}

impl GemvKernelSet {
    /// The set for one kind of lane group and one pair.
    pub const fn of<L: Lane, P: Semiring<L>>() -> Self {
        let kernels = GemvTable::<L, P>::ALL;
        Self { kernels, thin: ThinTable::<L, P>::KERNEL, combine: combine_all::<L, P::Combine> }
    }
}

struct GemvTable<L, P>(L, P);

impl<L: Lane, P: Semiring<L>> GemvTable<L, P> {
    const ALL: Option<GemvKernels> = match kernel_set::<L, P>() {
        KernelSet::Full => Some(GemvKernels {
            cached: if L::LANES < 4 { run::<L, P, 2, 2, false> } else { run::<L, P, 4, 2, false> },
            short_streamed: if L::LANES < 4 {
                run::<L, P, 2, 2, true>
            } else {
                run::<L, P, 4, 2, true>
            },
            streamed: run::<L, P, 1, STREAM_GROUPS, true>,
            pairs: pairs::<L, P>,
            axpy: axpy::<L, P>,
        }),
        _ => None,
    };
}

/// # Safety
/// As for [`DotFn`].
unsafe fn run<L: Lane, P: Semiring<L>, const R: usize, const U: usize, const STREAMED: bool>(
    rows: &DotArgs,
) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { L::Simd::assume() };
    simd.vectorize(DotKernel::<L, P, R, U, STREAMED>(rows, std::marker::PhantomData));
}

struct DotKernel<'a, L, P, const R: usize, const U: usize, const STREAMED: bool>(
    &'a DotArgs,
    std::marker::PhantomData<(L, P)>,
);

/// Lanes of the widest group that has dot products.
pub const MOST_LANES: usize = 16;

/// Accumulators of a row that is read as one stream.
pub const STREAM_GROUPS: usize = 8;

/// # Safety
/// As for [`PairedDotFn`].
unsafe fn pairs<L: Lane, P: Semiring<L>>(pairs: &PairedDotArgs) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { L::Simd::assume() };
    simd.vectorize(PairedDotKernel::<L, P>(pairs, std::marker::PhantomData));
}

struct PairedDotKernel<'a, L, P>(&'a PairedDotArgs, std::marker::PhantomData<(L, P)>);

impl<L: Lane, P: Semiring<L>> Kernel for PairedDotKernel<'_, L, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let pairs = self.0;
        for first in (0..pairs.count).step_by(L::LANES) {
            let n = (pairs.count - first).min(L::LANES);
            // SAFETY: only `pairs` above constructs these, and its caller guarantees their contract; `n` rows remain.
            unsafe {
                let simd = L::Simd::assume();
                let start = pairs.identity.cast::<L::Element>().read_unaligned();
                let identity = L::splat(simd, start);
                let mut sums = [identity; MOST_LANES];
                for (r, sum) in sums.iter_mut().enumerate().take(n) {
                    let [left, right] = pairs.rows;
                    let (left, right) = (left[first + r].cast(), right[first + r].cast());
                    let ends = (pairs.k, right, true);
                    let mut groups =
                        accumulate::<L, P, 1, STREAM_GROUPS, true>(ends, [left], identity);
                    *sum = fold_groups::<L, P, STREAM_GROUPS>(&mut groups[0]);
                }
                let total = P::Combine::apply(identity, fold_lanes::<L, P>(sums, n));
                total.write_partial(pairs.out.cast::<L::Element>().add(first), n);
            }
        }
    }
}

impl<L: Lane, P: Semiring<L>, const R: usize, const U: usize, const STREAMED: bool> Kernel
    for DotKernel<'_, L, P, R, U, STREAMED>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let rows = self.0;
        let mut at = 0;
        while at < rows.count {
            let n = (rows.count - at).min(L::LANES);
            // SAFETY: only `run` above constructs these, and its caller guarantees their contract; `n` rows remain.
            unsafe {
                let products = products::<L, P, R, U, STREAMED>(L::Simd::assume(), rows, at, n);
                let sums = rows.sums.cast::<L::Element>().add(at);
                let total = P::Combine::apply(L::read_partial(sums, n), products);
                total.write_partial(sums, n);
            }
            at += n;
        }
    }
}

/// Dot products of `n` rows from `first` on, one in each lane.
///
/// # Safety
/// As for [`DotFn`]; there are `n` rows from `first` on, at most the lanes of a group.
#[inline(always)]
unsafe fn products<
    L: Lane,
    P: Semiring<L>,
    const R: usize,
    const U: usize,
    const STREAMED: bool,
>(
    simd: L::Simd,
    rows: &DotArgs,
    first: usize,
    n: usize,
) -> L {
    // SAFETY: guaranteed by the caller: the rows that `row` names are there.
    unsafe {
        let identity = L::splat(simd, rows.identity.cast::<L::Element>().read_unaligned());
        let mut sums = [identity; MOST_LANES];
        for at in (0..n).step_by(R) {
            let mut left = [rows.left.cast::<L::Element>(); R];
            for r in 0..R {
                let offset = rows.offsets.add(first + (at + r).min(n - 1)).read();
                left[r] = left[r].wrapping_offset(offset);
            }
            let column = (rows.k, rows.right.cast(), rows.count == 1);
            let mut groups = accumulate::<L, P, R, U, STREAMED>(column, left, identity);
            for r in 0..R {
                sums[at + r] = fold_groups::<L, P, U>(&mut groups[r]);
            }
        }
        fold_lanes::<L, P>(sums, n)
    }
}

/// `U` accumulators for each row; step k is added to accumulator `k / LANES % U`, lane `k % LANES`. `once` is true if
/// the column is used by one row only. `STREAMED` rows are prefetched.
///
/// # Safety
/// As for [`DotFn`], for rows that start at `left`.
#[inline(always)]
unsafe fn accumulate<
    L: Lane,
    P: Semiring<L>,
    const R: usize,
    const U: usize,
    const STREAMED: bool,
>(
    (k, right, once): (usize, *const L::Element, bool),
    left: [*const L::Element; R],
    identity: L,
) -> [[L; U]; R] {
    // SAFETY: every position read is below `k`.
    unsafe {
        let mut sums = [[identity; U]; R];
        let mut at = 0;
        while at + U * L::LANES <= k {
            for u in 0..U {
                let column = right.add(at + u * L::LANES);
                if R == 1 && once {
                    prefetch(column.cast::<u8>().wrapping_add(AHEAD));
                }
                let column = L::read(column);
                for r in 0..R {
                    let left = left[r].add(at + u * L::LANES);
                    if STREAMED {
                        prefetch(left.cast::<u8>().wrapping_add(AHEAD));
                    }
                    let left = L::read(left);
                    sums[r][u] = P::step(sums[r][u], left, column);
                }
            }
            at += U * L::LANES;
        }
        for u in 0..U {
            let count = (k - at).min(L::LANES);
            if count > 0 {
                let column = L::read_partial(right.add(at), count);
                for r in 0..R {
                    // Missing lanes are 0: a product of zeros leaves a sum that started with 0 unchanged, and only sums
                    // of products have these kernels.
                    sums[r][u] =
                        P::step(sums[r][u], L::read_partial(left[r].add(at), count), column);
                }
            }
            at += count;
        }
        sums
    }
}

/// Combines the accumulators as a balanced tree.
#[inline(always)]
fn fold_groups<L: Lane, P: Semiring<L>, const U: usize>(sums: &mut [L; U]) -> L {
    let mut half = U / 2;
    while half > 0 {
        for u in 0..half {
            sums[u] = P::Combine::apply(sums[u], sums[u + half]);
        }
        half /= 2;
    }
    sums[0]
}

/// Combines the lanes of the first `n` accumulators as balanced trees, all at once: lane `r` of the result is that of
/// accumulator `r`.
#[inline(always)]
fn fold_lanes<L: Lane, P: Semiring<L>>(mut sums: [L; MOST_LANES], n: usize) -> L {
    if n == 1 {
        // With one accumulator the tree is the same, without the others.
        let mut half = L::LANES / 2;
        while half > 0 {
            sums[0] = P::halve(sums[0], sums[0]);
            half /= 2;
        }
        return sums[0];
    }
    let mut half = L::LANES / 2;
    while half > 0 {
        for n in 0..half {
            sums[n] = P::halve(sums[n], sums[n + half]);
        }
        half /= 2;
    }
    sums[0]
}

/// # Safety
/// As for [`AxpyFn`].
unsafe fn axpy<L: Lane, P: Semiring<L>>(args: &AxpyArgs) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { L::Simd::assume() };
    simd.vectorize(AxpyKernel::<L, P>(args, std::marker::PhantomData));
}

struct AxpyKernel<'a, L, P>(&'a AxpyArgs, std::marker::PhantomData<(L, P)>);

impl<L: Lane, P: Semiring<L>> Kernel for AxpyKernel<'_, L, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // SAFETY: only `axpy` above constructs these, and its caller guarantees their contract.
        unsafe {
            let all = self.0;
            if all.count == AXPY_ROWS {
                return add_rows::<L, P, AXPY_ROWS>(all, 0);
            }
            for first in 0..all.count {
                add_rows::<L, P, 1>(all, first);
            }
        }
    }
}

/// Adds `R` rows from `first` on, one after another.
///
/// # Safety
/// As for [`AxpyFn`]; `R` rows from `first` on exist.
#[inline(always)]
unsafe fn add_rows<L: Lane, P: Semiring<L>, const R: usize>(all: &AxpyArgs, first: usize) {
    // SAFETY: guaranteed by the caller: rows and sums hold `len` elements.
    unsafe {
        let simd = L::Simd::assume();
        let from = all.factors.cast::<L::Element>().add(first);
        let mut factors = [L::splat(simd, from.read()); R];
        let mut rows = [all.rows[first].cast::<L::Element>(); R];
        for r in 1..R {
            factors[r] = L::splat(simd, from.add(r).read());
            rows[r] = all.rows[first + r].cast();
        }
        let sums = all.sums.cast::<L::Element>();
        let mut at = 0;
        while at + L::LANES <= all.len {
            let mut sum = L::read(sums.add(at));
            for r in 0..R {
                let row = rows[r].add(at);
                prefetch(row.cast::<u8>().wrapping_add(AHEAD));
                sum = P::step(sum, L::read(row), factors[r]);
            }
            sum.write(sums.add(at));
            at += L::LANES;
        }
        let rest = all.len - at;
        if rest > 0 {
            let mut sum = L::read_partial(sums.add(at), rest);
            for r in 0..R {
                sum = P::step(sum, L::read_partial(rows[r].add(at), rest), factors[r]);
            }
            sum.write_partial(sums.add(at), rest);
        }
    }
}

/// # Safety
/// The machine has the level; `x` and `y` hold `count` elements.
unsafe fn combine_all<L: Lane, C: Op<L>>(x: *mut u8, y: *const u8, count: usize) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { L::Simd::assume() };
    let (x, y) = (x.cast(), y.cast());
    simd.vectorize(CombineKernel::<L, C>(x, y, count, std::marker::PhantomData));
}

struct CombineKernel<L: Lane, C>(
    *mut L::Element,
    *const L::Element,
    usize,
    std::marker::PhantomData<C>,
);

impl<L: Lane, C: Op<L>> Kernel for CombineKernel<L, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(x, y, count, _) = self;
        let mut at = 0;
        while at < count {
            let n = (count - at).min(L::LANES);
            // SAFETY: `n` elements remain of the `count` that the caller guaranteed.
            unsafe {
                let sum = C::apply(L::read_partial(x.add(at), n), L::read_partial(y.add(at), n));
                sum.write_partial(x.add(at), n);
            }
            at += n;
        }
    }
}
