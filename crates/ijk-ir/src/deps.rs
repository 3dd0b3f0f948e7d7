//! Dependencies between elements (docs/language/i.md, section 8), by recursion over statements.

mod points;
mod solve;

pub use points::{Piece, PointSet, Range};

use crate::core::{
    Access, ArrayId, Atom, IndexExpr, Init, Instance, Program, ScalarNode, Statement,
};
use solve::{LinearSystem, Variable};

/// Pieces of one array beyond which its set is widened to the smallest box around it.
const MAX_PIECES: usize = 2048;

/// For each input, the elements that an output's element at `point` is computed from.
///
/// A point that the output does not have depends on nothing.
///
/// ```
/// use ijk_ir::{compile_source, dependencies, instantiate};
/// use ijk_types::DType;
/// let program = compile_source("ik*kj~ijk . +ijk~ij").program.unwrap();
/// let arguments: [(DType, &[u64]); 2] = [(DType::F32, &[3, 4]), (DType::F32, &[4, 5])];
/// let instance = instantiate(&program, &arguments).unwrap();
/// let sets = dependencies(&program, &instance, 0, &[1, 2]);
/// assert_eq!(sets[0].to_string(), "{(1, k) : k in 0..4}");
/// assert_eq!(sets[1].to_string(), "{(k, 2) : k in 0..4}");
/// assert!(sets[0].is_exact() && sets[0].contains(&[1, 3]));
/// ```
///
/// # Panics
/// If there is no such output.
pub fn dependencies(
    program: &Program,
    instance: &Instance,
    output: usize,
    point: &[u64],
) -> Vec<PointSet> {
    let sets = sources(program, instance, program.outputs[output], point);
    program.inputs.iter().map(|id| sets[id.0 as usize].clone()).collect()
}

/// For each array, the elements that an array's element at `point` is computed from, itself included: those of inputs,
/// and what statements compute on the way.
///
/// A point that the array does not have depends on nothing.
pub fn sources(
    program: &Program,
    instance: &Instance,
    array: ArrayId,
    point: &[u64],
) -> Vec<PointSet> {
    let mut sets = empty_sets(instance);
    start(&mut sets, instance, array, point);
    for (n, statement) in program.statements.iter().enumerate().rev() {
        let set = sets[statement.out.0 as usize].clone();
        if set.is_empty() {
            continue;
        }
        let step = SizedStatement { statement, extents: &instance.extents[n], instance };
        for (array, index) in reads(statement) {
            step.carry(&set, &statement.out_index, index, &mut sets[array.0 as usize]);
        }
        if let Init::From(array) = statement.init {
            sets[array.0 as usize].extend(set);
            sets[array.0 as usize].settle(&instance.shapes[array.0 as usize], MAX_PIECES);
        }
    }
    sets
}

/// For each output, the elements that are computed from an input's element at `point`.
///
/// # Panics
/// If there is no such input.
pub fn reaches(
    program: &Program,
    instance: &Instance,
    input: usize,
    point: &[u64],
) -> Vec<PointSet> {
    let sets = targets(program, instance, program.inputs[input], point);
    program.outputs.iter().map(|id| sets[id.0 as usize].clone()).collect()
}

/// For each array, the elements that are computed from an array's element at `point`, itself included.
pub fn targets(
    program: &Program,
    instance: &Instance,
    array: ArrayId,
    point: &[u64],
) -> Vec<PointSet> {
    let mut sets = empty_sets(instance);
    start(&mut sets, instance, array, point);
    for (n, statement) in program.statements.iter().enumerate() {
        let step = SizedStatement { statement, extents: &instance.extents[n], instance };
        let out = statement.out.0 as usize;
        if statement.out == array {
            // Where it comes from does not count.
            continue;
        }
        let mut reached = PointSet::empty(instance.shapes[out].len());
        for (array, index) in reads(statement) {
            step.carry(&sets[array.0 as usize], index, &statement.out_index, &mut reached);
        }
        if let Init::From(array) = statement.init {
            reached.extend(sets[array.0 as usize].clone());
            reached.settle(&instance.shapes[out], MAX_PIECES);
        }
        sets[out] = reached;
    }
    sets
}

