//! Narrowing of masked sweeps: columns beyond a mask hold the identity of every reduction.
//!
//! `a = WHERE(LE(j, i), s, -INF)` is the identity of a maximum for each `j > i`; its exponential is 0, and so is that
//! times a finite value. A block of rows `i` therefore needs the scores of its own range of `j` only.

use super::Group;
use super::abstract_value::{AbstractValue, Line, Needs, is_zero};
use super::row::{self, Row, plain_axis};
use crate::domain::bounds::one_each;
use crate::graph::expr::same_bits;
use crate::graph::{ArrayInfo, Axis, ExprNode, Graph, Stmt, index};
use ijk_ir::core::{ArrayId, AxisId, IndexExpr, Init};
use ijk_types::{Monoid, Reducer, scalar};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Ranges are aligned to multiples of `GRAIN` values, and of the extent over `MAX_GRAINS`, to bound the number of
/// distinct bodies.
const GRAIN: u64 = 16;
const MAX_GRAINS: u64 = 64;

/// Greatest number of blocks along the last axis.
const MAX_BLOCKS: u64 = 4096;

/// Least ratio of computed points to elements that must be tested for finiteness.
const MIN_POINTS_PER_TESTED: u64 = 16;

/// A column axis of which blocks need ranges only.
pub(super) struct Narrowing {
    columns: Columns,
    /// For each block along the last row axis, the columns that it needs.
    pub(super) parts: Vec<Part>,
    /// Arrays that must be finite, defined by the group or read.
    pub(super) defined: Vec<ArrayId>,
    pub(super) read: Vec<ArrayId>,
}

/// Columns that a block needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    range: Range<u64>,
    /// Statements that mask an array, with the columns in which the mask may change an element.
    masks: Vec<(usize, ArrayId, Range<u64>)>,
}

/// A common axis of statements of a group that is no row axis.
#[derive(Clone)]
struct Columns {
    extent: u64,
    /// The axis of each statement, if it has it.
    axes: Vec<Option<usize>>,
    /// Dimension of the group's arrays that it indexes.
    places: BTreeMap<ArrayId, usize>,
}

impl Group {
    /// The narrowing that saves most; `results` are arrays needed outside of the group.
    pub(super) fn narrowing(&self, graph: &Graph, results: &[ArrayId]) -> Option<Narrowing> {
        let (row, &block) = (self.rows.last()?, self.blocks.last()?);
        let count = row.extent.div_ceil(block);
        if graph.strict || !(2..=MAX_BLOCKS).contains(&count) || !self.has_conditions(graph) {
            return None;
        }
        let all = self.all_columns(graph).into_iter();
        let all = all.filter(|columns| columns.places.keys().all(|a| !results.contains(a)));
        let narrowings = all.filter_map(|columns| self.narrowed_along(graph, columns, count));
        narrowings.min_by_key(Narrowing::share)
    }

    fn has_conditions(&self, graph: &Graph) -> bool {
        let nodes = self.members(graph).iter().flat_map(|stmt| &stmt.value.nodes);
        nodes.into_iter().any(|node| matches!(node, ExprNode::Select(..)))
    }

    /// Each reduced axis, with the matching axes of other statements.
    fn all_columns(&self, graph: &Graph) -> Vec<Columns> {
        let members = self.members(graph);
        let mut all: Vec<Columns> = Vec::new();
        for (at, stmt) in members.iter().enumerate() {
            let kept = stmt.kept_axes();
            for axis in (0..stmt.axes.len()).filter(|&axis| !kept[axis]) {
                let seen = all.iter().any(|columns| columns.axes[at] == Some(axis));
                if !seen && let Some(columns) = self.columns(members, (at, axis)) {
                    all.push(columns);
                }
            }
        }
        all
    }

