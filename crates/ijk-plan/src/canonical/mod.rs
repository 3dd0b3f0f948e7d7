//! Canonical form: equal computations become equal statements, so that later passes find their patterns.
//!
//! Known argument values are substituted, constants and views folded, elementwise producers inlined, and sign operations
//! that no consumer distinguishes removed.

pub(crate) mod equal;
pub(crate) mod exact;
pub(crate) mod facts;
pub(crate) mod forward;
pub(crate) mod fuse;
pub(crate) mod lanes;
pub(crate) mod overlaps;
pub(crate) mod regions;
pub(crate) mod selections;
pub(crate) mod signs;
pub(crate) mod simplify;
