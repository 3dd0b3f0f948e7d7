//! Thresholds that fix the order of summation: lengths of blocks and parts of a sum, and the selection among algorithms
//! whose orders differ. Together with the SIMD level's lanes they are constants, the same on every machine.

use super::cache::{L1, L2, L3};
use crate::lines::LINE;

/// Steps of k in a block of a contraction (kc).
pub const KC: usize = 256;

/// Most steps of a block of k.
pub const LONGEST_BLOCK: usize = 2 * KC;

/// Steps of k in a part of split-k.
pub const SPLIT_K_STEPS: usize = 4 * KC;

/// Fewest steps of k for split-k in batches.
pub const SPLIT_K_BATCHED_STEPS: usize = 64 * KC;

/// Most parts of split-k.
pub const SPLIT_K_PARTS: usize = 128;

/// Largest output of a batch, in elements, for split-k.
pub const SPLIT_K_OUTPUTS: usize = 4096;

/// Largest output for split-k if k has at least [`SPLIT_LONG_K_STEPS`]: its parts then occupy many threads, each of which
/// reads its part of both operands, where threads that divide the output read all of one operand.
pub const SPLIT_LONG_K_OUTPUTS: usize = 1 << 16;

/// Fewest steps of k for split-k with such an output.
pub const SPLIT_LONG_K_STEPS: usize = 16 * SPLIT_K_STEPS;

/// Number of steps from which the stores and loads of a tile's output are negligible.
pub const MANY_STEPS: usize = 128;

/// Steps of the outer axis of a k-tile come in multiples of this, to use whole cache lines.
pub const K_TILE_LINES: usize = 16;

/// Fewest steps of the outer axis of a k-tile in a round.
pub const K_TILE_LEAST_LINES: usize = 4;

/// Limit in bytes for an lhs panel, or for its rows of the output, that stay in L1 while rhs panels are streamed.
pub const L1_PANEL_BYTES: usize = L1;

/// Limit in bytes for the shared panels of a round, which stay in L3.
pub const ROUND_BYTES: usize = L3;

/// Limit in bytes for the shared panels of one block of k. Exceeding L2 costs less than the repeated packing of the
/// other operand that a smaller block would cause.
pub const BLOCK_BYTES: usize = L2;

/// Limit in bytes for the panels of a shared lhs for one block of k; L2 has room for them and for the rhs panels
/// that are streamed.
pub const RESIDENT_LHS_BYTES: usize = 3 * L2 / 32;

/// Threads share lhs panels only if `n >= SHARE_RATIO * m`.
pub const SHARE_RATIO: usize = 4;

/// Limit in bytes for the lhs panels of a block of k beside unpacked windows: they stay in L2 together with the
/// windows and the part of the output that is computed from them.
pub const WINDOW_LHS_BYTES: usize = L2 / 16;

/// Size of lhs in bytes up to which it is read in place for any number of columns.
pub const UNPACKED_LHS_BYTES: usize = L1;

/// Number of lhs panels up to which packing rhs does not pay.
pub const UNPACKED_RHS_PANELS: usize = 6;

/// Pack an lhs in cache if `n >= PACK_RATIO * m` and rhs is not packed; otherwise read it in place.
pub const PACK_RATIO: usize = 4;

/// Largest ratio of the panels of an operand that many contractions share, with their padding, to the data in them.
pub const SHARED_PADDING: usize = 4;

/// Columns follow the output, not rhs, if the output is this many times as large.
pub const OUTPUT_RATIO: usize = 8;

/// Cost factor of rows that are strided in the output.
pub const STRIDED_OUTPUT_COST: f64 = 1.25;

/// Multiply-adds that take as long as moving an element of the output from scratch memory.
pub const MOVE_COST: f64 = 16.0;

/// Multiply-adds that take as long as packing an element.
pub const PACK_COST: f64 = 8.0;

/// Shorter runs of contiguous rows are not worth a vector copy.
pub const SHORT_RUN: usize = 4;

