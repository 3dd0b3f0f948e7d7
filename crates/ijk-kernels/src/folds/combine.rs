//! Combination of terms, and of the lanes of vectors.

use super::LEAST;
use crate::simd::{Extremes, Float, FloatElements, IntegerElements, Number};
use std::marker::PhantomData;

/// Further operations that differ between floats and integers, which wrap.
pub(super) trait Kind<V: Number>: Extremes<V> {
    fn magnitude(x: V) -> V;
    /// Fold of all lanes.
    fn across(x: V, join: impl Fn(V, V) -> V) -> V::Element;
    /// Folds of all lanes of as many vectors as there are lanes, in the same order.
    fn across_all(all: &mut [V; LEAST], join: impl Fn(V, V) -> V) -> V;
}

impl<V: Float> Kind<V> for FloatElements {
    #[inline(always)]
    fn magnitude(x: V) -> V {
        x.abs()
    }
    #[inline(always)]
    fn across(mut x: V, join: impl Fn(V, V) -> V) -> V::Element {
        // In registers: by way of memory, each row would stall on its stores.
        for _ in 0..V::LANES.trailing_zeros() {
            let (even, odd) = x.deinterleave(x);
            x = join(even, odd);
        }
        first(x)
    }
    #[inline(always)]
    fn across_all(all: &mut [V; LEAST], join: impl Fn(V, V) -> V) -> V {
        for half in (0..V::LANES.trailing_zeros()).rev().map(|n| 1 << n) {
            for n in 0..half {
                let (even, odd) = all[2 * n].deinterleave(all[2 * n + 1]);
                all[n] = join(even, odd);
            }
        }
        all[0]
    }
}

impl<V: Number> Kind<V> for IntegerElements {
    #[inline(always)]
    fn magnitude(x: V) -> V {
        x
    }
    #[inline(always)]
    fn across(x: V, join: impl Fn(V, V) -> V) -> V::Element {
        let mut lanes = [first(x); 2 * LEAST];
        // SAFETY: there is room for two vectors.
        unsafe {
            for half in (0..V::LANES.trailing_zeros()).rev().map(|n| 1 << n) {
                let whole = if half == V::LANES / 2 { x } else { V::load(lanes.as_ptr()) };
                whole.store(lanes.as_mut_ptr());
                let upper = V::load(lanes.as_ptr().add(half));
                join(whole, upper).store(lanes.as_mut_ptr());
            }
        }
        lanes[0]
    }
    #[inline(always)]
    fn across_all(all: &mut [V; LEAST], join: impl Fn(V, V) -> V) -> V {
        let mut folds = [first(all[0]); LEAST];
        for n in 0..V::LANES {
            folds[n] = Self::across(all[n], &join);
        }
        // SAFETY: there are as many folds as lanes.
        unsafe { V::load(folds.as_ptr()) }
    }
}

/// The first lane.
#[inline(always)]
fn first<V: Number>(x: V) -> V::Element {
    let mut lane = std::mem::MaybeUninit::<V::Element>::uninit();
    // SAFETY: one element is written, and then read.
    unsafe {
        x.store_partial(lane.as_mut_ptr(), 1);
        lane.assume_init()
    }
}

/// Combination of terms.
pub(super) trait Combiner<V> {
    /// True if `join(x, x)` is `x`.
    const IDEMPOTENT: bool;
    fn join(x: V, y: V) -> V;
}

pub(super) struct Add;
pub(super) struct Max<K>(PhantomData<K>);
pub(super) struct Min<K>(PhantomData<K>);

impl<V: Number> Combiner<V> for Add {
    const IDEMPOTENT: bool = false;
    #[inline(always)]
    fn join(x: V, y: V) -> V {
        x.add(y)
    }
}

impl<V: Number, K: Kind<V>> Combiner<V> for Max<K> {
    const IDEMPOTENT: bool = true;
    #[inline(always)]
    fn join(x: V, y: V) -> V {
        K::most(x, y)
    }
}

impl<V: Number, K: Kind<V>> Combiner<V> for Min<K> {
    const IDEMPOTENT: bool = true;
    #[inline(always)]
    fn join(x: V, y: V) -> V {
        K::least(x, y)
    }
}
