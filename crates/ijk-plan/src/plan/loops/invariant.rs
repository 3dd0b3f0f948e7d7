//! Statements that no pass changes run once, before the first.
//!
//! A statement whose operands are the same in every pass, and which cannot fail, is moved out of the plan of a pass: as the
//! program has it, before fusion could inline it, and again among the statements that passes of the planner add, such as
//! copies of strided operands. `^ij~ij` of a matrix that all passes read is one example, its copy in the order of a
//! kernel another. An array that is larger than all that it is computed from is left where it is.

use crate::graph::verify::verify;
use crate::graph::{ArrayInfo, Graph, Stmt};
use crate::layout::c_strides;
use crate::lower::emit;
use crate::passes::{self, Pressure};
use crate::plan::Plan;
use crate::{Layout, PlanError};
use ijk_ir::core::{ArrayId, Instance, Program};

/// Plans of a pass, and of what is computed before all of them.
pub(super) struct SplitPlan {
    /// In the order in which they run.
    pub before: Vec<PlanBefore>,
    /// That of a pass, whose further inputs are the arrays of those before, in order.
    pub pass: Plan,
}

/// A plan that runs before the first pass.
pub(super) struct PlanBefore {
    pub plan: Plan,
    /// Its inputs: positions among those of the pass.
    pub inputs: Vec<usize>,
    /// Its results.
    pub arrays: Vec<ArrayInfo>,
}

/// Plans a program some of whose inputs are the same in every pass.
pub(super) fn plan(
    program: &Program,
    instance: &Instance,
    layout: &Layout,
    same: &[bool],
) -> Result<SplitPlan, PlanError> {
    layout.check(program, instance)?;
    let graph = Graph::new(program, instance, layout.strict)?;
    let mut splitter = Splitter { layout: layout.clone(), same: same.to_vec(), before: Vec::new() };
    let graph = splitter.split(graph, Stage::Written)?;
    let graph = graph.with_strides(&splitter.layout.inputs, &splitter.layout.outputs);
    let graph = passes::apply(graph, Pressure::Low);
    let graph = passes::with_copies(&graph, &splitter.layout).unwrap_or(graph);
    let graph = splitter.split(graph, Stage::Lowered)?;
    let Splitter { layout, before, .. } = splitter;
    Ok(SplitPlan { before, pass: emit::plan(&graph, &layout)? })
}

/// State of the statements that are moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// As the program has them: before all passes.
    Written,
    /// Behind all passes.
    Lowered,
}

struct Splitter {
    /// Layout of the inputs of a pass so far, and of its outputs.
    layout: Layout,
    /// For each input of a pass that it is the same in all.
    same: Vec<bool>,
    before: Vec<PlanBefore>,
}

impl Splitter {
    /// Moves the statements that no pass changes out of a graph.
    fn split(&mut self, graph: Graph, stage: Stage) -> Result<Graph, PlanError> {
        let fixed = fixed(&graph, &self.same);
        let (moved, kept): (Vec<Stmt>, Vec<Stmt>) =
            graph.statements.iter().cloned().partition(|stmt| fixed[stmt.out.0 as usize]);
        let mut results: Vec<ArrayId> = Vec::new();
        for stmt in &kept {
            stmt.for_each_read(|id| {
                let own = moved.iter().any(|stmt| stmt.out == id);
                if own && !results.contains(&id) {
                    results.push(id);
                }
            });
        }
        if results.is_empty() {
            return Ok(graph);
        }
        let before = self.graph_before(&graph, moved, &results);
        self.plan_before(&graph, before, stage)?;
        let mut rest = Graph { statements: kept, ..graph };
        for id in results {
            rest.inputs.push(id);
            self.layout.inputs.push(c_strides(&rest.array(id).shape));
            self.same.push(true);
        }
        // Before the passes, indices are not cut to what is in bounds.
        if stage == Stage::Lowered {
            verify(&rest, "invariants");
        }
        Ok(rest)
    }

    fn graph_before(&self, graph: &Graph, moved: Vec<Stmt>, results: &[ArrayId]) -> Graph {
        let mut read = vec![false; graph.arrays.len()];
        moved.iter().for_each(|stmt| stmt.for_each_read(|id| read[id.0 as usize] = true));
        let inputs = graph.inputs.iter().copied().filter(|id| read[id.0 as usize]);
        Graph {
            inputs: inputs.collect(),
            outputs: results.to_vec(),
            fallible: Vec::new(),
            statements: moved,
            ..graph.clone()
        }
    }

    fn plan_before(&mut self, whole: &Graph, graph: Graph, stage: Stage) -> Result<(), PlanError> {
        let position = |id: &ArrayId| whole.inputs.iter().position(|own| own == id);
        let inputs: Vec<usize> = graph.inputs.iter().filter_map(position).collect();
        let strides = inputs.iter().map(|&n| self.layout.inputs[n].clone()).collect();
        let shapes = graph.outputs.iter().map(|id| c_strides(&graph.array(*id).shape));
        let layout = Layout { inputs: strides, outputs: shapes.collect(), ..self.layout.clone() };
        let arrays = graph.outputs.iter().map(|id| graph.array(*id).clone()).collect();
        let mut graph = graph.with_strides(&layout.inputs, &layout.outputs);
        if stage == Stage::Written {
            graph = passes::apply(graph, Pressure::Low);
            graph = passes::with_copies(&graph, &layout).unwrap_or(graph);
        }
        let plan = emit::plan(&graph, &layout)?;
        self.before.push(PlanBefore { plan, inputs, arrays });
        Ok(())
    }
}

/// For each array that it is the same in every pass, and may be computed before them.
fn fixed(graph: &Graph, same: &[bool]) -> Vec<bool> {
    let mut fixed = vec![false; graph.arrays.len()];
    for (id, same) in graph.inputs.iter().zip(same) {
        fixed[id.0 as usize] = *same;
    }
    let bytes = |id: ArrayId| {
        let ArrayInfo { dtype, shape } = graph.array(id);
        shape.iter().fold(dtype.size() as u64, |bytes, &n| bytes.saturating_mul(n))
    };
    for stmt in &graph.statements {
        let (mut all, mut read) = (true, 0u64);
        stmt.for_each_read(|id| {
            all &= fixed[id.0 as usize] && !graph.partial.contains(&id);
            read = read.saturating_add(bytes(id));
        });
        let needed = graph.outputs.contains(&stmt.out) || graph.fallible.contains(&stmt.out);
        let part = graph.partial.contains(&stmt.out);
        let small = bytes(stmt.out) <= read;
        fixed[stmt.out.0 as usize] = all && small && !needed && !part && !graph.can_fail(stmt);
    }
    fixed
}
