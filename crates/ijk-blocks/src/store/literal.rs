//! Whole arrays in memory.

use super::Source;
use crate::{Block, StoreError, Type};
use std::sync::Arc;

/// One array that holds all elements: whatever the blocks of its tensor, parts of it are views.
#[derive(Debug)]
pub(crate) struct Literal {
    /// Without blocks.
    ty: Type,
    whole: Arc<Block>,
}

impl Literal {
    /// All elements of a tensor.
    pub(crate) fn new(whole: Block) -> Self {
        let dims = whole.shape().to_vec();
        let ty = Type::new(dims.clone(), vec![None; dims.len()], whole.element_type());
        Self { ty, whole: Arc::new(whole) }
    }
}

impl Source for Literal {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn read(&self, _: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        Ok(Some(Arc::clone(&self.whole)))
    }

    fn reading(&self) -> u64 {
        0
    }

    fn present(&self) -> Result<Option<Vec<Vec<usize>>>, StoreError> {
        Ok(Some(vec![vec![0; self.ty.rank()]]))
    }

    #[cfg(feature = "zarr")]
    fn identity(&self) -> Result<String, StoreError> {
        let mut digest = super::Digest::new();
        match &*self.whole {
            Block::Numbers(tensor) => digest.add(tensor.as_bytes()),
            Block::Lists(lists) => lists.items.iter().for_each(|list| {
                digest.add(list.to_string().as_bytes());
            }),
        }
        Ok(format!("{} {}", self.ty, digest.finish()))
    }

    fn name(&self) -> String {
        match self.ty.len() {
            Some(1) => "lit(1 element)".into(),
            n => format!("lit({} elements)", n.unwrap_or_default()),
        }
    }
}
