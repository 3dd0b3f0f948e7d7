//! Engines.

use crate::error::raise;
use crate::numbers;
use crate::run::detached;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Threads, memory that they reuse, and a limit to it.
///
/// Engine(threads=0, memory_limit=None, strict=False)
///
/// threads: how many work at a time; 0 means as many as the machine has. Results do not depend on it.
/// memory_limit: most bytes that results and temporaries of one call may take, panels of kernels among them but
/// for 256 KiB for each thread; what would need more is computed in smaller parts, by fewer threads, or raises
/// MemoryLimitError, which says how much would do, before anything is allocated.
///
/// strict: whether values are computed as they are written: multiplied and divided before they are reduced, at
/// every point. Factors of what is reduced are else taken in any order, and those that do not depend on a reduced
/// index applied behind, which only NaN, infinities and what over- or underflows can tell.
///
/// A child that was forked, whatever threads of its parent were doing, uses engines as the parent does, with
/// threads of its own.
///
/// Results of 1 MiB or more lie in memory that returns to the engine when the last array that looks at it
/// is gone, and is used for the next results: up to 256 MiB are kept and, without a memory limit, an eighth
/// of the machine's memory besides, which the operating system may take whenever it needs some. Such arrays
/// do not own their data.
#[pyclass(module = "ijk", frozen)]
pub struct Engine {
    pub inner: ijk::Engine,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(
        signature = (threads = None, memory_limit = None, strict = false),
        text_signature = "(threads=0, memory_limit=None, strict=False)"
    )]
    fn new(
        threads: Option<&Bound<'_, PyAny>>,
        memory_limit: Option<&Bound<'_, PyAny>>,
        strict: bool,
    ) -> PyResult<Self> {
        let threads = threads.map(|any| numbers::whole(any, "threads")).transpose()?;
        let limit = memory_limit.map(|any| numbers::whole(any, "memory_limit")).transpose()?;
        let builder = ijk::Engine::builder().threads(threads.unwrap_or(0)).strict(strict);
        let mut builder = builder.interrupt(interrupted).detach(detached);
        if let Some(bytes) = limit {
            builder = builder.memory_limit(bytes);
        }
        Ok(Self { inner: builder.try_build().map_err(raise)? })
    }

    /// How many threads work at a time.
    #[getter]
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    /// Most bytes that results and temporaries of one call may take, or None.
    #[getter]
    fn memory_limit(&self) -> Option<u64> {
        self.inner.memory_limit()
    }

    /// True if factors of reduced values are not reassociated.
    #[getter]
    fn strict(&self) -> bool {
        self.inner.is_strict()
    }

    /// The instructions that are used: "avx512", say.
    #[getter]
    fn simd(&self) -> &'static str {
        self.inner.simd()
    }

    /// Frees the memory that is kept for later calls.
    fn release_memory(&self) {
        self.inner.release_memory();
    }

    fn __repr__(&self) -> String {
        let limit = self.memory_limit().map_or("None".into(), |bytes| bytes.to_string());
        let strict = if self.strict() { ", strict=True" } else { "" };
        format!("Engine(threads={}, memory_limit={limit}{strict})", self.threads())
    }
}

/// Whether the user wants the computation to end: asked by the thread that waits for it.
pub fn interrupted() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            error.restore(py);
            true
        }
    })
}

/// The engine that was given, or the default one, which is made when first asked for.
pub fn engine<'a, 'py>(
    py: Python<'py>,
    given: Option<&'a Bound<'py, Engine>>,
) -> PyResult<&'a ijk::Engine>
where
    'py: 'a,
{
    static DEFAULT: PyOnceLock<Py<Engine>> = PyOnceLock::new();
    match given {
        Some(engine) => Ok(&engine.get().inner),
        None => {
            let default =
                DEFAULT.get_or_try_init(py, || Py::new(py, Engine::new(None, None, false)?))?;
            Ok(&default.get().inner)
        }
    }
}
