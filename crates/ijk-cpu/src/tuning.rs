//! Thresholds of the engine: sizes, ratios and times from which one way of doing something is better than another.
//! Those of `nest`, `copy` and `folds` are still beside their code.
//!
//! Sizes of memory are fractions of the nominal cache sizes of [`cache`]. Whoever changes a constant of [`order`]
//! changes bits of results, and raises `ORDER` in `ijk-blocks/src/store/zarr/manifest.rs`; constants of [`time`] are
//! free.

/// Nominal cache sizes of a core, in bytes. They are those that the thresholds were measured with, and never those of
/// the machine, since [`order`] depends on them.
pub(crate) mod cache {
    /// First level.
    pub(crate) const L1: usize = 32 << 10;
    /// Second level.
    pub(crate) const L2: usize = 2 << 20;
    /// A core's share of the last level.
    pub(crate) const L3: usize = 4 << 20;
    /// Bytes that are out of cache before they are complete.
    pub(crate) const OUT_OF_CACHE: usize = 4 * L3;
}

/// Thresholds that fix the order of summation: lengths of blocks and parts of a sum, and the selection among algorithms
/// whose orders differ. Together with the SIMD level's lanes they are constants, the same on every machine.
pub(crate) mod order {
    use super::cache::{L1, L2, L3};

    /// Steps of k in a block of a contraction (kc).
    pub(crate) const KC: usize = 256;

    /// Most steps of a block of k.
    pub(crate) const LONGEST_BLOCK: usize = 2 * KC;

    /// Steps of k in a part of split-k.
    pub(crate) const SPLIT_K_STEPS: usize = 64 * KC;

    /// Most parts of split-k.
    pub(crate) const SPLIT_K_PARTS: usize = 256;

    /// Largest output of a batch, in elements, for split-k.
    pub(crate) const SPLIT_K_OUTPUTS: usize = 4096;

    /// Number of steps from which the stores and loads of a tile's output are negligible.
    pub(crate) const MANY_STEPS: usize = 128;

    /// Steps of the outer axis of a k-tile come in multiples of this, to use whole cache lines.
    pub(crate) const K_TILE_LINES: usize = 16;

    /// Fewest steps of the outer axis of a k-tile in a round.
    pub(crate) const K_TILE_LEAST_LINES: usize = 4;

    /// Limit in bytes for an lhs panel, or for its rows of the output, that stay in L1 while rhs panels are streamed.
    pub(crate) const L1_PANEL_BYTES: usize = L1;

    /// Limit in bytes for the shared panels of a round, which stay in L3.
    pub(crate) const ROUND_BYTES: usize = L3;

    /// Limit in bytes for the shared panels of one block of k. Exceeding L2 costs less than the repeated packing of the
    /// other operand that a smaller block would cause.
    pub(crate) const BLOCK_BYTES: usize = L2;

    /// Limit in bytes for the panels of a shared lhs for one block of k; L2 has room for them and for the rhs panels
    /// that are streamed.
    pub(crate) const RESIDENT_LHS_BYTES: usize = 3 * L2 / 32;

    /// Threads share lhs panels only if `n >= SHARE_RATIO * m`.
    pub(crate) const SHARE_RATIO: usize = 4;

    /// Limit in bytes for the lhs panels of a block of k beside unpacked windows: they stay in L2 together with the
    /// windows and the part of the output that is computed from them.
    pub(crate) const WINDOW_LHS_BYTES: usize = L2 / 16;

    /// Size of lhs in bytes up to which it is read in place for any number of columns.
    pub(crate) const UNPACKED_LHS_BYTES: usize = L1;

    /// Number of lhs panels up to which packing rhs does not pay.
    pub(crate) const UNPACKED_RHS_PANELS: usize = 6;

    /// Pack an lhs in cache if `n >= PACK_RATIO * m` and rhs is not packed; otherwise read it in place.
    pub(crate) const PACK_RATIO: usize = 4;

