//! Threads that start at the same moment: those of a pool may start late, or leave the work to one of them.

use crate::runtime::threads::Workers;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Minimum time in seconds of several calls of `body` by each of `0..threads` at the same time. If the system provides
/// fewer threads, the caller's does the work of those that are missing.
pub fn best(calls: usize, threads: usize, body: impl Fn(usize) + Sync) -> f64 {
    let times = (0..calls).map(|_| together(threads, &body));
    times.fold(f64::INFINITY, f64::min).max(1e-9)
}

/// Time of one such call.
fn together(threads: usize, body: &(impl Fn(usize) + Sync)) -> f64 {
    let (ready, go) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let wait = |n| {
            ready.fetch_add(1, Ordering::AcqRel);
            until(|| go.load(Ordering::Acquire) == 1);
            body(n);
        };
        let spawn = |n| thread::Builder::new().spawn_scoped(scope, move || wait(n));
        let others: Vec<_> = (1..threads).map_while(|n| spawn(n).ok()).collect();
        until(|| ready.load(Ordering::Acquire) == others.len());
        let start = Instant::now();
        go.store(1, Ordering::Release);
        body(0);
        (others.len() + 1..threads).for_each(body);
        let joined: Vec<_> = others.into_iter().map(thread::ScopedJoinHandle::join).collect();
        drop(joined);
        start.elapsed().as_secs_f64()
    })
}

/// Spins until a condition holds, and yields the processor after a while.
fn until(is_so: impl Fn() -> bool) {
    let mut turns = 0;
    while !is_so() {
        turns += 1;
        if turns < 1000 { spin_loop() } else { thread::yield_now() }
    }
}

/// A loop of the pool in which the first thread waits for a second, with a time limit.
pub fn wait_for_help(workers: &Workers) {
    if workers.threads() == 1 {
        return;
    }
    let (arrived, begin) = (AtomicUsize::new(0), Instant::now());
    workers.parallel_for(2, |_| {
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < 2 && begin.elapsed() < PATIENCE {
            spin_loop();
        }
    });
}

const PATIENCE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn everyone_works_once() {
        for threads in 1..4 {
            let seen = Mutex::new(vec![0; threads]);
            assert!(best(3, threads, |n| seen.lock().unwrap()[n] += 1) > 0.0);
            assert_eq!(*seen.lock().unwrap(), vec![3; threads]);
        }
    }

    #[test]
    fn waiting_ends() {
        for threads in 1..4 {
            let workers = Workers::new(threads);
            wait_for_help(&workers);
        }
    }
}
