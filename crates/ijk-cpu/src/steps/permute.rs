//! Copies that permute axes, if both sides are contiguous along different axes and loops along these are short.

use crate::check::{CheckedNest, Layout};
use crate::copy::{Copier, Places, ShortAxis, merged};
use crate::explain::{KernelChoice, Reason, Relation, limit};
use crate::origin::Origin;
use crate::runtime::threads::Workers;
use ijk_kernels::lines::LINE;
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{PERMUTE_ELEMENT, PERMUTE_POINTS, PERMUTE_STREAMED_RUN_BYTES};
use ijk_plan::plan::{Nest, Node};

/// A prepared permutation.
#[derive(Clone, Debug)]
pub(crate) struct PermuteProgram {
    from: Origin,
    to: Origin,
    places: Places,
    /// True if it is written with non-temporal stores.
    streams: bool,
    /// Number of elements.
    points: usize,
    cost: f64,
}

impl PermuteProgram {
    /// The program of a checked nest, if it is such a permutation.
    pub(crate) fn new(
        nest: &Nest,
        checked: &CheckedNest,
        layouts: &[Layout],
        level: Level,
    ) -> Option<Self> {
        let ([Node::Load(0)], [load], None) = (&nest.body[..], &nest.loads[..], nest.reduce) else {
            return None;
        };
        let (size, kept) = (load.dtype.size(), 0..nest.axes.len());
        let points: usize = checked.extents.iter().product();
        let plain = nest.store.offset.is_none()
            && nest.store.dtype == load.dtype
            && !checked.in_place
            && points >= PERMUTE_POINTS
            && !nest.axes.iter().any(|axis| axis.collides || axis.reduced)
            && kept.clone().all(|a| checked.extents[a] == 1 || checked.separable.contains(&a));
        if !plain {
            return None;
        }
        let bytes = |stride: isize| stride.checked_mul(size as isize);
        let axis = |a: usize| {
            let (to, from) = (bytes(nest.store.strides[a])?, bytes(load.strides[a])?);
            Some(ShortAxis { extent: checked.extents[a], to, from })
        };
        let axes = merged(kept.map(axis).collect::<Option<Vec<_>>>()?);
        let streams = layouts.get(nest.store.base.buffer.0 as usize)?.streams;
        // Loops of a nest transpose such a plane by whole registers.
        let copier = Copier::new(load.dtype, level);
        if !streams && is_thin_plane(&axes, size, &copier) {
            return None;
        }
        if !are_short(&axes, size, if streams { PERMUTE_STREAMED_RUN_BYTES } else { LINE / 2 }) {
            return None;
        }
        Some(Self {
            from: Origin::new(load.base, size),
            to: Origin::new(nest.store.base, size),
            places: Places::new(&axes, size, level)?,
            streams,
            points,
            cost: points as f64 * PERMUTE_ELEMENT,
        })
    }

    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let (blocks, bytes) = (self.places.blocks(), self.places.block_bytes());
        let choice = KernelChoice::new("copy by blocks of whole cache lines")
            .extent("blocks", blocks)
            .block("block", bytes, "bytes")
            .holding("cache lines of both sides", 2 * bytes);
        let text = "blocks copy them faster than loops, since runs that are contiguous on both sides are short";
        let streams = "the result is out of cache before it is complete: its lines are written with non-temporal stores";
        let points = ("elements", self.points);
        choice
            .because(Reason::compared(points, Relation::AtLeast, limit!(PERMUTE_POINTS), text))
            .because(self.streams.then(|| Reason::plain(streams)))
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// Executes the copy.
    ///
    /// # Safety
    /// `bases` are the buffers that the nest was checked against: all elements that it reads are initialised, and no
    /// other thread accesses the output.
    pub(crate) unsafe fn run(&self, bases: &[*mut u8], workers: &Workers) {
        let sides = &PermuteSides { to: self.to.of(bases), from: self.from.of(bases) };
        workers.parallel_ranges(self.places.blocks(), self.cost, |blocks| {
            // SAFETY: the check of the nest covers all its points, and ensures that they differ in elements of the
            // output.
            unsafe {
                match self.streams {
                    true => self.places.stream(blocks, sides.to, sides.from),
                    false => self.places.copy(blocks, sides.to, sides.from),
                }
            }
        });
    }
}

/// Both sides of a copy.
struct PermuteSides {
    to: *mut u8,
    from: *const u8,
}

// SAFETY: these are only pointers; code that dereferences them guarantees access.
unsafe impl Sync for PermuteSides {}

/// Returns true for a transposed plane with few rows or columns.
fn is_thin_plane(axes: &[ShortAxis], size: usize, copier: &Copier) -> bool {
    let [rows, columns] = axes else { return false };
    let transposed = [rows.from, columns.to] == [size as isize; 2];
    transposed && copier.is_thin([rows.extent, columns.extent])
}

/// Returns true if loops along the innermost axes of either side are short: along one of both sides, shorter than `run`
/// bytes.
fn are_short(axes: &[ShortAxis], size: usize, run: usize) -> bool {
    let step = size as isize;
    let inner = |of: fn(&ShortAxis) -> isize| axes.iter().position(|axis| of(axis) == step);
    let bytes = |at: usize| axes[at].extent.saturating_mul(size);
    match (inner(|axis| axis.to), inner(|axis| axis.from)) {
        _ if axes.iter().any(|axis| axis.from == 0) => false,
        // Windows overlap: several axes may be contiguous on the side that is read, that of rows among them.
        (Some(to), _) if axes[to].from == step => bytes(to) < run,
        (Some(to), Some(from)) => bytes(to).min(bytes(from)) < LINE,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes<const N: usize>(axes: [(usize, isize, isize); N]) -> Vec<ShortAxis> {
        axes.map(|(extent, to, from)| ShortAxis { extent, to, from }).to_vec()
    }

    #[test]
    fn long_runs_are_not_short() {
        let are_short = |axes: &[ShortAxis]| super::are_short(axes, 4, LINE / 2);
        assert!(are_short(&axes([(3, 4, 4), (5, 60, 12), (5, 12, 60)])), "three floats");
        assert!(!are_short(&axes([(64, 4, 4), (5, 1280, 256), (5, 256, 1280)])), "lines");
        assert!(!are_short(&axes([(64, 4, 256), (64, 256, 4)])), "a square");
        assert!(are_short(&axes([(64, 4, 12), (3, 256, 4)])), "three columns");
        assert!(!are_short(&axes([(2, 4, 0), (64, 8, 4)])), "copies of an element");
    }
}
