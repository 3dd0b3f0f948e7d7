//! Loops: programs that update windows of arrays, pass by pass.
//!
//! A pass fixes the coordinates of all loops around an update. What an update reads and writes are *windows*: arrays
//! with some axes fixed at positions that depend on the coordinates alone. So the program of an update is the same in
//! every pass, over arrays of the same shapes and strides, and is planned once; where a window would be out of bounds,
//! the update is left out.

use super::{AxisId, Instance, Program, Span};
use crate::core::IndexExpr;
use ijk_types::DType;

/// A loop over arrays that its passes change in place.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopProgram {
    /// The text that spans point into.
    pub source: String,
    /// Arrays that the loop reads and changes.
    pub arrays: Vec<LoopArray>,
    /// The outermost loop.
    pub root: Loop,
}

/// An array of a loop. It has all its elements before the first pass.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopArray {
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<u64>,
    /// True if the loop changes elements.
    pub changes: bool,
    /// True for one that nothing outside of the loop has: it starts with zeros.
    pub local: bool,
}

/// One loop: its steps run in order, once for each point of its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The components of its eintup, the last fastest.
    pub axes: Vec<LoopAxis>,
    /// True if the points come in reverse order.
    pub descending: bool,
    /// Steps of a pass.
    pub steps: Vec<LoopStep>,
    /// Position of an array of one bool that, where it is true after a pass, ends the loop.
    pub until: Option<usize>,
    /// Its header.
    pub span: Span,
}

/// An axis of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopAxis {
    /// The letter.
    pub name: String,
    /// Number of values.
    pub extent: u64,
}

/// A step of a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopStep {
    /// Runs a program on windows.
    Update(Box<Update>),
    /// One update for several that follow one another. Where it is left out, those run, each if it is not left out.
    Fused(Box<Update>, Vec<LoopStep>),
    /// A loop in the loop.
    Loop(Loop),
}

/// A program whose inputs and outputs are windows: all inputs are read before any output is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The program.
    pub program: Program,
    /// Its extents and element types.
    pub instance: Instance,
    /// Elements of arrays of integers, each at fixed positions: the coordinates that follow those of the pass.
    pub lookups: Vec<Window>,
    /// For each input of the program, what it is in a pass.
    pub inputs: Vec<UpdateInput>,
    /// For each output of the program, where it is written.
    pub outputs: Vec<Window>,
    /// The update is left out where one does not hold.
    pub conditions: Vec<PassCondition>,
    /// Where it is false, the update is left out.
    pub probe: Option<Probe>,
}

/// A program of one bool of rank 0: that some point of an update has all positions in bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The program.
    pub program: Program,
    /// Its extents and element types.
    pub instance: Instance,
    /// For each input of the program, what it is in a pass.
    pub inputs: Vec<UpdateInput>,
}

/// An input of an [`Update`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UpdateInput {
    /// Elements of an array.
    Window(Window),
    /// A coordinate of the pass, as an i64 of rank 0.
    Coordinate(AxisId),
}

/// A part of an array: some axes are fixed, the others whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The array: a position in [`LoopProgram::arrays`].
    pub array: usize,
    /// For each axis where it is fixed, as an expression of the coordinates of all loops around, the outermost first;
    /// none for a whole axis. Where a position is out of bounds, the update is left out.
    pub fixed: Vec<Option<IndexExpr>>,
}

/// That a range of positions, as functions of the coordinates, has a position in bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PassCondition {
    /// The least position.
    pub least: IndexExpr,
    /// The greatest.
    pub greatest: IndexExpr,
    /// The extent in whose bounds one must be.
    pub extent: u64,
}

impl PassCondition {
    /// Returns true if a position is in bounds at these coordinates.
    pub fn holds(&self, coordinates: &[i64]) -> bool {
        let (least, greatest) = (self.least.eval(coordinates), self.greatest.eval(coordinates));
        let extent = i64::try_from(self.extent).unwrap_or(i64::MAX);
        least.max(0) <= greatest.min(extent - 1)
    }
}

impl Window {
    /// The whole of an array.
    pub fn whole(array: usize, rank: usize) -> Self {
        Self { array, fixed: vec![None; rank] }
    }

    /// Returns true if no axis is fixed.
    pub fn is_whole(&self) -> bool {
        self.fixed.iter().all(Option::is_none)
    }

    /// Returns true unless the windows have no element in common in any pass.
    pub fn may_overlap(&self, other: &Self) -> bool {
        let apart = |(own, other): (&Option<IndexExpr>, &Option<IndexExpr>)| {
            let difference = own.as_ref().zip(other.as_ref());
            let difference = difference.and_then(|(a, b)| a.plus(&b.times(-1)?)?.as_constant());
            difference.is_some_and(|by| by != 0)
        };
        self.array == other.array && !self.fixed.iter().zip(&other.fixed).any(apart)
    }

    /// The extents of the axes that are not fixed.
    pub fn shape<T: Copy>(&self, of: &[T]) -> Vec<T> {
        let whole = of.iter().zip(&self.fixed).filter(|(_, fixed)| fixed.is_none());
        whole.map(|(extent, _)| *extent).collect()
    }
}

impl Loop {
    /// Calls `visit` with every update, in order.
    pub fn for_each_update<'a>(&'a self, visit: &mut impl FnMut(&'a Update)) {
        self.steps.iter().for_each(|step| step.for_each_update(visit));
    }

    /// Calls `change` with every update, in order.
    pub fn for_each_update_mut(&mut self, change: &mut impl FnMut(&mut Update)) {
        self.steps.iter_mut().for_each(|step| step.for_each_update_mut(change));
    }

    /// The number of passes; saturating.
    pub fn passes(&self) -> u64 {
        self.axes.iter().fold(1, |n: u64, axis| n.saturating_mul(axis.extent))
    }
}

impl LoopStep {
    fn for_each_update<'a>(&'a self, visit: &mut impl FnMut(&'a Update)) {
        match self {
            Self::Update(update) => visit(update),
            Self::Fused(all, parts) => {
                visit(all);
                parts.iter().for_each(|part| part.for_each_update(visit));
            }
            Self::Loop(inner) => inner.for_each_update(visit),
        }
    }

    fn for_each_update_mut(&mut self, change: &mut impl FnMut(&mut Update)) {
        match self {
            Self::Update(update) => change(update),
            Self::Fused(all, parts) => {
                change(all);
                parts.iter_mut().for_each(|part| part.for_each_update_mut(change));
            }
            Self::Loop(inner) => inner.for_each_update_mut(change),
        }
    }
}
