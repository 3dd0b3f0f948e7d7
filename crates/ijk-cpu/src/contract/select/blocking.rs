//! Blocking: sizes of panels, and the variant of the blocked loops for a problem.

use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::Problem;
use crate::contract::canonical::ranges::even;
use crate::contract::kernels::microkernel::{Microkernel, smallest};
use crate::contract::kernels::panel::Prepare;
use crate::contract::select::in_place::{UnpackedLhs, UnpackedRhs};
use crate::contract::select::sharing::shares_lhs;
use crate::tuning::order::{
    KC, L1_PANEL_BYTES, LONG_RUN, LONGEST_BLOCK, MANY_STEPS, PACK_RATIO, UNPACKED_LHS_BYTES,
    UNPACKED_RHS_PANELS,
};
use crate::tuning::time::{
    GROUP_COLUMN_PANELS, GROUP_OUTPUT_BYTES, GROUP_PANELS, OUT_OF_CACHE_RANGE_PANELS,
    OUT_OF_L2_BYTES, RANGE_LHS_BYTES, RANGE_PANELS, SET_STRIDE_BYTES, UNPACKED_BLOCK_BYTES,
};

/// Blocking (mr, nr, kc), and which operands are packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocking {
    /// Rows of an lhs panel.
    pub(crate) mr: usize,
    /// Columns of an rhs panel.
    pub(crate) nr: usize,
    /// True if lhs is read in place by direct microkernels, without panels.
    pub(crate) direct: bool,
    /// Layout of an rhs whose whole panels are read in place.
    pub(crate) unpacked_rhs: Option<UnpackedRhs>,
    /// Layout of an lhs whose panels are read in place by the microkernels for packed panels.
    pub(crate) unpacked_lhs: Option<UnpackedLhs>,
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
        let (algebra, n) = (&problem.algebra, problem.n.len());
        let wide = algebra.tiles.wide(n);
        let full = wide.unwrap_or(algebra.tiles.packed[0]);
        let groups = groups(problem, full.groups);
        let widths = algebra.tiles.direct.iter().map(|e| e.columns);
        let widest = widths.filter(|&columns| columns <= full.columns).max().unwrap_or(0);
        let long = problem.m.run(TensorId::Left) >= 2 * algebra.lanes;
        let left_len = problem.m.len().saturating_mul(problem.k.len());
        let left_bytes = left_len.saturating_mul(algebra.size);
        let packed = smallest(algebra.tiles.packed, groups..=groups, n.min(full.columns)..).columns;
        let few = problem.m.len() <= UNPACKED_RHS_PANELS * groups * algebra.lanes;
        let rhs = UnpackedRhs::of(problem, packed);
        let straight = rhs.is_some_and(|rhs| !rhs.windows);
        let pays = few && straight && n / PACK_RATIO >= problem.m.len();
        let once = n <= widest || (widest > 0 && left_bytes <= UNPACKED_LHS_BYTES && !pays);
        let direct = once && long && algebra.left == Prepare::Keep;
        // The remaining rows of a direct lhs form a packed panel; its columns need microkernels of every number of
        // groups.
        let (groups, columns) = match direct {
            true => (full.groups, smallest(algebra.tiles.direct, .., n.min(widest)..).columns),
            false => (groups, packed),
        };
        let rows = groups * algebra.lanes;
        let shares_lhs = !direct && shares_lhs(problem);
        let fewest =
            if left_bytes <= RANGE_LHS_BYTES { RANGE_PANELS } else { OUT_OF_CACHE_RANGE_PANELS };
        let packs = !(direct || shares_lhs);
        let ranges = match packs && has_ranges(problem) {
            true => column_ranges(n.div_ceil(columns), fewest, threads),
            false => 1,
        };
        let stays = |rhs: &UnpackedRhs| {
            rhs.windows || few || stays_in_l2(problem, rhs.column_stride, ranges)
        };
        let rhs = rhs.filter(|rhs| !direct && stays(rhs));
        let columns = rhs.map_or(columns, |rhs| rhs.columns(problem, columns));
        let length = BlockLength::of(rows, n, algebra.size);
        let group = if packs && writes_rows(problem, rows, columns) { GROUP_PANELS } else { 1 };
        let most = if ranges > 1 { RANGE_LHS_BYTES } else { UNPACKED_BLOCK_BYTES };
        let near = (L1_PANEL_BYTES + 1..=most).contains(&left_bytes);
        let reads_lhs = packs && group == 1 && near;
        let lhs = if reads_lhs { UnpackedLhs::of(problem, rows, columns) } else { None };
        Self {
            mr: rows,
            nr: columns,
            direct,
            unpacked_rhs: rhs,
            unpacked_lhs: lhs,
            shares_lhs,
            out_of_l2: left_bytes > OUT_OF_L2_BYTES,
            ranges,
            group,
            length,
        }
    }

    /// Length of a block of k out of `steps` steps in all. There are at most `2 · steps / KC` blocks, and none is
    /// longer than [`LONGEST_BLOCK`].
    pub(crate) fn block(&self, steps: usize) -> usize {
        match self.length {
            BlockLength::Half if !self.direct => steps.div_ceil((2 * steps / KC).max(1)).max(1),
            BlockLength::Double if !self.direct => even(steps, LONGEST_BLOCK, 1),
            _ => even(steps, KC, 1),
        }
    }

    /// The blocking of a problem whose panels of an operand are given.
    pub(crate) fn with_panels(problem: &Problem, operand: TensorId) -> Self {
        let blocking = Self::of(problem, 1);
        match operand {
            TensorId::Left => Self {
                direct: false,
                shares_lhs: true,
                out_of_l2: false,
                unpacked_lhs: None,
                ..blocking
            },
            _ => Self { shares_lhs: false, unpacked_rhs: None, ..blocking },
        }
    }

    /// The same for columns of a single thread.
    pub(crate) fn in_one_range(self) -> Self {
        Self { ranges: 1, ..self }
    }
}

/// Returns true if columns may be cut into ranges. Rounds of k-tiles and parts of a stage depend on the number of
/// columns; with few steps, lhs and the output dominate the time.
fn has_ranges(problem: &Problem) -> bool {
    let Problem { m, k, tile, .. } = problem;
    tile.is_none() && m.run(TensorId::Out) >= LONG_RUN && k.len() >= MANY_STEPS
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

/// Returns true if the unpacked columns of a range, `column_stride` elements apart, stay in L2 while lhs panels are streamed.
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
