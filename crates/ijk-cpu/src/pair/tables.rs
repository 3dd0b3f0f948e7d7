//! Offsets of all rows, columns and steps, and how operands are copied.

use super::shape::{Axis, Copied, Shape};
use super::{PIECE, Tables};
use crate::copy::dense_strides;

/// Rows of the inner table, at most.
const INNER: usize = 512;

/// Rows of the outer table, at most.
const OUTER: usize = 1 << 20;

/// Elements of a copy that goes by a table.
const FEW: usize = 2048;

/// How an operand is copied first.
#[derive(Clone, Debug)]
pub(super) struct Pack {
    /// Elements of the copy.
    pub(super) elements: usize,
    pub(super) way: Way,
}

#[derive(Clone, Debug)]
pub(super) enum Way {
    /// From these places, in elements.
    Places(Vec<isize>),
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
    let elements = axes.iter().map(|&(extent, _)| extent).product();
    if elements <= FEW {
        let axes: Vec<Axis> =
            axes.iter().map(|&(extent, from)| Axis { extent, steps: [from, 0, 0] }).collect();
        let places = offsets(&axes, |axis| [axis.steps[0]]).into_iter().map(|[from]| from);
        return Pack { elements, way: Way::Places(places.collect()) };
    }
    let extents: Vec<usize> = axes.iter().map(|&(extent, _)| extent).collect();
    let mut to = vec![0; extents.len()];
    dense_strides(&extents, size, &mut to);
    let from = axes.iter().map(|&(_, from)| from.wrapping_mul(size as isize)).collect();
    Pack { elements, way: Way::Box { extents, to, from } }
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
}