/// Length of contiguous runs in the output from which rows are written in place.
pub const LONG_RUN: usize = 8;

/// Extent below which the innermost axis of rows is short.
pub const SHORT_AXIS: usize = 32;

/// Smallest length to which a contiguous axis of a staged output is cut.
pub const STAGED_INNER: usize = 32;

/// Limit in bytes for a part of a staged output, which stays in L2 beside the panels that it is computed from.
pub const STAGED_BYTES: usize = L2 / 4;

/// Most rows of a unit of short axes.
pub const UNIT_ROWS: usize = 2048;

/// Rows of a task of dot products.
pub const DOT_ROWS: usize = 64;

/// Largest n for which dot products are faster than packing.
pub const DOT_COLUMNS: usize = 3;

/// Limit in bytes for the elements of a column that are summed in lanes before the sums are combined: they stay in
/// L1.
pub const DOT_STEP_BYTES: usize = L1 / 2;

/// Size of lhs from which dot products read it row by row as one stream,
pub const DOT_STREAM_BYTES: usize = L3;

/// or prefetch it, if its rows are short.
pub const DOT_PREFETCH_BYTES: usize = L2 / 4;

/// Largest n for which axpy is faster than packing: lhs is read once for each column, from cache after the first.
pub const AXPY_COLUMNS: usize = 3;

/// Size in bytes of all of lhs from which it is out of L2, so that axpy reads it in long runs.
pub const AXPY_LHS_BYTES: usize = L2 / 4;

/// Largest n whose sums all stay in registers, for as many rows,
pub const THIN_EXTENT: usize = 8;

/// or for more rows of fewer columns,
pub const THIN_ROWS: usize = 32;

/// and smallest k for that.
pub const THIN_STEPS: usize = 64;

/// Limit in bytes for a part of the lhs of small matrices, which stays in L1,
pub const SMALL_LHS_BYTES: usize = 3 * L1 / 4;

/// and the same if rhs is streamed only once.
pub const SMALL_NARROW_LHS_BYTES: usize = L1;

/// Limit in bytes for the rhs and for the output of small matrices, which are streamed,
pub const SMALL_BYTES: usize = 2 * L1;

/// and for rhs if it is streamed only once.
pub const SMALL_RHS_ONCE_BYTES: usize = L2 / 8;

/// Largest k for which groups of rows share an rhs with strided columns, and for which few rows are a vector with idle
/// lanes: rhs is read as k streams, which costs less than packing it for few products.
pub const SMALL_NARROW_STEPS: usize = 64;

/// Fewest columns that amortise a copy of lhs.
pub const SMALL_COPIED_COLUMNS: usize = 256;

/// Most parts of the lhs of small matrices.
pub const SMALL_PARTS: usize = 16;

/// Most multiply-adds of small matrices: beyond, packed panels are reused often enough to pay.
pub const SMALL_POINTS: f64 = (1 << 22) as f64;

/// The same if parts have a single group of rows.
pub const SMALL_POINTS_OF_ONE_GROUP: f64 = (1 << 20) as f64;

/// Shortest contiguous runs of m for which the lhs of small matrices is copied run by run.
pub const SMALL_COPIED_RUN: usize = 4;

/// Rows of a tile of a grouped contraction: the last tile of a group has the smallest size that suffices.
pub const GROUPED_TILES: [usize; 4] = [64, 32, 16, 8];

/// Groups of steps in a block of a product of narrow elements: a panel of columns is as large as L1.
pub const NARROW_GROUPS: usize = 256;

/// Most steps of a sum over short axes: sequential additions are then within the error bound of reductions.
pub const SHORT_AXES_STEPS: usize = 512;

/// Most points of a nest that are too few to amortise the setup of tiles: of a sum of products,
pub const BRIEF_PRODUCT_POINTS: usize = 1 << 20;

/// and of any other nest.
pub const BRIEF_POINTS: usize = 1 << 16;

