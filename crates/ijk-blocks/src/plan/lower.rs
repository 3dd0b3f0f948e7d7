//! Lowering of terms to stages.

use super::expr::Expr;
use super::{Array, BlockPlan, From, Kernel, MapStep, Operand, Stage, split, wide};
use crate::domain::{Affine, Points, StageAxis, renumbered};
use crate::formula::Fold;
use crate::statement::Statement;
use crate::store::Source;
use crate::term::{Kind, Positions, Term};
use crate::types::compatible;
use crate::{Aggregation, BigTensor, Formula, Type, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The plan of a term.
pub(super) fn lower(root: &BigTensor) -> BlockPlan {
    let mut lowering = Lowering { plan: BlockPlan { arrays: Vec::new(), stages: Vec::new() } };
    let mut exprs: HashMap<usize, Expr> = HashMap::new();
    let terms = root.terms();
    let others = terms.iter().filter(|tensor| tensor.as_recut().is_none());
    let read: HashSet<usize> =
        others.flat_map(|tensor| &tensor.term.operands).chain([root]).map(BigTensor::id).collect();
    for tensor in terms {
        if let Some(recut) = tensor.as_recut() {
            let (ty, fill) = (recut.ty().clone(), Some(recut.fill()));
            let expr = lowering.array(ty, From::Source(Arc::new(recut)), fill);
            exprs.insert(tensor.id(), expr);
            continue;
        }
        if tensor.term.operands.is_empty() && !read.contains(&tensor.id()) {
            // Only its blocks change.
            continue;
        }
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
                Expr::formula(&pair, vec![operand(), operand()], of)
            }
            Kind::Map(function) => operand().map(function, ty.element.clone()),
            Kind::Broadcast => broadcast(&operand(), term.operands[0].ty(), ty),
            Kind::Select(positions) => select(&operand(), positions),
            Kind::Reblock { .. } => operand(),
            Kind::Statement(statement) => self.statement(statement, operands.collect(), ty),
            Kind::Contract { i, j, aggregation } => {
                let types = [term.operands[0].ty(), term.operands[1].ty()];
                self.contract([operand(), operand()], types, (*i, *j), aggregation, ty)
            }
        }
    }

    /// A new array, as it is.
    fn array(&mut self, ty: Type, from: From, fill: Option<Value>) -> Expr {
        let array = self.plan.arrays.len();
        let expr = Expr::array(array, ty.rank(), ty.element.clone(), fill);
        self.plan.arrays.push(Array { ty, from });
        expr
    }

    /// The elements that a new stage makes.
    fn stage(&mut self, stage: Stage) -> Expr {
        match wide::widened(&stage) {
            Some((stage, of)) => {
                let wide = self.in_parts(stage);
                Expr::formula(&wide::cast(of, Formula::variable(0)), vec![wide], of)
            }
            None => self.in_parts(stage),
        }
    }

    /// The array of a new stage, which may fold parts that another one makes.
    fn in_parts(&mut self, stage: Stage) -> Expr {
        let stage = match split::parts(&stage) {
            Some(parts) => split::split(stage, &parts, |stage| self.made(stage)),
            None => stage,
        };
        self.made(stage)
    }

    fn made(&mut self, stage: Stage) -> Expr {
        let (ty, fill) = (stage.out.clone(), stage.identity.clone());
        let number = self.plan.stages.len();
        self.plan.stages.push(stage);
        self.array(ty, From::Stage(number), fill)
    }

    /// An array with the elements of an expression, computed by a stage of its own if needed.
    fn copied(&mut self, expr: Expr, ty: &Type) -> Expr {
        let axes = (0..ty.rank()).map(|n| axis(format!("i{n}"), ty, n, false)).collect();
        let identity = expr.fill();
        let index = (0..ty.rank()).map(Affine::axis).collect();
        let operands = vec![Operand { expr, index }];
        let (kernel, points) = (Kernel::Copy, Points::default());
        self.stage(Stage { axes, operands, kernel, points, out: ty.clone(), identity, split: None })
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
        let own = |rank: usize, folded: usize, from: usize| -> Vec<Affine> {
            let place = |axis: usize| match axis.cmp(&folded) {
                std::cmp::Ordering::Less => from + axis,
                std::cmp::Ordering::Equal => kept,
                std::cmp::Ordering::Greater => from + axis - 1,
            };
            (0..rank).map(place).map(Affine::axis).collect()
        };
        let places = [own(u.rank(), i, 0), own(v.rank(), j, u.rank() - 1)];
        let operands = operands.into_iter().zip(places);
        // The engine's kernels take operands without some axes; closures take matrices.
        let operand = |(expr, index): (Expr, Vec<Affine>)| match by.is_engine() {
            true => narrowed(expr, &index),
            false => Operand { expr, index },
        };
        let operands = operands.map(operand).collect();
        let identity = by.identity(&u.element, &v.element);
        let kernel = Kernel::Contract(by.clone());
        let points = Points::default();
        self.stage(Stage {
            axes,
            operands,
            kernel,
            points,
            out: out.clone(),
            identity,
            split: None,
        })
    }

    fn statement(&mut self, of: &Statement, operands: Vec<Expr>, out: &Type) -> Expr {
        let dtype = out.element.number().expect("statements give numbers");
        // Guards and positions refer to an array's own axes.
        let own = |operands: &mut Self, (expr, (n, index)): (Expr, (usize, &Vec<Affine>))| {
            let mut positions = of.index.iter().flatten().chain(of.points.positions());
            let is_read = positions.any(|affine| affine.gathers().contains(&n));
            let plain = index.iter().all(Affine::is_plain) && !is_read;
            match plain || expr.as_array().is_some() {
                true => expr,
                false => operands.copied(expr, &of.types[n]),
            }
        };
        let operands: Vec<Expr> = operands
            .into_iter()
            .zip(of.index.iter().enumerate())
            .map(|operand| own(self, operand))
            .collect();
        let operands = operands.into_iter().zip(&of.index);
        let (mut formula, mut operands): (Formula, Vec<Operand>) =
            (of.formula.clone(), operands.map(|(expr, index)| seen_along(expr, index)).collect());
        let plain = |operand: &Operand| operand.index.iter().all(|e| e.as_axis().is_some());
        if of.reducer.is_none() && of.points.are_plain() && operands.iter().all(plain) {
            let along = |operand: Operand| {
                let axes = operand.index.iter().map(|e| (e.as_axis().unwrap_or_default(), None));
                operand.expr.seen(&axes.collect::<Vec<_>>())
            };
            return Expr::formula(&formula, operands.into_iter().map(along).collect(), dtype);
        }
        let skips = of.index.iter().flatten().any(|affine| affine.extent.is_some());
        let skips = skips || !of.points.are_plain();
        let mut points = of.points.clone();
        (formula, operands) = unfolded(formula, operands, &mut points);
        let fills = operands.iter().map(|operand| operand.expr.fill()?.as_number());
        let fills = fills.collect::<Option<Vec<_>>>();
        let pairs: Option<Vec<_>> = operands.iter().map(|o| o.expr.element().number()).collect();
        let (kernel, identity) = match of.reducer {
            None => {
                // Skipped points are 0, whatever the operands are.
                let fills = fills.filter(|_| !skips);
                let fill = fills.and_then(|fills| formula.evaluate(&fills).ok());
                (Kernel::Map(formula), fill.map(Value::Number))
            }
            Some(reducer) => {
                let by = Aggregation::of(Fold::Reduce(reducer), formula);
                let identity = pairs.and_then(|types| by.identity_of(&types));
                (Kernel::Contract(by), identity)
            }
        };
        let (axes, out) = (of.axes.clone(), out.clone());
        self.stage(Stage { axes, operands, kernel, points, out, identity, split: None })
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

/// Replaces an expression read at multiples of single axes by one that is read along these axes.
fn seen_along(expr: Expr, index: &[Affine]) -> Operand {
    let views = index.iter().map(|affine| match (&affine.terms[..], affine.constant) {
        _ if !affine.is_plain() => None,
        ([(1, _)], 0) => Some(None),
        ([(1, _)], by @ 1..) => Some(Some(MapStep::Shift(by as usize))),
        _ => None,
    });
    let views: Vec<Option<Option<MapStep>>> = views.collect();
    let axes = views.iter().enumerate().map(|(n, view)| (n, view.clone().flatten()));
    let axes: Vec<(usize, Option<MapStep>)> = axes.collect();
    let along =
        |(affine, view): (&Affine, &Option<Option<MapStep>>)| match (view, &affine.terms[..]) {
            (Some(_), &[(1, axis)]) => Affine::axis(axis),
            _ => affine.clone(),
        };
    let index = index.iter().zip(&views).map(along).collect();
    Operand { expr: expr.seen(&axes), index }
}

/// Distributes formulas over operands that lack some axes: a sum over an outer product is a product of sums, and the
/// outer product is not computed.
fn unfolded(
    formula: Formula,
    operands: Vec<Operand>,
    points: &mut Points,
) -> (Formula, Vec<Operand>) {
    let mut all: Vec<Operand> = Vec::new();
    let mut parts: Vec<Formula> = Vec::new();
    // New numbers of the operands whose elements are positions.
    let mut numbers: Vec<usize> = Vec::new();
    for operand in operands {
        let axes: HashSet<usize> = operand.expr.axes();
        let spread = |expr: &Expr| expr.axes().len() < axes.len();
        numbers.push(all.len());
        match operand.expr {
            Expr::Formula { formula, operands, .. } if operands.iter().any(spread) => {
                let variables = operands.into_iter().map(|expr| {
                    all.push(narrowed(expr, &operand.index));
                    Formula::variable(all.len() - 1)
                });
                parts.push(formula.with(&variables.collect::<Vec<_>>()));
            }
            expr => {
                all.push(narrowed(expr, &operand.index));
                parts.push(Formula::variable(all.len() - 1));
            }
        }
    }
    let index = all.iter_mut().flat_map(|operand| &mut operand.index);
    let writes = points.writes.iter_mut().map(|(_, affine)| affine);
    for affine in index.chain(writes).chain(&mut points.guards) {
        *affine = renumbered(affine, &numbers);
    }
    (formula.with(&parts), all)
}

/// An expression along the axes that it has, and no others.
fn narrowed(expr: Expr, index: &[Affine]) -> Operand {
    let mut own: Vec<usize> = expr.axes().into_iter().collect();
    own.sort_unstable();
    let place = |axis| own.iter().position(|&other| other == axis).unwrap_or_default();
    let axes: Vec<(usize, Option<MapStep>)> = (0..index.len()).map(|n| (place(n), None)).collect();
    let index = own.iter().map(|&axis| index[axis].clone()).collect();
    Operand { expr: expr.seen(&axes), index }
}

fn broadcast(expr: &Expr, from: &Type, to: &Type) -> Expr {
    let new = to.rank() - from.rank();
    let axes: Vec<(usize, Option<MapStep>)> = (0..from.rank())
        .map(|axis| {
            let (extent, repeated) = (from.dims[axis], to.dims[axis + new]);
            (axis + new, (extent != repeated).then_some(MapStep::Modulo(extent)))
        })
        .collect();
    expr.seen(&axes)
}

fn select(expr: &Expr, positions: &[Positions]) -> Expr {
    let step = |positions: &Positions| match positions {
        Positions::All => None,
        Positions::Range(range) => Some(MapStep::Shift(range.start)),
        Positions::At(at) => Some(MapStep::Table(Arc::clone(at))),
    };
    let axes: Vec<_> = positions.iter().map(step).enumerate().collect();
    expr.seen(&axes)
}
