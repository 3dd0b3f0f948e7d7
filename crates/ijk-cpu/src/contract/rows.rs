//! Microkernels for dot products: k fills the lanes.

#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]

use super::lane::{Class, Lane, Op, Pair};
use crate::simd::{Kernel, Simd};

/// Up to four rows of the left operand against one column of the right one, both contiguous.
pub(crate) struct Rows {
    /// Number of elements in each row.
    pub(crate) k: usize,
    /// Where the rows start; a missing one repeats another.
    pub(crate) left: [*const u8; 4],
    /// The column.
    pub(crate) right: *const u8,
    /// Four elements; those of missing rows are of no use.
    pub(crate) out: *mut u8,
    /// What the sums start from.
    pub(crate) identity: *const u8,
}

/// A compiled microkernel.
///
/// # Safety
/// The machine has its level; rows and column hold `k` elements; `out` holds four.
pub(crate) type RowsFn = unsafe fn(&Rows);

/// The microkernels of one pair of map and reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSet {
    /// Four rows at a time, and the first row alone; `None` where the pair has neither.
    pub(crate) dots: Option<[RowsFn; 2]>,
    /// `x[n] = combine(x[n], y[n])` for `n` in `0..count`.
    pub(crate) combine: unsafe fn(*mut u8, *const u8, usize),
}

impl RowSet {
    /// The set for one kind of group and one pair.
    pub(crate) const fn of<L: Lane, P: Pair<L>>() -> Self {
        let dots = Dots::<L, P>::ALL;
        Self { dots, combine: combine_all::<L, P::Combine> }
    }
}

struct Dots<L, P>(L, P);

impl<L: Lane, P: Pair<L>> Dots<L, P> {
    const ALL: Option<[RowsFn; 2]> = match P::CLASS {
        Class::Rich => Some([run::<L, P, 4, 2>, run::<L, P, 1, 8>]),
        _ => None,
    };
}

/// # Safety
/// As for [`RowsFn`].
unsafe fn run<L: Lane, P: Pair<L>, const R: usize, const U: usize>(rows: &Rows) {
    // SAFETY: the caller says that the machine has the level.
    let simd = unsafe { L::Simd::assume() };
    simd.vectorize(Dot::<L, P, R, U>(rows, std::marker::PhantomData));
}

struct Dot<'a, L, P, const R: usize, const U: usize>(&'a Rows, std::marker::PhantomData<(L, P)>);

impl<L: Lane, P: Pair<L>, const R: usize, const U: usize> Kernel for Dot<'_, L, P, R, U> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // SAFETY: `run` above is the one place that makes these, and its caller promised what
        // they ask.
        unsafe {
            let mut sums = accumulate::<L, P, R, U>(L::Simd::assume(), self.0);
            for (r, sums) in sums.iter_mut().enumerate() {
                let out = self.0.out.cast::<L::Element>().add(r);
                fold_lanes::<L, P>(fold_groups::<L, P, U>(sums), out);
            }
        }
    }
}

/// `U` groups of sums for each row; step k falls to group `k / LANES % U`, lane `k % LANES`.
#[inline(always)]
unsafe fn accumulate<L: Lane, P: Pair<L>, const R: usize, const U: usize>(
    simd: L::Simd,
    rows: &Rows,
) -> [[L; U]; R] {
    let right = rows.right.cast::<L::Element>();
    // SAFETY: every position read is below `k`.
    unsafe {
        let identity = L::splat(simd, rows.identity.cast::<L::Element>().read_unaligned());
        let mut sums = [[identity; U]; R];
        let mut at = 0;
        while at + U * L::LANES <= rows.k {
            for u in 0..U {
                let column = L::read(right.add(at + u * L::LANES));
                for r in 0..R {
                    let left = rows.left[r].cast::<L::Element>().add(at + u * L::LANES);
                    sums[r][u] = P::step(sums[r][u], L::read(left), column);
                }
            }
            at += U * L::LANES;
        }
        for u in 0..U {
            let count = (rows.k - at).min(L::LANES);
            if count > 0 {
                let column = L::read_partial(right.add(at), count);
                for r in 0..R {
                    let left = rows.left[r].cast::<L::Element>().add(at);
                    let next = P::step(sums[r][u], L::read_partial(left, count), column);
                    sums[r][u] = first_lanes(next, sums[r][u], count);
                }
            }
            at += count;
        }
        sums
    }
}

/// The first `count` lanes of `first`, the rest of `rest`.
#[inline(always)]
unsafe fn first_lanes<L: Lane>(first: L, rest: L, count: usize) -> L {
    if count == L::LANES {
        return first;
    }
    let mut lanes = std::mem::MaybeUninit::<[u8; MAX_GROUP]>::uninit();
    let at = lanes.as_mut_ptr().cast::<L::Element>();
    // SAFETY: no group is larger than MAX_GROUP bytes.
    unsafe {
        rest.write(at);
        first.write_partial(at, count);
        L::read(at)
    }
}

/// Bytes of the largest group: two registers of AVX-512.
const MAX_GROUP: usize = 128;

/// Combines the groups as a balanced tree.
#[inline(always)]
fn fold_groups<L: Lane, P: Pair<L>, const U: usize>(sums: &mut [L; U]) -> L {
    let mut half = U / 2;
    while half > 0 {
        for u in 0..half {
            sums[u] = P::Combine::apply(sums[u], sums[u + half]);
        }
        half /= 2;
    }
    sums[0]
}

/// Combines the lanes as a balanced tree.
#[inline(always)]
unsafe fn fold_lanes<L: Lane, P: Pair<L>>(mut sum: L, out: *mut L::Element) {
    let mut lanes = std::mem::MaybeUninit::<[u8; MAX_GROUP]>::uninit();
    let at = lanes.as_mut_ptr().cast::<L::Element>();
    let mut half = L::LANES / 2;
    // SAFETY: the group fits; each round reads lanes that it wrote before; `out` is one element.
    unsafe {
        while half > 0 {
            sum.write(at);
            sum = P::Combine::apply(sum, L::read_partial(at.add(half), half));
            half /= 2;
        }
        sum.write_partial(out, 1);
    }
}

/// # Safety
/// The machine has the level; `x` and `y` hold `count` elements.
unsafe fn combine_all<L: Lane, C: Op<L>>(x: *mut u8, y: *const u8, count: usize) {
    // SAFETY: the caller says that the machine has the level.
    let simd = unsafe { L::Simd::assume() };
    let (x, y) = (x.cast(), y.cast());
    simd.vectorize(CombineAll::<L, C>(x, y, count, std::marker::PhantomData));
}

struct CombineAll<L: Lane, C>(
    *mut L::Element,
    *const L::Element,
    usize,
    std::marker::PhantomData<C>,
);

impl<L: Lane, C: Op<L>> Kernel for CombineAll<L, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(x, y, count, _) = self;
        let mut at = 0;
        while at < count {
            let n = (count - at).min(L::LANES);
            // SAFETY: `n` elements remain of the `count` that the caller promised.
            unsafe {
                let sum = C::apply(L::read_partial(x.add(at), n), L::read_partial(y.add(at), n));
                sum.write_partial(x.add(at), n);
            }
            at += n;
        }
    }
}
