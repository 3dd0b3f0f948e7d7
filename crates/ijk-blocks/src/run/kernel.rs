//! Formulas and folds of them on views, by the engine.

use crate::Error;
use crate::domain::{Affine, filled};
use crate::formula::{Formula, FormulaNode, Random};
use ijk_cpu::{Compiled, Engine, RunError, Stoppable};
use ijk_ir::core::{
    Access, Array, ArrayId, Atom, Axis, AxisId, IndexExpr, Init, Instance, Program, ScalarExpr,
    ScalarId, ScalarNode, Span, Statement, TypeTerm,
};
use ijk_plan::Layout;
use ijk_plan::plan::{BufferId, Node as PlanNode, Place, Plan, Start, Step};
use ijk_tensor::{Tensor, TensorView};
use ijk_types::{DType, Reducer};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A formula over a domain, to be computed by the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work<'a> {
    pub(crate) formula: &'a Formula,
    /// The extents of the domain's axes; the first ones are the output's.
    pub(crate) extents: &'a [usize],
    /// Number of axes of the output.
    pub(crate) kept: usize,
    /// Fold along the other axes.
    pub(crate) reducer: Option<Reducer>,
    /// The output's element type.
    pub(crate) of: DType,
    /// Positions of the output at which points write, if they are computed.
    pub(crate) target: Option<&'a Target>,
}

/// Computed output positions of the points of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    /// The output's shape; axes that are written at computed positions have one point in the domain.
    pub(crate) shape: Vec<usize>,
    /// For each axis of the output, the position at which a point writes; out-of-bounds points are skipped.
    pub(crate) writes: Vec<Affine>,
    /// Positions, with the extents beyond which points are skipped.
    pub(crate) guards: Vec<(Affine, usize)>,
}

/// An operand: its elements, and for each of its axes the position at which a point of the domain reads.
pub(crate) type KernelInput<'a> = (TensorView<'a>, Vec<Affine>);

/// Cache of compiled kernels.
pub(crate) struct Kernels {
    engine: Arc<Engine>,
    strict: bool,
    compiled: Mutex<HashMap<Key, Arc<Ready>>>,
    /// The formula of a copy.
    same: Box<Formula>,
    /// Flag that interrupts the computation.
    stop: Option<Arc<AtomicBool>>,
}

/// Key of a compiled kernel. Formulas are identified by their address, which is in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    formula: usize,
    extents: Vec<usize>,
    inputs: Vec<InputKey>,
    target: Option<Target>,
    continues: bool,
}

/// An operand's type, shape, strides, and axes.
type InputKey = (DType, Vec<usize>, Vec<isize>, Vec<Affine>);

/// A kernel.
struct Ready {
    compiled: Compiled,
    /// The kernel takes the block that it continues as one more argument, and writes a new one.
    copies: bool,
}

impl Kernels {
    pub(crate) fn new(engine: Arc<Engine>, strict: bool) -> Self {
        let same = Box::new(Formula::variable(0));
        Self { engine, strict, compiled: Mutex::default(), same, stop: None }
    }

    /// The same, interrupted by a flag.
    pub(crate) fn until(mut self, stop: Option<Arc<AtomicBool>>) -> Self {
        self.stop = stop;
        self
    }

    /// The flag.
    pub(super) fn flag(&self) -> Option<&Arc<AtomicBool>> {
        self.stop.as_ref()
    }

