//! Rows gathered at offsets and combined at their destinations; consecutive rows with the same destination are combined
//! in registers.

use super::for_monoid;
use super::op::{Mul, Op2};
use crate::lines::{LINE, prefetch, prefetch_all};
use crate::simd::Level;
use crate::simd::leveled;
use crate::tuning::time::{ROW_PREFETCH_DISTANCE, ROW_PREFETCH_LINES};
use ijk_types::{DType, Monoid};

/// Rows and their destinations.
#[derive(Clone, Copy, Debug)]
pub struct RowsTo {
    /// Number of rows, and number of further rows in the lists, which are only prefetched.
    pub counts: [usize; 2],
    /// Elements of a row.
    pub length: usize,
    /// Origin of destinations.
    pub out: *mut u8,
    /// Offset of each row's destination, or a single one for all rows.
    pub to: *const i64,
    pub one_place: bool,
    /// Origin of rows.
    pub base: *const u8,
    pub from: *const i64,
    /// Factor of each row, if rows are scaled.
    pub scales: *const u8,
}

/// `out[to[r] + k] = out[to[r] + k] op base[from[r] + k]` for each row `r` in turn and `k < length`; with scaled rows,
/// `op base[from[r] + k] * scales[r]`.
///
/// # Safety
/// These are elements of the kernel's type; no other thread accesses those of `out`, and none of them is in `base`;
/// there are offsets and scales of all rows, and offsets of the further ones; the processor supports the SIMD level of
/// the kernel.
pub type FoldRowsTo = unsafe fn(rows: &RowsTo);

/// The same with the element type.
#[derive(Clone, Copy)]
struct TypedRows<T> {
    counts: [usize; 2],
    out: *mut T,
    to: *const i64,
    /// Stride in the list of destinations.
    step: usize,
    base: *const T,
    from: *const i64,
    scales: *const T,
}

impl<T: Copy> TypedRows<T> {
    fn new(rows: &RowsTo) -> Self {
        let RowsTo { counts, to, from, .. } = *rows;
        let (out, base, scales) = (rows.out.cast(), rows.base.cast(), rows.scales.cast());
        Self { counts, out, to, step: usize::from(!rows.one_place), base, from, scales }
    }

    /// The offset of a row's destination.
    ///
    /// # Safety
    /// The list has it.
    #[inline(always)]
    unsafe fn place(&self, r: usize) -> i64 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.to.add(r * self.step).read() }
    }

    /// Address of a row.
    ///
    /// # Safety
    /// The list has its offset.
    #[inline(always)]
    unsafe fn row(&self, r: usize) -> *const T {
        // SAFETY: guaranteed by the caller.
        self.base.wrapping_offset(unsafe { self.from.add(r).read() } as isize)
    }

    /// Prefetches the row [`ROW_PREFETCH_DISTANCE`] rows after `r`.
    ///
    /// # Safety
    /// The list has the offset of row `r`.
    #[inline(always)]
    unsafe fn fetch(&self, r: usize, bytes: usize) {
        if r + ROW_PREFETCH_DISTANCE < self.counts[0] + self.counts[1] {
            // SAFETY: the list has this offset.
            fetch_row(unsafe { self.row(r + ROW_PREFETCH_DISTANCE) }.cast(), bytes);
        }
    }

    /// Prefetches the destination of the row [`ROW_PREFETCH_DISTANCE`] rows after `r`.
    ///
    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline(always)]
    unsafe fn fetch_place(&self, r: usize, bytes: usize) {
        if self.step > 0 && r + ROW_PREFETCH_DISTANCE < self.counts[0] + self.counts[1] {
            // SAFETY: the list has this offset.
            let place = unsafe { self.place(r + ROW_PREFETCH_DISTANCE) };
            fetch_row(self.out.wrapping_offset(place as isize).cast_const().cast(), bytes);
        }
    }
}

/// Prefetches a row, which may be unaligned to cache lines.
#[inline(always)]
fn fetch_row(first: *const u8, bytes: usize) {
    prefetch_all(first, bytes);
    prefetch(first.wrapping_add(bytes - 1));
}

/// # Safety
/// As for [`FoldRowsTo`].
#[inline(always)]
unsafe fn fold_rows<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
>(
    rows: &RowsTo,
) {
    let (own, length) = (TypedRows::<O::In>::new(rows), rows.length);
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (size_of::<O::In>(), length) {
            (_, 2) => fixed::<O, M, SCALED, 2>(&own),
            (_, 3) => fixed::<O, M, SCALED, 3>(&own),
            (_, 4) => fixed::<O, M, SCALED, 4>(&own),
            (4, 16) => fixed::<O, M, SCALED, 16>(&own),
            (4, 32) => fixed::<O, M, SCALED, 32>(&own),
            (4, 64) => fixed::<O, M, SCALED, 64>(&own),
            (8, 8) => fixed::<O, M, SCALED, 8>(&own),
            (8, 16) => fixed::<O, M, SCALED, 16>(&own),
            (8, 32) => fixed::<O, M, SCALED, 32>(&own),
            (1 | 4, _) => strips::<O, M, SCALED, 64>(length, &own),
            (8, _) => strips::<O, M, SCALED, 32>(length, &own),
            _ => strips::<O, M, SCALED, 16>(length, &own),
        }
    }
}

