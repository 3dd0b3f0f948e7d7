//! Block plans: a term as index statements over the coordinates of blocks.
//!
//! A plan is plain data, without threads, files or elements. [`BlockPlan::new`] turns a term into *stages*, each of
//! which computes the blocks of one array. A block of a stage's output is computed from *regions* of its operands. The
//! blocks of arrays in a region follow from the operands' maps of positions, axis by axis ([`axis_map`]), so that `bc`,
//! `select` and `reblock` compute nothing: they only change these maps. Elementwise computations are part of the
//! operand that they belong to.

mod axis_map;
mod count;
mod display;
mod done;
mod expr;
mod lower;
mod schedule;
mod simulate;
mod split;
mod stage;
mod wide;

pub(crate) use axis_map::{AxisMap, MapStep, Run};
pub(crate) use done::Done;
pub(crate) use expr::{Expr, Leaf};
pub use schedule::Grid;
pub(crate) use schedule::{Need, Place, Round, Schedule, Team};
pub use simulate::{Bound, Machines, Simulated, Simulation, Spread};
pub(crate) use stage::{Kernel, Operand, Stage};

use crate::store::Source;
use crate::{BigTensor, Type};
use std::sync::Arc;

/// Plan of the computation of a tensor: stages, each of which makes an array of blocks.
///
/// ```
/// use ijk_blocks::{BigTensor, BlockPlan};
/// let u = BigTensor::lit(0..12, [3, 4], [Some(2), Some(2)])?;
/// let v = BigTensor::lit(0..8, [4, 2], [None, None])?;
/// let plan = BlockPlan::new(&u.map("x * x")?.matmul(&v)?);
/// assert_eq!(plan.to_string(), "\
/// s0 = multiply lit(12 elements) * lit(12 elements), lit(8 elements) : ([3, 2], [2, ⊥], i32); 2 blocks of 2 panels");
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockPlan {
    /// Arrays that stages read and write.
    pub(crate) arrays: Vec<Array>,
    /// In an order in which they can run; the last makes the result.
    pub(crate) stages: Vec<Stage>,
}

/// An array of blocks.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    /// Its dimensions and stored blocks.
    pub(crate) ty: Type,
    /// Its origin.
    pub(crate) from: From,
}

/// Origin of an array.
#[derive(Clone, Debug)]
pub(crate) enum From {
    Source(Arc<dyn Source>),
    Stage(usize),
}

impl BlockPlan {
    /// The plan of a term.
    pub fn new(term: &BigTensor) -> Self {
        lower::lower(term)
    }

    /// Number of stages.
    pub fn stages(&self) -> usize {
        self.stages.len()
    }
}