    /// Propagates an axis through the arrays of the group; `None` if it stands in another dimension somewhere.
    fn columns(&self, members: &[Stmt], (at, axis): (usize, usize)) -> Option<Columns> {
        let extent = members[at].axes[axis].extent;
        let mut columns =
            Columns { extent, axes: vec![None; members.len()], places: BTreeMap::new() };
        columns.axes[at] = Some(axis);
        let mut open = vec![(at, axis)];
        while let Some((at, axis)) = open.pop() {
            for (array, place) in own_places(members, &members[at], axis)? {
                if *columns.places.entry(array).or_insert(place) != place {
                    return None;
                }
                for (other, stmt) in members.iter().enumerate() {
                    for index in indices(stmt, array) {
                        let found = plain_axis(index.get(place)?)?;
                        match columns.axes[other] {
                            Some(known) if known != found => return None,
                            Some(_) => {}
                            None => {
                                columns.axes[other] = Some(found);
                                open.push((other, found));
                            }
                        }
                    }
                }
            }
        }
        let rows = |(at, axis): (usize, &Option<usize>)| {
            axis.is_some_and(|axis| self.rows.iter().any(|row| row.axes[at] == axis))
        };
        let same = columns.axes.iter().zip(members);
        let same =
            same.into_iter().all(|(axis, s)| axis.is_none_or(|a| s.axes[a].extent == extent));
        (same && !columns.axes.iter().enumerate().any(rows)).then_some(columns)
    }

    fn narrowed_along(&self, graph: &Graph, columns: Columns, count: u64) -> Option<Narrowing> {
        let (mut parts, mut needs) = (Vec::new(), Needs::new());
        for block in 0..count {
            let (range, own) = self.needed(graph, &columns, block);
            needs.extend(own);
            let range = coarse(&range, columns.extent);
            let masks = self.masks(graph, &columns, (block, &range));
            parts.push(Part { range, masks });
        }
        let own: BTreeSet<ArrayId> = self.members(graph).iter().map(|stmt| stmt.out).collect();
        let (defined, read): (Vec<_>, Vec<_>) = needs.into_iter().partition(|a| own.contains(a));
        let narrowing = Narrowing { columns, parts, defined, read };
        (narrowing.pays() && self.are_small(graph, &narrowing)).then_some(narrowing)
    }

    /// Tells whether testing for finiteness is cheap relative to the computation.
    fn are_small(&self, graph: &Graph, narrowing: &Narrowing) -> bool {
        let members = self.members(graph).iter().zip(&narrowing.columns.axes);
        let points = members.filter(|(_, axis)| axis.is_some()).map(|(stmt, _)| stmt.points());
        let points = points.fold(0, u64::saturating_add);
        let arrays = narrowing.defined.iter().chain(&narrowing.read);
        let elements = |&array: &ArrayId| {
            graph.array(array).shape.iter().fold(1, |n: u64, &extent| n.saturating_mul(extent))
        };
        arrays.map(elements).fold(0, u64::saturating_add).saturating_mul(MIN_POINTS_PER_TESTED)
            <= points
    }

    /// Columns that a block needs, and arrays that must be finite for that.
    fn needed(&self, graph: &Graph, columns: &Columns, block: u64) -> (Range<i128>, Needs) {
        let members = self.members(graph);
        let all = 0..i128::from(columns.extent);
        let (mut range, mut needs) = (all.clone(), Needs::new());
        for (at, stmt) in members.iter().enumerate() {
            let Some(axis) = columns.axes[at] else { continue };
            let line = Line { graph, stmt, axis, points: self.points(stmt, at, block) };
            let conditions = stmt.value.nodes.iter().filter_map(|node| match node {
                ExprNode::Select(condition, ..) => Some(*condition),
                _ => None,
            });
            for (condition, holds) in conditions.flat_map(|c| [(c, true), (c, false)]) {
                let own = line.hull(condition, holds);
                if own == all || (range.start >= own.start && range.end <= own.end) {
                    continue;
                }
                if let Some(own_needs) = self.allows(graph, columns, (block, &own)) {
                    needs.extend(own_needs);
                    range = range.start.max(own.start)..range.end.min(own.end);
                }
            }
        }
        (range, needs)
    }

