//! Selection of the statements that are evaluated where they are used, not into a temporary.

use super::shape::{definer, kept, reduced};
use ijk_ir::core::{Access, ArrayId, Program, ScalarNode, Statement};

/// A program, and what becomes of its statements.
pub struct Plan<'p> {
    /// The program.
    pub program: &'p Program,
    fused: Vec<bool>,
}

impl<'p> Plan<'p> {
    /// Maps that are used at one place are evaluated there.
    pub fn new(program: &'p Program) -> Self {
        let fused = program.statements.iter().map(|s| is_fused(program, s)).collect();
        Self { program, fused }
    }

    /// The statements whose results are written to memory.
    pub fn written(&self) -> impl Iterator<Item = (usize, &'p Statement)> {
        let statements = self.program.statements.iter().enumerate();
        statements.filter(|(n, _)| !self.fused[*n])
    }

    /// The statement that is evaluated where its array is accessed.
    pub fn fused(&self, array: ArrayId) -> Option<usize> {
        definer(self.program, array).filter(|&n| self.fused[n])
    }
}

fn accesses(program: &Program) -> impl Iterator<Item = &Access> {
    let nodes = program.statements.iter().flat_map(|s| &s.value.nodes);
    nodes.filter_map(|node| match node {
        ScalarNode::Access(access) => Some(access),
        _ => None,
    })
}

fn is_fused(program: &Program, statement: &Statement) -> bool {
    let mut uses = accesses(program).filter(|access| access.array == statement.out);
    let once = uses.next().filter(|_| uses.next().is_none());
    let map = statement.reduce.is_none() && reduced(statement).is_empty();
    let plain = kept(statement).len() == statement.out_index.len();
    let distinct = once.is_some_and(|access| {
        let axes: Vec<_> = access.index.iter().filter_map(|e| e.as_axis()).collect();
        (1..axes.len()).all(|n| !axes[..n].contains(&axes[n]))
    });
    map && plain && distinct && !program.outputs.contains(&statement.out)
}
