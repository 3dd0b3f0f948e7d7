//! Chains against scalar functions, one after another.

use super::*;
use ijk_types::{BinaryOp, Monoid, Real, Scalar, UnaryOp, scalar};
use std::ops::{Add, Mul};

/// Reference result of a unary or binary link.
fn link_of(op: LinkOp, value: Scalar, x: Scalar) -> Scalar {
    let binary = |op, a, b| scalar::binary(op, a, b).unwrap();
    let square = binary(BinaryOp::Mul, value, value);
    match op {
        LinkOp::Start => x,
        LinkOp::Add => binary(BinaryOp::Add, value, x),
        LinkOp::Sub => binary(BinaryOp::Sub, value, x),
        LinkOp::SubFrom => binary(BinaryOp::Sub, x, value),
        LinkOp::Mul => binary(BinaryOp::Mul, value, x),
        LinkOp::Div => binary(BinaryOp::Div, value, x),
        LinkOp::DivInto => binary(BinaryOp::Div, x, value),
        LinkOp::Max => binary(BinaryOp::Max, value, x),
        LinkOp::MaxOf => binary(BinaryOp::Max, x, value),
        LinkOp::Min => binary(BinaryOp::Min, value, x),
        LinkOp::MinOf => binary(BinaryOp::Min, x, value),
        LinkOp::Square => square,
        LinkOp::Cube => binary(BinaryOp::Mul, square, value),
        LinkOp::Neg => scalar::unary(UnaryOp::Neg, value).unwrap(),
        LinkOp::Abs => scalar::unary(UnaryOp::Abs, value).unwrap(),
        LinkOp::Sqrt => scalar::unary(UnaryOp::Sqrt, value).unwrap(),
        LinkOp::Floor => scalar::unary(UnaryOp::Floor, value).unwrap(),
        LinkOp::Ceil => scalar::unary(UnaryOp::Ceil, value).unwrap(),
        LinkOp::Round => scalar::unary(UnaryOp::Round, value).unwrap(),
        _ => unreachable!("the others have more operands"),
    }
}

/// Reference result of any link.
fn linked_all(op: LinkOp, product: bool, value: Scalar, [x, y, z]: [Scalar; 3]) -> Scalar {
    let holds = |op| scalar::binary(op, y, z) == Ok(Scalar::Bool(true));
    let keeps = match op {
        LinkOp::KeepLt => holds(BinaryOp::Lt),
        LinkOp::KeepLe => holds(BinaryOp::Le),
        LinkOp::KeepEq => holds(BinaryOp::Eq),
        LinkOp::TakeLt => !holds(BinaryOp::Lt),
        LinkOp::TakeLe => !holds(BinaryOp::Le),
        _ => !holds(BinaryOp::Eq),
    };
    match op {
        _ if op.compares() => {
            if keeps {
                value
            } else {
                x
            }
        }
        _ if product => link_of(op, value, scalar::binary(BinaryOp::Mul, x, y).unwrap()),
        _ => link_of(op, value, x),
    }
}

const OPS: [LinkOp; 22] = [
    LinkOp::Add,
    LinkOp::Sub,
    LinkOp::SubFrom,
    LinkOp::Mul,
    LinkOp::Div,
    LinkOp::DivInto,
    LinkOp::Max,
    LinkOp::MaxOf,
    LinkOp::Min,
    LinkOp::MinOf,
    LinkOp::Square,
    LinkOp::Cube,
    LinkOp::Neg,
    LinkOp::Abs,
    LinkOp::Sqrt,
    LinkOp::Floor,
    LinkOp::Ceil,
    LinkOp::Round,
    LinkOp::KeepLt,
    LinkOp::KeepLe,
    LinkOp::TakeLt,
    LinkOp::TakeEq,
];

