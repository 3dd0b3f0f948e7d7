//! Row axes: axes that index one dimension of every array that statements share.

use super::bytes;
use crate::graph::{ExprNode, Graph, Stmt, index};
use crate::lower::buffers::Buffers;
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a cache line.
const LINE_BYTES: u64 = 64;

/// An axis that all statements of a group share.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) extent: u64,
    /// The axis of each statement.
    pub(super) axes: Vec<usize>,
    /// Dimension of arrays that it indexes: of all that the group defines, and some that it reads.
    pub(super) places: Places,
}

pub(super) type Places = BTreeMap<ArrayId, usize>;

/// Tells whether values may depend on the index of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowIndices {
    Allowed,
    Rejected,
}

/// Row axes of a statement.
pub(super) fn rows_of(stmt: &Stmt, numbers: RowIndices) -> Vec<Row> {
    let kept = stmt.kept_axes();
    let axes = (0..stmt.axes.len()).filter(|&axis| kept[axis] && stmt.axes[axis].extent > 1);
    let row = |axis: usize| {
        let (extent, axes, places) =
            (stmt.axes[axis].extent, vec![axis], places(stmt, axis, numbers)?);
        Some(Row { extent, axes, places })
    };
    axes.filter_map(row).collect()
}

impl Row {
    /// Tells whether no dimension of an array is indexed by both axes, as in `x[i + j]`.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        self.places.iter().all(|(array, place)| other.places.get(array) != Some(place))
    }

    /// Extends the row axis to a further statement, if that has it.
    pub(super) fn with(
        &self,
        stmt: &Stmt,
        defined: &BTreeSet<ArrayId>,
        numbers: RowIndices,
    ) -> Option<Self> {
        self.along(stmt, self.axis_in(stmt, defined)?, numbers)
    }

    /// Extends the row axis to a statement that has no array in common with the others: by its first axis of as many
    /// values.
    pub(super) fn beside(&self, stmt: &Stmt, numbers: RowIndices) -> Option<Self> {
        let mut shares = false;
        stmt.for_each_read(|array| shares |= self.places.contains_key(&array));
        if shares {
            return None;
        }
        let kept = stmt.kept_axes();
        let alike = |&axis: &usize| kept[axis] && stmt.axes[axis].extent == self.extent;
        (0..stmt.axes.len()).filter(alike).find_map(|axis| self.along(stmt, axis, numbers))
    }

    /// Extends the row axis by an axis of a further statement.
    fn along(&self, stmt: &Stmt, axis: usize, numbers: RowIndices) -> Option<Self> {
        let mut row = self.clone();
        for (array, place) in places(stmt, axis, numbers)? {
            row.places.entry(array).or_insert(place);
        }
        row.axes.push(axis);
        Some(row)
    }

    /// The axis of a statement that indexes the rows of the arrays it reads.
    fn axis_in(&self, stmt: &Stmt, defined: &BTreeSet<ArrayId>) -> Option<usize> {
        let mut found = None;
        for node in &stmt.value.nodes {
            let ExprNode::Access(array, index) = node else { continue };
            let Some(&place) = self.places.get(array) else { continue };
            let axis = plain_axis(&index[place]);
            match axis.filter(|&axis| stmt.axes[axis].extent == self.extent) {
                Some(axis) if found.is_none_or(|known| known == axis) => found = Some(axis),
                _ if defined.contains(array) => return None,
                _ => {}
            }
        }
        found
    }

    /// Tells whether blocks of rows would cut contiguous runs of a large array: the row axis has its smallest stride.
    pub(super) fn cuts_runs(&self, graph: &Graph, buffers: &Buffers, near: u64) -> bool {
        let large = |array: ArrayId| bytes(graph, array) > near;
        let mut places = self.places.iter();
        places.any(|(&array, &place)| large(array) && is_innermost(graph, buffers, array, place))
    }

    /// Tells whether blocks of as many rows would write parts of cache lines of results, which other blocks write, too.
    pub(super) fn cuts_lines(&self, graph: &Graph, buffers: &Buffers, block: u64) -> bool {
        let bytes = |array: ArrayId| block.saturating_mul(graph.array(array).dtype.size() as u64);
        let mut results = self.places.iter().filter(|(array, _)| graph.outputs.contains(array));
        results.any(|(&array, &place)| {
            bytes(array) < LINE_BYTES && is_innermost(graph, buffers, array, place)
        })
    }
}

