//! Random contractions, and a reference that evaluates the definition point by point.

use crate::contract::{Context, contract};
use crate::{Level, ScratchPool, Workers};
use ijk_plan::plan::{Base, BufferId, Contraction, ContractionAxis, Role, Then};
use ijk_types::{BinaryOp, C64, C128, DType, Monoid, Scalar, UnaryOp, scalar};
use std::sync::atomic::AtomicUsize;

/// A generator of numbers that need not be good.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

/// Elements of a tensor, with the origin at any position among them.
pub(super) struct Data {
    pub(super) bytes: Vec<u8>,
    pub(super) origin: usize,
}

/// Elements as bytes.
pub(super) fn bytes(value: Scalar) -> Vec<u8> {
    value.to_ne_bytes()[..value.dtype().size()].to_vec()
}

pub(super) fn scalar_of(t: DType, b: &[u8]) -> Scalar {
    let f32_at = |n: usize| f32::from_ne_bytes(b[n..n + 4].try_into().unwrap());
    let f64_at = |n: usize| f64::from_ne_bytes(b[n..n + 8].try_into().unwrap());
    match t {
        DType::Bool => Scalar::Bool(b[0] != 0),
        DType::I32 => Scalar::I32(i32::from_ne_bytes(b[..4].try_into().unwrap())),
        DType::I64 => Scalar::I64(i64::from_ne_bytes(b[..8].try_into().unwrap())),
        DType::F32 => Scalar::F32(f32_at(0)),
        DType::F64 => Scalar::F64(f64_at(0)),
        DType::C64 => Scalar::C64(C64::new(f32_at(0), f32_at(4))),
        DType::C128 => Scalar::C128(C128::new(f64_at(0), f64_at(8))),
        _ => unreachable!("no contraction has it"),
    }
}

/// Small integers, so that sums are exact in any order; occasionally a special float.
pub(super) fn value(t: DType, dice: &mut Dice, special: bool, product: bool) -> Scalar {
    let spread = if product { 2 } else { 9 };
    let n = dice.roll(spread) as i64 - if product { 0 } else { 4 };
    let n = if product { 2 * n - 1 } else { n };
    let m = dice.roll(9) as f64 - 4.0;
    let odd = special && dice.roll(12) == 0;
    let x = if odd { dice.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]) } else { n as f64 };
    match t {
        DType::Bool => Scalar::Bool(dice.roll(2) == 1),
        DType::I32 => Scalar::I32(if special { n as i32 * 0x1234_5678 } else { n as i32 }),
        DType::I64 => Scalar::I64(if special { n * 0x1234_5678_9ABC_DEF1 } else { n }),
        DType::F32 => Scalar::F32(x as f32),
        DType::F64 => Scalar::F64(x),
        DType::C64 => Scalar::C64(C64::new(n as f32, if product { 0.0 } else { m as f32 })),
        DType::C128 => Scalar::C128(C128::new(n as f64, if product { 0.0 } else { m })),
        _ => unreachable!("no contraction has it"),
    }
}

/// Smallest and largest offset over the axes.
pub(super) fn reach(
    axes: &[ContractionAxis],
    stride: fn(&ContractionAxis) -> isize,
) -> (isize, isize) {
    let far = |a: &ContractionAxis| stride(a) * a.extent.saturating_sub(1) as isize;
    let sum = |keep: fn(isize) -> bool| axes.iter().map(far).filter(|&x| keep(x)).sum();
    (sum(|x| x < 0), sum(|x| x > 0))
}

impl Data {
    pub(super) fn new(
        t: DType,
        axes: &[ContractionAxis],
        stride: fn(&ContractionAxis) -> isize,
        mut fill: impl FnMut() -> Scalar,
    ) -> Self {
        let (low, high) = reach(axes, stride);
        let count = (high - low + 1) as usize;
        let bytes: Vec<u8> = (0..count).flat_map(|_| bytes(fill())).collect();
        assert_eq!(bytes.len(), count * t.size());
        Self { bytes, origin: low.unsigned_abs() * t.size() }
    }

    pub(super) fn get(&self, t: DType, offset: isize) -> Scalar {
        let at = self.origin.strict_add_signed(offset * t.size() as isize);
        scalar_of(t, &self.bytes[at..at + t.size()])
    }

    pub(super) fn set(&mut self, t: DType, offset: isize, value: Scalar) {
        let at = self.origin.strict_add_signed(offset * t.size() as isize);
        self.bytes[at..at + t.size()].copy_from_slice(&bytes(value));
    }
}

/// Calls `f` with the offsets in a, b and c of every point.
pub(super) fn points(axes: &[ContractionAxis], f: &mut impl FnMut([isize; 3])) {
    fn go(axes: &[ContractionAxis], at: [isize; 3], f: &mut impl FnMut([isize; 3])) {
        let Some((axis, rest)) = axes.split_first() else { return f(at) };
        for n in 0..axis.extent as isize {
            go(rest, [at[0] + n * axis.a, at[1] + n * axis.b, at[2] + n * axis.c], f);
        }
    }
    go(axes, [0; 3], f);
}

