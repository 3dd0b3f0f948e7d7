//! Propagation of a worker's failure to all workers, of this process and others.

use crate::Error;
use crate::cluster::ClusterError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The first error of any worker.
#[derive(Default)]
pub(super) struct Failure {
    is_set: AtomicBool,
    error: Mutex<Option<Error>>,
    cause_known: AtomicBool,
    others: OnceLock<Box<dyn Others>>,
}

/// Report of a failure to other processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// Process that failed.
    pub(super) process: usize,
    /// The process disappeared rather than failed.
    pub(super) lost: bool,
    pub(super) reason: String,
}

/// Parties outside this process's workers that must learn of a failure.
pub(super) trait Others: Send + Sync {
    /// The number of this process.
    fn process(&self) -> usize;
    /// Name of a process in messages.
    fn name(&self, process: usize) -> String;
    /// Sends the report to the other processes.
    fn tell(&self, report: &Report);
    /// Shuts down connections that wait for other processes.
    fn stop(&self);
}

impl Failure {
    /// A failure that is propagated to other processes.
    pub(super) fn among(others: impl Others + 'static) -> Self {
        let failure = Self::default();
        failure.others.get_or_init(|| Box::new(others));
        failure
    }

    /// Returns true if a worker failed: the others are to stop.
    pub(super) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Stops all workers because of an error.
    pub(super) fn set(&self, error: Error) {
        let process = self.others.get().map_or(0, |others| others.process());
        let report = Report { process, lost: false, reason: error.to_string() };
        self.keep(error, &report);
    }

    /// Stops all workers because of a report by another process.
    pub(super) fn report(&self, report: &Report) {
        let process = self.others.get().map_or(String::new(), |others| others.name(report.process));
        let reason = report.reason.clone();
        let error = match report.lost {
            true => ClusterError::Lost { process, reason },
            false => ClusterError::Failed { process, reason },
        };
        self.keep(error.into(), report);
    }

    /// Stops all workers; the cause is set later.
    pub(super) fn stop(&self) {
        if !self.is_set.swap(true, Ordering::AcqRel)
            && let Some(others) = self.others.get()
        {
            others.stop();
        }
    }

    fn keep(&self, error: Error, report: &Report) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        if !self.cause_known.swap(true, Ordering::AcqRel)
            && let Some(others) = self.others.get()
        {
            others.tell(report);
        }
        self.stop();
    }

    /// Returns true if the cause is known.
    pub(super) fn is_cause_known(&self) -> bool {
        self.cause_known.load(Ordering::Acquire)
    }

    /// The error, if there is one.
    pub(super) fn take(&self) -> Option<Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
