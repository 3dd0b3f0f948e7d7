//! Cost model of plans: operations, bytes, kinds of kernels.

use crate::graph::expr::{can_fail, is_partial, random_can_fail};
use crate::plan::{
    Buffer, Contraction, Grouped, Nest, Node, NodeId, Place, Plan, Role, Scan, ScanAxis, Sort,
    Start, Step, Sweep,
};
use ijk_types::{BinaryOp, DType, Reducer, UnaryOp};
use std::fmt;

/// Operations and memory traffic of a plan or a step. Counts saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Scalar operations.
    pub operations: u64,
    /// Bytes of distinct elements read.
    pub read: u64,
    /// Bytes of distinct elements written.
    pub written: u64,
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            operations: self.operations.saturating_add(other.operations),
            read: self.read.saturating_add(other.read),
            written: self.written.saturating_add(other.written),
        }
    }
}

impl Cost {
    /// That of a number of runs.
    #[must_use]
    pub fn times(self, runs: u64) -> Self {
        Self {
            operations: self.operations.saturating_mul(runs),
            read: self.read.saturating_mul(runs),
            written: self.written.saturating_mul(runs),
        }
    }
}

/// Kind of kernel of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// Every element set to one value.
    Fill,
    /// A contraction by multiplication and addition.
    Contract,
    /// A contraction by other operators.
    ContractSemiring,
    /// An inclusive prefix reduction.
    Scan,
    /// An order of the values of rows.
    Sort,
    /// A nest that only moves elements.
    Copy,
    /// A nest that computes each element from one point.
    Map,
    /// A nest that reduces axes.
    Reduce,
    /// A nest that finds positions of extremes.
    Arg,
    /// A nest in which points that differ in kept axes may write the same element.
    Scatter,
    /// Several steps fused by blocks of rows.
    Sweep,
}

impl Kernel {
    /// Every kind.
    pub const ALL: [Kernel; 11] = [
        Self::Fill,
        Self::Contract,
        Self::ContractSemiring,
        Self::Scan,
        Self::Sort,
        Self::Copy,
        Self::Map,
        Self::Reduce,
        Self::Arg,
        Self::Scatter,
        Self::Sweep,
    ];

    /// Name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Contract => "contract",
            Self::ContractSemiring => "contract-semiring",
            Self::Scan => "scan",
            Self::Sort => "sort",
            Self::Copy => "copy",
            Self::Map => "map",
            Self::Reduce => "reduce",
            Self::Arg => "arg",
            Self::Scatter => "scatter",
            Self::Sweep => "sweep",
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Plan {
    /// Cost of all steps.
    pub fn cost(&self) -> Cost {
        self.steps.iter().fold(Cost::default(), |sum, step| sum + step.cost(&self.buffers))
    }

    /// Bytes of all results.
    pub fn result_bytes(&self) -> u64 {
        let results = self.buffers.iter().filter(|b| matches!(b.place, Place::Output(_)));
        results.fold(0, |sum, b| sum.saturating_add(bytes(b)))
    }

    /// Number of buffers in the arena and in those of sweeps.
    pub fn temporaries(&self) -> usize {
        let own = self.buffers.iter().filter(|b| matches!(b.place, Place::Temporary(_))).count();
        own + self.sweeps().map(|sweep| sweep.body.temporaries()).sum::<usize>()
    }

    /// Bytes of the arena, and of the largest arena of a sweep's block: the least that a run allocates.
    pub fn temporary_bytes(&self) -> u64 {
        self.temporary_bytes_of(1)
    }

    /// Bytes of the arena, and of the arenas of `blocks_at_once` blocks of a sweep that run in parallel.
    pub fn temporary_bytes_of(&self, blocks_at_once: u64) -> u64 {
        let all = |sweep: &Sweep| {
            let at_once = blocks_at_once.clamp(1, sweep.blocks().max(1));
            sweep.bodies().map(Plan::temporary_bytes).max().unwrap_or(0).saturating_mul(at_once)
        };
        (self.arena as u64).saturating_add(self.sweeps().map(all).max().unwrap_or(0))
    }

    fn sweeps(&self) -> impl Iterator<Item = &Sweep> {
        self.steps.iter().filter_map(|step| match step {
            Step::Sweep(sweep) => Some(&**sweep),
            _ => None,
        })
    }

    /// Tells whether a run can fail: integers that are divided, or raised to a power, by values known only then.
    pub fn is_fallible(&self) -> bool {
        self.steps.iter().any(Step::is_fallible)
    }

    /// Kernel variant of each step, as a name that distinguishes all code paths: `reduce f32 sequential`,
    /// `map f64 gather`. The steps of a sweep follow it.
    pub fn choices(&self) -> impl Iterator<Item = String> {
        let each = |step: &Step| {
            let mut all = vec![step.choice(&self.buffers)];
            if let Step::Sweep(sweep) = step {
                all.extend(sweep.body.choices());
            }
            all
        };
        self.steps.iter().flat_map(each).collect::<Vec<_>>().into_iter()
    }
}

impl Step {
    /// Kind of kernel.
    pub fn kernel(&self) -> Kernel {
        match self {
            Self::Fill(..) => Kernel::Fill,
            Self::Contract(c) if c.is_product_sum() => Kernel::Contract,
            Self::Contract(_) => Kernel::ContractSemiring,
            Self::Grouped(grouped) if grouped.each.is_product_sum() => Kernel::Contract,
            Self::Grouped(_) => Kernel::ContractSemiring,
            Self::Scan(_) => Kernel::Scan,
            Self::Sort(_) => Kernel::Sort,
            Self::Nest(nest) => nest.kernel(),
            Self::Sweep(_) => Kernel::Sweep,
        }
    }

