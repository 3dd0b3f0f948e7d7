//! Shared cache of the results of earlier work.

use crate::lru::{Lru, hash_of};
use ijk_tensor::fork::ForkMutex;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// Default capacity.
const MOST: usize = 64;

/// Least recently used cache behind a lock.
pub(crate) struct Recent<K, V> {
    lru: ForkMutex<Lru<K, V>>,
    capacity: usize,
}

impl<K, V> fmt::Debug for Recent<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recent")
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self::with_capacity(MOST)
    }
}

impl<K, V> Recent<K, V> {
    /// An empty cache of some capacity.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { lru: ForkMutex::new(Lru::new), capacity }
    }
}

impl<K: PartialEq, V> Recent<K, V> {
    /// The cached value of a key, or a new one.
    pub fn get<Q, E>(&self, key: &Q, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E>
    where
        K: Borrow<Q>,
        Q: Hash + PartialEq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_of(key);
        if let Some(value) = self.find(hash, |own| Borrow::<Q>::borrow(own) == key) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        self.insert(hash, key.to_owned(), Arc::clone(&value));
        Ok(value)
    }

    /// The value whose key has a hash and satisfies a predicate.
    pub fn find(&self, hash: u64, is_key: impl Fn(&K) -> bool) -> Option<Arc<V>> {
        self.lru.lock().find(hash, is_key).map(Arc::clone)
    }

    /// Inserts a value.
    pub fn insert(&self, hash: u64, key: K, value: Arc<V>) {
        let replaced = self.lru.lock().insert(hash, (key, value), self.capacity);
        drop(replaced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_found_again_for_a_while() {
        let recent: Recent<usize, usize> = Recent::default();
        let make = |n: usize| recent.get(&n, || Ok::<_, ()>(n * n));
        assert_eq!(make(3).map(|n| *n), Ok(9));
        let again: Result<_, ()> = recent.get(&3, || Err(()));
        assert_eq!(again.map(|n| *n), Ok(9));
        (10..10 + MOST).for_each(|n| assert!(make(n).is_ok()));
        assert!(recent.get(&3, || Err::<usize, _>(())).is_err());
    }
}
