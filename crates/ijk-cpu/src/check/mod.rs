//! Checks that a plan is sound: all accesses of its steps are to elements of its buffers.
//!
//! Kernels rely on these checks, which are done once when a plan is compiled; at run time only computed offsets are
//! checked.

mod contraction;
mod footprint;
mod layout;
mod nest;
mod parts;
mod scan;
mod sort;
mod sweep;

pub(crate) use contraction::{check_contraction, check_grouped};
pub(crate) use footprint::{Affine, Footprint, separable};
pub(crate) use layout::{Layout, layouts};
pub(crate) use nest::{CheckedNest, check_nest};
pub(crate) use parts::written_by_parts;
pub(crate) use scan::check_scan;
pub(crate) use sort::check_sort;
pub(crate) use sweep::{Other, check_sweep};