    /// Largest ratio of the panels of an operand that many contractions share, with their padding, to the data in them.
    pub(crate) const SHARED_PADDING: usize = 4;

    /// Columns follow the output, not rhs, if the output is this many times as large.
    pub(crate) const OUTPUT_RATIO: usize = 8;

    /// Cost factor of rows that are strided in the output.
    pub(crate) const STRIDED_OUTPUT_COST: f64 = 1.25;

    /// Multiply-adds that take as long as moving an element of the output from scratch memory.
    pub(crate) const MOVE_COST: f64 = 16.0;

    /// Multiply-adds that take as long as packing an element.
    pub(crate) const PACK_COST: f64 = 8.0;

    /// Shorter runs of contiguous rows are not worth a vector copy.
    pub(crate) const SHORT_RUN: usize = 4;

    /// Length of contiguous runs in the output from which rows are written in place.
    pub(crate) const LONG_RUN: usize = 8;

    /// Extent below which the innermost axis of rows is short.
    pub(crate) const SHORT_AXIS: usize = 32;

    /// Smallest length to which a contiguous axis of a staged output is cut.
    pub(crate) const STAGED_INNER: usize = 32;

    /// Limit in bytes for a part of a staged output, which stays in L2 beside the panels that it is computed from.
    pub(crate) const STAGED_BYTES: usize = L2 / 4;

    /// Most rows of a unit of short axes.
    pub(crate) const UNIT_ROWS: usize = 2048;

    /// Rows of a task of dot products.
    pub(crate) const DOT_ROWS: usize = 64;

    /// Largest n for which dot products are faster than packing.
    pub(crate) const DOT_COLUMNS: usize = 3;

    /// Limit in bytes for the elements of a column that are summed in lanes before the sums are combined: they stay in
    /// L1.
    pub(crate) const DOT_STEP_BYTES: usize = L1 / 2;

    /// Size of lhs from which dot products read it row by row as one stream,
    pub(crate) const DOT_STREAM_BYTES: usize = L3;

    /// or prefetch it, if its rows are short.
    pub(crate) const DOT_PREFETCH_BYTES: usize = L2 / 4;

    /// Largest n for which axpy is faster than packing: lhs is read once for each column, from cache after the first.
    pub(crate) const AXPY_COLUMNS: usize = 3;

    /// Size of lhs in bytes from which it is out of L2, so that axpy reads it in long runs.
    pub(crate) const AXPY_LHS_BYTES: usize = L2 / 4;

    /// Largest m and n whose sums all stay in registers,
    pub(crate) const THIN_EXTENT: usize = 8;

    /// and smallest k for that.
    pub(crate) const THIN_STEPS: usize = 64;

    /// Limit in bytes for a part of the lhs of small matrices, which stays in L1,
    pub(crate) const SMALL_LHS_BYTES: usize = 3 * L1 / 4;

    /// and the same if rhs is streamed only once.
    pub(crate) const SMALL_NARROW_LHS_BYTES: usize = L1;

    /// Limit in bytes for the rhs and for the output of small matrices, which are streamed,
    pub(crate) const SMALL_BYTES: usize = 2 * L1;

    /// and for rhs if it is streamed only once.
    pub(crate) const SMALL_RHS_ONCE_BYTES: usize = L2 / 8;

    /// Most parts of the lhs of small matrices.
    pub(crate) const SMALL_PARTS: usize = 16;

    /// Most multiply-adds of small matrices: beyond, packed panels are reused often enough to pay.
    pub(crate) const SMALL_POINTS: f64 = (1 << 22) as f64;

    /// The same if parts have a single group of rows.
    pub(crate) const SMALL_POINTS_OF_ONE_GROUP: f64 = (1 << 20) as f64;

    /// Shortest contiguous runs of m for which the lhs of small matrices is copied run by run.
    pub(crate) const SMALL_COPIED_RUN: usize = 4;

    /// Rows of a tile of a grouped contraction: the last tile of a group has the smallest size that suffices.
    pub(crate) const GROUPED_TILES: [usize; 4] = [64, 32, 16, 8];

