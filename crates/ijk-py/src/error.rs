//! Errors as exceptions, which say what the Rust library says.

use ijk::RunError;
use ijk::plan::PlanError;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyTypeError, PyValueError, PyZeroDivisionError,
};
use pyo3::prelude::*;

create_exception!(ijk, Error, PyValueError, "A program is wrong, or does not fit its arrays.");
create_exception!(ijk, DTypeError, PyTypeError, "Element types do not fit.");
create_exception!(
    ijk,
    MemoryLimitError,
    Error,
    "More memory would be needed than the engine's limit allows; nothing was allocated."
);

/// The exception for an error.
pub fn raise(error: ijk::Error) -> PyErr {
    let text = error.to_string();
    match error {
        ijk::Error::Plan(PlanError::MemoryLimit { .. }) | ijk::Error::Memory(_) => {
            MemoryLimitError::new_err(text)
        }
        ijk::Error::Run(RunError::OutOfMemory(_)) => PyMemoryError::new_err(text),
        ijk::Error::Run(RunError::DivisionByZero) => PyZeroDivisionError::new_err(text),
        ijk::Error::Run(RunError::Interrupted) => PyKeyboardInterrupt::new_err(text),
        ijk::Error::Program(report) if report.is_about_types() => DTypeError::new_err(text),
        _ => Error::new_err(text),
    }
}
