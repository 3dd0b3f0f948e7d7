//! Checks of one nest.

use super::layout::layout_of;
use super::{Affine, Layout, separable};
use crate::Few;
use crate::error::Fault;
use ijk_plan::plan::{Base, Nest, Node, NodeId, Place, Start};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};
use smallvec::SmallVec;

/// Results of the checks of a nest.
#[derive(Clone, Debug)]
pub(crate) struct CheckedNest {
    /// Extents of its axes.
    pub extents: Few<usize>,
    /// The element type of each node.
    pub types: SmallVec<[DType; 8]>,
    /// Axes along which elements of the output certainly differ.
    pub separable: Few<usize>,
    /// Separation of the elements of a store at computed offsets.
    pub scattered: Option<Scattered>,
    /// True if the store overwrites every element of its buffer.
    pub covers: bool,
    /// True if the output shares memory with a load (then element for element).
    pub in_place: bool,
}

/// Axes along which elements of the output differ at any computed offsets of a range.
#[derive(Clone, Debug)]
pub(crate) struct Scattered {
    pub separable: Few<usize>,
    /// The smallest and largest computed offset. With each of them, all points are inside the array.
    pub range: (i64, i64),
}

/// Checks a nest against the buffers of its plan.
pub(crate) fn check_nest(nest: &Nest, layouts: &[Layout]) -> Result<CheckedNest, Fault> {
    let extents: Few<usize> = nest.axes.iter().map(|a| a.extent).collect();
    check_domain(&extents)?;
    for load in &nest.loads {
        check_access(layouts, load.base, load.dtype, &extents, &load.strides)?;
    }
    let types = check_body(nest, layouts)?;
    check_store(nest, layouts, &extents, &types)?;
    check_reduce(nest, &types, &extents)?;
    let in_place = check_overlap(nest, layouts, &extents)?;
    let separable = match nest.store.offset {
        None => separable(&extents, &nest.store.strides),
        Some(_) => Few::new(),
    };
    let kept = |a: &usize| !nest.axes[*a].reduced && extents[*a] > 1;
    let points: usize = (0..extents.len()).filter(kept).map(|a| extents[a]).product();
    let injective = (0..extents.len()).filter(kept).all(|a| separable.contains(&a));
    let out = layout_of(layouts, nest.store.base)?;
    let reached = !extents.iter().enumerate().any(|(a, &n)| n == 0 && !nest.axes[a].reduced);
    let fresh = nest.start == Start::Covered && nest.store.offset.is_none();
    let covers = out.len == 0 || (fresh && injective && reached && points == out.len);
    let scattered = nest.store.offset.and_then(|_| scattered(nest, out, &extents));
    Ok(CheckedNest { extents, types, separable, scattered, covers, in_place })
}

/// The computed offsets with which all points of a store are inside a dense array, and the axes that then separate
/// elements.
fn scattered(nest: &Nest, out: &Layout, extents: &[usize]) -> Option<Scattered> {
    let (least, greatest) = out.footprint.as_ref()?.dense()?;
    let (offset, strides) = (nest.store.base.offset, &nest.store.strides[..]);
    let (low, high) = Affine { offset, extents, strides }.range();
    let least = i64::try_from(i128::from(least) - low).ok()?;
    let greatest = i64::try_from(i128::from(greatest) - high).ok()?;
    let offsets = usize::try_from(greatest.checked_sub(least)?).ok()?.checked_add(1)?;
    // The offset is like an axis of its own.
    let mut axes: (Few<usize>, Few<isize>) = (extents.into(), strides.into());
    axes.0.push(offsets);
    axes.1.push(1);
    let mut separable = separable(&axes.0, &axes.1);
    separable.retain(|axis| *axis < extents.len());
    (!separable.is_empty()).then_some(Scattered { separable, range: (least, greatest) })
}

/// Checks that the number of points fits a machine word.
fn check_domain(extents: &[usize]) -> Result<(), Fault> {
    let points = extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1)));
    points.filter(|&n| isize::try_from(n).is_ok()).map(|_| ()).ok_or(Fault::TooLarge)
}

/// Checks that an affine access is within its buffer.
fn check_access(
    layouts: &[Layout],
    base: Base,
    dtype: DType,
    extents: &[usize],
    strides: &[isize],
) -> Result<(), Fault> {
    let layout = layout_of(layouts, base)?;
    if strides.len() != extents.len() {
        return Err(Fault::Rank);
    }
    if layout.dtype != dtype {
        return Err(Fault::Types);
    }
    let inside = layout.holds(Affine { offset: base.offset, extents, strides });
    if inside { Ok(()) } else { Err(Fault::Bounds) }
}

/// The element type of each node, operands before users.
fn check_body(nest: &Nest, layouts: &[Layout]) -> Result<SmallVec<[DType; 8]>, Fault> {
    let mut types: SmallVec<[DType; 8]> = SmallVec::with_capacity(nest.body.len());
    for node in &nest.body {
        let t = node_type(node, &types, nest, layouts)?;
        types.push(t);
    }
    Ok(types)
}

