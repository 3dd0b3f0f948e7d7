//! The facade.

pub use ijk_tensor as tensor;
pub use ijk_types as types;
