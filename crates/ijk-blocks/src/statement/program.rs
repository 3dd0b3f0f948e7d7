//! Programs in i over block tensors.

use super::{Met, Statement, common_block, name, refuse, types};
use crate::formula::{Fold, Formula, Node, fold_name};
use crate::plan::{Affine, StageAxis};
use crate::term::Kind;
use crate::{BigTensor, Error, Problem, TextError, Type, TypeError};
use ijk_ir::core::{
    self, Access, ArrayId, Atom, AxisId, IndexExpr, Init, Instance, Program, ScalarNode, TypeTerm,
};
use ijk_syntax::Severity;
use ijk_types::{BinaryOp, DType, Monoid, Reducer, UnaryOp};
use std::collections::HashMap;
use std::sync::Arc;

/// Applies a program in i to block tensors: each index expression is a term.
///
/// Letters have blocks: those of the axes that they index are compatible. Where positions are computed, as in
/// `[i+k]`, a block of the result reads what it needs of neighbouring blocks; positions that are elements of an
/// array need the whole axis, which is not cut.
///
/// # Errors
/// If the program is wrong or does not fit; and if it cannot run in blocks: computed positions in a result,
/// positions from arrays on an axis that is cut, random numbers.
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
    statements(lowered, &instance, operands, &|text| format!("i({text})"))
}

/// Applies the statements of a program with known types, shapes and extents to block tensors: see [`apply`].
///
/// # Errors
/// What cannot run in blocks.
pub fn apply_instance(
    program: &Program,
    instance: &Instance,
    operands: &[&BigTensor],
) -> Result<Vec<BigTensor>, Error> {
    statements(program, instance, operands, &str::to_owned)
}

/// A term for each statement, which is printed as `spelled` says.
fn statements(
    program: &Program,
    instance: &Instance,
    operands: &[&BigTensor],
    spelled: &dyn Fn(&str) -> String,
) -> Result<Vec<BigTensor>, Error> {
    let mut arrays: HashMap<ArrayId, BigTensor> = HashMap::new();
    for (&id, &operand) in program.inputs.iter().zip(operands) {
        arrays.insert(id, operand.clone());
    }
    for (n, statement) in program.statements.iter().enumerate() {
        let span = statement.span.start as usize..statement.span.end as usize;
        let rule = spelled(program.source.get(span).unwrap_or_default());
        let built = Builder::new(rule, instance, (n, statement), &arrays).build()?;
        let built = match statement.init {
            Init::From(before) => onto(&arrays[&before], &built, statement)?,
            _ => built,
        };
        arrays.insert(statement.out, built);
    }
    Ok(program.outputs.iter().map(|id| arrays[id].clone()).collect())
}

/// What an array held before, combined with what a statement adds.
fn onto(before: &BigTensor, built: &BigTensor, of: &core::Statement) -> Result<BigTensor, Error> {
    let operands = [before, built];
    let Some(reducer @ Reducer::Monoid(monoid)) = of.reduce else {
        return refuse(
            "an array that is written again",
            &operands,
            "nothing says how values combine",
        );
    };
    let rule = format!("{}=", fold_name(Fold::Reduce(reducer)));
    let axes = (0..before.ty().rank()).map(|axis| {
        let met = |operand: usize| {
            let block = operands[operand].ty().blocks[axis];
            Met { operand, axis, block }
        };
        let block = common_block(&rule, &format!("{axis}"), &[met(0), met(1)], &operands)?;
        let extent = before.dims()[axis];
        Ok(StageAxis { name: format!("i{axis}"), extent, block, folded: false })
    });
    let axes: Vec<StageAxis> = axes.collect::<Result<_, Error>>()?;
    let blocks: Vec<Option<usize>> = axes.iter().map(|axis| axis.block).collect();
    let ty = Type::new(before.dims(), blocks, before.element_type().clone());
    let formula = Formula::binary(monoid.op(), Formula::variable(0), Formula::variable(1));
    let own: Vec<Affine> = (0..axes.len()).map(Affine::axis).collect();
    let (index, types) = (vec![own; 2], vec![before.ty().clone(), built.ty().clone()]);
    let statement = Statement { name: rule, axes, index, types, formula, reducer: None };
    let operands = vec![before.clone(), built.clone()];
    Ok(BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty))
}

