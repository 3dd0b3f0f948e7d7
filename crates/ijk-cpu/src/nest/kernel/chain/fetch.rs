//! Operands of links as sources of vectors.

use crate::simd::{Float, Vector};

/// Source of vectors of an operand.
pub(super) trait Fetch<V>: Copy {
    /// Vector `k`.
    ///
    /// # Safety
    /// The operand has vector `k`.
    unsafe fn get(self, k: usize) -> V;
}

/// A broadcast element.
#[derive(Clone, Copy)]
pub(super) struct One<V>(pub V);

impl<V: Vector> Fetch<V> for One<V> {
    #[inline(always)]
    unsafe fn get(self, _: usize) -> V {
        self.0
    }
}

/// Contiguous elements; with `PART`, only the given number of them.
#[derive(Clone, Copy)]
pub(super) struct Each<T, const PART: bool>(pub *const T, pub usize);

impl<V: Vector, const PART: bool> Fetch<V> for Each<V::Element, PART> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match PART {
                true => V::load_partial(self.0, self.1),
                false => V::load(self.0.add(k * V::LANES)),
            }
        }
    }
}

/// Floats to which integers are rounded.
pub(super) trait Rounds<W> {
    fn rounded(whole: W) -> Self;
}

macro_rules! rounds {
    ($($from:ty => $to:ty),*) => {
        $(impl Rounds<$from> for $to {
            #[inline(always)]
            fn rounded(whole: $from) -> Self {
                whole as $to
            }
        })*
    };
}
rounds!(i32 => f32, i32 => f64, i64 => f32, i64 => f64);

/// Vectors that chains support.
pub(super) trait Value: Float<Element: Rounds<i32> + Rounds<i64>> {}
impl<V: Float<Element: Rounds<i32> + Rounds<i64>>> Value for V {}

/// Most lanes of a vector.
const MOST_LANES: usize = 16;

/// Contiguous integers, rounded to floats.
#[derive(Clone, Copy)]
pub(super) struct Rounded<W>(pub *const W, pub usize);

impl<V: Float<Element: Rounds<W>>, W: Copy> Fetch<V> for Rounded<W> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        const { assert!(V::LANES <= MOST_LANES) };
        let mut lanes = [V::Element::from(0); MOST_LANES];
        for (lane, value) in lanes[..self.1].iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *value = V::Element::rounded(unsafe { self.0.add(k * V::LANES + lane).read() });
        }
        // SAFETY: the array has a vector's lanes.
        unsafe { V::load(lanes.as_ptr()) }
    }
}

/// Products of two operands.
#[derive(Clone, Copy)]
pub(super) struct Times<A, B>(pub A, pub B);

impl<V: Float, A: Fetch<V>, B: Fetch<V>> Fetch<V> for Times<A, B> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.get(k).mul(self.1.get(k)) }
    }
}
