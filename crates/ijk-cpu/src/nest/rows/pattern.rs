//! Pattern of nests that are processed row by row: the axes of a row, and the use of its value.

use super::super::lower::Lowering;
use super::super::order::{Order, order};
use ijk_kernels::tuning::order::{INDEXED_ROW_LENGTH, INDEXED_ROW_SOURCES, INDEXED_ROW_SUM};
use ijk_plan::plan::{Base, Nest, Node, NodeId, Start};
use ijk_types::{BinaryOp, DType, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// Mask, value if it does not hold, and value if it does.
type Masked = (Option<NodeId>, Option<Scalar>, NodeId);

/// Row structure of a nest.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct RowPattern {
    /// Mask: other rows are filled, or unchanged without a fill value.
    pub mask: Option<NodeId>,
    /// The node of a row's value.
    pub value: NodeId,
    /// Initial value of rows before a combination, and the value of masked rows.
    pub fill: Option<Scalar>,
    /// Combination of a row with its destination; `None` stores.
    pub combine: Option<Monoid>,
    /// True if rows are combined with each other.
    pub reduces: bool,
    /// True if the elements of a row are combined, too: an output is then a scalar instead of a row.
    pub along: bool,
    /// The axes of a row, innermost last.
    pub run: Vec<usize>,
    /// For each node, true if it has a value for each element of a row, false if it has one for the row.
    pub by_element: Vec<bool>,
}

impl RowPattern {
    /// The pattern of a nest, if it matches.
    pub fn of(lowering: &Lowering<'_>) -> Option<Self> {
        let nest = lowering.nest;
        if lowering.checked.in_place {
            return None;
        }
        let last = NodeId(nest.body.len() as u32 - 1);
        let whole = (None, None, last);
        let masked = match *node(nest, last) {
            Node::Select(mask, value, other) => {
                constant(nest, other).map(|masked| (Some(mask), Some(masked), value))
            }
            _ => None,
        };
        let all = || masked.into_iter().chain([whole]);
        let rows = all().find_map(|masked| Self::masked(lowering, masked)?.with_run(lowering));
        rows.or_else(|| all().find_map(|masked| Self::masked(lowering, masked)?.single(lowering)))
    }

    /// The pattern of a value with a mask, which is a constant for masked rows.
    fn masked(lowering: &Lowering<'_>, (mask, masked, value): Masked) -> Option<Self> {
        match lowering.nest.reduce {
            None => stored(lowering.nest, (mask, masked, value)),
            Some(Reducer::Monoid(monoid)) if masked.is_none_or(|m| is_neutral(monoid, m)) => {
                combined(lowering, monoid, (mask, value))
            }
            Some(_) => None,
        }
    }

    /// Tells whether values are combined at computed destinations.
    fn scatters(&self, nest: &Nest) -> bool {
        self.combine.is_some() && nest.store.offset.is_some()
    }

    /// The pattern with rows of a single element, if these are combined at computed destinations.
    fn single(self, lowering: &Lowering<'_>) -> Option<Self> {
        let nest = lowering.nest;
        let places = self.scatters(nest);
        let by_element = vec![false; nest.body.len()];
        (places && is_dense(lowering, nest.store.base)).then_some(Self { by_element, ..self })
    }

    /// The pattern with the axes of a row, if a run is long enough: axes of the output, or reduced ones.
    fn with_run(self, lowering: &Lowering<'_>) -> Option<Self> {
        let nest = lowering.nest;
        let needed = needed(nest, [Some(self.value), self.mask, nest.store.offset]);
        let of = |along| {
            // Elements at computed destinations would otherwise be combined one by one.
            let least = if self.scatters(nest) { 2 } else { INDEXED_ROW_LENGTH };
            let lengths = least..if along { INDEXED_ROW_SUM } else { usize::MAX };
            let fits = |run: &Run| {
                let length: usize = run.axes.iter().map(|&a| lowering.checked.extents[a]).product();
                lengths.contains(&length) && self.fits(run, nest, &needed)
            };
            let starts = 0..lowering.checked.extents.len();
            let mut runs = starts.filter_map(|axis| Run::of(lowering, &needed, along, axis));
            runs.find(fits).map(|run| (run, along))
        };
        let (run, along) = of(false).or_else(|| self.reduces.then(|| of(true)).flatten())?;
        Some(Self { run: run.axes, by_element: run.by_element, along, ..self })
    }

