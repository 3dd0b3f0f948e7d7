//! Rows of outputs: each output combines its taps in turn, in registers.

use crate::simd::{Extremes, Float, FloatElements, IntegerElements, Kernel, Level, Number, Simd};
use ijk_types::{BinaryOp, DType, Monoid};
use std::marker::PhantomData;

/// Arguments of a kernel: rows of outputs, or pieces of them.
pub struct WindowArgs<'a> {
    /// Outputs of a row.
    pub n: usize,
    /// Number of rows, and their strides in bytes in the inputs and in the output.
    pub count: usize,
    pub steps: [isize; 3],
    /// Addresses of the first output's elements, before taps.
    pub a: *const u8,
    pub b: *const u8,
    /// Address of the first output.
    pub out: *mut u8,
    /// Offsets of each tap in bytes.
    pub taps: &'a [[isize; 2]],
    /// Initial value of outputs.
    pub start: *const u8,
    /// True if outputs are combined with existing elements.
    pub existing: bool,
}

/// Computes rows.
///
/// # Safety
/// The machine supports the level of the kernel; for each output and tap the elements are readable, at the strides of
/// the kernel; outputs are contiguous and writable, no other thread accesses them, and they are initialised if they
/// exist.
pub type WindowFn = unsafe fn(&WindowArgs<'_>);

/// Operation of a window on vectors of elements.
trait TapStep<V> {
    /// `reduce(sum, map(a, b))`.
    fn step(sum: V, a: V, b: V) -> V;
    /// `reduce(sum, x)`.
    fn combine(sum: V, x: V) -> V;
}

/// Deinterleaving.
trait TapType<V>: Extremes<V> {
    /// True if [`evens`](Self::evens) is implemented.
    const EVENS: bool;
    /// The elements at even positions of two vectors.
    fn evens(low: V, high: V) -> V;
}

impl<V: Float> TapType<V> for FloatElements {
    const EVENS: bool = true;
    #[inline(always)]
    fn evens(low: V, high: V) -> V {
        low.deinterleave(high).0
    }
}

impl<V: Number> TapType<V> for IntegerElements {
    const EVENS: bool = false;
    #[inline(always)]
    fn evens(low: V, _: V) -> V {
        low
    }
}

/// Declares operations of windows.
macro_rules! steps {
    ($($name:ident: $sum:ident $a:ident $b:ident => $step:expr, $combine:expr;)*) => {$(
        struct $name<K>(PhantomData<K>);

        impl<V: Number, K: TapType<V>> TapStep<V> for $name<K> {
            #[inline(always)]
            fn step($sum: V, $a: V, $b: V) -> V {
                let _ = $b;
                $step
            }
            #[inline(always)]
            fn combine($sum: V, $a: V) -> V {
                $combine
            }
        }
    )*};
}

steps! {
    Sum: sum a b => sum.add(a), sum.add(a);
    Most: sum a b => K::most(sum, a), K::most(sum, a);
    Least: sum a b => K::least(sum, a), K::least(sum, a);
    SumOfProducts: sum a b => a.mul_add(b, sum), sum.add(a);
    MostSum: sum a b => K::most(sum, a.add(b)), K::most(sum, a);
    LeastSum: sum a b => K::least(sum, a.add(b)), K::least(sum, a);
}

/// # Safety
/// As for [`WindowFn`].
unsafe fn rows<V: Number, K: TapType<V>, S: TapStep<V>, const A: usize, const B: usize>(
    rows: &WindowArgs<'_>,
) {
    // SAFETY: the caller guarantees that the machine supports the level.
    let simd = unsafe { V::Simd::assume() };
    simd.vectorize(Outputs::<V, K, S, A, B>(rows, PhantomData));
}

struct Outputs<'a, V, K, S, const A: usize, const B: usize>(
    &'a WindowArgs<'a>,
    PhantomData<(V, K, S)>,
);

/// Vectors of outputs that are computed at a time.
const GROUP: usize = 4;

