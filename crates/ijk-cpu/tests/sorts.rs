//! Orders of all layouts, types and numbers of places: stable, NaN last, and equal for any number of threads.

#![allow(unsafe_code)]

use crate::common::array::Array;
use crate::common::random::Random;
use ijk_cpu::{Engine, Fault, Level, PlanError};
use ijk_plan::plan::{Base, Buffer, BufferId, Place, Plan, ScanAxis, Sort, Step};
use ijk_types::{BinaryOp, DType, Order, Scalar, UnaryOp, scalar};

/// Extent, stride of the input, stride of the output.
type Axis = (usize, isize, isize);

/// Extent and stride.
type Along = (usize, isize);

/// Rows, values, places.
const CASES: &[(&[Axis], Along, Along)] = &[
    (&[], (1, 1), (1, 1)),
    (&[], (2, 1), (2, 1)),
    (&[], (0, 1), (0, 1)),
    (&[], (9, 1), (0, 1)),
    (&[(0, 5, 5)], (5, 1), (5, 1)),
    // Below, at and above what is sorted by digits.
    (&[], (255, 1), (255, 1)),
    (&[], (256, 1), (256, 1)),
    (&[(3, 1000, 1000)], (1000, 1), (1000, 1)),
    (&[], (70_000, 1), (70_000, 1)),
    // Other strides, and orders along the first axis.
    (&[(7, 30, 30)], (30, -1), (30, 1)),
    (&[(7, 1, 1)], (300, 7), (300, 7)),
    (&[(7, 1, 300)], (300, -7), (300, 1)),
    (&[(4, 60, 60), (2, 30, 30)], (30, 1), (30, 1)),
    (&[(4, 0, 30)], (30, 1), (30, -1)),
    // Few places: all values are candidates, some are, values in strips.
    (&[(3, 400, 5)], (400, 1), (5, 1)),
    (&[(3, 5000, 1)], (5000, 1), (1, 1)),
    (&[(2, 9001, 600)], (9001, 1), (600, 1)),
    (&[(5, 1, 1)], (3000, 5), (7, 5)),
    // More of them.
    (&[(3, 400, 300)], (400, 1), (300, 1)),
];

fn plan(
    (rows, values, places): (&[Axis], (usize, isize), (usize, isize)),
    t: DType,
    order: Order,
) -> Plan {
    let axis = |&(extent, from, to): &Axis| ScanAxis { name: String::new(), extent, from, to };
    let (values, places) = ((values.0, values.1, 0), (places.0, 0, places.1));
    let ends = |last: Axis, step: fn(&Axis) -> isize| {
        let all = || rows.iter().chain([&last]);
        let reach = |a: &Axis| step(a) * (a.0 as isize - 1).max(0);
        let low: isize = all().map(|a| reach(a).min(0)).sum();
        let high: isize = all().map(|a| reach(a).max(0)).sum();
        (-low, high)
    };
    let buffer = |place, dtype, (before, after): (isize, isize)| Buffer {
        place,
        dtype,
        shape: vec![(before + after + 1) as usize],
        strides: vec![1],
    };
    let (from, to) = (ends(values, |a| a.1), ends(places, |a| a.2));
    let sort = Sort {
        dtype: t,
        order,
        from: Base { buffer: BufferId(0), offset: from.0 },
        to: Base { buffer: BufferId(1), offset: to.0 },
        values: axis(&values),
        places: axis(&places),
        rows: rows.iter().map(axis).collect(),
        span: Default::default(),
    };
    let of = if order.positions { DType::I64 } else { t };
    let buffers = vec![buffer(Place::Input(0), t, from), buffer(Place::Output(0), of, to)];
    Plan { buffers, steps: vec![Step::Sort(sort)], arena: 0 }
}

/// Numbers with many equal ones, zeros of both signs, infinities and NaN.
fn number(random: &mut Random, t: DType) -> Scalar {
    let special = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -1.0];
    let x = match random.below(4) {
        0 => special[random.below(special.len())],
        1 => random.below(5) as f64,
        _ => 2e4 * (random.unit() - 0.5),
    };
    if t == DType::Bool {
        return Scalar::Bool(random.below(2) == 0);
    }
    let extreme = t.is_integer() && random.below(20) == 0;
    let x = if extreme { x * 1e30 } else { x };
    scalar::unary(UnaryOp::Cast(t), Scalar::F64(x)).expect("a cast")
}

