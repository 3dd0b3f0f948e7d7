//! Threads that help with loops, if they come in time.
//!
//! The caller starts at once and never waits for a thread that has not begun: waking one takes
//! 5 to 50 µs, in which short work may well be done, and on a busy machine it may not come at all.
//! A thread that has helped therefore looks out for more work before it sleeps, and is at the next
//! loop of a plan, or of the next call, in less than a microsecond.

use std::any::Any;
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::iter::repeat_n;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a thread looks out for work: some times as long as waking it would take, and short
/// enough that nobody misses the processor meanwhile.
const LINGER: Duration = Duration::from_micros(100);

/// Threads that start when first needed, and end some time after this goes.
pub(crate) struct Crew(Arc<Lobby>);

impl Crew {
    /// Up to so many threads.
    pub(crate) fn new(most: usize) -> Self {
        let state = Mutex::new(State { most, ..State::default() });
        Self(Arc::new(Lobby { state, offers: AtomicUsize::new(0), bell: Condvar::new() }))
    }

    /// Runs `work` here, and on up to `helpers` threads at the same time, those that come before it
    /// is done here. Returns when it is done everywhere. Gives `work` the number of the thread it is
    /// on: 0 here, the same number above it each time on a helper.
    ///
    /// # Panics
    /// If `work` does, wherever.
    pub(crate) fn work(&self, helpers: usize, work: &(dyn Fn(usize) + Sync)) {
        let job = Arc::new(Job {
            // SAFETY: both are pointers of the same kind; only the lifetime in the type is another.
            work: unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), *const Work>(work) },
            door: AtomicUsize::new(OPEN),
            owner: thread::current(),
            panic: Mutex::new(None),
        });
        {
            let _closing = Closing { lobby: &self.0, job: &job };
            self.0.offer(&job, helpers);
            work(0);
        }
        let panic = job.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Crew({})", self.0.lock().most)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.bell.notify_all();
    }
}

/// Where threads without work are.
struct Lobby {
    state: Mutex<State>,
    /// The length of the queue, for those who look out for work.
    offers: AtomicUsize,
    /// Wakes those who sleep.
    bell: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs, each as often as helpers are wanted for it.
    queue: VecDeque<Arc<Job>>,
    /// Threads that look out for work or are on their way.
    free: usize,
    /// Threads that sleep and have not been called.
    asleep: usize,
    /// Calls that no sleeper has heard yet.
    calls: usize,
    /// Threads there are.
    started: usize,
    /// Threads there may be.
    most: usize,
    /// Whether there will be no more work.
    closed: bool,
}

impl Lobby {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers a job to some helpers; wakes or starts as many as are missing.
    fn offer(self: &Arc<Self>, job: &Arc<Job>, helpers: usize) {
        let mut state = self.lock();
        let helpers = helpers.min(state.most);
        state.queue.extend(repeat_n(job, helpers).cloned());
        self.offers.store(state.queue.len(), Ordering::Release);
        let missing = state.queue.len().saturating_sub(state.free);
        let called = missing.min(state.asleep);
        state.asleep -= called;
        state.calls += called;
        let first = state.started;
        let starting = (missing - called).min(state.most - first);
        state.started += starting;
        state.free += called + starting;
        drop(state);
        (0..called).for_each(|_| self.bell.notify_one());
        (first..first + starting).for_each(|n| self.start(n));
    }

    /// Starts a thread. Where the system gives none, there will be no more.
    fn start(self: &Arc<Self>, n: usize) {
        let lobby = Arc::clone(self);
        let named = thread::Builder::new().name(format!("ijk-{n}"));
        if named.spawn(move || lobby.serve(n + 1)).is_err() {
            let mut state = self.lock();
            state.free -= 1;
            state.started -= 1;
            state.most = state.started;
        }
    }

    /// The life of a thread with this number.
    fn serve(&self, number: usize) {
        let linger = self.linger();
        while let Some(job) = self.next(linger) {
            job.help(number);
            drop(job);
            self.lock().free += 1;
        }
    }

    /// How long threads look out for work. The system takes its time to tell of its processors, so
    /// those ask who begin to help, not who makes a crew.
    fn linger(&self) -> Duration {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        // Where threads share processors, one that looks out keeps another from its work.
        if self.lock().most < processors { LINGER } else { Duration::ZERO }
    }

