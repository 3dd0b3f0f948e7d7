//! Computes block tensors without Python's lock, until it is done or the user interrupts.

use crate::engine::interrupted;
use crate::error::raise_blocks;
use crate::numbers;
use ijk::RunError;
use ijk::blocks::{Error, Executor, Saved, ZarrStore};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Interval at which the calling thread checks for an interrupt.
const ASK: Duration = Duration::from_millis(20);

/// Bytes of a thread's stack.
const STACK: usize = 2 << 20;

/// An executor on all threads of the machine, or on a number of workers.
pub fn executor(
    workers: Option<&Bound<'_, PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<Executor> {
    static ALL: OnceLock<Executor> = OnceLock::new();
    let mut executor = ALL.get_or_init(Executor::new).clone();
    if let Some(workers) = workers {
        match numbers::signed(workers, "workers")? {
            workers @ 1..=4096 => executor = executor.workers(workers as usize),
            workers => {
                let message = format!("workers is a number from 1 to 4096, not {workers}");
                return Err(PyValueError::new_err(message));
            }
        }
    }
    if let Some(bytes) = memory_limit {
        executor = executor.memory_limit(numbers::whole(bytes, "memory_limit")?);
    }
    Ok(executor)
}

/// Computes on a new thread, while the calling one waits for it and for interrupts.
pub fn computing<R: Send>(
    py: Python<'_>,
    executor: Executor,
    compute: impl FnOnce(&Executor) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let stop = Arc::new(AtomicBool::new(false));
    let executor = executor.stop(Arc::clone(&stop));
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, waits) = channel::<()>();
            let running = std::thread::Builder::new().spawn_scoped(scope, move || {
                // Dropped at the end, also after a panic.
                let _done = done;
                compute(&executor)
            });
            // The system refuses a thread if there is no memory for its stack.
            let running = running.map_err(|_| RunError::OutOfMemory(STACK))?;
            while waits.recv_timeout(ASK) == Err(RecvTimeoutError::Timeout) {
                if interrupted() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    result.map_err(|error| match PyErr::take(py) {
        Some(raised) => raised,
        None => raise_blocks(error),
    })
}

/// Warns about damaged blocks of an earlier result that were computed again.
pub fn saved(py: Python<'_>, path: &Path, saved: PyResult<Saved>) -> PyResult<()> {
    match saved {
        Ok(Saved { damaged: 0, .. }) => Ok(()),
        Ok(Saved { damaged, .. }) => {
            let blocks = if damaged == 1 { "block was" } else { "blocks were" };
            let message = format!("{damaged} {blocks} gone or damaged, and computed again");
            py.import("warnings")?.call_method1("warn", (message,)).map(drop)
        }
        Err(error) => {
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                let note = match ZarrStore::is_archive(path) {
                    true => "nothing is kept of an archive that is not finished",
                    false => "finished blocks are kept: the same write goes on from there",
                };
                error.value(py).call_method1("add_note", (note,))?;
            }
            Err(error)
        }
    }
}
