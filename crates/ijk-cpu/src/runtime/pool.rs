//! Worker threads that help with loops, if they arrive in time.
//!
//! The caller starts at once and never waits for a thread that has not started: waking a thread takes longer than many
//! a short loop, and on a busy machine it may not run at all. A thread that has helped therefore spins for more work
//! before it sleeps, and joins the next loop of a plan, or of the next call, without being woken.
//!
//! A forked child has none of its parent's threads, and starts its own.

use ijk_kernels::tuning::time::{SPIN, SPIN_POLLS, START_PAUSE, WAIT_INTERVAL, WAIT_POLLS};
use ijk_tensor::fork::{PerProcess, generation};
use std::any::Any;
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::iter::repeat_n;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A pool of threads that start on demand, and end some time after the pool is dropped.
pub(crate) struct WorkerPool(PerProcess<Arc<PoolState>>);

impl WorkerPool {
    /// A pool of at most `most` threads.
    pub(crate) fn new(most: usize) -> Self {
        Self(PerProcess::new(PoolState::new(most)))
    }

    /// The shared state of this process.
    #[inline]
    fn shared(&self) -> &Arc<PoolState> {
        self.0.get(|parents| PoolState::new(parents.most))
    }

    /// Executes `work` here, and in parallel on up to `helpers` threads that arrive before it is finished here. Returns
    /// when it is finished everywhere. The argument of `work` is the index of its thread: 0 here, and a fixed positive
    /// number for each helper.
    ///
    /// In a child that `work` itself forked, helpers are not waited for, since they are threads of the parent.
    ///
    /// # Panics
    /// If `work` panics on any thread.
    pub(crate) fn work(&self, helpers: usize, work: &(dyn Fn(usize) + Sync)) {
        self.work_polling(helpers, work, None);
    }

    /// The same, with calls of `poll` at intervals while it waits for helpers.
    ///
    /// # Panics
    /// If `work` panics on any thread, or `poll` panics.
    pub(crate) fn work_polling(
        &self,
        helpers: usize,
        work: &(dyn Fn(usize) + Sync),
        poll: Option<&dyn Fn()>,
    ) {
        let job = Arc::new(Job {
            // SAFETY: both are pointers of the same kind, and differ only in lifetime.
            work: unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), *const LoopBody>(work) },
            gate: AtomicUsize::new(OPEN),
            owner: thread::current(),
            generation: generation(),
            panic: Mutex::new(None),
        });
        {
            let shared = self.shared();
            let closing = Closing { shared, job: &job };
            shared.offer(&job, helpers);
            work(0);
            closing.wait(poll);
        }
        let panic = job.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl std::fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WorkerPool({})", self.shared().most)
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        if let Some(shared) = self.0.own() {
            shared.lock().closed = true;
            shared.wake.notify_all();
        }
    }
}

/// State that the caller shares with worker threads.
struct PoolState {
    /// Most threads.
    most: usize,
    state: Mutex<PoolQueue>,
    /// Length of the queue, for threads that spin.
    offers: AtomicUsize,
    /// Wakes sleeping threads.
    wake: Condvar,
}

#[derive(Default)]
struct PoolQueue {
    /// Jobs, one entry for each helper wanted.
    queue: VecDeque<Arc<Job>>,
    /// Threads that spin or have been woken.
    free: usize,
    /// Sleeping threads that have not been woken.
    asleep: usize,
    /// Wake-ups that no sleeping thread has received yet.
    calls: usize,
    /// Threads that were started.
    started: usize,
    /// Time of the last failure to start a thread.
    refused: Option<Instant>,
    /// True if no more work will follow.
    closed: bool,
}

