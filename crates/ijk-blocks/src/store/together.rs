//! Requests to stores that are far away, many at a time.
//!
//! A request occupies the thread that waits for its answer. Requests that do not depend on each other therefore get
//! threads of their own; stores that are near are asked one after another.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, scope};

/// Most requests under way at a time.
const MOST: usize = 32;

/// The results of a function of each item, in the order of the items; of many at a time where stores are far away.
pub(crate) fn each<T: Sync, R: Send>(
    is_far: bool,
    items: &[T],
    of: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if !is_far {
        return items.iter().map(of).collect();
    }
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { return };
            let result = of(item);
            lock(&results).push((number, result));
        }
    };
    scope(|scope| {
        for _ in 1..items.len().min(MOST) {
            // Threads that cannot be started are done without.
            drop(Builder::new().spawn_scoped(scope, work));
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The results of two functions, which wait at the same time where stores are far away.
#[cfg_attr(
    not(feature = "zarr"),
    allow(dead_code, reason = "stores that use it are behind a feature")
)]
pub(crate) fn both<A, B: Send>(
    is_far: bool,
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if !is_far {
        return (one(), other());
    }
    let other = Mutex::new(Some(other));
    let run = || {
        let other = lock(&other).take();
        other.expect("it is called once")()
    };
    scope(|scope| match Builder::new().spawn_scoped(scope, run) {
        Ok(thread) => {
            let one = one();
            (one, thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        }
        // A thread that cannot be started is done without.
        Err(_) => (one(), run()),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_keep_the_order_of_items() {
        let items: Vec<usize> = (0..100).collect();
        for is_far in [false, true] {
            assert_eq!(
                each(is_far, &items, |n| n * n),
                items.iter().map(|n| n * n).collect::<Vec<_>>()
            );
            assert_eq!(each(is_far, &[0; 0], |n| *n), [0; 0]);
            assert_eq!(both(is_far, || 1, || "other"), (1, "other"));
        }
    }

    #[test]
    fn calls_for_far_stores_wait_at_the_same_time() {
        let barrier = Barrier::new(2);
        each(true, &[1, 2], |_| barrier.wait());
        both(true, || barrier.wait(), || barrier.wait());
    }
}
