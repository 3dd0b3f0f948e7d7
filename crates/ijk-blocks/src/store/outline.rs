//! Tensors of which only the type is known.

use super::Source;
use crate::{Block, ElementType, StoreError, Type};
use std::sync::Arc;

/// A tensor without elements: terms and plans are made of it, but it cannot be read.
///
/// ```
/// use ijk_blocks::{BigTensor, Outline};
/// let u = BigTensor::from_source(Outline::new("u", [8, 8], [Some(4), None], ijk_types::DType::F32))?;
/// assert_eq!(u.to_string(), "t0 = u : ([8, 8], [4, ⊥], f32)");
/// assert!(u.collect().unwrap_err().to_string().contains("u has no elements"));
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Debug)]
pub struct Outline {
    name: String,
    ty: Type,
}

impl Outline {
    /// A tensor of that name and type.
    pub fn new(
        name: impl Into<String>,
        dims: impl Into<Vec<usize>>,
        blocks: impl Into<Vec<Option<usize>>>,
        element: impl Into<ElementType>,
    ) -> Self {
        let ty = Type { dims: dims.into(), blocks: blocks.into(), element: element.into() };
        Self { name: name.into(), ty }
    }
}

impl Source for Outline {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        Err(StoreError::of_block(&self.name, at, format!("{} has no elements", self.name)))
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}