impl PoolState {
    /// State without threads.
    fn new(most: usize) -> Arc<Self> {
        let (state, offers) = (Mutex::default(), AtomicUsize::new(0));
        Arc::new(Self { most, state, offers, wake: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, PoolQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers a job to some helpers; wakes or starts as many as are missing.
    fn offer(self: &Arc<Self>, job: &Arc<Job>, helpers: usize) {
        let mut state = self.lock();
        let helpers = helpers.min(self.most);
        state.queue.extend(repeat_n(job, helpers).cloned());
        self.offers.store(state.queue.len(), Ordering::Release);
        let missing = state.queue.len().saturating_sub(state.free);
        let called = missing.min(state.asleep);
        state.asleep -= called;
        state.calls += called;
        let first = state.started;
        let may_start = state.refused.is_none_or(|refused| refused.elapsed() >= START_PAUSE);
        let most = if may_start { self.most } else { first };
        let starting = (missing - called).min(most - first);
        state.started += starting;
        state.free += called + starting;
        drop(state);
        (0..called).for_each(|_| self.wake.notify_one());
        (first..first + starting).for_each(|n| self.start(n));
    }

    /// Starts a thread. If that fails, there is one less for a while.
    fn start(self: &Arc<Self>, n: usize) {
        let shared = Arc::clone(self);
        let named = thread::Builder::new().name(format!("ijk-{n}"));
        if named.spawn(move || shared.serve(n + 1)).is_err() {
            let mut state = self.lock();
            state.free -= 1;
            state.started -= 1;
            state.refused = Some(Instant::now());
        }
    }

    /// Main loop of the thread of index `number`.
    fn serve(&self, number: usize) {
        let spin = self.spin();
        while let Some(job) = self.next(spin) {
            job.help(number);
            drop(job);
            self.lock().free += 1;
        }
    }

    /// Time for which threads spin. Querying the number of processors is slow, so threads do it when they start, not
    /// the creator of the pool.
    fn spin(&self) -> Duration {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        // If threads share processors, a spinning thread would delay another one's work.
        if self.most < processors { SPIN } else { Duration::ZERO }
    }

    /// The next job for a free thread, which spins for `spin` before it sleeps; `None` if the pool is closed.
    fn next(&self, spin: Duration) -> Option<Arc<Job>> {
        let mut begin = Instant::now();
        loop {
            let offered = self.spin_for_work(begin, spin);
            let mut state = self.lock();
            if let Some(job) = state.queue.pop_front() {
                self.offers.store(state.queue.len(), Ordering::Release);
                state.free -= 1;
                return Some(job);
            }
            if offered {
                // Another thread took the job.
                continue;
            }
            state.free -= 1;
            state.asleep += 1;
            while state.calls == 0 && !state.closed {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.closed {
                return None;
            }
            // The caller has counted this thread as free.
            state.calls -= 1;
            begin = Instant::now();
        }
    }

    /// Spins for an offer until the time is over; returns true if there is one.
    fn spin_for_work(&self, begin: Instant, spin: Duration) -> bool {
        loop {
            for _ in 0..SPIN_POLLS {
                if self.offers.load(Ordering::Acquire) > 0 {
                    return true;
                }
                spin_loop();
            }
            if begin.elapsed() >= spin {
                return false;
            }
        }
    }

    /// Withdraws the offers of a job of this process.
    fn withdraw(&self, job: &Arc<Job>) {
        if self.offers.load(Ordering::Relaxed) > 0 {
            let mut state = self.lock();
            state.queue.retain(|offered| !Arc::ptr_eq(offered, job));
            self.offers.store(state.queue.len(), Ordering::Release);
        }
    }
}

/// Flag that helpers may enter; the bits above count helpers inside.
const OPEN: usize = 1;
/// Count of one helper.
const ONE: usize = 2;

/// Work with an erased lifetime.
type LoopBody = dyn Fn(usize) + Sync;

struct Job {
    /// Valid while a helper is inside or the gate is open.
    work: *const LoopBody,
    gate: AtomicUsize,
    /// The thread that waits for helpers.
    owner: Thread,
    /// Process of the job.
    generation: usize,
    /// Payload of the first panic of a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` is `Sync` and outlives the helpers inside, which alone dereference it; the other fields are `Send` and
// `Sync`.
unsafe impl Send for Job {}
// SAFETY: as for `Send`.
unsafe impl Sync for Job {}

impl Job {
    /// Executes the work on the thread of index `number`, if the gate is open.
    fn help(&self, number: usize) {
        let enter = |gate: usize| (gate & OPEN != 0).then_some(gate + ONE);
        if self.gate.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
            return;
        }
        // SAFETY: this thread is inside until it leaves below, and `Closing`, which is dropped before the owner's
        // `work`, on unwinding, too, waits for all helpers inside.
        let work = unsafe { &*self.work };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(number))) {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        if self.gate.fetch_sub(ONE, Ordering::Release) == ONE {
            self.owner.unpark();
        }
    }

    /// Closes the gate, and waits for helpers inside.
    fn close(&self, poll: Option<&dyn Fn()>) {
        self.gate.fetch_and(!OPEN, Ordering::Relaxed);
        for _ in 0..WAIT_POLLS {
            if self.is_left() {
                return;
            }
            spin_loop();
        }
        while !self.is_left() {
            match poll {
                None => thread::park(),
                Some(poll) => {
                    thread::park_timeout(WAIT_INTERVAL);
                    poll();
                }
            }
        }
    }

    /// Returns true if no helper is inside, or none that will ever leave.
    fn is_left(&self) -> bool {
        self.gate.load(Ordering::Acquire) & !OPEN == 0 || self.generation != generation()
    }
}

/// Closes a job on drop, also by unwinding.
struct Closing<'a> {
    shared: &'a PoolState,
    job: &'a Arc<Job>,
}

impl Closing<'_> {
    /// Ends the job, and waits for helpers inside.
    fn wait(self, poll: Option<&dyn Fn()>) {
        self.end(poll);
        std::mem::forget(self);
    }

    fn end(&self, poll: Option<&dyn Fn()>) {
        if self.job.generation == generation() {
            self.shared.withdraw(self.job);
            self.job.close(poll);
        }
    }
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.end(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn all_is_done_when_it_returns() {
        let pool = WorkerPool::new(3);
        for round in 0..2000 {
            let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.work(3, &|_| {
                while next.fetch_add(1, Ordering::Relaxed) < round % 50 {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(done.into_inner(), round % 50);
        }
    }

    #[test]
    fn helpers_help_awake_and_from_sleep() {
        let pool = WorkerPool::new(2);
        for pause in [Duration::ZERO, SPIN / 2, 20 * SPIN, Duration::ZERO] {
            thread::sleep(pause);
            let inside = AtomicUsize::new(0);
            pool.work(2, &|_| {
                inside.fetch_add(1, Ordering::SeqCst);
                while inside.load(Ordering::SeqCst) < 3 {
                    thread::yield_now();
                }
            });
            assert_eq!(inside.into_inner(), 3);
        }
    }

    #[test]
    fn threads_keep_their_numbers() {
        let pool = WorkerPool::new(2);
        let mut before = None;
        for _ in 0..20 {
            let (here, inside) = (Mutex::new([None; 3]), AtomicUsize::new(0));
            pool.work(2, &|number| {
                here.lock().unwrap()[number] = Some(thread::current().id());
                inside.fetch_add(1, Ordering::SeqCst);
                while inside.load(Ordering::SeqCst) < 3 {
                    thread::yield_now();
                }
            });
            let here = here.into_inner().unwrap();
            assert_eq!(here[0], Some(thread::current().id()));
            assert!(here.iter().all(Option::is_some));
            assert_eq!(*before.get_or_insert(here), here);
        }
    }

    #[test]
    fn callers_share_helpers() {
        let pool = &WorkerPool::new(2);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..500 {
                        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
                        pool.work(2, &|_| {
                            while next.fetch_add(1, Ordering::Relaxed) < 5 {
                                done.fetch_add(1, Ordering::Relaxed);
                            }
                        });
                        assert_eq!(done.into_inner(), 5);
                    }
                });
            }
        });
        assert!(pool.shared().lock().queue.is_empty());
    }