/// Makes a term of a statement.
struct Builder<'a> {
    instance: &'a Instance,
    statement: &'a core::Statement,
    /// Of the domain's axes; points beyond the result's are not gone to.
    extents: Vec<u64>,
    arrays: &'a HashMap<ArrayId, BigTensor>,
    rule: String,
    /// For each axis of the domain, the term's.
    places: Vec<usize>,
    /// The operands: tensors with where they are read.
    reads: Vec<(BigTensor, Vec<Affine>)>,
}

impl<'a> Builder<'a> {
    fn new(
        rule: String,
        instance: &'a Instance,
        (number, statement): (usize, &'a core::Statement),
        arrays: &'a HashMap<ArrayId, BigTensor>,
    ) -> Self {
        let (places, reads) = (Vec::new(), Vec::new());
        let extents = instance.extents[number].clone();
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
        self.check_gathers()?;
        self.check_fold(&axes)?;
        let out = self.statement.out.0 as usize;
        let kept = &axes[..kept.len()];
        let dims: Vec<usize> = kept.iter().map(|axis| axis.extent).collect();
        let blocks: Vec<Option<usize>> = kept.iter().map(|axis| axis.block).collect();
        let ty = Type::new(dims, blocks, self.instance.dtypes[out]);
        let operands = self.operands();
        let types = operands.iter().map(|operand| operand.ty().clone()).collect();
        let (name, reducer) = (self.rule, self.statement.reduce);
        let index = self.reads.into_iter().map(|(_, index)| index).collect();
        let statement = Statement { name, axes, index, types, formula, reducer };
        Ok(BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty))
    }

    fn operands(&self) -> Vec<BigTensor> {
        self.reads.iter().map(|(tensor, _)| tensor.clone()).collect()
    }

    fn refuse<T>(&self, why: impl Into<String>) -> Result<T, Error> {
        let operands = self.operands();
        refuse(&self.rule, &operands.iter().collect::<Vec<_>>(), why)
    }

