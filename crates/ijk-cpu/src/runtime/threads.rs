//! Worker threads, and loops whose results do not depend on their number.

use crate::runtime::cancel::CancelToken;
use crate::runtime::pool::WorkerPool;
use ijk_kernels::tuning::time::{
    CANCELLABLE_TASK_NANOSECONDS, DIVIDED_NANOSECONDS, TASK_NANOSECONDS, TASKS_PER_THREAD,
};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of threads, started on demand. The caller's counts as one.
#[derive(Debug)]
pub struct Workers {
    threads: usize,
    /// Nanoseconds from which work is divided.
    worth: f64,
    pool: Arc<WorkerPool>,
    /// Cancellation of the present run.
    cancel: Option<Arc<CancelToken>>,
}

impl Workers {
    /// `threads` threads; 0 means as many as the machine offers this process.
    pub fn new(threads: usize) -> Self {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { available() } else { threads };
        let threads = threads.min(MAX_THREADS);
        let pool = Arc::new(WorkerPool::new(threads - 1));
        Self { threads, worth: DIVIDED_NANOSECONDS, pool, cancel: None }
    }

    /// The same threads, with work divided from `nanoseconds` on.
    pub(crate) fn for_work_from(self, nanoseconds: f64) -> Self {
        Self { worth: nanoseconds, ..self }
    }

    /// Returns true if work of `nanoseconds` on one thread is worth dividing.
    pub(crate) fn are_worth(&self, nanoseconds: f64) -> bool {
        self.threads > 1 && nanoseconds >= self.worth
    }

    /// The same threads, of which at most `threads` work at the same time.
    pub fn at_most(&self, threads: usize) -> Self {
        let threads = self.threads.min(threads).max(1);
        let (pool, cancel) = (Arc::clone(&self.pool), self.cancel.clone());
        Self { threads, worth: self.worth, pool, cancel }
    }

    /// The same threads for a cancellable run: loops skip the remaining tasks when it is cancelled.
    pub(crate) fn watched(&self, cancel: CancelToken) -> Self {
        Self { cancel: Some(Arc::new(cancel)), ..self.at_most(self.threads) }
    }

    /// Returns true if the present run is cancelled.
    #[inline]
    pub(crate) fn have_ended(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.has_ended())
    }

    /// Number of threads that work at the same time.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Calls `body` with each of `0..tasks` in parallel. A thread always starts with the same part of them, whose data
    /// its cache may hold, and continues with remaining tasks of others. The assignment of tasks to threads is not
    /// deterministic, so each task must write disjoint data.
    ///
    /// # Panics
    /// If `body` panics.
    pub fn parallel_for(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        let parts = self.threads.min(tasks);
        if parts <= 1 {
            return self.alone(tasks, body);
        }
        let start = |part: usize| cut(tasks, part, parts);
        let next: SmallVec<[_; 8]> = (0..parts).map(|n| AtomicUsize::new(start(n))).collect();
        self.work(parts - 1, &|thread| {
            for part in (0..parts).map(|n| (thread + n) % parts) {
                self.claim(&next[part], start(part + 1), &body);
            }
        });
    }

    /// The same for tasks that start in their order, on any thread: the longer ones come first.
    ///
    /// # Panics
    /// If `body` panics.
    pub(crate) fn parallel_in_order(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        let helpers = self.threads.min(tasks).saturating_sub(1);
        if helpers == 0 {
            return self.alone(tasks, body);
        }
        let next = AtomicUsize::new(0);
        self.work(helpers, &|_| self.claim(&next, tasks, &body));
    }

    /// Executes `work` here and on helpers, and checks for cancellation while it waits.
    fn work(&self, helpers: usize, work: &(dyn Fn(usize) + Sync)) {
        match &self.cancel {
            None => self.pool.work(helpers, work),
            Some(cancel) => self.pool.work_polling(helpers, work, Some(&|| _ = cancel.has_ended())),
        }
    }

    /// Calls `body` with each of `0..tasks` on this thread.
    fn alone(&self, tasks: usize, body: impl Fn(usize)) {
        (0..tasks).take_while(|_| !self.have_ended()).for_each(body);
    }

    /// Calls `body` with unclaimed tasks from the next one to the end.
    fn claim(&self, next: &AtomicUsize, end: usize, body: &impl Fn(usize)) {
        let claim = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&task| task < end);
        while let Some(task) = claim().filter(|_| !self.have_ended()) {
            body(task);
        }
    }

    /// Calls `body` with ranges that partition `0..count`: several for each thread, to balance their loads, but fewer
    /// if the work is short, and a single one if it is not worth dividing. If the run is cancellable, no range is long.
    ///
    /// # Panics
    /// If `body` panics.
    pub(crate) fn parallel_ranges(
        &self,
        count: usize,
        nanoseconds: f64,
        body: impl Fn(Range<usize>) + Sync,
    ) {
        let brief = self
            .cancel
            .as_ref()
            .map_or(0, |_| (nanoseconds / CANCELLABLE_TASK_NANOSECONDS) as usize);
        if !self.are_worth(nanoseconds) && brief < 2 {
            return body(0..count);
        }
        // Waking a thread requires at least a task; each thread has as many as any other.
        let worth = ((nanoseconds / TASK_NANOSECONDS) as usize).max(2);
        let threads = worth.min(self.threads);
        let each = worth.div_ceil(threads).min(TASKS_PER_THREAD).max(brief.div_ceil(threads));
        let tasks = count.min(each.saturating_mul(threads));
        self.parallel_for(tasks, |task| body(cut(count, task, tasks)..cut(count, task + 1, tasks)));
    }
}

/// Start of the part of index `part` out of `parts` of `0..count`.
pub(crate) fn cut(count: usize, part: usize, parts: usize) -> usize {
    // In 128 bits, since the product may overflow.
    (count as u128 * part as u128 / parts as u128) as usize
}

/// More threads than any machine has; keeps a mistyped number from exhausting it.
const MAX_THREADS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_task_runs_once() {
        for threads in 1..=4 {
            let workers = Workers::new(threads);
            for tasks in [0, 1, 2, 3, 5, 1000] {
                let seen = Mutex::new(vec![0; tasks]);
                workers.parallel_for(tasks, |task| seen.lock().unwrap()[task] += 1);
                workers.parallel_in_order(tasks, |task| seen.lock().unwrap()[task] += 1);
                assert!(seen.into_inner().unwrap().iter().all(|&n| n == 2));
            }
        }
    }

    #[test]
    fn loops_nest() {
        let workers = Workers::new(3);
        let count = AtomicUsize::new(0);
        workers.parallel_for(7, |_| {
            workers.parallel_for(11, |_| {
                count.fetch_add(1, Ordering::Relaxed);
            })
        });
        assert_eq!(count.into_inner(), 77);
    }

    #[test]
    fn fewer_at_a_time() {
        let workers = Workers::new(4);
        for most in [0, 1, 2, 9] {
            let some = workers.at_most(most);
            assert_eq!(some.threads(), most.clamp(1, 4));
            let (now, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
            some.parallel_for(50, |_| {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_micros(100));
                now.fetch_sub(1, Ordering::SeqCst);
            });
            assert!(peak.into_inner() <= some.threads());
        }
    }

    #[test]
    fn zero_means_some() {
        assert!(Workers::new(0).threads() >= 1);
        assert_eq!(Workers::new(usize::MAX).threads(), MAX_THREADS);
    }
}
