//! Offsets of all rows, columns and steps, and how operands are copied.

use super::shape::{Axis, Copied, Shape};
use super::{PIECE, Tables};
use crate::copy::dense_strides;

/// Rows of the inner table, at most.
const INNER: usize = 512;

/// Rows of the outer table, at most.
const OUTER: usize = 1 << 20;

/// Elements of a table of places, at most.
const FEW: usize = 2048;

/// Elements of two axes that are worth a kernel of their own.
const PLANE: usize = 64;

/// How an operand is copied first.
#[derive(Clone, Debug)]
pub(super) struct Pack {
    /// Elements of the copy.
    pub(super) elements: usize,
    pub(super) way: Way,
}

#[derive(Clone, Debug)]
pub(super) enum Way {
    /// From the sums of an outer and an inner place, in elements.
    Places { outer: Vec<isize>, inner: Vec<isize> },
    /// A box: its extents, and bytes of a step in the copy and where it is read.
    Box { extents: Vec<usize>, to: Vec<isize>, from: Vec<isize> },
}

/// The tables of a shape; `None` where there are too many rows.
pub(super) fn tables(shape: &Shape, size: usize) -> Option<(Tables, [Option<Pack>; 2])> {
    let mut split = shape.rows.len();
    let mut inner = 1;
    while split > 0 && inner * shape.rows[split - 1].extent <= INNER {
        split -= 1;
        inner *= shape.rows[split].extent;
    }
    let outer = shape.rows[..split].iter().try_fold(1usize, |n, axis| n.checked_mul(axis.extent));
    outer.filter(|&rows| rows <= OUTER)?;
    let tables = Tables {
        outer: offsets(&shape.rows[..split], |axis| axis.steps),
        inner: offsets(&shape.rows[split..], |axis| axis.steps),
        columns: offsets(&shape.columns, |axis| [axis.steps[1], axis.steps[2]]),
        steps: offsets(&shape.steps, |axis| [axis.steps[0], axis.steps[1]]),
        run: shape.run,
        piece: shape.run.min(PIECE),
    };
    let packs = [0, 1].map(|n| shape.copied[n].as_ref().map(|axes| pack(axes, size)));
    Some((tables, packs))
}

/// For each point of axes, outermost first, the sum of its steps.
fn offsets<const N: usize>(axes: &[Axis], steps: impl Fn(&Axis) -> [isize; N]) -> Vec<[isize; N]> {
    let count = axes.iter().map(|axis| axis.extent).product();
    let mut table = Vec::with_capacity(count);
    table.push([0; N]);
    // Each axis repeats what its inner ones have.
    for axis in axes.iter().rev() {
        let (step, inner) = (steps(axis), table.len());
        for n in 1..axis.extent as isize {
            for at in 0..inner {
                let before = table[at];
                table.push(std::array::from_fn(|k| before[k] + n * step[k]));
            }
        }
    }
    table
}

fn pack(axes: &Copied, size: usize) -> Pack {
    let axes = merged(axes);
    let points = |axes: &[(usize, isize)]| axes.iter().map(|&(extent, _)| extent).product();
    let elements: usize = points(&axes);
    let plane: usize = points(&axes[axes.len().saturating_sub(2)..]);
    if elements <= FEW || plane < PLANE {
        let mut split = axes.len();
        while split > 0 && points(&axes[split - 1..]) <= FEW {
            split -= 1;
        }
        let [outer, inner] = [&axes[..split], &axes[split..]].map(places);
        return Pack { elements, way: Way::Places { outer, inner } };
    }
    let extents: Vec<usize> = axes.iter().map(|&(extent, _)| extent).collect();
    let mut to = vec![0; extents.len()];
    dense_strides(&extents, size, &mut to);
    let from = axes.iter().map(|&(_, from)| from.wrapping_mul(size as isize)).collect();
    Pack { elements, way: Way::Box { extents, to, from } }
}

/// The same axes, where one lies within another as one.
fn merged(axes: &Copied) -> Copied {
    let mut merged = Copied::with_capacity(axes.len());
    for &(extent, from) in axes {
        match merged.last_mut() {
            Some((outer, step)) if from.checked_mul(extent as isize) == Some(*step) => {
                (*outer, *step) = (*outer * extent, from);
            }
            _ => merged.push((extent, from)),
        }
    }
    merged
}

/// Where the points of axes lie.
fn places(axes: &[(usize, isize)]) -> Vec<isize> {
    let axis = |&(extent, from): &(usize, isize)| Axis { extent, steps: [from, 0, 0] };
    let axes: Vec<Axis> = axes.iter().map(axis).collect();
    offsets(&axes, |axis| [axis.steps[0]]).into_iter().map(|[from]| from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_points_in_order() {
        let axes = [Axis { extent: 2, steps: [10, 0, 1] }, Axis { extent: 3, steps: [-1, 2, 0] }];
        let found = offsets(&axes, |axis| axis.steps);
        let expected = [[0, 0, 0], [-1, 2, 0], [-2, 4, 0], [10, 0, 1], [9, 2, 1], [8, 4, 1]];
        assert_eq!(found, expected);
        assert_eq!(offsets::<2>(&[], |_| [0; 2]), [[0, 0]]);
    }

    #[test]
    fn copies_of_short_axes_go_by_tables() {
        let Way::Places { outer, inner } = pack(&vec![(2, 1), (2, 9), (3, 3)], 4).way else {
            panic!("a few elements")
        };
        assert_eq!((outer, inner), (vec![0], vec![0, 3, 6, 9, 12, 15, 1, 4, 7, 10, 13, 16]));
        let short: Copied = (0..14).map(|n| (2, 1 << n)).collect();
        let Pack { elements, way: Way::Places { outer, inner } } = pack(&short, 4) else {
            panic!("two axes of two elements")
        };
        assert_eq!((elements, outer.len(), inner.len()), (1 << 14, 8, 2048));
        assert_eq!((outer[1], inner[1]), (4, 1 << 13));
        assert!(matches!(pack(&vec![(64, 1), (64, 64)], 4).way, Way::Box { .. }));
    }
}
