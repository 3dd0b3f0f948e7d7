//! Arrays of other libraries, read block by block: files, and what is computed when it is asked for.

use crate::arrays::{Readonly, type_of};
use ijk::blocks::{self, Block, Error, Source, StoreError, Type};
use pyo3::prelude::*;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An array whose blocks a function of Python reads.
pub struct Foreign {
    ty: Type,
    /// Function of the first and the last positions of a block; returns an array of NumPy.
    read: Py<PyAny>,
    name: String,
    identity: String,
}

impl Foreign {
    /// The positions of a block along each axis.
    fn ranges(&self, at: &[usize]) -> Vec<Range<usize>> {
        let axes = self.ty.dims.iter().zip(&self.ty.blocks).zip(at);
        let range = |((&extent, block), &at): ((&usize, &Option<usize>), &usize)| {
            let block = block.unwrap_or(extent);
            (at * block).min(extent)..(at * block).saturating_add(block).min(extent)
        };
        axes.map(range).collect()
    }

    fn refused(&self, at: &[usize], cause: impl fmt::Display) -> StoreError {
        StoreError::of_block(&self.name, at, cause.to_string())
    }

    /// The elements of a block, from the function of Python.
    fn elements(&self, py: Python<'_>, at: &[usize]) -> Result<Block, StoreError> {
        let ranges = self.ranges(at);
        let first: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        let last: Vec<usize> = ranges.iter().map(|range| range.end).collect();
        let failed = |error: PyErr| self.refused(at, error);
        let array = self.read.bind(py).call1((first, last)).map_err(failed)?;
        let array = Readonly::of(&array).map_err(failed)?;
        let array = array.ok_or_else(|| self.refused(at, "what was read is no array"))?;
        let (view, expected) = (array.view(), self.ty.block_shape(at));
        if Some(view.dtype()) != self.ty.element.number() || view.shape() != expected {
            let (found, shape, of) = (view.dtype(), view.shape(), &self.ty.element);
            let text = format!(
                "elements of {found} and shape {shape:?} were read, not of {of} and {expected:?}"
            );
            return Err(self.refused(at, text));
        }
        let copied = view.to_tensor().map_err(|error| self.refused(at, error))?;
        Ok(Block::Numbers(copied))
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Source for Foreign {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn read(&self, at: &[usize]) -> Result<Option<Arc<Block>>, StoreError> {
        Python::attach(|py| self.elements(py, at)).map(|block| Some(Arc::new(block)))
    }

    /// The block of the other library, and its copy.
    fn reading(&self) -> u64 {
        let axes = self.ty.dims.iter().zip(&self.ty.blocks);
        let extents = axes.map(|(&extent, block)| block.unwrap_or(extent).min(extent) as u64);
        let size = self.ty.element.number().map_or(8, |dtype| dtype.size()) as u64;
        extents.fold(2 * size, u64::saturating_mul)
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn identity(&self) -> Result<String, StoreError> {
        Ok(self.identity.clone())
    }
}

/// A tensor whose blocks a function reads: of the first and the last positions of a block along each axis.
pub fn reading(
    read: Py<PyAny>,
    shape: Vec<usize>,
    blocks: Vec<Option<usize>>,
    dtype: &str,
    name: String,
    identity: String,
) -> PyResult<Result<blocks::BigTensor, Error>> {
    let ty = Type { dims: shape, blocks, element: type_of(dtype)?.into() };
    Ok(blocks::BigTensor::from_source(Foreign { ty, read, name, identity }))
}
