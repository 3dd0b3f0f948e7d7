//! Sweeps: consecutive statements over the same rows, fused by blocks of rows.
//!
//! Softmax is four statements over the same rows. Run one after another, they stream the array from memory four times;
//! run by blocks of rows, a block stays in cache for all four.
//!
//! | file | content |
//! |---|---|
//! | `row` | axes that statements share |
//! | `blocks` | size of blocks, and whether a sweep pays |
//! | `step` | the plan of one block |
//! | `narrow`, `abstract_value` | columns that a mask makes irrelevant |
//! | `row_index` | values that depend on the index of a row |

mod abstract_value;
mod blocks;
mod narrow;
mod row;
mod row_index;
mod step;

pub(crate) use row_index::number_rows;

use crate::graph::{Graph, Stmt, index};
use crate::lower::buffers::{self, Buffers};
use crate::select::contraction;
use ijk_ir::core::{ArrayId, Init};
use row::{Row, RowIndices, rows_of};
use std::collections::BTreeSet;
use std::ops::Range;

/// Greatest number of statements of a sweep.
const MAX_STATEMENTS: usize = 32;

/// Consecutive statements with common rows.
pub(crate) struct Group {
    /// Range of the statements.
    pub statements: Range<usize>,
    rows: Vec<Row>,
    /// Values per block, for each row axis.
    blocks: Vec<u64>,
}

/// Groups of statements that are worth a sweep, given `near` bytes of cache.
pub(crate) fn groups(graph: &Graph, buffers: &Buffers, near: u64) -> Vec<Group> {
    groups_of(graph, buffers, near, RowIndices::Rejected)
}

/// Groups of statements, with or without values that depend on the index of a row.
fn groups_of(graph: &Graph, buffers: &Buffers, near: u64, numbers: RowIndices) -> Vec<Group> {
    let mut groups = Vec::new();
    // No group exceeds the bytes of all arrays.
    let all = graph.arrays.iter().map(|array| buffers::bytes(array).unwrap_or(u64::MAX));
    if all.fold(0, u64::saturating_add) <= near {
        return groups;
    }
    let mut at = 0;
    while at < graph.statements.len() {
        let whole = |row: &Row| !row.cuts_runs(graph, buffers, near);
        let sized = |suits| {
            let group = grow(graph, at, (suits, &whole), numbers)?.sized(graph, near)?;
            (near == 0 || !group.cuts_lines(graph, buffers)).then_some(group)
        };
        let group = sized(suits_all).or_else(|| sized(suits));
        at = group.as_ref().map_or(at + 1, |group| group.statements.end);
        groups.extend(group);
    }
    groups
}

/// Predicate that admits statements to a group.
type Suits = fn(&Graph, &Stmt) -> bool;

/// The longest group of admissible statements from `first` on, with row axes that are `whole`.
fn grow(
    graph: &Graph,
    first: usize,
    (suits, whole): (Suits, &impl Fn(&Row) -> bool),
    numbers: RowIndices,
) -> Option<Group> {
    let stmt = &graph.statements[first];
    let mut rows: Vec<Row> = Vec::new();
    for row in if suits(graph, stmt) { rows_of(stmt, numbers) } else { Vec::new() } {
        if rows.iter().all(|other| other.is_apart(&row)) && whole(&row) {
            rows.push(row);
        }
    }
    let mut end = first + 1;
    for (n, next) in graph.statements.iter().enumerate().skip(end).take(MAX_STATEMENTS - 1) {
        let defined: BTreeSet<ArrayId> =
            graph.statements[first..end].iter().map(|stmt| stmt.out).collect();
        let mut common: Vec<Row> = Vec::new();
        let extended = |row: &Row| {
            let beside = || row.beside(next, numbers).filter(|_| meets_later(graph, n, &defined));
            row.with(next, &defined, numbers).or_else(beside)
        };
        for row in rows.iter().filter_map(extended) {
            // An operand may have one axis in a dimension where two rows stand.
            let apart = |other: &Row| other.axes.last() != row.axes.last() && other.is_apart(&row);
            if common.iter().all(apart) && whole(&row) {
                common.push(row);
            }
        }
        if common.is_empty() || !suits(graph, next) {
            break;
        }
        (rows, end) = (common, end + 1);
    }
    let statements = first..end;
    (statements.len() > 1).then_some(Group { statements, rows, blocks: Vec::new() })
}

/// Tells whether a later statement reads what comes of a statement's result beside what is `defined` before it.
fn meets_later(graph: &Graph, at: usize, defined: &BTreeSet<ArrayId>) -> bool {
    let reads = |stmt: &Stmt, wanted: &BTreeSet<ArrayId>| {
        let mut found = false;
        stmt.for_each_read(|array| found |= wanted.contains(&array));
        found
    };
    let mut results = BTreeSet::from([graph.statements[at].out]);
    graph.statements[at + 1..].iter().any(|later| {
        let follows = reads(later, &results);
        results.extend(follows.then_some(later.out));
        follows && reads(later, defined)
    })
}

/// Tells whether a statement may be evaluated by blocks of rows, and is no contraction.
fn suits(graph: &Graph, stmt: &Stmt) -> bool {
    suits_all(graph, stmt) && !contraction::is_one(graph, stmt)
}

/// Tells whether a statement may be evaluated by blocks of rows.
fn suits_all(graph: &Graph, stmt: &Stmt) -> bool {
    let mut reads = false;
    stmt.for_each_index(|e| reads |= index::reads(e));
    !reads
        && stmt.guards.is_empty()
        && !matches!(stmt.init, Init::From(_))
        && !graph.partial.contains(&stmt.out)
        && !graph.numbers.contains(&stmt.out)
        && !graph.array(stmt.out).shape.contains(&0)
        && !graph.can_fail(stmt)
}

impl Group {
    fn members<'g>(&self, graph: &'g Graph) -> &'g [Stmt] {
        &graph.statements[self.statements.clone()]
    }

    /// Tells whether blocks of rows would write parts of cache lines.
    fn cuts_lines(&self, graph: &Graph, buffers: &Buffers) -> bool {
        let mut rows = self.rows.iter().zip(&self.blocks);
        rows.any(|(row, &block)| block < row.extent && row.cuts_lines(graph, buffers, block))
    }
}

fn bytes(graph: &Graph, array: ArrayId) -> u64 {
    buffers::bytes(graph.array(array)).unwrap_or(u64::MAX)
}
