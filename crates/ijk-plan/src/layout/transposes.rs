//! Transposing copies for statements whose operands and output are contiguous along different axes.
//!
//! `y[d,b] = x[b,d] + z[b,d]` reads rows of `x` and writes columns of `y`: each lane of a vector is on another cache
//! line. A map of one such operand transposes tiles of it in cache. For several, a blocked transposing copy takes a
//! part of the time: the map is stored in the order of its operands, and transposed afterwards. An operand of windows
//! and scatters in another order than the output is transposed first, and rows that are scattered into strided ones
//! are combined in a transposed array.

use crate::SMALL_DOMAIN;
use crate::domain::bounds::one_each;
use crate::graph::index::{self, of_axes, plain_axes, plain_axis, reads};
use crate::graph::{ExprNode, Graph, Stmt};
use crate::layout::Layout;
use crate::layout::axis_order::{self, SHORT};
use crate::layout::reordered::{LazyCopies, Reordered, axes_of, rebuilt};
use crate::select::contraction;
use ijk_ir::core::{ArrayId, Atom, IndexExpr, Init};
use ijk_types::Reducer;

/// Arrays of fewer than `near / CACHED_SHARE` elements are L2-resident and read in any order.
const CACHED_SHARE: u64 = 1 << 7;

/// Least extent of rows, read and written, for which a map pays a transposing copy.
const MIN_ROW: u64 = 64;

/// The output of a scatter is transposed, there and back, if `MIN_REACHED_SHARE * points >= elements`.
const MIN_REACHED_SHARE: u64 = 4;

/// The graph with such copies; `None` if there are none.
pub(crate) fn copied(graph: &Graph, layout: &Layout) -> Option<Graph> {
    let least = layout.near / CACHED_SHARE;
    let mut turns = turns(graph, least);
    if turns.iter().all(|turn| turn.out.is_none() && turn.operands.is_empty()) {
        return None;
    }
    let mut turned = graph.clone();
    let begun = begin_turned(&mut turned, &turns);
    if !begun.is_empty() {
        turns = self::turns(&turned, least);
    }
    let mut copies = LazyCopies::new(turns.iter().flat_map(|turn| turn.operands.iter().cloned()));
    let mut turns = turns.into_iter();
    Some(rebuilt(turned, |graph, mut stmt| {
        let Turn { out, operands } = turns.next().unwrap_or_default();
        let wanted = |operand: &Reordered, graph: &Graph, stmt: &Stmt| {
            operands.contains(operand) && operand.is_read(stmt)
                || operand.is_folded_across(graph, stmt)
        };
        copies.redirect(graph, &mut stmt, wanted, |index| !index.iter().any(reads));
        match out {
            Some(order) => divide(graph, stmt, &order, &begun),
            None => graph.statements.push(stmt),
        }
    }))
}

/// The transposed operands and results of each statement, among arrays of at least `least` elements.
fn turns(graph: &Graph, least: u64) -> Vec<Turn> {
    graph.statements.iter().map(|stmt| Turn::of(graph, stmt, least)).collect()
}

/// Permutes arrays whose only use is the initial value of a transposed output; returns these.
fn begin_turned(graph: &mut Graph, turns: &[Turn]) -> Vec<ArrayId> {
    let mut begun = Vec::new();
    if turns.iter().all(|turn| turn.out.is_none()) {
        return begun;
    }
    let uses = graph.uses();
    for (at, turn) in turns.iter().enumerate() {
        let (Init::From(array), Some(order)) = (graph.statements[at].init, &turn.out) else {
            continue;
        };
        let map = graph
            .statements
            .iter()
            .position(|stmt| stmt.out == array && is_map(graph, stmt) && stmt.scan.is_none());
        let Some(map) = map.filter(|_| uses[array.0 as usize] == 1) else { continue };
        axis_order::permute_axes(graph, array, order);
        graph.statements[map] = graph.statements[map].clone().in_output_order();
        begun.push(array);
    }
    begun
}

/// The transposed operands and result of a statement.
#[derive(Default)]
struct Turn {
    /// Order of the output's dimensions before the transposition.
    out: Option<Vec<usize>>,
    operands: Vec<Reordered>,
}

/// A large array, and the kept axis along which it is contiguous.
struct LargeRead<'s> {
    array: ArrayId,
    index: &'s [IndexExpr],
    along: usize,
}