    /// Most steps of a sum over short axes: sequential additions are then within the error bound of reductions.
    pub(crate) const SHORT_AXES_STEPS: usize = 512;

    /// Most points of a nest that are too few to amortise the setup of tiles: of a sum of products,
    pub(crate) const BRIEF_PRODUCT_POINTS: usize = 1 << 20;

    /// and of any other nest.
    pub(crate) const BRIEF_POINTS: usize = 1 << 16;

    /// Runs of a Kronecker product from this length on are left to tiles,
    pub(crate) const OUTER_PRODUCT_RUN: usize = 128;

    /// and so are more points,
    pub(crate) const OUTER_PRODUCT_POINTS: usize = 1 << 22;

    /// or operands that are not smaller than the result by this factor.
    pub(crate) const OUTER_PRODUCT_RATIO: usize = 16;

    /// Smaller of m and n up to which a contraction of few steps is left to the kernel of short axes,
    pub(crate) const SHORT_AXES_FEW: u64 = 16;

    /// and largest k for that.
    pub(crate) const SHORT_AXES_FEW_STEPS: u64 = 64;

    /// Largest extent of batches of small matrices for the kernel of short axes.
    pub(crate) const SHORT_AXES_BATCHED: u64 = 16;

    /// Most columns of the kernel of short axes.
    pub(crate) const SHORT_AXES_COLUMNS: usize = 256;

    /// Most elements of a copied operand of the kernel of short axes.
    pub(crate) const SHORT_AXES_COPIED: usize = 1 << 22;

    /// Most rows of the inner and of the outer table of offsets of the kernel of short axes.
    pub(crate) const SHORT_AXES_INNER_ROWS: usize = 512;
    pub(crate) const SHORT_AXES_OUTER_ROWS: usize = 1 << 20;

    /// Most taps of a window; most taps of windows that do not overlap. Others are left to tiles.
    pub(crate) const WINDOW_TAPS: usize = 256;
    pub(crate) const DISJOINT_WINDOW_TAPS: usize = 16;

    /// Shorter rows of a scatter are left to tiles.
    pub(crate) const SCATTER_SHORT_ROW: usize = 4;

    /// Length of rows of a scatter from which contiguity counts more than length.
    pub(crate) const SCATTER_LONG_ROW: usize = 8;

    /// Elements of a row of a scatter that are combined at a time.
    pub(crate) const SCATTER_PIECE: usize = 4096;

    /// Limit in bytes for the range of the output that rows of a scatter cover to be combined one after another.
    pub(crate) const SCATTER_BYTES: usize = L1 / 2;

    /// Smallest size in bytes of adjacent rows of a scan that are scanned together, and their size in a strand.
    pub(crate) const STRAND_LEAST_BYTES: usize = 64;
    pub(crate) const STRAND_BYTES: usize = L1 / 16;

    /// Bytes of values in a chunk of a row of a scan.
    pub(crate) const SCAN_CHUNK_BYTES: usize = 2 * L1;

    /// Number of strands from which no row of a scan is cut into chunks,
    pub(crate) const SCAN_STRANDS: usize = 16;

    /// and smallest scan in points that is cut.
    pub(crate) const SCAN_CUT_POINTS: usize = 1 << 17;
}

/// Thresholds that affect time and memory only: every value gives the same bits.
pub(crate) mod time {
    use super::cache::{L1, L2, L3, OUT_OF_CACHE};
    use crate::runtime::lines::LINE;
    use std::ops::Range;
    use std::time::Duration;

    /// Size that is out of cache before it is complete; lower in tests.
    const LARGE_OUTPUT_BYTES: usize = if cfg!(test) { 64 << 10 } else { OUT_OF_CACHE };

    // Contractions.

    /// Limit in bytes for each operand and for the output of a contraction whose blocking is prepared.
    pub(crate) const PREPARED_BLOCK_BYTES: usize = L2 / 4;

