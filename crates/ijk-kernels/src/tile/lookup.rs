//! Elements looked up at computed places in one pass: numbers are compared with the table's end, scaled to offsets, and
//! the elements read, without an array of 64-bit offsets in between.

use super::moves::Word;
use crate::lines::{AHEAD, prefetch_all};
use crate::simd::Level;
use crate::simd::leveled;
use crate::tuning::time::COMPARED_INDICES;
use ijk_types::DType;
use std::hint::select_unpredictable;

/// Elements at regular places.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The element for the number 0 in the first point.
    pub first: *const u8,
    /// Numbers are below it. At least 1.
    pub end: u64,
    /// Elements from the place of a number to that of the next.
    pub scale: i64,
    /// Elements from a point's place to that of the next point for the same number.
    pub step: i64,
    /// Bits of the element for other numbers.
    pub fill: u64,
}

/// `dst[i] = table[numbers[i] · scale + i · step]`, or the fill if the number is not in `0..end`.
///
/// # Safety
/// `dst` and `numbers` have `n` elements; the table has an element for each number below its end at each point; `dst`
/// overlaps neither.
pub type LookupKernel = unsafe fn(n: usize, dst: *mut u8, numbers: *const u8, table: &Table);

/// An integer by which elements are looked up.
pub trait TableNumber: Copy {
    /// The number, from 2⁶³ on if it is negative.
    fn unsigned(self) -> u64;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl TableNumber for $t {
            #[inline(always)]
            fn unsigned(self) -> u64 {
                self as i64 as u64
            }
        }
    )*};
}
numbers!(u8, u16, i32, i64);

/// # Safety
/// As for [`LookupKernel`].
#[inline(always)]
unsafe fn lookup<N: TableNumber, W: Word, const PLAIN: bool>(
    n: usize,
    dst: *mut u8,
    numbers: *const u8,
    table: &Table,
) {
    let (dst, numbers) = (dst.cast::<W>(), numbers.cast::<N>());
    let whole = n / COMPARED_INDICES;
    for part in 0..=whole {
        let at = part * COMPARED_INDICES;
        // SAFETY: guaranteed by the caller, for a part of the points.
        unsafe {
            let (dst, numbers) = (dst.add(at), numbers.add(at));
            let first = table.first.cast::<W>().wrapping_offset(at as isize * table.step as isize);
            let ends = match part < whole {
                true => {
                    // Numbers are usually out of cache here.
                    let ahead = numbers.cast::<u8>().wrapping_add(AHEAD);
                    prefetch_all(ahead, COMPARED_INDICES * size_of::<N>());
                    all_below(COMPARED_INDICES, numbers, table.end)
                }
                false => all_below(n - at, numbers, table.end),
            };
            let count = (n - at).min(COMPARED_INDICES);
            match ends {
                true => part_of::<N, W, PLAIN, false>(count, dst, numbers, first, table),
                false => part_of::<N, W, PLAIN, true>(count, dst, numbers, first, table),
            }
        }
    }
}

/// True if all of some numbers are below `end`.
///
/// # Safety
/// There are `n` numbers.
#[inline(always)]
unsafe fn all_below<N: TableNumber>(n: usize, numbers: *const N, end: u64) -> bool {
    let mut outside = false;
    for i in 0..n {
        // SAFETY: `i < n`.
        outside |= unsafe { numbers.add(i).read() }.unsigned() >= end;
    }
    !outside
}

/// # Safety
/// As for [`LookupKernel`]; all numbers are below the end unless `TESTS`. If `PLAIN`, the scale is 1, and the step 0.
#[inline(always)]
unsafe fn part_of<N: TableNumber, W: Word, const PLAIN: bool, const TESTS: bool>(
    n: usize,
    dst: *mut W,
    numbers: *const N,
    first: *const W,
    table: &Table,
) {
    let Table { end, scale, step, .. } = *table;
    for i in 0..n {
        // SAFETY: `i < n`; 0 has an element in any case.
        unsafe {
            let number = numbers.add(i).read().unsigned();
            let inside = !TESTS || number < end;
            let number = select_unpredictable(inside, number, 0) as isize;
            let offset = match PLAIN {
                true => number,
                false => number * scale as isize + i as isize * step as isize,
            };
            let value = first.wrapping_offset(offset).read();
            let fill = (&raw const table.fill).cast::<W>().read();
            dst.add(i).write(select_unpredictable(inside, value, fill));
        }
    }
}

