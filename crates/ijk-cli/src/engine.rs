//! The engine that commands run on.

use crate::failure::Failure;
use ijk::Engine;

/// An engine of so many threads, or as many as the machine offers.
///
/// # Errors
/// If the environment asks for SIMD instructions that the machine has not.
pub fn engine(threads: Option<usize>) -> Result<Engine, Failure> {
    let engine = Engine::builder().threads(threads.unwrap_or(0)).try_build();
    engine.map_err(|error| Failure::Environment(error.to_string()))
}
