//! Conversions of `f16` and `bf16`: one rounding, to nearest, ties to even; NaN stays NaN, quiet.
//!
//! Without branches, so that loops over them become vector instructions, and with the bits of processors that have
//! instructions for them.

use crate::{bf16, f16};

/// The value of an `f16`, exactly.
#[inline(always)]
pub fn widen_f16(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let (sign, magnitude) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
    let exponent = magnitude & 0x0f80_0000;
    // The exponents' biases differ by 112.
    let normal = magnitude + (112 << 23);
    // One more than the exponent of all subnormals, from which its value without fraction is subtracted.
    let subnormal = f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23);
    let quiet = if magnitude > 0x0f80_0000 { 1 << 22 } else { 0 };
    let infinite = (magnitude + (224 << 23)) | quiet;
    let finite = if exponent == 0 { subnormal.to_bits() } else { normal };
    f32::from_bits(sign | if exponent == 0x0f80_0000 { infinite } else { finite })
}

/// The value of a `bf16`, exactly.
#[inline(always)]
pub fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Floating-point numbers that round to `f16` and `bf16`.
pub trait Narrow {
    /// The nearest `f16`.
    fn narrow_f16(self) -> f16;
    /// The nearest `bf16`.
    fn narrow_bf16(self) -> bf16;
}

impl Narrow for f32 {
    #[inline(always)]
    fn narrow_f16(self) -> f16 {
        let bits = self.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let odd = (magnitude >> 13) & 1;
        let normal = magnitude.wrapping_add(0xfff + odd).wrapping_sub(112 << 23) >> 13;
        // The sum's last bit has the value of the least subnormal, so that the addition rounds.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
        let finite = if magnitude < 113 << 23 { subnormal } else { normal };
        let number = if magnitude >= 143 << 23 { 0x7c00 } else { finite };
        let half = if magnitude > 0x7f80_0000 { nan } else { number };
        f16::from_bits(((bits >> 16) & 0x8000 | half) as u16)
    }

    #[inline(always)]
    fn narrow_bf16(self) -> bf16 {
        let bits = self.to_bits();
        let odd = (bits >> 16) & 1;
        let number = bits.wrapping_add(0x7fff + odd) >> 16;
        let nan = (bits >> 16) | 0x40;
        bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { number } as u16)
    }
}

/// An `f32` that rounds to 8 or 11 bits as `x` does: bits that it has no room for are joined in its last one.
#[inline(always)]
fn sticky(x: f64) -> f32 {
    const LOST: u64 = (1 << 29) - 1;
    let bits = x.to_bits();
    let last = if bits & LOST != 0 { LOST + 1 } else { 0 };
    f64::from_bits(bits & !LOST | last) as f32
}

impl Narrow for f64 {
    #[inline(always)]
    fn narrow_f16(self) -> f16 {
        sticky(self).narrow_f16()
    }

    #[inline(always)]
    fn narrow_bf16(self) -> bf16 {
        /// 2⁻⁸¹, whose last bit has the value of the least subnormal `bf16`, 2⁻¹³³.
        const MAGIC: u64 = (1023 - 81) << 52;
        let magnitude = self.abs();
        let subnormal = (magnitude + f64::from_bits(MAGIC)).to_bits().wrapping_sub(MAGIC);
        let sign = (self.to_bits() >> 48) as u16 & 0x8000;
        let least = bf16::from_bits(sign | subnormal as u16);
        if magnitude < f64::from(f32::MIN_POSITIVE) { least } else { sticky(self).narrow_bf16() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finite values in ascending order, infinity at the end.
    fn ascending(widen: impl Fn(u16) -> f32, infinity: u16) -> Vec<f64> {
        (0..=infinity).map(|bits| f64::from(widen(bits))).collect()
    }

    /// Every value, the ties between neighbours, and what is next to these.
    fn check(widen: impl Fn(u16) -> f32, infinity: u16, narrow: impl Fn(f64) -> [u16; 2]) {
        let values = ascending(widen, infinity);
        assert!(values.is_sorted() && values.last().unwrap().is_infinite());
        for bits in 0..infinity {
            let (below, mut above) = (values[usize::from(bits)], values[usize::from(bits) + 1]);
            assert_eq!(narrow(below), [bits; 2]);
            assert_eq!(narrow(-below), [bits | 0x8000; 2]);
            if above.is_infinite() {
                above = below + (below - values[usize::from(bits) - 1]);
            }
            let tie = below + (above - below) / 2.0;
            assert_eq!(narrow(tie), [bits + (bits & 1); 2], "{tie:e}");
            assert_eq!(narrow(tie.next_up())[0], bits + 1);
            assert_eq!(narrow(tie.next_down())[0], bits);
            let (up, down) = ((tie as f32).next_up(), (tie as f32).next_down());
            assert_eq!(narrow(f64::from(up)), [bits + 1; 2]);
            assert_eq!(narrow(f64::from(down)), [bits; 2]);
        }
        assert_eq!(narrow(f64::INFINITY), [infinity; 2]);
        assert!(narrow(f64::NAN)[0] > infinity && narrow(f64::NAN)[1] > infinity);
        assert_eq!(narrow(1e300), [infinity; 2]);
    }

    #[test]
    fn binary16_rounds_to_nearest_even() {
        let widen = |bits| widen_f16(f16::from_bits(bits));
        check(widen, 0x7c00, |x| [x.narrow_f16(), (x as f32).narrow_f16()].map(f16::to_bits));
        for bits in 0..=u16::MAX {
            let exact = f16::from_bits(bits).to_f32_const();
            assert!(widen(bits).to_bits() == exact.to_bits(), "{bits:x}");
        }
    }

    #[test]
    fn brain_floats_round_to_nearest_even() {
        let widen = |bits| widen_bf16(bf16::from_bits(bits));
        check(widen, 0x7f80, |x| [x.narrow_bf16(), (x as f32).narrow_bf16()].map(bf16::to_bits));
        assert_eq!((1e-45f64).narrow_bf16().to_bits(), 0);
    }
}
