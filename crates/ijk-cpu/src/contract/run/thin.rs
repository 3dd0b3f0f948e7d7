//! Few rows and few columns of a long k, with contiguous rows: each step multiplies its rows, in lanes, by its columns,
//! one by one, in place; all sums stay in registers.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use ijk_kernels::contraction::thin::ThinArgs;
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::order::{KC, THIN_EXTENT};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Computes one batch for the steps `ks` of k.
///
/// # Safety
/// As for [`gemm`](crate::contract::run::blocked::gemm), for a problem that [`is_thin`](crate::contract::select::gemv::is_thin).
pub(crate) unsafe fn thin<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    ks: Range<usize>,
) {
    let Problem { algebra, m, n, k, .. } = problem;
    let steps = [TensorId::Left, TensorId::Right].map(|operand| k.step(operand));
    let (Some(kernel), [Some(left_step), Some(right_step)]) = (algebra.rows.thin, steps) else {
        return;
    };
    let mut columns = [0; THIN_EXTENT];
    n.offsets(TensorId::Right, 0, &mut columns[..n.len()]);
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
unsafe fn write<W: ElementWord>(problem: &Problem, tensors: TensorPointers, sums: *const W) {
    let Problem { m, n, .. } = problem;
    for (column, row) in (0..n.len()).flat_map(|c| (0..m.len()).map(move |r| (c, r))) {
        let offset = n.offset(TensorId::Out, column) + m.offset(TensorId::Out, row);
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