    /// Checks the flag.
    ///
    /// # Errors
    /// [`RunError::Interrupted`] if it is set.
    pub(crate) fn goes_on(&self) -> Result<(), Error> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(RunError::Interrupted.into()),
            _ => Ok(()),
        }
    }

    /// The engine, whose runs the flag interrupts.
    fn engine(&self) -> Stoppable<'_> {
        self.engine.until(self.stop.as_ref())
    }

    /// The formula of a copy.
    pub(crate) fn same(&self) -> &Formula {
        &self.same
    }

    /// The output, as a new tensor.
    pub(crate) fn compute(&self, work: Work, inputs: &[KernelInput]) -> Result<Tensor, Error> {
        let ready = self.ready(work, inputs, false)?;
        let views: Vec<TensorView> = inputs.iter().map(|(view, _)| view.clone()).collect();
        Ok(self.engine().execute_new(&ready.compiled, &views)?.swap_remove(0))
    }

    /// Folds into an existing output.
    pub(crate) fn fold(
        &self,
        work: Work,
        inputs: &[KernelInput],
        into: &mut Tensor,
    ) -> Result<(), Error> {
        let ready = self.ready(work, inputs, true)?;
        let mut views: Vec<TensorView> = inputs.iter().map(|(view, _)| view.clone()).collect();
        if ready.copies {
            let before = std::mem::replace(into, Tensor::zeros(work.of, &[0])?);
            views.push(before.view());
            *into = self.engine().execute_new(&ready.compiled, &views)?.swap_remove(0);
            return Ok(());
        }
        Ok(self.engine().execute_onto(&ready.compiled, &views, &mut [into])?)
    }

    fn ready(
        &self,
        work: Work,
        inputs: &[KernelInput],
        continues: bool,
    ) -> Result<Arc<Ready>, Error> {
        let input = |(view, axes): &KernelInput| {
            (view.dtype(), view.shape().to_vec(), view.strides().to_vec(), axes.to_vec())
        };
        let key = Key {
            formula: std::ptr::from_ref(work.formula) as usize,
            extents: work.extents.to_vec(),
            inputs: inputs.iter().map(input).collect(),
            target: work.target.cloned(),
            continues,
        };
        let known = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = known().get(&key) {
            return Ok(Arc::clone(ready));
        }
        let ready = Arc::new(self.compile(work, inputs, continues)?);
        known().insert(key, Arc::clone(&ready));
        Ok(ready)
    }

    fn compile(&self, work: Work, inputs: &[KernelInput], continues: bool) -> Result<Ready, Error> {
        let (program, instance) = lower(work, inputs, continues);
        let mut layout = Layout::contiguous(&program, &instance);
        for (strides, (view, _)) in layout.inputs.iter_mut().zip(inputs) {
            *strides = view.strides().to_vec();
        }
        layout.strict = self.strict;
        let plan = ijk_plan::plan(&program, &instance, &layout)?;
        let compiled = |compiled: Result<Compiled, _>| compiled.map_err(RunError::from);
        if let Some(plan) = Some(&plan).filter(|_| continues).and_then(in_place) {
            return Ok(Ready {
                compiled: compiled(self.engine.compile_onto(&plan))?,
                copies: false,
            });
        }
        Ok(Ready { compiled: compiled(self.engine.compile(&plan))?, copies: continues })
    }
}

/// The program of one statement.
fn lower(work: Work, inputs: &[KernelInput], continues: bool) -> (Program, Instance) {
    let kept = work.target.map_or(&work.extents[..work.kept], |target| &target.shape);
    let out_shape: Vec<u64> = kept.iter().map(|&n| n as u64).collect();
    let mut arrays: Vec<(DType, Vec<u64>)> = inputs
        .iter()
        .map(|(view, _)| (view.dtype(), view.shape().iter().map(|&n| n as u64).collect()))
        .collect();
    if continues {
        arrays.push((work.of, out_shape.clone()));
    }
    let (before, out) = (ArrayId(inputs.len() as u32), ArrayId(arrays.len() as u32));
    arrays.push((work.of, out_shape));
    let init = match work.reducer {
        _ if continues => Init::From(before),
        Some(Reducer::Monoid(monoid)) => Init::Identity(monoid),
        _ => Init::Zero,
    };
    let axis = |n: usize| Axis { name: name(n), dims: Vec::new(), pins: Vec::new() };
    let statement = Statement {
        out,
        domain: (0..work.extents.len()).map(axis).collect(),
        out_index: match work.target {
            Some(to) => to.writes.iter().map(|affine| index_expr(affine, inputs)).collect(),
            None => (0..work.kept as u32).map(|n| IndexExpr::axis(AxisId(n))).collect(),
        },
        init,
        reduce: work.reducer,
        value: value(work.formula, inputs),
        guards: work.target.map_or(Vec::new(), |to| {
            let guard = |(at, extent): &(Affine, usize)| (index_expr(at, inputs), *extent as u64);
            to.guards.iter().map(guard).collect()
        }),
        span: Span::default(),
    };
    let declared = arrays.iter().map(|(dtype, shape)| Array {
        rank: Some(shape.len() as u32),
        dtype: TypeTerm::Fixed(*dtype),
        span: Span::default(),
    });
    let program = Program {
        arrays: declared.collect(),
        inputs: (0..out.0).map(ArrayId).collect(),
        outputs: vec![out],
        statements: vec![statement],
        ..Program::default()
    };
    let instance = Instance {
        dtypes: arrays.iter().map(|(dtype, _)| *dtype).collect(),
        shapes: arrays.into_iter().map(|(_, shape)| shape).collect(),
        extents: vec![work.extents.iter().map(|&n| n as u64).collect()],
        passes: Vec::new(),
    };
    (program, instance)
}

