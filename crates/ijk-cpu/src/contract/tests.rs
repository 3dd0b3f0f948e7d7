//! Random contractions, compared with a reference that evaluates the definition point by point.

use super::kernels::algebra::Algebra;
use super::select::blocking::Blocking;
use super::select::orient::orient;
use super::{Context, contract};
use crate::tuning::order::{KC, SPLIT_K_STEPS};
use crate::{Level, ScratchPool, Workers};
use ijk_plan::plan::{Base, BufferId, Contraction, ContractionAxis, Role, Then};
use ijk_types::{BinaryOp, C64, C128, DType, Monoid, Scalar, UnaryOp, scalar};
use std::sync::atomic::AtomicUsize;

/// A generator of numbers that need not be good.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

/// Elements of a tensor, with the origin at any position among them.
struct Data {
    bytes: Vec<u8>,
    origin: usize,
}

/// Elements as bytes.
fn bytes(value: Scalar) -> Vec<u8> {
    match value {
        Scalar::Bool(x) => vec![u8::from(x)],
        Scalar::I32(x) => x.to_ne_bytes().to_vec(),
        Scalar::I64(x) => x.to_ne_bytes().to_vec(),
        Scalar::F32(x) => x.to_ne_bytes().to_vec(),
        Scalar::F64(x) => x.to_ne_bytes().to_vec(),
        Scalar::C64(x) => [x.re.to_ne_bytes(), x.im.to_ne_bytes()].concat(),
        Scalar::C128(x) => [x.re.to_ne_bytes(), x.im.to_ne_bytes()].concat(),
    }
}

fn scalar_of(t: DType, b: &[u8]) -> Scalar {
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
    }
}

/// Small integers, so that sums are exact in any order; occasionally a special float.
fn value(t: DType, dice: &mut Dice, special: bool, product: bool) -> Scalar {
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
    }
}

/// Smallest and largest offset over the axes.
fn reach(axes: &[ContractionAxis], stride: fn(&ContractionAxis) -> isize) -> (isize, isize) {
    let far = |a: &ContractionAxis| stride(a) * a.extent.saturating_sub(1) as isize;
    let sum = |keep: fn(isize) -> bool| axes.iter().map(far).filter(|&x| keep(x)).sum();
    (sum(|x| x < 0), sum(|x| x > 0))
}

