//! From the core IR to a plan: fusion, classification, memory.
//!
//! A plan is plain printable data. It knows no threads and no SIMD.

pub mod plan;