/// `a`, `b`, … for messages.
fn name(n: usize) -> String {
    match u8::try_from(n) {
        Ok(n @ 0..26) => char::from(b'a' + n).to_string(),
        _ => format!("x{n}"),
    }
}

/// An element of an input at its positions.
fn access(number: usize, inputs: &[KernelInput]) -> Access {
    let index = inputs[number].1.iter().map(|affine| index_expr(affine, inputs)).collect();
    Access { array: ArrayId(number as u32), index, span: Span::default() }
}

/// A position in core IR, with elements of inputs at their positions.
fn index_expr(affine: &Affine, inputs: &[KernelInput]) -> IndexExpr {
    let rest = filled(affine, &|operand| access(operand, inputs));
    Affine { rest, ..affine.clone() }.expr()
}

/// A formula of elements of the inputs.
fn value(formula: &Formula, inputs: &[KernelInput]) -> ScalarExpr {
    let types: Vec<DType> = inputs.iter().map(|(view, _)| view.dtype()).collect();
    let types = formula.types(&types).unwrap_or_default();
    let nodes = formula.nodes.iter().enumerate().map(|(n, node)| match *node {
        FormulaNode::Variable(number) => ScalarNode::Access(access(number, inputs)),
        FormulaNode::Number(literal) => ScalarNode::Const(literal, TypeTerm::Fixed(types[n])),
        FormulaNode::Unary(op, x) => ScalarNode::Unary(op, ScalarId(x)),
        FormulaNode::Binary(op, x, y) => ScalarNode::Binary(op, ScalarId(x), ScalarId(y)),
        FormulaNode::Select(c, x, y) => ScalarNode::Select(ScalarId(c), ScalarId(x), ScalarId(y)),
        FormulaNode::Random(ref of) => ScalarNode::Random {
            key: of.key,
            counter: counter(of, formula, inputs),
            lo: ScalarId(of.lo),
            hi: ScalarId(of.hi),
        },
        FormulaNode::Fold(..) => unreachable!("numbers are no lists: types were checked"),
    });
    ScalarExpr { nodes: nodes.collect() }
}

/// Counter of a source of random numbers at a point.
fn counter(of: &Random, formula: &Formula, inputs: &[KernelInput]) -> IndexExpr {
    let term = |&(coefficient, node): &(i64, u32)| match formula.nodes[node as usize] {
        FormulaNode::Variable(number) => {
            (coefficient, Atom::Element(Box::new(access(number, inputs))))
        }
        // Tensors are counted before they are operands, so that nothing is computed here.
        ref other => unreachable!("an operand counts, not {other:?}"),
    };
    IndexExpr { constant: of.constant, terms: of.counters.iter().map(term).collect() }
}