/// Combines rows of `S` elements, which fit registers. For very short ones, prefetches would take as long as the rest.
///
/// # Safety
/// As for [`FoldRowsTo`].
#[inline(always)]
unsafe fn fixed<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
    const S: usize,
>(
    rows: &TypedRows<O::In>,
) {
    let (count, bytes) = (rows.counts[0], S * size_of::<O::In>());
    let prefetches = S > 4;
    let mut r = 0;
    while r < count {
        // SAFETY: guaranteed by the caller: `S` elements of each row and of its place.
        unsafe {
            let place = rows.place(r);
            if prefetches {
                rows.fetch_place(r, bytes);
            }
            let acc = rows.out.wrapping_offset(place as isize).cast::<[O::In; S]>();
            let mut sums = acc.read();
            loop {
                if prefetches {
                    rows.fetch(r, bytes);
                }
                add::<O, M, SCALED, S>(&mut sums, rows, r, 0);
                r += 1;
                if r == count || rows.place(r) != place {
                    break;
                }
            }
            acc.write(sums);
        }
    }
}

/// Combines rows strip by strip; the first strip prefetches whole rows.
///
/// # Safety
/// As for [`FoldRowsTo`], for rows of `n` elements.
#[inline(always)]
unsafe fn strips<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
    const WIDE: usize,
>(
    n: usize,
    rows: &TypedRows<O::In>,
) {
    let (count, bytes) = (rows.counts[0], (n * size_of::<O::In>()).min(ROW_PREFETCH_LINES * LINE));
    let mut r = 0;
    while r < count {
        // SAFETY: guaranteed by the caller; strips within the rows.
        unsafe {
            let place = rows.place(r);
            rows.fetch_place(r, bytes);
            let mut end = r + 1;
            while end < count && rows.place(end) == place {
                end += 1;
            }
            let acc = rows.out.wrapping_offset(place as isize);
            let mut k = 0;
            while k + WIDE <= n {
                strip::<O, M, SCALED, WIDE>(acc, rows, (r, end), k, bytes);
                k += WIDE;
            }
            while k + 16 <= n {
                strip::<O, M, SCALED, 16>(acc, rows, (r, end), k, bytes);
                k += 16;
            }
            while k + 4 <= n {
                strip::<O, M, SCALED, 4>(acc, rows, (r, end), k, bytes);
                k += 4;
            }
            while k < n {
                strip::<O, M, SCALED, 1>(acc, rows, (r, end), k, bytes);
                k += 1;
            }
            r = end;
        }
    }
}

/// Combines `S` elements of each of several rows with the same destination, from element `k` on.
///
/// # Safety
/// As for [`FoldRowsTo`], for these elements.
#[inline(always)]
unsafe fn strip<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
    const S: usize,
>(
    acc: *mut O::In,
    rows: &TypedRows<O::In>,
    (first, end): (usize, usize),
    k: usize,
    bytes: usize,
) {
    let acc = acc.wrapping_add(k).cast::<[O::In; S]>();
    // SAFETY: guaranteed by the caller: `S` elements of the accumulator and of each row.
    unsafe {
        let mut sums = acc.read();
        for r in first..end {
            if k == 0 {
                rows.fetch(r, bytes);
            }
            add::<O, M, SCALED, S>(&mut sums, rows, r, k);
        }
        acc.write(sums);
    }
}

/// Combines `S` elements of a row, from element `k` on.
///
/// # Safety
/// The row has these elements, and a scale if rows are scaled.
#[inline(always)]
unsafe fn add<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
    const S: usize,
>(
    sums: &mut [O::In; S],
    rows: &TypedRows<O::In>,
    r: usize,
    k: usize,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let row = rows.row(r).wrapping_add(k).cast::<[O::In; S]>().read();
        if SCALED {
            let scale = rows.scales.add(r).read();
            for s in 0..S {
                sums[s] = O::apply(sums[s], M::apply(row[s], scale));
            }
        } else {
            for s in 0..S {
                sums[s] = O::apply(sums[s], row[s]);
            }
        }
    }
}

leveled!(rows_to, fold_rows,
    [O: Op2<Out = <O as Op2>::In>, M: Op2<In = O::In, Out = O::In>, const SCALED: bool], [O, M, SCALED],
    (rows: &RowsTo) -> ());

/// The kernel of a monoid for a type; `None` if the type does not have it.
pub fn fold_rows_to(monoid: Monoid, t: DType, level: Level) -> Option<FoldRowsTo> {
    for_monoid!(monoid, t, O => rows_to::<O, O, false>(level))
}

/// The kernel for scaled rows, which are added.
pub fn fold_scaled_rows(monoid: Monoid, t: DType, level: Level) -> Option<FoldRowsTo> {
    match (monoid, t) {
        (_, DType::Bool) => None,
        (Monoid::Add, _) => scaled(t, level),
        _ => None,
    }
}

/// The kernel that adds scaled rows.
fn scaled(t: DType, level: Level) -> Option<FoldRowsTo> {
    macro_rules! of {
        ($($variant:ident: $T:ty),*) => {
            match t {
                $(DType::$variant => {
                    Some(rows_to::<super::op::Add<$T>, Mul<$T>, true>(level))
                })*
                _ => None,
            }
        };
    }
    of!(I32: i32, I64: i64, F32: f32, F64: f64, C64: ijk_types::C64, C128: ijk_types::C128)
}