impl Data {
    fn new(
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

    fn get(&self, t: DType, offset: isize) -> Scalar {
        let at = self.origin.strict_add_signed(offset * t.size() as isize);
        scalar_of(t, &self.bytes[at..at + t.size()])
    }

    fn set(&mut self, t: DType, offset: isize, value: Scalar) {
        let at = self.origin.strict_add_signed(offset * t.size() as isize);
        self.bytes[at..at + t.size()].copy_from_slice(&bytes(value));
    }
}

/// Calls `f` with the offsets in a, b and c of every point.
fn points(axes: &[ContractionAxis], f: &mut impl FnMut([isize; 3])) {
    fn go(axes: &[ContractionAxis], at: [isize; 3], f: &mut impl FnMut([isize; 3])) {
        let Some((axis, rest)) = axes.split_first() else { return f(at) };
        for n in 0..axis.extent as isize {
            go(rest, [at[0] + n * axis.a, at[1] + n * axis.b, at[2] + n * axis.c], f);
        }
    }
    go(axes, [0; 3], f);
}

/// The reference.
fn reference(task: &Contraction, a: &Data, b: &Data, c: &mut Data) {
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

fn run(task: &Contraction, a: &Data, b: &Data, c: &mut Data, level: Level, workers: &Workers) {
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
fn agree(x: Scalar, y: Scalar) -> bool {
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
type Triple = (DType, (BinaryOp, Option<Then>), Monoid);

/// Every combination.
fn triples() -> Vec<Triple> {
    let then = [None, Some(Then::Square), Some(Then::Abs)];
    let maps = || BinaryOp::ALL.into_iter().flat_map(move |f| then.map(|then| (f, then)));
    let all = DType::ALL
        .into_iter()
        .flat_map(|t| maps().flat_map(move |f| Monoid::ALL.into_iter().map(move |m| (t, f, m))));
    all.filter(|&(t, f, m)| Contraction::supports(t, f, m)).collect()
}

/// Strides for axes in that order of memory, outermost first, with gaps and reversals.
fn lay_out(dice: &mut Dice, extents: &[(usize, usize)]) -> Vec<(usize, isize)> {
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
fn place(dice: &mut Dice, axes: &mut [ContractionAxis]) {
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

fn random_axes(dice: &mut Dice, most: usize) -> Vec<ContractionAxis> {
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

fn task((dtype, (map, then), reduce): Triple, axes: Vec<ContractionAxis>) -> Contraction {
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
fn check(task: &Contraction, dice: &mut Dice, workers: &[Workers]) {
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

fn all_workers() -> Vec<Workers> {
    (1..=3).map(Workers::new).collect()
}

/// Number of random contractions: `IJK_CONTRACTIONS`, or enough for every pair.
fn rounds() -> usize {
    std::env::var("IJK_CONTRACTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(8)
}

#[test]
fn random_contractions_agree_with_the_definition() {
    let (mut dice, workers) = (Dice(1), all_workers());
    for _ in 0..rounds() {
        for pair in triples() {
            let axes = random_axes(&mut dice, 6000);
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

fn axis(role: Role, extent: usize, [a, b, c]: [isize; 3]) -> ContractionAxis {
    ContractionAxis { name: String::new(), role, extent, a, b, c }
}

const SUM: [Triple; 5] = [
    (DType::F32, (BinaryOp::Mul, None), Monoid::Add),
    (DType::F64, (BinaryOp::Add, None), Monoid::Min),
    (DType::C64, (BinaryOp::Mul, None), Monoid::Add),
    (DType::I64, (BinaryOp::Mul, None), Monoid::Add),
    (DType::F32, (BinaryOp::Sub, Some(Then::Square)), Monoid::Add),
];

/// `ik*kj` in all orders of memory, with extents around those of blocks and panels.
#[test]
fn matrices_of_many_sizes() {
    let (mut dice, workers) = (Dice(2), all_workers());
    let sizes = [
        (1, 1, 700),
        (33, 25, 257),
        (64, 13, 300),
        (5, 90, 513),
        (100, 1, 520),
        (3, 2, 999),
        (200, 14, 300),
        (11, 150, 530),
    ];
    for size in sizes {
        for order in 0..8 {
            let pair = dice.pick(&SUM);
            check(&task(pair, matrices(size, order)), &mut dice, &workers);
        }
    }
}

/// The axes of a matrix product, each operand in one of both orders.
fn matrices((m, n, k): (usize, usize, usize), order: usize) -> Vec<ContractionAxis> {
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

/// Two panels of two groups of rows, and fewer columns than microkernels of two groups have.
#[test]
fn few_columns_of_four_groups_of_rows() {
    let (mut dice, workers) = (Dice(24), all_workers());
    for (n, k) in [(2, 512), (4, 768), (5, 512), (7, 530), (12, 512)] {
        for m in [32, 64] {
            // Neither rows nor steps are contiguous in lhs.
            let axes = vec![
                axis(Role::M, m, [2, 0, 1]),
                axis(Role::N, n, [0, 1, m as isize]),
                axis(Role::K, k, [2 * m as isize, n as isize, 0]),
            ];
            check(&task(SUM[0], axes), &mut dice, &workers);
        }
    }
}

/// Enough columns for a range for each thread, many lhs panels with columns in place, groups of lhs panels, and rows of
/// lhs in place.
#[test]
fn columns_in_ranges_and_rows_in_groups() {
    let (mut dice, workers) = (Dice(23), all_workers());
    let sizes = [(200, 790, 130), (300, 40, 140), (500, 50, 70), (176, 40, 150), (176, 44, 150)];
    for size in sizes {
        // Rows are contiguous in the output.
        for order in 4..8 {
            check(&task(SUM[0], matrices(size, order)), &mut dice, &workers);
        }
    }
}

/// An lhs in place or copied, some rows at a time; the last part may be smaller.
#[test]
fn small_matrices_in_parts() {
    let (mut dice, workers) = (Dice(7), all_workers());
    let sizes =
        [(16, 16, 100, 9), (7, 9, 90, 5), (300, 1, 33, 13), (5, 40, 64, 14), (3, 700, 2, 3)];
    for (outer, inner, k, n) in sizes {
        for transposed in [false, true] {
            // Steps between the rows, or around them.
            let (far, step) = if transposed { (inner, outer * inner) } else { (k * inner, inner) };
            let axes = vec![
                axis(Role::M, outer, [far as isize, 0, inner as isize]),
                axis(Role::M, inner, [1, 0, 1]),
                axis(Role::K, k, [step as isize, 1, 0]),
                axis(Role::N, n, [0, k as isize, (outer * inner) as isize]),
            ];
            for pair in SUM {
                check(&task(pair, axes.clone()), &mut dice, &workers);
            }
        }
    }
}

/// Batches on one thread: of few groups of rows, the last of which may be partial; in parts; and of one block of
/// panels. Each prefetches the operands of the next one, which may share rhs.
#[test]
fn batches_one_after_another() {
    let (mut dice, workers) = (Dice(25), all_workers());
    let sizes = [(33, 20, 40), (40, 9, 33), (80, 24, 70), (100, 12, 64), (37, 130, 150)];
    for (m, n, k) in sizes {
        for order in 0..8 {
            let pair = dice.pick(&SUM);
            let right = if dice.roll(3) == 0 { 0 } else { (k * n) as isize };
            let batch = axis(Role::Batch, 12, [(m * k) as isize, right, (m * n) as isize]);
            let axes = [vec![batch], matrices((m, n, k), order)].concat();
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// Strides of axes in an order of memory, innermost last, by their place in `order`.
fn dense<const N: usize>(order: [usize; N], extents: [usize; 6]) -> [isize; 6] {
    let (mut strides, mut step) = ([0; 6], 1);
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step *= extents[axis] as isize;
    }
    strides
}

/// Two axes of rows, one or two of columns and two of steps, each tensor contiguous along another one: rows are staged
/// in scratch memory, and steps are k-tiles.
#[test]
fn axes_that_lie_otherwise_in_each_tensor() {
    let (mut dice, workers) = (Dice(8), all_workers());
    const ROLES: [Role; 6] = [Role::M, Role::M, Role::N, Role::N, Role::K, Role::K];
    let extents = [[50, 37, 3, 2, 3, 4], [7, 33, 5, 1, 26, 24], [64, 48, 2, 1, 2, 19]];
    let lefts = [[4, 0, 5, 1], [0, 1, 4, 5], [5, 4, 1, 0], [1, 0, 5, 4]];
    let rights = [[2, 3, 5, 4], [5, 4, 3, 2], [4, 2, 5, 3]];
    let outs = [[0, 2, 3, 1], [1, 3, 2, 0], [1, 0, 3, 2]];
    for (n, extents) in extents.into_iter().enumerate() {
        for left in lefts {
            for (right, out) in rights.into_iter().flat_map(|r| outs.map(|o| (r, o))) {
                let [a, b, c] = [left, right, out].map(|order| dense(order, extents));
                let axes = (0..6).map(|x| axis(ROLES[x], extents[x], [a[x], b[x], c[x]]));
                let axes = axes.filter(|a| a.extent > 1).collect();
                let sum = if n == 0 { SUM[0] } else { dice.pick(&SUM) };
                check(&task(sum, axes), &mut dice, &workers);
            }
        }
    }
}

/// Rows, columns and steps of many short axes, and some longer ones, in a different order in each tensor.
#[test]
fn many_short_axes_in_any_order() {
    let (mut dice, workers) = (Dice(21), all_workers());
    for round in 0..60 {
        let mut axes = Vec::new();
        let mut add = |dice: &mut Dice, role, most: usize, of: &[usize]| {
            let mut points = 1;
            loop {
                let extent = dice.pick(of);
                points *= extent;
                if points > most {
                    break;
                }
                axes.push(axis(role, extent, [0; 3]));
            }
        };
        add(&mut dice, Role::M, 3000, &[2, 2, 2, 3, 4, 6, 48]);
        add(&mut dice, Role::N, 24, &[2, 3, 4]);
        add(&mut dice, Role::K, if round % 20 == 0 { 600 } else { 12 }, &[2, 3, 4]);
        place(&mut dice, &mut axes);
        let sum = dice.pick(&SUM);
        check(&task(sum, axes), &mut dice, &workers);
    }
}

/// Short runs of rows in the output, adjacent to those of other columns: they are joined in scratch memory, all columns
/// of an axis or some.
#[test]
fn runs_of_several_columns_are_joined() {
    let (mut dice, workers) = (Dice(22), all_workers());
    const ROLES: [Role; 5] = [Role::M, Role::M, Role::N, Role::N, Role::K];
    let extents = [
        [30, 20, 2, 24, 7, 1],
        [40, 9, 4, 16, 1, 1],
        [25, 17, 4, 10, 64, 1],
        // Large enough for several threads.
        [18, 18, 32, 10, 28, 1],
    ];
    let lefts = [[0, 1, 4], [4, 1, 0], [1, 0, 4]];
    let rights = [[2, 3, 4], [4, 2, 3]];
    for extents in extents {
        for (left, right) in lefts.into_iter().flat_map(|l| rights.map(|r| (l, r))) {
            for out in [[0, 2, 3, 1], [2, 0, 3, 1]] {
                let [a, b] = [left, right].map(|order| dense(order, extents));
                let c = dense(out, extents);
                let axes = (0..5).map(|x| axis(ROLES[x], extents[x], [a[x], b[x], c[x]]));
                let axes = axes.filter(|a| a.extent > 1).collect();
                check(&task(dice.pick(&SUM), axes), &mut dice, &workers);
            }
        }
    }
}

/// `[i+k]*k~ik . +ik~i`.
#[test]
fn correlations() {
    let (mut dice, workers) = (Dice(3), all_workers());
    for pair in SUM {
        for (m, k) in [(1000, 64), (77, 300), (5000, 3)] {
            let axes = vec![axis(Role::M, m, [1, 0, 1]), axis(Role::K, k, [1, 1, 0])];
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// `nc[s*h+r][s*w+t]*fcrt~nfhw` with filters of some sides, images of either operand, and outputs of `w` columns.
fn convolution(
    [f, c, w, side]: [usize; 4],
    stride: isize,
    reversed: bool,
    swapped: bool,
) -> Vec<ContractionAxis> {
    let (n, h) = (2, 9);
    let pitch = stride * w as isize + side as isize + 1;
    let plane = pitch * (stride * h as isize + side as isize);
    let image = c as isize * plane;
    let taps = (side * side) as isize;
    let along = if reversed { -1 } else { 1 };
    let outputs = (h * w) as isize;
    let axes = [
        (Role::M, n, [image, 0, f as isize * outputs]),
        (Role::M, h, [stride * pitch, 0, w as isize]),
        (Role::M, w, [stride * along, 0, 1]),
        (Role::N, f, [0, c as isize * taps, outputs]),
        (Role::K, c, [plane, taps, 0]),
        (Role::K, side, [pitch, side as isize, 0]),
        (Role::K, side, [along, 1, 0]),
    ];
    let swap = |(role, extent, [a, b, c]): (Role, usize, [isize; 3])| {
        let role = match role {
            Role::M => Role::N,
            Role::N => Role::M,
            other => other,
        };
        axis(role, extent, [b, a, c])
    };
    match swapped {
        true => axes.map(swap).to_vec(),
        false => axes.map(|(role, extent, strides)| axis(role, extent, strides)).to_vec(),
    }
}

/// Windows in place, or packed if a panel extends to the next row of an image: one group of filters and several, more
/// than a block of k, of strides 1, 2 and 3, and reversed ones.
#[test]
fn convolutions() {
    let (mut dice, workers) = (Dice(8), all_workers());
    let sizes = [[5, 3, 16, 3], [16, 6, 16, 7], [40, 4, 21, 3], [64, 2, 24, 3], [33, 30, 8, 3]];
    for pair in SUM {
        for (size, stride) in sizes.into_iter().zip([1, 2, 1, 3, 1]) {
            let (reversed, swapped) = (dice.roll(3) == 0, dice.roll(2) == 0);
            let axes = convolution(size, stride, reversed, swapped);
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// Packed rows of stride 2, for runs of steps of many lengths.
#[test]
fn strided_convolutions_of_few_steps() {
    let (mut dice, workers) = (Dice(9), all_workers());
    for side in 1..=9 {
        let axes = convolution([130, 1, 12, side], 2, false, dice.roll(2) == 0);
        check(&task(SUM[0], axes), &mut dice, &workers);
    }
}

/// Filters fill the lanes if that avoids packing an image as often as windows overlap.
#[test]
fn windows_are_read_where_they_lie() {
    // Not with few steps, disjoint windows, or many filters.
    let sizes = [
        ([16, 16, 16, 7], true),
        ([64, 64, 56, 3], true),
        ([64, 3, 56, 3], false),
        ([64, 64, 56, 1], false),
        ([192, 64, 56, 3], false),
    ];
    for (size, expected) in sizes {
        let task = task(SUM[0], convolution(size, 1, false, false));
        for level in Level::available() {
            let Some(algebra) = Algebra::find(level, &task) else {
                panic!("there are microkernels")
            };
            let rich = !algebra.tiles.windows.is_empty();
            let problem = orient(&task, algebra);
            let across = Blocking::of(&problem, 2).unpacked_rhs;
            let windows = across.is_some_and(|across| across.windows);
            assert_eq!(windows, expected && rich, "{size:?} {}", level.name());
        }
    }
}

/// Few outputs of a long k: split-k.
#[test]
fn long_sums() {
    let (mut dice, workers) = (Dice(4), all_workers());
    let k = 2 * SPLIT_K_STEPS + 1234;
    for pair in SUM {
        for (m, n) in [(1, 1), (3, 2)] {
            let axes = vec![
                axis(Role::M, m, [k as isize, 0, 7]),
                axis(Role::N, n, [0, 1, 1]),
                axis(Role::K, k, [1, n as isize, 0]),
            ];
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// The same if each operand is contiguous along another axis of k.
#[test]
fn long_sums_of_transposed_operands() {
    let (mut dice, workers) = (Dice(9), all_workers());
    for pair in SUM {
        for (m, x, y) in [(1, 331, 107), (3, 40, 1000)] {
            let size = (x * y) as isize;
            let axes = vec![
                axis(Role::M, m, [size, 0, 1]),
                axis(Role::K, x, [y as isize, 1, 0]),
                axis(Role::K, y, [1, x as isize, 0]),
            ];
            check(&task(pair, axes), &mut dice, &workers);
        }
    }
}

/// An empty k yields the identity; an empty output remains empty.
#[test]
fn empty_bundles() {
    let (mut dice, workers) = (Dice(5), all_workers());
    for pair in triples() {
        for (m, n, k) in [(3, 40, 0), (0, 5, 5), (5, 0, 5), (1, 1, 0), (0, 0, 0)] {
            let axes = vec![
                axis(Role::M, m, [5, 0, 40]),
                axis(Role::N, n, [0, 1, 1]),
                axis(Role::K, k, [1, 40, 0]),
            ];
            check(&task(pair, axes), &mut dice, &workers);
        }
        // No columns, with rows of short axes whose order differs in the output.
        let axes = vec![
            axis(Role::M, 9, [-195, 0, -26]),
            axis(Role::M, 13, [15, 0, 2]),
            axis(Role::N, 0, [0, 1, 1]),
            axis(Role::M, 3, [1, 0, 234]),
            axis(Role::K, 5, [3, 1, 0]),
        ];
        check(&task(pair, axes), &mut dice, &workers);
    }
}

/// Large enough for several blocks and for threads.
#[test]
fn threads_do_not_change_results() {
    let workers = all_workers();
    let (m, n, k) = (500, 300, 600);
    let axes = vec![
        axis(Role::M, m, [k as isize, 0, n as isize]),
        axis(Role::N, n, [0, 1, 1]),
        axis(Role::K, k, [1, n as isize, 0]),
    ];
    let task = task(SUM[0], axes);
    let mut dice = Dice(6);
    let mut fill = || Scalar::F32(dice.roll(1 << 24) as f32 / 1e6);
    let a = Data::new(DType::F32, &task.axes, |x| x.a, &mut fill);
    let b = Data::new(DType::F32, &task.axes, |x| x.b, &mut fill);
    for level in Level::available() {
        let results = workers.iter().map(|workers| {
            let mut c = Data::new(DType::F32, &task.axes, |x| x.c, || Scalar::F32(f32::NAN));
            run(&task, &a, &b, &mut c, level, workers);
            c.bytes
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{}", level.name());
    }
}

/// Few rows in place, and several blocks of k: threads share the columns.
#[test]
fn threads_share_columns_of_few_rows() {
    for (m, k) in [(8, 900), (16, 400), (17, 300), (33, 240)] {
        let n = 700;
        let axes = vec![
            axis(Role::M, m, [1, 0, 1]),
            axis(Role::N, n, [0, k as isize, m as isize]),
            axis(Role::K, k, [m as isize, 1, 0]),
        ];
        let task = task((DType::F32, (BinaryOp::Mul, None), Monoid::Add), axes);
        let mut dice = Dice(8);
        let mut fill = || Scalar::F32(dice.roll(1 << 24) as f32 / 1e6);
        let a = Data::new(DType::F32, &task.axes, |x| x.a, &mut fill);
        let b = Data::new(DType::F32, &task.axes, |x| x.b, &mut fill);
        for level in Level::available() {
            let result = |workers: &Workers| {
                let mut c = Data::new(DType::F32, &task.axes, |x| x.c, || Scalar::F32(f32::NAN));
                run(&task, &a, &b, &mut c, level, workers);
                c.bytes
            };
            let (one, many) = (result(&Workers::new(1)), Workers::new(3));
            for _ in 0..40 {
                assert!(result(&many) == one, "{} {m} {k}", level.name());
            }
        }
    }
}

/// The error bound that the module states.
#[test]
fn sums_keep_their_error_bound() {
    let k = 5000;
    let task = task(
        (DType::F32, (BinaryOp::Mul, None), Monoid::Add),
        vec![
            axis(Role::M, 20, [1, 0, 1]),
            axis(Role::N, 20, [0, 1, 20]),
            axis(Role::K, k, [20, 20, 0]),
        ],
    );
    let mut dice = Dice(7);
    let mut fill = || Scalar::F32(dice.roll(1 << 20) as f32 / 1e3 - 500.0);
    let a = Data::new(DType::F32, &task.axes, |x| x.a, &mut fill);
    let b = Data::new(DType::F32, &task.axes, |x| x.b, &mut fill);
    let mut c = Data::new(DType::F32, &task.axes, |x| x.c, || Scalar::F32(0.0));
    for level in Level::available() {
        run(&task, &a, &b, &mut c, level, &Workers::new(1));
        let steps = 2.0 * KC as f64 + 2.0 * k as f64 / KC as f64;
        for m in 0..20 {
            for n in 0..20 {
                let term = |k: usize| {
                    let at = (20 * k) as isize;
                    a.get(DType::F32, at + m).as_f64() * b.get(DType::F32, at + n).as_f64()
                };
                let exact: f64 = (0..k).map(term).sum();
                let size: f64 = (0..k).map(|k| term(k).abs()).sum();
                let error = (c.get(DType::F32, m + 20 * n).as_f64() - exact).abs();
                assert!(error <= steps * f64::from(f32::EPSILON) * size);
            }
        }
    }
}

/// Few rows and columns of long k: full and partial groups of lanes, strided steps.
#[test]
fn thin_matrices() {
    let (mut dice, workers) = (Dice(11), all_workers());
    for k in [64, 333, 2 * SPLIT_K_STEPS + 77] {
        for (m, n, gap) in [(1, 5, 0), (3, 2, 0), (5, 7, 2), (8, 8, 0), (8, 1, 3), (7, 9, 0)] {
            let [a, b] = [m + gap, n].map(|x| x as isize);
            let axes = vec![
                axis(Role::M, m, [1, 0, 1]),
                axis(Role::N, n, [0, 1, m as isize]),
                axis(Role::K, k, [a, b, 0]),
            ];
            check(&task(SUM[0], axes.clone()), &mut dice, &workers);
            check(&task(SUM[2], axes), &mut dice, &workers);
        }
    }
}
