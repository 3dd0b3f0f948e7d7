//! Steps that write a buffer part by part.

use super::Layout;
use ijk_plan::plan::{Base, Node, Role, Start, Step};
use std::ops::Range;

/// Index ranges along each axis of a buffer.
type Region = Vec<Range<usize>>;

/// Returns true if the steps write every element of a buffer exactly once before any other access to it, so that it
/// needs no initial values.
pub(crate) fn written_by_parts(steps: &[Step], buffer: usize, layouts: &[Layout]) -> bool {
    let out = &layouts[buffer];
    let mut regions: Vec<Region> = Vec::new();
    let mut elements = 0usize;
    for step in steps {
        let part = part(step, buffer, layouts);
        match part.and_then(|(offset, axes)| region(out, offset, &axes)) {
            Some(region) if regions.iter().all(|other| disjoint(other, &region)) => {
                elements += region.iter().map(Range::len).product::<usize>();
                regions.push(region);
            }
            Some(_) => return false,
            None if touches(step, out, layouts) => return false,
            None => {}
        }
        if elements == out.len {
            return true;
        }
    }
    false
}

fn disjoint(a: &Region, b: &Region) -> bool {
    a.iter().zip(b).any(|(a, b)| a.end <= b.start || b.end <= a.start)
}

/// Extent and stride of an axis.
type PartAxis = (usize, isize);

/// Origin and axes of the elements of a buffer that a step writes, if it does not read the buffer and writes final
/// values only.
fn part(step: &Step, buffer: usize, layouts: &[Layout]) -> Option<(isize, Vec<PartAxis>)> {
    let apart = |base: &Base| {
        let layout = layouts.get(base.buffer.0 as usize);
        layout.is_some_and(|layout| !layout.overlaps(&layouts[buffer]))
    };
    let own = |base: &Base| base.buffer.0 as usize == buffer;
    match step {
        Step::Nest(nest) if own(&nest.store.base) => {
            let gathers = nest.body.iter().filter_map(|node| match node {
                Node::Gather { base, .. } => Some(base),
                _ => None,
            });
            let reads = nest.loads.iter().map(|load| &load.base).chain(gathers);
            let plain = nest.start == Start::Covered
                && nest.store.offset.is_none()
                && !nest.sequential
                && nest.axes.len() == nest.store.strides.len()
                && nest.axes.iter().all(|axis| !axis.collides);
            let axes = nest.axes.iter().zip(&nest.store.strides);
            let kept = axes.filter(|(axis, _)| !axis.reduced);
            let kept = kept.map(|(axis, &step)| (axis.extent, step)).collect();
            (plain && { reads }.all(apart)).then_some((nest.store.base.offset, kept))
        }
        Step::Contract(task) if own(&task.c) => {
            let kept = task.axes.iter().filter(|axis| axis.role != Role::K);
            let kept = kept.map(|axis| (axis.extent, axis.c)).collect();
            let plain = !task.accumulate && apart(&task.a) && apart(&task.b);
            plain.then_some((task.c.offset, kept))
        }
        _ => None,
    }
}

/// Returns true if a step may access memory that overlaps a buffer.
fn touches(step: &Step, out: &Layout, layouts: &[Layout]) -> bool {
    let shares = |buffer: u32| layouts.get(buffer as usize).is_none_or(|it| it.overlaps(out));
    match step {
        Step::Fill(buffer, _) => shares(buffer.0),
        Step::Contract(task) => [task.a, task.b, task.c].iter().any(|base| shares(base.buffer.0)),
        Step::Grouped(task) => {
            let each = &task.each;
            [each.a, each.b, each.c, task.index].iter().any(|base| shares(base.buffer.0))
        }
        Step::Sort(sort) => [sort.from, sort.to].iter().any(|base| shares(base.buffer.0)),
        Step::Scan(scan) => {
            let levels = scan.levels.as_ref().map(|levels| levels.base);
            let all = [Some(scan.from), Some(scan.to), levels];
            all.into_iter().flatten().any(|base| shares(base.buffer.0))
        }
        Step::Nest(nest) => {
            let gathers = nest.body.iter().any(|node| match node {
                Node::Gather { base, .. } => shares(base.buffer.0),
                _ => false,
            });
            let loads = nest.loads.iter().any(|load| shares(load.base.buffer.0));
            gathers || loads || shares(nest.store.base.buffer.0)
        }
        Step::Sweep(sweep) => {
            sweep.inputs.iter().chain(&sweep.outputs).any(|window| shares(window.buffer.0))
        }
    }
}

