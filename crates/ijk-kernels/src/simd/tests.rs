//! Every operation at every level, compared with one lane at a time.

use super::{Bits, Float, Kernel, Level, Number, Simd, Vector};

/// Applies one operation to all of a slice, `LANES` elements at a time and a partial rest.
struct Zip<'a, F>(&'a [F], &'a [F], &'a mut [F], usize);

macro_rules! zip {
    ($t:ty, $vector:ident, $($op:ident),*) => {
        impl Kernel for Zip<'_, $t> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, simd: S) {
                let Self(a, b, out, op) = self;
                let lanes = S::$vector::LANES;
                let mut at = 0;
                while at < a.len() {
                    let n = lanes.min(a.len() - at);
                    // SAFETY: `n` elements remain; the kernel runs at the level.
                    let (x, y) = unsafe { (
                        S::$vector::load_partial(a.as_ptr().add(at), n),
                        S::$vector::load_partial(b.as_ptr().add(at), n),
                    ) };
                    let operations: &[fn(S::$vector, S::$vector) -> S::$vector] = &[$(S::$vector::$op),*];
                    let z = operations.get(op).map_or(S::$vector::splat(simd, Default::default()), |f| f(x, y));
                    // SAFETY: `n` elements remain.
                    unsafe { z.store_partial(out.as_mut_ptr().add(at), n) };
                    at += n;
                }
            }
        }
    };
}

zip!(f32, F32, add, sub, mul, max, min, div, max_nan, min_nan);
zip!(f64, F64, add, sub, mul, max, min, div, max_nan, min_nan);
zip!(i32, I32, add, sub, mul, max, min);
zip!(i64, I64, add, sub, mul, max, min);
zip!(u8, U8, and, or, xor);

fn check<T: Copy + Default + PartialEq + std::fmt::Debug>(
    a: &[T],
    b: &[T],
    reference: &[fn(T, T) -> T],
    same: fn(&T, &T) -> bool,
) where
    for<'a> Zip<'a, T>: Kernel<Output = ()>,
{
    for level in Level::available() {
        for (op, f) in reference.iter().enumerate() {
            let mut out = vec![T::default(); a.len()];
            level.run(Zip(a, b, &mut out, op));
            for n in 0..a.len() {
                let expected = f(a[n], b[n]);
                assert!(same(&out[n], &expected), "{} {op} {n}: {:?}", level.name(), out[n]);
            }
        }
    }
}

#[test]
fn integers_wrap() {
    let values = |n: i64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64).rotate_left(17);
    let a: Vec<i64> = (0..77).map(values).collect();
    let b: Vec<i64> = (77..154).map(values).collect();
    let ops: [fn(i64, i64) -> i64; 5] =
        [i64::wrapping_add, i64::wrapping_sub, i64::wrapping_mul, Ord::max, Ord::min];
    check(&a, &b, &ops, PartialEq::eq);
    let narrow = |v: &[i64]| v.iter().map(|&x| x as i32).collect::<Vec<_>>();
    let ops: [fn(i32, i32) -> i32; 5] =
        [i32::wrapping_add, i32::wrapping_sub, i32::wrapping_mul, Ord::max, Ord::min];
    check(&narrow(&a), &narrow(&b), &ops, PartialEq::eq);
    let bytes = |v: &[i64]| v.iter().map(|&x| x as u8).collect::<Vec<_>>();
    check(&bytes(&a), &bytes(&b), &[|a, b| a & b, |a, b| a | b, |a, b| a ^ b], PartialEq::eq);
}

macro_rules! float_test {
    ($name:ident, $t:ident) => {
        #[test]
        fn $name() {
            let special = [1.5, -2.0, $t::NAN, $t::INFINITY, $t::NEG_INFINITY, 7.25];
            let a: Vec<$t> = (0..37).map(|n| special[n % 6]).collect();
            let b: Vec<$t> = (0..37).map(|n| special[n * 5 % 7 % 6]).collect();
            let max: fn($t, $t) -> $t = |a, b| if a > b || a.is_nan() { a } else { b };
            let min: fn($t, $t) -> $t = |a, b| if a < b || a.is_nan() { a } else { b };
            let any: fn($t, $t) -> $t =
                |a, b| if a.is_nan() || b.is_nan() { $t::MAX } else { a.max(b) };
            let any_min: fn($t, $t) -> $t =
                |a, b| if a.is_nan() || b.is_nan() { $t::MAX } else { a.min(b) };
            let ops: [fn($t, $t) -> $t; 8] =
                [|a, b| a + b, |a, b| a - b, |a, b| a * b, any, any_min, |a, b| a / b, max, min];
            let same = |x: &$t, y: &$t| x == y || x.is_nan() && y.is_nan() || *y == $t::MAX;
            check(&a, &b, &ops, same);
        }
    };
}

float_test!(f32_lanes, f32);
float_test!(f64_lanes, f64);

struct Weave<'a>(&'a mut [f32], &'a mut [f64]);

impl Kernel for Weave<'_> {
    type Output = (usize, usize);
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> (usize, usize) {
        // SAFETY: the slices are longer than two vectors of any level.
        unsafe {
            let (m, n) = (S::F32::LANES, S::F64::LANES);
            let x = S::F32::load(self.0.as_ptr());
            let (low, high) = x.interleave(S::F32::load(self.0.as_ptr().add(m)));
            low.store(self.0.as_mut_ptr());
            high.store(self.0.as_mut_ptr().add(m));
            let y = S::F64::load(self.1.as_ptr());
            let (even, odd) = y.deinterleave(S::F64::load(self.1.as_ptr().add(n)));
            even.store(self.1.as_mut_ptr());
            odd.store(self.1.as_mut_ptr().add(n));
            (m, n)
        }
    }
}

#[test]
fn lanes_weave() {
    for level in Level::available() {
        let mut a: Vec<f32> = (0..32).map(|n| n as f32).collect();
        let mut b: Vec<f64> = (0..16).map(|n| n as f64).collect();
        let (m, n) = level.run(Weave(&mut a, &mut b));
        for (at, &x) in a.iter().enumerate().take(2 * m) {
            assert_eq!(x, (at / 2 + at % 2 * m) as f32);
        }
        for (at, &x) in b.iter().enumerate().take(2 * n) {
            assert_eq!(x, (at % n * 2 + at / n) as f64);
        }
    }
}