/// The reference.
pub(super) fn reference(task: &Contraction, a: &Data, b: &Data, c: &mut Data) {
    let t = task.dtype;
    let outer: Vec<_> = task.axes.iter().filter(|x| x.role != Role::K).cloned().collect();
    if !task.accumulate {
        points(&outer, &mut |at| c.set(t, at[2], scalar::identity(task.reduce, t)));
    }
    points(&task.axes, &mut |[x, y, z]| {
        let value = scalar::binary(task.map, a.get(t, x), b.get(t, y)).unwrap();
        let value = match task.then {
            None => value,
            Some(Then::Square) => scalar::binary(BinaryOp::Mul, value, value).unwrap(),
            Some(Then::Abs) => scalar::unary(UnaryOp::Abs, value).unwrap(),
        };
        let sum = scalar::binary(task.reduce.op(), c.get(t, z), value).unwrap();
        c.set(t, z, sum);
    });
}

pub(super) fn run(
    task: &Contraction,
    a: &Data,
    b: &Data,
    c: &mut Data,
    level: Level,
    workers: &Workers,
) {
    let scratch = ScratchPool::new();
    let refused = AtomicUsize::new(0);
    let context = Context::new(level, workers, &scratch, &refused);
    let from = |d: &Data| d.bytes[d.origin..].as_ptr();
    // SAFETY: `Data::new` allocates every offset that the axes reach.
    let done =
        unsafe { contract(task, from(a), from(b), c.bytes.as_mut_ptr().add(c.origin), &context) };
    assert_eq!(done, Ok(()));
}

/// Equal, both NaN, or within rounding (quotients are not exact).
pub(super) fn agree(x: Scalar, y: Scalar) -> bool {
    let close = |x: f64, y: f64, eps: f64| {
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= eps * (1.0 + x.abs().max(y.abs()))
    };
    match (x, y) {
        (Scalar::F32(x), Scalar::F32(y)) => close(x.into(), y.into(), 1e-3),
        (Scalar::F64(x), Scalar::F64(y)) => close(x, y, 1e-9),
        (x, y) => x == y,
    }
}

/// Element type, map, reduction.
pub(super) type Triple = (DType, (BinaryOp, Option<Then>), Monoid);

/// Every combination.
pub(super) fn triples() -> Vec<Triple> {
    let then = [None, Some(Then::Square), Some(Then::Abs)];
    let maps = || BinaryOp::ALL.into_iter().flat_map(move |f| then.map(|then| (f, then)));
    let all = DType::ALL
        .into_iter()
        .flat_map(|t| maps().flat_map(move |f| Monoid::ALL.into_iter().map(move |m| (t, f, m))));
    all.filter(|&(t, f, m)| Contraction::supports(t, f, m)).collect()
}

/// Strides for axes in that order of memory, outermost first, with gaps and reversals.
pub(super) fn lay_out(dice: &mut Dice, extents: &[(usize, usize)]) -> Vec<(usize, isize)> {
    let mut order: Vec<_> = extents.to_vec();
    for n in (1..order.len()).rev() {
        order.swap(n, dice.roll(n + 1));
    }
    let mut step = dice.pick(&[1, 1, 1, 2]) as isize;
    let mut strides = Vec::new();
    for &(axis, extent) in &order {
        let sign = dice.pick(&[1, 1, 1, -1]);
        strides.push((axis, sign * step));
        step *= extent.max(1) as isize;
        step += dice.pick(&[0, 0, 0, 1]);
    }
    strides
}

/// Gives axes strides in the tensors that have them.
pub(super) fn place(dice: &mut Dice, axes: &mut [ContractionAxis]) {
    let mut place = |uses: fn(Role) -> bool, set: fn(&mut ContractionAxis, isize)| {
        let used = axes.iter().enumerate().filter(|(_, a)| uses(a.role));
        let extents: Vec<_> = used.map(|(n, a)| (n, a.extent)).collect();
        for (n, stride) in lay_out(dice, &extents) {
            set(&mut axes[n], stride);
        }
    };
    place(|r| r != Role::N, |x, s| x.a = s);
    place(|r| r != Role::M, |x, s| x.b = s);
    place(|r| r != Role::K, |x, s| x.c = s);
}

