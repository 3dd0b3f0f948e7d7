//! The real and complex functions: the one definition of their values.
//!
//! The oracle, in-line loops and the kernels of the engine all call [`single`], [`double`] and
//! [`complex`], and so agree bit for bit. The real functions are written without branches, tables
//! in memory or calls, on fused multiply-adds: `mul_add` gives the same bits with and without the
//! hardware's instruction (without it, it is a slow call: compile the loop for a target that has it).
//!
//! # In a kernel
//!
//! A kernel is a plain loop in a function compiled for a vector unit; everything here is inlined
//! into it, and LLVM vectorises the loop:
//!
//! ```
//! use ijk_types::math::single;
//!
//! #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,fma"))]
//! fn exp(x: &[f32], out: &mut [f32]) {
//!     for (out, &x) in out.iter_mut().zip(x) {
//!         *out = single::exp(x);
//!     }
//! }
//! ```
//!
//! `sin`, `cos`, `tan`, `pow`, `modulo` and `floor_div` branch for rare arguments, so a kernel asks first, which
//! is a vectorised loop of its own, and takes the `_near` functions where there is none. The bits are the
//! same:
//!
//! ```
//! use ijk_types::math::single;
//!
//! fn sin(x: &[f32], out: &mut [f32]) {
//!     if x.iter().fold(false, |any, &x| any | single::is_far(x)) {
//!         x.iter().zip(out).for_each(|(&x, out)| *out = single::sin(x));
//!     } else {
//!         x.iter().zip(out).for_each(|(&x, out)| *out = single::sin_near(x));
//!     }
//! }
//! ```

pub mod complex;
pub mod double;
mod error;
mod exponential;
mod float;
pub mod half;
mod logarithm;
mod power;
pub mod single;
mod tables;
mod trigonometric;