/// Positions in order, by a stable sort of comparisons.
fn expected(values: &[Scalar], descending: bool) -> Vec<usize> {
    let is = |op, x: Scalar, y: Scalar| scalar::binary(op, x, y) == Ok(Scalar::Bool(true));
    let nan = |n: usize| is(BinaryOp::Ne, values[n], values[n]);
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| {
        let (x, y) = if descending { (values[b], values[a]) } else { (values[a], values[b]) };
        match (nan(a), nan(b)) {
            (false, false) if is(BinaryOp::Lt, x, y) => std::cmp::Ordering::Less,
            (false, false) if is(BinaryOp::Lt, y, x) => std::cmp::Ordering::Greater,
            (a, b) => a.cmp(&b),
        }
    });
    order
}

fn check(sort: &Sort, input: &Array, found: &Array) {
    let mut rows = vec![(sort.from.offset, sort.to.offset)];
    for axis in &sort.rows {
        let each = |&(from, to): &(isize, isize)| {
            (0..axis.extent as isize).map(move |n| (from + n * axis.from, to + n * axis.to))
        };
        rows = rows.iter().flat_map(|row| each(row).collect::<Vec<_>>()).collect();
    }
    for (from, to) in rows {
        let at = |n: usize| input.at(from + n as isize * sort.values.from);
        let values: Vec<Scalar> = (0..sort.values.extent).map(at).collect();
        let order = expected(&values, sort.order.descending);
        for (place, &n) in order.iter().take(sort.places.extent).enumerate() {
            let found = found.at(to + place as isize * sort.places.to);
            let right = if sort.order.positions { Scalar::I64(n as i64) } else { values[n] };
            assert!(right.same_bits(found), "{sort:?} at {place}: {right:?} and {found:?}");
        }
    }
}

#[test]
fn orders_are_right_for_all_layouts_and_threads() {
    for level in Level::available() {
        let engines = [1, 2, 7].map(|n| Engine::builder().level(level).threads(n).build());
        for (at, &case) in CASES.iter().enumerate() {
            for t in DType::ALL.into_iter().filter(|t| !t.is_complex()) {
                if case.1.0 > 10_000 && !(t as usize + at).is_multiple_of(4) {
                    continue;
                }
                for n in 0..4 {
                    let order = Order { descending: n & 1 == 1, positions: n & 2 == 2 };
                    let plan = plan(case, t, order);
                    let Step::Sort(sort) = &plan.steps[0] else { unreachable!() };
                    let mut random = Random::new(at as u64 + 1);
                    let mut input = Array::zeros(t, &plan.buffers[0].shape, &[1]);
                    for place in input.offsets() {
                        input.set(place, number(&mut random, t));
                    }
                    let of = plan.buffers[1].dtype;
                    for engine in &engines {
                        let mut found = Array::zeros(of, &plan.buffers[1].shape, &[1]);
                        engine.run(&plan, &[input.view()], &mut [found.view_mut()]).unwrap();
                        check(sort, &input, &found);
                    }
                }
            }
        }
    }
}

#[test]
fn unsound_orders_are_refused() {
    let order = Order { descending: false, positions: false };
    let refused = |change: &dyn Fn(&mut Sort, &mut Vec<Buffer>)| {
        let mut plan = plan((&[(3, 10, 10)], (10, 1), (10, 1)), DType::F32, order);
        let Step::Sort(sort) = &mut plan.steps[0] else { unreachable!() };
        change(sort, &mut plan.buffers);
        match Engine::default().compile(&plan).expect_err("the plan is unsound") {
            PlanError::Step { fault, .. } | PlanError::Buffer { fault, .. } => fault,
            other => panic!("{other}"),
        }
    };
    assert_eq!(refused(&|s, _| s.values.extent = 11), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.values.extent = 9), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.rows[0].extent = 4), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.rows[0].extent = usize::MAX), Fault::TooLarge);
    assert_eq!(refused(&|s, _| s.from.offset = -1), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.to.offset = 1), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.rows[0].to = 5), Fault::Overlap);
    assert_eq!(refused(&|s, _| s.from.buffer = BufferId(1)), Fault::Overlap);
    assert_eq!(refused(&|s, _| s.to.buffer = BufferId(0)), Fault::WritesArgument);
    assert_eq!(refused(&|s, _| s.to.buffer = BufferId(2)), Fault::Reference);
    assert_eq!(refused(&|s, _| s.order.positions = true), Fault::Types);
    assert_eq!(refused(&|_, b| b[0].dtype = DType::I32), Fault::Types);
    assert_eq!(refused(&|s, b| (s.dtype, b[0].dtype) = (DType::C64, DType::C64)), Fault::Types);
}
