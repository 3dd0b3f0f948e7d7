//! Blocks in memory.

use super::{Sink, Source};
use crate::{Block, StoreError, Type, Value};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Blocks in memory, which may be missing: a source and a sink.
///
/// ```
/// use ijk_blocks::{BigTensor, Block, MemoryStore, Sink};
/// use ijk_tensor::Tensor;
/// use std::sync::Arc;
/// // A diagonal matrix of two blocks, the others of which are missing.
/// let u = BigTensor::zeros(ijk_types::DType::F64, [4, 4], [Some(2), Some(2)])?;
/// let store = MemoryStore::new(u.ty().clone());
/// for at in 0..2 {
///     let block = Block::Numbers(Tensor::full(ijk_types::Scalar::F64(1.0), &[2, 2])?);
///     store.write(&[at, at], Some(Arc::new(block)))?;
/// }
/// assert_eq!(store.blocks(), 2);
/// let diagonal = BigTensor::from_source(store)?;
/// let square = diagonal.matmul(&diagonal)?.collect()?;
/// assert_eq!(square.as_numbers().unwrap().as_slice::<f64>().unwrap()[..4], [2.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    ty: Type,
    fill: Value,
    blocks: RwLock<HashMap<Vec<usize>, Arc<Block>>>,
}

impl MemoryStore {
    /// A store without blocks, all of whose elements are 0, false or the empty list.
    pub fn new(ty: Type) -> Self {
        let fill = Value::zero(&ty.element);
        Self::with_fill(ty, fill)
    }

    /// The same with another value for the elements of missing blocks.
    pub fn with_fill(ty: Type, fill: Value) -> Self {
        Self { ty, fill, blocks: RwLock::default() }
    }

    /// Number of blocks in memory.
    pub fn blocks(&self) -> usize {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Source for MemoryStore {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn fill(&self) -> Value {
        self.fill.clone()
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        Ok(blocks.get(at).map(Arc::clone))
    }

    fn reading(&self) -> u64 {
        0
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(blocks.keys().cloned().collect()))
    }

    fn name(&self) -> String {
        "memory".into()
    }
}

impl Sink for MemoryStore {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn fill(&self) -> Option<Value> {
        Some(self.fill.clone())
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        let Some(block) = block else { return Ok(()) };
        if block.element_type() != self.ty.element || block.shape() != self.ty.block_shape(at) {
            let cause = "the block has another type or shape than the store";
            return Err(StoreError::of_block("memory", at, cause));
        }
        self.blocks.write().unwrap_or_else(PoisonError::into_inner).insert(at.to_vec(), block);
        Ok(())
    }
}