/// The region of a buffer that a box of points writes, if the region is a box and each of its elements is written once.
fn region(out: &Layout, offset: isize, axes: &[PartAxis]) -> Option<Region> {
    let mut order: Vec<usize> = (0..out.shape.len()).filter(|&d| out.shape[d] > 1).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(out.strides[d].unsigned_abs()));
    let shape: Vec<usize> = order.iter().map(|&d| out.shape[d]).collect();
    let strides: Vec<isize> = order.iter().map(|&d| out.strides[d]).collect();
    if super::separable(&shape, &strides).len() != order.len() || out.len == 0 {
        return None;
    }
    // Indices along axes of negative stride are counted from their ends.
    let from_end = |(&n, &step): (&usize, &isize)| step.min(0) as i128 * (n as i128 - 1);
    let mut rest = offset as i128 - shape.iter().zip(&strides).map(from_end).sum::<i128>();
    let mut region: Region = Vec::with_capacity(order.len());
    for (&extent, &stride) in shape.iter().zip(&strides) {
        let unit = stride.unsigned_abs() as i128;
        let origin = rest.div_euclid(unit);
        rest -= origin * unit;
        let origin = usize::try_from(origin).ok().filter(|&at| at < extent)?;
        region.push(origin..origin + 1);
    }
    (rest == 0).then_some(())?;
    let mut axes: Vec<PartAxis> = axes.iter().copied().filter(|axis| axis.0 != 1).collect();
    axes.sort_by_key(|axis| axis.1.unsigned_abs());
    for (extent, step) in axes {
        let along = strides.iter().position(|s| s.unsigned_abs() <= step.unsigned_abs())?;
        let unit = strides[along].unsigned_abs();
        // Each axis continues the previous one with a smaller stride contiguously.
        let length = region[along].len();
        if extent == 0 || step.unsigned_abs() != unit.checked_mul(length)? {
            return None;
        }
        let more = length.checked_mul(extent - 1)?;
        let range = &mut region[along];
        match step < 0 {
            true => range.start = range.start.checked_sub(more)?,
            false => range.end = range.end.checked_add(more).filter(|&n| n <= shape[along])?,
        }
    }
    Some(region)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Few;
    use crate::check::Footprint;
    use ijk_plan::plan::Place;
    use ijk_types::DType;

    fn layout(shape: &[usize], strides: &[isize]) -> Layout {
        Layout {
            place: Place::Output(0),
            dtype: DType::F32,
            shape: Few::from_slice(shape),
            strides: Few::from_slice(strides),
            len: shape.iter().product(),
            footprint: Footprint::new(shape, strides),
            streams: false,
        }
    }

    #[test]
    fn boxes_are_regions() {
        let c = layout(&[6, 8], &[8, 1]);
        assert_eq!(region(&c, 11, &[(2, 8), (5, 1)]), Some(vec![1..3, 3..8]));
        assert_eq!(region(&c, 19, &[(2, -8), (2, -1)]), Some(vec![1..3, 2..4]), "backwards");
        assert_eq!(region(&c, 8, &[(2, 2), (2, 1)]), Some(vec![1..2, 0..4]), "split");
        let reversed = layout(&[6, 8], &[-8, -1]);
        assert_eq!(region(&reversed, 0, &[(6, -8), (2, -1)]), Some(vec![0..6, 6..8]));
        let columns = layout(&[6, 8], &[2, 12]);
        assert_eq!(region(&columns, 14, &[(3, 2), (4, 12)]), Some(vec![1..5, 1..4]));
    }

    #[test]
    fn other_sets_are_none() {
        let c = layout(&[6, 8], &[8, 1]);
        assert_eq!(region(&c, 0, &[(3, 2)]), None, "gaps");
        assert_eq!(region(&c, 0, &[(6, 9)]), None, "a diagonal");
        assert_eq!(region(&c, 0, &[(3, 1), (3, 1)]), None, "collisions");
        assert_eq!(region(&c, 6, &[(3, 1)]), None, "beyond a row");
        assert_eq!(region(&c, 0, &[(4, 0)]), None, "one element several times");
    }
}
