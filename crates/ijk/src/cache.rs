//! Cache of plans: those of one program by types, shapes and strides.

use crate::lru::{Lru, mix};
use crate::prepared::{Prepared, PreparedLoop, Rules};
use ijk_plan::Facts;
use ijk_tensor::fork::ForkMutex;
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::DType;
use smallvec::SmallVec;
use std::sync::Arc;

/// Independent locks, so that concurrent lookups rarely contend.
const SHARDS: usize = 4;
/// Capacity of a shard in plans,
const MOST_PLANS: usize = 32;
/// and in steps of all its plans but the newest.
const MOST_STEPS: usize = 1 << 16;

/// Least recently used cache of plans by element types, shapes and strides.
pub(crate) struct PlanCache<P = Prepared> {
    shards: [ForkMutex<Lru<Words, P>>; SHARDS],
}

/// A cached value, whose memory is proportional to its steps.
pub(crate) trait HasSteps {
    /// Number of steps.
    fn steps(&self) -> usize;
}

impl HasSteps for Prepared {
    fn steps(&self) -> usize {
        Self::steps(self)
    }
}

impl HasSteps for PreparedLoop {
    fn steps(&self) -> usize {
        self.compiled().plans()
    }
}

impl<P> Default for PlanCache<P> {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| ForkMutex::new(Lru::new)) }
    }
}

/// The settings of an engine that plans depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context {
    /// Position of the SIMD level among those of the machine.
    pub(crate) level: u8,
    pub(crate) rules: Rules,
}

impl Context {
    /// One word for a key: `level < 32`, and no two limits below 2⁵⁸ bytes share one.
    fn word(self) -> u64 {
        let Rules { memory_limit, strict } = self.rules;
        let limit = memory_limit.map_or(0, |bytes| bytes.wrapping_add(1));
        let kind = u64::from(self.level) | u64::from(strict) << 5;
        limit.wrapping_mul(64).wrapping_add(kind)
    }
}

/// Everything that a plan depends on besides the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    hash: u64,
    words: Words,
}

/// Types, shapes, strides, facts.
type Words = SmallVec<[u64; 24]>;