    /// Nanoseconds of small batches between two checks for cancellation.
    pub(crate) const CANCEL_NANOSECONDS: f64 = 1e6;

    /// Batches of a thread from which they are executed in parallel, one on one thread.
    pub(crate) const BATCHES_PER_THREAD: usize = 4;

    /// Most tasks of batches for each thread.
    pub(crate) const BATCH_TASKS_PER_THREAD: usize = 64;

    /// Limit in bytes for the part of the output that stays in L2 between blocks of k.
    pub(crate) const OUTPUT_STRIP_BYTES: usize = 3 * L2 / 8;

    /// Most lhs panels of a task.
    pub(crate) const TASK_PANELS: usize = 64;

    /// An lhs panel with at most this many rhs panels is prefetched while its predecessor is computed.
    pub(crate) const PREFETCHED_PANELS: usize = 64;

    /// Rows of a task with an unpacked lhs.
    pub(crate) const UNPACKED_LHS_ROWS: usize = 8192;

    /// Largest number of multiply-adds for which threads pack panels separately,
    pub(crate) const SEPARATE_POINTS: f64 = 20e6;

    /// and fewest rhs panels of such a thread.
    pub(crate) const SEPARATE_PANELS: usize = 4;

    /// Size of lhs in bytes from which it is out of L2.
    pub(crate) const OUT_OF_L2_BYTES: usize = 3 * L2 / 16;

    /// Limit in bytes for an unpacked operand, in a block of k, that stays in L2 for many panels of the other.
    pub(crate) const UNPACKED_BLOCK_BYTES: usize = 5 * L2 / 8;

    /// Number of columns from which the time to pack an lhs panel is negligible.
    pub(crate) const UNPACKED_LHS_COLUMNS: usize = 2048;

    /// Fewest rhs panels of a range of columns, since lhs is packed for each range,
    pub(crate) const RANGE_PANELS: usize = 32;

    /// and the same if lhs is out of cache.
    pub(crate) const OUT_OF_CACHE_RANGE_PANELS: usize = 64;

    /// Size of lhs in bytes up to which it stays in cache between ranges: lhs is read in place instead of being packed
    /// for each.
    pub(crate) const RANGE_LHS_BYTES: usize = L3;

    /// Number of lhs panels multiplied by an rhs panel in turn, if the output is written along rows.
    pub(crate) const GROUP_PANELS: usize = 8;

    /// Fewest rhs panels for that,
    pub(crate) const GROUP_COLUMN_PANELS: usize = 6;

    /// and fewest bytes of the output.
    pub(crate) const GROUP_OUTPUT_BYTES: usize = LARGE_OUTPUT_BYTES;

    /// Strides that are a multiple of this many bytes map to few sets of L2.
    pub(crate) const SET_STRIDE_BYTES: usize = 4096;

    /// Fewest bytes of a packing task.
    pub(crate) const PACK_TASK_BYTES: usize = 2 * L1;

    /// Prefetch distance of packing, in steps,
    pub(crate) const PACK_PREFETCH_STEPS: usize = 16;

    /// and the same for transposed blocks of steps, for which the hardware prefetches, too.
    pub(crate) const PACK_PREFETCH_BLOCKS: usize = 4;

    /// Prefetch distance in bytes of an rhs panel, which comes from L2.
    pub(crate) const PANEL_PREFETCH_BYTES: usize = L1 / 16;

    /// Unrolling of a microkernel's loop over steps,
    pub(crate) const UNROLLED_STEPS: usize = 4;

    /// and number of multiply-adds of a step from which it is unrolled: the loop counter competes with FMA for issue
    /// slots.
    pub(crate) const UNROLLED_PRODUCTS: usize = 16;

    /// Limit in bytes for the sums of an axpy task's rows for one column: they stay in L1 while rows are streamed.
    pub(crate) const AXPY_SUM_BYTES: usize = L1 / 4;

    /// Smaller next batches of small matrices are left to the hardware prefetcher.
    pub(crate) const SMALL_PREFETCH_BYTES: usize = 4096;

