//! Orders of one row.

use super::items::sort;
use super::key::{Key, Keyed};
use ijk_kernels::simd::{Level, leveled};

/// Values that are tested at once against what would replace the last of those kept.
const STRIP: usize = 64;

/// Least room for candidates of the first places.
const CANDIDATES: usize = 512;

/// A row: its values, and the places of its order.
#[derive(Clone, Copy)]
pub(super) struct SortRow {
    pub(super) from: *const u8,
    /// Stride of the values in bytes.
    pub(super) step: isize,
    pub(super) values: usize,
    pub(super) to: *mut u8,
    /// Stride of the places in bytes.
    pub(super) to_step: isize,
    pub(super) places: usize,
}

/// Orders a row.
///
/// # Safety
/// The row's values are elements of the kernels' type, its places those of the result's type, which no other thread
/// accesses; scratch memory has room for [`SortKernels::items`], aligned to 16.
pub(super) type RowKernel =
    unsafe fn(row: SortRow, scratch: *mut u8, level: Level, ended: &dyn Fn() -> bool);

/// The kernels for one type, direction and result.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortKernels {
    /// Orders one row.
    pub(super) row: RowKernel,
    /// Bytes of scratch memory for each item, and number of items.
    pub(super) item: usize,
    pub(super) items: usize,
    /// Bytes of the keys.
    pub(super) bytes: u32,
    pub(super) algorithm: &'static str,
}

/// Contents of the places of an order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Values,
    Positions,
}

/// Kernels for rows of elements.
pub(super) fn kernels<T: Keyed>(
    (values, places): (usize, usize),
    descending: bool,
    wanted: Wanted,
) -> SortKernels {
    let pair = size_of::<<T::Key as Key>::At>();
    let bytes = T::BYTES;
    if is_few(values, places) {
        let row: RowKernel = match (descending, wanted) {
            (false, Wanted::Values) => first::<T, false, false>,
            (false, Wanted::Positions) => first::<T, false, true>,
            (true, Wanted::Values) => first::<T, true, false>,
            (true, Wanted::Positions) => first::<T, true, true>,
        };
        let algorithm = "candidates for the first places, then their order";
        return SortKernels { row, item: pair, items: room(places), bytes, algorithm };
    }
    let row: RowKernel = match (descending, wanted) {
        (false, Wanted::Values) => values_in_order::<T, false>,
        (true, Wanted::Values) => values_in_order::<T, true>,
        (false, Wanted::Positions) => positions_in_order::<T, false>,
        (true, Wanted::Positions) => positions_in_order::<T, true>,
    };
    let item = if wanted == Wanted::Values { size_of::<T::Key>() } else { pair };
    SortKernels { row, item, items: 2 * values, bytes, algorithm: "by the bytes of keys" }
}

/// Returns true if the places are few among the values.
fn is_few(values: usize, places: usize) -> bool {
    places.saturating_mul(8) <= values
}

/// Capacity of the list of candidates for the first `places` places.
fn room(places: usize) -> usize {
    (2 * places).max(CANDIDATES)
}

fn flip<T: Keyed>(descending: bool) -> T::Key {
    if descending { T::FLIP } else { T::Key::default() }
}

/// # Safety
/// As for [`RowKernel`].
unsafe fn values_in_order<T: Keyed, const DESCENDING: bool>(
    row: SortRow,
    scratch: *mut u8,
    level: Level,
    ended: &dyn Fn() -> bool,
) {
    let flip = flip::<T>(DESCENDING);
    let keys = scratch.cast::<T::Key>();
    // SAFETY: guaranteed by the caller: scratch memory has two arrays of keys; they are written before they are read.
    unsafe {
        keys_at::<T>(level)(row.from, row.step, row.values, flip, keys);
        sort((keys, keys.add(row.values)), row.values, T::BYTES, ended);
        let keys = std::slice::from_raw_parts(keys, row.places);
        for (n, &key) in keys.iter().enumerate() {
            row.put(n, T::value(key, flip));
        }
        if let Some((nan, zero)) = T::INEXACT {
            restore::<T>(row, keys, flip, zero(flip));
            restore::<T>(row, keys, flip, nan);
        }
    }
}

/// Stores the values of a key in the order of their positions, since the key does not determine them.
///
/// # Safety
/// As for [`RowKernel`].
unsafe fn restore<T: Keyed>(row: SortRow, keys: &[T::Key], flip: T::Key, key: T::Key) {
    let mut place = keys.partition_point(|&own| own < key);
    let end = keys.partition_point(|&own| own <= key);
    let mut n = 0;
    while place < end && n < row.values {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let value = row.value::<T>(n);
            if value.key(flip) == key {
                row.put(place, value);
                place += 1;
            }
        }
        n += 1;
    }
}

