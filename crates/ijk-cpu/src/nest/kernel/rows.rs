//! Rows at offsets, combined into one that stays in registers meanwhile.

use super::for_monoid;
use super::op::{Mul, Op2};
use crate::lines::{LINE, prefetch_all};
use crate::simd::Level;
use crate::simd::leveled;
use ijk_types::{DType, Monoid};

/// `acc[k] = acc[k] op base[offsets[r] + k]` for `r < rows` in turn and `k < n`; where rows are scaled,
/// `op base[offsets[r] + k] * scales[r]`. Behind the offsets there are `later` further ones, of rows that are asked
/// for ahead of time.
///
/// # Safety
/// These are elements of the kernel's type, and those of `acc` nobody else's; there are offsets and scales of
/// all rows; the processor has the SIMD level the kernel was chosen for.
pub(crate) type FoldRowsAt = unsafe fn(
    counts: [usize; 2],
    n: usize,
    acc: *mut u8,
    base: *const u8,
    offsets: *const i64,
    scales: *const u8,
);

/// Rows ahead of the present one that are asked for, and lines of each.
const AHEAD: usize = 24;
const LINES: usize = 8;

/// Rows at offsets.
#[derive(Clone, Copy)]
struct Rows<T> {
    /// How many, and how many offsets follow.
    counts: [usize; 2],
    base: *const T,
    offsets: *const i64,
    scales: *const T,
}

impl<T: Copy> Rows<T> {
    /// The same rows from an element of each on.
    #[inline(always)]
    fn from(self, first: usize) -> Self {
        Self { base: self.base.wrapping_add(first), ..self }
    }

    /// A row.
    ///
    /// # Safety
    /// There is an offset of it.
    #[inline(always)]
    unsafe fn row(self, r: usize) -> *const T {
        // SAFETY: the caller's promise.
        self.base.wrapping_offset(unsafe { self.offsets.add(r).read() } as isize)
    }
}

/// # Safety
/// That of [`FoldRowsAt`].
#[inline(always)]
unsafe fn fold_rows<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
>(
    counts: [usize; 2],
    n: usize,
    acc: *mut u8,
    base: *const u8,
    offsets: *const i64,
    scales: *const u8,
) {
    let rows = Rows { counts, base: base.cast(), offsets, scales: scales.cast() };
    let acc = acc.cast::<O::In>();
    // SAFETY: the caller's promise.
    unsafe {
        match size_of::<O::In>() {
            1 | 4 => strips::<O, M, SCALED, 64>(n, acc, rows),
            8 => strips::<O, M, SCALED, 32>(n, acc, rows),
            _ => strips::<O, M, SCALED, 16>(n, acc, rows),
        }
    }
}

/// Strip by strip, the first of which asks for whole rows.
///
/// # Safety
/// That of [`FoldRowsAt`].
#[inline(always)]
unsafe fn strips<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
    const WIDE: usize,
>(
    n: usize,
    acc: *mut O::In,
    rows: Rows<O::In>,
) {
    let bytes = (n * size_of::<O::In>()).min(LINES * LINE);
    let mut k = 0;
    // SAFETY: strips within the rows.
    unsafe {
        while k + WIDE <= n {
            let ahead = if k == 0 { bytes } else { 0 };
            strip::<O, M, SCALED, WIDE>(acc.add(k), rows.from(k), ahead);
            k += WIDE;
        }
        while k + 16 <= n {
            let ahead = if k == 0 { bytes } else { 0 };
            strip::<O, M, SCALED, 16>(acc.add(k), rows.from(k), ahead);
            k += 16;
        }
        while k + 4 <= n {
            let ahead = if k == 0 { bytes } else { 0 };
            strip::<O, M, SCALED, 4>(acc.add(k), rows.from(k), ahead);
            k += 4;
        }
        while k < n {
            strip::<O, M, SCALED, 1>(acc.add(k), rows.from(k), 0);
            k += 1;
        }
    }
}

/// `S` neighbours of each row; so many bytes of later rows are asked for.
///
/// # Safety
/// That of [`FoldRowsAt`], for so many elements.
#[inline(always)]
unsafe fn strip<
    O: Op2<Out = <O as Op2>::In>,
    M: Op2<In = O::In, Out = O::In>,
    const SCALED: bool,
    const S: usize,
>(
    acc: *mut O::In,
    rows: Rows<O::In>,
    ahead: usize,
) {
    let [count, later] = rows.counts;
    // SAFETY: the caller's promise: `S` elements of the accumulator and of each row, and offsets of later ones.
    unsafe {
        let mut sums = acc.cast::<[O::In; S]>().read();
        for r in 0..count {
            if ahead > 0 && r + AHEAD < count + later {
                prefetch_all(rows.row(r + AHEAD).cast(), ahead);
            }
            let row = rows.row(r).cast::<[O::In; S]>().read();
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
        acc.cast::<[O::In; S]>().write(sums);
    }
}

leveled!(rows_at, fold_rows,
    [O: Op2<Out = <O as Op2>::In>, M: Op2<In = O::In, Out = O::In>, const SCALED: bool], [O, M, SCALED],
    (counts: [usize; 2], n: usize, acc: *mut u8, base: *const u8, offsets: *const i64,
        scales: *const u8) -> ());

/// The kernel of a monoid on a type; `None` if the type does not have it.
pub(crate) fn fold_rows_at(monoid: Monoid, t: DType, level: Level) -> Option<FoldRowsAt> {
    for_monoid!(monoid, t, O => rows_at::<O, O, false>(level))
}

/// The same of rows that are scaled, where they are added.
pub(crate) fn fold_scaled_rows(monoid: Monoid, t: DType, level: Level) -> Option<FoldRowsAt> {
    match (monoid, t) {
        (_, DType::Bool) => None,
        (Monoid::Add, _) => scaled(t, level),
        _ => None,
    }
}

/// The kernel that adds scaled rows.
fn scaled(t: DType, level: Level) -> Option<FoldRowsAt> {
    macro_rules! of {
        ($($variant:ident: $T:ty),*) => {
            match t {
                $(DType::$variant => {
                    Some(rows_at::<super::op::Add<$T>, Mul<$T>, true>(level))
                })*
                _ => None,
            }
        };
    }
    of!(I32: i32, I64: i64, F32: f32, F64: f64, C64: ijk_types::C64, C128: ijk_types::C128)
}
