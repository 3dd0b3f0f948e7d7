//! Sums of products of two arrays, or sums of one, with many short axes that all three share: contractions of tensor
//! networks.
//!
//! GEMM packs panels and fills registers with rows and columns, which does not pay if an index is in the output and
//! both operands, or extents are 2 or 3. Here the contiguous axes of the output form a *run*, which fills the lanes;
//! every other axis is an offset in a table: of *rows*, of *columns* (rows of the output that share an operand, so that
//! its loads are amortised), and of *steps* of the sum. Nothing is computed at run time but the products.
//!
//! Along the run an operand is contiguous, or a single element. Otherwise it is copied first; `shape` selects the run
//! with the lowest estimated time.
//!
//! Each output sums its steps in the order of the domain, with separate rounding of each operation if the nest requires
//! it.

mod run;
mod shape;
mod tables;
mod worth;

use ijk_kernels::tuning::order::SHORT_AXES_STEPS;
pub(crate) use worth::{is_brief, is_nest, is_outer_product, is_thin, scattered_elements};

use crate::check::CheckedNest;
use crate::copy::Copier;
use crate::explain::{KernelChoice, Reason, Relation, limit};
use crate::nest::scalar_bits;
use crate::origin::Origin;
use ijk_kernels::short_axes::{Kernels, OffsetTables, ShortAxesFn};
use ijk_kernels::simd::Level;
use ijk_plan::plan::{Nest, NestAxis, Node, NodeId, Start};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};
use shape::{ProductAxis, RunShape};
use tables::OperandCopy;

/// A prepared sum of products of two operands.
#[derive(Clone, Debug)]
pub(crate) struct ShortAxesProgram {
    /// The operand that is contiguous along the run, and the other; `None` stands for ones.
    origins: [Option<Origin>; 2],
    out: Origin,
    /// Copies of operands before the sum.
    packs: [Option<OperandCopy>; 2],
    tables: OffsetTables,
    kernel: ShortAxesFn,
    copier: Copier,
    size: usize,
    /// Value of a missing operand.
    one: [u64; 2],
    cost: f64,
}

impl ShortAxesProgram {
    /// The program of a checked nest, if it is such a sum, and no other kernel fills the lanes with steps of it.
    pub fn new(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        Self::unless(nest, checked, level, |shape| {
            let alone = shape.run < shape.lanes || shape.copied.iter().any(Option::is_some);
            alone && shape.sums_neighbours() && !nest.sequential
        })
    }

    /// The program of a checked nest, if it is such a sum.
    pub fn of_any(nest: &Nest, checked: &CheckedNest, level: Level) -> Option<Self> {
        Self::unless(nest, checked, level, |_| false)
    }

    fn unless(
        nest: &Nest,
        checked: &CheckedNest,
        level: Level,
        refused: impl Fn(&RunShape) -> bool,
    ) -> Option<Self> {
        let loads = operands(nest)?;
        let t = nest.store.dtype;
        let several = |a: &usize| checked.extents[*a] > 1;
        let kept = |a: &usize| !nest.axes[*a].reduced;
        let apart = |a| checked.separable.contains(&a);
        let all = || (0..nest.axes.len()).filter(several);
        let plain = nest.start == Start::Covered
            && nest.store.offset.is_none()
            && !checked.in_place
            && !nest.axes.iter().any(|axis: &NestAxis| axis.collides)
            && nest.loads.iter().all(|load| load.dtype == t);
        if !plain || !all().filter(kept).all(apart) {
            return None;
        }
        let axis = |a: usize| {
            let [left, right] = loads.map(|load| load.map_or(0, |n| nest.loads[n].strides[a]));
            ProductAxis { extent: checked.extents[a], steps: [left, right, nest.store.strides[a]] }
        };
        let kernels = Kernels::find(t, level)?;
        let (outer, summed): (Vec<usize>, Vec<usize>) = all().partition(kept);
        let points = |axes: &[usize]| axes.iter().map(|&a| checked.extents[a]).product::<usize>();
        if points(&summed) > SHORT_AXES_STEPS || (nest.reduce.is_none() && !summed.is_empty()) {
            return None;
        }
        let shape = RunShape::new(
            outer.into_iter().map(axis).collect(),
            summed.into_iter().map(axis).collect(),
            kernels.lanes,
        )?;
        if refused(&shape) {
            return None;
        }
        let kernel = kernels.choose(nest.reduce.is_some(), nest.sequential, shape.right_runs);
        let origin = |load: usize| Origin::new(nest.loads[load].base, t.size());
        let mut origins = loads.map(|load| load.map(origin));
        if shape.swapped {
            origins.swap(0, 1);
        }
        let cost = shape.nanoseconds();
        let (tables, packs) = tables::tables(&shape, t.size(), level)?;
        Some(Self {
            origins,
            out: Origin::new(nest.store.base, t.size()),
            packs,
            tables,
            kernel,
            copier: Copier::new(t, level),
            size: t.size(),
            one: one(t),
            cost,
        })
    }

    /// Elements that are copied first.
    pub(crate) fn copied(&self) -> usize {
        self.packs.iter().flatten().map(|pack| pack.elements).sum()
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let OffsetTables { outer, inner, columns, steps, run, piece } = &self.tables;
        let copied = self.copied();
        let algorithm = match copied {
            0 => "sums over tables of offsets, operands in place",
            _ => "sums over tables of offsets, operands copied",
        };
        let choice = KernelChoice::new(algorithm)
            .extent("rows", outer.len() * inner.len())
            .extent("columns", columns.len())
            .extent("run", *run)
            .extent("steps", steps.len())
            .block("piece", *piece, "elements")
            .holding("piece of a run", piece * self.size);
        let then = "additions of a sum are sequential";
        let summed = ("steps of a sum", steps.len());
        let choice = match steps.len() {
            0 | 1 => choice,
            _ => choice.because(Reason::compared(
                summed,
                Relation::AtMost,
                limit!(SHORT_AXES_STEPS),
                then,
            )),
        };
        let text = format!(
            "{copied} elements are copied first, so that they are contiguous along the run"
        );
        choice.because((copied > 0).then(|| Reason::plain(text)))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        self.cost
    }
}

/// The loads that are multiplied, or the single one that is summed.
fn operands(nest: &Nest) -> Option<[Option<usize>; 2]> {
    let summed = |reduce| matches!(reduce, None | Some(Reducer::Monoid(Monoid::Add)));
    match nest.body[..] {
        _ if !summed(nest.reduce) => None,
        [Node::Load(a), Node::Load(b), Node::Binary(BinaryOp::Mul, NodeId(0), NodeId(1))] => {
            Some([Some(a as usize), Some(b as usize)])
        }
        // A complex infinity times one is NaN.
        [Node::Load(a)] if nest.reduce.is_some() && !nest.store.dtype.is_complex() => {
            Some([Some(a as usize), None])
        }
        _ => None,
    }
}

/// The bits of one in a type.
fn one(t: DType) -> [u64; 2] {
    scalar_bits(ijk_types::scalar::identity(Monoid::Mul, t))
}
