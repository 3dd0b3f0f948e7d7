//! Thresholds of the engine: sizes, ratios and times from which one way of doing something is better than another.
//!
//! Sizes of memory are fractions of the nominal cache sizes of [`cache`]. Whoever changes a constant of [`order`]
//! changes bits of results, and raises `ORDER` in `ijk-blocks/src/store/zarr/manifest.rs`; constants of [`time`] are
//! free.

pub mod order;
pub mod time;

/// Nominal cache sizes of a core, in bytes. They are those that the thresholds were measured with, and never those of
/// the machine, since [`order`] depends on them.
pub mod cache {
    /// First level.
    pub const L1: usize = 32 << 10;
    /// Second level.
    pub const L2: usize = 2 << 20;
    /// A core's share of the last level.
    pub const L3: usize = 4 << 20;
    /// Bytes that are out of cache before they are complete.
    pub const OUT_OF_CACHE: usize = 4 * L3;
}
