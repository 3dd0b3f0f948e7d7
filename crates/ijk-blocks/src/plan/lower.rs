//! From terms to stages.

use super::expr::Expr;
use super::{Array, BlockPlan, From, Kernel, Operand, Stage, StageAxis, Step};
use crate::term::{Kind, Positions, Term};
use crate::types::compatible;
use crate::{Aggregation, BigTensor, Formula, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// The plan of a term.
pub(super) fn lower(root: &BigTensor) -> BlockPlan {
    let mut lowering = Lowering { plan: BlockPlan { arrays: Vec::new(), stages: Vec::new() } };
    let mut exprs: HashMap<usize, Expr> = HashMap::new();
    for tensor in root.terms() {
        let operands: Vec<Expr> =
            tensor.term.operands.iter().map(|operand| exprs[&operand.id()].clone()).collect();
        let expr = lowering.term(&tensor.term, operands);
        let expr = if expr.is_large() { lowering.copied(expr, tensor.ty()) } else { expr };
        exprs.insert(tensor.id(), expr);
    }
    lowering.finish(exprs.remove(&root.id()), root.ty())
}

struct Lowering {
    plan: BlockPlan,
}

impl Lowering {
    fn term(&mut self, term: &Term, operands: Vec<Expr>) -> Expr {
        let ty = &term.ty;
        let mut operands = operands.into_iter();
        let mut operand = || operands.next().expect("as many operands as the term has");
        match &term.kind {
            Kind::Source(source) => {
                let fill = Some(source.fill());
                self.array(source.ty().clone(), From::Source(Arc::clone(source)), fill)
            }
            Kind::Zip(op) => {
                let pair = Formula::binary(*op, Formula::variable(0), Formula::variable(1));
                let of = ty.element.number().expect("operators take numbers");
                Expr::formula(&pair, [operand(), operand()], of)
            }
            Kind::Map(function) => operand().map(function, ty.element.clone()),
            Kind::Broadcast => broadcast(&operand(), term.operands[0].ty(), ty),
            Kind::Select(positions) => select(&operand(), positions),
            Kind::Reblock => operand(),
            Kind::Contract { i, j, aggregation } => {
                let types = [term.operands[0].ty(), term.operands[1].ty()];
                self.contract([operand(), operand()], types, (*i, *j), aggregation, ty)
            }
        }
    }

    /// A new array, as it is.
    fn array(&mut self, ty: Type, from: From, fill: Option<crate::Value>) -> Expr {
        let array = self.plan.arrays.len();
        let expr = Expr::array(array, ty.rank(), ty.element.clone(), fill);
        self.plan.arrays.push(Array { ty, from });
        expr
    }

    /// The array that a new stage makes.
    fn stage(&mut self, stage: Stage) -> Expr {
        let (ty, fill) = (stage.out.clone(), stage.identity.clone());
        let number = self.plan.stages.len();
        self.plan.stages.push(stage);
        self.array(ty, From::Stage(number), fill)
    }

    /// An array of its own for what an expression is.
    fn copied(&mut self, expr: Expr, ty: &Type) -> Expr {
        let axes = (0..ty.rank()).map(|n| axis(format!("i{n}"), ty, n, false)).collect();
        let identity = expr.fill();
        let operands = vec![Operand { expr, axes: (0..ty.rank()).collect() }];
        self.stage(Stage { axes, operands, kernel: Kernel::Copy, out: ty.clone(), identity })
    }

    fn contract(
        &mut self,
        operands: [Expr; 2],
        [u, v]: [&Type; 2],
        (i, j): (usize, usize),
        by: &Aggregation,
        out: &Type,
    ) -> Expr {
        let kept = out.rank();
        let left = (0..u.rank()).filter(|&axis| axis != i).map(|n| format!("u{n}"));
        let right = (0..v.rank()).filter(|&axis| axis != j).map(|n| format!("v{n}"));
        let names = left.chain(right).enumerate();
        let mut axes: Vec<StageAxis> = names.map(|(n, name)| axis(name, out, n, false)).collect();
        let block = compatible(u.blocks[i], v.blocks[j]).flatten();
        axes.push(StageAxis { name: "k".into(), extent: u.dims[i], block, folded: true });
        // Each operand's own axes come one after another, but for the folded one.
        let own = |rank: usize, folded: usize, from: usize| -> Vec<usize> {
            let place = |axis: usize| match axis.cmp(&folded) {
                std::cmp::Ordering::Less => from + axis,
                std::cmp::Ordering::Equal => kept,
                std::cmp::Ordering::Greater => from + axis - 1,
            };
            (0..rank).map(place).collect()
        };
        let places = [own(u.rank(), i, 0), own(v.rank(), j, u.rank() - 1)];
        let operands = operands.into_iter().zip(places);
        let operands = operands.map(|(expr, axes)| Operand { expr, axes }).collect();
        let identity = by.identity(&u.element, &v.element);
        let kernel = Kernel::Contract(by.clone());
        self.stage(Stage { axes, operands, kernel, out: out.clone(), identity })
    }

    /// The plan, whose last stage makes the result in the blocks of its type.
    fn finish(mut self, root: Option<Expr>, ty: &Type) -> BlockPlan {
        let Some(root) = root else { return self.plan };
        let last = self.plan.stages.len().checked_sub(1);
        let made = root.as_array().is_some_and(|array| {
            let array = &self.plan.arrays[array];
            matches!(array.from, From::Stage(stage) if Some(stage) == last) && array.ty == *ty
        });
        if !made {
            self.copied(root, ty);
        }
        self.plan
    }
}

/// An axis that a stage's output has.
fn axis(name: String, out: &Type, n: usize, folded: bool) -> StageAxis {
    StageAxis { name, extent: out.dims[n], block: out.blocks[n], folded }
}

fn broadcast(expr: &Expr, from: &Type, to: &Type) -> Expr {
    let new = to.rank() - from.rank();
    let axes: Vec<(usize, Option<Step>)> = (0..from.rank())
        .map(|axis| {
            let (extent, repeated) = (from.dims[axis], to.dims[axis + new]);
            (axis + new, (extent != repeated).then_some(Step::Modulo(extent)))
        })
        .collect();
    expr.seen(&axes)
}

fn select(expr: &Expr, positions: &[Positions]) -> Expr {
    let step = |positions: &Positions| match positions {
        Positions::All => None,
        Positions::Range(range) => Some(Step::Shift(range.start)),
        Positions::At(at) => Some(Step::Table(Arc::clone(at))),
    };
    let axes: Vec<_> = positions.iter().map(step).enumerate().collect();
    expr.seen(&axes)
}
