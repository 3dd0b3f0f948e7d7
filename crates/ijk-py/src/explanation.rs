//! Explanations of programs.

use crate::error::raise;
use ijk::{BlockSize, Reason, StepExplanation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The plan of a program for arguments, and the engine's choices for each step.
///
/// str() is a text of several lines.
#[pyclass(module = "ijk", frozen)]
pub struct Explanation {
    text: String,
    cost: ijk::Cost,
    temporaries: u64,
    steps: Vec<StepExplanation>,
}

impl Explanation {
    /// An explanation with its steps.
    pub fn of(explanation: &ijk::Explanation) -> PyResult<Self> {
        Ok(Self {
            text: explanation.to_string(),
            cost: explanation.cost(),
            temporaries: explanation.temporary_bytes(),
            steps: explanation.steps().map_err(raise)?,
        })
    }
}

#[pymethods]
impl Explanation {
    /// A dict for each step in order of execution, with the fields of `ijk explain --json`.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let steps = self.steps.iter().map(|each| step(py, each));
        PyList::new(py, steps.collect::<PyResult<Vec<_>>>()?)
    }

    /// Number of scalar operations.
    #[getter]
    fn operations(&self) -> u64 {
        self.cost.operations
    }

    /// Bytes of distinct elements read.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.cost.read
    }

    /// Bytes of distinct elements written.
    #[getter]
    fn bytes_written(&self) -> u64 {
        self.cost.written
    }

    /// Bytes of temporaries.
    #[getter]
    fn bytes_of_temporaries(&self) -> u64 {
        self.temporaries
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> &str {
        &self.text
    }
}

fn step<'py>(py: Python<'py>, step: &StepExplanation) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("step", &step.step)?;
    dict.set_item("kernel", step.kernel)?;
    dict.set_item("algorithm", step.algorithm)?;
    dict.set_item("threads", step.threads)?;
    let extents = PyDict::new(py);
    for &(name, extent) in &step.extents {
        extents.set_item(name, extent)?;
    }
    dict.set_item("extents", extents)?;
    let blocking = step.blocking.iter().map(|each| block(py, each));
    dict.set_item("blocking", blocking.collect::<PyResult<Vec<_>>>()?)?;
    let reasons = step.reasons.iter().map(|each| reason(py, each));
    dict.set_item("reasons", reasons.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("microseconds", step.nanoseconds / 1e3)?;
    let bound = step.bound.map(|bound| {
        let dict = PyDict::new(py);
        dict.set_item("microseconds", bound.seconds() * 1e6)?;
        dict.set_item("limit", bound.limit())?;
        dict.set_item("compute_microseconds", bound.compute.map(|seconds| seconds * 1e6))?;
        dict.set_item("memory_microseconds", bound.memory * 1e6)?;
        Ok::<_, PyErr>(dict)
    });
    dict.set_item("bound", bound.transpose()?)?;
    Ok(dict)
}

fn block<'py>(py: Python<'py>, block: &BlockSize) -> PyResult<Bound<'py, PyDict>> {
    let resident = block.resident.as_ref();
    let dict = PyDict::new(py);
    dict.set_item("name", block.name)?;
    dict.set_item("size", block.size)?;
    dict.set_item("unit", block.unit)?;
    dict.set_item("data", resident.map(|resident| resident.data))?;
    dict.set_item("bytes", resident.map(|resident| resident.bytes))?;
    dict.set_item("memory", resident.map(|resident| resident.memory))?;
    Ok(dict)
}

fn reason<'py>(py: Python<'py>, reason: &Reason) -> PyResult<Bound<'py, PyDict>> {
    let threshold = reason.threshold;
    let dict = PyDict::new(py);
    dict.set_item("text", &reason.text)?;
    dict.set_item("threshold", threshold.map(|threshold| threshold.name))?;
    dict.set_item("value", threshold.map(|threshold| threshold.value))?;
    dict.set_item("limit", threshold.map(|threshold| threshold.limit))?;
    Ok(dict)
}
