//! The functions of `f64` against double-double arithmetic, at `IJK_ULP_POINTS` arguments each.

use crate::reference::Dd;
use ijk_types::math::double;

/// A function, its reference, and the exponents of the arguments.
type Case = (&'static str, fn(f64) -> f64, fn(f64) -> Dd, std::ops::Range<i32>);

const CASES: [Case; 14] = [
    ("exp", double::exp, |x| crate::reference::exp(x.into()), -60..11),
    ("expm1", double::expm1, |x| crate::reference::expm1(x.into()), -300..11),
    ("ln", |x| double::ln(x.abs()), |x| crate::reference::ln(x.abs().into()), -1000..1000),
    ("ln near 1", |x| double::ln(1.0 + x), |x| crate::reference::ln((1.0 + x).into()), -52..-1),
    (
        "log1p",
        |x| double::log1p(x.max(-0.99)),
        |x| crate::reference::log1p(x.max(-0.99)),
        -300..1000,
    ),
    ("tanh", double::tanh, crate::reference::tanh, -300..8),
    ("sigmoid", double::sigmoid, crate::reference::sigmoid, -60..11),
    ("sinh", double::sinh, crate::reference::sinh, -300..10),
    ("cosh", double::cosh, crate::reference::cosh, -60..10),
    ("erf", double::erf, crate::reference::erf, -300..4),
    ("gelu", double::gelu, crate::reference::gelu, -300..6),
    ("sin", double::sin, |x| crate::reference::sin_cos(x).0, -300..30),
    ("cos", double::cos, |x| crate::reference::sin_cos(x).1, -30..30),
    ("tan", double::tan, |x| tan(x), -300..30),
];

fn tan(x: f64) -> Dd {
    let (s, c) = crate::reference::sin_cos(x);
    s / c
}

fn points() -> usize {
    std::env::var("IJK_ULP_POINTS").ok().and_then(|s| s.parse().ok()).unwrap_or(6_000)
}

/// Random bits, the same in every run.
fn bits() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 29 ^ state << 17
    })
}

/// Random numbers with exponents of the range, those near 0 more often.
fn numbers(exponents: std::ops::Range<i32>) -> impl Iterator<Item = f64> {
    bits().enumerate().map(move |(n, bits)| {
        let near = exponents.start.max(-6)..exponents.end.min(8);
        let range = if n % 2 == 0 { exponents.clone() } else { near };
        let width = (range.end - range.start).max(1) as u64;
        let exponent = range.start + ((bits >> 53) % width) as i32;
        let unit = f64::from_bits(bits & 0xf_ffff_ffff_ffff | 1023 << 52);
        libm::ldexp(if bits & 1 << 52 == 0 { unit } else { -unit }, exponent)
    })
}

/// The distance in units of the last place of the exact value.
fn ulps(got: f64, exact: Dd) -> f64 {
    if got.is_nan() || exact.0.is_nan() {
        return f64::INFINITY;
    }
    if got.is_infinite() || exact.0.is_infinite() {
        let close = got == exact.0 || got.abs() == f64::MAX || exact.0.abs() == f64::MAX;
        return if close { 0.0 } else { f64::INFINITY };
    }
    let exponent = if exact.0 == 0.0 { -1022 } else { libm::ilogb(exact.0).max(-1022) };
    // Halved often enough that the unit is no subnormal number.
    let scale = |x: f64| libm::ldexp(x, 52 - exponent);
    (scale(got - exact.0) - scale(exact.1)).abs()
}

/// Down to where exponentials are nothing: two factors make them, either may round or be 0.
#[test]
fn exponentials_below_the_normal_numbers() {
    for x in (0..400_000).map(|n| -708.0 - f64::from(n) * 1e-4) {
        let error = ulps(double::exp(x), crate::reference::exp(x.into()));
        assert!(error <= 1.0, "{x}: {error} ulp");
    }
}

#[test]
fn functions_of_one_operand() {
    let mut wrong = Vec::new();
    for (name, f, reference, exponents) in CASES {
        let mut worst = (0.0, 0.0);
        for x in numbers(exponents).take(points()) {
            let error = ulps(f(x), reference(x));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        println!("f64 {name}: {:.3} ulp at {:e}: {:e}", worst.0, worst.1, f(worst.1));
        if worst.0 > 2.0 {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn functions_of_two_operands() {
    type Case = (&'static str, fn(f64, f64) -> f64, fn(f64, f64) -> Dd, std::ops::Range<i32>);
    let cases: [Case; 4] = [
        ("atan2", double::atan2, crate::reference::atan2, -20..20),
        ("hypot", double::hypot, crate::reference::hypot, -1000..1000),
        ("pow", |x, y| double::pow(x.abs(), y), |x, y| crate::reference::pow(x.abs(), y), -8..9),
        (
            "pow near 1",
            |x, y| double::pow(1.0 + x, y / x),
            |x, y| crate::reference::pow(1.0 + x, y / x),
            -40..-1,
        ),
    ];
    for (name, f, reference, exponents) in cases {
        let mut worst = (0.0, 0.0, 0.0);
        let pairs = numbers(exponents.clone()).zip(numbers(exponents).skip(1));
        for (x, y) in pairs.take(points() * 4) {
            let error = ulps(f(x, y), reference(x, y));
            if error > worst.0 {
                worst = (error, x, y);
            }
        }
        println!("f64 {name}: {:.3} ulp at {:e}, {:e}", worst.0, worst.1, worst.2);
        assert!(worst.0 <= 2.0, "{name}");
    }
}

#[test]
fn remainders_are_exact() {
    for (x, y) in numbers(-30..30).zip(numbers(-40..20).skip(1)).take(200_000) {
        let rest = libm::fmod(x, y);
        let floored = if rest == 0.0 { 0.0f64.copysign(y) } else { rest };
        let floored = if floored * y.signum() < 0.0 { floored + y } else { floored };
        let got = double::modulo(x, y);
        assert!(got.to_bits() == floored.to_bits(), "{x:e} mod {y:e} = {got:e}, not {floored:e}");
    }
}