pub(super) fn random_axes(dice: &mut Dice, most: usize) -> Vec<ContractionAxis> {
    let count = dice.roll(6);
    let mut points = 1;
    let mut axes: Vec<ContractionAxis> = Vec::new();
    for n in 0..count {
        let role = dice.pick(&[Role::Batch, Role::M, Role::N, Role::K, Role::M, Role::N, Role::K]);
        let large = dice.pick(&[1, 2, 3, 4, 5, 7, 8, 13, 17, 33, 40, 70, 300]);
        let extent = if dice.roll(60) == 0 { 0 } else { large.min(most / points).max(1) };
        points *= extent.max(1);
        axes.push(ContractionAxis { name: n.to_string(), role, extent, a: 0, b: 0, c: 0 });
    }
    place(dice, &mut axes);
    for axis in &mut axes {
        match dice.roll(12) {
            0 => axis.a = 0,
            1 => axis.b = 0,
            2 if axis.role == Role::K => axis.a = 1,
            3 if axis.role == Role::M => axis.a = 1,
            _ => {}
        }
    }
    axes
}

pub(super) fn task(
    (dtype, (map, then), reduce): Triple,
    axes: Vec<ContractionAxis>,
) -> Contraction {
    let base = |n| Base { buffer: BufferId(n), offset: 0 };
    let span = Default::default();
    Contraction {
        dtype,
        map,
        then,
        reduce,
        a: base(0),
        b: base(1),
        c: base(2),
        accumulate: false,
        axes,
        span,
    }
}

/// Checks one contraction at every level, with 1, 2 and 3 threads.
pub(super) fn check(task: &Contraction, dice: &mut Dice, workers: &[Workers]) {
    let task = &Contraction { accumulate: dice.roll(3) == 0, ..task.clone() };
    let t = task.dtype;
    let product = task.reduce == Monoid::Mul;
    let special = dice.roll(3) == 0;
    let nonzero = task.map == BinaryOp::Div || product;
    let mut fill = || value(t, dice, special, nonzero);
    let a = Data::new(t, &task.axes, |x| x.a, &mut fill);
    let b = Data::new(t, &task.axes, |x| x.b, &mut fill);
    let zero = scalar::identity(Monoid::Add, t);
    let start = if task.accumulate { value(t, dice, false, nonzero) } else { zero };
    let blank = Data::new(t, &task.axes, |x| x.c, || start);
    let fresh = || Data { bytes: blank.bytes.clone(), origin: blank.origin };
    let mut expected = fresh();
    reference(task, &a, &b, &mut expected);
    for level in Level::available() {
        let mut first: Option<Vec<u8>> = None;
        for workers in workers {
            let mut c = fresh();
            run(task, &a, &b, &mut c, level, workers);
            for (n, (x, y)) in
                c.bytes.chunks(t.size()).zip(expected.bytes.chunks(t.size())).enumerate()
            {
                let (x, y) = (scalar_of(t, x), scalar_of(t, y));
                assert!(agree(x, y), "{}: element {n} {x:?} for {y:?} in {task:#?}", level.name());
            }
            assert_eq!(*first.get_or_insert_with(|| c.bytes.clone()), c.bytes, "threads");
        }
    }
}

pub(super) fn all_workers() -> Vec<Workers> {
    (1..=3).map(Workers::new).collect()
}

/// Number of random contractions: `IJK_CONTRACTIONS`, or enough for every pair.
pub(super) fn rounds() -> usize {
    std::env::var("IJK_CONTRACTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(8)
}

pub(super) fn axis(role: Role, extent: usize, [a, b, c]: [isize; 3]) -> ContractionAxis {
    ContractionAxis { name: String::new(), role, extent, a, b, c }
}

pub(super) const SUM: [Triple; 5] = [
    (DType::F32, (BinaryOp::Mul, None), Monoid::Add),
    (DType::F64, (BinaryOp::Add, None), Monoid::Min),
    (DType::C64, (BinaryOp::Mul, None), Monoid::Add),
    (DType::I64, (BinaryOp::Mul, None), Monoid::Add),
    (DType::F32, (BinaryOp::Sub, Some(Then::Square)), Monoid::Add),
];

/// The axes of a matrix product, each operand in one of both orders.
pub(super) fn matrices((m, n, k): (usize, usize, usize), order: usize) -> Vec<ContractionAxis> {
    let either = |bit: usize, x: usize, y: usize| match order >> bit & 1 {
        0 => (y as isize, 1),
        _ => (1, x as isize),
    };
    let ((am, ak), (bk, bn), (cm, cn)) = (either(0, m, k), either(1, k, n), either(2, m, n));
    vec![
        axis(Role::M, m, [am, 0, cm]),
        axis(Role::N, n, [0, bn, cn]),
        axis(Role::K, k, [ak, bk, 0]),
    ]
}

/// Strides of axes in an order of memory, innermost last, by their place in `order`.
pub(super) fn dense<const N: usize>(order: [usize; N], extents: [usize; 6]) -> [isize; 6] {
    let (mut strides, mut step) = ([0; 6], 1);
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step *= extents[axis] as isize;
    }
    strides
}
