//! A collected result: blocks are copied into one array.

use super::part::assign;
use crate::store::Sink;
use crate::{Block, Error, StoreError, Type, Value};
use ijk_tensor::TensorError;
use std::sync::{Arc, Mutex, PoisonError};

/// Sink that assembles blocks in an array.
#[derive(Debug)]
pub(super) struct WholeArray {
    ty: Type,
    fill: Value,
    /// None where the only block is still to come.
    all: Mutex<Option<Block>>,
}

impl WholeArray {
    pub(super) fn new(ty: Type, fill: Value) -> Result<Self, TensorError> {
        let all = match is_one(&ty) {
            true => None,
            false => Some(Block::full(&fill, &ty.dims)?),
        };
        Ok(Self { ty, fill, all: Mutex::new(all) })
    }

    /// The array, when all blocks are written.
    pub(super) fn finished(&self) -> Result<Block, Error> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner).take();
        match all {
            Some(block) => Ok(block),
            None => Ok(Block::full(&self.fill, &self.ty.dims)?),
        }
    }
}

fn is_one(ty: &Type) -> bool {
    ty.grid().iter().all(|&blocks| blocks == 1)
}

impl Sink for WholeArray {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn fill(&self) -> Option<Value> {
        Some(self.fill.clone())
    }

    fn write(&self, at: &[usize], block: Option<Arc<Block>>) -> Result<(), StoreError> {
        let Some(block) = block else { return Ok(()) };
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if is_one(&self.ty) {
            *all = Some(Arc::unwrap_or_clone(block));
        } else if let Some(all) = &mut *all {
            let axes = at.iter().zip(self.ty.dims.iter().zip(&self.ty.blocks));
            let start = axes
                .map(|(&at, (&extent, &block))| crate::types::block_range(extent, block, at).start);
            let window: Vec<_> = block.shape().iter().map(|&extent| 0..extent).collect();
            assign(all, &start.collect::<Vec<_>>(), &block, &window);
        }
        Ok(())
    }

    fn may_be_done(&self) -> bool {
        false
    }
}
