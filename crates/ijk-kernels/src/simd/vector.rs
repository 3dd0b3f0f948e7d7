//! Vector operations of a level, for kernels with explicit vectors.
//!
//! A vector value can only be made from a [`Simd`] token (or through an `unsafe` load), so it
//! proves that its instructions may be executed; that is why operations on vectors are safe.

use super::Simd;
use std::ops::Neg;

/// A fixed number of elements in one register.
pub trait Vector: Copy {
    /// Type of one lane.
    type Element: Copy;
    /// The level of this vector.
    type Simd: Simd;
    /// Number of lanes.
    const LANES: usize;

    /// The same value in each lane.
    fn splat(simd: Self::Simd, value: Self::Element) -> Self;

    /// Reads [`LANES`](Self::LANES) contiguous elements.
    ///
    /// # Safety
    /// They are readable, and the machine supports the level.
    unsafe fn load(from: *const Self::Element) -> Self;

    /// Writes [`LANES`](Self::LANES) contiguous elements.
    ///
    /// # Safety
    /// They are writable.
    unsafe fn store(self, to: *mut Self::Element);

    /// Writes with a non-temporal store, if the level has one.
    ///
    /// # Safety
    /// They are writable, and the first is aligned to the size of the vector; a fence must follow before another thread
    /// reads them.
    #[inline(always)]
    unsafe fn stream(self, to: *mut Self::Element) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.store(to) }
    }

    /// Reads the first `count` ≤ [`LANES`](Self::LANES) lanes; the others are 0.
    ///
    /// # Safety
    /// Those elements are readable, and the machine supports the level.
    unsafe fn load_partial(from: *const Self::Element, count: usize) -> Self;

    /// Reads the first `count` ≤ [`LANES`](Self::LANES) lanes; the others are as they are.
    ///
    /// # Safety
    /// Those elements are readable.
    unsafe fn load_partial_or(self, from: *const Self::Element, count: usize) -> Self;

    /// Writes the first `count` ≤ [`LANES`](Self::LANES) lanes.
    ///
    /// # Safety
    /// Those elements are writable.
    unsafe fn store_partial(self, to: *mut Self::Element, count: usize);
}

/// Arithmetic, wrapping on integers.
pub trait Number: Vector {
    /// Lane-wise sum.
    fn add(self, right: Self) -> Self;
    /// Lane-wise difference.
    fn sub(self, right: Self) -> Self;
    /// Lane-wise product.
    fn mul(self, right: Self) -> Self;
    /// `self * factor + term`, fused if the level has such an instruction.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Lane-wise maximum; if a float is NaN, either operand.
    fn max(self, right: Self) -> Self;
    /// Lane-wise minimum; if a float is NaN, either operand.
    fn min(self, right: Self) -> Self;
}

/// Operations of floats.
pub trait Float: Number<Element: From<u8> + Neg<Output = Self::Element>> {
    /// 1 in each lane, hidden from the compiler, which would turn `x.mul_add(1, y)` into an addition.
    #[inline(always)]
    fn unit(simd: Self::Simd) -> Self {
        Self::splat(simd, std::hint::black_box(1.into()))
    }
    /// Lane-wise quotient.
    fn div(self, right: Self) -> Self;
    /// `term - self * factor`, fused if the level has such an instruction.
    fn neg_mul_add(self, factor: Self, term: Self) -> Self;
    /// Lane-wise absolute value.
    fn abs(self) -> Self;
    /// Lane-wise square root.
    fn sqrt(self) -> Self;
    /// Greatest whole number that is not greater.
    fn floor(self) -> Self;
    /// Least whole number that is not less.
    fn ceil(self) -> Self;
    /// Nearest whole number, of two the even one.
    fn round(self) -> Self;
    /// `yes` in lanes where `self < right`, else `no`.
    fn where_lt(self, right: Self, yes: Self, no: Self) -> Self;
    /// `yes` in lanes where `self <= right`, else `no`.
    fn where_le(self, right: Self, yes: Self, no: Self) -> Self;
    /// `yes` in lanes where `self == right`, else `no`.
    fn where_eq(self, right: Self, yes: Self, no: Self) -> Self;
    /// Lane-wise maximum; NaN if either operand is NaN.
    fn max_nan(self, right: Self) -> Self;
    /// Lane-wise minimum; NaN if either operand is NaN.
    fn min_nan(self, right: Self) -> Self;
    /// `(a₀, b₀, a₁, b₁, …)` as two vectors.
    fn interleave(self, right: Self) -> (Self, Self);
    /// The inverse of [`interleave`](Self::interleave).
    fn deinterleave(self, right: Self) -> (Self, Self);
}

