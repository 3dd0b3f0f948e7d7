//! Progress of a computation.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of the computation of an [`Executor`](crate::Executor), which can be read while it runs. In process 0 of a
/// cluster it is the sum of all processes.
///
/// ```
/// use ijk_blocks::{BigTensor, Executor, Progress};
/// use std::sync::Arc;
/// let progress = Arc::new(Progress::default());
/// let u = BigTensor::lit((0..64).map(f64::from), [8, 8], [Some(2), Some(2)])?;
/// Executor::new().workers(2).observed(Arc::clone(&progress)).collect(&u.matmul(&u)?)?;
/// let counts = progress.counts();
/// assert_eq!((counts.blocks, counts.of_blocks), (16, 16));
/// assert_eq!(counts.operations, 2 * 8 * 8 * 8);
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Progress {
    of_blocks: AtomicU64,
    of_operations: AtomicU64,
    own: Counters,
    /// Last report of each other process.
    others: Mutex<Vec<[u64; DONE]>>,
}

/// Work done by this process.
#[derive(Debug, Default)]
struct Counters {
    blocks: AtomicU64,
    operations: AtomicU64,
    shared: AtomicU64,
    moved: AtomicU64,
    sent: AtomicU64,
}

/// Number of counters of work done.
pub(crate) const DONE: usize = 5;

/// Values of [`Progress::counts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Blocks that are computed, of all stages of the plan.
    pub blocks: u64,
    /// Blocks that there are to compute.
    pub of_blocks: u64,
    /// Scalar operations that are done: those of the plan, of missing blocks, too.
    pub operations: u64,
    /// Operations that there are to do.
    pub of_operations: u64,
    /// Bytes that workers read for each other, within processes and between them.
    pub shared: u64,
    /// Bytes of elements sent between processes: parts of operands, once to each process that needs them, and requested
    /// blocks.
    pub moved: u64,
    /// Bytes that were written to connections between the workers of processes.
    pub sent: u64,
}

impl Progress {
    /// Work done, and total work.
    pub fn counts(&self) -> Counts {
        let mut done = self.own();
        for other in self.others.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            done.iter_mut().zip(other).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
        let [blocks, operations, shared, moved, sent] = done;
        let [of_blocks, of_operations] =
            [&self.of_blocks, &self.of_operations].map(|n| n.load(Ordering::Relaxed));
        Counts { blocks, of_blocks, operations, of_operations, shared, moved, sent }
    }

    /// Starts over, with new totals and a number of processes.
    pub(crate) fn begin(&self, of_blocks: u64, of_operations: u64, others: usize) {
        self.of_blocks.store(of_blocks, Ordering::Relaxed);
        self.of_operations.store(of_operations, Ordering::Relaxed);
        let Counters { blocks, operations, shared, moved, sent } = &self.own;
        for counter in [blocks, operations, shared, moved, sent] {
            counter.store(0, Ordering::Relaxed);
        }
        *self.others.lock().unwrap_or_else(PoisonError::into_inner) = vec![[0; DONE]; others];
    }

    /// Adds operations done.
    pub(crate) fn operated(&self, operations: u64) {
        self.own.operations.fetch_add(operations, Ordering::Relaxed);
    }

    /// A block is computed.
    pub(crate) fn computed(&self) {
        self.own.blocks.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds blocks that need not be computed, and their operations.
    pub(crate) fn passed(&self, blocks: u64, operations: u64) {
        self.own.blocks.fetch_add(blocks, Ordering::Relaxed);
        self.operated(operations);
    }

    /// Adds bytes that a worker has read for another one.
    pub(crate) fn shared(&self, bytes: usize) {
        self.own.shared.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds bytes of elements sent to other processes.
    pub(crate) fn moved(&self, bytes: usize) {
        self.own.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds bytes sent on data connections.
    pub(crate) fn sent(&self, bytes: usize) {
        self.own.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Work done by this process.
    pub(crate) fn own(&self) -> [u64; DONE] {
        let Counters { blocks, operations, shared, moved, sent } = &self.own;
        [blocks, operations, shared, moved, sent].map(|n| n.load(Ordering::Relaxed))
    }

    /// Records the work done by another process.
    pub(crate) fn heard(&self, process: usize, done: [u64; DONE]) {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = others.get_mut(process) {
            *other = done;
        }
    }
}