impl Turn {
    fn of(graph: &Graph, stmt: &Stmt, least: u64) -> Self {
        let is_copy = stmt.reduce.is_none() && stmt.as_leaf().is_some();
        let gathers = stmt.value.nodes.iter().any(|node| node.indices().iter().any(reads));
        let suits = stmt.points() >= least.max(8 * SMALL_DOMAIN)
            && stmt.scan.is_none()
            && (!is_copy || gathers);
        if !suits || graph.partial.contains(&stmt.out) {
            return Self::default();
        }
        if stmt.out_index.iter().any(reads) {
            return Self::of_scatter(graph, stmt, least);
        }
        let Some(along) = last(graph, stmt) else { return Self::default() };
        let (own, across) = read(graph, stmt, (along, least));
        if across.is_empty() {
            return Self::default();
        }
        if is_map(graph, stmt) && std::env::var("NOTURN").is_ok() {
            return Self::default();
        }
        if !is_map(graph, stmt) {
            // Contractions and folds read rows in any order, except windows.
            let windows = across.iter().filter(|read| read.is_window(along));
            return Self {
                out: None,
                operands: windows.map(|read| read.operand(graph, along)).collect(),
            };
        }
        // A nest transposes tiles of one operand as it reads them.
        if matches!(&across[..], [read] if !read.is_gather()) {
            return Self::default();
        }
        let wide = |axis: usize| stmt.axes[axis].extent >= MIN_ROW;
        let pays = |read: &LargeRead<'_>| read.is_gather() || wide(along) && wide(read.along);
        if !across.iter().any(pays) {
            return Self::default();
        }
        let rows = across[0].along;
        let one_way = !own.iter().any(|read| read.depends(rows))
            && across.iter().all(|read| read.along == rows);
        let seen = graph.outputs.contains(&stmt.out) || across.iter().any(LargeRead::is_gather);
        let columns = || across.iter().any(|read| is_folded(graph, read.array));
        if one_way && seen && !columns() {
            return Self { out: to_last(graph, stmt, rows), operands: Vec::new() };
        }
        let plain = across.iter().filter(|read| !read.is_gather());
        Self { out: None, operands: plain.map(|read| read.operand(graph, along)).collect() }
    }

    /// For a scatter: rows that move or are combined become contiguous.
    fn of_scatter(graph: &Graph, stmt: &Stmt, least: u64) -> Self {
        let place = |&place: &usize| {
            plain_axis(&stmt.out_index[place])
                .filter(|axis| stmt.axes[axis.0 as usize].extent >= SHORT)
        };
        let order = graph.axes_by_stride(stmt.out);
        let Some(row) = order.iter().rev().find(|at| place(at).is_some()) else {
            return Self::default();
        };
        let along = plain_axis(&stmt.out_index[*row]).map_or(0, |axis| axis.0 as usize);
        let elements = graph.array(stmt.out).shape.iter().fold(1, |n: u64, &m| n.saturating_mul(m));
        let reached = stmt.points().saturating_mul(MIN_REACHED_SHARE) >= elements;
        let is_last = order.last() == Some(row);
        if !is_last
            && (!reached || elements < least || !matches!(stmt.reduce, Some(Reducer::Monoid(_))))
        {
            return Self::default();
        }
        let (_, across) = read(graph, stmt, (along, least));
        let plain = across.iter().filter(|read| !read.is_gather());
        let operands = plain.map(|read| read.operand(graph, along)).collect();
        let others = order.iter().filter(|place| *place != row);
        let out = (!is_last).then(|| others.chain([row]).copied().collect());
        Self { out, operands }
    }
}

/// The contiguous axis of the output, if it is long.
fn last(graph: &Graph, stmt: &Stmt) -> Option<usize> {
    let place = *graph.axes_by_stride(stmt.out).last()?;
    let axis = plain_axis(&stmt.out_index[place])?.0 as usize;
    (stmt.axes[axis].extent >= SHORT).then_some(axis)
}

/// Dimensions of the output, with that of an axis last.
fn to_last(graph: &Graph, stmt: &Stmt, axis: usize) -> Option<Vec<usize>> {
    let is_own =
        |place: &usize| plain_axis(&stmt.out_index[*place]).is_some_and(|a| a.0 as usize == axis);
    let (row, others): (Vec<_>, Vec<_>) =
        graph.axes_by_stride(stmt.out).into_iter().partition(is_own);
    (row.len() == 1).then(|| others.into_iter().chain(row).collect())
}

/// True if a statement writes each element of its output once.
fn is_map(graph: &Graph, stmt: &Stmt) -> bool {
    let fresh = match stmt.reduce {
        None => true,
        Some(Reducer::Monoid(monoid)) => stmt.init == Init::Identity(monoid) && one_each(stmt),
        Some(_) => false,
    };
    let whole = plain_axes(&stmt.out_index).is_some_and(|axes| {
        let shape = axes.iter().map(|&axis| stmt.axes[axis].extent);
        axes.len() == stmt.axes.len() && graph.array(stmt.out).shape.iter().copied().eq(shape)
    });
    fresh && whole
}

