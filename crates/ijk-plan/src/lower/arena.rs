//! The arena of temporaries: best-fit allocation of ranges.

use std::collections::{BTreeMap, BTreeSet};

/// Alignment of temporaries, in bytes.
const ALIGNMENT: u64 = 64;

/// Allocator of one arena, best fit among freed ranges.
#[derive(Default)]
pub(crate) struct Arena {
    /// Free ranges below `end`: start to length, no two adjacent.
    free: BTreeMap<u64, u64>,
    /// The free ranges by length, then start.
    by_length: BTreeSet<(u64, u64)>,
    end: u64,
}

impl Arena {
    /// Allocates `bytes`; returns the start, or `None` if that exceeds the address space.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let length = bytes.checked_next_multiple_of(ALIGNMENT)?;
        if length == 0 {
            return Some(0);
        }
        let Some(&(found, start)) = self.by_length.range((length, 0)..).next() else {
            return self.extend(length);
        };
        self.take(start, found);
        if found > length {
            self.give(start + length, found - length);
        }
        Some(start)
    }

    /// Allocates at the end, merged with a free range there.
    fn extend(&mut self, length: u64) -> Option<u64> {
        let mut start = self.end;
        if let Some((&last, &free)) = self.free.last_key_value()
            && last + free == self.end
        {
            self.take(last, free);
            start = last;
        }
        self.end = start.checked_add(length).filter(|&end| end <= isize::MAX as u64)?;
        Some(start)
    }

    /// Frees a range that [`allocate`](Self::allocate) returned for `bytes`.
    pub(crate) fn release(&mut self, start: u64, bytes: u64) {
        let (mut start, mut length) = (start, bytes.next_multiple_of(ALIGNMENT));
        if length == 0 {
            return;
        }
        if let Some((&before, &free)) = self.free.range(..start).next_back()
            && before + free == start
        {
            self.take(before, free);
            (start, length) = (before, free + length);
        }
        if let Some(&free) = self.free.get(&(start + length)) {
            self.take(start + length, free);
            length += free;
        }
        self.give(start, length);
    }

    /// Bytes of the arena.
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }

    fn take(&mut self, start: u64, length: u64) {
        self.free.remove(&start);
        self.by_length.remove(&(length, start));
    }

    fn give(&mut self, start: u64, length: u64) {
        self.free.insert(start, length);
        self.by_length.insert((length, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_used_again() {
        let mut arena = Arena::default();
        let a = arena.allocate(100).unwrap();
        let b = arena.allocate(64).unwrap();
        assert_eq!((a, b, arena.bytes()), (0, 128, 192));
        arena.release(a, 100);
        assert_eq!(arena.allocate(10), Some(0));
        assert_eq!(arena.allocate(64), Some(64));
        arena.release(b, 64);
        arena.release(64, 64);
        assert_eq!(arena.allocate(256), Some(64));
        assert_eq!(arena.bytes(), 320);
    }

    #[test]
    fn what_no_address_reaches_is_none() {
        let mut arena = Arena::default();
        assert_eq!(arena.allocate(u64::MAX), None);
        assert_eq!(arena.allocate(1 << 63), None);
        assert_eq!(arena.allocate(0), Some(0));
    }
}
