//! Results within a memory limit.

use ijk_blocks::{BigTensor, Block, Error, Executor};

/// A result within so many bytes of memory, or in the least that would do.
pub fn within(executor: &Executor, memory: u64, tensor: &BigTensor) -> Result<Block, Error> {
    match executor.clone().memory_limit(memory).collect(tensor) {
        Err(Error::Memory { least, limit }) => {
            assert!(limit == memory && least > limit, "{least} of {limit}");
            executor.clone().memory_limit(least).collect(tensor)
        }
        found => found,
    }
}
