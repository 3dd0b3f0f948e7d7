//! Memory of arrays: arguments and results have their own, temporaries share an arena during their live ranges.

use crate::PlanError;
use crate::domain::bounds::one_each;
use crate::graph::{ArrayInfo, ExprNode, Few, Graph, Stmt, coverage};
use crate::layout::{Layout, c_strides};
use crate::lower::arena::Arena;
use crate::plan::{Buffer, BufferId, Place};
use ijk_ir::core::{ArrayId, Init};
use std::ops::Range;

/// Assignment of arrays to buffers of a plan.
pub(crate) struct Buffers {
    pub all: Vec<Buffer>,
    of_array: Vec<Option<BufferId>>,
    /// For each statement, arrays whose live range ends there.
    last_reads: Vec<Few<ArrayId>>,
    /// For each array, the last of the chain of arrays that are computed in place of it; all share its memory.
    chain_ends: Vec<ArrayId>,
    arena: Arena,
}

impl Buffers {
    /// Creates buffers of inputs and outputs; [`Self::define`] adds temporaries.
    pub(crate) fn new(graph: &Graph, layout: &Layout) -> Result<Self, PlanError> {
        let last_reads = last_reads(graph);
        let mut buffers = Self {
            all: Vec::with_capacity(graph.arrays.len()),
            of_array: vec![None; graph.arrays.len()],
            chain_ends: (0..graph.arrays.len() as u32).map(ArrayId).collect(),
            last_reads,
            arena: Arena::default(),
        };
        for (n, (&array, strides)) in graph.inputs.iter().zip(&layout.inputs).enumerate() {
            buffers.add(graph, array, Place::Input(n), strides.clone())?;
        }
        for (n, (&array, strides)) in graph.outputs.iter().zip(&layout.outputs).enumerate() {
            buffers.add(graph, array, Place::Output(n), strides.clone())?;
        }
        Ok(buffers)
    }

    /// Assigns arrays that can be computed in place of their operands. Within a sweep, only arrays that the same sweep
    /// defines are overwritten.
    pub(crate) fn share(&mut self, graph: &Graph, sweeps: &[Range<usize>]) {
        self.chain_ends = chain_ends(graph, &self.last_reads, sweeps);
    }

    /// Buffer of an array: the first one if it is an input or several outputs.
    pub(crate) fn of(&self, array: ArrayId) -> BufferId {
        self.of_array[array.0 as usize].unwrap_or(BufferId(u32::MAX))
    }

    /// Tells whether no other array is computed in place of this one.
    pub(crate) fn is_unshared(&self, array: ArrayId) -> bool {
        self.chain_ends[array.0 as usize] == array
    }

    /// Strides of an array; C order if it has no buffer yet.
    pub(crate) fn strides(&self, graph: &Graph, array: ArrayId) -> Vec<isize> {
        match self.of_array[array.0 as usize] {
            Some(buffer) => self.all[buffer.0 as usize].strides.clone(),
            None => c_strides(&graph.array(array).shape),
        }
    }

    /// Allocates the array that a statement defines.
    pub(crate) fn define(&mut self, graph: &Graph, array: ArrayId) -> Result<(), PlanError> {
        if self.of_array[array.0 as usize].is_some() {
            return Ok(());
        }
        let end = self.chain_ends[array.0 as usize];
        if end != array {
            self.define(graph, end)?;
            self.of_array[array.0 as usize] = Some(self.of(end));
            return Ok(());
        }
        let info = graph.array(array);
        let start = self.arena.allocate(bytes(info)?).ok_or_else(|| too_large(info))?;
        self.add(graph, array, Place::Temporary(start as usize), c_strides(&info.shape))
    }

    /// Frees temporaries whose live range ends at the statement `at`. Arrays that live inside of a sweep only have no
    /// buffer here.
    pub(crate) fn release(&mut self, graph: &Graph, at: usize) {
        for array in std::mem::take(&mut self.last_reads[at]) {
            let Some(own) = self.of_array[array.0 as usize] else { continue };
            if self.chain_ends[array.0 as usize] != array {
                continue;
            }
            let buffer = &self.all[own.0 as usize];
            if let Place::Temporary(start) = buffer.place {
                let bytes = bytes(graph.array(array)).unwrap_or(0);
                self.arena.release(start as u64, bytes);
            }
        }
    }

    /// Bytes of the arena.
    pub(crate) fn arena(&self) -> u64 {
        self.arena.bytes()
    }

    fn add(
        &mut self,
        graph: &Graph,
        array: ArrayId,
        place: Place,
        strides: Vec<isize>,
    ) -> Result<(), PlanError> {
        let info = graph.array(array);
        bytes(info)?;
        let shape = info.shape.iter().map(|&n| n as usize).collect();
        let id = BufferId(self.all.len() as u32);
        self.all.push(Buffer { place, dtype: info.dtype, shape, strides });
        self.of_array[array.0 as usize].get_or_insert(id);
        Ok(())
    }
}

