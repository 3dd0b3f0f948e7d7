//! Infinities, NaN, zeros and their signs, exact points, subnormals; arguments far from zero.

use ijk_types::math::{double, single};
use std::f64::consts::{FRAC_PI_2, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Same bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

type Case = (&'static str, fn(f64) -> f64, fn(f32) -> f32, &'static [(f64, f64)]);

const CASES: [Case; 13] = [
    (
        "exp",
        double::exp,
        single::exp,
        &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e4, INF), (-1e4, 0.0)],
    ),
    (
        "expm1",
        double::expm1,
        single::expm1,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (NAN, NAN), (1e4, INF)],
    ),
    (
        "ln",
        double::ln,
        single::ln,
        &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    ),
    (
        "log1p",
        double::log1p,
        single::log1p,
        &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    ),
    (
        "tanh",
        double::tanh,
        single::tanh,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (50.0, 1.0)],
    ),
    (
        "sigmoid",
        double::sigmoid,
        single::sigmoid,
        &[(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN)],
    ),
    (
        "sinh",
        double::sinh,
        single::sinh,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (-1e4, -INF)],
    ),
    (
        "cosh",
        double::cosh,
        single::cosh,
        &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN)],
    ),
    (
        "erf",
        double::erf,
        single::erf,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (9.0, 1.0)],
    ),
    (
        "gelu",
        double::gelu,
        single::gelu,
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, -0.0),
            (NAN, NAN),
            (100.0, 100.0),
            (-100.0, -0.0),
        ],
    ),
    (
        "sin",
        double::sin,
        single::sin,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    ),
    (
        "cos",
        double::cos,
        single::cos,
        &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    ),
    (
        "tan",
        double::tan,
        single::tan,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    ),
];

#[test]
fn special_points_of_functions_of_one_operand() {
    for (name, double, single, points) in CASES {
        for &(x, value) in points {
            assert!(same(double(x), value), "f64 {name}({x}) = {}", double(x));
            let got = f64::from(single(x as f32));
            assert!(same(got, value), "f32 {name}({x}) = {got}");
        }
    }
}

/// The table of IEEE 754-2019, 9.2.1, on a grid of all kinds of numbers, against `libm`.
#[test]
fn powers_at_special_points() {
    let points = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        4.0,
        1e9 + 1.0,
        INF,
        -INF,
        NAN,
        5e-324,
        1e300,
        -1e300,
        9e15 + 1.0,
        -9e15 - 1.0,
    ];
    for x in points {
        for y in points {
            let (got, value) = (double::pow(x, y), libm::pow(x, y));
            let near = (got - value).abs() <= 1e-15 * value.abs();
            assert!(near || same(got, value), "f64 {x} ^ {y} = {got}, not {value}");
            let (x, y) = (x as f32, y as f32);
            let (got, value) = (single::pow(x, y), libm::powf(x, y));
            let near = (got - value).abs() <= 1e-6 * value.abs();
            assert!(near || same(got.into(), value.into()), "f32 {x} ^ {y} = {got}, not {value}");
        }
    }
}

#[test]
fn whole_powers_of_two_and_ten_are_exact() {
    for n in -1074..1024 {
        assert_eq!(double::pow(2.0, n.into()), libm::ldexp(1.0, n));
    }
    for n in 0..=10 {
        assert_eq!(single::pow(10.0, n as f32), 10f32.powi(n));
    }
    assert_eq!(double::pow(10.0, 15.0), 1e15);
}

#[test]
fn small_powers_are_products_quotients_and_roots() {
    for n in 1..1000 {
        let x = n as f64 * -0.7310585786300049;
        assert!(same(double::pow(x, 2.0), x * x) && same(double::pow(x, 1.0), x));
        assert!(same(double::pow(x, 3.0), x * x * x) && same(double::pow(x, -1.0), 1.0 / x));
        assert!(same(double::pow(-x, 0.5), (-x).sqrt()));
        let x = x as f32;
        assert_eq!(single::pow(x, 2.0).to_bits(), (x * x).to_bits());
        assert_eq!(single::pow(x, 4.0).to_bits(), (x * x * (x * x)).to_bits());
        assert_eq!(single::pow(-x, 1.5).to_bits(), (-x * (-x).sqrt()).to_bits());
    }
}

