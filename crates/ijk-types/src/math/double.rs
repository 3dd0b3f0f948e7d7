//! Functions of `f64`.

macro_rules! from_libm {
    ($($name:ident $libm:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "`.")]
        #[inline]
        pub fn $name(x: f64) -> f64 {
            libm::$libm(x)
        })*
    };
}

from_libm!(exp exp ln log log1p log1p expm1 expm1 tanh tanh erf erf sin sin cos cos tan tan sinh sinh cosh cosh);

/// `1 / (1 + exp(-x))`.
#[inline]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// `x (1 + erf(x / √2)) / 2`.
#[inline]
pub fn gelu(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// `x` to the power of `y`.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// The angle of the point `(x, y)`.
#[inline]
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// `√(x² + y²)`.
#[inline]
pub fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

/// The remainder of floored division, exact, with the sign of `y`: Python's `%`, NaN where `y` is 0.
#[inline]
pub fn modulo(x: f64, y: f64) -> f64 {
    let rest = libm::fmod(x, y);
    let floored = if (rest < 0.0) != (y < 0.0) { rest + y } else { rest };
    if rest == 0.0 { rest.copysign(y) } else { floored }
}