    /// Returns true if values that are constant within a row are independent of its axes, and row processing pays.
    fn fits(&self, run: &Run, nest: &Nest, needed: &[bool]) -> bool {
        let alone = |id: Option<NodeId>| id.is_none_or(|id| !run.by_element[id.0 as usize]);
        let needs = |(n, node): (usize, &Node)| needed[n] && matches!(node, Node::Gather { .. });
        let gathers = nest.body.iter().enumerate().any(needs);
        alone(self.mask)
            && alone(nest.store.offset)
            && run.by_element[self.value.0 as usize]
            && run.sources(nest, needed) <= INDEXED_ROW_SOURCES
            && (gathers || nest.store.offset.is_some())
    }
}

fn node(nest: &Nest, id: NodeId) -> &Node {
    &nest.body[id.0 as usize]
}

fn constant(nest: &Nest, id: NodeId) -> Option<Scalar> {
    match node(nest, id) {
        Node::Const(value) => Some(*value),
        _ => None,
    }
}

/// A pattern without axes.
fn pattern(mask: Option<NodeId>, value: NodeId) -> RowPattern {
    let (run, by_element) = (Vec::new(), Vec::new());
    let (fill, combine, reduces, along) = (None, None, false, false);
    RowPattern { mask, value, fill, combine, reduces, along, run, by_element }
}

/// Stored rows. A combination with a constant is fused with their copy.
fn stored(nest: &Nest, (mask, masked, value): Masked) -> Option<RowPattern> {
    let plain = RowPattern { fill: masked, ..pattern(mask, value) };
    let Node::Binary(op, start, x) = *node(nest, value) else { return Some(plain) };
    let (Some(monoid), Some(start)) = (Monoid::from_op(op), constant(nest, start)) else {
        return Some(plain);
    };
    let identity = start.same_bits(scalar::identity(monoid, start.dtype()));
    let moves = matches!(node(nest, x), Node::Gather { .. } | Node::Load(_));
    if !identity || !moves || masked.is_some_and(|m| !m.same_bits(start)) {
        return Some(plain);
    }
    Some(RowPattern { fill: Some(start), combine: Some(monoid), value: x, ..plain })
}

/// Combined rows: at computed destinations, or those of outer axes with each other.
fn combined(
    lowering: &Lowering<'_>,
    monoid: Monoid,
    (mask, value): (Option<NodeId>, NodeId),
) -> Option<RowPattern> {
    let Lowering { nest, checked, .. } = lowering;
    let found = RowPattern { combine: Some(monoid), ..pattern(mask, value) };
    if nest.store.offset.is_some() {
        return (nest.start == Start::Existing).then_some(found);
    }
    let several = |a: &usize| checked.extents[*a] > 1 && !nest.axes[*a].reduced;
    let apart = (0..nest.axes.len()).filter(several).all(|a| checked.separable.contains(&a));
    let free = order(nest, checked) == Order::Free;
    (apart && free).then_some(RowPattern { reduces: true, ..found })
}

/// Returns true if combination with this value has no effect.
fn is_neutral(monoid: Monoid, value: Scalar) -> bool {
    let identity = scalar::identity(monoid, value.dtype());
    let equal = scalar::binary(BinaryOp::Eq, identity, value) == Ok(Scalar::Bool(true));
    match monoid {
        // The sum of -0.0 and -0.0 only is -0.0.
        Monoid::Add if value.dtype().is_float() || value.dtype().is_complex() => {
            equal && !value.same_bits(identity)
        }
        Monoid::Mul if value.dtype().is_complex() => {
            value.same_bits(scalar::neutral(monoid, value.dtype()))
        }
        _ => equal,
    }
}

/// The nodes that some nodes depend on, including themselves.
fn needed(nest: &Nest, roots: [Option<NodeId>; 3]) -> Vec<bool> {
    let mut needed = vec![false; nest.body.len()];
    roots.into_iter().flatten().for_each(|root| needed[root.0 as usize] = true);
    for n in (0..needed.len()).rev().filter(|&n| nest.body.len() > n) {
        if needed[n] {
            super::super::body::operands(&nest.body[n]).for_each(|o| needed[o.0 as usize] = true);
        }
    }
    needed
}

/// Axes along which all operands that vary are contiguous.
struct Run {
    axes: Vec<usize>,
    by_element: Vec<bool>,
}

