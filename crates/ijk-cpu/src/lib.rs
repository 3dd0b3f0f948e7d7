//! The CPU engine: contraction, fused loop nests, threads, SIMD.

#![allow(unsafe_code)]

mod scratch;
mod simd;
mod threads;

pub use scratch::ScratchPool;
pub use simd::Level;
pub use threads::Workers;
