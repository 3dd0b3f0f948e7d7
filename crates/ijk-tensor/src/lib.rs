//! ijk-tensor
