//! The engine that commands run on.

use crate::failure::Failure;
use ijk::Engine;

/// An engine with `threads` threads, or as many as the machine offers, and a limit of the bytes of results and
/// temporaries, if there is one. A strict engine does not reassociate factors.
///
/// # Errors
/// If the environment selects SIMD instructions that the machine lacks.
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