/// Checks chains of two links on special and other numbers, for lengths around whole vectors.
fn check<T: Real>() {
    let special = [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3e-41];
    let at = |n: usize| {
        T::cast_from(if n.is_multiple_of(3) { special[n / 3 % 8] } else { n as f64 / 4.0 - 30.0 })
    };
    let x: Vec<T> = (0..300).map(at).collect();
    let y: Vec<T> = (0..300).map(|n| at(n * 7 + 1)).collect();
    let levels = Level::available().into_iter().filter(|&level| chains(T::DTYPE, level));
    for (level, first, second) in levels
        .flat_map(|level| OPS.map(|first| (level, first)))
        .flat_map(|(level, first)| OPS.map(|second| (level, first, second)))
    {
        let lengths = [0, 1, 15, 16, 130, 136, 257, 264, 290];
        for (n, one) in lengths.into_iter().zip([true, false].into_iter().cycle()) {
            let (product, z) = (n % 2 == 0 && !first.compares(), &x[5..]);
            let operand = |one, from: &[T]| (one, from.as_ptr().cast::<u8>());
            let link = |op, product, mut operands: [(bool, *const u8); 3]| {
                if product && operands[0].0 {
                    operands.swap(0, 1);
                }
                let code = LinkCode::new(op, product, operands.map(|(one, _)| one));
                let half = (n / 2 * size_of::<T>()) as isize;
                let rows = operands.map(|(one, _)| if one { 0 } else { half });
                let operands = operands.map(|(_, first)| first);
                Link { code, size: size_of::<T>(), operands, rows, ahead: 0 }
            };
            let start = operand(false, &x);
            let mut links = [
                link(LinkOp::Start, false, [start; 3]),
                link(first, product, [operand(one, &y), operand(!one, z), start]),
                link(second, false, [operand(!one, z), operand(false, &y), operand(one, &x)]),
            ];
            let rows = match n % 4 {
                0 => ChainRows { count: 2, length: n / 2, step: (n / 2 * size_of::<T>()) as isize },
                _ => ChainRows::one(n),
            };
            let mut out = vec![T::default(); n];
            let to = Destination { first: out.as_mut_ptr().cast(), stream: n % 3 == 0 };
            // SAFETY: operands have `n` elements, or one.
            unsafe { chain(level, T::DTYPE, rows, to, &mut links) };
            for (k, &got) in out.iter().enumerate() {
                let with = |from: &[T], one: bool| from[if one { 0 } else { k }].into_scalar();
                let start = with(&x, false);
                let operands = [with(&y, one), with(z, !one), start];
                let value = linked_all(first, product, start, operands);
                let operands = [with(z, !one), with(&y, false), with(&x, one)];
                let value = linked_all(second, false, value, operands);
                let nan = scalar::binary(BinaryOp::Ne, value, value) == Ok(Scalar::Bool(true));
                #[allow(clippy::eq_op, reason = "NaN is what differs from itself")]
                let same = got.into_scalar().same_bits(value) || nan && got != got;
                assert!(same, "{first:?} {second:?} {:?}: {value:?}, not {got:?}", x[k]);
            }
        }
    }
}

#[test]
fn chains_are_functions_one_after_another() {
    check::<f32>();
    check::<f64>();
}

/// Rows of elements, times one element of each row, plus a row for all; with `STORED`, products are stored on the way.
fn check_rows<T: Real + Mul<Output = T> + Add<Output = T>, const STORED: bool>() {
    let x: Vec<T> = (0..9 * 300).map(|n| T::cast_from(n as f64 - 70.0)).collect();
    let size = size_of::<T>() as isize;
    let link = |op, one, from: &[T], step| {
        let code = LinkCode::new(op, false, [one; 3]);
        let operands = [from.as_ptr().cast::<u8>(); 3];
        Link { code, size: size_of::<T>(), operands, rows: [step; 3], ahead: 4096 }
    };
    let (ones, row) = (&x[50..], &x[7..]);
    for level in Level::available().into_iter().filter(|&level| chains(T::DTYPE, level)) {
        for (count, length) in [1, 2, 3, 7, 8, 9].into_iter().flat_map(|count| {
            [1, 7, 16, 17, 31, 63, 64, 65, 80, 127, 128, 192, 200, 256, 300].map(|n| (count, n))
        }) {
            let mut products = vec![T::default(); count * length];
            let rows = length as isize * size;
            let mut links =
                vec![link(LinkOp::Start, false, &x, rows), link(LinkOp::Mul, true, ones, size)];
            if STORED {
                let operands = [products.as_mut_ptr().cast_const().cast::<u8>(); 3];
                links.push(Link { operands, ..link(LinkOp::Store, false, &[], rows) });
                links.push(link(LinkOp::Start, false, row, 0));
                links
                    .push(Link { code: LinkCode::new(LinkOp::Add, false, [false; 3]), ..links[2] });
            } else {
                links.push(link(LinkOp::Add, false, row, 0));
            }
            let gap = length + 3;
            let mut out = vec![T::default(); count * gap];
            let to = Destination { first: out.as_mut_ptr().cast(), stream: length % 2 == 0 };
            let rows = ChainRows { count, length, step: gap as isize * size };
            // SAFETY: operands have these rows, and the destination has gaps between them.
            unsafe { chain(level, T::DTYPE, rows, to, &mut links) };
            for (n, &got) in out.iter().enumerate() {
                let (i, j) = (n / gap, n % gap);
                let expected = match j < length {
                    true => x[i * length + j] * ones[i] + row[j],
                    false => T::default(),
                };
                assert!(got == expected, "{count} rows of {length}: {got:?} at {i}, {j}");
            }
        }
    }
}

