//! Sorts of keys, alone or with positions.

/// Fewest items that are sorted by their digits.
const DIGITS_FROM: usize = 256;

/// Something with a key in bytes.
pub(super) trait Item: Copy + Ord + Default {
    /// A byte of the key, the least significant first.
    fn byte(self, n: u32) -> usize;
}

impl Item for u32 {
    #[inline(always)]
    fn byte(self, n: u32) -> usize {
        (self >> (8 * n)) as u8 as usize
    }
}

impl Item for u64 {
    #[inline(always)]
    fn byte(self, n: u32) -> usize {
        (self >> (8 * n)) as u8 as usize
    }
}

/// A key of 32 bits above a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(super) struct Tagged(pub(super) u64);

impl Item for Tagged {
    #[inline(always)]
    fn byte(self, n: u32) -> usize {
        (self.0 >> (32 + 8 * n)) as u8 as usize
    }
}

/// A key and a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) key: u64,
    pub(super) position: u64,
}

impl Item for Pair {
    #[inline(always)]
    fn byte(self, n: u32) -> usize {
        (self.key >> (8 * n)) as u8 as usize
    }
}

/// Most bytes of a key.
const MOST_BYTES: usize = 8;

/// Sorts items whose keys differ in their first `bytes` bytes; equal keys keep their order, or are equal as a whole. It
/// stops where `ended` says so, with the items in any order.
///
/// # Safety
/// `items` points to `count` items, `spare` to room for as many; nothing else accesses either.
pub(super) unsafe fn sort<I: Item>(
    (items, spare): (*mut I, *mut I),
    count: usize,
    bytes: u32,
    ended: &dyn Fn() -> bool,
) {
    // SAFETY: guaranteed by the caller.
    let all = unsafe { std::slice::from_raw_parts_mut(items, count) };
    if count < DIGITS_FROM {
        return all.sort_unstable();
    }
    let mut counts = [[0usize; 256]; MOST_BYTES];
    let counts = &mut counts[..bytes as usize];
    for &item in &*all {
        for (n, counts) in counts.iter_mut().enumerate() {
            counts[item.byte(n as u32)] += 1;
        }
    }
    let (mut from, mut to) = (items, spare);
    for (n, counts) in counts.iter_mut().enumerate() {
        if ended() {
            return;
        }
        // SAFETY: guaranteed by the caller; both are distinct, and what is read was written before.
        unsafe {
            let first = from.read().byte(n as u32);
            if counts[first] < count {
                deal((from, to), count, n as u32, counts);
                std::mem::swap(&mut from, &mut to);
            }
        }
    }
    if from != items {
        // SAFETY: guaranteed by the caller; `from` is the spare memory then.
        unsafe { std::ptr::copy_nonoverlapping(from, items, count) };
    }
}

/// Moves items to their places by one byte, whose values occur as often as counted.
///
/// # Safety
/// As for [`sort`], with the first items initialised; the counts are theirs.
unsafe fn deal<I: Item>(
    (from, to): (*const I, *mut I),
    count: usize,
    n: u32,
    counts: &mut [usize; 256],
) {
    let mut start = 0;
    for count in counts.iter_mut() {
        start += std::mem::replace(count, start);
    }
    for at in 0..count {
        // SAFETY: guaranteed by the caller: places are distinct and below the count.
        unsafe {
            let item = from.add(at).read();
            let place = &mut counts[item.byte(n)];
            to.add(*place).write(item);
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> impl Iterator<Item = u64> {
        let mut state = 1u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 20
        })
        .take(count)
    }

    fn sorted<I: Item>(items: &mut [I], bytes: u32) {
        let mut spare = items.to_vec();
        // SAFETY: both have as many items.
        unsafe {
            sort((items.as_mut_ptr(), spare.as_mut_ptr()), items.len(), bytes, &|| false);
        }
    }

    #[test]
    fn digits_sort_as_comparisons_do() {
        for count in [0, 1, DIGITS_FROM - 1, DIGITS_FROM, 5000] {
            let mut keys: Vec<u32> = numbers(count).map(|n| n as u32).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sorted(&mut keys, 4);
            assert_eq!(keys, expected);
            let pairs = numbers(count).enumerate();
            let pairs = pairs.map(|(at, n)| Pair { key: n % 7, position: at as u64 });
            let mut pairs: Vec<Pair> = pairs.collect();
            let mut expected = pairs.clone();
            expected.sort();
            sorted(&mut pairs, 8);
            assert_eq!(pairs, expected);
        }
    }
}
