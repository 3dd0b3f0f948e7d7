//! Thresholds that affect time and memory only: every value gives the same bits.

use super::cache::{L1, L2, L3, OUT_OF_CACHE};
use crate::lines::LINE;
use std::ops::Range;
use std::time::Duration;

/// Size that is out of cache before it is complete; lower in tests.
const LARGE_OUTPUT_BYTES: usize = if cfg!(test) { 64 << 10 } else { OUT_OF_CACHE };

// Contractions.

/// Limit in bytes for each operand and for the output of a contraction whose blocking is prepared.
pub const PREPARED_BLOCK_BYTES: usize = L2 / 4;

/// Nanoseconds of small batches between two checks for cancellation.
pub const CANCEL_NANOSECONDS: f64 = 1e6;

/// Batches of a thread from which they are executed in parallel, one on one thread.
pub const BATCHES_PER_THREAD: usize = 4;

/// Most tasks of batches for each thread.
pub const BATCH_TASKS_PER_THREAD: usize = 64;

/// Limit in bytes for the part of the output that stays in L2 between blocks of k.
pub const OUTPUT_STRIP_BYTES: usize = 3 * L2 / 8;

/// Most lhs panels of a task.
pub const TASK_PANELS: usize = 64;

/// An lhs panel with at most this many rhs panels is prefetched while its predecessor is computed.
pub const PREFETCHED_PANELS: usize = 64;

/// Rows of a task with an unpacked lhs.
pub const UNPACKED_LHS_ROWS: usize = 8192;

/// Largest number of multiply-adds for which threads pack panels separately,
pub const SEPARATE_POINTS: f64 = 20e6;

/// and fewest rhs panels of such a thread.
pub const SEPARATE_PANELS: usize = 4;

/// Rows and columns of a block of a symmetric output that is copied from the other side of the diagonal.
pub const MIRRORED_SIDE: usize = 64;

/// Size of lhs in bytes from which it is out of L2.
pub const OUT_OF_L2_BYTES: usize = 3 * L2 / 16;

/// Limit in bytes for an unpacked operand, in a block of k, that stays in L2 for many panels of the other.
pub const UNPACKED_BLOCK_BYTES: usize = 5 * L2 / 8;

/// Number of columns from which the time to pack an lhs panel is negligible.
pub const UNPACKED_LHS_COLUMNS: usize = 2048;

/// Fewest rhs panels of a range of columns, since lhs is packed for each range,
pub const RANGE_PANELS: usize = 32;

/// and the same if lhs is out of cache.
pub const OUT_OF_CACHE_RANGE_PANELS: usize = 64;

/// Size of lhs in bytes up to which it stays in cache between ranges: lhs is read in place instead of being packed
/// for each.
pub const RANGE_LHS_BYTES: usize = L3;

/// Number of lhs panels multiplied by an rhs panel in turn, if the output is written along rows.
pub const GROUP_PANELS: usize = 8;

/// Fewest rhs panels for that,
pub const GROUP_COLUMN_PANELS: usize = 6;

/// and fewest bytes of the output.
pub const GROUP_OUTPUT_BYTES: usize = LARGE_OUTPUT_BYTES;

/// Strides that are a multiple of this many bytes map to few sets of L2.
pub const SET_STRIDE_BYTES: usize = 4096;

/// Fewest bytes of a packing task.
pub const PACK_TASK_BYTES: usize = 2 * L1;

/// Prefetch distance of packing, in steps,
pub const PACK_PREFETCH_STEPS: usize = 16;

/// and the same for transposed blocks of steps, for which the hardware prefetches, too.
pub const PACK_PREFETCH_BLOCKS: usize = 4;

/// Prefetch distance in bytes of an rhs panel, which comes from L2.
pub const PANEL_PREFETCH_BYTES: usize = L1 / 16;

/// Unrolling of a microkernel's loop over steps,
pub const UNROLLED_STEPS: usize = 4;

/// and number of multiply-adds of a step from which it is unrolled: the loop counter competes with FMA for issue
/// slots.
pub const UNROLLED_PRODUCTS: usize = 16;

