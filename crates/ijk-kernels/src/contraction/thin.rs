//! Microkernel of few rows by few columns of a long k: each step multiplies its rows, in lanes, by its columns, one by
//! one, in place; all sums stay in registers.

use crate::simd::lane::Op;
use crate::simd::lane::{KernelSet, Lane, Semiring, kernel_set};
use crate::simd::{Kernel, Simd};
use crate::tuning::order::THIN_EXTENT;
use std::marker::PhantomData;

/// Arguments of the microkernel: steps of two matrices whose sums all fit registers.
pub struct ThinArgs {
    /// Number of steps.
    pub steps: usize,
    /// The rows of the first step, contiguous.
    pub left: *const u8,
    /// Stride from step to step, in elements.
    pub left_step: isize,
    /// Number of readable elements from `left` on.
    pub readable: usize,
    /// The rhs at the first step.
    pub right: *const u8,
    pub right_step: isize,
    /// Offset of each column from `right`.
    pub columns: [isize; THIN_EXTENT],
    /// Number of rows: at most the lanes of a group.
    pub m: usize,
    /// Number of columns.
    pub n: usize,
    /// One element for each row of each column, with which its sum is combined.
    pub sums: *mut u8,
    /// Distance of the columns of sums, in elements.
    pub height: usize,
    /// Initial value of each sum.
    pub identity: *const u8,
}

/// A compiled microkernel.
///
/// # Safety
/// The machine supports the kernel's level; rows, columns and sums are accessible as the fields say.
pub type ThinFn = unsafe fn(&ThinArgs);

/// The microkernel of a pair. As a constant, so that it is compiled for the pairs that have one alone.
pub struct ThinTable<L, P>(L, P);

impl<L: Lane, P: Semiring<L>> ThinTable<L, P> {
    pub const KERNEL: Option<ThinFn> = match kernel_set::<L, P>() {
        KernelSet::Full => Some(run::<L, P>),
        _ => None,
    };
}

/// # Safety
/// As for [`ThinFn`].
unsafe fn run<L: Lane, P: Semiring<L>>(thin: &ThinArgs) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { L::Simd::assume() };
    simd.vectorize(ThinKernel::<L, P>(thin, PhantomData));
}

struct ThinKernel<'a, L, P>(&'a ThinArgs, PhantomData<(L, P)>);

impl<L: Lane, P: Semiring<L>> Kernel for ThinKernel<'_, L, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let thin = self.0;
        // SAFETY: only `run` above constructs these, and its caller guarantees their contract.
        unsafe {
            match thin.n {
                1 => columns::<L, P, 1, 8>(thin),
                2 => columns::<L, P, 2, 4>(thin),
                3 => columns::<L, P, 3, 2>(thin),
                4 => columns::<L, P, 4, 2>(thin),
                5 => columns::<L, P, 5, 1>(thin),
                6 => columns::<L, P, 6, 1>(thin),
                7 => columns::<L, P, 7, 1>(thin),
                _ => columns::<L, P, 8, 1>(thin),
            }
        }
    }
}

/// Adds the products of `N` columns: step k is added to accumulator `k % U`; accumulators are combined as a tree.
///
/// # Safety
/// As for [`ThinFn`]; `thin` has `N` columns.
#[inline(always)]
unsafe fn columns<L: Lane, P: Semiring<L>, const N: usize, const U: usize>(thin: &ThinArgs) {
    let left = thin.left.cast::<L::Element>();
    // SAFETY: guaranteed by the caller; a step is read beyond its rows only where there are elements.
    unsafe {
        let simd = L::Simd::assume();
        let identity = L::splat(simd, thin.identity.cast::<L::Element>().read_unaligned());
        let mut sums = [[identity; N]; U];
        let at = |k: usize| left.wrapping_offset(k as isize * thin.left_step);
        let whole = whole_steps::<L>(thin) / U * U;
        for first in (0..whole).step_by(U) {
            for (u, sums) in sums.iter_mut().enumerate() {
                add_step::<L, P, N>(thin, sums, first + u, L::read(at(first + u)));
            }
        }
        // With gaps between rows, or in reverse order, all steps but the last few are here.
        let partial = thin.steps / U * U;
        for first in (whole..partial).step_by(U) {
            for (u, sums) in sums.iter_mut().enumerate() {
                let rows = L::read_partial(at(first + u), thin.m);
                add_step::<L, P, N>(thin, sums, first + u, rows);
            }
        }
        for k in partial..thin.steps {
            add_step::<L, P, N>(thin, &mut sums[k % U], k, L::read_partial(at(k), thin.m));
        }
        let mut half = U / 2;
        while half > 0 {
            for u in 0..half {
                for c in 0..N {
                    sums[u][c] = P::Combine::apply(sums[u][c], sums[u + half][c]);
                }
            }
            half /= 2;
        }
        for (c, sum) in sums[0].into_iter().enumerate() {
            let out = thin.sums.cast::<L::Element>().add(c * thin.height);
            P::Combine::apply(L::read_partial(out, thin.m), sum).write_partial(out, thin.m);
        }
    }
}

/// Adds the products of step `k`, whose elements of the left operand are `rows`, to the sums of each column.
///
/// # Safety
/// As for [`ThinFn`]; `thin` has `N` columns, and more than `k` steps.
#[inline(always)]
unsafe fn add_step<L: Lane, P: Semiring<L>, const N: usize>(
    thin: &ThinArgs,
    sums: &mut [L; N],
    k: usize,
    rows: L,
) {
    let right = thin.right.cast::<L::Element>().wrapping_offset(k as isize * thin.right_step);
    for c in 0..N {
        // SAFETY: guaranteed by the caller.
        let column =
            unsafe { L::splat(L::Simd::assume(), right.wrapping_offset(thin.columns[c]).read()) };
        sums[c] = P::step(sums[c], rows, column);
    }
}

/// Number of steps whose whole group of lanes is readable.
#[inline(always)]
fn whole_steps<L: Lane>(thin: &ThinArgs) -> usize {
    if thin.m == L::LANES {
        return thin.steps;
    }
    let step = usize::try_from(thin.left_step).unwrap_or(0);
    match (thin.readable.checked_sub(L::LANES), step) {
        (Some(rest), 1..) => (rest / step + 1).min(thin.steps),
        _ => 0,
    }
}
