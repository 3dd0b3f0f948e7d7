//! Selection: the statements that contraction kernels compute; others become scans and loop nests.

pub(crate) mod contraction;
pub(crate) mod grouped;
