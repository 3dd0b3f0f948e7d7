//! Arrays cut into blocks.

use ijk_blocks::BigTensor;
use ijk_oracle::Value;
use ijk_tensor::Tensor;

/// A value in blocks that depend on the extents alone, so that axes of one index have the same.
pub fn cut(value: &Value, seed: u64) -> BigTensor {
    let tensor = Tensor::from_scalars(value.dtype, &value.shape, value.data.iter().copied());
    let block = |&extent: &usize| match (extent as u64).wrapping_mul(31).wrapping_add(seed) % 4 {
        0 => None,
        n => Some(n as usize),
    };
    let blocks: Vec<Option<usize>> = value.shape.iter().map(block).collect();
    BigTensor::from_tensor(tensor.unwrap(), blocks).unwrap()
}
