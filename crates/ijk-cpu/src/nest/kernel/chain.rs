//! Chains of cheap functions: each element passes all of them in registers.
//!
//! Separate loops over a tile load and store L1 for each function, which takes longer than the arithmetic. Here several
//! vectors of a tile are processed by the whole chain, and each link is dispatched once for all of them.

mod fetch;
mod functions;
mod link;
#[cfg(test)]
mod tests;

use crate::lines::LINE;
use crate::simd::{Kernel, Level, Simd, Vector};
use fetch::Value;
use functions::linked;
use ijk_types::DType;

pub(crate) use link::{Compare, Link, LinkCode, LinkOp};

/// Returns true for element types with compiled chains.
pub(crate) fn chains(t: DType, level: Level) -> bool {
    // NEON's instruction differs in the sign of zeros; the portable level has too few registers.
    matches!(t, DType::F32 | DType::F64) && matches!(level.name(), "avx2" | "avx512")
}

/// Destination of the values of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    pub first: *mut u8,
    /// Non-temporal stores, if the address is aligned to lines and the level [`streams`].
    pub stream: bool,
}

/// Returns true for levels whose chains support non-temporal stores.
pub(crate) fn streams(level: Level) -> bool {
    level.name() == "avx512"
}

/// Computes the chain `links` for `n` elements of type `t` into a destination.
///
/// # Safety
/// `to` has room for `n` elements, which overlap no operand; operands have `n` elements, or one if broadcast; only the
/// first link is a start; [`chains`] holds for the type. Streaming stores need a [`fence`](crate::copy::fence) before
/// other threads read.
pub(crate) unsafe fn chain(level: Level, t: DType, n: usize, to: Destination, links: &[Link]) {
    let stream = to.stream && to.first.addr().is_multiple_of(LINE);
    let chain = ChainCall { n, dst: to.first, stream, links };
    match t {
        DType::F64 => level.run(Double(chain)),
        _ => level.run(Single(chain)),
    }
}

#[derive(Clone, Copy)]
struct ChainCall<'a> {
    n: usize,
    dst: *mut u8,
    stream: bool,
    links: &'a [Link],
}

struct Single<'a>(ChainCall<'a>);
struct Double<'a>(ChainCall<'a>);

impl Kernel for Single<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: guaranteed by the caller of `chain`, which constructs it.
        unsafe { self.0.run_fused::<S, S::F32>(simd) }
    }
}

impl Kernel for Double<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: as in the kernel for `f32`.
        unsafe { self.0.run_fused::<S, S::F64>(simd) }
    }
}

impl ChainCall<'_> {
    /// Executes at levels that [have chains](chains); the code of others is removed.
    ///
    /// # Safety
    /// As for [`chain`], for elements of the vector's type.
    #[inline(always)]
    unsafe fn run_fused<S: Simd, V: Value + Vector<Simd = S>>(self, simd: S) {
        if S::FUSED {
            // SAFETY: guaranteed by the caller.
            unsafe { self.run::<V>(simd) }
        }
    }

    /// # Safety
    /// As for [`run_fused`](Self::run_fused).
    #[inline(always)]
    unsafe fn run<V: Value>(self, simd: V::Simd) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            // Values take half of the registers; operands need a few.
            match V::Simd::REGISTERS {
                32.. => self.blocks::<V, 16>(simd),
                _ => self.blocks::<V, 8>(simd),
            }
        }
    }

    /// Processes blocks of `K` vectors. The last block overlaps its predecessor to be full: single vectors would
    /// dispatch each link once more.
    ///
    /// # Safety
    /// As for [`run_fused`](Self::run_fused).
    #[inline(always)]
    unsafe fn blocks<V: Value, const K: usize>(self, simd: V::Simd) {
        let block = K * V::LANES;
        // SAFETY: each block has its elements within `n`.
        unsafe {
            if self.n < block {
                for at in (0..self.n).step_by(V::LANES) {
                    self.vectors::<V, 1, true>(simd, at);
                }
                return;
            }
            let mut at = 0;
            while at + block <= self.n {
                self.vectors::<V, K, false>(simd, at);
                at += block;
            }
            if at < self.n {
                let last = Self { stream: false, ..self };
                last.vectors::<V, K, false>(simd, self.n - block);
            }
        }
    }

    /// Processes `K` vectors from an element on, or a partial vector if `PART`.
    ///
    /// # Safety
    /// As for [`run_fused`](Self::run_fused); these elements are within `n`.
    #[inline(always)]
    unsafe fn vectors<V: Value, const K: usize, const PART: bool>(self, simd: V::Simd, at: usize) {
        let mut values = [V::splat(simd, 0.into()); K];
        let count = V::LANES.min(self.n - at);
        for link in self.links {
            // SAFETY: operands have these elements, or one.
            values = unsafe { linked::<V, K, PART>(simd, link, (at, count), values) };
        }
        let dst = self.dst.cast::<V::Element>();
        for (k, value) in values.into_iter().enumerate() {
            // SAFETY: the destination has room for these elements.
            unsafe {
                match PART {
                    true => value.store_partial(dst.add(at), count),
                    false if self.stream => value.stream(dst.add(at + k * V::LANES)),
                    false => value.store(dst.add(at + k * V::LANES)),
                }
            }
        }
    }
}