    /// Fewest columns of a task of small matrices.
    pub(crate) const SMALL_TASK_COLUMNS: usize = 32;

    /// Smaller outputs stay in cache in any order of stores.
    pub(crate) const STAGED_LEAST_BYTES: usize = L1 / 2;

    /// Rows of a staged output that are moved at a time.
    pub(crate) const STAGED_CHUNK: usize = 16;

    /// Parts of a staged output for each thread.
    pub(crate) const STAGED_PARTS_PER_THREAD: usize = 4;

    /// Smallest output in bytes whose short runs are joined and streamed.
    pub(crate) const STREAMED_OUTPUT_BYTES: usize = LARGE_OUTPUT_BYTES;

    /// With more steps, the stores of the output do not limit the speed.
    pub(crate) const STREAMED_STEPS: usize = 64;

    /// Length in bytes of joined runs.
    pub(crate) const STREAMED_RUN_BYTES: Range<usize> = 8 * LINE..128 * LINE;

    /// Longer runs are written in place.
    pub(crate) const STREAMED_LONG_BYTES: usize = 8 * LINE;

    /// Approximate rows and columns of a part of a streamed output,
    pub(crate) const STREAMED_ROWS: usize = 240;
    pub(crate) const STREAMED_COLUMNS: usize = 40;

    /// and its size limit in bytes: it stays in L1, or in L2 beside the panels.
    pub(crate) const STREAMED_PART_BYTES: usize = L2 / 8;

    /// Each new task takes at most one of this many shares, for each thread, of the remaining panels.
    pub(crate) const TASK_SHARES: usize = 2;

    /// Minimum number of tasks per thread, if there are that many panels.
    pub(crate) const LEAST_TASKS_PER_THREAD: usize = 4;

    /// Fewest shared panels of a task: for each range of them, the other panels are packed again.
    pub(crate) const TASK_SHARED_PANELS: usize = 16;

    /// Number of tasks into which the last panels, one for each thread, are cut, so that no thread computes a whole
    /// panel while the others are idle.
    pub(crate) const LAST_SPLITS: usize = 2;

    /// Tasks for each thread of a grouped contraction.
    pub(crate) const GROUPED_TASKS_PER_THREAD: usize = 8;

    // Other steps.

    /// Ranges of a sweep's blocks for each thread, to balance their loads.
    pub(crate) const SWEEP_TASKS_PER_THREAD: usize = 8;

    /// Size in bytes from which a buffer of a sweep is out of cache, so that its next block is prefetched.
    pub(crate) const SWEEP_PREFETCH_BYTES: usize = L3;

    /// Most elements of a run of short axes that are computed at a time.
    pub(crate) const SHORT_AXES_PIECE: usize = 1024;

    /// Number of elements up to which copies for the kernel of short axes always use tables,
    pub(crate) const SHORT_AXES_TABLED: usize = 2048;

    /// and fewest elements of a plane of two axes that are copied by loops.
    pub(crate) const SHORT_AXES_PLANE: usize = 64;

    /// Bytes of copies that fit the stack.
    pub(crate) const STACK_BYTES: usize = L1 / 4;

    /// Most outputs of a row of windows, and most rows, that are computed at a time.
    pub(crate) const WINDOW_PIECE: usize = 4096;
    pub(crate) const WINDOW_ROWS: usize = 16;

    /// Fewest elements of a blocked permutation; smaller boxes are copied by loops.
    pub(crate) const PERMUTE_POINTS: usize = 1024;

    /// Length in bytes of runs that are contiguous on both sides from which they are copied as such.
    pub(crate) const PERMUTE_RUN_BYTES: usize = 4 * LINE;

    /// Elements that are tested for infinities between two checks for an early exit.
    pub(crate) const FINITE_PIECE: usize = 4096;

    // Estimated nanoseconds on one thread.

