//! Work that threads of a pool help with, if they come in time.
//!
//! The caller starts at once and never waits for a thread that has not begun: waking one takes
//! 5 to 50 µs, in which short work may well be done, and on a busy machine it may not come at all.

use rayon::ThreadPool;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

/// Runs `work` here, and on up to `helpers` threads of the pool at the same time, those that
/// come before it is done here. Returns when it is done everywhere.
///
/// # Panics
/// If `work` does, wherever.
pub(crate) fn work_with(pool: &ThreadPool, helpers: usize, work: &(dyn Fn() + Sync)) {
    let job = Arc::new(Job {
        // SAFETY: both are pointers of the same kind; only the lifetime in the type is another.
        work: unsafe { std::mem::transmute::<&(dyn Fn() + Sync), *const Work>(work) },
        door: AtomicUsize::new(OPEN),
        owner: thread::current(),
        panic: Mutex::new(None),
    });
    {
        let _closing = Closing(&job);
        for _ in 0..helpers {
            let job = Arc::clone(&job);
            pool.spawn(move || job.help());
        }
        work();
    }
    let panic = job.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// Whether helpers may still enter; above this bit, how many are inside.
const OPEN: usize = 1;
/// One who is inside.
const ONE: usize = 2;

/// Work whose lifetime the type does not tell.
type Work = dyn Fn() + Sync;

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
    /// Works, if the door is open.
    fn help(&self) {
        let enter = |door: usize| (door & OPEN != 0).then_some(door + ONE);
        if self.door.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
            return;
        }
        // SAFETY: this thread is inside until it leaves below, and `Closing`, which goes before the
        // owner's `work` can, on unwinding too, waits for all who are.
        let work = unsafe { &*self.work };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
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
            std::hint::spin_loop();
        }
        while self.door.load(Ordering::Acquire) != 0 {
            thread::park();
        }
    }
}

/// How often to look before going to sleep: for some 10 µs.
const SPINS: usize = 500;

/// Closes a job when it goes, by unwinding too.
struct Closing<'a>(&'a Job);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;
    use std::time::Duration;

    fn pool(threads: usize) -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn all_is_done_when_it_returns() {
        let pool = pool(3);
        for round in 0..2000 {
            let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            work_with(&pool, 3, &|| {
                while next.fetch_add(1, Ordering::Relaxed) < round % 50 {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(done.into_inner(), round % 50);
        }
    }

    #[test]
    fn helpers_help() {
        let inside = AtomicUsize::new(0);
        work_with(&pool(2), 2, &|| {
            inside.fetch_add(1, Ordering::SeqCst);
            while inside.load(Ordering::SeqCst) < 3 {
                thread::yield_now();
            }
        });
        assert_eq!(inside.into_inner(), 3);
    }

    #[test]
    fn nobody_waits_for_those_who_do_not_come() {
        let pool = pool(1);
        let (stop, waiting) = std::sync::mpsc::channel::<()>();
        pool.spawn(move || _ = waiting.recv());
        let runs = AtomicUsize::new(0);
        work_with(&pool, 1, &|| _ = runs.fetch_add(1, Ordering::SeqCst));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        drop(stop);
        // The helper comes too late, and leaves.
        pool.install(|| ());
        assert_eq!(runs.into_inner(), 1);
    }

    #[test]
    fn panics_come_back_when_all_is_done() {
        let pool = pool(2);
        let here = thread::current().id();
        for panics_here in [true, false] {
            let (inside, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let result = catch_unwind(AssertUnwindSafe(|| {
                work_with(&pool, 1, &|| {
                    inside.fetch_add(1, Ordering::SeqCst);
                    while inside.load(Ordering::SeqCst) < 2 {
                        thread::yield_now();
                    }
                    if (thread::current().id() == here) == panics_here {
                        resume_unwind(Box::new("on purpose"));
                    }
                    thread::sleep(Duration::from_millis(20));
                    left.fetch_add(1, Ordering::SeqCst);
                });
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(&"on purpose"));
            assert_eq!(left.into_inner(), 1);
        }
        work_with(&pool, 2, &|| ());
    }
}