fn node_type(
    node: &Node,
    types: &[DType],
    nest: &Nest,
    layouts: &[Layout],
) -> Result<DType, Fault> {
    let of = |id: NodeId| types.get(id.0 as usize).copied().ok_or(Fault::Reference);
    match *node {
        Node::Load(n) => nest.loads.get(n as usize).map(|l| l.dtype).ok_or(Fault::Reference),
        Node::Const(scalar) => Ok(scalar.dtype()),
        Node::Index { ref coefficients, .. } => {
            if coefficients.len() == nest.axes.len() {
                Ok(DType::I64)
            } else {
                Err(Fault::Rank)
            }
        }
        Node::Gather { base, dtype, ref strides, offset } => {
            if strides.len() != nest.axes.len() {
                return Err(Fault::Rank);
            }
            let fits = of(offset)? == DType::I64 && layout_of(layouts, base)?.dtype == dtype;
            if fits { Ok(dtype) } else { Err(Fault::Types) }
        }
        Node::Unary(op, a) => {
            let t = of(a)?;
            if op.accepts().contains(t) { Ok(op.result().of(t)) } else { Err(Fault::Types) }
        }
        Node::Binary(op, a, b) => binary_type(op, of(a)?, of(b)?),
        Node::Select(c, a, b) => {
            let t = of(a)?;
            if of(c)? == DType::Bool && of(b)? == t { Ok(t) } else { Err(Fault::Types) }
        }
        Node::Random { counter, lo, hi, .. } => {
            let t = of(lo)?;
            let fits =
                matches!(t, DType::I64 | DType::F64) && of(hi)? == t && of(counter)? == DType::I64;
            if fits { Ok(t) } else { Err(Fault::Types) }
        }
    }
}

fn binary_type(op: BinaryOp, a: DType, b: DType) -> Result<DType, Fault> {
    if a == b && op.accepts().contains(a) { Ok(op.result().of(a)) } else { Err(Fault::Types) }
}

/// Checks that the store is within a writable buffer of the value's type.
fn check_store(
    nest: &Nest,
    layouts: &[Layout],
    extents: &[usize],
    types: &[DType],
) -> Result<(), Fault> {
    let store = &nest.store;
    let layout = layout_of(layouts, store.base)?;
    if matches!(layout.place, Place::Input(_)) {
        return Err(Fault::WritesArgument);
    }
    if store.strides.len() != extents.len() {
        return Err(Fault::Rank);
    }
    let kept = kept_extents(nest, extents);
    match store.offset {
        None => check_access(layouts, store.base, store.dtype, &kept, &store.strides)?,
        Some(NodeId(n)) if types.get(n as usize) == Some(&DType::I64) => {
            if layout.dtype != store.dtype {
                return Err(Fault::Types);
            }
        }
        Some(_) => return Err(Fault::Types),
    }
    let reduced = |a: usize| nest.axes[a].reduced && extents[a] > 1 && store.strides[a] != 0;
    if (0..extents.len()).any(reduced) {
        return Err(Fault::Bounds);
    }
    let value = *types.last().ok_or(Fault::Reference)?;
    let result = match nest.reduce {
        Some(Reducer::ArgMax | Reducer::ArgMin) => DType::I64,
        _ => value,
    };
    if result == store.dtype { Ok(()) } else { Err(Fault::Types) }
}

/// The extents with those of reduced axes replaced by 1: their outputs exist even if the reduction is empty.
fn kept_extents(nest: &Nest, extents: &[usize]) -> Few<usize> {
    nest.axes.iter().zip(extents).map(|(axis, &n)| if axis.reduced { 1 } else { n }).collect()
}

/// Checks that the reducer supports the value's type and the axes.
fn check_reduce(nest: &Nest, types: &[DType], extents: &[usize]) -> Result<(), Fault> {
    let t = *types.last().ok_or(Fault::Reference)?;
    let reduced = (0..extents.len()).filter(|&a| nest.axes[a].reduced);
    match nest.reduce {
        None if reduced.clone().any(|a| extents[a] != 1) => Err(Fault::Overlap),
        None => Ok(()),
        Some(Reducer::Monoid(monoid)) if has_monoid(monoid, t) => Ok(()),
        Some(Reducer::ArgMax | Reducer::ArgMin) if t.is_complex() => Err(Fault::Types),
        Some(Reducer::ArgMax | Reducer::ArgMin) => {
            let one = reduced.clone().count() == 1;
            let filled = reduced.clone().all(|a| extents[a] > 0);
            let outputs = kept_extents(nest, extents).contains(&0);
            let fresh = nest.start == Start::Covered && nest.store.offset.is_none();
            let collides = nest.axes.iter().any(|a| a.collides);
            if one && (filled || outputs) && fresh && !collides {
                Ok(())
            } else {
                Err(Fault::Position)
            }
        }
        Some(_) => Err(Fault::Types),
    }
}

/// Returns true if a type has a monoid.
fn has_monoid(monoid: Monoid, t: DType) -> bool {
    monoid.op().accepts().contains(t)
}

/// Returns true if the output shares memory with a load; each point must then read only the element that it writes.
fn check_overlap(nest: &Nest, layouts: &[Layout], extents: &[usize]) -> Result<bool, Fault> {
    let out = layout_of(layouts, nest.store.base)?;
    let mut in_place = false;
    for load in &nest.loads {
        let layout = layout_of(layouts, load.base)?;
        if !layout.overlaps(out) {
            continue;
        }
        let place = |layout: &Layout, offset: isize| {
            let start = layout.arena_bytes().map_or(0, |bytes| bytes.start);
            start as i128 + offset as i128 * layout.dtype.size() as i128
        };
        let same_place = place(layout, load.base.offset) == place(out, nest.store.base.offset);
        let same_size = layout.dtype.size() == out.dtype.size();
        let same_strides =
            (0..extents.len()).all(|a| extents[a] <= 1 || load.strides[a] == nest.store.strides[a]);
        let injective = nest.reduce.is_none() && nest.store.offset.is_none();
        if !(same_place && same_size && same_strides && injective) {
            return Err(Fault::Overlap);
        }
        in_place = true;
    }
    for node in &nest.body {
        if let Node::Gather { base, .. } = *node
            && layout_of(layouts, base)?.overlaps(out)
        {
            return Err(Fault::Overlap);
        }
    }
    Ok(in_place)
}