    /// For an element that the kernel of short axes copies.
    pub(crate) const SHORT_AXES_COPY: f64 = 0.6;
    /// For an element of a blocked permutation.
    pub(crate) const PERMUTE_ELEMENT: f64 = 0.8;
    /// For an element of a scatter.
    pub(crate) const SCATTER_ELEMENT: f64 = 0.5;
    /// For a byte of the output of windows, and for each tap of it.
    pub(crate) const WINDOW_OUTPUT: f64 = 0.05;
    pub(crate) const WINDOW_TAP: f64 = 0.01;
    /// For a value of a scan.
    pub(crate) const SCAN_VALUE: f64 = 0.5;
    /// For a value of a scan relative to levels.
    pub(crate) const RELATIVE_SCAN_VALUE: f64 = 1.5;

    // Runs, threads and memory.

    /// Estimated nanoseconds from which a run is cancellable: low, since estimates may be far too small.
    pub(crate) const CANCELLABLE_NANOSECONDS: f64 = 1e6;

    /// Interval between calls of the interrupt callback.
    pub(crate) const INTERRUPT_INTERVAL: Duration = Duration::from_millis(20);

    /// Scalar operations between two checks for cancellation: a fraction of a millisecond, or a few if they are slow.
    pub(crate) const CANCEL_OPERATIONS: usize = 1 << 17;

    /// Default nanoseconds of work from which threads are woken, without a probe of the machine.
    pub(crate) const DIVIDED_NANOSECONDS: f64 = 60_000.0;

    /// Most ranges for each thread of work that is divided.
    pub(crate) const TASKS_PER_THREAD: usize = 4;

    /// Fewest nanoseconds of a range: each costs transfers of cache lines between threads.
    pub(crate) const TASK_NANOSECONDS: f64 = 10_000.0;

    /// Most nanoseconds of a range if the run is cancellable.
    pub(crate) const CANCELLABLE_TASK_NANOSECONDS: f64 = 3e6;

    /// Ratio of the time of kernels to the bound of their work.
    pub(crate) const ABOVE_BOUND: f64 = 1.5;

    /// Smallest ratio of the time of work to the time of a hand-off to another thread: estimates are uncertain, and
    /// caches have to be filled.
    pub(crate) const HAND_OFFS: f64 = 4.0;

    /// Range in seconds to which the time of a hand-off is clamped: longer ones were measured on a busy machine, and a
    /// stored probe would leave threads idle permanently.
    pub(crate) const HAND_OFF: [f64; 2] = [2e-6, 10e-6];

    /// Time for which a thread spins: several times as long as waking it takes, and short enough not to withhold the
    /// processor from others.
    pub(crate) const SPIN: Duration = Duration::from_micros(100);

    /// Polls between two readings of the clock.
    pub(crate) const SPIN_POLLS: usize = 20;

    /// Delay before another attempt after the system refused to start a thread.
    pub(crate) const START_PAUSE: Duration = Duration::from_secs(1);

    /// Polling interval of a caller that waits for helpers.
    pub(crate) const WAIT_INTERVAL: Duration = Duration::from_millis(20);

    /// Polls of a caller that waits before it sleeps: some microseconds.
    pub(crate) const WAIT_POLLS: usize = 500;

    /// Size in bytes from which a result is out of cache before it is complete, if arguments of its size are read, too.
    pub(crate) const STREAMED_RESULT_BYTES: usize = OUT_OF_CACHE;

    /// Default limit in bytes for dropped results that an engine keeps.
    pub(crate) const KEPT_RESULT_BYTES: usize = 256 << 20;

    /// Fraction of the machine's memory, as a divisor, that an engine keeps by default in addition, reclaimable by the
    /// operating system at any time.
    pub(crate) const LENT_MEMORY_DIVISOR: u64 = 8;

    /// Most buffers in a pool of scratch memory: a thread needs two or three at a time.
    pub(crate) const KEPT_BUFFERS: usize = 64;

    /// Bytes of scratch memory of each thread that do not count against a limit: they stay in the cache of its core,
    /// like its stack.
    pub(crate) const UNCOUNTED_BYTES: u64 = L2 as u64 / 8;
}
