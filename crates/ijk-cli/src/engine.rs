//! The engine that commands run on.

use crate::failure::Failure;
use ijk::Engine;

/// An engine of so many threads, or as many as the machine offers, whose results and temporaries take
/// so many bytes at most, if there is a limit. A strict engine does not reassociate factors.
///
/// # Errors
/// If the environment asks for SIMD instructions that the machine has not.
pub fn engine(
    threads: Option<usize>,
    memory: Option<u64>,
    strict: bool,
) -> Result<Engine, Failure> {
    let builder = Engine::builder().threads(threads.unwrap_or(0)).strict(strict);
    let builder = match memory {
        Some(bytes) => builder.memory_limit(bytes),
        None => builder,
    };
    builder.try_build().map_err(|error| Failure::Environment(error.to_string()))
}