leveled!(
    lookup_at, lookup, [N: TableNumber, W: Word, const PLAIN: bool], [N, W, PLAIN],
    (n: usize, dst: *mut u8, numbers: *const u8, table: &Table) -> ()
);

/// The kernel for numbers and elements of these types, of scale 1 and step 0 if `plain`; `None` for rare types.
pub fn looked_up(
    numbers: DType,
    elements: DType,
    plain: bool,
    level: Level,
) -> Option<LookupKernel> {
    match numbers {
        DType::U8 => of_words::<u8>(elements, plain, level),
        DType::U16 => of_words::<u16>(elements, plain, level),
        DType::I32 => of_words::<i32>(elements, plain, level),
        DType::I64 => of_words::<i64>(elements, plain, level),
        _ => None,
    }
}

fn of_words<N: TableNumber>(elements: DType, plain: bool, level: Level) -> Option<LookupKernel> {
    Some(match (elements.size(), plain) {
        (4, true) => lookup_at::<N, u32, true>(level),
        (4, false) => lookup_at::<N, u32, false>(level),
        (8, true) if !elements.is_complex() => lookup_at::<N, u64, true>(level),
        (8, false) if !elements.is_complex() => lookup_at::<N, u64, false>(level),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the definition, for numbers of which some are outside.
    fn agrees<N: Copy + Into<i64>>(t: DType, level: Level, numbers: &[N]) {
        let elements: Vec<u32> = (0..4000).map(|n| n * 7 + 1).collect();
        for (scale, step, end) in [(1, 0, 256), (1, 0, 100), (3, 0, 200), (1, 2, 50), (5, 1, 90)] {
            let plain = (scale, step) == (1, 0);
            let kernel = looked_up(t, DType::F32, plain, level).unwrap();
            for n in [0, 1, 7, 127, 128, 129, 300] {
                let first = elements.as_ptr().cast();
                let table = Table { first, end, scale, step, fill: 99 };
                let mut out = vec![0u32; n + 1];
                // SAFETY: there are enough numbers and elements.
                unsafe { kernel(n, out.as_mut_ptr().cast(), numbers.as_ptr().cast(), &table) };
                for (i, &number) in numbers[..n].iter().enumerate() {
                    let number: i64 = number.into();
                    let expected = match (0..end as i64).contains(&number) {
                        true => elements[(number * scale + i as i64 * step) as usize],
                        false => 99,
                    };
                    assert_eq!(
                        out[i],
                        expected,
                        "{t} {} at {i} of {n}, scale {scale}",
                        level.name()
                    );
                }
                assert_eq!(out[n], 0);
            }
        }
    }

    #[test]
    fn elements_are_those_of_their_numbers() {
        for level in Level::available() {
            let inside = |n: usize| n * 37 % 90;
            let some = |n: usize| if n < 128 { inside(n) } else { n * 13 % 256 };
            agrees(DType::U8, level, &(0..300).map(|n| some(n) as u8).collect::<Vec<_>>());
            agrees(DType::U16, level, &(0..300).map(|n| some(n) as u16).collect::<Vec<_>>());
            let signed = |n: usize| some(n) as i64 * if n % 50 == 49 { -1 } else { 1 };
            agrees(DType::I32, level, &(0..300).map(|n| signed(n) as i32).collect::<Vec<_>>());
            agrees(
                DType::I64,
                level,
                &(0..300).map(|n| signed(n) << (n / 200 * 32)).collect::<Vec<_>>(),
            );
        }
    }
}
