//! Blocking: sizes of panels, and the variant of the blocked loops for a problem.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::Problem;
use crate::contract::canonical::ranges::even;
use crate::contract::select::in_place::{UnpackedLhs, UnpackedRhs};
use crate::contract::select::sharing::shares_lhs;
use ijk_kernels::contraction::microkernel::{Microkernel, smallest};
use ijk_kernels::contraction::panel::Prepare;
use ijk_kernels::tuning::order::{
    KC, L1_PANEL_BYTES, LONG_RUN, LONGEST_BLOCK, MANY_STEPS, PACK_RATIO, RESIDENT_LHS_BYTES,
    UNPACKED_LHS_BYTES, UNPACKED_RHS_PANELS,
};
use ijk_kernels::tuning::time::{
    GROUP_COLUMN_PANELS, GROUP_OUTPUT_BYTES, GROUP_PANELS, OUT_OF_CACHE_RANGE_PANELS,
    OUT_OF_L2_BYTES, OUTPUT_STRIP_BYTES, RANGE_LHS_BYTES, RANGE_PANELS, SET_STRIDE_BYTES,
    TASK_PANELS, UNPACKED_BLOCK_BYTES, UNPACKED_LHS_ROWS,
};

/// Blocking (mr, nr, kc), and which operands are packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocking {
    /// Rows of an lhs panel.
    pub(crate) mr: usize,
    /// Columns of an rhs panel.
    pub(crate) nr: usize,
    /// Access of microkernels to lhs.
    pub(crate) lhs: LhsAccess,
    /// Layout of an rhs whose whole panels are read in place.
    pub(crate) unpacked_rhs: Option<UnpackedRhs>,
    /// True if lhs is the operand that threads share.
    pub(crate) shares_lhs: bool,
    /// True if lhs is out of L2, so that its next rows are prefetched.
    pub(crate) out_of_l2: bool,
    /// Number of ranges of columns; the threads that pack the panels of a range also read them.
    pub(crate) ranges: usize,
    /// Number of lhs panels multiplied by an rhs panel in turn.
    pub(crate) group: usize,
    /// Length of blocks of k.
    length: BlockLength,
}

/// Access of microkernels to lhs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LhsAccess {
    /// Packed panels.
    Packed,
    /// Panels that are read in place by the microkernels for packed panels.
    InPlace(UnpackedLhs),
    /// Rows that are read in place by direct microkernels, without panels.
    Direct,
}

/// Length of blocks of k: each block loads and stores the tile of the output once.
#[derive(Clone, Copy, Debug)]
enum BlockLength {
    /// At most KC steps: the lhs panel stays in L1.
    Whole,
    /// At most KC/2 steps: the lhs panel and its rows of the output stay in L1.
    Half,
    /// At most 2·KC steps: neither stays in L1, and loading the lhs panel from L2 for each tile costs less than another
    /// block.
    Double,
}

impl BlockLength {
    /// For lhs panels of `rows` rows and an output of `columns` columns.
    fn of(rows: usize, columns: usize, size: usize) -> Self {
        let near = |count: usize| rows.saturating_mul(count).saturating_mul(size) <= L1_PANEL_BYTES;
        match (near(KC), near(columns)) {
            (true, _) => Self::Whole,
            (_, true) => Self::Half,
            _ => Self::Double,
        }
    }
}

impl Blocking {
    /// The blocking of a problem for `threads` threads.
    pub(crate) fn of(problem: &Problem, threads: usize) -> Self {
        let size = TileSize::of(problem);
        let direct = size.reads_lhs_directly(problem);
        let mr = size.rows(problem, direct);
        let nr = size.columns(problem, direct);
        let shares_lhs = !direct && shares_lhs(problem);
        let packs = !(direct || shares_lhs);
        let ranges = if packs { ranges(problem, nr, threads) } else { 1 };
        let stays = |rhs: &UnpackedRhs| {
            rhs.windows || size.few || stays_in_l2(problem, rhs.column_stride, ranges)
        };
        let unpacked_rhs = size.rhs.filter(|rhs| !direct && stays(rhs));
        let nr = unpacked_rhs.map_or(nr, |rhs| rhs.columns(problem, nr));
        let group = if packs && writes_rows(problem, mr, nr) { GROUP_PANELS } else { 1 };
        let most = if ranges > 1 { RANGE_LHS_BYTES } else { UNPACKED_BLOCK_BYTES };
        let in_l2 = (L1_PANEL_BYTES + 1..=most).contains(&lhs_bytes(problem));
        let in_place = packs && group == 1 && in_l2;
        let unpacked_lhs = in_place.then(|| UnpackedLhs::of(problem, mr, nr)).flatten();
        let lhs = match unpacked_lhs {
            _ if direct => LhsAccess::Direct,
            Some(lhs) => LhsAccess::InPlace(lhs),
            None => LhsAccess::Packed,
        };
        let out_of_l2 = lhs_bytes(problem) > OUT_OF_L2_BYTES;
        let length = BlockLength::of(mr, problem.n.len(), problem.algebra.size);
        Self { mr, nr, lhs, unpacked_rhs, shares_lhs, out_of_l2, ranges, group, length }
    }