/// The same plan, but in place: it begins with a result that already holds the last argument, which the plan would copy
/// into it first; none where the plan does not begin so.
fn in_place(plan: &Plan) -> Option<Plan> {
    let (first, rest) = plan.steps.split_first()?;
    let place = |buffer: BufferId| plan.buffers.get(buffer.0 as usize).map(|buffer| buffer.place);
    let arguments = plan.buffers.iter().filter(|b| matches!(b.place, Place::Input(_)));
    let last = arguments.count().checked_sub(1)?;
    let Step::Nest(copy) = first else { return None };
    let ([load], [PlanNode::Load(0)]) = (&copy.loads[..], &copy.body[..]) else { return None };
    let copies = place(load.base.buffer) == Some(Place::Input(last))
        && place(copy.store.base.buffer) == Some(Place::Output(0))
        && load.strides == copy.store.strides
        && (load.base.offset, copy.store.base.offset) == (0, 0)
        && (copy.reduce, copy.store.offset, copy.start) == (None, None, Start::Covered);
    let reads_again = rest.iter().any(|step| reads(step, load.base.buffer));
    if !copies || reads_again || rest.is_empty() {
        return None;
    }
    let mut plan = Plan { steps: rest.to_vec(), ..plan.clone() };
    // Nothing reads the argument any more: its buffer becomes unused.
    let gone = plan.buffers.get_mut(load.base.buffer.0 as usize)?;
    (gone.place, gone.shape, gone.strides) = (Place::Temporary(0), vec![0], vec![1]);
    Some(plan)
}

/// Returns true if a step reads a buffer; sweeps may.
fn reads(step: &Step, buffer: BufferId) -> bool {
    match step {
        Step::Fill(..) => false,
        Step::Contract(task) => task.a.buffer == buffer || task.b.buffer == buffer,
        Step::Grouped(task) => {
            [task.each.a, task.each.b, task.index].iter().any(|base| base.buffer == buffer)
        }
        Step::Sort(sort) => sort.from.buffer == buffer,
        Step::Scan(scan) => {
            let levels = scan.levels.as_ref().map(|levels| levels.base.buffer);
            scan.from.buffer == buffer || levels == Some(buffer)
        }
        Step::Nest(nest) => {
            let gathers = |node: &PlanNode| matches!(node, PlanNode::Gather { base, .. } if base.buffer == buffer);
            nest.loads.iter().any(|load| load.base.buffer == buffer)
                || nest.body.iter().any(gathers)
        }
        Step::Sweep(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_tensor::TensorError;
    use ijk_types::{BinaryOp, Monoid};

    fn matrix(extents: [usize; 2]) -> Result<Tensor, TensorError> {
        let values = (0..extents[0] * extents[1]).map(|n| (n % 7) as f32).collect();
        Tensor::from_vec(values, &extents)
    }

    /// A product of matrices, twice; returns if the second was folded in place into the first.
    fn twice(op: BinaryOp, monoid: Monoid, n: usize) -> Result<(Tensor, bool), Error> {
        let kernels = Kernels::new(Arc::new(Engine::builder().threads(1).build()), false);
        let pair = Formula::binary(op, Formula::variable(0), Formula::variable(1));
        let reducer = Some(Reducer::Monoid(monoid));
        let work = Work {
            formula: &pair,
            extents: &[n, n, n],
            kept: 2,
            reducer,
            of: DType::F32,
            target: None,
        };
        let (a, b) = (matrix([n, n])?, matrix([n, n])?);
        let index = |axes: [usize; 2]| axes.map(Affine::axis).to_vec();
        let inputs: [KernelInput; 2] = [(a.view(), index([0, 2])), (b.view(), index([2, 1]))];
        let mut sum = kernels.compute(work, &inputs)?;
        kernels.fold(work, &inputs, &mut sum)?;
        let in_place = !kernels.ready(work, &inputs, true)?.copies;
        Ok((sum, in_place))
    }

    #[test]
    fn panels_are_folded_in_place() -> Result<(), Error> {
        let cases = [
            (BinaryOp::Mul, Monoid::Add),
            (BinaryOp::Add, Monoid::Max),
            (BinaryOp::Div, Monoid::Mul),
        ];
        for (op, monoid) in cases {
            for n in [1, 2, 9, 64, 100] {
                let (sum, in_place) = twice(op, monoid, n)?;
                assert!(in_place, "{op:?} {monoid:?} {n}");
                assert_eq!(sum.shape(), [n, n]);
            }
        }
        let (sum, _) = twice(BinaryOp::Mul, Monoid::Add, 64)?;
        let (a, b) = (matrix([64, 64])?, matrix([64, 64])?);
        let at = |t: &Tensor, i, j| t.get(&[i, j]).as_f64();
        let expected: f64 = (0..64).map(|k| at(&a, 3, k) * at(&b, k, 5)).sum();
        assert_eq!(at(&sum, 3, 5), 2.0 * expected);
        Ok(())
    }
}