impl<V: Number, K: TapType<V>, S: TapStep<V>, const A: usize, const B: usize> Kernel
    for Outputs<'_, V, K, S, A, B>
{
    type Output = ();

    #[inline(always)]
    fn run<L: Simd>(self, _: L) {
        let (n, count) = (self.0.n, self.0.count);
        let vector = (V::LANES * size_of::<V::Element>()) as isize;
        let along = [A as isize * vector, B as isize * vector, vector];
        // Stride 2 takes two loads for each vector: several rows at a time would only spread these over memory.
        let by_rows = A == 1 || n <= V::LANES;
        let mut row = 0;
        // SAFETY: only `rows` above constructs these, and its caller guarantees their contract; the outputs exist.
        unsafe {
            while by_rows && row + GROUP <= count {
                let mut at = 0;
                while at + V::LANES <= n {
                    self.group::<GROUP, true>(row, at, self.0.steps, V::LANES);
                    at += V::LANES;
                }
                if at < n {
                    self.group::<GROUP, false>(row, at, self.0.steps, n - at);
                }
                row += GROUP;
            }
            while row < count {
                let mut at = 0;
                while at + GROUP * V::LANES <= n {
                    self.group::<GROUP, true>(row, at, along, V::LANES);
                    at += GROUP * V::LANES;
                }
                while at + V::LANES <= n {
                    self.group::<1, true>(row, at, along, V::LANES);
                    at += V::LANES;
                }
                if at < n {
                    self.group::<1, false>(row, at, along, n - at);
                }
                row += 1;
            }
        }
    }
}

impl<V: Number, K: TapType<V>, S: TapStep<V>, const A: usize, const B: usize>
    Outputs<'_, V, K, S, A, B>
{
    /// Computes `G` vectors of `count` outputs, `FULL` ones if these are all lanes, with the strides `steps`.
    ///
    /// # Safety
    /// As for [`WindowFn`]; the outputs exist, the first of them at `at` in row `row`.
    #[inline(always)]
    unsafe fn group<const G: usize, const FULL: bool>(
        &self,
        row: usize,
        at: usize,
        steps: [isize; 3],
        count: usize,
    ) {
        let rows = self.0;
        let first = |n: usize| row as isize * rows.steps[n];
        // SAFETY: guaranteed by the caller.
        unsafe {
            let simd = V::Simd::assume();
            let mut sums = [V::splat(simd, rows.start.cast::<V::Element>().read_unaligned()); G];
            let a = rows.a.wrapping_offset(first(0)).cast::<V::Element>().wrapping_add(A * at);
            let b = rows.b.wrapping_offset(first(1)).cast::<V::Element>().wrapping_add(B * at);
            let out = rows.out.wrapping_offset(first(2)).cast::<V::Element>().wrapping_add(at);
            let shared = steps[1] == 0;
            for &[to_a, to_b] in rows.taps {
                let (a, b) = (a.wrapping_byte_offset(to_a), b.wrapping_byte_offset(to_b));
                let same = right::<V, B, FULL>(simd, b, count);
                for g in 0..G {
                    let step = |n: usize| g as isize * steps[n];
                    let left = left::<V, K, A, FULL>(a.wrapping_byte_offset(step(0)), count);
                    let right = match shared {
                        true => same,
                        false => right::<V, B, FULL>(simd, b.wrapping_byte_offset(step(1)), count),
                    };
                    sums[g] = S::step(sums[g], left, right);
                }
            }
            for g in 0..G {
                let out = out.wrapping_byte_offset(g as isize * steps[2]);
                let sum = match rows.existing {
                    true => S::combine(left::<V, K, 1, FULL>(out, count), sums[g]),
                    false => sums[g],
                };
                if FULL { sum.store(out) } else { sum.store_partial(out, count) }
            }
        }
    }
}