    /// Statements that only mask an array without other uses, with the columns in which the mask may change an
    /// element.
    fn masks(
        &self,
        graph: &Graph,
        columns: &Columns,
        (block, range): (u64, &Range<u64>),
    ) -> Vec<(usize, ArrayId, Range<u64>)> {
        let members = self.members(graph);
        let masked = |(at, stmt): (usize, &Stmt)| {
            let axis = columns.axes[at]?;
            let (condition, holds, array) = masked_array(stmt)?;
            let reads = |stmt: &Stmt| {
                let mut count = 0;
                stmt.for_each_read(|read| count += usize::from(read == array));
                count
            };
            let once = members.iter().map(reads).sum::<usize>() == 1;
            let own = columns.places.contains_key(&array) && columns.places.contains_key(&stmt.out);
            let line = Line { graph, stmt, axis, points: self.points(stmt, at, block) };
            let changes = line.hull(condition, !holds);
            let changes = coarse(&changes, columns.extent);
            let changes = changes.start.max(range.start)..changes.end.min(range.end);
            (once && own && !changes.is_empty()).then_some((at, array, changes))
        };
        members.iter().enumerate().filter_map(masked).collect()
    }

    /// Values of each axis of a statement in a block.
    fn points(&self, stmt: &Stmt, member: usize, block: u64) -> Vec<Range<i128>> {
        let mut points: Vec<_> = stmt.axes.iter().map(|a| 0..i128::from(a.extent)).collect();
        if let (Some(row), Some(&rows)) = (self.rows.last(), self.blocks.last()) {
            let Row { extent, axes, .. } = row;
            let [start, end] = [block, block + 1].map(|n| i128::from((n * rows).min(*extent)));
            points[axes[member]] = start..end;
        }
        points
    }

    /// Arrays that must be finite for all reductions along the columns to combine identities only outside of a range;
    /// `None` if they may combine other values.
    fn allows(
        &self,
        graph: &Graph,
        columns: &Columns,
        (block, range): (u64, &Range<i128>),
    ) -> Option<Needs> {
        let (mut known, mut needs) = (BTreeMap::new(), Needs::new());
        for (at, stmt) in self.members(graph).iter().enumerate() {
            let Some(axis) = columns.axes[at] else { continue };
            let line = Line { graph, stmt, axis, points: self.points(stmt, at, block) };
            let value = line.outside(range, &known);
            if columns.places.contains_key(&stmt.out) {
                known.insert(stmt.out, value);
                continue;
            }
            let (Some(Reducer::Monoid(monoid)), None) = (stmt.reduce, stmt.scan) else {
                return None;
            };
            let AbstractValue::Known(value, own) = value else { return None };
            let identity = scalar::identity(monoid, graph.array(stmt.out).dtype);
            let zeros = monoid == Monoid::Add && is_zero(value);
            if stmt.init != Init::Identity(monoid) || !(zeros || same_bits(value, identity)) {
                return None;
            }
            needs.extend(own);
        }
        Some(needs)
    }
}

/// Arrays of the group in a statement, each with the dimension that an axis indexes; `None` if the axis occurs
/// otherwise.
fn own_places(members: &[Stmt], stmt: &Stmt, axis: usize) -> Option<Vec<(ArrayId, usize)>> {
    let own = |array: ArrayId| members.iter().any(|stmt| stmt.out == array);
    let mut found = Vec::new();
    let mut note = |array: ArrayId, index: &[IndexExpr]| {
        found.extend(row::place(index, axis).ok()?.map(|place| (array, place)));
        Some(())
    };
    note(stmt.out, &stmt.out_index)?;
    for node in &stmt.value.nodes {
        match node {
            ExprNode::Access(array, index) if own(*array) => note(*array, index)?,
            _ => {}
        }
    }
    Some(found)
}

/// All indices of a statement into an array.
fn indices(stmt: &Stmt, array: ArrayId) -> impl Iterator<Item = &[IndexExpr]> {
    let own = (stmt.out == array).then_some(&stmt.out_index[..]);
    let reads = stmt.value.nodes.iter().filter_map(move |node| match node {
        ExprNode::Access(read, index) if *read == array => Some(&index[..]),
        _ => None,
    });
    own.into_iter().chain(reads)
}

