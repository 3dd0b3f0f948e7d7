//! Reversal of axes along which most accesses have negative strides.
//!
//! Kernels need unit strides in ascending order. An argument with a stride of -1 has a descending one; an axis whose
//! order of evaluation is free is then reversed.

use crate::plan::{Base, Buffer, Contraction, Nest, Node, Plan, Start, Step};
use ijk_types::Reducer;

/// Reverses axes in all steps of a plan, and in the bodies of its sweeps.
pub(crate) fn reverse_axes(plan: &mut Plan) {
    let backwards = |buffer: &Buffer| buffer.strides.iter().any(|&stride| stride < 0);
    if !plan.buffers.iter().any(backwards) {
        return;
    }
    for step in &mut plan.steps {
        match step {
            Step::Contract(contraction) => reverse_contraction(contraction),
            Step::Nest(nest) => reverse_nest(nest),
            Step::Sweep(sweep) => {
                reverse_axes(&mut sweep.body);
                sweep.rest.iter_mut().for_each(reverse_axes);
                sweep
                    .narrow
                    .iter_mut()
                    .flat_map(|narrow| &mut narrow.bodies)
                    .for_each(reverse_axes);
            }
            Step::Fill(..) | Step::Grouped(_) | Step::Scan(_) | Step::Sort(_) => {}
        }
    }
}

/// Weight of contiguous accesses, against that of rows, of which the prefetcher follows both directions.
const CONTIGUOUS: i128 = 8;

/// Weight of an output of a contraction, against that of operands: tiles with rows in the opposite direction are stored
/// element by element for each block of k, and operands are packed once.
const STORED: i128 = 8;

/// Gain of reversing an axis with stride `step` in an array of `elements` elements.
fn gain(step: isize, elements: usize) -> i128 {
    let weight = if step.unsigned_abs() == 1 { CONTIGUOUS } else { 1 };
    -(step.signum() as i128) * weight * elements as i128
}

/// Estimated number of elements that an access reaches.
fn elements(extents: &[usize], steps: &[isize]) -> usize {
    let own = extents.iter().zip(steps).filter(|(_, step)| **step != 0);
    own.fold(1, |all, (&extent, _)| extent.saturating_mul(all))
}

/// Moves the base to the last value of an axis, and negates the stride.
fn reverse_access(base: &mut Base, step: &mut isize, extent: usize) {
    base.offset = base.offset.wrapping_add(step.wrapping_mul(extent as isize - 1));
    *step = step.wrapping_neg();
}

fn reverse_contraction(c: &mut Contraction) {
    let extents: Vec<usize> = c.axes.iter().map(|axis| axis.extent).collect();
    if extents.contains(&0) {
        return;
    }
    let steps = [0, 1, 2].map(|n| c.axes.iter().map(|x| [x.a, x.b, x.c][n]).collect::<Vec<_>>());
    let sizes = steps.map(|steps| elements(&extents, &steps));
    for axis in &mut c.axes {
        let steps = [axis.a, axis.b, axis.c];
        let gains = [0, 1, 2].map(|n| gain(steps[n], sizes[n]));
        if gains[0] + gains[1] + STORED * gains[2] <= 0 {
            continue;
        }
        let bases = [&mut c.a, &mut c.b, &mut c.c];
        for (base, step) in bases.into_iter().zip([&mut axis.a, &mut axis.b, &mut axis.c]) {
            reverse_access(base, step, axis.extent);
        }
    }
}

fn reverse_nest(nest: &mut Nest) {
    let extents: Vec<usize> = nest.axes.iter().map(|axis| axis.extent).collect();
    let positions = nest.reduce.is_some_and(|r| !matches!(r, Reducer::Monoid(_)));
    // Colliding values combine in the order of the domain, and so do those of small programs.
    let ordered = nest.sequential || positions || nest.start == Start::Existing;
    if ordered || nest.store.offset.is_some() || extents.contains(&0) {
        return;
    }
    for (a, &extent) in extents.iter().enumerate() {
        if gained(nest, &extents, a) > 0 {
            reverse_axis(nest, a, extent);
        }
    }
}

/// Gain of reversing an axis of a nest.
fn gained(nest: &Nest, extents: &[usize], a: usize) -> i128 {
    let of = |strides: &[isize]| gain(strides[a], elements(extents, strides));
    let loads = nest.loads.iter().map(|load| of(&load.strides)).sum::<i128>();
    let gathers = nest.body.iter().map(|node| match node {
        Node::Gather { strides, .. } => of(strides),
        _ => 0,
    });
    loads + gathers.sum::<i128>() + of(&nest.store.strides)
}

fn reverse_axis(nest: &mut Nest, a: usize, extent: usize) {
    for load in &mut nest.loads {
        reverse_access(&mut load.base, &mut load.strides[a], extent);
    }
    for node in &mut nest.body {
        match node {
            Node::Gather { base, strides, .. } => reverse_access(base, &mut strides[a], extent),
            Node::Index { constant, coefficients } => {
                let last = coefficients[a].wrapping_mul(extent as i64 - 1);
                *constant = constant.wrapping_add(last);
                coefficients[a] = coefficients[a].wrapping_neg();
            }
            _ => {}
        }
    }
    reverse_access(&mut nest.store.base, &mut nest.store.strides[a], extent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BufferId, Load, NestAxis, Store};
    use ijk_ir::core::Span;
    use ijk_types::{DType, Monoid};

    fn nest(reduce: Option<Reducer>, load: isize, store: isize) -> Nest {
        let axis =
            NestAxis { name: "i".into(), extent: 5, reduced: reduce.is_some(), collides: false };
        let base = |n| Base { buffer: BufferId(n), offset: 0 };
        Nest {
            axes: vec![axis],
            loads: vec![Load { base: base(0), dtype: DType::F32, strides: vec![load] }],
            body: vec![Node::Load(0), Node::Index { constant: 1, coefficients: vec![2] }],
            store: Store { base: base(1), dtype: DType::F32, strides: vec![store], offset: None },
            reduce,
            start: Start::Covered,
            sequential: false,
            span: Span::default(),
        }
    }

    #[test]
    fn reductions_go_along_memory() {
        let mut sum = nest(Some(Reducer::Monoid(Monoid::Add)), -1, 0);
        reverse_nest(&mut sum);
        assert_eq!((sum.loads[0].base.offset, &sum.loads[0].strides[..]), (-4, &[1][..]));
        assert_eq!(sum.body[1], Node::Index { constant: 9, coefficients: vec![-2] });
    }

    #[test]
    fn what_tells_the_order_stays() {
        let order = [
            nest(Some(Reducer::ArgMax), -1, 0),
            Nest { start: Start::Existing, ..nest(Some(Reducer::Monoid(Monoid::Add)), -1, 0) },
            nest(None, -1, 1),
        ];
        for before in order {
            let mut after = before.clone();
            reverse_nest(&mut after);
            assert_eq!(after, before);
        }
    }
}
