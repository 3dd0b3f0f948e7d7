//! The compiled half of the Python package `ijk`; `python/ijk` is the other half.

mod arrays;
mod axes;
mod blocks;
mod component;
mod einsum;
mod engine;
mod error;
mod et;
mod explanation;
mod linear;
mod memory;
mod numbers;
mod outputs;
mod points;
mod recipe;
mod run;

use pyo3::prelude::*;

/// With a reserve, a call raises `MemoryError` when memory runs out, and the process survives.
#[global_allocator]
static ALLOCATOR: ijk::WithReserve = ijk::WithReserve;

/// Index expressions.
#[pymodule(gil_used = true)]
#[pyo3(name = "_ijk")]
fn ijk_module(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("Error", m.py().get_type::<error::Error>())?;
    m.add("DTypeError", m.py().get_type::<error::DTypeError>())?;
    m.add("MemoryLimitError", m.py().get_type::<error::MemoryLimitError>())?;
    m.add("StoreError", m.py().get_type::<error::StoreError>())?;
    m.add_class::<blocks::BigTensor>()?;
    m.add_class::<component::Component>()?;
    m.add_class::<points::PointSet>()?;
    m.add_class::<engine::Engine>()?;
    m.add_class::<einsum::Einsum>()?;
    m.add_class::<et::Program>()?;
    m.add_class::<explanation::Explanation>()?;
    m.add_function(wrap_pyfunction!(einsum::einsum, m)?)?;
    m.add_function(wrap_pyfunction!(arrays::promoted, m)?)?;
    m.add_function(wrap_pyfunction!(outputs::check_out, m)?)?;
    m.add_function(wrap_pyfunction!(blocks::contract, m)?)?;
    Ok(())
}