/// Limit in bytes for the sums of an axpy task's rows for one column: they stay in L1 while rows are streamed.
pub const AXPY_SUM_BYTES: usize = L1 / 4;

/// Smaller next batches of small matrices are left to the hardware prefetcher.
pub const SMALL_PREFETCH_BYTES: usize = 4096;

/// Fewest columns of a task of small matrices.
pub const SMALL_TASK_COLUMNS: usize = 32;

/// Smaller outputs stay in cache in any order of stores.
pub const STAGED_LEAST_BYTES: usize = L1 / 2;

/// Rows of a staged output that are moved at a time.
pub const STAGED_CHUNK: usize = 16;

/// Parts of a staged output for each thread.
pub const STAGED_PARTS_PER_THREAD: usize = 4;

/// Smallest output in bytes whose short runs are joined and streamed.
pub const STREAMED_OUTPUT_BYTES: usize = LARGE_OUTPUT_BYTES;

/// With more steps, the stores of the output do not limit the speed.
pub const STREAMED_STEPS: usize = 64;

/// Length in bytes of joined runs.
pub const STREAMED_RUN_BYTES: Range<usize> = 8 * LINE..128 * LINE;

/// Longer runs are written in place.
pub const STREAMED_LONG_BYTES: usize = 8 * LINE;

/// Approximate rows and columns of a part of a streamed output,
pub const STREAMED_ROWS: usize = 240;
pub const STREAMED_COLUMNS: usize = 40;

/// and its size limit in bytes: it stays in L1, or in L2 beside the panels.
pub const STREAMED_PART_BYTES: usize = L2 / 8;

/// Each new task takes at most one of this many shares, for each thread, of the remaining panels.
pub const TASK_SHARES: usize = 2;

/// Minimum number of tasks per thread, if there are that many panels.
pub const LEAST_TASKS_PER_THREAD: usize = 4;

/// Fewest shared panels of a task: for each range of them, the other panels are packed again.
pub const TASK_SHARED_PANELS: usize = 16;

/// Number of tasks into which the last panels, one for each thread, are cut, so that no thread computes a whole
/// panel while the others are idle.
pub const LAST_SPLITS: usize = 2;

/// Number of tasks per thread into which a grouped contraction is divided.
pub const GROUPED_TASKS_PER_THREAD: usize = 8;

// Other steps.

/// Ranges of a sweep's blocks for each thread, to balance their loads.
pub const SWEEP_TASKS_PER_THREAD: usize = 8;

/// Size in bytes from which a buffer of a sweep is out of cache, so that its next block is prefetched.
pub const SWEEP_PREFETCH_BYTES: usize = L3;

/// Largest distance in bytes of the next block, if it is prefetched: it would leave L2 before it is read.
pub const SWEEP_PREFETCH_DISTANCE: usize = L2 / 4;

/// Size in bytes of all loads of a nest from which they are out of cache, so that chains prefetch them.
pub const LOADS_PREFETCH_BYTES: usize = OUT_OF_CACHE / 2;

/// Most elements of a run of short axes that are computed at a time.
pub const SHORT_AXES_PIECE: usize = 1024;

/// Number of elements up to which copies for the kernel of short axes always use tables,
pub const SHORT_AXES_TABLED: usize = 2048;

/// and fewest elements of a plane of two axes that are copied by loops.
pub const SHORT_AXES_PLANE: usize = 64;

/// Bytes of copies that fit the stack.
pub const STACK_BYTES: usize = L1 / 4;

/// Most rows of a tile of passes along diagonals: as many lines stay in L1 from one diagonal to the next,
pub const WAVE_ROWS: i64 = (L1 / LINE / 2) as i64;

/// and diagonals of a tile, from which threads take turns.
pub const WAVE_DIAGONALS: i64 = 512;

/// Granularity of a block of rows that runs all passes of a loop,
pub const INTERCHANGED_ROWS: usize = 64;

