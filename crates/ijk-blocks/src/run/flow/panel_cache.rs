//! Cache of the parts of operands that the workers of a process share.

use crate::run::part::Part;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts by time: the worker that reads or receives a part inserts it, and all workers of the process read it.
///
/// A missing entry is a missing part, and no worker waits for it: the frontier that a worker observes is that of all
/// workers, so once it has passed a time, all existing parts of that time are in the cache.
#[derive(Debug)]
pub(super) struct PanelCache {
    /// Number of workers that read the cache.
    workers: usize,
    times: Mutex<HashMap<u64, CachedPanel>>,
}

/// The parts of a time.
#[derive(Debug, Default)]
struct CachedPanel {
    /// By the number among the round's needs.
    parts: HashMap<usize, Part>,
    /// Number of workers that have finished with the parts.
    finished: usize,
}

impl PanelCache {
    pub(super) fn new(workers: usize) -> Self {
        Self { workers, times: Mutex::default() }
    }

    fn times(&self) -> MutexGuard<'_, HashMap<u64, CachedPanel>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, time: u64, need: usize, part: Part) {
        self.times().entry(time).or_default().parts.insert(need, part);
    }

    /// The part of a need, unless it is missing.
    pub(super) fn get(&self, time: u64, need: usize) -> Option<Part> {
        self.times().get(&time)?.parts.get(&need).cloned()
    }

    /// Releases a time for one worker. The last one removes its parts.
    pub(super) fn leave(&self, time: u64) {
        let mut times = self.times();
        let here = times.entry(time).or_default();
        here.finished += 1;
        let last = (here.finished >= self.workers).then(|| times.remove(&time));
        // Memory is freed outside the lock.
        drop(times);
        drop(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn parts_stay_until_nobody_needs_them() {
        let cache = PanelCache::new(2);
        let part = Part::everywhere(&Value::Number(ijk_types::Scalar::F32(1.0))).unwrap();
        cache.put(3, 7, part.clone());
        cache.put(4, 7, part);
        assert!(cache.get(3, 7).is_some() && cache.get(3, 8).is_none());
        cache.leave(3);
        assert!(cache.get(3, 7).is_some());
        cache.leave(3);
        assert!(cache.get(3, 7).is_none() && cache.get(4, 7).is_some());
        [5, 5, 4, 4].into_iter().for_each(|time| cache.leave(time));
        assert!(cache.times().is_empty());
    }
}
