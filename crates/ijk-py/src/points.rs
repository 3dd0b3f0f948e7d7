//! Dependencies between scalar operations.

use crate::component::Component;
use crate::error::raise;
use ijk::Operations;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A set of elements of an array: a union of affine images of boxes. `(2, 1) in points` tests membership.
#[pyclass(module = "ijk", frozen)]
pub struct PointSet {
    inner: ijk::PointSet,
}

#[pymethods]
impl PointSet {
    /// True if the set is exact, False if it is a superset.
    #[getter]
    fn is_exact(&self) -> bool {
        self.inner.is_exact()
    }

    /// The points in order, if there are at most `most`; otherwise None.
    #[pyo3(signature = (limit = 4096))]
    fn points<'py>(&self, py: Python<'py>, limit: u64) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(points) = self.inner.points(limit) else { return Ok(None) };
        let tuples = points.iter().map(|point| PyTuple::new(py, point));
        Ok(Some(PyList::new(py, tuples.collect::<PyResult<Vec<_>>>()?)?))
    }

    fn __contains__(&self, point: Vec<i64>) -> bool {
        let point: Option<Vec<u64>> = point.iter().map(|&n| u64::try_from(n).ok()).collect();
        point.is_some_and(|point| self.inner.contains(&point))
    }

    fn __bool__(&self) -> bool {
        !self.inner.is_empty()
    }

    fn __repr__(&self) -> String {
        self.inner.to_string()
    }
}

impl Component {
    /// The operations of the program for arguments of these shapes.
    pub fn named(&self, shapes: &[Vec<usize>]) -> PyResult<Operations> {
        let types =
            self.inner.default_types().into_iter().chain(std::iter::repeat(ijk::DType::F64));
        let arguments: Vec<_> = types.zip(shapes.iter().map(Vec::as_slice)).collect();
        self.inner.operations(&arguments).map_err(raise)
    }
}

/// Sets by the names of operations.
pub fn sets<'py>(
    py: Python<'py>,
    sets: Vec<(String, ijk::PointSet)>,
) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    for (name, inner) in sets {
        named.set_item(name, Bound::new(py, PointSet { inner })?)?;
    }
    Ok(named.into_any())
}

/// The relation of two operations: a bool if both have indices, otherwise the set of elements of the other one.
pub fn related<'py>(
    py: Python<'py>,
    operations: &Operations,
    from: &str,
    to: &str,
    has_point: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let relation = operations.relation(from, to).map_err(raise)?;
    match has_point {
        true => Ok(relation.is_related().into_pyobject(py)?.to_owned().into_any()),
        false => Ok(Bound::new(py, PointSet { inner: relation.set().clone() })?.into_any()),
    }
}
