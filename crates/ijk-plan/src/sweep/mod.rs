//! Sweeps: consecutive statements over the same rows, fused by blocks of rows.
//!
//! Softmax is four statements over the same rows. Run one after another, they stream the array from memory four times;
//! run by blocks of rows, a block stays in cache for all four.

use crate::PlanError;
use crate::graph::index;
use crate::graph::{Axis, Expr, ExprNode, Graph, Stmt};
use crate::layout::Layout;
use crate::lower::buffers::{self, Buffers};
use crate::lower::emit;
use crate::plan::{Narrow, Plan, Step, Sweep, SweepAxis, Window};
use crate::select::contraction;
use ijk_ir::core::{ArrayId, Atom, AxisId, IndexExpr, Init};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

mod abstract_value;
mod narrow;
mod row_index;

use narrow::{Narrowing, Part};
pub(crate) use row_index::number_rows;

/// Greatest number of statements of a sweep.
const MOST_STATEMENTS: usize = 32;

/// Least number of blocks, given as many rows, so that threads can share them.
const LEAST_BLOCKS: u64 = 16;

/// Least number of rows of a block with a contraction, given as many: the shared operand is streamed once per block.
const LEAST_ROWS: u64 = 32;

/// Blocks have twice as many rows if those take at most `ROOM * near` bytes (an array that is computed in place counts
/// once per write) and at least `MANY_BLOCKS` blocks remain.
const ROOM: u64 = 8;
const MANY_BLOCKS: u64 = 128;

/// Products that a contraction forms in the time of moving a byte to memory and back.
pub(crate) const FASTER: u64 = 100;

/// Rows and columns of a microkernel's tile; and padded products that take as long as moving a byte to memory and
/// back.
const LANES: u64 = 16;
const PADDED: u64 = 16;

/// Consecutive statements with common rows.
pub(crate) struct Group {
    /// Range of the statements.
    pub statements: Range<usize>,
    rows: Vec<Row>,
    /// Values per block, for each row axis.
    blocks: Vec<u64>,
}

/// An axis that all statements of a group share.
#[derive(Clone)]
struct Row {
    extent: u64,
    /// The axis of each statement.
    axes: Vec<usize>,
    /// Dimension of arrays that it indexes: of all that the group defines, and some that it reads.
    places: Places,
}

type Places = BTreeMap<ArrayId, usize>;

/// Groups of statements that are worth a sweep, given `near` bytes of cache.
pub(crate) fn groups(graph: &Graph, buffers: &Buffers, near: u64) -> Vec<Group> {
    groups_of(graph, buffers, near, RowIndices::Rejected)
}

