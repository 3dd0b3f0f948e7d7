//! Calls the engine, without Python's lock where that may take a while.

use crate::error::raise;
use ijk::TensorView;
use pyo3::prelude::*;

/// Arguments of fewer elements together are computed with at once: giving the lock away takes longer.
const SHORT: usize = 4096;

/// Computes, on some arguments.
pub fn computing<R: Send>(
    py: Python<'_>,
    views: &[TensorView<'_>],
    compute: impl FnOnce() -> Result<R, ijk::Error> + Send,
) -> PyResult<R> {
    let elements = views.iter().fold(0usize, |n, view| n.saturating_add(view.len()));
    let result = if elements < SHORT { compute() } else { py.detach(compute) };
    result.map_err(|error| match PyErr::take(py) {
        Some(raised) => raised,
        None => raise(error),
    })
}