    /// Length of a block of k out of `steps` steps in all. There are at most `2 · steps / KC` blocks, and none is
    /// longer than [`LONGEST_BLOCK`].
    pub(crate) fn block(&self, steps: usize) -> usize {
        match self.length {
            BlockLength::Half if !self.is_direct() => {
                steps.div_ceil((2 * steps / KC).max(1)).max(1)
            }
            BlockLength::Double if !self.is_direct() => even(steps, LONGEST_BLOCK, 1),
            _ => even(steps, KC, 1),
        }
    }

    /// Most panels of `width` rows of the other operand in a task, beside `shared` rows of the shared operand and blocks
    /// of at most `steps` steps.
    pub(crate) fn task_panels(
        &self,
        width: usize,
        shared: usize,
        steps: usize,
        size: usize,
    ) -> usize {
        match (self.is_direct(), self.shares_lhs) {
            (true, _) => UNPACKED_LHS_ROWS / width,
            (_, true) => RESIDENT_LHS_BYTES / (steps.max(1) * size) / width,
            _ if self.group > 1 => TASK_PANELS,
            _ => {
                let strip = width * (shared / self.ranges).max(1) * size;
                (OUTPUT_STRIP_BYTES / strip).min(TASK_PANELS)
            }
        }
    }

    /// The blocking of a problem whose panels of an operand are given.
    pub(crate) fn with_panels(problem: &Problem, operand: TensorId) -> Self {
        let blocking = Self::of(problem, 1);
        match operand {
            TensorId::Left => {
                Self { lhs: LhsAccess::Packed, shares_lhs: true, out_of_l2: false, ..blocking }
            }
            _ => Self { shares_lhs: false, unpacked_rhs: None, ..blocking },
        }
    }

    /// Returns true if direct microkernels read lhs.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.lhs, LhsAccess::Direct)
    }

    /// Layout of an lhs whose panels are read in place.
    pub(crate) fn unpacked_lhs(&self) -> Option<UnpackedLhs> {
        match self.lhs {
            LhsAccess::InPlace(lhs) => Some(lhs),
            _ => None,
        }
    }

    /// The same for columns of a single thread.
    pub(crate) fn in_one_range(self) -> Self {
        Self { ranges: 1, ..self }
    }
}

/// Sizes of microkernels from which a problem's blocking is selected.
struct TileSize {
    /// The widest microkernel for packed panels.
    full: Microkernel,
    /// Row groups of a packed lhs panel, and columns of its microkernels.
    groups: usize,
    packed: usize,
    /// Columns of the widest direct microkernel that is no wider; 0 if there is none.
    direct: usize,
    /// True if lhs has few panels.
    few: bool,
    /// Layout of rhs for panels of `packed` columns, if microkernels can read it in place.
    rhs: Option<UnpackedRhs>,
}

impl TileSize {
    fn of(problem: &Problem) -> Self {
        let Problem { algebra, m, n, .. } = problem;
        let full = algebra.tiles.wide(n.len()).unwrap_or(algebra.tiles.packed[0]);
        let groups = groups(problem, full.groups);
        let least = n.len().min(full.columns);
        let packed = smallest(algebra.tiles.packed, groups..=groups, least..).columns;
        let widths = algebra.tiles.direct.iter().map(|e| e.columns);
        let direct = widths.filter(|&columns| columns <= full.columns).max().unwrap_or(0);
        let few = m.len() <= UNPACKED_RHS_PANELS * groups * algebra.lanes;
        Self { full, groups, packed, direct, few, rhs: UnpackedRhs::of(problem, packed) }
    }

    /// Returns true if direct microkernels read lhs: its rows are contiguous, and it is read once, or is in L1 and not
    /// worth packing.
    fn reads_lhs_directly(&self, problem: &Problem) -> bool {
        let Problem { algebra, m, n, .. } = problem;
        let contiguous = self.rhs.is_some_and(|rhs| !rhs.windows);
        let pays = self.few && contiguous && n.len() / PACK_RATIO >= m.len();
        let in_l1 = self.direct > 0 && lhs_bytes(problem) <= UNPACKED_LHS_BYTES;
        let once = n.len() <= self.direct || (in_l1 && !pays);
        let long = m.run(TensorId::Left) >= 2 * algebra.lanes;
        once && long && algebra.left == Prepare::Keep
    }