#[test]
fn rows_have_their_own_operands() {
    check_rows::<f32, false>();
    check_rows::<f64, false>();
}

#[test]
fn values_are_stored_on_the_way() {
    check_rows::<f32, true>();
    check_rows::<f64, true>();
}

/// Quotients of all integers of 16 bits by a divisor, of a chain and of divisions.
fn check_short<T: Real + From<u16> + std::ops::Div<Output = T> + PartialEq + std::fmt::Debug>(
    level: Level,
    divisor: T,
) {
    let whole: Vec<u16> = (0..=u16::MAX).collect();
    let Some(inverse) = LinkOp::inverse(divisor.into_scalar()) else { panic!("{divisor:?}") };
    let inverse = inverse.to_ne_bytes();
    let mut found = vec![divisor; whole.len()];
    let link = |op, a: *const u8, b: *const u8, ones| Link {
        code: LinkCode::new(op, false, ones),
        size: 2,
        operands: [a, b, b],
        rows: [0; 3],
        ahead: 0,
    };
    let (from, by) = (whole.as_ptr().cast(), std::ptr::from_ref(&divisor).cast());
    let mut links = [
        link(LinkOp::StartU16, from, from, [false; 3]),
        link(LinkOp::DivShort, by, inverse.as_ptr(), [true; 3]),
    ];
    let to = Destination { first: found.as_mut_ptr().cast(), stream: false };
    // SAFETY: the operands and the destination are of this length.
    unsafe { chain(level, T::DTYPE, ChainRows::one(whole.len()), to, &mut links) };
    for (n, quotient) in whole.into_iter().zip(found) {
        let expected = T::from(n) / divisor;
        assert_eq!(
            quotient.into_scalar().to_ne_bytes(),
            expected.into_scalar().to_ne_bytes(),
            "{n} / {divisor:?}"
        );
    }
}

#[test]
fn short_integers_are_divided_exactly() {
    let mut bits = 1u64;
    let mut next = || {
        bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        bits >> 11
    };
    for level in Level::available().into_iter().filter(|&level| chains(DType::F32, level)) {
        for n in 1..=120u16 {
            check_short(level, f32::from(n));
            check_short(level, -1.0 / f64::from(n));
            check_short(level, f32::from_bits(0x3f80_0000 | next() as u32 & 0x7f_ffff));
            check_short(level, f64::from_bits(0x3ff0 << 48 | next() >> 1));
        }
        // Significands of ones but for a few bits are the hardest.
        for n in 0..64 {
            check_short(level, f32::from_bits(0x4000_0000 - 1 - n));
            check_short(level, f64::from_bits((0x4000 << 48) - 1 - u64::from(n)));
        }
    }
}