/// Large operands that depend on an axis: those contiguous along it, and others.
fn read<'s>(
    graph: &Graph,
    stmt: &'s Stmt,
    (along, least): (usize, u64),
) -> (Vec<LargeRead<'s>>, Vec<LargeRead<'s>>) {
    let kept = stmt.kept_axes();
    let large = |node: &'s ExprNode| {
        let ExprNode::Access(array, index) = node else { return None };
        let elements = graph.array(*array).shape.iter().fold(1, |n: u64, &m| n.saturating_mul(m));
        let last = &index[*graph.axes_by_stride(*array).last()?];
        let steps = last.terms.iter().filter_map(|term| match term {
            (1, Atom::Axis(axis)) => Some(axis.0 as usize),
            _ => None,
        });
        let mut steps = steps.filter(|&axis| kept[axis] && stmt.axes[axis].extent >= SHORT);
        let large = elements >= least || index.iter().any(reads);
        let own = steps.next().filter(|_| large)?;
        Some(LargeRead { array: *array, index, along: own })
    };
    let reads = stmt.value.nodes.iter().filter_map(large);
    let concerned = reads.filter(|read| read.depends(along));
    concerned.partition(|read| read.along == along)
}

/// True if a reduction reads an array by columns.
fn is_folded(graph: &Graph, array: ArrayId) -> bool {
    let columns = Reordered { array, order: Vec::new() };
    graph.statements.iter().any(|stmt| columns.is_folded_across(graph, stmt))
}

impl LargeRead<'_> {
    fn depends(&self, axis: usize) -> bool {
        self.index.iter().any(|e| index::depends(e, axis))
    }

    /// True if it is a gather.
    fn is_gather(&self) -> bool {
        self.index.iter().any(reads)
    }

    /// True if it is a window along an axis.
    fn is_window(&self, along: usize) -> bool {
        let mut all = self.index.iter();
        all.find(|e| index::steps_with(e, along))
            .is_some_and(|e| e.terms.len() > 1 && !self.is_gather())
    }

    /// The array transposed to be contiguous along an axis.
    fn operand(&self, graph: &Graph, along: usize) -> Reordered {
        let has = |place: &usize| index::depends(&self.index[*place], along);
        let (row, others): (Vec<_>, Vec<_>) =
            graph.axes_by_stride(self.array).into_iter().partition(has);
        Reordered { array: self.array, order: others.into_iter().chain(row).collect() }
    }
}

impl Reordered {
    /// True if a reduction reads the array with a kept axis contiguous: a fold of columns, which may as well be one of
    /// rows of the copy.
    fn is_folded_across(&self, graph: &Graph, stmt: &Stmt) -> bool {
        let kept = stmt.kept_axes();
        let folds = |node: &ExprNode| match node {
            ExprNode::Access(array, index) if *array == self.array => {
                let Some(axes) = plain_axes(index) else { return false };
                let last = graph.axes_by_stride(*array).last().map(|&place| axes[place]);
                last.is_some_and(|axis| kept[axis]) && axes.iter().any(|&axis| !kept[axis])
            }
            _ => false,
        };
        let reduces = matches!(stmt.reduce, Some(Reducer::Monoid(_))) && stmt.scan.is_none();
        reduces && !contraction::is_one(graph, stmt) && stmt.value.nodes.iter().any(folds)
    }

    /// True if a statement reads the array without a gather.
    fn is_read(&self, stmt: &Stmt) -> bool {
        let is_own = |node: &ExprNode| matches!(node, ExprNode::Access(array, index) if *array == self.array && !index.iter().any(reads));
        stmt.value.nodes.iter().any(is_own)
    }
}

/// Adds the statement with its output permuted, and transposing copies of its initial value and its result.
fn divide(graph: &mut Graph, stmt: Stmt, order: &[usize], begun: &[ArrayId]) {
    let (out, span, order) = (stmt.out, stmt.span, order.to_vec());
    let result = Reordered { array: out, order };
    let first = result.new_array(graph);
    let init = match stmt.init {
        Init::From(before) if !begun.contains(&before) => {
            let before = Reordered { array: before, order: result.order.clone() };
            Init::From(before.copy(graph, span))
        }
        init => init,
    };
    let out_index = result.order.iter().map(|&place| stmt.out_index[place].clone()).collect();
    let along = Stmt { out: first, out_index, init, ..stmt };
    graph.statements.push(along.in_output_order());
    let source = ExprNode::Access(first, of_axes(result.order));
    graph.statements.push(Stmt::map(out, axes_of(graph, out), vec![source], span));
}