/// Runs of a Kronecker product from this length on are left to tiles,
pub const OUTER_PRODUCT_RUN: usize = 128;

/// and so are more points,
pub const OUTER_PRODUCT_POINTS: usize = 1 << 22;

/// or operands that are not smaller than the result by this factor.
pub const OUTER_PRODUCT_RATIO: usize = 16;

/// Time in nanoseconds of packing an element for few rows or columns.
pub const PACKED_ELEMENT: f64 = 0.5;

/// Time in nanoseconds of the setup of a GEMM, beside which few products count for nothing.
pub const GEMM_SETUP: f64 = 1000.0;

/// Time in nanoseconds of an element that GEMM packs or writes alone, since others of its line are in other batches.
pub const SCATTERED_ELEMENT: f64 = 2.0;

/// Smaller of m and n up to which a contraction of few steps is left to the kernel of short axes,
pub const SHORT_AXES_FEW: u64 = 16;

/// and largest k for that.
pub const SHORT_AXES_FEW_STEPS: u64 = 64;

/// Largest extent of batches of small matrices for the kernel of short axes.
pub const SHORT_AXES_BATCHED: u64 = 16;

/// Most columns of the kernel of short axes.
pub const SHORT_AXES_COLUMNS: usize = 256;

/// Most columns that are part of a longer axis, where their rows follow each other in the output.
pub const SHORT_AXES_SPLIT: usize = 8;

/// Most elements of a copied operand of the kernel of short axes.
pub const SHORT_AXES_COPIED: usize = 1 << 22;

/// Reads of a copied element from which copies pay in the kernel of short axes, for more than [`BRIEF_POINTS`].
pub const SHORT_AXES_COPY_READS: usize = 4;

/// Most rows of the inner and of the outer table of offsets of the kernel of short axes.
pub const SHORT_AXES_INNER_ROWS: usize = 512;
pub const SHORT_AXES_OUTER_ROWS: usize = 1 << 20;

/// Most taps of a window; most taps of windows that do not overlap. Others are left to tiles.
pub const WINDOW_TAPS: usize = 256;
pub const DISJOINT_WINDOW_TAPS: usize = 16;

/// Shorter rows of a scatter are left to tiles.
pub const SCATTER_SHORT_ROW: usize = 4;

/// Length of rows of a scatter from which contiguity counts more than length.
pub const SCATTER_LONG_ROW: usize = 8;

/// Elements of a row of a scatter that are combined at a time.
pub const SCATTER_PIECE: usize = 4096;

/// Limit in bytes for the range of the output that rows of a scatter cover to be combined one after another.
pub const SCATTER_BYTES: usize = L1 / 2;

/// Smallest size in bytes of adjacent rows of a scan that are scanned together, and their size in a strand.
pub const STRAND_LEAST_BYTES: usize = 64;
pub const STRAND_BYTES: usize = L1 / 16;

/// Bytes of values in a chunk of a row of a scan.
pub const SCAN_CHUNK_BYTES: usize = 2 * L1;

/// Number of strands from which no row of a scan is cut into chunks,
pub const SCAN_STRANDS: usize = 16;

/// and smallest scan in points that is cut.
pub const SCAN_CUT_POINTS: usize = 1 << 17;

// Nests.

/// Points of a tile for element types of at most 4 bytes, and half of them for larger ones: several registers of that
/// many elements stay in L1.
pub const TILE_POINTS: usize = L1 / 32;

/// The same if a tile needs hardly any registers,
pub const LIGHT_TILE_POINTS: usize = 4 * TILE_POINTS;

/// or if chains keep most values in vector registers,
pub const CHAIN_TILE_POINTS: usize = 2 * TILE_POINTS;

/// or if they fold rows that are read in place: no value is in memory. A lane combines [`SEQUENTIAL_VALUES`] of a row.
pub const FOLDED_TILE_POINTS: usize = SEQUENTIAL_VALUES * FOLD_STRIP_BYTES / size_of::<f32>();

