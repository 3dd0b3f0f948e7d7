//! The real and complex functions: the one definition of their values.

pub mod complex;
pub mod double;
pub mod single;
