//! Worker threads and loops whose result does not depend on how many there are.

use crate::crew::work_with;
use crate::watch::Watch;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Work of fewer nanoseconds stays on the caller's thread, where nothing is known of the machine:
/// waking another costs some 10 µs.
const WORTH_THREADS: f64 = 60_000.0;

/// Ranges for each thread, of what is divided among them.
pub(crate) const TASKS_PER_THREAD: usize = 4;

/// A number of threads, started when first needed. The caller's own counts as one.
#[derive(Debug)]
pub struct Workers {
    threads: usize,
    /// Nanoseconds from which on work is divided.
    worth: f64,
    pool: Arc<Pool>,
    /// What may end the present run.
    watch: Option<Arc<Watch>>,
}

/// Threads, which start when first needed.
#[derive(Debug)]
struct Pool {
    threads: usize,
    /// `None` where threads could not be started: then the caller works alone.
    started: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// That many threads; 0 means as many as the machine offers this process.
    pub fn new(threads: usize) -> Self {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { available() } else { threads };
        let threads = threads.min(MAX_THREADS);
        let pool = Arc::new(Pool { threads, started: OnceLock::new() });
        Self { threads, worth: WORTH_THREADS, pool, watch: None }
    }

    /// The same, for work of so many nanoseconds.
    pub(crate) fn for_work_from(self, nanoseconds: f64) -> Self {
        Self { worth: nanoseconds, ..self }
    }

    /// Whether work that takes one thread so many nanoseconds is worth dividing.
    pub(crate) fn are_worth(&self, nanoseconds: f64) -> bool {
        self.threads > 1 && nanoseconds >= self.worth
    }

    /// The same threads, of which at most so many work at a time.
    pub fn at_most(&self, threads: usize) -> Self {
        let threads = self.threads.min(threads).max(1);
        let (pool, watch) = (Arc::clone(&self.pool), self.watch.clone());
        Self { threads, worth: self.worth, pool, watch }
    }

    /// The same threads for a run that ends when `ask` says so: loops then leave out the tasks that
    /// are left.
    pub(crate) fn watched(&self, ask: fn() -> bool) -> Self {
        let watch = Some(Arc::new(Watch::new(ask)));
        Self { watch, ..self.at_most(self.threads) }
    }

    /// Whether the present run is to end.
    #[inline]
    pub(crate) fn have_ended(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.has_ended())
    }

    /// How many threads work at a time.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` on a thread of the pool, so that helpers come to the loops in it sooner; on the
    /// caller's where there is one thread only. Entering costs some 10 µs: do it once for a
    /// plan, and only for one with several loops of enough work.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self.pool() {
            // Who watches stays where they are.
            _ if self.watch.is_some() => work(),
            Some(pool) if pool.current_thread_index().is_none() => pool.install(work),
            _ => work(),
        }
    }

    /// Calls `body` with each of `0..tasks`, in any order and in parallel. Which thread runs which
    /// task is not determined, so each task must write what no other one touches.
    ///
    /// # Panics
    /// If `body` does.
    pub fn parallel_for(&self, tasks: usize, body: impl Fn(usize) + Sync) {
        if tasks <= 1 || self.threads == 1 {
            return (0..tasks).take_while(|_| !self.have_ended()).for_each(body);
        }
        let next = AtomicUsize::new(0);
        let claim = || next.fetch_add(1, Ordering::Relaxed);
        let work = || {
            let mut task = claim();
            while task < tasks && !self.have_ended() {
                body(task);
                task = claim();
            }
        };
        let helpers = self.threads.min(tasks) - 1;
        match self.pool() {
            None => work(),
            Some(pool) if pool.current_thread_index().is_some() => rayon_scope(helpers, &work),
            Some(pool) => work_with(pool, helpers, &work),
        }
    }

    /// Calls `body` with ranges that make up `0..count`, several for each thread so that a slow one
    /// does not keep the others waiting; with all of it, if the work takes so few nanoseconds that
    /// it is not worth dividing.
    ///
    /// # Panics
    /// If `body` does.
    pub(crate) fn parallel_ranges(
        &self,
        count: usize,
        nanoseconds: f64,
        body: impl Fn(Range<usize>) + Sync,
    ) {
        if !self.are_worth(nanoseconds) {
            return body(0..count);
        }
        let tasks = count.min(self.threads * TASKS_PER_THREAD);
        // Wide, since the product of two sizes may not fit.
        let cut = |task: usize| (count as u128 * task as u128 / tasks as u128) as usize;
        self.parallel_for(tasks, |task| body(cut(task)..cut(task + 1)));
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let start = || {
            let builder = ThreadPoolBuilder::new().num_threads(self.pool.threads);
            builder.thread_name(|n| format!("ijk-{n}")).build().ok()
        };
        if self.threads == 1 { None } else { self.pool.started.get_or_init(start).as_ref() }
    }
}

/// More threads than any machine this runs on; keeps a mistyped number from exhausting it.
const MAX_THREADS: usize = 1024;

/// Runs `work` here and on `helpers` further threads of the current pool.
fn rayon_scope(helpers: usize, work: &(impl Fn() + Sync)) {
    if helpers == 0 {
        return work();
    }
    rayon::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|_| work());
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_task_runs_once() {
        for threads in 1..=4 {
            let workers = Workers::new(threads);
            let seen = Mutex::new(vec![0; 1000]);
            workers.parallel_for(1000, |task| seen.lock().unwrap()[task] += 1);
            assert!(seen.into_inner().unwrap().iter().all(|&n| n == 1));
        }
    }

    #[test]
    fn loops_nest() {
        let workers = Workers::new(3);
        let count = AtomicUsize::new(0);
        workers.install(|| {
            workers.parallel_for(7, |_| {
                workers.parallel_for(11, |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                })
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
        // The threads that started are all there are.
        assert_eq!(workers.install(rayon::current_num_threads), 4);
    }

    #[test]
    fn zero_means_some() {
        assert!(Workers::new(0).threads() >= 1);
        assert_eq!(Workers::new(usize::MAX).threads(), MAX_THREADS);
    }
}
