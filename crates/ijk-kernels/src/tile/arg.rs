//! argmax and argmin.

use crate::simd::Level;
use crate::simd::leveled;
use ijk_types::{DType, Ordered, Reducer};

/// Combines rows of values with the best values so far and their positions.
///
/// `best` and `at` have one element for each output; `at` is negative if there is none yet. The positions of
/// consecutive values of an output are `position`, `position + 1`, ….
///
/// # Safety
/// As each field of [`ArgKernels`] says, for elements of the kernels' type; `best` and `at` overlap no other operand;
/// the processor supports the SIMD level of the kernels.
pub type ArgFold =
    unsafe fn(rows: usize, n: usize, best: *mut u8, at: *mut i64, values: *const u8, position: i64);

/// Combines two partial results; the positions of the left one come before those of the right one.
///
/// # Safety
/// All four have `n` elements; the first two overlap no other operand.
pub type ArgJoin =
    unsafe fn(n: usize, best: *mut u8, at: *mut i64, right: *const u8, right_at: *const i64);

/// The kernels of `@argmax` or `@argmin` on one type.
#[derive(Clone, Copy, Debug)]
pub struct ArgKernels {
    /// Output `k < n` takes `values[r][k]` for `r < rows`.
    pub down: ArgFold,
    /// Output `r < rows` takes `values[r][k]` for `k < n`.
    pub along: ArgFold,
    /// Combines partial results of two ranges of positions.
    pub join: ArgJoin,
}

/// Preference between two values.
pub trait Preference {
    /// Type of the values.
    type T: Ordered;
    /// Returns true if `x` replaces `best`, which comes before it.
    fn beats(x: Self::T, best: Self::T) -> bool;
    /// The preferred of two values.
    fn pick(x: Self::T, y: Self::T) -> Self::T;
}

struct Greatest<T>(std::marker::PhantomData<T>);
struct Least<T>(std::marker::PhantomData<T>);

impl<T: Ordered> Preference for Greatest<T> {
    type T = T;
    #[inline(always)]
    fn beats(x: T, best: T) -> bool {
        x.beats_max(best)
    }
    #[inline(always)]
    fn pick(x: T, y: T) -> T {
        x.max(y)
    }
}

impl<T: Ordered> Preference for Least<T> {
    type T = T;
    #[inline(always)]
    fn beats(x: T, best: T) -> bool {
        x.beats_min(best)
    }
    #[inline(always)]
    fn pick(x: T, y: T) -> T {
        x.min(y)
    }
}

/// # Safety
/// As for [`ArgFold`], for [`ArgKernels::down`].
#[inline(always)]
unsafe fn down<P: Preference>(
    rows: usize,
    n: usize,
    best: *mut u8,
    at: *mut i64,
    values: *const u8,
    position: i64,
) {
    let (best, values) = (best.cast::<P::T>(), values.cast::<P::T>());
    for r in 0..rows {
        for k in 0..n {
            // SAFETY: row `r` of `rows`, output `k` of `n`.
            unsafe {
                let x = values.add(r * n + k).read();
                let (old, old_at) = (best.add(k).read(), at.add(k).read());
                let better = (old_at < 0) | P::beats(x, old);
                best.add(k).write(if better { x } else { old });
                at.add(k).write(if better { position + r as i64 } else { old_at });
            }
        }
    }
}

/// # Safety
/// As for [`ArgFold`], for [`ArgKernels::along`].
#[inline(always)]
unsafe fn along<P: Preference>(
    rows: usize,
    n: usize,
    best: *mut u8,
    at: *mut i64,
    values: *const u8,
    position: i64,
) {
    let (best, values) = (best.cast::<P::T>(), values.cast::<P::T>());
    for r in 0..rows {
        // SAFETY: row `r` of `rows`, each of `n` values; output `r`.
        unsafe {
            let row = std::slice::from_raw_parts(values.add(r * n), n);
            let Some(found) = first_best::<P>(row) else { continue };
            if at.add(r).read() < 0 || P::beats(row[found], best.add(r).read()) {
                best.add(r).write(row[found]);
                at.add(r).write(position + found as i64);
            }
        }
    }
}

/// Position of the preferred value, the first of equal ones. Plain loops: the closure of an iterator would be compiled
/// without the instructions of the level.
#[inline(always)]
fn first_best<P: Preference>(row: &[P::T]) -> Option<usize> {
    const L: usize = 32;
    let &first = row.first()?;
    let (strips, tail) = row.as_chunks::<L>();
    let mut lanes = [first; L];
    for strip in strips {
        for l in 0..L {
            lanes[l] = P::pick(lanes[l], strip[l]);
        }
    }
    // Combines by halves, not sequentially, to shorten the dependency chain. `black_box` keeps the compiler from
    // reordering the previous loop likewise.
    let mut lanes = std::hint::black_box(lanes);
    for half in [16, 8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] = P::pick(lanes[l], lanes[l + half]);
        }
    }
    let mut best = lanes[0];
    for &x in tail {
        best = P::pick(best, x);
    }
    // No value beats the best, and the best beats every value but its equals.
    for (n, strip) in strips.iter().enumerate() {
        let mut any = false;
        for &x in strip {
            any |= !P::beats(best, x);
        }
        if any {
            return Some(n * L + place::<P>(strip, best)?);
        }
    }
    Some(strips.len() * L + place::<P>(tail, best)?)
}

/// Position of the first of the values equal to the best.
#[inline(always)]
fn place<P: Preference>(values: &[P::T], best: P::T) -> Option<usize> {
    for (n, &x) in values.iter().enumerate() {
        if !P::beats(best, x) {
            return Some(n);
        }
    }
    None
}

/// # Safety
/// As for [`ArgJoin`].
unsafe fn join<P: Preference>(
    n: usize,
    best: *mut u8,
    at: *mut i64,
    right: *const u8,
    right_at: *const i64,
) {
    for k in 0..n {
        // SAFETY: `k < n`.
        unsafe {
            let (mine, theirs) = (best.cast::<P::T>().add(k), right.cast::<P::T>().add(k).read());
            let position = right_at.add(k).read();
            if position >= 0 && (at.add(k).read() < 0 || P::beats(theirs, mine.read())) {
                mine.write(theirs);
                at.add(k).write(position);
            }
        }
    }
}

leveled!(down_at, down, [P: Preference], [P],
    (rows: usize, n: usize, best: *mut u8, at: *mut i64, values: *const u8, position: i64) -> ());
leveled!(along_at, along, [P: Preference], [P],
    (rows: usize, n: usize, best: *mut u8, at: *mut i64, values: *const u8, position: i64) -> ());

fn kernels<P: Preference>(level: Level) -> Option<ArgKernels> {
    Some(ArgKernels { down: down_at::<P>(level), along: along_at::<P>(level), join: join::<P> })
}

/// The kernels of a positional reducer on a type; `None` if it does not accept the type.
pub fn arg(reducer: Reducer, t: DType, level: Level) -> Option<ArgKernels> {
    macro_rules! of {
        ($p:ident, $($variant:ident: $T:ty),*) => {
            match t {
                $(DType::$variant => kernels::<$p<$T>>(level),)*
                _ => None,
            }
        };
    }
    match reducer {
        Reducer::ArgMax => of!(Greatest, Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64),
        Reducer::ArgMin => of!(Least, Bool: bool, I32: i32, I64: i64, F32: f32, F64: f64),
        Reducer::Monoid(_) | Reducer::Order(_) => None,
    }
}
