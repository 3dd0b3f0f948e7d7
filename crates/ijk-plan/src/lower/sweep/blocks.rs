//! Size of the blocks of a sweep, and its benefit: traffic that stays in cache against less efficient kernels.

use super::{Group, bytes};
use crate::graph::{Graph, Stmt};
use crate::select::contraction;
use crate::select::profit::PRODUCTS_PER_BYTE;
use ijk_ir::core::ArrayId;
use std::collections::{BTreeMap, BTreeSet};

/// Least number of blocks, given as many rows, so that threads can share them.
const MIN_BLOCKS: u64 = 16;

/// Least number of rows of a block with a contraction, given as many: the shared operand is streamed once per block.
const MIN_CONTRACTED_ROWS: u64 = 32;

/// Products of a block that takes little longer than starting threads for parts of it; and least number of such blocks.
const SHORT_BLOCK_PRODUCTS: u64 = 1 << 21;
const MIN_SHORT_BLOCKS: u64 = 4;

/// Blocks have twice as many rows if those take at most `ROOM * near` bytes (an array that is computed in place counts
/// once per write) and at least `MANY_BLOCKS` blocks remain.
const ROOM: u64 = 8;
const MANY_BLOCKS: u64 = 128;

/// Rows and columns of a microkernel's tile; and padded products that take as long as moving a byte to memory and
/// back.
const LANES: u64 = 16;
const PADDED: u64 = 16;

/// In the time that a step takes to start, as many bytes as this share of those `near` leave L2 and return to it.
const START_SHARE: u64 = 32;

/// Least rows of a block with a contraction, for `rows` rows of `each` bytes.
fn least_rows(rows: u64, each: u64, near: u64) -> u64 {
    let larger = 2 * MIN_CONTRACTED_ROWS;
    let room = near.saturating_mul(ROOM) / each >= larger;
    if room && rows / larger >= MANY_BLOCKS { larger } else { MIN_CONTRACTED_ROWS }
}

impl Group {
    /// The group with block sizes; `None` if its arrays fit in cache as they are, or a sweep does not pay.
    pub(super) fn sized(mut self, graph: &Graph, near: u64) -> Option<Self> {
        let rows = self.rows.iter().fold(1, |n: u64, row| n.saturating_mul(row.extent));
        let reused = self.reused(graph);
        if reused <= near || rows == 1 {
            return None;
        }
        let each = (self.bytes(graph) / rows).max(1);
        let multiplied = self.contracted(graph);
        if near > 0 && self.single_products(graph) / PRODUCTS_PER_BYTE > reused {
            return None;
        }
        let (room, least) = match multiplied {
            0 => (near, 1),
            _ => (near.saturating_mul(2), least_rows(rows, each, near)),
        };
        let most = (room / each).max(least);
        let mut left = most.min(rows.div_ceil(MIN_BLOCKS)).max(1);
        // Contractions of parts of their rows are less efficient.
        let whole = self.rows.last().map_or(1, |row| row.extent);
        let short = (multiplied / (rows / whole)) <= SHORT_BLOCK_PRODUCTS;
        if multiplied > 0 && short && rows / whole >= MIN_SHORT_BLOCKS && whole <= most {
            left = left.max(whole);
        }
        self.blocks = vec![1; self.rows.len()];
        for (row, block) in self.rows.iter().zip(&mut self.blocks).rev() {
            *block = row.extent.div_ceil(row.extent.div_ceil(left));
            left = if *block == row.extent { (left / row.extent).max(1) } else { 1 };
        }
        let pads = near > 0 && self.padding(graph) / PADDED > reused;
        let starts = self.starts().saturating_mul(near / START_SHARE) > self.saved(graph);
        (!pads && !starts).then_some(self)
    }

    /// Number of steps that are started, one per statement and block.
    fn starts(&self) -> u64 {
        let each =
            self.rows.iter().zip(&self.blocks).map(|(row, &block)| row.extent.div_ceil(block));
        each.fold(self.statements.len() as u64, u64::saturating_mul)
    }

    /// Padded products of contractions in blocks of few rows, beyond those of whole contractions.
    fn padding(&self, graph: &Graph) -> u64 {
        let padded = |[_, m, n, _]: [u64; 4]| LANES.div_ceil(m.min(n).max(1));
        let of_one = |(member, stmt): (usize, &Stmt)| {
            let mut extents = stmt.extents();
            let whole = padded(contraction::sides(graph, stmt, &extents)?);
            for (row, &block) in self.rows.iter().zip(&self.blocks) {
                extents[row.axes[member]] = block;
            }
            let block = padded(contraction::sides(graph, stmt, &extents)?);
            Some(stmt.points().saturating_mul(block.saturating_sub(whole)))
        };
        let all = self.members(graph).iter().enumerate();
        let all = all.filter(|(_, stmt)| contraction::multiplies(graph, stmt));
        all.filter_map(of_one).fold(0, u64::saturating_add)
    }

    /// Bytes of arrays that several statements access.
    fn reused(&self, graph: &Graph) -> u64 {
        let touched = self.touched(graph).into_iter().filter(|(_, times)| *times > 1);
        touched.fold(0, |sum, (array, _)| sum.saturating_add(bytes(graph, array)))
    }

    /// Bytes that do not leave the cache, since a sweep accesses them again while they are there.
    fn saved(&self, graph: &Graph) -> u64 {
        let again = |(array, times): (ArrayId, usize)| {
            bytes(graph, array).saturating_mul(times.saturating_sub(1) as u64)
        };
        self.touched(graph).into_iter().map(again).fold(0, u64::saturating_add)
    }

    /// Products of all contractions.
    fn contracted(&self, graph: &Graph) -> u64 {
        self.products(graph, |_| 1)
    }

    /// Products of elements of 4 bytes that take as long as all contractions: vectors have fewer of larger elements.
    fn single_products(&self, graph: &Graph) -> u64 {
        self.products(graph, |stmt| (graph.array(stmt.out).dtype.size() as u64).div_ceil(4))
    }

    /// Products of all contractions, each of which counts so often.
    fn products(&self, graph: &Graph, times: impl Fn(&Stmt) -> u64) -> u64 {
        let all = self.members(graph).iter().filter(|stmt| contraction::multiplies(graph, stmt));
        let of_one = |stmt: &Stmt| stmt.points().saturating_mul(times(stmt));
        all.map(of_one).fold(0, u64::saturating_add)
    }

    /// Bytes of arrays with rows.
    fn bytes(&self, graph: &Graph) -> u64 {
        let touched = self.touched(graph).into_keys();
        touched.fold(0, |sum, array| sum.saturating_add(bytes(graph, array)))
    }

    /// Arrays with rows, and the number of statements that access them.
    fn touched(&self, graph: &Graph) -> BTreeMap<ArrayId, usize> {
        let mut touched = BTreeMap::new();
        for stmt in self.members(graph) {
            let mut own = BTreeSet::from([stmt.out]);
            stmt.for_each_read(|array| own.extend([array]));
            own.retain(|array| self.rows.iter().any(|row| row.places.contains_key(array)));
            own.into_iter().for_each(|array| *touched.entry(array).or_default() += 1);
        }
        touched
    }
}
