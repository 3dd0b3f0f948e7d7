//! Reductions over small windows: pooling, depthwise convolution, stencils.
//!
//! A tile program would pack each tap of a window, compute it, and fold it into a tile: three passes through L1. Here
//! the outputs in a few registers combine all taps one after another, each read in place, along an axis along which the
//! output is contiguous. The taps of each output are in the order of the domain.

mod packed;
mod pattern;
mod run;

use crate::check::CheckedNest;
use crate::explain::{KernelChoice, Reason, Relation, limit};
use crate::nest::scalar_bits;
use crate::origin::Origin;
use crate::steps::Program;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::order::WINDOW_TAPS;
use ijk_kernels::tuning::time::{WINDOW_OUTPUT, WINDOW_PIECE, WINDOW_TAP};
use ijk_kernels::window::{self, WindowFn};
use ijk_plan::plan::{Nest, Start};
use ijk_types::scalar;
use pattern::WindowPattern;
use smallvec::SmallVec;

pub(crate) use packed::PackedWindowProgram;

/// A prepared nest over windows.
#[derive(Clone, Debug)]
pub(crate) struct WindowProgram {
    /// Origins of the inputs, twice the same if there is one, and of the output.
    origins: [Origin; 3],
    /// The axes of the output except those of rows, outermost first.
    outer: SmallVec<[WindowAxis; 6]>,
    /// Rows that are computed together, several at a time.
    across: WindowAxis,
    /// Outputs of a row.
    row: usize,
    /// Outputs of a row that a task computes at a time.
    piece: usize,
    /// Stride in bytes along a row, in each array.
    steps: [isize; 3],
    /// Offsets of each tap in bytes, from an output's first elements.
    taps: Vec<[isize; 2]>,
    kernel: WindowFn,
    /// Initial value of outputs.
    start: [u64; 2],
    /// True if outputs are combined with existing elements.
    existing: bool,
    size: usize,
}

/// An axis with its strides in bytes in both inputs and in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WindowAxis {
    extent: usize,
    steps: [isize; 3],
}

/// The program of a checked nest, if it is over windows.
pub(crate) fn program(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Program> {
    let pattern = WindowPattern::of(nest, checked)?;
    match PackedWindowProgram::of(&pattern, nest, checked, level) {
        Some(packed) => Some(packed.into()),
        None => WindowProgram::of(&pattern, nest, checked, level).map(Program::from),
    }
}

impl WindowProgram {
    /// The program of a checked nest, if it is over windows with rows that need no copy.
    pub(crate) fn new(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        Self::of(&WindowPattern::of(nest, checked)?, nest, checked, level)
    }

    /// The program of a pattern, with rows as they are.
    fn of(
        pattern: &WindowPattern,
        nest: &Nest,
        checked: &CheckedNest,
        level: Level,
    ) -> Option<Self> {
        let row = checked.extents[pattern.row];
        let strides = |axis: usize| pattern.strides(nest, axis);
        prepared(pattern, nest, (row, &checked.extents), strides, level)
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let taps = self.taps.len();
        let then = "outputs stay in registers while all taps are combined, each read in place";
        KernelChoice::new("taps combined in registers")
            .extent("rows", self.rows())
            .extent("row", self.row)
            .extent("taps", taps)
            .block("piece", self.piece, "outputs")
            .holding("piece of a row", self.piece * self.size)
            .because(Reason::compared(("taps", taps), Relation::AtMost, limit!(WINDOW_TAPS), then))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        let outputs = self.rows() as f64 * self.row as f64;
        outputs * self.size as f64 * (WINDOW_OUTPUT + WINDOW_TAP * self.taps.len() as f64)
    }

    /// Number of rows.
    fn rows(&self) -> usize {
        self.outer.iter().map(|axis| axis.extent).product::<usize>() * self.across.extent
    }
}

/// The program of a pattern, with the elements of a row, and the strides in bytes of an axis in each array.
fn prepared(
    pattern: &WindowPattern,
    nest: &Nest,
    (row, extents): (usize, &[usize]),
    strides: impl Fn(usize) -> [isize; 3],
    level: Level,
) -> Option<WindowProgram> {
    let t = nest.store.dtype;
    let size = t.size() as isize;
    let steps = strides(pattern.row);
    let along = [steps[0] / size, steps[1] / size];
    let kernel = window::find(t, pattern.map, pattern.reduce, along, level)?;
    let outer = pattern.outer.iter().map(|&a| WindowAxis { extent: extents[a], steps: strides(a) });
    let mut taps = vec![[0isize; 2]];
    for &axis in &pattern.taps {
        let step = strides(axis);
        let each = |tap: &[isize; 2]| {
            let tap = *tap;
            (0..extents[axis] as isize).map(move |n| [tap[0] + n * step[0], tap[1] + n * step[1]])
        };
        taps = taps.iter().flat_map(each).collect();
    }
    let [a, b] = pattern.loads.map(|n| &nest.loads[n]);
    let origin = |base| Origin::new(base, t.size());
    let mut outer = merged(outer.collect());
    let across = outer.pop().unwrap_or(WindowAxis { extent: 1, steps: [0; 3] });
    Some(WindowProgram {
        origins: [origin(a.base), origin(b.base), origin(nest.store.base)],
        outer,
        across,
        row,
        piece: row.min(WINDOW_PIECE),
        steps,
        taps,
        kernel,
        start: scalar_bits(scalar::identity(pattern.reduce, t)),
        existing: nest.start == Start::Existing,
        size: t.size(),
    })
}

/// Merges axes that are nested contiguously in all arrays.
fn merged(axes: SmallVec<[WindowAxis; 6]>) -> SmallVec<[WindowAxis; 6]> {
    let mut all: SmallVec<[WindowAxis; 6]> = SmallVec::new();
    for axis in axes {
        let continues = |outer: &WindowAxis| {
            let steps = outer.steps.iter().zip(axis.steps);
            steps.clone().all(|(&o, i)| o == i.wrapping_mul(axis.extent as isize))
        };
        match all.last_mut() {
            Some(outer) if continues(outer) => {
                *outer = WindowAxis { extent: outer.extent * axis.extent, ..axis };
            }
            _ => all.push(axis),
        }
    }
    all
}
