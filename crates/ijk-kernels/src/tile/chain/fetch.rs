//! Operands of links as sources of vectors.

use super::spots::Spots;
use crate::simd::{Float, Vector};
use std::marker::PhantomData;

/// Source of vectors of an operand.
pub(super) trait Fetch<V: Vector>: Copy {
    /// Vector `k`.
    ///
    /// # Safety
    /// The operand has vector `k`.
    unsafe fn get(self, k: usize) -> V;
}

/// A broadcast element for each row.
#[derive(Clone, Copy)]
pub(super) struct One<V: Vector, S: Spots>(S::Each<V>);

impl<V: Vector, S: Spots> One<V, S> {
    /// Those of an operand whose rows are `step` bytes apart.
    ///
    /// # Safety
    /// Each row has an element.
    #[inline(always)]
    pub unsafe fn of(simd: V::Simd, operand: *const u8, step: isize, spots: S) -> Self {
        Self(spots.by_row(|row| {
            let one = operand.wrapping_offset(row * step).cast::<V::Element>();
            // SAFETY: guaranteed by the caller.
            V::splat(simd, unsafe { one.read() })
        }))
    }
}

impl<V: Float<Element: Rounds<u8>>, S: Spots> One<V, S> {
    /// 1 for a true bool and 0 for a false one, each of a row, `step` bytes apart.
    ///
    /// # Safety
    /// Each row has a bool.
    #[inline(always)]
    pub unsafe fn of_bool(simd: V::Simd, operand: *const u8, step: isize, spots: S) -> Self {
        Self(spots.by_row(|row| {
            // SAFETY: guaranteed by the caller.
            let one = unsafe { operand.wrapping_offset(row * step).read() };
            V::splat(simd, V::Element::rounded(one))
        }))
    }
}

impl<V: Vector, S: Spots> Fetch<V> for One<V, S> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        S::of_row(self.0, k)
    }
}

/// Contiguous elements in each row; with `PART`, only the given number of them.
#[derive(Clone, Copy)]
pub(super) struct Each<S, const PART: bool> {
    pub operand: *const u8,
    /// Bytes from one row to the next.
    pub step: isize,
    pub spots: S,
    pub count: usize,
}

impl<V: Vector, S: Spots, const PART: bool> Fetch<V> for Each<S, PART> {
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        let first = self.spots.place(self.operand, self.step, k);
        // SAFETY: guaranteed by the caller.
        unsafe {
            match PART {
                true => V::load_partial(first, self.count),
                false => V::load(first),
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
rounds!(
    i8 => f32, i8 => f64, u8 => f32, u8 => f64, i16 => f32, i16 => f64, u16 => f32, u16 => f64,
    i32 => f32, i32 => f64, i64 => f32, i64 => f64
);

/// Vectors that chains support.
pub(super) trait Value: Float<Element: RoundsAll> {}
impl<V: Float<Element: RoundsAll>> Value for V {}

/// Floats to which all integers of chains are rounded.
pub(super) trait RoundsAll:
    Rounds<i8> + Rounds<u8> + Rounds<i16> + Rounds<u16> + Rounds<i32> + Rounds<i64>
{
}
impl RoundsAll for f32 {}
impl RoundsAll for f64 {}

/// Most lanes of a vector.
const MOST_LANES: usize = 16;

/// Contiguous integers in each row, rounded to floats.
#[derive(Clone, Copy)]
pub(super) struct Rounded<W, S, const PART: bool>(pub Each<S, PART>, pub PhantomData<W>);

impl<V: Float<Element: Rounds<W>>, W: Copy, S: Spots, const PART: bool> Fetch<V>
    for Rounded<W, S, PART>
{
    #[inline(always)]
    unsafe fn get(self, k: usize) -> V {
        const { assert!(V::LANES <= MOST_LANES) };
        let Each { operand, step, spots, count } = self.0;
        let first = spots.place::<W>(operand, step, k);
        let count = if PART { count } else { V::LANES };
        let mut lanes = [V::Element::from(0); MOST_LANES];
        for (lane, value) in lanes[..count].iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *value = V::Element::rounded(unsafe { first.add(lane).read() });
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
