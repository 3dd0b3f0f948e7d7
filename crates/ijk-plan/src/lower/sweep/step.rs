//! The step of a sweep: plans of its blocks, and their windows into buffers.

use super::Group;
use super::narrow::{Narrowing, Part};
use super::row::{Row, place_read};
use crate::PlanError;
use crate::graph::{ArrayInfo, Axis, Expr, ExprNode, Graph, Stmt};
use crate::layout::Layout;
use crate::lower::buffers::Buffers;
use crate::lower::emit;
use crate::plan::{Narrow, Plan, Step, Sweep, SweepAxis, Window};
use ijk_ir::core::{ArrayId, IndexExpr};
use std::collections::{BTreeMap, BTreeSet};

impl Group {
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
    cut: Vec<ArrayInfo>,
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