/// size limit in bytes of a row of each of its streams, which stay in L1,
pub const INTERCHANGED_ROW_BYTES: usize = L1 / 4;

/// most rows where elements are packed,
pub const INTERCHANGED_PACK_ROWS: usize = 64;

/// size limit in bytes of what is packed at a time,
pub const INTERCHANGED_PACK_BYTES: usize = 2 * L1;

/// most passes between two checks for cancellation,
pub const INTERCHANGED_PASSES: usize = 1024;

/// and most passes between elements of one pack, and fewest that are packed at a time.
pub const INTERCHANGED_REACH: usize = 64;

/// Most outputs of a row of windows, and most rows, that are computed at a time.
pub const WINDOW_PIECE: usize = 4096;
pub const WINDOW_ROWS: usize = 16;

/// Bytes of a row of windows up to which it is faster to pack operands, and to compute rows along the longest axis.
pub const PACKED_WINDOW_ROW_BYTES: usize = 28;
/// Points of that axis in a packed block.
pub const PACKED_WINDOW_BLOCK: usize = 64;
/// Most elements of an operand that are packed for each of these points.
pub const PACKED_WINDOW_ELEMENTS: usize = 128;
/// For a byte that is packed or unpacked.
pub const PACKED_WINDOW_BYTE: f64 = 0.03;

/// Fewest elements of a blocked permutation; smaller boxes are copied by loops.
pub const PERMUTE_POINTS: usize = 1024;
/// Runs on both sides below which a permutation is blocked if its result is written with non-temporal stores: loops write
/// few lines of a run at a time. Others are as fast from half a line on.
pub const PERMUTE_STREAMED_RUN_BYTES: usize = 512;

/// Elements that are tested for infinities between two checks for an early exit.
pub const FINITE_PIECE: usize = 4096;

/// Most elements from one element of a load to the next for which loads side by side are packed by one copy: with more,
/// most of each cache line is of no use to it.
pub const SPLIT_ELEMENTS: isize = 32;

/// Loads side by side that are packed by one copy where other elements lie between them: rows of a block that is
/// transposed in registers.
pub const SPLIT_LEAST: usize = 4;

// Estimated nanoseconds on one thread.

/// A kernel call of a block of rows in a pass,
pub const INTERCHANGED_CALL: f64 = 4.0;

/// and each of its values.
pub const INTERCHANGED_VALUE: f64 = 0.1;

/// For a point of a tile that is loaded in place, or packed, or gathered, or stored, in cache: estimates tell whether
/// threads are worth waking.
pub const LOADED_POINT: f64 = 0.05;
pub const PACKED_POINT: f64 = 0.4;
pub const GATHERED_POINT: f64 = 1.0;
pub const STORED_POINT: f64 = 0.06;
/// For a point whose value is stored at a computed place, if the array has more bytes: lines are fetched before they are
/// written.
pub const SCATTERED_POINT: f64 = 2.0;
pub const SCATTERED_BYTES: usize = L2;
/// For a value of a cheap function, of most others, and of powers, quotients of integers and the like.
pub const CHEAP_FUNCTION: f64 = 0.02;
pub const SLOW_FUNCTION: f64 = 0.2;
pub const SLOWEST_FUNCTION: f64 = 2.0;
/// For a row at a computed place, and for each of its elements.
pub const INDEXED_ROW: f64 = 5.0;
pub const INDEXED_ROW_ELEMENT: f64 = 0.2;
/// For an element that the kernel of short axes copies.
pub const SHORT_AXES_COPY: f64 = 0.6;
/// For an element of a blocked permutation.
pub const PERMUTE_ELEMENT: f64 = 0.8;
/// For an element of a scatter.
pub const SCATTER_ELEMENT: f64 = 0.5;
/// For a byte of the output of windows, and for each tap of it.
pub const WINDOW_OUTPUT: f64 = 0.05;
pub const WINDOW_TAP: f64 = 0.01;
/// For a row that is folded, and for each of its elements.
pub const ROW_FOLD: f64 = 6.0;
pub const ROW_FOLD_ELEMENT: f64 = 0.03;
/// For a byte of rows that are not in L1.
pub const ROW_FOLD_BYTE: f64 = 0.025;
/// For a value of a scan.
pub const SCAN_VALUE: f64 = 0.5;
/// For a value of a scan relative to levels.
pub const RELATIVE_SCAN_VALUE: f64 = 1.5;

