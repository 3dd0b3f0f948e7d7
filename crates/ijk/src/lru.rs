//! Least recently used cache of a few values.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Hashes that are compared together.
const BLOCK: usize = 16;

/// Values by keys, evicted in the order of their last use; the caller sets the capacity.
pub(crate) struct Lru<K, V> {
    /// Hashes of the keys, contiguous, since a lookup compares mostly these.
    hashes: Vec<u64>,
    entries: Vec<Entry<K, V>>,
    /// Number of uses so far.
    clock: u64,
}

/// A value with its key.
pub(crate) struct Entry<K, V> {
    key: K,
    pub value: Arc<V>,
    /// Clock of the last use.
    used: u64,
}

impl<K, V> Lru<K, V> {
    /// An empty cache.
    pub fn new() -> Self {
        Self { hashes: Vec::new(), entries: Vec::new(), clock: 0 }
    }

    /// The value whose key has a hash and satisfies a predicate.
    pub fn find(&mut self, hash: u64, is_key: impl Fn(&K) -> bool) -> Option<&Arc<V>> {
        let at = self.place(hash, is_key)?;
        self.clock += 1;
        self.entries[at].used = self.clock;
        Some(&self.entries[at].value)
    }

    /// Inserts a value into a cache of some capacity. Returns the evicted entry, so that the caller drops it outside
    /// of its lock.
    #[must_use]
    pub fn insert(
        &mut self,
        hash: u64,
        (key, value): (K, Arc<V>),
        most: usize,
    ) -> Option<Entry<K, V>>
    where
        K: PartialEq,
    {
        self.clock += 1;
        let same = self.place(hash, |own| *own == key);
        let full = self.entries.len() >= most;
        let place = same.or_else(|| self.oldest().filter(|_| full));
        let entry = Entry { key, value, used: self.clock };
        match place {
            Some(at) => {
                self.hashes[at] = hash;
                Some(std::mem::replace(&mut self.entries[at], entry))
            }
            None => {
                self.hashes.push(hash);
                self.entries.push(entry);
                None
            }
        }
    }

    /// Evicts the least recently used value.
    pub fn remove_oldest(&mut self) -> Option<Entry<K, V>> {
        let at = self.oldest()?;
        self.hashes.swap_remove(at);
        Some(self.entries.swap_remove(at))
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|entry| &*entry.value)
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn place(&self, hash: u64, is_key: impl Fn(&K) -> bool) -> Option<usize> {
        // Whole blocks, whose comparison vectorizes: nearly all have no such hash.
        let blocks = self.hashes.chunks(BLOCK).enumerate();
        let blocks = blocks
            .filter(|(_, block)| block.iter().fold(false, |found, &own| found | (own == hash)));
        let mut places =
            blocks.flat_map(|(n, block)| (0..block.len()).map(move |at| n * BLOCK + at));
        places.find(|&at| self.hashes[at] == hash && is_key(&self.entries[at].key))
    }

    fn oldest(&self) -> Option<usize> {
        (0..self.entries.len()).min_by_key(|&at| self.entries[at].used)
    }
}

/// The hash of a key.
pub(crate) fn hash_of(key: &(impl Hash + ?Sized)) -> u64 {
    let mut mixer = Mixer(0);
    key.hash(&mut mixer);
    mixer.0
}

/// One round of a multiplicative hash.
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash.rotate_left(23) ^ word) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}

/// One round for each word. Keys come from the caller's own program, so resistance to crafted collisions is not needed.
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_makes_room() {
        let mut lru = Lru::new();
        for n in 0..3 {
            assert!(lru.insert(7, (n, Arc::new(n)), 3).is_none());
        }
        assert_eq!(lru.find(7, |key| *key == 0).map(|value| **value), Some(0));
        assert_eq!(lru.insert(7, (3, Arc::new(3)), 3).map(|old| *old.value), Some(1));
        assert_eq!(lru.insert(7, (0, Arc::new(9)), 3).map(|old| *old.value), Some(0));
        assert!(lru.find(8, |key| *key == 0).is_none());
        assert_eq!(lru.remove_oldest().map(|old| *old.value), Some(2));
        assert_eq!(lru.values().copied().collect::<Vec<_>>(), [9, 3]);
    }

    #[test]
    fn a_full_cache_finds_every_key() {
        let mut lru = Lru::new();
        let count = 3 * BLOCK + 1;
        for n in 0..count {
            assert!(lru.insert(n as u64 / 2, (n, Arc::new(n)), count).is_none());
        }
        for n in 0..count {
            assert_eq!(lru.find(n as u64 / 2, |key| *key == n).map(|value| **value), Some(n));
        }
    }

    #[test]
    fn keys_that_differ_hash_apart() {
        let keys = [vec![1u64], vec![2], vec![1, 2], vec![2, 1], vec![]];
        let hashes: Vec<u64> = keys.iter().map(hash_of).collect();
        assert!((0..5).all(|n| hashes.iter().filter(|&&hash| hash == hashes[n]).count() == 1));
        assert_ne!(hash_of("seed"), hash_of("seeds"));
    }
}
