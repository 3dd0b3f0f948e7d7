//! The level of every machine: arrays of 16 bytes, which compilers turn into vectors of the baseline (SSE2, NEON).

use super::{Bits, Float, Kernel, Number, Simd, Vector};

/// The level without detection.
#[derive(Clone, Copy)]
pub struct Portable;

impl Simd for Portable {
    type F32 = Lanes<f32, 4>;
    type F64 = Lanes<f64, 2>;
    type I32 = Lanes<i32, 4>;
    type I64 = Lanes<i64, 2>;
    type U8 = Lanes<u8, 16>;
    const REGISTERS: usize = 16;
    const FUSED: bool = FUSED;
    const SPECIAL_KERNELS: bool = cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64")));

    #[inline(always)]
    unsafe fn assume() -> Self {
        Self
    }

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
}

/// A vector as an array.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Lanes<T, const N: usize>([T; N]);

impl<T: Copy, const N: usize> Lanes<T, N> {
    #[inline(always)]
    fn zip(self, right: Self, f: impl Fn(T, T) -> T) -> Self {
        let mut out = self;
        for lane in 0..N {
            out.0[lane] = f(self.0[lane], right.0[lane]);
        }
        out
    }

    /// The lanes of `yes` where the condition holds of a lane, and of `no` elsewhere.
    #[inline(always)]
    fn pick(self, condition: impl Fn(usize) -> bool, yes: Self, no: Self) -> Self {
        let mut out = no;
        for lane in 0..N {
            if condition(lane) {
                out.0[lane] = yes.0[lane];
            }
        }
        out
    }
}

impl<T: Copy + Default, const N: usize> Vector for Lanes<T, N> {
    type Element = T;
    type Simd = Portable;
    const LANES: usize = N;

    #[inline(always)]
    fn splat(_: Portable, value: T) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller guarantees that N elements are readable.
        Self(unsafe { from.cast::<[T; N]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller guarantees that N elements are writable.
        unsafe { to.cast::<[T; N]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn load_partial(from: *const T, count: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self([T::default(); N]).load_partial_or(from, count) }
    }

    #[inline(always)]
    unsafe fn load_partial_or(mut self, from: *const T, count: usize) -> Self {
        // SAFETY: the caller guarantees that `count` ≤ N elements are readable.
        unsafe { std::ptr::copy_nonoverlapping(from, self.0.as_mut_ptr(), count) };
        self
    }

    #[inline(always)]
    unsafe fn store_partial(self, to: *mut T, count: usize) {
        // SAFETY: the caller guarantees that `count` ≤ N elements are writable.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), to, count) };
    }
}

/// True if the baseline has fused multiply-add; otherwise it would be a library call.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

macro_rules! float {
    ($t:ty, $n:literal) => {
        impl Number for Lanes<$t, $n> {
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                self.zip(right, |a, b| a + b)
            }
            #[inline(always)]
            fn sub(self, right: Self) -> Self {
                self.zip(right, |a, b| a - b)
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                self.zip(right, |a, b| a * b)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                let mut out = self;
                for lane in 0..$n {
                    out.0[lane] = match FUSED {
                        true => self.0[lane].mul_add(factor.0[lane], term.0[lane]),
                        false => self.0[lane] * factor.0[lane] + term.0[lane],
                    };
                }
                out
            }
            #[inline(always)]
            fn max(self, right: Self) -> Self {
                self.zip(right, |a, b| if a > b { a } else { b })
            }
            #[inline(always)]
            fn min(self, right: Self) -> Self {
                self.zip(right, |a, b| if a < b { a } else { b })
            }
        }

        impl Float for Lanes<$t, $n> {
            #[inline(always)]
            fn div(self, right: Self) -> Self {
                self.zip(right, |a, b| a / b)
            }
            #[inline(always)]
            fn neg_mul_add(self, factor: Self, term: Self) -> Self {
                self.zip(self, |a, _| -a).mul_add(factor, term)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.zip(self, |a, _| a.abs())
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.zip(self, |a, _| a.sqrt())
            }
            #[inline(always)]
            fn floor(self) -> Self {
                self.zip(self, |a, _| a.floor())
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                self.zip(self, |a, _| a.ceil())
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.zip(self, |a, _| a.round_ties_even())
            }
            #[inline(always)]
            fn where_lt(self, right: Self, yes: Self, no: Self) -> Self {
                self.pick(|lane| self.0[lane] < right.0[lane], yes, no)
            }
            #[inline(always)]
            fn where_le(self, right: Self, yes: Self, no: Self) -> Self {
                self.pick(|lane| self.0[lane] <= right.0[lane], yes, no)
            }
            #[inline(always)]
            fn where_eq(self, right: Self, yes: Self, no: Self) -> Self {
                self.pick(|lane| self.0[lane] == right.0[lane], yes, no)
            }
            #[inline(always)]
            fn max_nan(self, right: Self) -> Self {
                self.zip(right, |a, b| if a > b || a.is_nan() { a } else { b })
            }
            #[inline(always)]
            fn min_nan(self, right: Self) -> Self {
                self.zip(right, |a, b| if a < b || a.is_nan() { a } else { b })
            }
            #[inline(always)]
            fn interleave(self, right: Self) -> (Self, Self) {
                let (mut low, mut high) = (self, right);
                for n in 0..$n / 2 {
                    (low.0[2 * n], low.0[2 * n + 1]) = (self.0[n], right.0[n]);
                    (high.0[2 * n], high.0[2 * n + 1]) = (self.0[n + $n / 2], right.0[n + $n / 2]);
                }
                (low, high)
            }
            #[inline(always)]
            fn deinterleave(self, right: Self) -> (Self, Self) {
                let (mut even, mut odd) = (self, right);
                for n in 0..$n / 2 {
                    (even.0[n], odd.0[n]) = (self.0[2 * n], self.0[2 * n + 1]);
                    (even.0[n + $n / 2], odd.0[n + $n / 2]) = (right.0[2 * n], right.0[2 * n + 1]);
                }
                (even, odd)
            }
        }
    };
}

macro_rules! integer {
    ($t:ty, $n:literal) => {
        impl Number for Lanes<$t, $n> {
            #[inline(always)]
            fn add(self, right: Self) -> Self {
                self.zip(right, <$t>::wrapping_add)
            }
            #[inline(always)]
            fn sub(self, right: Self) -> Self {
                self.zip(right, <$t>::wrapping_sub)
            }
            #[inline(always)]
            fn mul(self, right: Self) -> Self {
                self.zip(right, <$t>::wrapping_mul)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                self.mul(factor).add(term)
            }
            #[inline(always)]
            fn max(self, right: Self) -> Self {
                self.zip(right, |a, b| a.max(b))
            }
            #[inline(always)]
            fn min(self, right: Self) -> Self {
                self.zip(right, |a, b| a.min(b))
            }
        }
    };
}

float!(f32, 4);
float!(f64, 2);
integer!(i32, 4);
integer!(i64, 2);

impl Bits for Lanes<u8, 16> {
    #[inline(always)]
    fn and(self, right: Self) -> Self {
        self.zip(right, |a, b| a & b)
    }
    #[inline(always)]
    fn or(self, right: Self) -> Self {
        self.zip(right, |a, b| a | b)
    }
    #[inline(always)]
    fn xor(self, right: Self) -> Self {
        self.zip(right, |a, b| a ^ b)
    }
}