/// A nonempty range, aligned to the grain.
fn coarse(range: &Range<i128>, extent: u64) -> Range<u64> {
    let grain = extent.div_ceil(MAX_GRAINS).next_multiple_of(GRAIN);
    let at = |n: i128| u64::try_from(n).unwrap_or(0).min(extent);
    let start = at(range.start) / grain * grain;
    let end = at(range.end).max(start + 1).next_multiple_of(grain).min(extent);
    start.min(extent - 1)..end
}

impl Narrowing {
    /// Sum of the columns that all blocks need.
    fn share(&self) -> u64 {
        self.parts.iter().map(|part| part.range.end - part.range.start).sum()
    }

    /// Tells whether it saves at least an eighth.
    fn pays(&self) -> bool {
        let all = self.columns.extent.saturating_mul(self.parts.len() as u64);
        self.share() <= all - all / 8
    }

    /// The statements of a block restricted to its columns; `cut` maps arrays to those of the block.
    pub(super) fn apply(
        &self,
        (statements, arrays): (&[Stmt], &mut [ArrayInfo]),
        cut: impl Fn(ArrayId) -> ArrayId,
        part: &Part,
    ) -> Option<Vec<Stmt>> {
        let places: BTreeMap<ArrayId, usize> =
            self.columns.places.iter().map(|(&array, &place)| (cut(array), place)).collect();
        for (array, &place) in &places {
            arrays[array.0 as usize].shape[place] = part.range.end - part.range.start;
        }
        let each = statements.iter().zip(&self.columns.axes).enumerate();
        each.map(|(at, (stmt, axis))| {
            let Some(axis) = *axis else { return Some(stmt.clone()) };
            let mask = part.masks.iter().find(|(member, ..)| *member == at);
            let (all, own) = (&part.range, mask.map_or(&part.range, |(.., own)| own));
            let mut short = shortened(stmt, axis, (all, own), &places)?;
            if let Some((_, array, own)) = mask
                && own != all
            {
                short.init = Init::From(cut(*array));
            }
            Some(short)
        })
        .collect()
    }
}

/// Condition and array of a statement that only masks, and true if elements are kept where the condition holds (false:
/// where it fails).
fn masked_array(stmt: &Stmt) -> Option<(u32, bool, ArrayId)> {
    let Some(&ExprNode::Select(condition, x, y)) = stmt.value.nodes.last() else { return None };
    let own = |at: u32| match &stmt.value.nodes[at as usize] {
        ExprNode::Access(array, index) if *index == stmt.out_index => Some(*array),
        _ => None,
    };
    let map = stmt.reduce.is_none() && stmt.scan.is_none() && one_each(stmt);
    let found = match (own(x), own(y)) {
        (Some(array), None) => Some((condition, true, array)),
        (None, Some(array)) => Some((condition, false, array)),
        _ => None,
    };
    found.filter(|_| map)
}

/// The statement restricted to the values `some` of an axis, with arrays that start at `all`.
fn shortened(
    stmt: &Stmt,
    axis: usize,
    (all, some): (&Range<u64>, &Range<u64>),
    places: &BTreeMap<ArrayId, usize>,
) -> Option<Stmt> {
    let own = IndexExpr::axis(AxisId(axis as u32));
    let from = |n: u64| index::add(&own, &IndexExpr::constant(i64::try_from(n).ok()?));
    let mut map = index::of_axes(0..stmt.axes.len());
    map[axis] = from(some.start)?;
    let own = from(some.start - all.start)?;
    let mut axes: Vec<Axis> = stmt.axes.clone();
    axes[axis].extent = some.end - some.start;
    let mut short = stmt.substitute(&map, axes)?;
    if let Some(&place) = places.get(&short.out) {
        short.out_index[place] = own.clone();
    }
    for node in &mut short.value.nodes {
        if let ExprNode::Access(array, index) = node
            && let Some(&place) = places.get(array)
        {
            index[place] = own.clone();
        }
    }
    Some(short)
}