/// # Safety
/// As for [`RowKernel`].
unsafe fn positions_in_order<T: Keyed, const DESCENDING: bool>(
    row: SortRow,
    scratch: *mut u8,
    _: Level,
    ended: &dyn Fn() -> bool,
) {
    type At<T> = <<T as Keyed>::Key as Key>::At;
    let flip = flip::<T>(DESCENDING);
    let pairs = scratch.cast::<At<T>>();
    // SAFETY: guaranteed by the caller: scratch memory has two arrays of pairs; they are written before they are read.
    unsafe {
        for n in 0..row.values {
            pairs.add(n).write(row.value::<T>(n).key(flip).at(n));
        }
        sort((pairs, pairs.add(row.values)), row.values, T::BYTES, ended);
        for n in 0..row.places {
            row.put(n, T::Key::position(pairs.add(n).read()) as i64);
        }
    }
}

/// Keeps candidates for the first places, of which a value that comes before the last one replaces one.
///
/// # Safety
/// As for [`RowKernel`].
unsafe fn first<T: Keyed, const DESCENDING: bool, const POSITIONS: bool>(
    row: SortRow,
    scratch: *mut u8,
    level: Level,
    ended: &dyn Fn() -> bool,
) {
    type At<T> = <<T as Keyed>::Key as Key>::At;
    let (flip, room) = (flip::<T>(DESCENDING), room(row.places).min(row.values));
    let pairs = scratch.cast::<At<T>>();
    if row.places == 0 {
        return;
    }
    // SAFETY: guaranteed by the caller: scratch memory has room for the candidates; they are written before they are
    // read.
    unsafe {
        for n in 0..room {
            pairs.add(n).write(row.value::<T>(n).key(flip).at(n));
        }
        let pairs = std::slice::from_raw_parts_mut(pairs, room);
        let (better, mut count, mut next) = (better_at::<T>(level), room, room);
        while next < row.values && !ended() {
            let (_, last, _) = pairs[..count].select_nth_unstable(row.places - 1);
            let last = T::Key::of(*last);
            count = row.places;
            (next, count) = better(row, next, flip, last, pairs, count);
        }
        let pairs = &mut pairs[..count];
        if count > row.places {
            pairs.select_nth_unstable(row.places - 1);
        }
        let pairs = &mut pairs[..row.places];
        pairs.sort_unstable();
        for (n, &pair) in pairs.iter().enumerate() {
            let position = T::Key::position(pair);
            match POSITIONS {
                true => row.put(n, position as i64),
                false => row.put(n, row.value::<T>(position)),
            }
        }
    }
}

impl SortRow {
    /// # Safety
    /// The row has the value.
    #[inline(always)]
    unsafe fn value<T: Copy>(&self, n: usize) -> T {
        // SAFETY: guaranteed by the caller; elements are aligned.
        unsafe { self.from.wrapping_offset(n as isize * self.step).cast::<T>().read() }
    }

    /// # Safety
    /// The row has the place, of an element of that type.
    #[inline(always)]
    unsafe fn put<T: Copy>(&self, n: usize, value: T) {
        // SAFETY: guaranteed by the caller; elements are aligned.
        unsafe { self.to.wrapping_offset(n as isize * self.to_step).cast::<T>().write(value) }
    }
}

/// # Safety
/// `from` has `count` elements at those strides, `keys` has room for their keys.
#[inline(always)]
unsafe fn make_keys<T: Keyed>(
    from: *const u8,
    step: isize,
    count: usize,
    flip: T::Key,
    keys: *mut T::Key,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if step == size_of::<T>() as isize {
            let from = from.cast::<T>();
            for n in 0..count {
                keys.add(n).write(from.add(n).read().key(flip));
            }
        } else {
            for n in 0..count {
                let value = from.wrapping_offset(n as isize * step).cast::<T>().read();
                keys.add(n).write(value.key(flip));
            }
        }
    }
}

/// Adds values that come before a key to the candidates, from position `next` on, until these are full; returns the
/// position up to which it came, and the number of candidates.
///
/// # Safety
/// As for [`RowKernel`].
#[inline(always)]
unsafe fn better<T: Keyed>(
    row: SortRow,
    mut next: usize,
    flip: T::Key,
    last: T::Key,
    pairs: &mut [<T::Key as Key>::At],
    mut count: usize,
) -> (usize, usize) {
    let contiguous = row.step == size_of::<T>() as isize;
    while next < row.values && count < pairs.len() {
        let end = row.values.min(next + STRIP);
        if contiguous && end - next == STRIP {
            let from = row.from.cast::<T>().wrapping_add(next);
            let mut any = false;
            for n in 0..STRIP {
                // SAFETY: guaranteed by the caller.
                any |= unsafe { from.add(n).read() }.key(flip) < last;
            }
            if !any {
                next = end;
                continue;
            }
        }
        while next < end && count < pairs.len() {
            // SAFETY: guaranteed by the caller.
            let key = unsafe { row.value::<T>(next) }.key(flip);
            if key < last {
                pairs[count] = key.at(next);
                count += 1;
            }
            next += 1;
        }
    }
    (next, count)
}

leveled!(keys_at, make_keys, [T: Keyed], [T],
    (from: *const u8, step: isize, count: usize, flip: T::Key, keys: *mut T::Key) -> ());
leveled!(better_at, better, [T: Keyed], [T],
    (row: SortRow, next: usize, flip: T::Key, last: T::Key, pairs: &mut [<T::Key as Key>::At], count: usize)
        -> (usize, usize));