#[test]
fn angles_on_the_axes() {
    for (y, x, angle) in [
        (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (0.0, -1.0, PI),
        (-0.0, -1.0, -PI),
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (1.0, 0.0, FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (1.0, INF, 0.0),
        (-1.0, -INF, -PI),
        (INF, 1.0, FRAC_PI_2),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (INF, NAN, NAN),
        (NAN, -INF, NAN),
    ] {
        let got = double::atan2(y, x);
        assert!(same(got, angle), "atan2({y}, {x}) = {got}");
        let got = single::atan2(y as f32, x as f32);
        assert!(same(got.into(), (angle as f32).into()), "f32 atan2({y}, {x}) = {got}");
    }
}

#[test]
fn angles_on_the_diagonals() {
    for (y, x, quarters) in [(INF, INF, 1.0), (INF, -INF, 3.0), (-INF, -INF, -3.0), (2.0, 2.0, 1.0)]
    {
        let angle = quarters * PI / 4.0;
        assert!((double::atan2(y, x) - angle).abs() <= 1e-15);
        assert!((single::atan2(y as f32, x as f32) - angle as f32).abs() <= 5e-7);
    }
}

#[test]
fn lengths_neither_overflow_nor_vanish() {
    assert_eq!(double::hypot(3e300, -4e300), 5e300);
    assert_eq!(double::hypot(3e-310, 4e-310), 5e-310);
    assert_eq!(double::hypot(NAN, -INF), INF);
    assert!(single::hypot(f32::NAN, 1.0).is_nan());
    assert_eq!(double::hypot(-0.0, 0.0), 0.0);
    assert_eq!(single::hypot(3e38, 1e38), 3.1622777e38);
}

#[test]
fn sums_of_exponentials_are_those_of_numpy() {
    let of = double::log_add_exp;
    assert_eq!(of(-INF, -INF), -INF);
    assert_eq!((of(INF, INF), of(INF, -INF), of(-INF, INF)), (INF, INF, INF));
    assert_eq!((of(-INF, 3.0), of(1e300, 1.0), of(-1e300, -INF)), (3.0, 1e300, -1e300));
    assert_eq!(of(-INF, -0.0).to_bits(), (-0.0f64).to_bits());
    assert!(of(NAN, 1.0).is_nan() && of(-INF, NAN).is_nan() && of(INF, NAN).is_nan());
    assert_eq!((of(0.0, 0.0), of(1000.0, 1000.0)), (2f64.ln(), 1000.0 + 2f64.ln()));
    assert_eq!(single::log_add_exp(-1e4, -1e4 + 1.0), -9998.687);
    for (x, y) in [(0.5, -2.0), (-3.0, 1.25), (7.0, 6.5)] {
        assert!((of(x, y) - (x.exp() + y.exp()).ln()).abs() < 1e-15 * 8.0);
    }
}

#[test]
fn angles_are_those_of_c() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    for x in [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 5e-324, f64::MAX] {
        for y in [0.0, -0.0, 2.5, -2.5, INF, -INF, NAN, 5e-324, f64::MAX] {
            let (got, expected) = (double::atan2(y, x), y.atan2(x));
            let near = (got - expected).abs() <= 1e-15 && got.signum() == expected.signum();
            assert!(near || got.is_nan() && expected.is_nan(), "atan2({y}, {x}) = {got}");
            let (x, y) = (x as f32, y as f32);
            let (got, expected) = (single::atan2(y, x), y.atan2(x));
            let near = (got - expected).abs() <= 1e-6 && got.signum() == expected.signum();
            assert!(near || got.is_nan() && expected.is_nan(), "atan2({y}, {x}) = {got}");
        }
    }
    assert_eq!([double::atan2(INF, 3.0), double::atan2(-0.0, -1.0)], [FRAC_PI_2, -PI]);
    assert_eq!([double::atan2(INF, INF), double::atan2(-INF, -INF)], [FRAC_PI_4, -3.0 * FRAC_PI_4]);
}

/// NumPy's `floor_divide`, from the remainder that is exact.
fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let rest = libm::fmod(x, y);
    let mut quotient = (x - rest) / y;
    if rest != 0.0 && (y < 0.0) != (rest < 0.0) {
        quotient -= 1.0;
    }
    match quotient {
        0.0 => 0f64.copysign(x / y),
        _ if quotient - quotient.floor() > 0.5 => quotient.floor() + 1.0,
        _ => quotient.floor(),
    }
}

#[test]
fn floored_quotients_are_those_of_numpy() {
    let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    let special =
        [0.0, 1.0, 2.0, 0.1, 0.3, 1.1, 3.7, 5e-324, 1e-310, 1e16, 1e300, f64::MAX, INF, NAN];
    let all = special.iter().flat_map(|&x| [x, -x]);
    for (x, y) in all.clone().flat_map(|x| all.clone().map(move |y| (x, y))) {
        let (got, expected) = (double::floor_div(x, y), floor_divide(x, y));
        assert!(same(got, expected), "{x:e} // {y:e} is {expected:e}, not {got:e}");
        // Exact in binary64 as long as the quotient has few digits.
        let (x, y) = (x as f32, y as f32);
        let (got, quotient) = (single::floor_div(x, y), floor_divide(x.into(), y.into()));
        if quotient.is_nan() || quotient.abs() < 1e6 || y == 0.0 {
            assert!(same(got.into(), quotient), "{x:e} // {y:e} is {quotient:e}, not {got:e}");
        } else {
            assert!((f64::from(got) / quotient - 1.0).abs() < 1e-6 || got.is_infinite());
        }
    }
    assert_eq!([double::floor_div(-1.0, INF), double::floor_div(1.0, 0.1)], [-1.0, 9.0]);
    assert!(double::floor_div(INF, 2.0).is_nan() && single::floor_div(1.0, f32::NAN).is_nan());
    for n in -2000..2000 {
        let (x, y) = (f64::from(n) * 0.1, if n % 2 == 0 { 0.7 } else { -0.3 });
        assert!(same(double::floor_div(x, y), double::floor_div_near(x, y)), "{x} // {y}");
        assert!(same(double::floor_div(x, y), floor_divide(x, y)), "{x} // {y}");
        let back = double::floor_div(x, y) * y + double::modulo(x, y);
        assert!((back - x).abs() < 1e-12, "{x} = ({x} // {y}) {y} + {x} % {y}");
    }
}

#[test]
fn far_arguments_are_reduced_with_all_digits() {
    assert!((double::sin(1e22) - -0.8522008497671888).abs() < 1e-15);
    assert!((double::cos(1e300) - libm::cos(1e300)).abs() < 1e-15);
    assert!((single::sin(1e10) - (1e10f64).sin() as f32).abs() < 1e-7);
    assert!(double::is_far(INF) && single::is_far(-2e6) && !double::is_far(1e9));
}

#[test]
fn the_near_functions_give_the_same_bits() {
    for n in -2000..2000 {
        let x = n as f32 * 517.25;
        if !single::is_far(x) {
            assert_eq!(single::sin(x).to_bits(), single::sin_near(x).to_bits());
        }
        let (x, y) = (f64::from(x), 3.25);
        assert_eq!(double::modulo(x, y).to_bits(), double::modulo_near(x, y).to_bits());
    }
}
