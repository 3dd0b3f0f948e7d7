//! A few results of earlier work, by what they were made for.

use ijk_tensor::fork::ForkMutex;
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Keys that are kept: they are looked at one by one.
const MOST: usize = 64;

/// Results by keys, a few of which are kept: the least recently used ones are forgotten.
pub(crate) struct Recent<K, V> {
    kept: ForkMutex<Vec<(K, Arc<V>)>>,
}

impl<K, V> fmt::Debug for Recent<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recent")
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { kept: ForkMutex::new(Vec::new) }
    }
}

impl<K, V> Recent<K, V> {
    /// What was made for the key before, or is made now.
    pub fn get<Q, E>(&self, key: &Q, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E>
    where
        K: Borrow<Q>,
        Q: PartialEq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(value) = self.find(|own| own.borrow() == key) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        self.insert(key.to_owned(), Arc::clone(&value));
        Ok(value)
    }
}

impl<K, V> Recent<K, V> {
    /// What was made for a key that is the one.
    pub fn find(&self, is_key: impl Fn(&K) -> bool) -> Option<Arc<V>> {
        let mut kept = self.kept.lock();
        let at = kept.iter().position(|(own, _)| is_key(own))?;
        if at > 0 {
            kept[..=at].rotate_right(1);
        }
        Some(Arc::clone(&kept[0].1))
    }

    /// Keeps what was made for a key, of which there is nothing yet.
    pub fn insert(&self, key: K, value: Arc<V>) {
        let mut kept = self.kept.lock();
        kept.insert(0, (key, value));
        kept.truncate(MOST);
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