    /// Cost of the step, given the plan's buffers.
    pub fn cost(&self, buffers: &[Buffer]) -> Cost {
        match self {
            Self::Fill(buffer, _) => {
                let written = bytes(&buffers[buffer.0 as usize]);
                Cost { operations: 0, read: 0, written }
            }
            Self::Contract(c) => c.cost(),
            Self::Grouped(grouped) => grouped.cost(),
            Self::Scan(scan) => scan.cost(),
            Self::Sort(sort) => sort.cost(),
            Self::Nest(nest) => nest.cost(buffers),
            Self::Sweep(sweep) => sweep.cost(),
        }
    }

    /// Tells whether running the step can fail.
    pub fn is_fallible(&self) -> bool {
        match self {
            Self::Nest(nest) => nest.is_fallible(),
            Self::Sweep(sweep) => sweep.body.is_fallible(),
            Self::Fill(..)
            | Self::Contract(_)
            | Self::Grouped(_)
            | Self::Scan(_)
            | Self::Sort(_) => false,
        }
    }

    fn choice(&self, buffers: &[Buffer]) -> String {
        let (dtype, flags) = match self {
            Self::Fill(buffer, _) => (buffers[buffer.0 as usize].dtype, Vec::new()),
            Self::Contract(c) if c.accumulate => (c.dtype, vec!["existing"]),
            Self::Contract(c) => (c.dtype, Vec::new()),
            Self::Grouped(grouped) => (grouped.each.dtype, vec!["grouped"]),
            Self::Scan(scan) => (scan.dtype, Vec::new()),
            Self::Sort(sort) => (sort.dtype, sort.flags()),
            Self::Nest(nest) => (nest.store.dtype, nest.flags()),
            Self::Sweep(_) => return Kernel::Sweep.to_string(),
        };
        let flags: String = flags.iter().map(|flag| format!(" {flag}")).collect();
        format!("{} {dtype}{flags}", self.kernel())
    }
}

impl Sweep {
    /// Plans of full blocks, of the last ones, and of narrowed ones.
    fn bodies(&self) -> impl Iterator<Item = &Plan> {
        let narrow = self.narrow.iter().flat_map(|narrow| &narrow.bodies);
        std::iter::once(&self.body).chain(&self.rest).chain(narrow)
    }

    /// Number of blocks.
    fn blocks(&self) -> u64 {
        self.axes.iter().fold(1, |n, a| n.saturating_mul(a.blocks() as u64))
    }

