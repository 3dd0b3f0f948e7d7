//! Selection for a contraction: orientation, algorithm, blocking, packing, and staging of the output.

pub(crate) mod algorithm;
pub(crate) mod blocking;
pub(crate) mod explain;
pub(crate) mod gemv;
pub(crate) mod in_place;
pub(crate) mod k_blocks;
pub(crate) mod orient;
pub(crate) mod prepared_block;
pub(crate) mod rows;
pub(crate) mod scratch;
pub(crate) mod shared_block;
pub(crate) mod sharing;
pub(crate) mod small;
pub(crate) mod staged;
pub(crate) mod streamed;
pub(crate) mod symmetric;
