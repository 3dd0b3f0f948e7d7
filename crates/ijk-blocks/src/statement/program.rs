//! Programs in i and Einsum Tuple over block tensors.

use super::fit::Fit;
use super::{AxisUse, OperandTypes, Statement, common_block, name, types};
use crate::domain::{Affine, Points, StageAxis};
use crate::formula::{Fold, Formula, FormulaNode, Random, fold_name};
use crate::term::Kind;
use crate::{BigTensor, Error, MemoryStore, Problem, Site, TextError, Type, TypeError};
use ijk_ir::core::{
    self, Access, ArrayId, Atom, AxisId, IndexExpr, Init, Instance, Program, ScalarNode, TypeTerm,
};
use ijk_syntax::{Severity, Span};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Applies a program in i to block tensors: each index expression is a term.
///
/// Letters have blocks: those of the axes that they index are compatible. Where positions are computed, as in
/// `[i+k]`, a block of the result reads what it needs of neighbouring blocks; positions that are elements of an
/// array need the whole axis, which is not cut. Where positions of a result are computed, each block of it goes
/// through the blocks that may write to it, and is cut as what the positions are computed of.
/// Operands that are [re-cut to fit](BigTensor::recut_to_fit) get compatible blocks, and whole axes, by themselves.
///
/// # Errors
/// If the program is wrong or does not fit; and if it cannot run in blocks: positions from arrays on an axis that is
/// cut, what needs all values at once of an axis that is cut or at computed positions.
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
        return Err(TypeError::named(rule, types(operands), problem).into());
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
/// Constructs that cannot run in blocks.
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
        let mut builder = Builder::new(rule, (program, instance), (n, statement), &arrays);
        let built = builder.build().and_then(|built| match builder.before()? {
            Some(before) => onto(&before, &built, statement, builder.written()),
            None => Ok(built),
        });
        let built = built.map_err(|error| match error {
            Error::Type(error) => error.at(builder.site()).into(),
            other => other,
        })?;
        arrays.insert(statement.out, built);
    }
    Ok(program.outputs.iter().map(|id| arrays[id].clone()).collect())
}

/// Combines the former elements of an array with those that a statement adds.
fn onto(
    before: &BigTensor,
    built: &BigTensor,
    of: &core::Statement,
    name: Cow<'static, str>,
) -> Result<BigTensor, Error> {
    let operands = vec![(name, before.ty().clone()), ("what is added".into(), built.ty().clone())];
    let Some(reducer @ Reducer::Monoid(monoid)) = of.reduce else {
        let problem = Problem::NotInBlocks("nothing says how values combine".into());
        let rule = "an array that is written again";
        return Err(TypeError::named(rule, operands, problem).into());
    };
    let rule = format!("{}=", fold_name(Fold::Reduce(reducer)));
    let mut fit = Fit::new([before.clone(), built.clone()]);
    for axis in 0..before.ty().rank() {
        let block = |of: &BigTensor| of.ty().blocks[axis];
        let met = |(operand, of)| AxisUse { operand, axis, block: block(of) };
        fit.index(&[(0, before), (1, built)].map(met));
    }
    let [before, built] = &fit.operands()?[..] else {
        unreachable!("as many operands as there were");
    };
    let operands = vec![
        (operands[0].0.clone(), before.ty().clone()),
        (operands[1].0.clone(), built.ty().clone()),
    ];
    let axes = (0..before.ty().rank()).map(|axis| {
        let met = |operand: usize| {
            let block = operands[operand].1.blocks[axis];
            AxisUse { operand, axis, block }
        };
        let own = of.out_index[axis].as_axis().map(|own| of.domain[own.0 as usize].name.clone());
        let name = own.unwrap_or_else(|| format!("{axis}"));
        let block = common_block(&rule, &name, &[met(0), met(1)], &operands)?;
        Ok(StageAxis { name, extent: before.dims()[axis], block, folded: false })
    });
    let axes: Vec<StageAxis> = axes.collect::<Result<_, Error>>()?;
    let blocks: Vec<Option<usize>> = axes.iter().map(|axis| axis.block).collect();
    let ty = Type::new(before.dims(), blocks, before.element_type().clone());
    let formula = Formula::binary(monoid.op(), Formula::variable(0), Formula::variable(1));
    let own: Vec<Affine> = (0..axes.len()).map(Affine::axis).collect();
    let (index, types) = (vec![own; 2], vec![before.ty().clone(), built.ty().clone()]);
    let (reducer, points) = (None, Points::default());
    let statement = Statement { name: rule, axes, index, types, formula, reducer, points };
    let operands = vec![before.clone(), built.clone()];
    Ok(BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty))
}

