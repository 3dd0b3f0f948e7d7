//! Few rows and few columns of a long k, with contiguous rows: each step multiplies its rows, in lanes, by its columns,
//! one by one, in place; all sums stay in registers.

use super::bundle::Operand;
use super::pack::Word;
use super::panel::Prepare;
use super::problem::{Problem, Tensors};
use crate::simd::lane::{KernelSet, Lane, Op, Semiring};
use crate::simd::{Kernel, Simd};
use crate::tuning::order::{KC, THIN_EXTENT, THIN_STEPS};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Arguments of the microkernel: steps of two matrices whose sums all fit registers.
pub(crate) struct ThinArgs {
    /// Number of steps.
    steps: usize,
    /// The rows of the first step, contiguous.
    left: *const u8,
    /// Stride from step to step, in elements.
    left_step: isize,
    /// Number of readable elements from `left` on.
    readable: usize,
    /// The rhs at the first step.
    right: *const u8,
    right_step: isize,
    /// Offset of each column from `right`.
    columns: [isize; THIN_EXTENT],
    /// Number of rows: at most the lanes of a group.
    m: usize,
    /// Number of columns.
    n: usize,
    /// One element for each row of each column, with which its sum is combined.
    sums: *mut u8,
    /// Distance of the columns of sums, in elements.
    height: usize,
    /// Initial value of each sum.
    identity: *const u8,
}

/// A compiled microkernel.
///
/// # Safety
/// The machine supports the kernel's level; rows, columns and sums are accessible as the fields say.
pub(crate) type ThinFn = unsafe fn(&ThinArgs);

/// The microkernel of a pair.
pub(crate) const fn kernel<L: Lane, P: Semiring<L>>() -> Option<ThinFn> {
    match P::KERNELS {
        KernelSet::Full => Some(run::<L, P>),
        _ => None,
    }
}

/// True if the microkernel applies: few rows and columns, and a long k.
pub(crate) fn suits(problem: &Problem) -> bool {
    let Problem { algebra, m, n, k, .. } = problem;
    let keeps = algebra.left == Prepare::Keep && algebra.right == Prepare::Keep;
    let few = m.len() <= THIN_EXTENT && n.len() <= THIN_EXTENT && m.run(Operand::Left) == m.len();
    let even = k.step(Operand::Left).is_some() && k.step(Operand::Right).is_some();
    keeps && few && even && k.len() >= THIN_STEPS && algebra.rows.thin.is_some()
}

/// Computes one batch for the steps `ks` of k.
///
/// # Safety
/// As for [`gemm`](super::gemm::gemm), for a problem that [`suits`].
pub(crate) unsafe fn thin<W: Word>(problem: &Problem, tensors: Tensors, ks: Range<usize>) {
    let Problem { algebra, m, n, k, .. } = problem;
    let steps = [Operand::Left, Operand::Right].map(|operand| k.step(operand));
    let (Some(kernel), [Some(left_step), Some(right_step)]) = (algebra.rows.thin, steps) else {
        return;
    };
    let mut columns = [0; THIN_EXTENT];
    n.offsets(Operand::Right, 0, &mut columns[..n.len()]);
    let (height, end) = (m.len(), k.len());
    let dense = usize::try_from(left_step) == Ok(height);
    let mut sums = [const { MaybeUninit::<W>::uninit() }; THIN_EXTENT * THIN_EXTENT];
    // SAFETY: an identity is an element.
    let identity = unsafe { algebra.identity.0.as_ptr().cast::<W>().read_unaligned() };
    sums.fill(MaybeUninit::new(identity));
    let (left, right) = (tensors.left.cast::<W>(), tensors.right.cast::<W>());
    for start in ks.clone().step_by(KC) {
        let count = (ks.end - start).min(KC);
        for first in (0..height).step_by(algebra.lanes) {
            let at = start as isize * left_step + first as isize;
            let rows = (height - first).min(algebra.lanes);
            let all = if dense { (end - start) * height - first } else { 0 };
            // SAFETY: these steps, rows and columns are the problem's; there are sums for them.
            unsafe {
                kernel(&ThinArgs {
                    steps: count,
                    left: left.wrapping_offset(at).cast(),
                    left_step,
                    readable: all,
                    right: right.wrapping_offset(start as isize * right_step).cast(),
                    right_step,
                    columns,
                    m: rows,
                    n: n.len(),
                    sums: sums.as_mut_ptr().add(first).cast(),
                    height,
                    identity: algebra.identity.0.as_ptr(),
                });
            }
        }
    }
    // SAFETY: all sums are written; the output has these elements.
    unsafe { write::<W>(problem, tensors, sums.as_ptr().cast()) };
}

/// Writes the sums to the output.
///
/// # Safety
/// As for [`thin`]; there is a sum for each row of each column.
unsafe fn write<W: Word>(problem: &Problem, tensors: Tensors, sums: *const W) {
    let Problem { m, n, .. } = problem;
    for (column, row) in (0..n.len()).flat_map(|c| (0..m.len()).map(move |r| (c, r))) {
        let offset = n.offset(Operand::Out, column) + m.offset(Operand::Out, row);
        // SAFETY: the output has this element.
        unsafe {
            let (out, sum) =
                (tensors.out.cast::<W>().offset(offset), sums.add(column * m.len() + row));
            match problem.accumulate {
                true => (problem.algebra.rows.combine)(out.cast(), sum.cast(), 1),
                false => out.write(sum.read()),
            }
        }
    }
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
    let right = thin.right.cast::<L::Element>();
    let columns: [isize; N] = std::array::from_fn(|c| thin.columns[c]);
    // SAFETY: guaranteed by the caller; a step is read beyond its rows only where there are elements.
    unsafe {
        let simd = L::Simd::assume();
        let identity = L::splat(simd, thin.identity.cast::<L::Element>().read_unaligned());
        let mut sums = [[identity; N]; U];
        let step = |sums: &mut [L; N], k: usize, rows: L| {
            let right = right.wrapping_offset(k as isize * thin.right_step);
            for c in 0..N {
                let column = L::splat(simd, right.wrapping_offset(columns[c]).read());
                sums[c] = P::step(sums[c], rows, column);
            }
        };
        let at = |k: usize| left.wrapping_offset(k as isize * thin.left_step);
        let whole = whole_steps::<L>(thin) / U * U;
        for first in (0..whole).step_by(U) {
            for (u, sums) in sums.iter_mut().enumerate() {
                step(sums, first + u, L::read(at(first + u)));
            }
        }
        for k in whole..thin.steps {
            step(&mut sums[k % U], k, L::read_partial(at(k), thin.m));
        }
        let mut half = U / 2;
        while half > 0 {
            for u in 0..half {
                sums[u] = std::array::from_fn(|c| P::Combine::apply(sums[u][c], sums[u + half][c]));
            }
            half /= 2;
        }
        for (c, sum) in sums[0].into_iter().enumerate() {
            let out = thin.sums.cast::<L::Element>().add(c * thin.height);
            P::Combine::apply(L::read_partial(out, thin.m), sum).write_partial(out, thin.m);
        }
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