/// For a value of an order and a byte of its key, and for a value that is no candidate for the first places.
pub const SORT_BYTE: f64 = 1.5;
pub const SORT_CANDIDATE: f64 = 0.5;

// Nests.

/// Most points of a nest whose outputs combine their values in the order of the domain, but all in parallel lanes: they
/// are one tile.
pub const COLUMNS_POINTS: usize = 1024;

/// Most functions and constants that usually form one chain.
pub const ONE_CHAIN_NODES: usize = 8;

/// Points of a tile that is only copied,
pub const MOVED_TILE_POINTS: usize = 1 << 16;

/// and length of its rows and their number, if it is transposed.
pub const MOVED_TILE_ROW: usize = 128;
pub const MOVED_TILE_ROWS: usize = 256;

/// Shortest row in bytes that is written with non-temporal stores.
pub const NON_TEMPORAL_ROW_BYTES: usize = 4 * LINE;

/// Shortest row that is computed where it is stored, by a call of its kernel for each row.
pub const STORED_IN_PLACE_ROW: usize = 64;

/// Shortest row for which a kernel is called separately,
pub const KERNEL_CALL_ROW: usize = 64;

/// and the same for a chain, which takes vectors of several rows.
pub const CHAIN_CALL_ROW: usize = 16;

/// Least bytes of an array of which nests write parts in turn, since it would not stay in cache from one to the next.
pub const BESIDE_BYTES: usize = L2 / 8;

/// Shortest row for which a comparison of an index is written as an interval, whose ends are computed.
pub const THRESHOLD_ROW: usize = 32;

/// Shortest row for which a call of the kernel of a single function is as fast as a chain of all rows.
pub const CHAIN_LONG_ROW: usize = 128;

/// Elements of a strip of a tile that is stored or prefetched strip by strip,
pub const TILE_STRIP: usize = 256;

/// and the same for a chain, whose links are set up anew for each strip.
pub const CHAIN_STRIP: usize = 1024;

/// Elements that are computed without branches before those of them that are rare cases are recomputed.
pub const RARE_CASES_STRIP: usize = 128;

/// Elements that are squared at a time for integer powers.
pub const POWER_STRIP: usize = 64;

/// Rows of a tile that are folded at a time: several streams in parallel give a higher memory bandwidth, and
/// accumulators are loaded and stored once for all of them.
pub const FOLDED_ROWS: usize = 8;

/// Rows up to this length are folded strip by strip in registers: in memory, each row would have to wait for the stores
/// of its predecessor.
pub const NARROW_ROW: usize = 64;

/// Indices that are compared with a window between two prefetches. The compiler unrolls shorter loops of constant length
/// completely, to scalar code.
pub const COMPARED_INDICES: usize = 128;
/// Least points of a row at whose points elements are looked up at different places: a kernel is called for each row.
pub const LOOKUP_ROW: usize = 16;

// Rows at computed places.

/// Prefetch distance in rows, which the hardware cannot predict,
pub const ROW_PREFETCH_DISTANCE: usize = 16;

/// and cache lines of a row that are prefetched in software; the hardware prefetches the rest.
pub const ROW_PREFETCH_LINES: usize = 8;

/// Elements of rows that are moved between two checks for cancellation.
pub const CANCEL_ELEMENTS: usize = 1 << 21;

/// Limit in bytes for the sums of rows of a tile, which stay in L1.
pub const ROW_SUM_BYTES: usize = L1 / 2;

/// Rows of which a thread selects its own at a time.
pub const PICKED_ROWS: usize = 512;

/// Limit in bytes for a copy of an array in which a thread combines its values: it stays in L2 beside what is read,
pub const PRIVATE_COPY_BYTES: usize = L2 / 16;

