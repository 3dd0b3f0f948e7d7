//! SIGINT, SIGTERM and SIGHUP end a command, which leaves no temporary files.
//!
//! A thread waits for them. It removes files under temporary names, and then raises the signal with its default action,
//! so that the parent process sees which signal ended it. A run that writes Zarr arrays is interrupted, and ends the
//! process itself when its finished blocks are recorded.

use ijk::blocks::Progress;
use ijk::file::{FileError, Staged};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time that a run that has begun has to record its finished blocks, unless there is a second signal.
#[cfg(unix)]
const BEGUN: Duration = Duration::from_secs(20);

/// The same of a run that has not begun.
#[cfg(unix)]
const NOT_BEGUN: Duration = Duration::from_millis(150);

/// Interval of polling for a second signal.
#[cfg(unix)]
const NAP: Duration = Duration::from_millis(10);

/// Work to do on a signal. A process has one handler for each signal, so there is one of this.
static SIGNALS: LazyLock<Signals> = LazyLock::new(Signals::default);

#[derive(Default)]
struct Signals {
    /// The first signal received, or 0.
    received: AtomicI32,
    /// Interrupts a run.
    stop: Arc<AtomicBool>,
    /// Locked forever by the thread that ends the process, so that nothing new begins.
    unfinished: Mutex<Unfinished>,
}

/// Runs under way and files that are incomplete.
#[derive(Default)]
struct Unfinished {
    /// Files under temporary names.
    files: Vec<PathBuf>,
    /// Zarr arrays that a run writes, with its progress.
    run: Option<(Vec<PathBuf>, Arc<Progress>)>,
}

impl Signals {
    fn unfinished(&self) -> MutexGuard<'_, Unfinished> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a file under a temporary name; it is removed if a signal comes before it is renamed.
///
/// # Errors
/// If it cannot be made.
pub fn removed_unless_named(
    make: impl FnOnce() -> Result<Staged, FileError>,
) -> Result<Staged, FileError> {
    let mut unfinished = SIGNALS.unfinished();
    let staged = make()?;
    unfinished.files.extend(staged.temporary().map(PathBuf::from));
    Ok(staged)
}

/// Runs a critical section that signals do not interrupt.
pub fn undisturbed<T>(act: impl FnOnce() -> T) -> T {
    let _unfinished = SIGNALS.unfinished();
    act()
}

/// Registers a run that writes Zarr arrays; returns the flag that interrupts it.
pub fn run_begins(arrays: Vec<PathBuf>, progress: &Arc<Progress>) -> Arc<AtomicBool> {
    SIGNALS.unfinished().run = Some((arrays, Arc::clone(progress)));
    Arc::clone(&SIGNALS.stop)
}

/// Ends the process by the signal received, if there is one.
pub fn end_if_received() {
    match SIGNALS.received.load(Ordering::Acquire) {
        0 => {}
        signal => {
            if stores() && !ijk::blocks::cluster::Cluster::is_child() {
                let without = if fresh() { " without --fresh" } else { "" };
                crate::output::message(&match archives() {
                    true => "interrupted: nothing is kept of an archive that is not finished; write to a directory for a result that goes on from where it was interrupted".into(),
                    false => format!(
                        "interrupted: finished blocks are kept, and the same command{without} goes on from there"
                    ),
                });
            }
            end(signal);
        }
    }
}

/// Returns true if a run writes Zarr arrays.
fn stores() -> bool {
    SIGNALS.unfinished().run.as_ref().is_some_and(|(arrays, _)| !arrays.is_empty())
}

/// Returns true if all arrays that a run writes are archives.
#[cfg(feature = "zarr")]
fn archives() -> bool {
    let is_archive = |array: &PathBuf| ijk::blocks::ZarrStore::is_archive(array);
    SIGNALS.unfinished().run.as_ref().is_some_and(|(arrays, _)| arrays.iter().all(is_archive))
}

#[cfg(not(feature = "zarr"))]
fn archives() -> bool {
    false
}

fn fresh() -> bool {
    std::env::args_os().any(|argument| argument == "--fresh")
}

#[cfg(not(unix))]
pub fn install() {}

#[cfg(not(unix))]
fn end(_: i32) {}

/// Starts the thread that waits for signals, if possible.
#[cfg(unix)]
pub fn install() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored();
    // Signals that the parent process ignores stay ignored, as `nohup` requires.
    let heeded = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|n| ignored & 1 << (n - 1) == 0);
    let Ok(signals) = signal_hook::iterator::Signals::new(heeded) else { return };
    let thread = std::thread::Builder::new().name("ijk:signals".into());
    let handle = signals.handle();
    if thread.spawn(move || wait(signals)).is_err() {
        // Then they have their default action.
        handle.close();
    }
}

/// The signals that are ignored, as bits.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(unix)]
fn wait(mut signals: signal_hook::iterator::Signals) {
    let Some(signal) = signals.forever().next() else { return };
    SIGNALS.received.store(signal, Ordering::Release);
    SIGNALS.stop.store(true, Ordering::Relaxed);
    let patience = match &SIGNALS.unfinished().run {
        None => Duration::ZERO,
        Some((_, progress)) if progress.counts().of_blocks == 0 => NOT_BEGUN,
        Some(_) => BEGUN,
    };
    let start = std::time::Instant::now();
    while start.elapsed() < patience && signals.pending().next().is_none() {
        std::thread::sleep(NAP);
    }
    let unfinished = SIGNALS.unfinished();
    for file in &unfinished.files {
        // It may have its final name by now.
        std::fs::remove_file(file).unwrap_or_default();
    }
    #[cfg(feature = "zarr")]
    for array in unfinished.run.iter().flat_map(|(arrays, _)| arrays) {
        // The next run removes leftovers.
        ijk::blocks::ZarrStore::abandon(array).unwrap_or_default();
    }
    end(signal);
}

/// Ends the process as the signal does by default.
#[cfg(unix)]
fn end(signal: i32) {
    signal_hook::low_level::emulate_default_handler(signal).unwrap_or_default();
}
