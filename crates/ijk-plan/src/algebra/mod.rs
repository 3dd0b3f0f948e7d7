//! Algebra of factors: what does not depend on a reduced axis moves out of the reduction, and the rest becomes
//! contractions and scans.
//!
//! The passes rely on one operation distributing over another or on monotonicity, and so leave strict graphs alone where
//! that reassociates. Each moved expression is applied behind its reduction, where there are fewer points.

pub(crate) mod extremes;
pub(crate) mod hoist;
pub(crate) mod log_products;
pub(crate) mod log_sums;
pub(crate) mod prefix;
pub(crate) mod product;
pub(crate) mod scales;
pub(crate) mod scatter;