/// and fewest values for each element of all copies.
pub const PRIVATE_COPY_VALUES: usize = 4;

/// Number of threads up to which listing rows that are read in order takes longer than combining them in one thread.
pub const FEW_THREADS: usize = 2;

/// Number of threads from which each of them scanning all rows takes longer than sorting rows.
pub const MANY_THREADS: usize = 5;

/// Size in bytes from which an array is out of L2, so that many threads sort rows by regions of it,
pub const SORTED_ARRAY_BYTES: usize = L2;

/// and size from which it is out of the shared caches, so that few threads do, too.
pub const SORTED_ARRAY_BYTES_OF_FEW: usize = 2 * L3;

/// Moved bytes and bytes of the array whose ratio is the least for sorting: rows are then read in another order, which
/// costs as much as it gains if each destination occurs once.
pub const SORTED_REUSE: [usize; 2] = [3, 2];

/// Bytes of a region: it stays in L2 with the rows that are added to it.
pub const SORTED_REGION_BYTES: usize = L2 / 8;

/// Most regions; larger arrays have larger regions.
pub const SORTED_REGIONS: usize = 4096;

/// Rows that are copied to their sorted positions at a time.
pub const SORTED_ROWS: usize = 512;

/// Points whose rows are listed at a time, to bound the memory.
pub const LISTED_POINTS: usize = 1 << 18;

// Copies.

/// Words of the largest block of a blocked permutation: its cache lines and its table of offsets stay in L1.
pub const PERMUTE_BLOCK_WORDS: usize = L1 / 8;

/// Words of a block below which it takes longer to address than to copy.
pub const PERMUTE_LEAST_WORDS: usize = 64;

/// Most blocks of the inner and of the outer table of a blocked permutation.
pub const PERMUTE_INNER_BLOCKS: usize = 1024;
pub const PERMUTE_OUTER_BLOCKS: usize = 1 << 18;

/// Size in bytes up to which the source of a blocked permutation stays in L2, so that it is not prefetched.
pub const PERMUTE_NEAR_BYTES: usize = L2 / 8;

/// Largest average number of source lines of a line that is permuted in registers: with more, word by word is as fast.
pub const SHUFFLE_LINES: usize = 6;

/// Fewest elements of a plane that is transposed within a box whose last axes are others.
pub const TRANSPOSE_PLANE: usize = 64;

/// Fewer rows or columns are transposed element by element.
pub const TRANSPOSE_LEAST: usize = 4;

/// Blocks from which one more, for all but two to begin at cache lines, takes less than what lines in two blocks take.
pub const TRANSPOSE_ALIGNED_BLOCKS: usize = 8;

/// Blocks along the columns of a panel of a transposition, for which a line of the source each stays in L1.
pub const TRANSPOSE_PANEL: usize = 8;

/// Strides that are a multiple of this many bytes map to one set of an L1 of eight ways: transposed rows that far apart
/// are staged.
pub const L1_SET_STRIDE_BYTES: usize = L1 / 8;

/// Rows and columns that are staged at a time, for elements of 4 bytes; half for larger ones.
pub const TRANSPOSE_STAGED: [usize; 2] = [64, 128];

/// Fewest rows of a plane that is staged, at least a block: fewer fit into the ways of a set,
pub const TRANSPOSE_STAGED_ROWS: usize = LINE / size_of::<f32>();

/// and fewest columns: shorter rows are hardly longer than the lines that a block writes.
pub const TRANSPOSE_STAGED_COLUMNS: usize = 8 * TRANSPOSE_STAGED_ROWS;

/// Size in bytes up to which the rows of a transposed block are written in any order.
pub const TRANSPOSE_NEAR_BYTES: usize = L2 / 16;

/// Bytes of rows that are joined before they are written with non-temporal stores.
#[cfg(target_arch = "x86_64")]
pub const JOIN_BUFFER_BYTES: usize = L1 / 8;

