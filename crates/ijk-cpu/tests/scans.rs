//! Scans of all layouts, types and monoids: correct, and equal for any number of threads.

#![allow(unsafe_code)]

use crate::common::array::Array;
use crate::common::random::Random;
use ijk_cpu::{Engine, Fault, Level, PlanError};
use ijk_plan::plan::{Base, Buffer, BufferId, Place, Plan, Scan, ScanAxis, Step};
use ijk_types::{C64, C128, DType, Monoid, Scalar, UnaryOp, scalar};

/// Extent, stride of the input, stride of the output.
type Axis = (usize, isize, isize);

/// Rows, and the axis along which they are scanned.
const CASES: &[(&[Axis], Axis)] = &[
    // One row: below, at and above the lengths of lanes and blocks.
    (&[], (1, 1, 1)),
    (&[], (7, 1, 1)),
    (&[], (16, 1, 1)),
    (&[], (33, 1, 1)),
    (&[], (511, 1, 1)),
    (&[], (512, 1, 1)),
    (&[], (513, 1, 1)),
    (&[], (5000, 1, 1)),
    (&[], (0, 1, 1)),
    (&[(0, 5, 5)], (5, 1, 1)),
    // Consecutive rows, in either direction.
    (&[(9, 70, 70)], (70, 1, 1)),
    (&[(3, 1100, 1200)], (1100, 1, 1)),
    (&[(9, 70, 70)], (70, -1, -1)),
    (&[(3, 1100, 1100)], (1100, -1, -1)),
    (&[(4, 0, 30)], (30, 1, 1)),
    (&[(4, 60, 60), (2, 30, 30)], (30, 1, 1)),
    (&[(2, 30, 120), (4, 60, 30)], (30, 1, 1)),
    // Adjacent rows.
    (&[(64, 1, 1)], (600, 64, 64)),
    (&[(1100, 1, 1)], (9, 1100, 1100)),
    (&[(2, 900, 900), (20, 1, 1)], (45, -20, -20)),
    (&[(20, 1, 1)], (45, 20, -20)),
    // Strided values, or too few rows.
    (&[(3, 1, 1)], (1000, 3, 3)),
    (&[(5, 9000, 4500)], (4500, 2, 1)),
    (&[(5, 100, 100)], (100, 1, -1)),
    (&[(40, 50, 1)], (50, 1, 40)),
    // Long rows, which are cut.
    (&[], (140_000, 1, 1)),
    (&[(2, 70_001, 70_001)], (70_001, -1, -1)),
    (&[(2, 140_000, 140_000)], (140_000, -1, -1)),
    (&[(20, 1, 1)], (7001, 20, 20)),
    (&[(1, 1, 1)], (140_000, 3, 2)),
];

fn plan((rows, along): (&[Axis], Axis), t: DType, reduce: Monoid) -> Plan {
    let axis = |&(extent, from, to): &Axis| ScanAxis { name: String::new(), extent, from, to };
    let all = || rows.iter().chain([&along]);
    let ends = |step: fn(&Axis) -> isize| {
        let reach = |a: &Axis| step(a) * (a.0 as isize - 1).max(0);
        let (low, high): (Vec<isize>, Vec<isize>) =
            all().map(|a| (reach(a).min(0), reach(a).max(0))).unzip();
        (-low.iter().sum::<isize>(), high.iter().sum::<isize>())
    };
    let buffer = |place, (before, after): (isize, isize)| Buffer {
        place,
        dtype: t,
        shape: vec![(before + after + 1) as usize],
        strides: vec![1],
    };
    let (from, to) = (ends(|a| a.1), ends(|a| a.2));
    let scan = Scan {
        dtype: t,
        reduce,
        from: Base { buffer: BufferId(0), offset: from.0 },
        to: Base { buffer: BufferId(1), offset: to.0 },
        levels: None,
        along: axis(&along),
        rows: rows.iter().map(axis).collect(),
        span: Default::default(),
    };
    let buffers = vec![buffer(Place::Input(0), from), buffer(Place::Output(0), to)];
    Plan { buffers, steps: vec![Step::Scan(scan)], arena: 0 }
}

fn number(random: &mut Random, t: DType) -> Scalar {
    let x = random.below(2000) as f64 / 1000.0 - 1.0;
    let y = random.below(2000) as f64 / 1000.0 - 1.0;
    match t {
        DType::Bool => Scalar::Bool(random.below(40) == 0),
        DType::I32 => Scalar::I32((1e5 * x) as i32),
        DType::I64 => Scalar::I64((1e5 * x) as i64),
        DType::F32 => Scalar::F32(x as f32),
        DType::F64 => Scalar::F64(x),
        DType::C64 => Scalar::C64(C64::new(x as f32, y as f32)),
        DType::C128 => Scalar::C128(C128::new(x, y)),
        _ => scalar::unary(UnaryOp::Cast(t), Scalar::F64(1e2 * x)).expect("a cast"),
    }
}

fn wide(x: Scalar) -> (f64, f64) {
    match x {
        Scalar::F32(x) => (x.into(), 0.0),
        Scalar::F64(x) => (x, 0.0),
        Scalar::C64(x) => (x.re.into(), x.im.into()),
        Scalar::C128(x) => (x.re, x.im),
        _ => (0.0, 0.0),
    }
}