/// Functions whose values are reduced in tiles of [`LIGHT_TILE_POINTS`] at most; of others tiles are smaller.
pub const FEW_FUNCTIONS: usize = 2;

/// Sides of a tile that transposes an operand: runs of four cache lines of floats on either side, to amortise TLB
/// misses.
pub const CROSSING_SIDE: usize = 4 * LINE / size_of::<f32>();

/// Size of such a tile of a reduction, relative to others: the length of its runs matters more than its fit in L1.
pub const CROSSING_TILES: usize = 4;

/// Length of the rows of such a tile of a map: outputs that several points share are combined tile by tile.
pub const TRANSPOSED_MAP_ROW: usize = 128;

/// Points of a row from which it is a tile of its own if rows have gaps between them: kernels then process rows in
/// place instead of packed copies.
pub const GAPPED_ROW: usize = 256;

/// Extent below which a reduced axis is not worth a vector loop of its own,
pub const INNERMOST_REDUCED: usize = 40;

/// and the same for one that a reduction keeps,
pub const INNERMOST_KEPT: usize = 8;

/// if another axis has at least this many times as many points.
pub const LONGER_AXIS: usize = 4;

/// Bytes of a strip of lanes in which a row of a tile is folded.
pub const FOLD_STRIP_BYTES: usize = 4 * LINE;

/// Values that are combined sequentially before partial results are,
pub const SEQUENTIAL_VALUES: usize = 256;

/// and the same for rows that are folded first.
pub const SEQUENTIAL_FOLDS: usize = 16;

/// Fewest points of a chunk of a reduction with few outputs,
pub const REDUCTION_CHUNK_POINTS: usize = 1 << 17;

/// most chunks,
pub const REDUCTION_CHUNKS: usize = 256;

/// and number of blocks of outputs from which a reduction is not divided into chunks.
pub const UNCHUNKED_BLOCKS: usize = 16;

/// Values that are scanned on their own, before the total of previous ones is combined with them.
pub const SCAN_BLOCK: usize = 512;

/// Shorter rows at computed places are left to tiles,
pub const INDEXED_ROW_LENGTH: usize = 8;

/// and so are values that read more arrays by rows,
pub const INDEXED_ROW_SOURCES: usize = 12;

/// and rows of this length or more that are each combined to a scalar, one piece after another.
pub const INDEXED_ROW_SUM: usize = 1 << 13;

/// Bytes of a register for rows at computed places, and so of such a piece: all registers together stay in L1.
pub const INDEXED_ROW_PIECE_BYTES: usize = L1 / 8;

// Sums at computed places.

/// Limit in bytes for a copy of an array in which a part of the values is added up: it stays in L2.
pub const SUM_COPY_BYTES: usize = 1 << 19;

/// Most parts, each of which but the first has a copy;
pub const SUM_COPIES: usize = 8;

/// fewest values for each element of each copy;
pub const SUM_COPY_VALUES: usize = 2;

/// and fewest values in all.
pub const SUM_COPY_LEAST: usize = 1 << 15;

// Folds along rows.

/// Elements of a row that are folded lane by lane; folds of such pieces are combined pairwise.
pub const ROW_FOLD_PIECE: usize = 4096;

/// Fewest elements of a strip of a row that has gaps,
pub const ROW_FOLD_STRIP: usize = 4;

/// and of one between whose strips other rows have elements; shorter ones are read in the order of memory,
pub const ROW_FOLD_APART: usize = 256;

/// unless they fill a vector, and all rows together have at most this number of bytes, which caches hold.
pub const ROW_FOLD_NEAR_BYTES: usize = 1 << 23;

/// One thread folds a row of up to this length;
pub const ROW_FOLD_LENGTH: usize = 1 << 17;

/// longer ones are folded in parts of about this length.
pub const ROW_FOLD_PART: usize = 1 << 13;

/// Fewest multiply-adds of a batch of dot products that are folds along rows.
pub const ROW_FOLD_PRODUCTS: usize = 1 << 12;
