//! Invalid plans, plans of several steps, and reductions large enough for chunks.

#![allow(unsafe_code)]

use crate::common::array::Array;
use crate::common::random::Random;
use ijk_cpu::{Engine, Fault, Level, PlanError, RunError};
use ijk_plan::plan::{
    Base, Buffer, BufferId, Contraction, ContractionAxis, Grouped, Load, Narrow, Nest, NestAxis,
    Node, NodeId, Place, Plan, Role, Start, Step, Store, Sweep, SweepAxis, Window,
};
use ijk_types::{BinaryOp, DType, Literal, Monoid, Reducer, Scalar, UnaryOp};

fn buffer(place: Place, dtype: DType, shape: &[usize]) -> Buffer {
    let strides = (0..shape.len()).map(|a| shape[a + 1..].iter().product::<usize>() as isize);
    Buffer { place, dtype, shape: shape.to_vec(), strides: strides.collect() }
}

fn base(buffer: u32) -> Base {
    Base { buffer: BufferId(buffer), offset: 0 }
}

fn axis(extent: usize, reduced: bool) -> NestAxis {
    NestAxis { name: String::new(), extent, reduced, collides: false }
}

fn load(buffer: u32, dtype: DType, strides: &[isize]) -> Load {
    Load { base: base(buffer), dtype, strides: strides.to_vec() }
}

/// A nest that stores.
fn map(extents: &[usize], loads: Vec<Load>, body: Vec<Node>, out: (u32, DType, &[isize])) -> Nest {
    Nest {
        axes: extents.iter().map(|&n| axis(n, false)).collect(),
        loads,
        body,
        store: Store { base: base(out.0), dtype: out.1, strides: out.2.to_vec(), offset: None },
        reduce: None,
        start: Start::Covered,
        sequential: false,
        span: Default::default(),
    }
}

/// `out = -in`, ten numbers; the base of invalid plans.
fn negate() -> Plan {
    let body = vec![Node::Load(0), Node::Unary(UnaryOp::Neg, NodeId(0))];
    let nest = map(&[10], vec![load(0, DType::F32, &[1])], body, (1, DType::F32, &[1]));
    Plan {
        buffers: vec![
            buffer(Place::Input(0), DType::F32, &[10]),
            buffer(Place::Output(0), DType::F32, &[10]),
        ],
        steps: vec![Step::Nest(nest)],
        arena: 0,
    }
}

fn run(plan: &Plan, engine: &Engine, inputs: &[Array]) -> Result<Array, RunError> {
    let out = plan.buffers.iter().find(|b| b.place == Place::Output(0)).unwrap();
    let mut found = Array::zeros(out.dtype, &out.shape, &out.strides);
    let views: Vec<_> = inputs.iter().map(Array::view).collect();
    engine.run(plan, &views, &mut [found.view_mut()])?;
    Ok(found)
}