/// A vector of the right operand: contiguous, or one element in each lane.
///
/// # Safety
/// `count` elements are readable, all lanes if `FULL`.
#[inline(always)]
unsafe fn right<V: Number, const B: usize, const FULL: bool>(
    simd: V::Simd,
    from: *const V::Element,
    count: usize,
) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (B, FULL) {
            (0, _) => V::splat(simd, from.read()),
            (_, true) => V::load(from),
            (_, false) => V::load_partial(from, count),
        }
    }
}

/// A vector of elements of stride `A`.
///
/// # Safety
/// `count` elements are readable, all lanes if `FULL`.
#[inline(always)]
unsafe fn left<V: Number, K: TapType<V>, const A: usize, const FULL: bool>(
    from: *const V::Element,
    count: usize,
) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (A, FULL) {
            (1, true) => V::load(from),
            (1, false) => V::load_partial(from, count),
            (_, true) => evens::<V, K>(from, 2 * V::LANES - 1),
            (_, false) => evens::<V, K>(from, 2 * count - 1),
        }
    }
}

/// The first `count` > 0 elements of stride 2.
///
/// # Safety
/// These are readable.
#[inline(always)]
unsafe fn evens<V: Number, K: TapType<V>>(from: *const V::Element, count: usize) -> V {
    let (low, high) = (count.min(V::LANES), count.saturating_sub(V::LANES));
    // SAFETY: guaranteed by the caller; if `high` is not 0, `low` is `LANES`.
    unsafe {
        let first = if low == V::LANES { V::load(from) } else { V::load_partial(from, low) };
        K::evens(first, V::load_partial(from.wrapping_add(low), high))
    }
}

/// The kernel for an element type, a map and a reduction, and strides along rows.
pub fn find(
    t: DType,
    map: Option<BinaryOp>,
    reduce: Monoid,
    steps: [isize; 2],
    level: Level,
) -> Option<WindowFn> {
    level.run(FindWindow { t, map, reduce, steps })
}

struct FindWindow {
    t: DType,
    map: Option<BinaryOp>,
    reduce: Monoid,
    steps: [isize; 2],
}

impl Kernel for FindWindow {
    type Output = Option<WindowFn>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Option<WindowFn> {
        if !S::SPECIAL_KERNELS {
            return None;
        }
        match self.t {
            DType::F32 => self.of::<S::F32, FloatElements>(),
            DType::F64 => self.of::<S::F64, FloatElements>(),
            DType::I32 => self.of::<S::I32, IntegerElements>(),
            DType::I64 => self.of::<S::I64, IntegerElements>(),
            _ => None,
        }
    }
}

impl FindWindow {
    fn of<V: Number, K: TapType<V>>(&self) -> Option<WindowFn> {
        match (self.map, self.reduce) {
            (None, Monoid::Add) => self.one::<V, K, Sum<K>>(),
            (None, Monoid::Max) => self.one::<V, K, Most<K>>(),
            (None, Monoid::Min) => self.one::<V, K, Least<K>>(),
            (Some(BinaryOp::Mul), Monoid::Add) => self.two::<V, K, SumOfProducts<K>>(),
            (Some(BinaryOp::Add), Monoid::Max) => self.two::<V, K, MostSum<K>>(),
            (Some(BinaryOp::Add), Monoid::Min) => self.two::<V, K, LeastSum<K>>(),
            _ => None,
        }
    }

    /// Kernel with one input.
    fn one<V: Number, K: TapType<V>, S: TapStep<V>>(&self) -> Option<WindowFn> {
        match self.steps {
            [1, _] => Some(rows::<V, K, S, 1, 0>),
            [2, _] if K::EVENS => Some(rows::<V, K, S, 2, 0>),
            _ => None,
        }
    }

    /// Kernel with two inputs.
    fn two<V: Number, K: TapType<V>, S: TapStep<V>>(&self) -> Option<WindowFn> {
        match self.steps {
            [1, 0] => Some(rows::<V, K, S, 1, 0>),
            [1, 1] => Some(rows::<V, K, S, 1, 1>),
            [2, 0] if K::EVENS => Some(rows::<V, K, S, 2, 0>),
            _ => None,
        }
    }
}
