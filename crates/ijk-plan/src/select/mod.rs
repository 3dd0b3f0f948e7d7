//! Selection: the statements that contraction kernels compute, if those beat loop nests.

pub(crate) mod contraction;
pub(crate) mod profit;