impl Key {
    /// For arguments, and outputs if the caller provides them.
    pub(crate) fn new(
        context: Context,
        inputs: &[TensorView<'_>],
        outputs: Option<&[TensorViewMut<'_>]>,
        facts: &Facts,
    ) -> Self {
        let mut words = SmallVec::new();
        words.push(context.word());
        for input in inputs {
            push_array(&mut words, input.dtype() as u64, input.shape(), input.strides());
        }
        for output in outputs.into_iter().flatten() {
            push_array(&mut words, 16 + output.dtype() as u64, output.shape(), output.strides());
        }
        push_facts(&mut words, facts);
        Self::of(words)
    }

    /// For arrays of which some are bound.
    pub(crate) fn of_bound(
        context: Context,
        bound: &[Option<&TensorView<'_>>],
        facts: &Facts,
    ) -> Self {
        let mut words = SmallVec::new();
        words.push(context.word());
        for array in bound {
            match array {
                Some(a) => push_array(&mut words, a.dtype() as u64, a.shape(), a.strides()),
                None => words.push(u64::MAX),
            }
        }
        push_facts(&mut words, facts);
        Self::of(words)
    }

    /// For the arrays of a loop, by element types, shapes and strides.
    pub(crate) fn of_loop(context: Context, arrays: &[(DType, &[usize], &[isize])]) -> Self {
        let mut words = SmallVec::new();
        words.push(context.word());
        for (dtype, shape, strides) in arrays {
            push_array(&mut words, *dtype as u64, shape, strides);
        }
        Self::of(words)
    }

    fn of(words: Words) -> Self {
        let hash = words.iter().fold(0, |hash, &word| mix(hash, word));
        Self { hash, words }
    }

    /// Hash of all words.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
}

fn push_array(words: &mut Words, tag: u64, shape: &[usize], strides: &[isize]) {
    words.push(tag | (shape.len() as u64) << 8);
    words.extend(shape.iter().map(|&n| n as u64));
    words.extend(strides.iter().map(|&n| n as u64));
}

/// Appends facts; their tag bits are set in no word of an array.
fn push_facts(words: &mut Words, facts: &Facts) {
    const COUNTING: u64 = 1 << 62;
    const SAME: u64 = 1 << 63;
    words.extend(facts.counting.iter().map(|&at| COUNTING | u64::from(at)));
    words.extend(
        facts.same.iter().map(|&(at, earlier)| SAME | u64::from(earlier) << 31 | u64::from(at)),
    );
}

impl<P: HasSteps> PlanCache<P> {
    /// The plan of a key.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<P>> {
        self.shard(key).find(key.hash, |words| *words == key.words).map(Arc::clone)
    }

    /// Inserts a plan and evicts old ones.
    pub(crate) fn insert(&self, key: Key, value: Arc<P>) {
        let mut shard = self.shard(&key);
        let replaced = shard.insert(key.hash, (key.words, value), MOST_PLANS);
        let mut more = Vec::new();
        while shard.len() > 1 && shard.values().map(HasSteps::steps).sum::<usize>() > MOST_STEPS {
            more.extend(shard.remove_oldest());
        }
        // Evicted plans are dropped after the lock is released.
        drop(shard);
        drop((replaced, more));
    }

    fn shard(&self, key: &Key) -> std::sync::MutexGuard<'_, Lru<Words, P>> {
        self.shards[(key.hash >> 32) as usize % SHARDS].lock()
    }

    /// Number of cached plans.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Program};

    fn key(n: usize) -> Key {
        let zeros = vec![0.0f64; n];
        let view = TensorView::from_slice(&zeros, &[n]).unwrap();
        Key::new(Context::default(), &[view], None, &Facts::default())
    }

    #[test]
    fn keys_tell_layouts_apart() {
        let zeros = [0.0f32; 6];
        let view = |shape: &[usize]| TensorView::from_slice(&zeros, shape).unwrap();
        let plain = Context::default();
        let rules = Rules { strict: true, ..Rules::default() };
        let strict = Context { rules, ..plain };
        let keys = [
            Key::new(plain, &[view(&[6])], None, &Facts::default()),
            Key::new(strict, &[view(&[6])], None, &Facts::default()),
            Key::new(plain, &[view(&[2, 3])], None, &Facts::default()),
            Key::new(plain, &[view(&[3, 2])], None, &Facts::default()),
            Key::new(plain, &[view(&[6]), view(&[6])], None, &Facts::default()),
            Key::new(plain, &[view(&[6])], Some(&[]), &Facts::default()),
        ];
        let facts = Facts { same: smallvec::smallvec![(1, 0)], ..Facts::default() };
        let one = Key::new(plain, &[view(&[6]), view(&[6])], None, &facts);
        assert!(!keys.contains(&one));
        for (n, k) in keys.iter().enumerate().take(5) {
            assert_eq!(keys.iter().take(5).position(|other| other == k), Some(n));
        }
    }

    #[test]
    fn the_cache_is_bounded_and_remembers() {
        let program = Program::parse("+i~.").unwrap();
        let cache = PlanCache::default();
        let engine = Engine::default();
        let zeros = [0.0f32; 1];
        let view = TensorView::from_slice(&zeros, &[1]).unwrap();
        let value = engine.prepare(&program, &[view], None).unwrap();
        for n in 0..1000 {
            cache.insert(key(n), Arc::clone(&value));
            assert!(cache.get(&key(n)).is_some());
        }
        assert!(cache.len() <= SHARDS * MOST_PLANS && cache.len() >= MOST_PLANS);
        assert!(cache.get(&key(0)).is_none());
    }
}