/// Makes a term of a statement.
struct Builder<'a> {
    program: &'a Program,
    instance: &'a Instance,
    statement: &'a core::Statement,
    /// Of the domain's axes as the statement has them.
    own: &'a [u64],
    /// The same as the result has them, where it has the axis: points beyond the result's are not gone to.
    extents: Vec<u64>,
    arrays: &'a HashMap<ArrayId, BigTensor>,
    rule: String,
    /// For each axis of the domain, the term's.
    places: Vec<usize>,
    reads: Vec<Read>,
}

/// An operand, and where it is read.
struct Read {
    tensor: BigTensor,
    index: Vec<Affine>,
    /// Name in messages, and the place in the program where it is read first.
    name: Cow<'static, str>,
    span: Option<Span>,
}

impl<'a> Builder<'a> {
    fn new(
        rule: String,
        (program, instance): (&'a Program, &'a Instance),
        (number, statement): (usize, &'a core::Statement),
        arrays: &'a HashMap<ArrayId, BigTensor>,
    ) -> Self {
        let (places, reads, own) = (Vec::new(), Vec::new(), &instance.extents[number][..]);
        let extents = own.to_vec();
        Self { program, instance, statement, own, extents, arrays, rule, places, reads }
    }

    fn build(&mut self) -> Result<BigTensor, Error> {
        let kept = self.kept_axes()?;
        let folded = (0..self.extents.len()).map(Some).filter(|axis| !kept.contains(axis));
        let order: Vec<Option<usize>> = kept.iter().copied().chain(folded).collect();
        self.places = vec![0; self.extents.len()];
        for (place, axis) in order.iter().enumerate() {
            axis.iter().for_each(|&axis| self.places[axis] = place);
        }
        let formula = self.formula()?;
        let points = self.points(&kept)?;
        self.fit(order.len(), kept.len())?;
        let axes = self.axes(&order, kept.len(), &points)?;
        self.check_gathers()?;
        self.check_fold(&axes, &points)?;
        let kept = &axes[..kept.len()];
        let dims: Vec<usize> = kept.iter().map(|axis| axis.extent).collect();
        let blocks: Vec<Option<usize>> = kept.iter().map(|axis| axis.block).collect();
        let ty = Type::new(dims, blocks, self.element());
        let operands: Vec<BigTensor> = self.reads.iter().map(|read| read.tensor.clone()).collect();
        let types = operands.iter().map(|operand| operand.ty().clone()).collect();
        let (name, reducer) = (self.rule.clone(), self.statement.reduce);
        let index = self.reads.iter().map(|read| read.index.clone()).collect();
        let statement = Statement { name, axes, index, types, formula, reducer, points };
        Ok(BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty))
    }

    /// Gives operands that may be re-cut blocks that fit.
    fn fit(&mut self, axes: usize, kept: usize) -> Result<(), Error> {
        let mut fit = Fit::new(self.reads.iter().map(|read| read.tensor.clone()));
        let needs_whole = matches!(self.statement.reduce, Some(Reducer::ArgMax | Reducer::ArgMin));
        for (operand, read) in self.reads.iter().enumerate() {
            for (axis, affine) in read.index.iter().enumerate() {
                let is_whole = needs_whole && (kept..axes).any(|folded| affine.has(folded));
                if is_whole || !affine.gathers().is_empty() {
                    fit.whole(operand, axis);
                }
            }
        }
        self.plain(axes).iter().for_each(|places| fit.index(places));
        let fitted = self.reads.iter_mut().zip(fit.operands()?);
        fitted.for_each(|(read, tensor)| read.tensor = tensor);
        Ok(())
    }

    /// For each of the term's axes, the axes of operands that it is.
    fn plain(&self, axes: usize) -> Vec<Vec<AxisUse>> {
        let mut plain: Vec<Vec<AxisUse>> = vec![Vec::new(); axes];
        for (operand, Read { tensor, index, .. }) in self.reads.iter().enumerate() {
            for (axis, affine) in index.iter().enumerate() {
                if let Some(own) = affine.as_axis() {
                    plain[own].push(AxisUse { operand, axis, block: tensor.ty().blocks[axis] });
                }
            }
        }
        plain
    }

    fn element(&self) -> DType {
        self.instance.dtypes[self.statement.out.0 as usize]
    }

