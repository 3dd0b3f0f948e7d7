//! The CPU engine: contraction, fused loop nests, threads, SIMD.

#![allow(unsafe_code)]

#[doc(hidden)]
pub mod bench_api;
mod contract;
mod scratch;
mod simd;
mod threads;

pub use scratch::ScratchPool;
pub use simd::Level;
pub use threads::Workers;