/// Tells whether values may depend on the index of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowIndices {
    Allowed,
    Rejected,
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
        let sized = |suits| grow(graph, at, (suits, &whole), numbers)?.sized(graph, near);
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
    for next in graph.statements[end..].iter().take(MOST_STATEMENTS - 1) {
        let defined: BTreeSet<ArrayId> =
            graph.statements[first..end].iter().map(|stmt| stmt.out).collect();
        let mut common: Vec<Row> = Vec::new();
        for row in rows.iter().filter_map(|row| row.with(next, &defined, numbers)) {
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

/// Tells whether a statement may be evaluated by blocks of rows.
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

/// Row axes of a statement.
fn rows_of(stmt: &Stmt, numbers: RowIndices) -> Vec<Row> {
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
    fn is_apart(&self, other: &Self) -> bool {
        self.places.iter().all(|(array, place)| other.places.get(array) != Some(place))
    }

    /// Extends the row axis to a further statement, if that has it.
    fn with(&self, stmt: &Stmt, defined: &BTreeSet<ArrayId>, numbers: RowIndices) -> Option<Self> {
        let axis = self.axis_in(stmt, defined)?;
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
}

impl Row {
    /// Tells whether blocks of rows would cut contiguous runs of a large array: the row axis has its smallest stride.
    fn cuts_runs(&self, graph: &Graph, buffers: &Buffers, near: u64) -> bool {
        self.places.iter().any(|(&array, &place)| {
            let strides = buffers.strides(graph, array);
            let own = strides[place].unsigned_abs();
            let others = graph.array(array).shape.iter().zip(&strides).enumerate();
            let others = others.filter(|(axis, (extent, _))| *axis != place && **extent > 1);
            let steps = others.map(|(_, (_, step))| step.unsigned_abs()).filter(|&n| n > 0);
            let mut steps = steps.peekable();
            own > 0
                && bytes(graph, array) > near
                && steps.peek().is_some()
                && steps.all(|step| step >= own)
        })
    }
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
            other if other.indices().iter().any(|e| mentions(e, axis)) => return None,
            _ => {}
        }
    }
    Some(places)
}

/// Dimension of an index where an axis stands alone, if it occurs.
fn place(index: &[IndexExpr], axis: usize) -> Result<Option<usize>, Elsewhere> {
    let mut occurs = (0..index.len()).filter(|&at| mentions(&index[at], axis));
    match (occurs.next(), occurs.next()) {
        (None, _) => Ok(None),
        (Some(at), None) if plain_axis(&index[at]) == Some(axis) => Ok(Some(at)),
        _ => Err(Elsewhere),
    }
}

/// Dimension of an operand's index where an axis stands alone or is added to other axes (a window). Blocks then
/// overlap in that array.
fn place_read(index: &[IndexExpr], axis: usize) -> Result<Option<usize>, Elsewhere> {
    let mut occurs = (0..index.len()).filter(|&at| mentions(&index[at], axis));
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
struct Elsewhere;

fn mentions(e: &IndexExpr, axis: usize) -> bool {
    let mut found = false;
    index::for_each_axis(e, &mut |a| found |= a.0 as usize == axis);
    found
}

/// The axis, if the expression is a bare axis.
fn plain_axis(e: &IndexExpr) -> Option<usize> {
    index::plain_axis(e).map(|axis| axis.0 as usize)
}

/// Least rows of a block with a contraction, for `rows` rows of `each` bytes.
fn least_rows(rows: u64, each: u64, near: u64) -> u64 {
    let larger = 2 * LEAST_ROWS;
    let room = near.saturating_mul(ROOM) / each >= larger;
    if room && rows / larger >= MANY_BLOCKS { larger } else { LEAST_ROWS }
}

impl Group {
    /// The group with block sizes; `None` if its arrays fit in cache as they are, or a sweep does not pay.
    fn sized(mut self, graph: &Graph, near: u64) -> Option<Self> {
        let rows = self.rows.iter().fold(1, |n: u64, row| n.saturating_mul(row.extent));
        if self.reused(graph) <= near || rows == 1 {
            return None;
        }
        let each = (self.bytes(graph) / rows).max(1);
        let multiplied = self.contracted(graph);
        if near > 0 && multiplied / FASTER > self.reused(graph) {
            return None;
        }
        let (near, least) = match multiplied {
            0 => (near, 1),
            _ => (near.saturating_mul(2), least_rows(rows, each, near)),
        };
        let mut left = (near / each).max(least).min(rows.div_ceil(LEAST_BLOCKS)).max(1);
        self.blocks = vec![1; self.rows.len()];
        for (row, block) in self.rows.iter().zip(&mut self.blocks).rev() {
            *block = row.extent.div_ceil(row.extent.div_ceil(left));
            left = if *block == row.extent { (left / row.extent).max(1) } else { 1 };
        }
        let pads = near > 0 && self.padding(graph) / PADDED > self.reused(graph);
        (!pads).then_some(self)
    }

    /// Padded products of contractions in blocks of few rows, beyond those of whole contractions.
    fn padding(&self, graph: &Graph) -> u64 {
        let padded = |[_, m, n, _]: [u64; 4]| LANES.div_ceil(m.min(n).max(1));
        let of_one = |(member, stmt): (usize, &Stmt)| {
            let mut extents = stmt.extents();
            let whole = padded(contraction::sides(graph, stmt, &extents)?);
            for (row, &block) in self.rows.iter().zip(&self.blocks) {
                extents[row.axes[member]] = block;
            }
            let block = padded(contraction::sides(graph, stmt, &extents)?);
            Some(stmt.points().saturating_mul(block.saturating_sub(whole)))
        };
        let all = self.members(graph).iter().enumerate();
        let all = all.filter(|(_, stmt)| contraction::multiplies(graph, stmt));
        all.filter_map(of_one).fold(0, u64::saturating_add)
    }

    fn members<'g>(&self, graph: &'g Graph) -> &'g [Stmt] {
        &graph.statements[self.statements.clone()]
    }

    /// Bytes of arrays that several statements access.
    fn reused(&self, graph: &Graph) -> u64 {
        let touched = self.touched(graph).into_iter().filter(|(_, times)| *times > 1);
        touched.fold(0, |sum, (array, _)| sum.saturating_add(bytes(graph, array)))
    }

    /// Products of all contractions.
    fn contracted(&self, graph: &Graph) -> u64 {
        let all = self.members(graph).iter().filter(|stmt| contraction::multiplies(graph, stmt));
        all.fold(0, |sum: u64, stmt| sum.saturating_add(stmt.points()))
    }

    /// Bytes of arrays with rows.
    fn bytes(&self, graph: &Graph) -> u64 {
        let touched = self.touched(graph).into_keys();
        touched.fold(0, |sum, array| sum.saturating_add(bytes(graph, array)))
    }

    /// Arrays with rows, and the number of statements that access them.
    fn touched(&self, graph: &Graph) -> BTreeMap<ArrayId, usize> {
        let mut touched = BTreeMap::new();
        for stmt in self.members(graph) {
            let mut own = BTreeSet::from([stmt.out]);
            stmt.for_each_read(|array| own.extend([array]));
            own.retain(|array| self.rows.iter().any(|row| row.places.contains_key(array)));
            own.into_iter().for_each(|array| *touched.entry(array).or_default() += 1);
        }
        touched
    }

    /// Arrays of the group that other statements or outputs need.
    fn results(&self, graph: &Graph) -> Vec<ArrayId> {
        let mut needed: BTreeSet<ArrayId> = graph.outputs.iter().copied().collect();
        let others = graph.statements.iter().enumerate();
        let others = others.filter(|(at, _)| !self.statements.contains(at));
        others.for_each(|(_, stmt)| stmt.for_each_read(|array| needed.extend([array])));
        let own = self.members(graph).iter().map(|stmt| stmt.out);
        own.filter(|array| needed.contains(array)).collect()
    }

    /// Emits the step; defines the buffers of its results.
    pub(crate) fn emit(&self, graph: &Graph, buffers: &mut Buffers) -> Result<Step, PlanError> {
        let mut results = self.results(graph);
        let narrowing = self.narrowing(graph, &results);
        let narrowing = narrowing.filter(|n| n.defined.iter().all(|&a| buffers.is_unshared(a)));
        // Arrays that must be finite are stored, to be tested.
        let defined = narrowing.iter().flat_map(|n| n.defined.iter().copied());
        let more: Vec<ArrayId> = defined.filter(|array| !results.contains(array)).collect();
        results.extend(more);
        results.iter().try_for_each(|&array| buffers.define(graph, array))?;
        let plan = |blocks: &[u64], part: Option<(&Narrowing, &Part)>| {
            self.body(graph, buffers, &results, (blocks, part))
        };
        let whole = plan(&self.blocks, None)?;
        let last = self.last();
        let rest = match last == self.blocks {
            true => None,
            false => Some(plan(&last, None)?.plan),
        };
        let narrow = match &narrowing {
            Some(narrowing) => self.narrow(narrowing, (&results, &whole), &last, plan)?,
            None => None,
        };
        let axis = |(row, &block): (&Row, &u64)| SweepAxis {
            name: self.members(graph)[0].axes[row.axes[0]].name.clone(),
            extent: row.extent as usize,
            block: block as usize,
        };
        let axes = self.rows.iter().zip(&self.blocks).map(axis).collect();
        let Body { plan: body, inputs, outputs, .. } = whole;
        Ok(Step::Sweep(Box::new(Sweep { axes, inputs, outputs, body, rest, narrow })))
    }

    /// Values of each row axis in the last block.
    fn last(&self) -> Vec<u64> {
        let short = |(row, &block): (&Row, &u64)| match row.extent % block {
            0 => block,
            rest => rest,
        };
        self.rows.iter().zip(&self.blocks).map(short).collect()
    }

    /// Plans of blocks for distinct ranges of columns.
    fn narrow(
        &self,
        narrowing: &Narrowing,
        (results, whole): (&[ArrayId], &Body),
        last: &[u64],
        plan: impl Fn(&[u64], Option<(&Narrowing, &Part)>) -> Result<Body, PlanError>,
    ) -> Result<Option<Narrow>, PlanError> {
        let (mut known, mut bodies) = (Vec::<(bool, &Part)>::new(), Vec::new());
        let mut of_blocks = Vec::new();
        for (at, part) in narrowing.parts.iter().enumerate() {
            let short = at + 1 == narrowing.parts.len() && last != self.blocks;
            let place = known.iter().position(|other| *other == (short, part));
            if place.is_none() {
                let blocks = if short { last } else { &self.blocks };
                let body = plan(blocks, Some((narrowing, part)))?;
                if body.inputs != whole.inputs || body.outputs != whole.outputs {
                    return Ok(None);
                }
                known.push((short, part));
                bodies.push(body.plan);
            }
            of_blocks.push(Some(place.unwrap_or(bodies.len() - 1)));
        }
        let position = |array: &ArrayId, all: &[ArrayId]| {
            all.iter().enumerate().filter(|(_, a)| *a == array).map(|(n, _)| n).collect::<Vec<_>>()
        };
        let of = |arrays: &[ArrayId], all: &[ArrayId]| {
            arrays.iter().flat_map(|array| position(array, all)).collect()
        };
        let finite_inputs = of(&narrowing.read, &whole.read);
        let finite_outputs = of(&narrowing.defined, results);
        Ok(Some(Narrow { bodies, of_blocks, finite_inputs, finite_outputs }))
    }

    /// The plan of one block, and its windows.
    fn body(
        &self,
        graph: &Graph,
        buffers: &Buffers,
        results: &[ArrayId],
        (blocks, part): (&[u64], Option<(&Narrowing, &Part)>),
    ) -> Result<Body, PlanError> {
        let mut cutter = Cutter { group: self, graph, blocks, cut: Vec::new(), seen: Vec::new() };
        let mut statements: Vec<Stmt> =
            (0..self.statements.len()).map(|member| cutter.statement(member)).collect();
        if let Some((narrowing, part)) = part {
            let mut arrays = cutter.cut.clone();
            let cut = |array| cutter.defined(array);
            let short = narrowing.apply((&statements, &mut arrays), cut, part);
            if let Some(short) = short {
                (statements, cutter.cut) = (short, arrays);
            }
        }
        let own: BTreeSet<ArrayId> = statements.iter().map(|stmt| stmt.out).collect();
        let all = (0..cutter.cut.len() as u32).map(ArrayId);
        let inputs: Vec<ArrayId> = all.filter(|array| !own.contains(array)).collect();
        let outputs: Vec<ArrayId> = results.iter().map(|&a| cutter.defined(a)).collect();
        let (cut, seen) = (cutter.cut, cutter.seen);
        let window = |array: &ArrayId| window(buffers, &seen[array.0 as usize]);
        let (from, to): (Vec<_>, Vec<_>) =
            (inputs.iter().map(window).collect(), outputs.iter().map(window).collect());
        let strides = |array: &ArrayId| {
            let buffer = buffers.of(seen[array.0 as usize].0);
            buffers.all[buffer.0 as usize].strides.clone()
        };
        let lie = |arrays: &[ArrayId]| arrays.iter().map(strides).collect();
        let layout = Layout::new(lie(&inputs), lie(&outputs), None);
        let layout = Layout { near: u64::MAX, strict: graph.strict, ..layout };
        let read = inputs.iter().map(|array| seen[array.0 as usize].0).collect();
        let graph = Graph {
            arrays: cut,
            inputs,
            outputs,
            fallible: Vec::new(),
            partial: BTreeSet::new(),
            numbers: BTreeSet::new(),
            statements,
            strict: graph.strict,
            strides: BTreeMap::new(),
        };
        let plan = emit::plan(&graph, &layout)?;
        Ok(Body { plan, inputs: from, outputs: to, read })
    }
}

