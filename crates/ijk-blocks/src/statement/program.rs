//! Programs in i over block tensors.

use super::{Met, Statement, common_block, name, refuse, types};
use crate::formula::{Formula, Node};
use crate::plan::{Affine, StageAxis};
use crate::term::Kind;
use crate::{BigTensor, Error, Problem, TextError, Type, TypeError};
use ijk_ir::core::{self, Access, ArrayId, Atom, IndexExpr, Init, Instance, Program, ScalarNode};
use ijk_syntax::Severity;
use ijk_types::{DType, Reducer};
use std::collections::HashMap;
use std::sync::Arc;

/// Applies a program in i to block tensors: each index expression is a term.
///
/// Letters have blocks: those of the axes that they index are compatible. Where positions are sums, as in
/// `[i+k]`, a block of the result reads what it needs of neighbouring blocks.
///
/// # Errors
/// If the program is wrong or does not fit; and if it cannot run in blocks: computed positions in a result,
/// positions with division or that are read from arrays, the value of an index.
///
/// ```
/// use ijk_blocks::{BigTensor, apply};
/// let u = BigTensor::lit((0..8).map(f64::from), [8], [Some(3)])?;
/// let averages = &apply("[i+k{2}]~ik . +ik~i . i/2~i", &[&u])?[0];
/// assert_eq!(averages.ty().to_string(), "([7], [3], f64)");
/// let found = averages.collect()?;
/// assert_eq!(found.as_numbers().unwrap().as_slice::<f64>().unwrap()[..3], [0.5, 1.5, 2.5]);
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
pub fn apply(program: &str, operands: &[&BigTensor]) -> Result<Vec<BigTensor>, Error> {
    let compiled = ijk_ir::compile_source(program);
    let wrong = compiled.diagnostics.iter().any(|d| d.severity == Severity::Error);
    let lowered = match compiled.program {
        Some(lowered) if !wrong => lowered,
        _ => return Err(TextError::all(program, compiled.diagnostics).into()),
    };
    apply_program(&lowered, operands)
}

/// Applies a lowered program in i to block tensors: see [`apply`].
///
/// # Errors
/// As for [`apply`].
pub fn apply_program(lowered: &Program, operands: &[&BigTensor]) -> Result<Vec<BigTensor>, Error> {
    let rule = format!("i({})", lowered.source.trim());
    if let Some(at) = operands.iter().position(|operand| operand.element_type().number().is_none())
    {
        let (what, found) = (format!("`{rule}`"), operands[at].element_type().to_string());
        let problem = Problem::Takes { what, expected: "numbers".into(), found };
        return Err(TypeError::new(rule, types(operands), problem).into());
    }
    let shapes: Vec<Vec<u64>> =
        operands.iter().map(|operand| operand.dims().iter().map(|&n| n as u64).collect()).collect();
    let dtypes = operands.iter().map(|operand| operand.element_type().number());
    let arguments: Vec<(DType, &[u64])> =
        dtypes.zip(&shapes).map(|(t, shape)| (t.unwrap_or(DType::F64), &shape[..])).collect();
    let instance = ijk_ir::instantiate(lowered, &arguments);
    let instance = instance.map_err(|all| TextError::all(&lowered.source, all))?;
    let mut arrays: HashMap<ArrayId, BigTensor> = HashMap::new();
    for (&id, &operand) in lowered.inputs.iter().zip(operands) {
        arrays.insert(id, operand.clone());
    }
    for (n, statement) in lowered.statements.iter().enumerate() {
        let built = Builder::new(lowered, &instance, statement, n, &arrays).build()?;
        arrays.insert(statement.out, built);
    }
    Ok(lowered.outputs.iter().map(|id| arrays[id].clone()).collect())
}

/// Makes a term of a statement.
struct Builder<'a> {
    instance: &'a Instance,
    statement: &'a core::Statement,
    extents: &'a [u64],
    arrays: &'a HashMap<ArrayId, BigTensor>,
    rule: String,
    /// For each axis of the domain, the term's.
    places: Vec<usize>,
    /// The operands: arrays with where they are read.
    reads: Vec<(ArrayId, Vec<Affine>)>,
}

