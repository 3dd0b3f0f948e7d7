//! Split-k: parts of k are computed in parallel, and combined as a tree.

use crate::contract::canonical::bundle::{Bundle, TensorId};
use crate::contract::canonical::columns::point_offsets;
use crate::contract::canonical::problem::{Problem, TensorPointers};
use crate::contract::run::context::Context;
use ijk_kernels::contraction::word::ElementWord;
use ijk_kernels::tuning::order::{SPLIT_K_PARTS, SPLIT_K_STEPS};
use std::ops::Range;

/// Computes parts of k in parallel, and combines them as a tree. `steps` executes some steps of k.
///
/// # Safety
/// As for [`contract`](crate::contract::contract).
pub(crate) unsafe fn split_k<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    context: &Context,
    steps: impl Fn(&Problem, TensorPointers, Range<usize>, &Context) + Sync,
) {
    let k = problem.k.len();
    let length = k.div_ceil(SPLIT_K_PARTS).next_multiple_of(SPLIT_K_STEPS);
    let length = length.next_multiple_of(problem.tile.map_or(1, |tile| tile.unit().clamp(1, k)));
    let (parts, outputs) = (k.div_ceil(length), problem.outputs());
    let Some(scratch) = context.take(parts * outputs * size_of::<W>()) else { return };
    let dense = Problem { accumulate: false, ..problem.dense(problem.m.len()) };
    let sums = TensorPointers { out: scratch.as_ptr(), ..tensors };
    context.parallel_for(parts, |part| {
        let ks = part * length..((part + 1) * length).min(k);
        let out = { sums }.out.cast::<W>().wrapping_add(part * outputs).cast();
        steps(&dense, TensorPointers { out, ..sums }, ks, &context.alone());
    });
    if context.have_ended() {
        return;
    }
    let at = |part: usize| sums.out.cast::<W>().wrapping_add(part * outputs);
    let mut distance = 1;
    while distance < parts {
        for part in (0..parts - distance).step_by(2 * distance) {
            // SAFETY: all parts are computed.
            unsafe {
                let (x, y) = (at(part), at(part + distance).cast_const());
                (problem.algebra.rows.combine)(x.cast(), y.cast(), outputs);
            }
        }
        distance *= 2;
    }
    // SAFETY: the first part holds the result.
    unsafe { scatter_output::<W>(problem, tensors, at(0)) };
}

/// Scatters contiguous columns to the output.
///
/// # Safety
/// As for [`contract`](crate::contract::contract); `from` holds one batch of the output.
unsafe fn scatter_output<W: ElementWord>(
    problem: &Problem,
    tensors: TensorPointers,
    from: *const W,
) {
    let offsets = |bundle: &Bundle| point_offsets(bundle, TensorId::Out, &(0..bundle.len()));
    let (rows, columns) = (offsets(&problem.m), offsets(&problem.n));
    let all = columns.iter().flat_map(|c| rows.iter().map(move |r| r + c));
    for (n, offset) in all.enumerate() {
        // SAFETY: the output has this element.
        unsafe {
            let out = tensors.out.cast::<W>().offset(offset);
            match problem.accumulate {
                true => (problem.algebra.rows.combine)(out.cast(), from.add(n).cast(), 1),
                false => out.write(from.add(n).read()),
            }
        }
    }
}
