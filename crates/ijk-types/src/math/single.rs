//! Functions of `f32`.

macro_rules! from_libm {
    ($($name:ident $libm:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "`.")]
        #[inline]
        pub fn $name(x: f32) -> f32 {
            libm::$libm(x)
        })*
    };
}

from_libm!(exp expf ln logf log1p log1pf expm1 expm1f tanh tanhf erf erff sin sinf cos cosf tan tanf sinh sinhf cosh coshf);

/// `1 / (1 + exp(-x))`.
#[inline]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `x (1 + erf(x / √2)) / 2`.
#[inline]
pub fn gelu(x: f32) -> f32 {
    0.5 * x * libm::erfcf(-x * std::f32::consts::FRAC_1_SQRT_2)
}

/// `x` to the power of `y`.
#[inline]
pub fn pow(x: f32, y: f32) -> f32 {
    libm::powf(x, y)
}

/// The angle of the point `(x, y)`.
#[inline]
pub fn atan2(y: f32, x: f32) -> f32 {
    libm::atan2f(y, x)
}

/// `√(x² + y²)`.
#[inline]
pub fn hypot(x: f32, y: f32) -> f32 {
    libm::hypotf(x, y)
}

/// The remainder of floored division, exact, with the sign of `y`: Python's `%`, NaN where `y` is 0.
#[inline]
pub fn modulo(x: f32, y: f32) -> f32 {
    let rest = libm::fmodf(x, y);
    let floored = if (rest < 0.0) != (y < 0.0) { rest + y } else { rest };
    if rest == 0.0 { rest.copysign(y) } else { floored }
}