/// Size in bytes of rows that are joined; of longer ones, fewer than two fit.
#[cfg(target_arch = "x86_64")]
pub const JOINED_ROW_BYTES: Range<usize> = LINE / 2..JOIN_BUFFER_BYTES / 2;

// Runs, threads and memory.

/// Estimated nanoseconds from which a run is cancellable: low, since estimates may be far too small.
pub const CANCELLABLE_NANOSECONDS: f64 = 1e6;

/// Interval between calls of the interrupt callback.
pub const INTERRUPT_INTERVAL: Duration = Duration::from_millis(20);

/// Scalar operations between two checks for cancellation: a fraction of a millisecond, or a few if they are slow.
pub const CANCEL_OPERATIONS: usize = 1 << 17;

/// Default nanoseconds of work from which threads are woken, without a probe of the machine.
pub const DIVIDED_NANOSECONDS: f64 = 60_000.0;

/// Most ranges for each thread of work that is divided.
pub const TASKS_PER_THREAD: usize = 4;

/// Fewest nanoseconds of a range: each costs transfers of cache lines between threads.
pub const TASK_NANOSECONDS: f64 = 10_000.0;

/// Most nanoseconds of a range if the run is cancellable.
pub const CANCELLABLE_TASK_NANOSECONDS: f64 = 3e6;

/// Ratio of the time of kernels to the bound of their work.
pub const ABOVE_BOUND: f64 = 1.5;

/// Smallest ratio of the time of work to the time of a hand-off to another thread: estimates are uncertain, and
/// caches have to be filled.
pub const HAND_OFFS: f64 = 4.0;

/// Range in seconds to which the time of a hand-off is clamped: longer ones were measured on a busy machine, and a
/// stored probe would leave threads idle permanently.
pub const HAND_OFF: [f64; 2] = [2e-6, 10e-6];

/// Time for which a thread spins: several times as long as waking it takes, and short enough not to withhold the
/// processor from others.
pub const SPIN: Duration = Duration::from_micros(100);

/// Polls between two readings of the clock.
pub const SPIN_POLLS: usize = 20;

/// Delay before another attempt after the system refused to start a thread.
pub const START_PAUSE: Duration = Duration::from_secs(1);

/// Polling interval of a caller that waits for helpers.
pub const WAIT_INTERVAL: Duration = Duration::from_millis(20);

/// Polls of a caller that waits before it sleeps: some microseconds.
pub const WAIT_POLLS: usize = 500;

/// Size in bytes from which a result is out of cache before it is complete, if arguments of its size are read, too.
pub const STREAMED_RESULT_BYTES: usize = OUT_OF_CACHE;

/// Default limit in bytes for dropped results that an engine keeps.
pub const KEPT_RESULT_BYTES: usize = 256 << 20;

/// Fraction of the machine's memory, as a divisor, that an engine keeps by default in addition, reclaimable by the
/// operating system at any time.
pub const LENT_MEMORY_DIVISOR: u64 = 8;

/// Most buffers in a pool of scratch memory: a thread needs two or three at a time.
pub const KEPT_BUFFERS: usize = 64;

/// Bytes of scratch memory of each thread that do not count against a limit: they stay in the cache of its core,
/// like its stack.
pub const UNCOUNTED_BYTES: u64 = L2 as u64 / 8;

/// Rows of a task of a product of narrow elements: its packed panels stay in L2.
pub const NARROW_ROWS: usize = 480;

/// Columns of a block of a product of narrow elements, whose packed panels all threads share in L3.
pub const NARROW_COLUMNS: usize = 2048;

/// Bytes of packed columns from which threads share them.
pub const NARROW_SHARED_BYTES: usize = 128 << 10;

/// Panels of columns that are packed together: a line of bytes.
pub const PACKED_PANELS: usize = 2;

/// Nanoseconds of packing a group.
pub const NARROW_GROUP: f64 = 0.4;

/// Blocks of columns and batches for each thread from which each is computed by one thread.
pub const UNITS_PER_THREAD: usize = 4;

/// Nanoseconds of a point of a product of narrow elements.
pub const NARROW_POINT: f64 = 0.003;