    /// The result's extents.
    fn shape(&self) -> &'a [u64] {
        &self.instance.shapes[self.statement.out.0 as usize]
    }

    /// Operands with their names and types.
    fn shown(&self) -> OperandTypes {
        self.reads.iter().map(|read| (read.name.clone(), read.tensor.ty().clone())).collect()
    }

    /// Where the statement is, and where it reads its operands.
    fn site(&self) -> Site {
        let (source, span) = (self.program.source.clone(), self.statement.span.into());
        Site { source, span, reads: self.reads.iter().map(|read| read.span).collect() }
    }

    fn refuse<T>(&self, why: impl Into<String>) -> Result<T, Error> {
        let problem = Problem::NotInBlocks(why.into());
        Err(TypeError::named(&self.rule[..], self.shown(), problem).into())
    }

    /// Former elements of the result, where the fold does not begin with its identity.
    fn before(&self) -> Result<Option<BigTensor>, Error> {
        let filled = |monoid: Option<Monoid>| {
            let (of, dims) = (self.element(), self.shape().iter().map(|&n| n as usize));
            let dims: Vec<usize> = dims.collect();
            let fill = match monoid {
                Some(monoid) => scalar::identity(monoid, of),
                None => Scalar::zero(of),
            };
            let ty = Type::new(&dims[..], vec![None; dims.len()], of);
            BigTensor::from_source(MemoryStore::with_fill(ty, fill.into())).map(Some)
        };
        match (self.statement.reduce, self.statement.init) {
            (_, Init::From(before)) => Ok(Some(self.arrays[&before].clone())),
            (Some(Reducer::Monoid(Monoid::Add | Monoid::Or)), Init::Zero) => Ok(None),
            (Some(Reducer::Monoid(_)), Init::Zero) => filled(None),
            (Some(Reducer::Monoid(own)), Init::Identity(monoid)) if own != monoid => {
                filled(Some(monoid))
            }
            _ => Ok(None),
        }
    }

    /// Name of the written array in messages.
    fn written(&self) -> Cow<'static, str> {
        let span = self.program.arrays[self.statement.out.0 as usize].span;
        self.name_at(span).unwrap_or_else(|| "what was there".into())
    }

    /// The name before the bracket of an access in Einsum Tuple.
    fn name_at(&self, span: core::Span) -> Option<Cow<'static, str>> {
        let text = self.program.source.get(span.start as usize..span.end as usize)?;
        let (name, _) = text.split_once('[').filter(|(name, _)| !name.trim().is_empty())?;
        Some(name.trim().to_owned().into())
    }

    /// For each axis of the result the axis of the domain that it is; none where its positions are computed.
    fn kept_axes(&mut self) -> Result<Vec<Option<usize>>, Error> {
        let mut kept: Vec<Option<usize>> = Vec::new();
        for (index, &has) in self.statement.out_index.iter().zip(self.shape()) {
            let own = index.as_axis().map(|axis| axis.0 as usize);
            let own = own.filter(|axis| !kept.contains(&Some(*axis)));
            own.iter().for_each(|&axis| self.extents[axis] = has);
            kept.push(own);
        }
        Ok(kept)
    }

    /// Where points write, and which are skipped.
    fn points(&mut self, kept: &[Option<usize>]) -> Result<Points, Error> {
        let (statement, shape) = (self.statement, self.shape());
        let mut points = Points::default();
        for (n, index) in statement.out_index.iter().enumerate() {
            if kept[n].is_none() {
                let at = self.affine(index)?;
                points.writes.push((n, Affine { extent: Some(shape[n] as usize), ..at }));
            }
        }
        for (index, extent) in &statement.guards {
            let all = ijk_ir::interval::range_over(index, &self.extents);
            if all.least < 0 || all.greatest >= i128::from(*extent) {
                let at = self.affine(index)?;
                points.guards.push(Affine { extent: Some(*extent as usize), ..at });
            }
        }
        // Elements of the result that no point writes.
        for (axis, (&own, &extent)) in self.own.iter().zip(&self.extents).enumerate() {
            if own < extent {
                let at = Affine::axis(self.places[axis]);
                points.guards.push(Affine { extent: Some(own as usize), ..at });
            }
        }
        Ok(points)
    }

    /// The value at a point, of elements that become operands.
    fn formula(&mut self) -> Result<Formula, Error> {
        let statement = self.statement;
        let mut nodes: Vec<FormulaNode> = Vec::with_capacity(statement.value.nodes.len());
        // Where the value of each of the statement's nodes is.
        let mut starts: Vec<u32> = Vec::with_capacity(statement.value.nodes.len());
        for node in &statement.value.nodes {
            let at = |node: core::ScalarId| starts[node.0 as usize];
            let node = match node {
                ScalarNode::Access(access) => FormulaNode::Variable(self.read(access)?),
                ScalarNode::Const(literal, TypeTerm::Fixed(of)) => {
                    nodes.push(FormulaNode::Number(*literal));
                    FormulaNode::Unary(UnaryOp::Cast(*of), nodes.len() as u32 - 1)
                }
                // It takes the type of what it is combined with.
                ScalarNode::Const(literal, _) => FormulaNode::Number(*literal),
                ScalarNode::Unary(op, x) => FormulaNode::Unary(*op, at(*x)),
                ScalarNode::Binary(op, x, y) => FormulaNode::Binary(*op, at(*x), at(*y)),
                ScalarNode::Select(c, x, y) => FormulaNode::Select(at(*c), at(*x), at(*y)),
                ScalarNode::Index(index) => {
                    let value = self.value(index)?;
                    let base = nodes.len() as u32;
                    nodes.extend(value.nodes.iter().map(|node| node.moved(|at| at + base)));
                    starts.push(nodes.len() as u32 - 1);
                    continue;
                }
                ScalarNode::Random { key, counter, lo, hi } => {
                    let mut counters = Vec::with_capacity(counter.terms.len());
                    for (coefficient, axis) in self.counted(counter)? {
                        counters.push((coefficient, nodes.len() as u32));
                        nodes.push(FormulaNode::Variable(axis));
                    }
                    let (key, constant) = (*key, counter.constant);
                    let (lo, hi) = (at(*lo), at(*hi));
                    FormulaNode::Random(Box::new(Random { key, constant, counters, lo, hi }))
                }
            };
            starts.push(nodes.len() as u32);
            nodes.push(node);
        }
        let formula = Formula { nodes }.pruned();
        let types: Option<Vec<DType>> =
            self.reads.iter().map(|read| read.tensor.element_type().number()).collect();
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
        let same = |read: &Read| read.tensor.id() == tensor.id() && read.index == index;
        Ok(self.reads.iter().position(same).unwrap_or_else(|| {
            let span = Some(access.span.into());
            let name = self.name_at(access.span).unwrap_or_else(|| name(self.reads.len()));
            self.reads.push(Read { tensor, index, name, span });
            self.reads.len() - 1
        }))
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
        let whole =
            |n: i64| Formula { nodes: vec![FormulaNode::Number(ijk_types::Literal::Integer(n))] };
        // Numbers take the type of what they are combined with: whole numbers of 64 bits.
        let wide = |of: Formula| Formula::unary(UnaryOp::Cast(DType::I64), of);
        let mut sum = wide(whole(e.constant));
        for (coefficient, atom) in &e.terms {
            let value = match atom {
                Atom::Axis(axis) => Formula::variable(self.counter(axis.0 as usize)?),
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

    /// The number of an operand that holds the positions of an axis.
    fn counter(&mut self, axis: usize) -> Result<usize, Error> {
        let place = vec![Affine::axis(self.places[axis])];
        let known = |read: &Read| read.tensor.is_counter() && read.index == place;
        if let Some(at) = self.reads.iter().position(known) {
            return Ok(at);
        }
        let tensor = BigTensor::counter(self.extents[axis] as usize)?;
        let (name, span) = ("the positions".into(), None);
        self.reads.push(Read { tensor, index: place, name, span });
        Ok(self.reads.len() - 1)
    }

    /// The terms of a sum of multiples of axes, with the operands that hold their positions.
    fn counted(&mut self, sum: &IndexExpr) -> Result<Vec<(i64, usize)>, Error> {
        let term = |(coefficient, atom): &(i64, Atom)| match atom {
            Atom::Axis(axis) => Ok((*coefficient, self.counter(axis.0 as usize)?)),
            _ => self.refuse("random numbers are drawn by computed numbers"),
        };
        sum.terms.iter().map(term).collect()
    }

    /// That axes are whole whose positions are elements of arrays.
    fn check_gathers(&self) -> Result<(), Error> {
        for Read { tensor, index, name, .. } in &self.reads {
            for (axis, affine) in index.iter().enumerate() {
                let Some(block) = tensor.ty().blocks[axis] else { continue };
                if affine.gathers().is_empty() {
                    continue;
                }
                let why = format!(
                    "axis {axis} of {name} is read at positions from an array, but has blocks of {block}",
                );
                let mut blocks = tensor.ty().blocks.clone();
                blocks[axis] = None;
                let problem = Problem::NotInBlocks(why);
                let error = TypeError::named(&self.rule[..], self.shown(), problem);
                return Err(error.with_hint(crate::error::reblock_hint(name, &blocks)).into());
            }
        }
        Ok(())
    }

    /// The term's axes with their blocks.
    fn axes(
        &self,
        order: &[Option<usize>],
        kept: usize,
        points: &Points,
    ) -> Result<Vec<StageAxis>, Error> {
        let plain = self.plain(order.len());
        let mut among: Vec<Option<usize>> = vec![None; order.len()];
        let extent_of = |place: usize| order[place].map_or(0, |axis| self.extents[axis]);
        for Read { tensor, index, .. } in &self.reads {
            for (affine, &block) in index.iter().zip(&tensor.ty().blocks) {
                // The letter that moves along the axis in the largest part of its range.
                let extent = |&&(_, own): &&(i64, usize)| extent_of(own);
                let own = affine.terms.iter().max_by_key(extent);
                if let Some(&(_, own)) = own.filter(|_| affine.as_axis().is_none()) {
                    among[own] = among[own].or(block);
                }
            }
        }
        let (shown, mut axes) = (self.shown(), Vec::with_capacity(order.len()));
        for (place, &axis) in order.iter().enumerate() {
            let folded = place >= kept;
            let Some(axis) = axis else {
                let (name, extent) = (format!("o{place}"), self.shape()[place] as usize);
                axes.push(StageAxis { name, extent, block: None, folded });
                continue;
            };
            let name = self.statement.domain[axis].name.clone();
            let block = match plain[place].is_empty() {
                true => among[place],
                false => common_block(&self.rule, &name, &plain[place], &shown)?,
            };
            // Axes that are whole or uncut after they were made to fit stay so.
            let is_fitted = |met: &AxisUse| self.reads[met.operand].tensor.term.recuts.is_some();
            let is_fitted = plain[place].iter().any(is_fitted);
            let block = block.or_else(|| self.block_of(axis).filter(|_| !is_fitted));
            let block = block.or_else(|| self.former_block(place));
            axes.push(StageAxis { name, extent: self.extents[axis] as usize, block, folded });
        }
        for (place, at) in &points.writes {
            let block = self.former_block(*place).or_else(|| self.block_among(at, &axes));
            axes[*place].block = block.filter(|&block| block < axes[*place].extent);
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

    /// The block of an axis of the result as it was before.
    fn former_block(&self, axis: usize) -> Option<usize> {
        let Init::From(before) = self.statement.init else { return None };
        self.arrays[&before].ty().blocks.get(axis).copied().flatten()
    }

    /// Block of an axis that is written at computed positions: that of the index arrays.
    fn block_among(&self, at: &Affine, axes: &[StageAxis]) -> Option<usize> {
        let term = |&(coefficient, axis): &(i64, usize)| {
            Some(axes[axis].block?.saturating_mul(coefficient.unsigned_abs() as usize))
        };
        let inner = (0..axes.len()).filter(|&axis| at.has(axis));
        let inner = inner.filter_map(|axis| axes[axis].block).max();
        let gathers = at.gathers().into_iter();
        let gathered = gathers.flat_map(|operand| &self.reads[operand].tensor.ty().blocks);
        at.terms.iter().filter_map(term).max().or(inner).or(gathered.flatten().copied().max())
    }

    /// Checks that a fold which needs all values of an axis at once has them in one block, with points at their own
    /// positions.
    fn check_fold(&self, axes: &[StageAxis], points: &Points) -> Result<(), Error> {
        if !matches!(self.statement.reduce, Some(Reducer::ArgMax | Reducer::ArgMin)) {
            return Ok(());
        }
        if let Some((axis, _)) = points.writes.first() {
            let why = format!("axis {axis} of the result is written at computed positions");
            return self.refuse(format!("{why}, by what needs all values at once"));
        }
        if !points.guards.is_empty() {
            return self.refuse("what needs all values at once does not have some of them");
        }
        let cut = axes.iter().position(|axis| axis.folded && axis.block.is_some());
        let Some((place, axis)) = cut.map(|at| (at, &axes[at])) else { return Ok(()) };
        let met = self.reads.iter().find_map(|read| {
            let axis = read.index.iter().position(|affine| affine.has(place))?;
            Some((read, axis))
        });
        let (what, block) = (format!("`{}`", self.rule), axis.block.unwrap_or_default());
        let Some((read, at)) = met else {
            return self.refuse(format!("{what} needs all values at once"));
        };
        let mut blocks = read.tensor.ty().blocks.clone();
        blocks[at] = None;
        let hint = crate::error::reblock_hint(&read.name, &blocks);
        let problem = Problem::Fibre { what, operand: read.name.clone(), axis: at, block };
        Err(TypeError::named(&self.rule[..], self.shown(), problem).with_hint(hint).into())
    }
}