fn refused(change: impl FnOnce(&mut Plan, &mut Nest)) -> Fault {
    let mut plan = negate();
    let Step::Nest(mut nest) = plan.steps.remove(0) else { unreachable!() };
    change(&mut plan, &mut nest);
    plan.steps.push(Step::Nest(nest));
    match Engine::default().compile(&plan).expect_err("the plan is unsound") {
        PlanError::Step { fault, .. } | PlanError::Buffer { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn kernels_of_steps_have_names() {
    let compiled = Engine::default().compile(&negate()).expect("the plan is sound");
    assert!(compiled.kernels().eq(["nest"]));
}

#[test]
fn unsound_plans_are_refused() {
    assert_eq!(refused(|_, n| n.loads[0].strides = vec![2]), Fault::Bounds);
    assert_eq!(refused(|_, n| n.loads[0].base.offset = -1), Fault::Bounds);
    assert_eq!(refused(|_, n| n.loads[0].strides = vec![isize::MAX]), Fault::Bounds);
    assert_eq!(refused(|_, n| n.store.strides = vec![2]), Fault::Bounds);
    assert_eq!(refused(|_, n| n.axes[0].extent = 11), Fault::Bounds);
    assert_eq!(refused(|_, n| n.axes[0].extent = usize::MAX), Fault::TooLarge);
    assert_eq!(refused(|_, n| n.loads[0].strides = vec![]), Fault::Rank);
    assert_eq!(refused(|_, n| n.store.strides = vec![]), Fault::Rank);
    assert_eq!(refused(|_, n| n.loads[0].dtype = DType::I32), Fault::Types);
    assert_eq!(refused(|_, n| n.store.dtype = DType::F64), Fault::Types);
    assert_eq!(refused(|_, n| n.body[1] = Node::Unary(UnaryOp::Not, NodeId(0))), Fault::Types);
    assert_eq!(refused(|_, n| n.body[1] = Node::Unary(UnaryOp::Neg, NodeId(1))), Fault::Reference);
    assert_eq!(refused(|_, n| n.body[0] = Node::Load(1)), Fault::Reference);
    assert_eq!(refused(|_, n| n.body.clear()), Fault::Reference);
    assert_eq!(refused(|_, n| n.store.base.buffer = BufferId(7)), Fault::Reference);
    assert_eq!(refused(|_, n| n.store.base.buffer = BufferId(0)), Fault::WritesArgument);
    assert_eq!(refused(|_, n| n.loads[0].base.offset = 1), Fault::Bounds);
    assert_eq!(refused(|_, n| n.reduce = Some(Reducer::ArgMax)), Fault::Types);
    assert_eq!(refused(|p, _| p.buffers[0].place = Place::Output(0)), Fault::SharedResult);
    assert_eq!(refused(|p, _| p.buffers[0].place = Place::Temporary(0)), Fault::Arena);
    assert_eq!(refused(|p, _| p.buffers[0].shape = vec![usize::MAX]), Fault::TooLarge);
    assert_eq!(refused(|p, _| p.buffers[0].strides = vec![]), Fault::Rank);
    assert_eq!(refused(|p, _| p.buffers[0].strides = vec![isize::MAX]), Fault::TooLarge);
    // The output is read at other positions than it is written.
    let backwards = |_: &mut Plan, n: &mut Nest| {
        n.loads[0] =
            Load { base: Base { buffer: BufferId(1), offset: 9 }, ..load(1, DType::F32, &[-1]) };
    };
    assert_eq!(refused(backwards), Fault::Overlap);
}

#[test]
fn gaps_between_elements_are_never_read() {
    let mut plan = negate();
    plan.buffers[0].strides = vec![3];
    assert!(Engine::default().compile(&plan).is_err());
    let Step::Nest(nest) = &mut plan.steps[0] else { unreachable!() };
    nest.loads[0].strides = vec![3];
    assert!(Engine::default().compile(&plan).is_ok());
}

#[test]
fn views_must_be_the_plans() {
    let (engine, plan) = (Engine::default(), negate());
    let good = Array::zeros(DType::F32, &[10], &[1]);
    assert!(run(&plan, &engine, std::slice::from_ref(&good)).is_ok());
    assert!(matches!(run(&plan, &engine, &[]), Err(RunError::Count { found: 0, .. })));
    let wrong = Array::zeros(DType::F64, &[10], &[1]);
    assert!(matches!(run(&plan, &engine, &[wrong]), Err(RunError::DType { .. })));
    for wrong in [Array::zeros(DType::F32, &[9], &[1]), Array::zeros(DType::F32, &[10], &[2])] {
        assert!(matches!(run(&plan, &engine, &[wrong]), Err(RunError::Layout { .. })));
    }
}

#[test]
fn faults_are_errors() {
    let engine = Engine::default();
    let buffers = vec![
        buffer(Place::Input(0), DType::I64, &[10]),
        buffer(Place::Output(0), DType::I64, &[10]),
    ];
    let with = |body: Vec<Node>| {
        let nest = map(&[10], vec![load(0, DType::I64, &[1])], body, (1, DType::I64, &[1]));
        Plan { buffers: buffers.clone(), steps: vec![Step::Nest(nest)], arena: 0 }
    };
    let zeros = [Array::zeros(DType::I64, &[10], &[1])];
    let op = |op| {
        vec![Node::Load(0), Node::Const(Scalar::I64(-1)), Node::Binary(op, NodeId(1), NodeId(0))]
    };
    assert_eq!(
        run(&with(op(BinaryOp::Div)), &engine, &zeros).err(),
        Some(RunError::DivisionByZero)
    );
    assert_eq!(
        run(&with(op(BinaryOp::Mod)), &engine, &zeros).err(),
        Some(RunError::DivisionByZero)
    );
    let power = vec![
        Node::Load(0),
        Node::Const(Scalar::I64(-1)),
        Node::Binary(BinaryOp::Pow, NodeId(0), NodeId(1)),
    ];
    assert_eq!(run(&with(power), &engine, &zeros).err(), Some(RunError::NegativePower));
    for outside in [-1, 10, i64::MIN, i64::MAX] {
        let gather =
            Node::Gather { base: base(0), dtype: DType::I64, strides: vec![0], offset: NodeId(0) };
        let body = vec![Node::Const(Scalar::I64(outside)), gather];
        assert_eq!(run(&with(body), &engine, &zeros).err(), Some(RunError::OutOfBounds));
        let mut plan = with(vec![Node::Const(Scalar::I64(outside)), Node::Load(0)]);
        let Step::Nest(nest) = &mut plan.steps[0] else { unreachable!() };
        nest.store.offset = Some(NodeId(0));
        assert_eq!(run(&plan, &engine, &zeros).err(), Some(RunError::OutOfBounds));
    }
}

#[test]
fn what_nothing_wrote_is_zero() {
    let engine = Engine::default();
    let mut plan = negate();
    plan.steps.clear();
    let input = [Array::zeros(DType::F32, &[10], &[1])];
    let found = run(&plan, &engine, &input).unwrap();
    assert!((0..10).all(|i| found.at(i) == Scalar::F32(0.0)));
    // A temporary that is read before it is written.
    let mut plan = negate();
    plan.arena = 64;
    plan.buffers.push(buffer(Place::Temporary(0), DType::F32, &[10]));
    let Step::Nest(nest) = &mut plan.steps[0] else { unreachable!() };
    nest.loads[0].base.buffer = BufferId(2);
    let found = run(&plan, &engine, &input).unwrap();
    assert!((0..10).all(|i| found.at(i) == Scalar::F32(-0.0)));
}

#[test]
fn temporaries_are_reused_in_place() {
    let mut plan = negate();
    plan.arena = 64;
    plan.buffers.push(buffer(Place::Temporary(0), DType::F32, &[10]));
    plan.buffers.push(buffer(Place::Temporary(0), DType::I32, &[10]));
    let (f, i) = (DType::F32, DType::I32);
    let one = |body, from, t, out| Step::Nest(map(&[10], vec![load(from, t, &[1])], body, out));
    let negated = || vec![Node::Load(0), Node::Unary(UnaryOp::Neg, NodeId(0))];
    let cast = |to| vec![Node::Load(0), Node::Unary(UnaryOp::Cast(to), NodeId(0))];
    plan.steps = vec![
        one(negated(), 0, f, (2, f, &[1])),
        one(cast(i), 2, f, (3, i, &[1])),
        one(cast(f), 3, i, (1, f, &[1])),
    ];
    let mut input = Array::zeros(f, &[10], &[1]);
    (0..10).for_each(|n| input.set(n, Scalar::F32(n as f32 + 0.5)));
    let found = run(&plan, &Engine::default(), &[input]).unwrap();
    assert!((1..10).all(|n| found.at(n) == Scalar::F32(-(n as f32))));
}

#[test]
fn casts_to_complex_types_are_those_of_scalars() {
    let computed = DType::ALL.into_iter().filter(|t| t.lanes() == *t);
    let types = computed.map(|from| (from, [DType::C64, DType::C128]));
    for (from, to) in types.flat_map(|(from, to)| to.map(|to| (from, to))) {
        let body = if from == to {
            vec![Node::Load(0)]
        } else {
            vec![Node::Load(0), Node::Unary(UnaryOp::Cast(to), NodeId(0))]
        };
        let mut plan = negate();
        plan.buffers =
            vec![buffer(Place::Input(0), from, &[10]), buffer(Place::Output(0), to, &[10])];
        let nest = map(&[10], vec![load(0, from, &[1])], body, (1, to, &[1]));
        plan.steps = vec![Step::Nest(nest)];
        let mut input = Array::zeros(from, &[10], &[1]);
        input.set(3, Literal::Integer(1).to_scalar(from).unwrap());
        for engine in engines() {
            let found = run(&plan, &engine, std::slice::from_ref(&input)).unwrap();
            for n in 0..10 {
                let x = input.at(n);
                let cast = ijk_types::scalar::unary(UnaryOp::Cast(to), x).unwrap();
                assert_eq!(found.at(n), cast, "{from} to {to}");
            }
        }
    }
}

/// `f(a op b)` and `f(a op b) + a op b` in one nest have the results of two.
#[test]
fn functions_of_what_an_operator_gives() {
    use {BinaryOp::*, UnaryOp::*};
    let pairs =
        [(Exp, Sub), (Abs, Sub), (Sqrt, Add), (Tanh, Add), (Sigmoid, Add), (Gelu, Add), (Neg, Mul)];
    let (shape, whole) = ([3, 80], [80, 1]);
    let mut random = Random::new(7);
    for t in [DType::F32, DType::F64] {
        let inputs = [0, 1].map(|_| Array::random(t, &shape, &whole, &mut random));
        for ((then, op), strides) in
            pairs.into_iter().flat_map(|pair| [[80, 1], [1, 0], [0, 1], [0, 0]].map(|s| (pair, s)))
        {
            for (twice, swapped) in [(false, false), (false, true), (true, false)] {
                let (x, y) = if swapped { (1, 0) } else { (0, 1) };
                let operator = Node::Binary(op, NodeId(x), NodeId(y));
                let function = |at| {
                    let function = Node::Unary(then, NodeId(at));
                    let sum = Node::Binary(Add, NodeId(at), NodeId(at + 1));
                    [function, sum].into_iter().take(if twice { 2 } else { 1 })
                };
                let loads = || vec![load(0, t, &whole), load(1, t, &strides)];
                let operands = [Node::Load(0), Node::Load(1), operator];
                let step =
                    |loads, body, out| Step::Nest(map(&shape, loads, body, (out, t, &whole)));
                let one = operands.iter().cloned().chain(function(2)).collect();
                let then = std::iter::once(Node::Load(0)).chain(function(0)).collect();
                let steps = [
                    vec![step(loads(), one, 2)],
                    vec![
                        step(loads(), operands.to_vec(), 3),
                        step(vec![load(3, t, &whole)], then, 2),
                    ],
                ];
                let places =
                    [Place::Input(0), Place::Input(1), Place::Output(0), Place::Temporary(0)];
                let buffers: Vec<_> = places.map(|place| buffer(place, t, &shape)).into();
                for engine in engines() {
                    let [found, expected] = steps.clone().map(|steps| {
                        let plan = Plan { buffers: buffers.clone(), steps, arena: 80 * 3 * 8 };
                        let out = run(&plan, &engine, &inputs).unwrap();
                        (0..240).map(|n| format!("{:?}", out.at(n))).collect::<Vec<_>>()
                    });
                    assert_eq!(found, expected, "{op:?} {strides:?} {twice} {swapped}");
                }
            }
        }
    }
}

/// Engines of all levels with 1, 2 and 3 threads.
fn engines() -> Vec<Engine> {
    let build = |level| move |threads| Engine::builder().level(level).threads(threads).build();
    Level::available().into_iter().flat_map(|level| (1..=3).map(build(level))).collect()
}

/// A reduction of a matrix to a row, a column or a number.
fn reduction(shape: [usize; 2], reduced: [bool; 2], t: DType, reducer: Reducer) -> Plan {
    let kept: Vec<usize> = (0..2).filter(|&a| !reduced[a]).collect();
    let out_type = if matches!(reducer, Reducer::Monoid(_)) { t } else { DType::I64 };
    let out_shape: Vec<usize> = kept.iter().map(|&a| shape[a]).collect();
    let steps = |a: usize| isize::from(!reduced[a]);
    let mut nest = map(
        &shape,
        vec![load(0, t, &[shape[1] as isize, 1])],
        vec![Node::Load(0)],
        (1, out_type, &[steps(0), steps(1)]),
    );
    nest.axes.iter_mut().zip(reduced).for_each(|(axis, reduced)| axis.reduced = reduced);
    nest.reduce = Some(reducer);
    Plan {
        buffers: vec![
            buffer(Place::Input(0), t, &shape),
            buffer(Place::Output(0), out_type, &out_shape),
        ],
        steps: vec![Step::Nest(nest)],
        arena: 0,
    }
}

#[test]
fn large_sums_are_accurate_whatever_the_threads() {
    let engines = engines();
    let mut random = Random::new(1);
    for shape in [[3, 400_000], [400_000, 3], [1000, 1100], [1 << 20, 1]] {
        let input = Array::random(DType::F32, &shape, &[shape[1] as isize, 1], &mut random);
        let at = |i: usize, j: usize| match input.at((i * shape[1] + j) as isize) {
            Scalar::F32(x) if x.is_finite() && x.abs() < 1e3 => x,
            _ => 0.0,
        };
        let mut input = input.clone();
        (0..shape[0]).for_each(|i| {
            (0..shape[1])
                .for_each(|j| input.set((i * shape[1] + j) as isize, Scalar::F32(at(i, j))))
        });
        for reduced in [[true, true], [false, true], [true, false]] {
            let plan = reduction(shape, reduced, DType::F32, Reducer::Monoid(Monoid::Add));
            let results: Vec<Array> =
                engines.iter().map(|e| run(&plan, e, &[input.clone()]).unwrap()).collect();
            for same_level in results.chunks(3) {
                assert!(same_level.iter().all(|r| r.bytes() == same_level[0].bytes()));
            }
            let n: usize = (0..2).filter(|&a| reduced[a]).map(|a| shape[a]).product();
            for (o, offset) in results[0].offsets().into_iter().enumerate().step_by(97) {
                let (mut sum, mut magnitude) = (0.0, 0.0);
                for i in if reduced[0] { 0..shape[0] } else { o..o + 1 } {
                    for j in if reduced[1] { 0..shape[1] } else { o..o + 1 } {
                        sum += f64::from(at(i, j));
                        magnitude += f64::from(at(i, j)).abs();
                    }
                }
                let bound = (512.0 + (n as f64).log2()) * f64::from(f32::EPSILON) * magnitude;
                for result in &results {
                    let Scalar::F32(found) = result.at(offset) else { unreachable!() };
                    assert!((f64::from(found) - sum).abs() <= bound, "{found} for {sum}");
                }
            }
        }
    }
}

#[test]
fn positions_in_long_axes() {
    let n = 1 << 20;
    let plan = |reducer| reduction([1, n], [false, true], DType::F32, reducer);
    let mut input = Array::zeros(DType::F32, &[1, n], &[n as isize, 1]);
    for at in [700_001, 700_002, 900_000] {
        input.set(at, Scalar::F32(2.0));
    }
    input.set(123_456, Scalar::F32(-1.0));
    for engine in engines() {
        let found =
            |input: &Array, r| run(&plan(r), &engine, std::slice::from_ref(input)).unwrap().at(0);
        assert_eq!(found(&input, Reducer::ArgMax), Scalar::I64(700_001));
        assert_eq!(found(&input, Reducer::ArgMin), Scalar::I64(123_456));
        let mut with_nan = input.clone();
        with_nan.set(800_000, Scalar::F32(f32::NAN));
        with_nan.set(800_001, Scalar::F32(f32::NAN));
        assert_eq!(found(&with_nan, Reducer::ArgMax), Scalar::I64(800_000));
        assert_eq!(found(&with_nan, Reducer::ArgMin), Scalar::I64(800_000));
    }
}

#[test]
fn empty_axes() {
    let engine = Engine::default();
    let input = [Array::zeros(DType::F32, &[4, 0], &[0, 1])];
    let sum = reduction([4, 0], [false, true], DType::F32, Reducer::Monoid(Monoid::Mul));
    let found = run(&sum, &engine, &input).unwrap();
    assert!((0..4).all(|i| found.at(i) == Scalar::F32(1.0)));
    let position = reduction([4, 0], [false, true], DType::F32, Reducer::ArgMax);
    assert!(matches!(
        run(&position, &engine, &input),
        Err(RunError::Plan(PlanError::Step { fault: Fault::Position, .. }))
    ));
}

#[test]
fn contractions_run_as_kernels_or_as_nests() {
    for (t, map) in
        [(DType::F64, BinaryOp::Mul), (DType::F64, BinaryOp::Atan2), (DType::I32, BinaryOp::Mul)]
    {
        for k in [0, 1, 7] {
            let role = |name: &str, role, extent, a, b, c| ContractionAxis {
                name: name.into(),
                role,
                extent,
                a,
                b,
                c,
            };
            let task = Contraction {
                dtype: t,
                map,
                then: None,
                reduce: Monoid::Add,
                a: base(0),
                b: base(1),
                c: base(2),
                accumulate: false,
                axes: vec![
                    role("i", Role::M, 5, k as isize, 0, 6),
                    role("k", Role::K, k, 1, 6, 0),
                    role("j", Role::N, 6, 0, 1, 1),
                ],
                span: Default::default(),
            };
            let plan = Plan {
                buffers: vec![
                    buffer(Place::Input(0), t, &[5, k]),
                    buffer(Place::Input(1), t, &[k, 6]),
                    buffer(Place::Output(0), t, &[5, 6]),
                ],
                steps: vec![Step::Contract(task)],
                arena: 0,
            };
            let mut random = Random::new(3);
            let mut small = |shape: [usize; 2]| {
                let mut array = Array::zeros(t, &shape, &[shape[1] as isize, 1]);
                for offset in array.offsets() {
                    let x = random.below(9) as i32 - 4;
                    let value =
                        if t == DType::I32 { Scalar::I32(x) } else { Scalar::F64(x.into()) };
                    array.set(offset, value);
                }
                array
            };
            let (a, b) = (small([5, k]), small([k, 6]));
            let found = run(&plan, &Engine::default(), &[a.clone(), b.clone()]).unwrap();
            for (i, j) in (0..5).flat_map(|i| (0..6).map(move |j| (i, j))) {
                let mut sum = ijk_types::scalar::identity(Monoid::Add, t);
                for k0 in 0..k as isize {
                    let (x, y) = (a.at(i * k as isize + k0), b.at(k0 * 6 + j));
                    let product = ijk_types::scalar::binary(map, x, y).unwrap();
                    sum = ijk_types::scalar::binary(BinaryOp::Add, sum, product).unwrap();
                }
                assert!(crate::common::array::distance(sum, found.at(i * 6 + j)) < 1e-12);
            }
        }
    }
}

/// `out = -in` of 7 rows of 4, two or three rows at a time.
fn sweep() -> Plan {
    let block = |rows: usize| {
        let body = vec![Node::Load(0), Node::Unary(UnaryOp::Neg, NodeId(0))];
        let strides = [4, 1];
        let load = load(0, DType::F32, &strides);
        let nest = map(&[rows, 4], vec![load], body, (1, DType::F32, &strides));
        let places = [Place::Input(0), Place::Output(0)];
        Plan {
            buffers: places.map(|place| buffer(place, DType::F32, &[rows, 4])).to_vec(),
            steps: vec![Step::Nest(nest)],
            arena: 0,
        }
    };
    let window = |n| vec![Window { buffer: BufferId(n), strides: vec![4] }];
    let step = Sweep {
        axes: vec![SweepAxis { name: "i".into(), extent: 7, block: 3 }],
        inputs: window(0),
        outputs: window(1),
        body: block(3),
        rest: Some(block(1)),
        narrow: None,
    };
    let places = [Place::Input(0), Place::Output(0)];
    Plan {
        buffers: places.map(|place| buffer(place, DType::F32, &[7, 4])).to_vec(),
        steps: vec![Step::Sweep(Box::new(step))],
        arena: 0,
    }
}

#[test]
fn a_sweep_reaches_every_row() {
    let values: Vec<f32> = (0..28).map(|x| x as f32).collect();
    let numbers = ijk_tensor::TensorView::from_slice(&values, &[7, 4]).unwrap();
    for threads in 1..4 {
        let engine = Engine::builder().threads(threads).build();
        let mut found = vec![0f32; 28];
        let out = ijk_tensor::TensorViewMut::from_slice(&mut found, &[7, 4]).unwrap();
        engine.run(&sweep(), std::slice::from_ref(&numbers), &mut [out]).unwrap();
        assert!(found.iter().zip(&values).all(|(y, x)| *y == -x));
    }
}

#[test]
fn unsound_sweeps_are_refused() {
    let refused = |change: &dyn Fn(&mut Sweep)| {
        let mut plan = sweep();
        let Step::Sweep(sweep) = &mut plan.steps[0] else { unreachable!() };
        change(sweep);
        match Engine::default().compile(&plan).expect_err("the plan is unsound") {
            PlanError::Step { fault, .. } | PlanError::Buffer { fault, .. } => fault,
            other => panic!("{other}"),
        }
    };
    assert_eq!(refused(&|s| s.axes[0].extent = 8), Fault::Bounds);
    assert_eq!(refused(&|s| s.axes[0].extent = 10), Fault::Bounds);
    assert_eq!(refused(&|s| s.axes[0].block = 0), Fault::Bounds);
    assert_eq!(refused(&|s| s.axes[0].block = 2), Fault::Bounds);
    assert_eq!(refused(&|s| s.rest = None), Fault::Bounds);
    assert_eq!(refused(&|s| s.rest = Some(s.body.clone())), Fault::Bounds);
    assert_eq!(refused(&|s| s.inputs[0].strides = vec![3]), Fault::Bounds);
    assert_eq!(refused(&|s| s.inputs[0].strides = vec![-4]), Fault::Bounds);
    assert_eq!(refused(&|s| s.inputs[0].strides = vec![]), Fault::Rank);
    assert_eq!(refused(&|s| s.inputs.clear()), Fault::Reference);
    assert_eq!(refused(&|s| s.inputs[0].buffer = BufferId(2)), Fault::Reference);
    assert_eq!(refused(&|s| s.outputs[0].strides = vec![0]), Fault::Bounds);
    assert_eq!(refused(&|s| s.outputs[0].buffer = BufferId(0)), Fault::WritesArgument);
    assert_eq!(refused(&|s| s.inputs[0].buffer = BufferId(1)), Fault::Overlap);
    assert_eq!(refused(&|s| s.body.buffers[0].strides = vec![5, 1]), Fault::Bounds);
    assert_eq!(refused(&|s| s.body.buffers[0].dtype = DType::I32), Fault::Types);
}

#[test]
fn unsound_narrow_bodies_are_refused() {
    let narrow = |s: &Sweep, of_blocks: &[Option<usize>]| Narrow {
        bodies: vec![s.body.clone()],
        of_blocks: of_blocks.to_vec(),
        finite_inputs: vec![0],
        finite_outputs: vec![0],
    };
    let compiled = |change: &dyn Fn(&mut Sweep)| {
        let mut plan = sweep();
        let Step::Sweep(sweep) = &mut plan.steps[0] else { unreachable!() };
        change(sweep);
        match Engine::default().compile(&plan) {
            Ok(_) => None,
            Err(PlanError::Step { fault, .. } | PlanError::Buffer { fault, .. }) => Some(fault),
            Err(other) => panic!("{other}"),
        }
    };
    let all = [Some(0), Some(0), None];
    assert_eq!(compiled(&|s| s.narrow = Some(narrow(s, &all))), None);
    // The last block has fewer rows than the body.
    assert_eq!(compiled(&|s| s.narrow = Some(narrow(s, &[Some(0); 3]))), Some(Fault::Bounds));
    assert_eq!(compiled(&|s| s.narrow = Some(narrow(s, &all[..2]))), Some(Fault::Bounds));
    let beyond = [Some(1), None, None];
    assert_eq!(compiled(&|s| s.narrow = Some(narrow(s, &beyond))), Some(Fault::Reference));
    let without = |s: &mut Sweep| {
        let mut other = narrow(s, &all);
        other.bodies[0].buffers[0].strides = vec![5, 1];
        s.narrow = Some(other);
    };
    assert_eq!(compiled(&without), Some(Fault::Bounds));
    let unknown =
        |s: &mut Sweep| s.narrow = Some(Narrow { finite_inputs: vec![1], ..narrow(s, &all) });
    assert_eq!(compiled(&unknown), Some(Fault::Reference));
    let unknown =
        |s: &mut Sweep| s.narrow = Some(Narrow { finite_outputs: vec![1], ..narrow(s, &all) });
    assert_eq!(compiled(&unknown), Some(Fault::Reference));
}

/// `out[t,h] = Σ x[t,d] w[c[t],d,h]` for 6 rows of 3, and 2 matrices of 3 by 4.
fn grouped() -> Plan {
    let axis = |name: &str, role, extent, [a, b, c]: [isize; 3]| ContractionAxis {
        name: name.into(),
        role,
        extent,
        a,
        b,
        c,
    };
    let base = |n| Base { buffer: BufferId(n), offset: 0 };
    let each = Contraction {
        dtype: DType::F32,
        map: BinaryOp::Mul,
        then: None,
        reduce: Monoid::Add,
        a: base(0),
        b: base(1),
        c: base(3),
        accumulate: false,
        axes: vec![
            axis("t", Role::M, 6, [3, 0, 4]),
            axis("h", Role::N, 4, [0, 1, 1]),
            axis("d", Role::K, 3, [1, 4, 0]),
        ],
        span: Default::default(),
    };
    let task = Grouped {
        each,
        index: base(2),
        index_dtype: DType::I64,
        index_steps: vec![1, 0, 0],
        first: 0,
        groups: 2,
        step: 12,
    };
    let shapes: [(Place, DType, &[usize]); 4] = [
        (Place::Input(0), DType::F32, &[6, 3]),
        (Place::Input(1), DType::F32, &[2, 3, 4]),
        (Place::Input(2), DType::I64, &[6]),
        (Place::Output(0), DType::F32, &[6, 4]),
    ];
    Plan {
        buffers: shapes.map(|(place, dtype, shape)| buffer(place, dtype, shape)).to_vec(),
        steps: vec![Step::Grouped(Box::new(task))],
        arena: 0,
    }
}

#[test]
fn rows_have_the_operand_of_their_group() {
    let x: Vec<f32> = (0..18).map(|n| n as f32 - 7.0).collect();
    let w: Vec<f32> = (0..24).map(|n| (n % 5) as f32).collect();
    let c = [1i64, 0, -1, 1, 2, i64::MIN];
    let inputs = [
        ijk_tensor::TensorView::from_slice(&x, &[6, 3]).unwrap(),
        ijk_tensor::TensorView::from_slice(&w, &[2, 3, 4]).unwrap(),
        ijk_tensor::TensorView::from_slice(&c, &[6]).unwrap(),
    ];
    let mut found = vec![9f32; 24];
    let out = ijk_tensor::TensorViewMut::from_slice(&mut found, &[6, 4]).unwrap();
    Engine::builder().threads(2).build().run(&grouped(), &inputs, &mut [out]).unwrap();
    for (at, y) in found.iter().enumerate() {
        let (t, h) = (at / 4, at % 4);
        let want: f32 = match usize::try_from(c[t]) {
            Ok(group) if group < 2 => {
                (0..3).map(|d| x[t * 3 + d] * w[(group * 3 + d) * 4 + h]).sum()
            }
            _ => 0.0,
        };
        assert_eq!(*y, want, "{t} {h}");
    }
}

#[test]
fn unsound_groups_are_refused() {
    let refused = |change: &dyn Fn(&mut Grouped)| {
        let mut plan = grouped();
        let Step::Grouped(task) = &mut plan.steps[0] else { unreachable!() };
        change(task);
        match Engine::default().compile(&plan).expect_err("the plan is unsound") {
            PlanError::Step { fault, .. } | PlanError::Buffer { fault, .. } => fault,
            other => panic!("{other}"),
        }
    };
    assert_eq!(refused(&|task| task.groups = 3), Fault::Bounds);
    assert_eq!(refused(&|task| task.step = 13), Fault::Bounds);
    assert_eq!(refused(&|task| task.index_steps = vec![2, 0, 0]), Fault::Bounds);
    assert_eq!(refused(&|task| task.index_steps = vec![1, 1, 0]), Fault::Bounds);
    assert_eq!(refused(&|task| task.index_steps = vec![1]), Fault::Rank);
    assert_eq!(refused(&|task| task.index_dtype = DType::I32), Fault::Types);
    assert_eq!(refused(&|task| task.each.accumulate = true), Fault::Bounds);
    assert_eq!(refused(&|task| task.each.c.buffer = BufferId(1)), Fault::WritesArgument);
}