/// Bytes of an array in C order.
///
/// # Errors
/// [`PlanError::TooLarge`] if it exceeds the address space, or would without its empty axes: its strides could
/// overflow.
pub(crate) fn bytes(info: &ArrayInfo) -> Result<u64, PlanError> {
    let size = info.dtype.size() as u64;
    let nonempty = info.shape.iter().try_fold(size, |n, &extent| n.checked_mul(extent.max(1)));
    match nonempty {
        Some(n) if n <= isize::MAX as u64 && info.shape.contains(&0) => Ok(0),
        Some(n) if n <= isize::MAX as u64 => Ok(n),
        _ => Err(too_large(info)),
    }
}

fn too_large(info: &ArrayInfo) -> PlanError {
    PlanError::TooLarge { shape: info.shape.clone(), dtype: info.dtype }
}

/// For each statement, arrays that no later one reads. An array that is never read ends where it is defined.
fn last_reads(graph: &Graph) -> Vec<Few<ArrayId>> {
    let mut seen: Few<bool> = Few::from_elem(false, graph.arrays.len());
    let mut last = vec![Few::new(); graph.statements.len()];
    for (at, stmt) in graph.statements.iter().enumerate().rev() {
        let mut read = |array: ArrayId| {
            if !std::mem::replace(&mut seen[array.0 as usize], true) {
                last[at].push(array);
            }
        };
        read(stmt.out);
        stmt.for_each_read(read);
    }
    last
}

/// For each array, the end of its in-place chain: each array of the chain overwrites the one before it, which is dead
/// by then.
fn chain_ends(graph: &Graph, last_reads: &[Few<ArrayId>], sweeps: &[Range<usize>]) -> Vec<ArrayId> {
    let mut chain_ends: Vec<ArrayId> = (0..graph.arrays.len() as u32).map(ArrayId).collect();
    let kept = |array: ArrayId| graph.inputs.contains(&array) || graph.outputs.contains(&array);
    for (at, (stmt, last_reads)) in graph.statements.iter().zip(last_reads).enumerate().rev() {
        let sweep = sweeps.iter().find(|sweep| sweep.contains(&at));
        let near = |array| {
            sweep.is_none_or(|s| graph.statements[s.clone()].iter().any(|stmt| stmt.out == array))
        };
        let free = |array: ArrayId| last_reads.contains(&array) && !kept(array) && near(array);
        let source = match stmt.init {
            Init::From(source) => Some(source).filter(|&array| accumulates(stmt, array)),
            _ => last_reads.iter().copied().find(|&array| replaces(graph, stmt, array)),
        };
        let source = source.filter(|&array| !kept(stmt.out) || is_behind(graph, stmt, array));
        if let Some(source) = source.filter(|&array| free(array)) {
            chain_ends[source.0 as usize] = chain_ends[stmt.out.0 as usize];
        }
    }
    chain_ends
}

/// Tells whether a statement is the epilogue of the reduction that computes `source`. Other results are not computed
/// in place: a load and a store of the same buffer cost more than the traffic they save.
fn is_behind(graph: &Graph, stmt: &Stmt, source: ArrayId) -> bool {
    let of_source = graph.statements.iter().find(|other| other.out == source);
    let from_here = stmt.init == Init::From(source);
    from_here || of_source.is_some_and(|other| other.reduce.is_some() && other.span == stmt.span)
}

/// Tells whether a statement reads its initial array only at the element that the same point writes, and at most once.
fn accumulates(stmt: &Stmt, source: ArrayId) -> bool {
    let (mut reads, mut own) = (0, 0);
    stmt.for_each_point_read(|array| reads += usize::from(array == source));
    for node in &stmt.value.nodes {
        let same =
            matches!(node, ExprNode::Access(a, index) if *a == source && *index == stmt.out_index);
        own += usize::from(same);
    }
    reads == 0 || (reads == own && stmt.reduce.is_none() && one_each(stmt))
}

/// Tells whether each point reads of an array exactly the element that it writes.
fn replaces(graph: &Graph, stmt: &Stmt, array: ArrayId) -> bool {
    let mut reads = 0;
    stmt.for_each_point_read(|read| reads += usize::from(read == array));
    let same = |node: &&ExprNode| matches!(node, ExprNode::Access(a, index) if *a == array && *index == stmt.out_index);
    let (from, to) = (graph.array(array), graph.array(stmt.out));
    array != stmt.out
        && coverage::covers(graph, stmt)
        && stmt.reduce.is_none()
        && stmt.guards.is_empty()
        && stmt.value.nodes.len() > 1
        && from.dtype == to.dtype
        && from.shape == to.shape
        && reads > 0
        && stmt.value.nodes.iter().filter(same).count() == reads
}
