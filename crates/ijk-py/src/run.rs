//! Calls of the engine.

use crate::error::raise;
use pyo3::prelude::*;

/// Computes; an exception that an interrupt raised takes precedence over the engine's error.
pub fn computing<R>(
    py: Python<'_>,
    compute: impl FnOnce() -> Result<R, ijk::Error>,
) -> PyResult<R> {
    compute().map_err(|error| match PyErr::take(py) {
        Some(raised) => raised,
        None => raise(error),
    })
}

/// Runs work without the interpreter lock; engines call it for long work.
pub fn detached(work: &mut (dyn FnMut() + Send)) {
    Python::attach(|py| py.detach(work));
}