fn empty_sets(instance: &Instance) -> Vec<PointSet> {
    instance.shapes.iter().map(|shape| PointSet::empty(shape.len())).collect()
}

fn start(sets: &mut [PointSet], instance: &Instance, id: ArrayId, point: &[u64]) {
    let shape = &instance.shapes[id.0 as usize];
    let inside = shape.len() == point.len() && shape.iter().zip(point).all(|(n, x)| x < n);
    if inside {
        sets[id.0 as usize] = PointSet::of_point(point);
    }
}

/// The distinct elements a statement reads at a point, those that its indices are computed from included.
fn reads(statement: &Statement) -> Vec<(ArrayId, &[IndexExpr])> {
    let mut reads = Reads(Vec::new());
    for node in &statement.value.nodes {
        match node {
            ScalarNode::Access(access) => reads.access(access),
            ScalarNode::Index(index) => reads.index(index),
            _ => {}
        }
    }
    statement.out_index.iter().for_each(|index| reads.index(index));
    statement.guards.iter().for_each(|(index, _)| reads.index(index));
    reads.0
}

struct Reads<'a>(Vec<(ArrayId, &'a [IndexExpr])>);

impl<'a> Reads<'a> {
    fn access(&mut self, access: &'a Access) {
        let read = (access.array, &access.index[..]);
        if !self.0.contains(&read) {
            self.0.push(read);
            access.index.iter().for_each(|index| self.index(index));
        }
    }

    fn index(&mut self, index: &'a IndexExpr) {
        for (_, atom) in &index.terms {
            match atom {
                Atom::Axis(_) => {}
                Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => {
                    self.index(inner);
                }
                Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                    [left, right].into_iter().for_each(|e| self.index(e));
                }
                Atom::Element(access) => self.access(access),
            }
        }
    }
}

/// A statement with its extents.
struct SizedStatement<'a> {
    statement: &'a Statement,
    extents: &'a [u64],
    instance: &'a Instance,
}

impl SizedStatement<'_> {
    /// Adds the values of `to` at the points of the domain where `from` is in the set.
    fn carry(&self, set: &PointSet, from: &[IndexExpr], to: &[IndexExpr], into: &mut PointSet) {
        if set.is_empty() || self.extents.contains(&0) {
            return;
        }
        for piece in set.pieces() {
            let room = (2 * MAX_PIECES).saturating_sub(into.pieces().len()).max(4);
            let (pieces, exact) = solve::image(self.system(piece, from, to), room);
            into.add(pieces, exact);
        }
        into.widen_if(!set.is_exact());
        let shape = match std::ptr::eq(to, &self.statement.out_index[..]) {
            true => Some(&self.instance.shapes[self.statement.out.0 as usize]),
            false => reads(self.statement)
                .iter()
                .find(|(_, index)| std::ptr::eq(*index, to))
                .map(|(id, _)| &self.instance.shapes[id.0 as usize]),
        };
        if let Some(shape) = shape {
            into.settle(shape, MAX_PIECES);
        }
    }

    /// `from(x) = piece(t)`, with the image `to(x)`: the axes come first, then the parameters.
    fn system(&self, piece: &Piece, from: &[IndexExpr], to: &[IndexExpr]) -> LinearSystem {
        let axes = self.statement.domain.iter().zip(self.extents);
        let mut variables: Vec<Variable> =
            axes.map(|(axis, n)| Variable::new(&axis.name, 0, *n as i64)).collect();
        let first = variables.len() as u32;
        variables.extend(piece.ranges.iter().map(|r| Variable::new(&r.name, r.start, r.end)));
        let mut system = LinearSystem::new(variables, from, &piece.index, first, to);
        let shape = |array: ArrayId| &self.instance.shapes[array.0 as usize];
        // Points are skipped where an access is out of bounds.
        let reads = reads(self.statement);
        let accesses = reads.iter().map(|&(array, index)| (shape(array), index));
        for (shape, index) in
            accesses.chain([(shape(self.statement.out), &self.statement.out_index[..])])
        {
            index.iter().zip(shape).for_each(|(e, &extent)| system.within(e, extent));
        }
        self.statement.guards.iter().for_each(|(e, extent)| system.within(e, *extent));
        system.linear()
    }
}
