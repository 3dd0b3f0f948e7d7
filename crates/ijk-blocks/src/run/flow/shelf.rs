//! Parts of operands that the workers of a process share.

use crate::run::part::Part;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where whoever reads or receives a part puts it, and all workers of the process take it from.
///
/// Nobody waits for what is missing here: the frontier that a worker sees is that of all workers, so beyond a time
/// all of its parts lie here that there are.
#[derive(Debug)]
pub(super) struct Shelf {
    /// Number of workers that read the cache.
    workers: usize,
    times: Mutex<HashMap<u64, Time>>,
}

/// The parts of a time.
#[derive(Debug, Default)]
struct Time {
    /// By the number among the round's needs.
    parts: HashMap<usize, Part>,
    /// Number of workers that have finished with the parts.
    gone: usize,
}

impl Shelf {
    pub(super) fn new(workers: usize) -> Self {
        Self { workers, times: Mutex::default() }
    }

    fn times(&self) -> MutexGuard<'_, HashMap<u64, Time>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, time: u64, need: usize, part: Part) {
        self.times().entry(time).or_default().parts.insert(need, part);
    }

    /// The part that a need is, unless it is missing.
    pub(super) fn get(&self, time: u64, need: usize) -> Option<Part> {
        self.times().get(&time)?.parts.get(&need).cloned()
    }

    /// A worker needs nothing more of a time. The last one takes its parts away.
    pub(super) fn leave(&self, time: u64) {
        let mut times = self.times();
        let here = times.entry(time).or_default();
        here.gone += 1;
        let last = (here.gone >= self.workers).then(|| times.remove(&time));
        // Memory is given back while others go on.
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
        let shelf = Shelf::new(2);
        let part = Part::everywhere(&Value::Number(ijk_types::Scalar::F32(1.0))).unwrap();
        shelf.put(3, 7, part.clone());
        shelf.put(4, 7, part);
        assert!(shelf.get(3, 7).is_some() && shelf.get(3, 8).is_none());
        shelf.leave(3);
        assert!(shelf.get(3, 7).is_some());
        shelf.leave(3);
        assert!(shelf.get(3, 7).is_none() && shelf.get(4, 7).is_some());
        [5, 5, 4, 4].into_iter().for_each(|time| shelf.leave(time));
        assert!(shelf.times().is_empty());
    }
}