/// Maxima and minima of elements of a kind, in which floats propagate NaN.
pub(crate) trait Extremes<V> {
    /// Lane-wise maximum.
    fn most(x: V, y: V) -> V;
    /// Lane-wise minimum.
    fn least(x: V, y: V) -> V;
}

/// Elements that are floats.
pub(crate) struct FloatElements;
/// Elements that are integers.
pub(crate) struct IntegerElements;

impl<V: Float> Extremes<V> for FloatElements {
    #[inline(always)]
    fn most(x: V, y: V) -> V {
        x.max_nan(y)
    }
    #[inline(always)]
    fn least(x: V, y: V) -> V {
        x.min_nan(y)
    }
}

impl<V: Number> Extremes<V> for IntegerElements {
    #[inline(always)]
    fn most(x: V, y: V) -> V {
        x.max(y)
    }
    #[inline(always)]
    fn least(x: V, y: V) -> V {
        x.min(y)
    }
}

/// Bitwise operations.
pub trait Bits: Vector {
    /// Bitwise and.
    fn and(self, right: Self) -> Self;
    /// Bitwise or.
    fn or(self, right: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, right: Self) -> Self;
}

/// Defines a vector type with the operations of every vector; partial loads and stores are given, or use memory.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vector {
    ($simd:ident, $name:ident, $register:ty, $t:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident) => {
        vector!($simd, $name, $register, $t, $lanes, $splat, $load, $store, {
            #[inline(always)]
            unsafe fn load_partial(from: *const $t, count: usize) -> Self {
                let mut lanes = [<$t>::default(); $lanes];
                // SAFETY: the caller guarantees that `count` ≤ lanes elements are readable.
                unsafe {
                    std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
                    Self::load(lanes.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn load_partial_or(self, from: *const $t, count: usize) -> Self {
                let mut lanes = [<$t>::default(); $lanes];
                // SAFETY: the caller guarantees that `count` ≤ lanes elements are readable.
                unsafe {
                    self.store(lanes.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
                    Self::load(lanes.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store_partial(self, to: *mut $t, count: usize) {
                let mut lanes = [<$t>::default(); $lanes];
                // SAFETY: the caller guarantees that `count` ≤ lanes elements are writable.
                unsafe {
                    self.store(lanes.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
                }
            }
        });
    };
    ($simd:ident, $name:ident, $register:ty, $t:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident,
     { $($partial:tt)* }) => {
        /// One register.
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name($register);

        impl Vector for $name {
            type Element = $t;
            type Simd = $simd;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn splat(_: $simd, value: $t) -> Self {
                // SAFETY: the token proves that the machine supports the instruction.
                Self(unsafe { $splat(value as _) })
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller guarantees that the elements are readable and the machine supports the level.
                Self(unsafe { $load(from.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller guarantees that the elements are writable.
                unsafe { $store(to.cast(), self.0) }
            }
            $($partial)*
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use vector;

/// Implements operations that are one instruction each.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! instructions {
    ($($op:ident = $intrinsic:ident),*) => {
        $(#[inline(always)]
        fn $op(self, right: Self) -> Self {
            // SAFETY: vectors of this type exist only where the machine has the instructions.
            Self(unsafe { $intrinsic(self.0, right.0) })
        })*
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use instructions;