    #[test]
    fn helpers_call_for_help_themselves() {
        let pool = WorkerPool::new(3);
        let count = AtomicUsize::new(0);
        pool.work(3, &|_| pool.work(3, &|_| _ = count.fetch_add(1, Ordering::SeqCst)));
        assert!(count.into_inner() >= 1);
    }

    #[test]
    fn absent_helpers_delay_no_one() {
        let pool = WorkerPool::new(1);
        let ((stop, waiting), (arrive, arrived)) = (mpsc::channel::<()>(), mpsc::channel());
        let (waiting, arrive) = (Mutex::new(waiting), Mutex::new(arrive));
        thread::scope(|scope| {
            let (pool, arrived) = (&pool, Mutex::new(arrived));
            scope.spawn(move || {
                pool.work(1, &|number| match number {
                    0 => _ = arrived.lock().unwrap().recv(),
                    _ => {
                        arrive.lock().unwrap().send(()).unwrap();
                        _ = waiting.lock().unwrap().recv();
                    }
                });
            });
            while pool.shared().lock().started == 0 || pool.shared().lock().free > 0 {
                thread::yield_now();
            }
            // The only helper is kept.
            let runs = AtomicUsize::new(0);
            pool.work(1, &|_| _ = runs.fetch_add(1, Ordering::SeqCst));
            assert_eq!(runs.into_inner(), 1);
            assert!(pool.shared().lock().queue.is_empty());
            drop(stop);
        });
    }

    #[test]
    fn panics_come_back_when_all_is_done() {
        let pool = WorkerPool::new(2);
        for panics_here in [true, false] {
            let (inside, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.work(1, &|number| {
                    inside.fetch_add(1, Ordering::SeqCst);
                    while inside.load(Ordering::SeqCst) < 2 {
                        thread::yield_now();
                    }
                    if (number == 0) == panics_here {
                        resume_unwind(Box::new("on purpose"));
                    }
                    thread::sleep(Duration::from_millis(20));
                    left.fetch_add(1, Ordering::SeqCst);
                });
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(&"on purpose"));
            assert_eq!(left.into_inner(), 1);
        }
        pool.work(2, &|_| ());
    }

    #[test]
    fn threads_end_with_their_pool() {
        let pool = WorkerPool::new(2);
        pool.work(2, &|_| ());
        let shared = Arc::downgrade(pool.shared());
        drop(pool);
        while shared.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