    /// Cost of all blocks, each counted as a full one.
    fn cost(&self) -> Cost {
        let along = self.axes.last().map_or(1, |axis| axis.blocks() as u64).max(1);
        let lines = self.blocks() / along;
        let whole = self.body.cost();
        let none = Cost { operations: 0, read: 0, written: 0 };
        let narrow = self
            .narrow
            .iter()
            .flat_map(|narrow| narrow.of_blocks.iter().flatten().map(|&n| &narrow.bodies[n]));
        let (count, sum) =
            narrow.fold((0, none), |(n, sum), body| (n + 1, sum.plus(&body.cost(), 1)));
        none.plus(&sum, lines).plus(&whole, lines.saturating_mul(along.saturating_sub(count)))
    }
}

impl Cost {
    /// Adds `other` times `times`, saturating.
    fn plus(&self, other: &Self, times: u64) -> Self {
        let sum = |a: u64, b: u64| a.saturating_add(b.saturating_mul(times));
        Self {
            operations: sum(self.operations, other.operations),
            read: sum(self.read, other.read),
            written: sum(self.written, other.written),
        }
    }
}

impl Grouped {
    /// Upper bound: every row selects some group, and every group is read.
    fn cost(&self) -> Cost {
        let Cost { operations, read, written } = self.each.cost();
        let size = self.each.dtype.size() as u64;
        let right = self.each.axes.iter().filter(|axis| axis.b != 0);
        let right = right.fold(size, |n: u64, axis| n.saturating_mul(axis.extent as u64));
        let more = right.saturating_mul(self.groups.saturating_sub(1) as u64);
        let indices = self.each.extent(Role::M).saturating_mul(self.index_dtype.size() as u64);
        let read = read.saturating_add(more).saturating_add(indices);
        Cost { operations, read, written }
    }
}

impl Contraction {
    /// Tells whether it is a sum of products.
    pub fn is_product_sum(&self) -> bool {
        let plain = self.map == BinaryOp::Mul && self.then.is_none();
        plain && self.reduce == ijk_types::Monoid::Add
    }

    fn cost(&self) -> Cost {
        let [batch, m, n, k] = [Role::Batch, Role::M, Role::N, Role::K].map(|r| self.extent(r));
        let product = |xs: &[u64]| xs.iter().fold(1, |p: u64, &x| p.saturating_mul(x));
        let size = self.dtype.size() as u64;
        let touched = |step: fn(&crate::plan::ContractionAxis) -> isize| {
            let axes = self.axes.iter().filter(|a| step(a) != 0);
            axes.fold(size, |n: u64, a| n.saturating_mul(a.extent as u64))
        };
        Cost {
            operations: product(&[2 + u64::from(self.then.is_some()), batch, m, n, k]),
            read: touched(|a| a.a).saturating_add(touched(|a| a.b)),
            written: touched(|a| a.c),
        }
    }
}

impl Scan {
    fn cost(&self) -> Cost {
        let axes = || self.rows.iter().chain([&self.along]);
        let points = |counts: fn(&&ScanAxis) -> bool| {
            axes().filter(counts).fold(1, |n: u64, a| n.saturating_mul(a.extent as u64))
        };
        let size = self.dtype.size() as u64;
        // A scan relative to levels computes an exponential and a product more per element.
        let (each, arrays) = if self.levels.is_some() { (3, 2) } else { (1, 1) };
        Cost {
            operations: points(|_| true).saturating_mul(each),
            read: points(|a| a.from != 0).saturating_mul(size * arrays),
            written: points(|_| true).saturating_mul(size),
        }
    }
}

impl Sort {
    /// Number of rows; saturating.
    pub fn count(&self) -> u64 {
        self.rows.iter().fold(1, |n: u64, axis| n.saturating_mul(axis.extent as u64))
    }

    /// Comparisons of a merge sort, of as much of the order as is kept.
    fn cost(&self) -> Cost {
        let (values, places) = (self.values.extent as u64, self.places.extent as u64);
        let size = self.dtype.size() as u64;
        let of = if self.order.positions { 8 } else { size };
        let levels = u64::from((places + 1).ilog2()) + 1;
        Cost {
            operations: self.count().saturating_mul(values).saturating_mul(levels),
            read: self.count().saturating_mul(values).saturating_mul(size),
            written: self.count().saturating_mul(places).saturating_mul(of),
        }
    }

    fn flags(&self) -> Vec<&'static str> {
        let part = self.places.extent < self.values.extent;
        let flags = [
            (self.order.descending, "descending"),
            (self.order.positions, "positions"),
            (part, "part"),
        ];
        flags.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
    }
}