impl<'a> Builder<'a> {
    fn new(
        program: &'a Program,
        instance: &'a Instance,
        statement: &'a core::Statement,
        number: usize,
        arrays: &'a HashMap<ArrayId, BigTensor>,
    ) -> Self {
        let span = statement.span.start as usize..statement.span.end as usize;
        let rule = format!("i({})", program.source.get(span).unwrap_or_default());
        let (places, reads) = (Vec::new(), Vec::new());
        let extents = &instance.extents[number];
        Self { instance, statement, extents, arrays, rule, places, reads }
    }

    fn build(mut self) -> Result<BigTensor, Error> {
        let kept = self.kept_axes()?;
        let order: Vec<usize> = {
            let folded = (0..self.extents.len()).filter(|axis| !kept.contains(axis));
            kept.iter().copied().chain(folded).collect()
        };
        self.places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &axis)| self.places[axis] = place);
        let formula = self.formula()?;
        let axes = self.axes(&order, kept.len())?;
        self.check_fold(&axes)?;
        let out = self.statement.out.0 as usize;
        let kept = &axes[..kept.len()];
        let dims: Vec<usize> = kept.iter().map(|axis| axis.extent).collect();
        let blocks: Vec<Option<usize>> = kept.iter().map(|axis| axis.block).collect();
        let ty = Type::new(dims, blocks, self.instance.dtypes[out]);
        let operands = self.operands();
        let (name, reducer) = (self.rule, self.statement.reduce);
        let index = self.reads.into_iter().map(|(_, index)| index).collect();
        let statement = Statement { name, axes, index, formula, reducer };
        Ok(BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty))
    }

    fn operands(&self) -> Vec<BigTensor> {
        self.reads.iter().map(|(array, _)| self.arrays[array].clone()).collect()
    }

    fn refuse<T>(&self, why: impl Into<String>) -> Result<T, Error> {
        let operands = self.operands();
        refuse(&self.rule, &operands.iter().collect::<Vec<_>>(), why)
    }

    /// The axes of the domain that the result has, in its order.
    fn kept_axes(&self) -> Result<Vec<usize>, Error> {
        let mut kept = Vec::new();
        for (n, index) in self.statement.out_index.iter().enumerate() {
            match index.as_axis().map(|axis| axis.0 as usize) {
                Some(axis) if !kept.contains(&axis) => kept.push(axis),
                _ => {
                    let why = format!("axis {n} of the result is written at computed positions");
                    return self.refuse(why);
                }
            }
        }
        let starts = match (self.statement.reduce, self.statement.init) {
            (_, Init::From(_)) => false,
            (Some(Reducer::Monoid(monoid)), init) => init == Init::Identity(monoid),
            _ => true,
        };
        match starts && self.statement.guards.is_empty() {
            true => Ok(kept),
            false => self.refuse("the result starts from other values than its fold's"),
        }
    }

    /// The value at a point, of elements that become operands.
    fn formula(&mut self) -> Result<Formula, Error> {
        let statement = self.statement;
        let mut nodes: Vec<Node> = Vec::with_capacity(statement.value.nodes.len());
        for node in &statement.value.nodes {
            nodes.push(match node {
                ScalarNode::Access(access) => Node::Variable(self.read(access)?),
                ScalarNode::Const(literal, _) => Node::Number(*literal),
                ScalarNode::Unary(op, x) => Node::Unary(*op, x.0),
                ScalarNode::Binary(op, x, y) => Node::Binary(*op, x.0, y.0),
                ScalarNode::Select(c, x, y) => Node::Select(c.0, x.0, y.0),
                ScalarNode::Index(_) => {
                    return self.refuse("the value of an index differs from block to block");
                }
                ScalarNode::Random { .. } => {
                    return self.refuse("random numbers are drawn for whole arrays");
                }
            });
        }
        Ok(Formula { nodes }.pruned())
    }

    /// The number of the operand that an access is.
    fn read(&mut self, access: &Access) -> Result<usize, Error> {
        let mut index = Vec::with_capacity(access.index.len());
        for (axis, position) in access.index.iter().enumerate() {
            match self.affine(position) {
                Some(affine) => index.push(affine),
                None => {
                    let why = format!(
                        "axis {axis} of an operand is read at positions that are no sums of multiples of letters"
                    );
                    return self.refuse(why);
                }
            }
        }
        let read = (access.array, index);
        Ok(self.reads.iter().position(|other| *other == read).unwrap_or_else(|| {
            self.reads.push(read);
            self.reads.len() - 1
        }))
    }

    fn affine(&self, position: &IndexExpr) -> Option<Affine> {
        let term = |(coefficient, atom): &(i64, Atom)| match atom {
            Atom::Axis(axis) => Some((*coefficient, self.places[axis.0 as usize])),
            _ => None,
        };
        let mut terms = position.terms.iter().map(term).collect::<Option<Vec<_>>>()?;
        terms.sort_unstable_by_key(|&(_, axis)| axis);
        Some(Affine { constant: position.constant, terms })
    }

    /// The term's axes with their blocks.
    fn axes(&self, order: &[usize], kept: usize) -> Result<Vec<StageAxis>, Error> {
        let operands = self.operands();
        let operands: Vec<&BigTensor> = operands.iter().collect();
        let mut plain: Vec<Vec<Met>> = vec![Vec::new(); order.len()];
        let mut among: Vec<Option<usize>> = vec![None; order.len()];
        for (operand, (_, index)) in self.reads.iter().enumerate() {
            for (axis, affine) in index.iter().enumerate() {
                let block = operands[operand].ty().blocks[axis];
                match affine.as_axis() {
                    Some(own) => plain[own].push(Met { operand, axis, block }),
                    // The letter that moves along the axis in the largest part of its range.
                    None => {
                        let extent = |&&(_, own): &&(i64, usize)| self.extents[order[own]];
                        if let Some(&(_, own)) = affine.terms.iter().max_by_key(extent) {
                            among[own] = among[own].or(block);
                        }
                    }
                }
            }
        }
        let mut axes = Vec::with_capacity(order.len());
        for (place, &axis) in order.iter().enumerate() {
            let name = self.statement.domain[axis].name.clone();
            let block = match plain[place].is_empty() {
                true => among[place],
                false => common_block(&self.rule, &name, &plain[place], &operands)?,
            };
            let (extent, folded) = (self.extents[axis] as usize, place >= kept);
            axes.push(StageAxis { name, extent, block, folded });
        }
        Ok(axes)
    }

    /// What needs all values of an axis at once has it in one block.
    fn check_fold(&self, axes: &[StageAxis]) -> Result<(), Error> {
        if !matches!(self.statement.reduce, Some(Reducer::ArgMax | Reducer::ArgMin)) {
            return Ok(());
        }
        let cut = axes.iter().position(|axis| axis.folded && axis.block.is_some());
        let Some((place, axis)) = cut.map(|at| (at, &axes[at])) else { return Ok(()) };
        let operands = self.operands();
        let met = self.reads.iter().enumerate().find_map(|(operand, (_, index))| {
            let axis = index.iter().position(|affine| affine.has(place))?;
            Some((operand, axis))
        });
        let (operand, at) = met.unwrap_or_default();
        let mut blocks = operands[operand].ty().blocks.clone();
        blocks[at] = None;
        let (what, block) = (format!("`{}`", self.rule), axis.block.unwrap_or_default());
        let problem = Problem::Fibre { what, operand: name(operand), axis: at, block };
        let all = types(&operands.iter().collect::<Vec<_>>());
        let hint = crate::error::reblock_hint(name(operand), &blocks);
        Err(TypeError::new(self.rule.clone(), all, problem).with_hint(hint).into())
    }
}