/// Tells whether a dimension of an array, one of several, has its smallest stride.
fn is_innermost(graph: &Graph, buffers: &Buffers, array: ArrayId, place: usize) -> bool {
    let strides = buffers.strides(graph, array);
    let own = strides[place].unsigned_abs();
    let others = graph.array(array).shape.iter().zip(&strides).enumerate();
    let others = others.filter(|(axis, (extent, _))| *axis != place && **extent > 1);
    let steps = others.map(|(_, (_, step))| step.unsigned_abs()).filter(|&n| n > 0);
    let mut steps = steps.peekable();
    own > 0 && steps.peek().is_some() && steps.all(|step| step >= own)
}

/// Dimensions of a statement's arrays that an axis indexes. `None` unless the axis stands alone in one dimension of
/// the output, and alone or in a window in one dimension of each operand; or if it is scanned.
fn places(stmt: &Stmt, axis: usize, numbers: RowIndices) -> Option<Places> {
    if stmt.scan == Some(AxisId(axis as u32)) {
        return None;
    }
    let mut places = Places::new();
    places.insert(stmt.out, place(&stmt.out_index, axis).ok()??);
    for node in &stmt.value.nodes {
        match node {
            ExprNode::Access(array, index) => {
                if let Some(place) = place_read(index, axis).ok()? {
                    places.entry(*array).or_insert(place);
                }
            }
            ExprNode::Index(e) if numbers == RowIndices::Allowed && e.is_affine() => {}
            other if other.indices().iter().any(|e| index::depends(e, axis)) => return None,
            _ => {}
        }
    }
    Some(places)
}

/// Dimension of an index where an axis stands alone, if it occurs.
pub(super) fn place(index: &[IndexExpr], axis: usize) -> Result<Option<usize>, Elsewhere> {
    let mut occurs = (0..index.len()).filter(|&at| index::depends(&index[at], axis));
    match (occurs.next(), occurs.next()) {
        (None, _) => Ok(None),
        (Some(at), None) if plain_axis(&index[at]) == Some(axis) => Ok(Some(at)),
        _ => Err(Elsewhere),
    }
}

/// Dimension of an operand's index where an axis stands alone or is added to other axes (a window). Blocks then
/// overlap in that array.
pub(super) fn place_read(index: &[IndexExpr], axis: usize) -> Result<Option<usize>, Elsewhere> {
    let mut occurs = (0..index.len()).filter(|&at| index::depends(&index[at], axis));
    match (occurs.next(), occurs.next()) {
        (None, _) => Ok(None),
        (Some(at), None) if steps_by_one(&index[at], axis) => Ok(Some(at)),
        _ => Err(Elsewhere),
    }
}

/// Tells whether an affine expression contains an axis with coefficient 1 only.
fn steps_by_one(e: &IndexExpr, axis: usize) -> bool {
    let own = |atom: &Atom| matches!(atom, Atom::Axis(a) if a.0 as usize == axis);
    e.is_affine() && e.terms.iter().filter(|(_, atom)| own(atom)).all(|(step, _)| *step == 1)
}

/// The axis occurs in arithmetic, or more than once.
pub(super) struct Elsewhere;

/// The axis, if the expression is a bare axis.
pub(super) fn plain_axis(e: &IndexExpr) -> Option<usize> {
    index::plain_axis(e).map(|axis| axis.0 as usize)
}