/// Checks that rows are folded in turn.
fn check_folds<T: Real>(of: Monoid) {
    let at = |n: usize| match n % 97 {
        13 => T::cast_from(-0.0),
        n => T::cast_from(n as f64 / 7.0 - 5.0),
    };
    let x: Vec<T> = (0..6000).map(at).collect();
    // No value equals its mean: a square of 0 would hide other zeros from minima.
    let mean = |n: usize| T::cast_from(((n * 31 + 5) % 97) as f64 / 7.0 - 4.99);
    let means: Vec<T> = (0..1100).map(mean).collect();
    let levels = Level::available().into_iter().filter(|&level| chains(T::DTYPE, level));
    for level in levels {
        for (count, n, gap) in [(1, 128, 0), (3, 129, 2), (5, 300, 0), (4, 1024, 8), (2, 1100, 1)] {
            if !folds_chain(level, T::DTYPE, n) {
                continue;
            }
            let size = size_of::<T>();
            let link = |op, from: &[T], step: usize| Link {
                code: LinkCode::new(op, false, [false; 3]),
                size,
                operands: [from.as_ptr().cast(); 3],
                rows: [(step * size) as isize; 3],
                ahead: 0,
            };
            let links = [
                link(LinkOp::Start, &x, n + gap),
                link(LinkOp::Sub, &means, 0),
                link(LinkOp::Square, &x, n + gap),
            ];
            let mut sums: Vec<T> = (0..n).map(at).collect();
            let mut expected: Vec<T> = sums.clone();
            let rows = ChainRows { count, length: n, step: 0 };
            let fold = ChainFold::of(of).unwrap();
            let acc = (FoldTo::Down(sums.as_mut_ptr().cast()), fold);
            // SAFETY: operands have these rows, of which the means are the same in each.
            unsafe { fold_chain(level, T::DTYPE, rows, acc, &links) };
            for row in 0..count {
                for k in 0..n {
                    let own = x[row * (n + gap) + k].into_scalar();
                    let own = scalar::binary(BinaryOp::Sub, own, means[k].into_scalar()).unwrap();
                    let own = link_of(LinkOp::Square, own, own);
                    let sum = scalar::binary(of.op(), expected[k].into_scalar(), own).unwrap();
                    expected[k] = T::from_scalar(sum).unwrap();
                }
            }
            let bits = |all: &[T]| all.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>();
            assert_eq!(bits(&sums), bits(&expected), "{of:?}, {count} rows of {n}");
            // Along rows, in lanes.
            let length = folded_length(level, T::DTYPE, n);
            let mut folded = vec![T::default(); count * length];
            let to = (FoldTo::Along(folded.as_mut_ptr().cast()), fold);
            let mut values = vec![T::default(); count * n];
            let dense = ChainRows { step: (n * size) as isize, ..rows };
            let all = Destination { first: values.as_mut_ptr().cast(), stream: false };
            // SAFETY: as above.
            unsafe {
                fold_chain(level, T::DTYPE, rows, to, &links);
                chain(level, T::DTYPE, dense, all, &mut links.clone());
            }
            let kernels = crate::tile::fold(of, T::DTYPE, level).unwrap();
            let sums = [(&folded, length), (&values, n)].map(|(rows, length)| {
                // A start that hides nothing.
                let start = if of == Monoid::Min { 1e6 } else { -1e6 };
                let mut sums = vec![T::cast_from(start); count];
                // SAFETY: rows of this length, and a sum for each.
                unsafe {
                    (kernels.along)(count, length, sums.as_mut_ptr().cast(), rows.as_ptr().cast());
                }
                bits(&sums)
            });
            assert_eq!(sums[0], sums[1], "{of:?} along {count} rows of {n}");
        }
    }
}

#[test]
fn rows_of_chains_are_folded_in_turn() {
    for of in [Monoid::Add, Monoid::Max, Monoid::Min] {
        check_folds::<f32>(of);
        check_folds::<f64>(of);
    }
}

/// Checks links that choose by bools, of each element or of each row.
fn check_choices<T: Real>() {
    let x: Vec<T> = (0..1000).map(|n| T::cast_from(n as f64)).collect();
    let others: Vec<T> = (0..1000).map(|n| T::cast_from(-1.0 - n as f64)).collect();
    let bools: Vec<u8> = (0..1000).map(|n| u8::from((n * 7 + n / 5) % 3 == 0)).collect();
    let levels = Level::available().into_iter().filter(|&level| chains(T::DTYPE, level));
    let cases = levels.flat_map(|level| {
        let lengths = [5, 16, 40, 129, 300];
        lengths
            .map(|n| [false, true].map(|one| [false, true].map(|by_row| (level, n, one, by_row))))
    });
    for (level, n, one, by_row) in cases.flatten().flatten() {
        let (count, size) = (3, size_of::<T>());
        let (own, each) = (n * size, if by_row { 1 } else { n as isize });
        let link = |op, from: &[T], one: bool| {
            let rows = [if one { size } else { own } as isize, each, 0];
            let operands = [from.as_ptr().cast(), bools.as_ptr(), std::ptr::null()];
            let code = LinkCode::new(op, false, [one, by_row, false]);
            Link { code, size, operands, rows, ahead: 0 }
        };
        let mut links = [
            link(LinkOp::Start, &x, false),
            link(LinkOp::KeepIf, &others, one),
            link(LinkOp::TakeIf, &x[1..], one),
        ];
        let mut out = vec![T::default(); count * n];
        let to = Destination { first: out.as_mut_ptr().cast(), stream: false };
        let rows = ChainRows { count, length: n, step: own as isize };
        // SAFETY: operands have these rows, or an element for each.
        unsafe { chain(level, T::DTYPE, rows, to, &mut links) };
        for (k, got) in out.iter().enumerate() {
            let place = |one: bool| if one { k / n } else { k };
            let expected = match bools[place(by_row)] {
                1 => x[1 + place(one)],
                _ => others[place(one)],
            };
            assert_eq!(format!("{got:?}"), format!("{expected:?}"), "{k} of rows of {n}");
        }
    }
}

#[test]
fn links_choose_by_bools() {
    check_choices::<f32>();
    check_choices::<f64>();
}
