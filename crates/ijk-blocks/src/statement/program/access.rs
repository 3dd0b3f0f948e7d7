//! Accesses and values of a statement, as operands, affine positions and a formula.

use super::builder::{Read, TermBuilder};
use crate::domain::{Affine, Points};
use crate::formula::{Formula, FormulaNode, Random};
use crate::statement::name;
use crate::{BigTensor, Error};
use ijk_ir::core::{self, Access, ArrayId, Atom, AxisId, IndexExpr, ScalarNode, TypeTerm};
use ijk_types::{BinaryOp, DType, Literal, UnaryOp};

impl TermBuilder<'_> {
    /// Computed output positions, and conditions on points.
    pub(super) fn points(&mut self, kept: &[Option<usize>]) -> Result<Points, Error> {
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

    /// The value at a point, as a formula of operands.
    pub(super) fn formula(&mut self) -> Result<Formula, Error> {
        let statement = self.statement;
        let mut nodes: Vec<FormulaNode> = Vec::with_capacity(statement.value.nodes.len());
        // The node of the formula that has the value of each of the statement's nodes.
        let mut starts: Vec<u32> = Vec::with_capacity(statement.value.nodes.len());
        for node in &statement.value.nodes {
            let at = |node: core::ScalarId| starts[node.0 as usize];
            let node = match node {
                ScalarNode::Access(access) => FormulaNode::Variable(self.read(access)?),
                ScalarNode::Const(literal, TypeTerm::Fixed(of)) => {
                    nodes.push(FormulaNode::Number(*literal));
                    FormulaNode::Unary(UnaryOp::Cast(*of), nodes.len() as u32 - 1)
                }
                ScalarNode::Extent(axis, _) => {
                    let extent = self.extents[axis.0 as usize] as i64;
                    FormulaNode::Number(Literal::Integer(extent))
                }
                // It takes the type of the other operand.
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

    /// The number of the operand of an access.
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
            Atom::Abs(e) => Atom::Abs(Box::new(self.placed(e)?)),
            Atom::Max(l, r) => Atom::Max(Box::new(self.placed(l)?), Box::new(self.placed(r)?)),
            Atom::Min(l, r) => Atom::Min(Box::new(self.placed(l)?), Box::new(self.placed(r)?)),
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

    /// The value of an index as a formula. Axes become counters: operands with the same blocks that hold their
    /// positions.
    fn value(&mut self, e: &IndexExpr) -> Result<Formula, Error> {
        let whole =
            |n: i64| Formula { nodes: vec![FormulaNode::Number(ijk_types::Literal::Integer(n))] };
        // Numbers take the type of the other operand: integers of 64 bits.
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
                Atom::Abs(e) => Formula::unary(UnaryOp::Abs, self.value(e)?),
                Atom::Max(l, r) => Formula::binary(BinaryOp::Max, self.value(l)?, self.value(r)?),
                Atom::Min(l, r) => Formula::binary(BinaryOp::Min, self.value(l)?, self.value(r)?),
                Atom::Element(access) => wide(Formula::variable(self.read(access)?)),
            };
            let term = Formula::binary(BinaryOp::Mul, value, whole(*coefficient));
            sum = Formula::binary(BinaryOp::Add, sum, term);
        }
        Ok(sum)
    }

    /// The number of the counter of an axis.
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

    /// The terms of a sum of multiples of axes, with the counters of these.
    fn counted(&mut self, sum: &IndexExpr) -> Result<Vec<(i64, usize)>, Error> {
        let term = |(coefficient, atom): &(i64, Atom)| match atom {
            Atom::Axis(axis) => Ok((*coefficient, self.counter(axis.0 as usize)?)),
            _ => self.refuse("random numbers are drawn by computed numbers"),
        };
        sum.terms.iter().map(term).collect()
    }
}
