//! Vectorised kernels of contractions, windows, folds and functions of tiles, each compiled for every SIMD level and element type.
//!
//! Kernels read and write what their callers prove to be there: this crate is the leaf of `ijk-cpu`, which checks
//! plans, chooses kernels, and runs them on threads. It knows no plans, so that both compile side by side.
//!
//! Kernels are plain loops, and whatever they call is `#[inline(always)]`: other functions are compiled without the
//! instructions of a level.
//!
//! * [`simd`]: levels, their vectors, and functions compiled for each.
//! * [`lines`]: cache lines, copied and prefetched.
//! * [`tuning`]: thresholds of kernels and of the engine.
//! * [`contraction`]: microkernels, and the set of them for a pair of map and reduction.
//! * [`short_axes`]: products and sums over tables of offsets.
//! * [`window`]: outputs that combine their taps in registers.
//! * [`folds`]: folds of contiguous rows in registers.
//! * [`tile`]: functions of tiles of elements, chains of them, folds, scans and moves.

#![allow(unsafe_code)]
// A function of an array, such as `map`, is a call in a kernel unless it happens to be inlined.
#![allow(clippy::needless_range_loop, reason = "an index names the same register everywhere")]
#![allow(missing_docs, reason = "parts of structures that only the engine fills")]

pub mod contraction;
pub mod folds;
pub mod lines;
pub mod short_axes;
pub mod simd;
pub mod tile;
pub mod tuning;
pub mod window;

pub use simd::Level;