impl Nest {
    fn kernel(&self) -> Kernel {
        let collides = self.axes.iter().any(|a| a.collides);
        match self.reduce {
            Some(Reducer::ArgMax | Reducer::ArgMin | Reducer::Order(_)) => Kernel::Arg,
            Some(_) if collides => Kernel::Scatter,
            Some(_) => Kernel::Reduce,
            None if matches!(self.body[..], [Node::Load(_)]) => Kernel::Copy,
            None => Kernel::Map,
        }
    }

    /// Number of points of the domain, saturating.
    pub fn points(&self) -> u64 {
        self.axes.iter().fold(1, |n: u64, a| n.saturating_mul(a.extent as u64))
    }

    /// The element type of each node of the body.
    pub fn node_types(&self) -> Vec<DType> {
        let mut types: Vec<DType> = Vec::with_capacity(self.body.len());
        for node in &self.body {
            types.push(match node {
                Node::Load(load) => self.loads[*load as usize].dtype,
                Node::Const(value) => value.dtype(),
                Node::Index { .. } => DType::I64,
                Node::Gather { dtype, .. } => *dtype,
                Node::Unary(op, x) => op.result().of(types[x.0 as usize]),
                Node::Binary(op, x, _) => op.result().of(types[x.0 as usize]),
                Node::Select(_, x, _) | Node::Random { lo: x, .. } => types[x.0 as usize],
            });
        }
        types
    }

    /// Tells whether evaluating the body can fail.
    pub fn is_fallible(&self) -> bool {
        let partial = |node: &Node| match node {
            Node::Binary(op, ..) => is_partial(*op),
            Node::Unary(op, _) => *op == UnaryOp::Recip,
            Node::Random { .. } => true,
            _ => false,
        };
        if !self.body.iter().any(partial) {
            return false;
        }
        let types = self.node_types();
        self.body.iter().any(|node| match node {
            Node::Binary(op, x, y) => {
                let right = match self.body[y.0 as usize] {
                    Node::Const(value) => Some(value),
                    _ => None,
                };
                can_fail(*op, types[x.0 as usize], right)
            }
            Node::Unary(UnaryOp::Recip, x) => types[x.0 as usize].is_integer(),
            Node::Random { lo, hi, .. } => {
                let bound = |at: &NodeId| match self.body[at.0 as usize] {
                    Node::Const(value) => Some(value),
                    _ => None,
                };
                random_can_fail(bound(lo), bound(hi))
            }
            _ => false,
        })
    }

    fn flags(&self) -> Vec<&'static str> {
        let gathers = self.body.iter().any(|n| matches!(n, Node::Gather { .. }));
        let flags = [
            (self.sequential, "sequential"),
            (gathers, "gather"),
            (self.store.offset.is_some(), "computed-store"),
            (self.start == Start::Existing, "existing"),
        ];
        flags.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
    }

    fn cost(&self, buffers: &[Buffer]) -> Cost {
        let computes = |n: &&Node| {
            !matches!(n, Node::Load(_) | Node::Const(_) | Node::Index { .. } | Node::Gather { .. })
        };
        let each = self.body.iter().filter(computes).count() + usize::from(self.reduce.is_some());
        let gathers = self.body.iter().filter_map(|node| match node {
            Node::Gather { base, .. } => Some(bytes(&buffers[base.buffer.0 as usize])),
            _ => None,
        });
        let loads = self.loads.iter().map(|l| self.touched(&l.strides, l.dtype));
        let written = match self.store.offset {
            Some(_) => bytes(&buffers[self.store.base.buffer.0 as usize]),
            None => self.touched(&self.store.strides, self.store.dtype),
        };
        Cost {
            operations: self.points().saturating_mul(each as u64),
            read: loads.chain(gathers).fold(0, u64::saturating_add),
            written,
        }
    }

    fn touched(&self, strides: &[isize], dtype: DType) -> u64 {
        let axes = self.axes.iter().zip(strides).filter(|(_, stride)| **stride != 0);
        axes.fold(dtype.size() as u64, |n, (a, _)| n.saturating_mul(a.extent as u64))
    }
}

fn bytes(buffer: &Buffer) -> u64 {
    let shape = buffer.shape.iter();
    shape.fold(buffer.dtype.size() as u64, |n, &extent| n.saturating_mul(extent as u64))
}
