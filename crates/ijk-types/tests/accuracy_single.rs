//! The functions of `f32` against binary64, over all exponents: every `IJK_ULP_STEP`-th bit pattern
//! (1 tests all of them) and the neighbours of special points.

use ijk_types::math::single;
use std::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, LN_2, PI, SQRT_2};

/// A function, its reference, and the greatest error allowed in ulp.
type Case = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);

const CASES: [Case; 14] = [
    ("exp", single::exp, libm::exp, 1.05),
    ("expm1", single::expm1, libm::expm1, 2.0),
    ("ln", single::ln, libm::log, 1.0),
    ("log1p", single::log1p, libm::log1p, 2.0),
    ("tanh", single::tanh, libm::tanh, 2.0),
    ("sigmoid", single::sigmoid, |x| 1.0 / (1.0 + libm::exp(-x)), 2.0),
    ("sinh", single::sinh, libm::sinh, 2.0),
    ("cosh", single::cosh, libm::cosh, 2.0),
    ("erf", single::erf, libm::erf, 2.0),
    ("gelu", single::gelu, gelu, 2.0),
    ("sin", single::sin, libm::sin, 2.0),
    ("cos", single::cos, libm::cos, 2.0),
    ("tan", single::tan, libm::tan, 2.0),
    ("atan", |x| single::atan2(x, 1.0), libm::atan, 2.0),
];

fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

fn step() -> usize {
    std::env::var("IJK_ULP_STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(4099)
}

/// All exponents and signs, and what lies around the points where something changes.
fn arguments() -> impl Iterator<Item = f32> {
    const POINTS: [f32; 22] = [
        0.0,
        1.0,
        2.0,
        0.5,
        4.0,
        0.5 * LN_2,
        LN_2,
        FRAC_1_SQRT_2,
        SQRT_2,
        FRAC_PI_4,
        FRAC_PI_2,
        PI,
        10.0,
        14.8,
        88.72284,
        89.41599,
        103.97208,
        87.33655,
        1048576.0,
        f32::MIN_POSITIVE,
        16777216.0,
        f32::MAX,
    ];
    let around = POINTS.into_iter().flat_map(|p| {
        (-300i32..=300).map(move |d| f32::from_bits(p.to_bits().saturating_add_signed(d)))
    });
    let sweep = (0..=u32::MAX).step_by(step()).map(f32::from_bits);
    sweep.chain(around.flat_map(|x| [x, -x]))
}

/// The distance in units of the last place of the reference.
fn ulps(got: f32, exact: f64) -> f64 {
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let nearest = exact as f32;
    if nearest.is_infinite() || nearest == 0.0 || got.is_infinite() {
        let next_to_infinite = got.abs() == f32::MAX || nearest.abs() == f32::MAX;
        let same = got.to_bits() == nearest.to_bits();
        let tiny = got.abs() <= f32::from_bits(1) && nearest.abs() <= f32::from_bits(1);
        return if same {
            0.0
        } else if next_to_infinite || tiny {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = (libm::ilogb(exact)).max(-126);
    (f64::from(got) - exact).abs() / libm::ldexp(1.0, exponent - 23)
}

#[test]
fn functions_of_one_operand() {
    let worst = |(name, f, reference, bound): Case| {
        let (mut worst, mut at) = (0.0, 0.0);
        for x in arguments() {
            let error = ulps(f(x), reference(x.into()));
            if error > worst {
                (worst, at) = (error, x);
            }
        }
        println!("f32 {name}: {worst:.3} ulp at {at:e}: {:e}", f(at));
        (worst > bound).then_some(name)
    };
    let wrong: Vec<_> = CASES.into_iter().filter_map(worst).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Down to where exponentials are nothing, every seventh number: two factors make them, either may round or be 0.
#[test]
fn exponentials_below_the_normal_numbers() {
    for x in ((-87f32).to_bits()..=(-106f32).to_bits()).step_by(7).map(f32::from_bits) {
        let error = ulps(single::exp(x), libm::exp(x.into()));
        assert!(error <= 1.05, "{x}: {error} ulp");
    }
}

/// Pairs of all exponents, from a multiplicative congruential sequence.
fn pairs(n: usize) -> impl Iterator<Item = (f32, f32)> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (f32::from_bits((state >> 32) as u32), f32::from_bits((state >> 16) as u32))
    })
    .take(n)
}

/// Pairs near each other and near 1, where powers are finite.
fn mild(n: usize) -> impl Iterator<Item = (f32, f32)> {
    pairs(n).map(|(a, b)| {
        let unit = |x: f32| f32::from_bits(x.to_bits() & 0x7f_ffff | 0x3f80_0000);
        ((unit(a) - 0.9) * 4.0, (unit(b) - 1.5) * 60.0)
    })
}

/// Exponents whose powers are products, quotients and roots.
#[test]
fn brief_powers() {
    for y in [3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5] {
        let error = |x: f32| ulps(single::pow(x, y), libm::pow(x.into(), y.into()));
        let worst = arguments().map(error).fold(0.0, f64::max);
        println!("f32 pow {y}: {worst:.3} ulp");
        assert!(worst <= 2.0, "{y}: {worst} ulp");
    }
}

#[test]
fn functions_of_two_operands() {
    type Case = (&'static str, fn(f32, f32) -> f32, fn(f64, f64) -> f64);
    let cases: [Case; 3] = [
        ("atan2", single::atan2, libm::atan2),
        ("hypot", single::hypot, libm::hypot),
        ("pow", single::pow, libm::pow),
    ];
    for (name, f, reference) in cases {
        let n = 2_000_000_000 / step().max(1000);
        let mut worst = (0.0, 0.0, 0.0);
        for (x, y) in pairs(n).chain(mild(n)) {
            let error = ulps(f(x, y), reference(x.into(), y.into()));
            if error > worst.0 {
                worst = (error, x, y);
            }
        }
        println!("f32 {name}: {:.3} ulp at {:e}, {:e}", worst.0, worst.1, worst.2);
        assert!(worst.0 <= 2.0, "{name}");
    }
}

#[test]
fn remainders_are_exact() {
    for (x, y) in pairs(200_000).chain(mild(200_000)) {
        let rest = libm::fmodf(x, y);
        let floored = if rest == 0.0 { 0.0f32.copysign(y) } else { rest };
        let floored = if floored * y.signum() < 0.0 { floored + y } else { floored };
        let got = single::modulo(x, y);
        let same = got.to_bits() == floored.to_bits() || got.is_nan() && floored.is_nan();
        assert!(same, "{x:e} mod {y:e} = {got:e}, not {floored:e}");
    }
}