    /// Rows of an lhs panel. The remaining rows of a direct lhs form a packed panel; its columns need microkernels of
    /// every number of groups.
    fn rows(&self, problem: &Problem, direct: bool) -> usize {
        problem.algebra.lanes * if direct { self.full.groups } else { self.groups }
    }

    /// Columns of a packed rhs panel.
    fn columns(&self, problem: &Problem, direct: bool) -> usize {
        let least = problem.n.len().min(self.direct);
        let narrow = || smallest(problem.algebra.tiles.direct, .., least..).columns;
        if direct { narrow() } else { self.packed }
    }
}

/// Size of lhs in bytes.
pub(super) fn lhs_bytes(problem: &Problem) -> usize {
    let elements = problem.m.len().saturating_mul(problem.k.len());
    elements.saturating_mul(problem.algebra.size)
}

/// Number of ranges of columns. Rounds of k-tiles and parts of a stage depend on the number of columns, so these have
/// one; with few steps, lhs and the output dominate the time.
fn ranges(problem: &Problem, nr: usize, threads: usize) -> usize {
    let Problem { m, n, k, tile, .. } = problem;
    let in_cache = lhs_bytes(problem) <= RANGE_LHS_BYTES;
    let fewest = if in_cache { RANGE_PANELS } else { OUT_OF_CACHE_RANGE_PANELS };
    let cuts = tile.is_none() && m.run(TensorId::Out) >= LONG_RUN && k.len() >= MANY_STEPS;
    if cuts { column_ranges(n.len().div_ceil(nr), fewest, threads) } else { 1 }
}

/// Returns true if a short k makes a large output whose rows are contiguous and columns far apart. Tiles then follow
/// each other along rows: memory is written faster in long runs, although lhs panels come from L2.
fn writes_rows(problem: &Problem, rows: usize, columns: usize) -> bool {
    let Problem { algebra, m, n, k, .. } = problem;
    let bytes = problem.outputs().saturating_mul(algebra.size);
    let long = m.run(TensorId::Out) >= GROUP_PANELS * rows;
    let apart = n.inner(TensorId::Out).1.unsigned_abs() >= GROUP_PANELS * rows;
    let many = n.len() >= GROUP_COLUMN_PANELS * columns;
    bytes >= GROUP_OUTPUT_BYTES && k.len() < MANY_STEPS && long && apart && many
}

/// Returns true if the unpacked columns of a range, `column_stride` elements apart, stay in L2 while lhs panels are
/// streamed.
fn stays_in_l2(problem: &Problem, column_stride: isize, ranges: usize) -> bool {
    let Problem { algebra, n, k, .. } = problem;
    let stride = column_stride.unsigned_abs().saturating_mul(algebra.size);
    let block = k.len().min(LONGEST_BLOCK) * algebra.size;
    let each = if stride.is_multiple_of(SET_STRIDE_BYTES) { stride.max(block) } else { block };
    k.len() >= MANY_STEPS && (n.len() / ranges).saturating_mul(each) <= UNPACKED_BLOCK_BYTES
}

/// Number of row groups of a panel, if the widest microkernel takes `most`. Two replace three for m of four groups and
/// a long k: three would leave a tile of one group, too few accumulators to hide the latency of FMA.
fn groups(problem: &Problem, most: usize) -> usize {
    let Problem { algebra, m, k, .. } = problem;
    let pairs = |e: &Microkernel| e.groups == 2 && e.columns == algebra.tiles.packed[0].columns;
    let rest = most == 3 && m.len().div_ceil(algebra.lanes) == 4 && k.len() >= MANY_STEPS;
    if rest && algebra.tiles.packed.iter().any(pairs) { 2 } else { most }
}

/// Panel width of an operand that is packed for many problems.
pub(crate) fn shared_width(problem: &Problem, operand: TensorId) -> usize {
    let blocking = Blocking::with_panels(problem, operand);
    if operand == TensorId::Left { blocking.mr } else { blocking.nr }
}

/// Number of ranges, of at least `fewest` shared panels, for `threads` threads: each range stays in the caches of the
/// threads that packed it.
pub(crate) fn column_ranges(shared: usize, fewest: usize, threads: usize) -> usize {
    let most = threads.min(shared / fewest);
    (2..=most).rev().find(|&count| threads.is_multiple_of(count)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_many_as_threads_can_share() {
        let most = [(64, 1), (64, 2), (63, 2), (1000, 2), (1000, 3), (128, 6), (96, 4), (32, 8)];
        let ranges_of = most.map(|(shared, threads)| column_ranges(shared, 32, threads));
        assert_eq!(ranges_of, [1, 2, 1, 2, 3, 3, 2, 1]);
    }
}
