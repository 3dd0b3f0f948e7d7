//! Engines.

use crate::error::raise;
use crate::numbers;
use crate::run::detached;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// A pool of threads and reusable memory, with a memory limit.
///
/// Engine(threads=0, memory_limit=None, strict=False)
///
/// threads: number of threads; 0 means as many as the machine has. Results do not depend on it.
/// memory_limit: upper bound, in bytes, of results and temporaries of one call, including packed panels except for
/// 256 KiB for each thread. A call that needs more is computed in smaller parts, by fewer threads, or raises
/// MemoryLimitError, with a limit that suffices, before anything is allocated.
///
/// strict: if True, values are computed as written: multiplied and divided at every point before they are reduced.
/// Otherwise factors behind a reduction are reassociated, and those that do not depend on a reduced index are applied
/// after it; only NaN, infinities, overflow and underflow can make a difference beyond rounding.
///
/// Engines work in forked children, with threads of their own, whatever the threads of the parent were doing.
///
/// The memory of results of 1 MiB or more returns to the engine when the last array that refers to it is
/// deleted, and is reused for later results: up to 256 MiB and, without a memory limit, an eighth of the
/// machine's memory in addition, as pages that the operating system may reclaim. Such arrays do not own their
/// data.
#[pyclass(module = "ijk", frozen, weakref)]
pub struct Engine {
    pub inner: ijk::Engine,
    /// Requested threads; 0 for as many as the machine has.
    asked: usize,
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
        Ok(Self { inner: builder.try_build().map_err(raise)?, asked: threads.unwrap_or(0) })
    }

    /// Number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    /// Upper bound, in bytes, of results and temporaries of one call, or None.
    #[getter]
    fn memory_limit(&self) -> Option<u64> {
        self.inner.memory_limit()
    }

    /// True if factors behind a reduction are not reassociated.
    #[getter]
    fn strict(&self) -> bool {
        self.inner.is_strict()
    }

    /// The SIMD level: "avx512", say.
    #[getter]
    fn simd(&self) -> &'static str {
        self.inner.simd()
    }

    /// Frees the memory that the engine keeps for later calls.
    fn release_memory(&self) {
        self.inner.release_memory();
    }

    /// Arguments from which pickle rebuilds an engine of the same settings, without its memory and threads.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (usize, Option<u64>, bool)) {
        let engine = slf.get();
        (slf.get_type(), (engine.asked, engine.memory_limit(), engine.strict()))
    }

    /// The engine itself, whose state no call can observe.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// The engine itself.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __repr__(&self) -> String {
        let limit = self.memory_limit().map_or("None".into(), |bytes| bytes.to_string());
        let strict = if self.strict() { ", strict=True" } else { "" };
        format!("Engine(threads={}, memory_limit={limit}{strict})", self.threads())
    }
}

/// True if a signal handler raised an exception. Polled by the calling thread, to interrupt the computation.
pub fn interrupted() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            error.restore(py);
            true
        }
    })
}

/// The given engine, or the default one, which is created at first use.
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
