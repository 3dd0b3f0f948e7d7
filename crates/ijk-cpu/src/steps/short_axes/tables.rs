//! Offsets of all rows, columns and steps, and copies of operands.

use super::shape::{Copied, ProductAxis, RunShape};
use crate::Level;
use crate::copy::{Places, ShortAxis, dense_strides};
use crate::table;
use ijk_kernels::short_axes::OffsetTables;
use ijk_kernels::tuning::order::{SHORT_AXES_INNER_ROWS, SHORT_AXES_OUTER_ROWS};
use ijk_kernels::tuning::time::{SHORT_AXES_PIECE, SHORT_AXES_PLANE, SHORT_AXES_TABLED};

/// Copy of an operand before the sum.
#[derive(Clone, Debug)]
pub(super) struct OperandCopy {
    /// Elements of the copy.
    pub(super) elements: usize,
    pub(super) way: CopyMethod,
}

#[derive(Clone, Debug)]
pub(super) enum CopyMethod {
    /// By tables.
    Places(Places),
    /// A box: its extents, and strides in bytes of the copy and the source.
    Box { extents: Vec<usize>, to: Vec<isize>, from: Vec<isize> },
}

/// The tables of a shape; `None` if it has too many rows.
pub(super) fn tables(
    shape: &RunShape,
    size: usize,
    level: Level,
) -> Option<(OffsetTables, [Option<OperandCopy>; 2])> {
    let mut split = shape.rows.len();
    let mut inner = 1;
    while split > 0 && inner * shape.rows[split - 1].extent <= SHORT_AXES_INNER_ROWS {
        split -= 1;
        inner *= shape.rows[split].extent;
    }
    let outer = shape.rows[..split].iter().try_fold(1usize, |n, axis| n.checked_mul(axis.extent));
    outer.filter(|&rows| rows <= SHORT_AXES_OUTER_ROWS)?;
    let tables = OffsetTables {
        outer: offsets(&shape.rows[..split], |axis| axis.steps),
        inner: offsets(&shape.rows[split..], |axis| axis.steps),
        columns: offsets(&shape.columns, |axis| [axis.steps[1], axis.steps[2]]),
        steps: offsets(&shape.steps, |axis| [axis.steps[0], axis.steps[1]]),
        run: shape.run,
        piece: shape.run.min(SHORT_AXES_PIECE),
    };
    let packs = [0, 1].map(|n| shape.copied[n].as_ref().map(|axes| pack(axes, size, level)));
    Some((tables, packs))
}

/// The sum of strides for each point of axes, outermost first.
fn offsets<const N: usize>(
    axes: &[ProductAxis],
    steps: impl Fn(&ProductAxis) -> [isize; N],
) -> Vec<[isize; N]> {
    table::offsets(axes.iter().map(|axis| (axis.extent, steps(axis))))
}

fn pack(axes: &Copied, size: usize, level: Level) -> OperandCopy {
    let axes = merged(axes);
    let points = |axes: &[(usize, isize)]| axes.iter().map(|&(extent, _)| extent).product();
    let elements: usize = points(&axes);
    let plane: usize = points(&axes[axes.len().saturating_sub(2)..]);
    let extents: Vec<usize> = axes.iter().map(|&(extent, _)| extent).collect();
    let mut to = vec![0; extents.len()];
    dense_strides(&extents, size, &mut to);
    let from: Vec<isize> = axes.iter().map(|&(_, from)| from.wrapping_mul(size as isize)).collect();
    if elements <= SHORT_AXES_TABLED || plane < SHORT_AXES_PLANE {
        let axis = |n: usize| ShortAxis { extent: extents[n], to: to[n], from: from[n] };
        let short: Vec<ShortAxis> = (0..extents.len()).map(axis).collect();
        if let Some(places) = Places::new(&short, size, level) {
            return OperandCopy { elements, way: CopyMethod::Places(places) };
        }
    }
    OperandCopy { elements, way: CopyMethod::Box { extents, to, from } }
}

/// Merges axes that are nested contiguously.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_short_axes_go_by_tables() {
        let ways = |axes: &[(usize, isize)]| pack(&axes.to_vec(), 4, Level::best()).way;
        assert!(matches!(ways(&[(2, 1), (2, 9), (3, 3)]), CopyMethod::Places(_)));
        let short: Vec<_> = (0..14).map(|n| (2, 1 << n)).collect();
        assert!(matches!(ways(&short), CopyMethod::Places(_)));
        assert!(matches!(ways(&[(64, 1), (64, 64)]), CopyMethod::Box { .. }));
    }
}
