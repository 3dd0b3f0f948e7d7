//! The positions of an axis.

use super::Source;
use crate::types::{block_count, block_range};
use crate::{BigTensor, Block, Error, StoreError, Type};
use ijk_tensor::Tensor;
use ijk_types::DType;
use std::sync::Arc;

/// 0, 1, 2, … of 64 bits, made in parts when they are read.
#[derive(Debug)]
struct Counter {
    ty: Type,
}

/// Number of positions made at a time.
const PART: usize = 1 << 16;

/// Name in messages.
const NAME: &str = "positions";

impl BigTensor {
    /// The positions of an axis of that extent, in one block: it fits any blocks.
    pub(crate) fn counter(extent: usize) -> Result<Self, Error> {
        let store = Counter { ty: Type::new([extent], [Some(PART)], DType::I64) };
        Self::from_source(store)?.reblock([None])
    }

    /// Returns true for a counter.
    pub(crate) fn is_counter(&self) -> bool {
        let [source] = &self.term.operands[..] else { return false };
        matches!(&source.term.kind, crate::term::Kind::Source(of) if of.name() == NAME)
    }
}

impl Source for Counter {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        let (extent, block) = (self.ty.dims[0], self.ty.blocks[0]);
        let range = block_range(extent, block, at[0].min(block_count(extent, block)));
        let shape = [range.len()];
        let positions = range.map(|position| position as i64).collect();
        let tensor = Tensor::from_vec(positions, &shape);
        let tensor = tensor.map_err(|error| StoreError::of_block(NAME, at, error))?;
        Ok(Some(Arc::new(Block::Numbers(tensor))))
    }

    fn name(&self) -> String {
        NAME.into()
    }
}