    /// The axes of the domain that the result has, in its order.
    fn kept_axes(&mut self) -> Result<Vec<usize>, Error> {
        let mut kept = Vec::new();
        let shape = &self.instance.shapes[self.statement.out.0 as usize];
        for (n, index) in self.statement.out_index.iter().enumerate() {
            match index.as_axis().map(|axis| axis.0 as usize) {
                Some(axis) if !kept.contains(&axis) => kept.push(axis),
                _ => {
                    let why = format!("axis {n} of the result is written at computed positions");
                    return self.refuse(why);
                }
            }
            let (axis, has) = (kept[n], shape[n]);
            if self.extents[axis] < has {
                let written = self.extents[axis];
                return self.refuse(format!(
                    "axis {n} of the result has {has} elements, of which {written} are written"
                ));
            }
            self.extents[axis] = has;
        }
        let starts = match (self.statement.reduce, self.statement.init) {
            (Some(Reducer::Monoid(_)), Init::From(_)) => true,
            (_, Init::From(_)) => false,
            (Some(Reducer::Monoid(Monoid::Add | Monoid::Or)), Init::Zero) => true,
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
        // Where the value of each of the statement's nodes is.
        let mut starts: Vec<u32> = Vec::with_capacity(statement.value.nodes.len());
        for node in &statement.value.nodes {
            let at = |node: core::ScalarId| starts[node.0 as usize];
            let node = match node {
                ScalarNode::Access(access) => Node::Variable(self.read(access)?),
                ScalarNode::Const(literal, TypeTerm::Fixed(of)) => {
                    nodes.push(Node::Number(*literal));
                    Node::Unary(UnaryOp::Cast(*of), nodes.len() as u32 - 1)
                }
                // It takes the type of what it is combined with.
                ScalarNode::Const(literal, _) => Node::Number(*literal),
                ScalarNode::Unary(op, x) => Node::Unary(*op, at(*x)),
                ScalarNode::Binary(op, x, y) => Node::Binary(*op, at(*x), at(*y)),
                ScalarNode::Select(c, x, y) => Node::Select(at(*c), at(*x), at(*y)),
                ScalarNode::Index(index) => {
                    let value = self.value(index)?;
                    let base = nodes.len() as u32;
                    nodes.extend(value.nodes.iter().map(|node| node.moved(|at| at + base)));
                    starts.push(nodes.len() as u32 - 1);
                    continue;
                }
                ScalarNode::Random { .. } => {
                    return self.refuse("random numbers are drawn for whole arrays");
                }
            };
            starts.push(nodes.len() as u32);
            nodes.push(node);
        }
        let formula = Formula { nodes }.pruned();
        let types: Option<Vec<DType>> =
            self.reads.iter().map(|(tensor, _)| tensor.element_type().number()).collect();
        match types.map(|types| formula.result(&types)) {
            Some(Err(error)) => self.refuse(error.to_string()),
            _ => Ok(formula),
        }
    }

    /// The number of the operand that an access is.
    fn read(&mut self, access: &Access) -> Result<usize, Error> {
        let tensor = self.arrays[&access.array].clone();
        let mut index = Vec::with_capacity(access.index.len());
        for (position, &extent) in access.index.iter().zip(tensor.dims()) {
            let affine = self.affine(position)?;
            let all = ijk_ir::interval::range_over(position, &self.extents);
            let beyond = all.least < 0 || all.greatest >= extent as i128;
            let bounds = beyond || !affine.rest.is_empty();
            index.push(Affine { extent: bounds.then_some(extent), ..affine });
        }
        Ok(self.operand(tensor, index))
    }

    /// The number of an operand that is read there.
    fn operand(&mut self, tensor: BigTensor, index: Vec<Affine>) -> usize {
        let same =
            |(other, at): &(BigTensor, Vec<Affine>)| other.id() == tensor.id() && *at == index;
        self.reads.iter().position(same).unwrap_or_else(|| {
            self.reads.push((tensor, index));
            self.reads.len() - 1
        })
    }

    /// A position, in which elements of arrays are operands.
    fn affine(&mut self, position: &IndexExpr) -> Result<Affine, Error> {
        let mut affine = Affine { constant: position.constant, ..Affine::default() };
        for (coefficient, atom) in &position.terms {
            match atom {
                Atom::Axis(axis) => {
                    affine.terms.push((*coefficient, self.places[axis.0 as usize]));
                }
                atom => affine.rest.push((*coefficient, self.atom(atom)?)),
            }
        }
        affine.terms.sort_unstable_by_key(|&(_, axis)| axis);
        Ok(affine)
    }

    fn atom(&mut self, atom: &Atom) -> Result<Atom, Error> {
        Ok(match atom {
            Atom::Axis(axis) => Atom::Axis(AxisId(self.places[axis.0 as usize] as u32)),
            Atom::FloorDiv(e, divisor) => Atom::FloorDiv(Box::new(self.placed(e)?), *divisor),
            Atom::Mod(e, divisor) => Atom::Mod(Box::new(self.placed(e)?), *divisor),
            Atom::Product(l, r) => {
                Atom::Product(Box::new(self.placed(l)?), Box::new(self.placed(r)?))
            }
            Atom::Element(access) => {
                let operand = ArrayId(self.read(access)? as u32);
                Atom::Element(Box::new(Access { array: operand, index: Vec::new(), ..**access }))
            }
        })
    }

    /// An expression of the term's axes.
    fn placed(&mut self, e: &IndexExpr) -> Result<IndexExpr, Error> {
        let terms = e.terms.iter().map(|(c, atom)| Ok((*c, self.atom(atom)?)));
        Ok(IndexExpr { constant: e.constant, terms: terms.collect::<Result<_, Error>>()? })
    }

    /// The value of an index as a formula, in which axes are operands that count, cut as these are.
    fn value(&mut self, e: &IndexExpr) -> Result<Formula, Error> {
        let whole = |n: i64| Formula { nodes: vec![Node::Number(ijk_types::Literal::Integer(n))] };
        // Numbers take the type of what they are combined with: whole numbers of 64 bits.
        let wide = |of: Formula| Formula::unary(UnaryOp::Cast(DType::I64), of);
        let mut sum = wide(whole(e.constant));
        for (coefficient, atom) in &e.terms {
            let value = match atom {
                Atom::Axis(axis) => self.counter(axis.0 as usize)?,
                Atom::FloorDiv(e, by) => Formula::binary(BinaryOp::Div, self.value(e)?, whole(*by)),
                Atom::Mod(e, by) => Formula::binary(BinaryOp::Mod, self.value(e)?, whole(*by)),
                Atom::Product(l, r) => {
                    Formula::binary(BinaryOp::Mul, self.value(l)?, self.value(r)?)
                }
                Atom::Element(access) => wide(Formula::variable(self.read(access)?)),
            };
            let term = Formula::binary(BinaryOp::Mul, value, whole(*coefficient));
            sum = Formula::binary(BinaryOp::Add, sum, term);
        }
        Ok(sum)
    }

    /// An operand that holds the positions of an axis.
    fn counter(&mut self, axis: usize) -> Result<Formula, Error> {
        let known = |(tensor, index): &(BigTensor, Vec<Affine>)| {
            let place = [Affine::axis(self.places[axis])];
            tensor.is_counter() && index[..] == place
        };
        if let Some(at) = self.reads.iter().position(known) {
            return Ok(Formula::variable(at));
        }
        let tensor = BigTensor::counter(self.extents[axis] as usize)?;
        let place = vec![Affine::axis(self.places[axis])];
        self.reads.push((tensor, place));
        Ok(Formula::variable(self.reads.len() - 1))
    }

    /// That axes are whole whose positions are elements of arrays.
    fn check_gathers(&self) -> Result<(), Error> {
        for (operand, (tensor, index)) in self.reads.iter().enumerate() {
            for (axis, affine) in index.iter().enumerate() {
                let Some(block) = tensor.ty().blocks[axis] else { continue };
                if affine.gathers().is_empty() {
                    continue;
                }
                let why = format!(
                    "axis {axis} of {} is read at positions from an array, but has blocks of {block}",
                    name(operand)
                );
                let mut blocks = tensor.ty().blocks.clone();
                blocks[axis] = None;
                let operands = self.operands();
                let operands = types(&operands.iter().collect::<Vec<_>>());
                let error = TypeError::new(&self.rule[..], operands, Problem::NotInBlocks(why));
                let hint = crate::error::reblock_hint(name(operand), &blocks);
                return Err(error.with_hint(hint).into());
            }
        }
        Ok(())
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
            let block = block.or_else(|| self.block_of(axis));
            let (extent, folded) = (self.extents[axis] as usize, place >= kept);
            axes.push(StageAxis { name, extent, block, folded });
        }
        Ok(axes)
    }

    /// The block of an axis that only extents of arrays tell of.
    fn block_of(&self, axis: usize) -> Option<usize> {
        let dims = &self.statement.domain[axis].dims;
        dims.iter().find_map(|dim| {
            let tensor = self.arrays.get(&dim.array)?;
            tensor.ty().blocks.get(dim.axis as usize).copied().flatten()
        })
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