    /// The next job, for a thread that is free and looks out for so long before it sleeps; `None` if
    /// there will be none.
    fn next(&self, linger: Duration) -> Option<Arc<Job>> {
        let mut begin = Instant::now();
        loop {
            let offered = self.look_out(begin, linger);
            let mut state = self.lock();
            if let Some(job) = state.queue.pop_front() {
                self.offers.store(state.queue.len(), Ordering::Release);
                state.free -= 1;
                return Some(job);
            }
            if offered {
                // Another thread was first.
                continue;
            }
            state.free -= 1;
            state.asleep += 1;
            while state.calls == 0 && !state.closed {
                state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.closed {
                return None;
            }
            // Who called has counted this thread among the free ones.
            state.calls -= 1;
            begin = Instant::now();
        }
    }

    /// Looks out for an offer until the time is over; whether there is one.
    fn look_out(&self, begin: Instant, linger: Duration) -> bool {
        loop {
            for _ in 0..LOOKS {
                if self.offers.load(Ordering::Acquire) > 0 {
                    return true;
                }
                spin_loop();
            }
            if begin.elapsed() >= linger {
                return false;
            }
        }
    }

    /// Takes back what has been offered of a job.
    fn withdraw(&self, job: &Arc<Job>) {
        if self.offers.load(Ordering::Relaxed) > 0 {
            let mut state = self.lock();
            state.queue.retain(|offered| !Arc::ptr_eq(offered, job));
            self.offers.store(state.queue.len(), Ordering::Release);
        }
    }
}

/// How often to look before asking what time it is.
const LOOKS: usize = 20;

/// Whether helpers may still enter; above this bit, how many are inside.
const OPEN: usize = 1;
/// One who is inside.
const ONE: usize = 2;

/// Work whose lifetime the type does not tell.
type Work = dyn Fn(usize) + Sync;

struct Job {
    /// Lives as long as somebody is inside or the door is open.
    work: *const Work,
    door: AtomicUsize,
    /// Who waits for those inside.
    owner: Thread,
    /// What the first helper panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` is `Sync` and outlives those inside, who alone follow the pointer; the rest may be
// sent and shared by its own types.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Works on the thread with this number, if the door is open.
    fn help(&self, number: usize) {
        let enter = |door: usize| (door & OPEN != 0).then_some(door + ONE);
        if self.door.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
            return;
        }
        // SAFETY: this thread is inside until it leaves below, and `Closing`, which goes before the
        // owner's `work` can, on unwinding too, waits for all who are.
        let work = unsafe { &*self.work };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(number))) {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        if self.door.fetch_sub(ONE, Ordering::Release) == ONE {
            self.owner.unpark();
        }
    }

    /// Lets nobody in any more, and waits for those inside.
    fn close(&self) {
        self.door.fetch_and(!OPEN, Ordering::Relaxed);
        for _ in 0..SPINS {
            if self.door.load(Ordering::Acquire) == 0 {
                return;
            }
            spin_loop();
        }
        while self.door.load(Ordering::Acquire) != 0 {
            thread::park();
        }
    }
}

/// How often to look before going to sleep: for some 10 µs.
const SPINS: usize = 500;

/// Closes a job when it goes, by unwinding too.
struct Closing<'a> {
    lobby: &'a Lobby,
    job: &'a Arc<Job>,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.lobby.withdraw(self.job);
        self.job.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn all_is_done_when_it_returns() {
        let crew = Crew::new(3);
        for round in 0..2000 {
            let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            crew.work(3, &|_| {
                while next.fetch_add(1, Ordering::Relaxed) < round % 50 {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(done.into_inner(), round % 50);
        }
    }

    #[test]
    fn helpers_help_awake_and_from_sleep() {
        let crew = Crew::new(2);
        for pause in [Duration::ZERO, LINGER / 2, 20 * LINGER, Duration::ZERO] {
            thread::sleep(pause);
            let inside = AtomicUsize::new(0);
            crew.work(2, &|_| {
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
        let crew = Crew::new(2);
        let mut before = None;
        for _ in 0..20 {
            let (here, inside) = (Mutex::new([None; 3]), AtomicUsize::new(0));
            crew.work(2, &|number| {
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
        let crew = &Crew::new(2);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..500 {
                        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
                        crew.work(2, &|_| {
                            while next.fetch_add(1, Ordering::Relaxed) < 5 {
                                done.fetch_add(1, Ordering::Relaxed);
                            }
                        });
                        assert_eq!(done.into_inner(), 5);
                    }
                });
            }
        });
        assert!(crew.0.lock().queue.is_empty());
    }

    #[test]
    fn helpers_call_for_help_themselves() {
        let crew = Crew::new(3);
        let count = AtomicUsize::new(0);
        crew.work(3, &|_| crew.work(3, &|_| _ = count.fetch_add(1, Ordering::SeqCst)));
        assert!(count.into_inner() >= 1);
    }

    #[test]
    fn nobody_waits_for_those_who_do_not_come() {
        let crew = Crew::new(1);
        let ((stop, waiting), (arrive, arrived)) = (mpsc::channel::<()>(), mpsc::channel());
        let (waiting, arrive) = (Mutex::new(waiting), Mutex::new(arrive));
        thread::scope(|scope| {
            let (crew, arrived) = (&crew, Mutex::new(arrived));
            scope.spawn(move || {
                crew.work(1, &|number| match number {
                    0 => _ = arrived.lock().unwrap().recv(),
                    _ => {
                        arrive.lock().unwrap().send(()).unwrap();
                        _ = waiting.lock().unwrap().recv();
                    }
                });
            });
            while crew.0.lock().started == 0 || crew.0.lock().free > 0 {
                thread::yield_now();
            }
            // The only helper is kept.
            let runs = AtomicUsize::new(0);
            crew.work(1, &|_| _ = runs.fetch_add(1, Ordering::SeqCst));
            assert_eq!(runs.into_inner(), 1);
            assert!(crew.0.lock().queue.is_empty());
            drop(stop);
        });
    }

    #[test]
    fn panics_come_back_when_all_is_done() {
        let crew = Crew::new(2);
        for panics_here in [true, false] {
            let (inside, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let result = catch_unwind(AssertUnwindSafe(|| {
                crew.work(1, &|number| {
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
        crew.work(2, &|_| ());
    }

    #[test]
    fn threads_end_with_their_crew() {
        let crew = Crew::new(2);
        crew.work(2, &|_| ());
        let lobby = Arc::downgrade(&crew.0);
        drop(crew);
        while lobby.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
