//! Domains: narrowed, split and cut into boxes, in which indices are affine and need no guard.

pub(crate) mod bounds;
pub(crate) mod distances;
pub(crate) mod peel;
pub(crate) mod placements;
pub(crate) mod positions;
pub(crate) mod quotients;
pub(crate) mod split;