/// Calls `f` with the offsets of each row's first value.
fn for_rows(scan: &Scan, f: &mut dyn FnMut(isize, isize)) {
    fn go(rows: &[ScanAxis], from: isize, to: isize, f: &mut dyn FnMut(isize, isize)) {
        match rows {
            [] => f(from, to),
            [row, rest @ ..] => {
                for n in 0..row.extent as isize {
                    go(rest, from + n * row.from, to + n * row.to, f);
                }
            }
        }
    }
    go(&scan.rows, scan.from.offset, scan.to.offset, f);
}

/// Sums within the stated bound, everything else exact.
fn check(scan: &Scan, input: &Array, found: &Array) {
    let t = scan.dtype;
    let eps = if matches!(t, DType::F32 | DType::C64) { f32::EPSILON.into() } else { f64::EPSILON };
    let rounds = t.is_float() || t.is_complex();
    for_rows(scan, &mut |from, to| {
        let mut exact = scalar::identity(scan.reduce, t);
        let (mut sum, mut magnitude) = ((0.0, 0.0), 0.0);
        for n in 0..scan.along.extent as isize {
            let x = input.at(from + n * scan.along.from);
            let y = found.at(to + n * scan.along.to);
            if rounds && scan.reduce == Monoid::Add {
                let ((re, im), (a, b)) = (wide(x), wide(y));
                sum = (sum.0 + re, sum.1 + im);
                magnitude += re.abs() + im.abs();
                let count = n as f64 + 1.0;
                let bound = count.min(512.0) + count.log2() + count / 512.0;
                let off = (a - sum.0).abs() + (b - sum.1).abs();
                assert!(off <= bound * eps * magnitude, "{scan:?} at {n}: {off}");
            } else {
                exact = scalar::binary(scan.reduce.op(), exact, x).unwrap();
                assert!(exact.same_bits(y), "{scan:?} at {n}: {exact:?} and {y:?}");
            }
        }
    });
}

#[test]
fn scans_are_right_for_all_layouts_and_threads() {
    for level in Level::available() {
        let engines = [1, 2, 7].map(|n| Engine::builder().level(level).threads(n).build());
        for (at, &case) in CASES.iter().enumerate() {
            let points = case.0.iter().map(|a| a.0).product::<usize>() * case.1.0;
            for t in DType::ALL.into_iter().filter(|t| t.lanes() == *t) {
                for monoid in Monoid::ALL {
                    let rounded = (t.is_float() || t.is_complex()) && monoid == Monoid::Mul;
                    let rare =
                        points > 10_000 && !(t as usize + monoid as usize + at).is_multiple_of(4);
                    // The planner takes log-add-exps apart.
                    let apart = monoid == Monoid::LogAddExp;
                    if apart || !monoid.op().accepts().contains(t) || rounded || rare {
                        continue;
                    }
                    let plan = plan(case, t, monoid);
                    let Step::Scan(scan) = &plan.steps[0] else { unreachable!() };
                    let mut random = Random::new(at as u64);
                    let mut input = Array::zeros(t, &plan.buffers[0].shape, &[1]);
                    for place in input.offsets() {
                        input.set(place, number(&mut random, t));
                    }
                    let mut all = engines.iter().map(|engine| {
                        let mut found = Array::zeros(t, &plan.buffers[1].shape, &[1]);
                        engine.run(&plan, &[input.view()], &mut [found.view_mut()]).unwrap();
                        found
                    });
                    let first = all.next().unwrap();
                    check(scan, &input, &first);
                    for other in all {
                        let same = |at: isize| first.at(at).same_bits(other.at(at));
                        assert!(first.offsets().into_iter().all(same), "{scan:?}: threads show");
                    }
                }
            }
        }
    }
}

#[test]
fn unsound_scans_are_refused() {
    let refused = |change: &dyn Fn(&mut Scan, &mut Vec<Buffer>)| {
        let mut plan = plan((&[(3, 10, 10)], (10, 1, 1)), DType::F32, Monoid::Add);
        let Step::Scan(scan) = &mut plan.steps[0] else { unreachable!() };
        change(scan, &mut plan.buffers);
        match Engine::default().compile(&plan).expect_err("the plan is unsound") {
            PlanError::Step { fault, .. } | PlanError::Buffer { fault, .. } => fault,
            other => panic!("{other}"),
        }
    };
    assert_eq!(refused(&|s, _| s.along.extent = 11), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.rows[0].extent = 4), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.rows[0].extent = usize::MAX), Fault::TooLarge);
    assert_eq!(refused(&|s, _| s.from.offset = -1), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.to.offset = 1), Fault::Bounds);
    assert_eq!(refused(&|s, _| s.rows[0].to = 0), Fault::Overlap);
    assert_eq!(refused(&|s, _| s.rows[0].to = 5), Fault::Overlap);
    assert_eq!(refused(&|s, _| s.from.buffer = BufferId(1)), Fault::Overlap);
    assert_eq!(refused(&|s, _| s.to.buffer = BufferId(0)), Fault::WritesArgument);
    assert_eq!(refused(&|s, _| s.to.buffer = BufferId(2)), Fault::Reference);
    assert_eq!(refused(&|_, b| b[0].dtype = DType::I32), Fault::Types);
    assert_eq!(refused(&|s, _| s.reduce = Monoid::And), Fault::Types);
}