/// A lowered block.
struct Body {
    plan: Plan,
    /// Windows of its inputs and outputs.
    inputs: Vec<Window>,
    outputs: Vec<Window>,
    /// Array of each input.
    read: Vec<ArrayId>,
}

/// An array, and the dimension that each row axis cuts.
type CutArray = (ArrayId, Vec<Option<usize>>);

fn window(buffers: &Buffers, (array, places): &CutArray) -> Window {
    let buffer = buffers.of(*array);
    let all = &buffers.all[buffer.0 as usize].strides;
    let strides = places.iter().map(|place| place.map_or(0, |place| all[place])).collect();
    Window { buffer, strides }
}

/// Builder of the statements of one block.
struct Cutter<'a> {
    group: &'a Group,
    graph: &'a Graph,
    blocks: &'a [u64],
    /// Arrays cut to a block.
    cut: Vec<crate::graph::ArrayInfo>,
    /// Origin of each cut array.
    seen: Vec<CutArray>,
}

impl Cutter<'_> {
    /// A statement restricted to the rows of a block.
    fn statement(&mut self, member: usize) -> Stmt {
        let stmt = &self.group.members(self.graph)[member];
        let axes = self.axes(stmt, member);
        let access = |cutter: &mut Self, node: &ExprNode| match node {
            ExprNode::Access(array, index) => {
                let places = cutter.places(member, index);
                ExprNode::Access(cutter.array(*array, places), index.clone())
            }
            other => other.clone(),
        };
        let nodes = stmt.value.nodes.iter().map(|node| access(self, node)).collect();
        let places = self.places(member, &stmt.out_index);
        Stmt { out: self.array(stmt.out, places), axes, value: Expr { nodes }, ..stmt.clone() }
    }

    fn axes(&self, stmt: &Stmt, member: usize) -> Vec<Axis> {
        let mut axes = stmt.axes.clone();
        for (row, &block) in self.group.rows.iter().zip(self.blocks) {
            axes[row.axes[member]].extent = block;
        }
        axes
    }

    /// Dimension of each row axis in an index of a statement.
    fn places(&self, member: usize, index: &[IndexExpr]) -> Vec<Option<usize>> {
        let place = |row: &Row| place_read(index, row.axes[member]).ok().flatten();
        self.group.rows.iter().map(place).collect()
    }

    /// The array cut to a block.
    fn array(&mut self, array: ArrayId, places: Vec<Option<usize>>) -> ArrayId {
        let seen = (array, places);
        if let Some(at) = self.seen.iter().position(|known| *known == seen) {
            return ArrayId(at as u32);
        }
        let mut info = self.graph.array(array).clone();
        let is_own = self.group.members(self.graph).iter().any(|stmt| stmt.out == array);
        for ((place, &block), row) in seen.1.iter().zip(self.blocks).zip(&self.group.rows) {
            if let Some(place) = place {
                // A window into an operand may extend beyond the rows of the block.
                let beyond = if is_own { 0 } else { info.shape[*place].saturating_sub(row.extent) };
                info.shape[*place] = block + beyond;
            }
        }
        self.cut.push(info);
        self.seen.push(seen);
        ArrayId(self.cut.len() as u32 - 1)
    }

    /// The cut array of an array that the group defines.
    fn defined(&self, array: ArrayId) -> ArrayId {
        let at = self.seen.iter().position(|(known, _)| *known == array);
        ArrayId(at.unwrap_or(usize::MAX) as u32)
    }
}

fn bytes(graph: &Graph, array: ArrayId) -> u64 {
    buffers::bytes(graph.array(array)).unwrap_or(u64::MAX)
}