impl Run {
    /// The longest run of a nest, as far as nodes are needed, with the innermost axis `innermost`: of axes of the
    /// output, or of reduced ones.
    fn of(lowering: &Lowering<'_>, needed: &[bool], along: bool, innermost: usize) -> Option<Self> {
        let Lowering { nest, checked, .. } = lowering;
        let steps = |n: usize, axis: usize| leaf_step(nest, &nest.body[n], axis);
        let moving: Vec<bool> = (0..nest.body.len())
            .map(|n| is_leaf(&nest.body[n]) && steps(n, innermost) == 1)
            .collect();
        let read = || (0..nest.body.len()).filter(|&n| needed[n]);
        let continues = |axis: usize, step: isize| {
            let stored = along || nest.store.strides[axis] == step;
            let wanted = checked.extents[axis] > 1 && nest.axes[axis].reduced == along && stored;
            wanted && read().all(|n| steps(n, axis) == if moving[n] { step } else { 0 })
        };
        if !continues(innermost, 1) || !read().any(|n| moving[n]) {
            return None;
        }
        let mut axes = vec![innermost];
        let mut step = checked.extents[innermost] as isize;
        let next = |axes: &[usize], step| {
            (0..checked.extents.len()).find(|a| !axes.contains(a) && continues(*a, step))
        };
        while let Some(axis) = next(&axes, step) {
            step *= checked.extents[axis] as isize;
            axes.insert(0, axis);
        }
        Self { axes, by_element: Vec::new() }.told(lowering, needed, &moving)
    }

    /// The run with the extent of each node, if nodes with a value for each element can be computed in row programs.
    fn told(mut self, lowering: &Lowering<'_>, needed: &[bool], moving: &[bool]) -> Option<Self> {
        let Lowering { nest, checked, .. } = lowering;
        let length: usize = self.axes.iter().map(|&a| checked.extents[a]).product();
        for (n, node) in nest.body.iter().enumerate() {
            let operand = super::super::body::operands(node).any(|o| self.by_element[o.0 as usize]);
            let here = moving[n] || operand;
            self.by_element.push(here);
            let allowed = match *node {
                Node::Gather { base, .. } => !operand && length <= longest_run(lowering, base),
                Node::Load(_) | Node::Const(_) | Node::Select(..) => true,
                Node::Unary(op, x) => never_fails(op, checked.types[x.0 as usize]),
                Node::Binary(op, x, _) => is_total(op, checked.types[x.0 as usize]),
                Node::Index { .. } | Node::Random { .. } => false,
            };
            if needed[n] && here && !allowed {
                return None;
            }
        }
        let computed = nest.store.offset.is_some();
        (!computed || is_dense(lowering, nest.store.base)).then_some(self)
    }

    /// Number of nodes that read rows.
    fn sources(&self, nest: &Nest, needed: &[bool]) -> usize {
        let reads = |&n: &usize| needed[n] && self.by_element[n] && is_leaf(&nest.body[n]);
        (0..nest.body.len()).filter(reads).count()
    }
}

/// Returns true if a node reads an array.
fn is_leaf(node: &Node) -> bool {
    matches!(node, Node::Load(_) | Node::Gather { .. })
}

/// Stride of a node along an axis, apart from its operands.
fn leaf_step(nest: &Nest, node: &Node, axis: usize) -> isize {
    match node {
        Node::Load(n) => nest.loads[*n as usize].strides[axis],
        Node::Gather { strides, .. } => strides[axis],
        Node::Index { coefficients, .. } => coefficients[axis] as isize,
        _ => 0,
    }
}

/// Returns true if an array has no gaps, so that all offsets between two of its elements are elements.
fn is_dense(lowering: &Lowering<'_>, base: Base) -> bool {
    let footprint = lowering.layouts[base.buffer.0 as usize].footprint.as_ref();
    footprint.is_some_and(|f| f.dense().is_some())
}

/// Length of the contiguous runs of an array.
fn longest_run(lowering: &Lowering<'_>, base: Base) -> usize {
    let footprint = lowering.layouts[base.buffer.0 as usize].footprint.as_ref();
    footprint.map_or(0, |f| f.longest_run())
}

/// Returns true if a unary function never faults, since masked rows are not computed.
fn never_fails(op: UnaryOp, t: DType) -> bool {
    !(op == UnaryOp::Recip && t.is_integer())
}

/// Returns true if a binary function never faults.
fn is_total(op: BinaryOp, t: DType) -> bool {
    !(t.is_integer()
        && matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::Pow | BinaryOp::FloorDiv))
}
