//! Counter-based uniform random numbers: a function of a key and a position, so that they are the
//! same whatever the threads, blocks or processes that ask for them.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014) with its state computed from the position.

use crate::ScalarError;

/// The step of SplitMix64's state.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The key of one source of numbers: a place in a program, run with a seed.
pub const fn key(seed: u64, site: u64) -> u64 {
    mix(mix(seed.wrapping_add(STEP)).wrapping_add(site.wrapping_mul(STEP)))
}

/// 64 random bits: number `counter` of the source.
///
/// ```
/// use ijk_types::random::{bits, key};
/// assert_eq!(bits(key(7, 0), 5), bits(key(7, 0), 5));
/// assert_ne!(bits(key(7, 0), 5), bits(key(7, 1), 5));
/// ```
#[inline]
pub const fn bits(key: u64, counter: u64) -> u64 {
    let (step, start) = state(key);
    mix(counter.wrapping_mul(step).wrapping_add(start))
}

/// Factor and summand (both wrapping) that turn `counter` into the state from which [`mix`] makes random bits: for
/// loops over many counters.
pub const fn state(key: u64) -> (u64, u64) {
    (STEP, key.wrapping_add(STEP))
}

/// An integer in `lo..hi`, each as likely as the others within 2⁻⁶⁴ times their number.
///
/// # Errors
/// [`ScalarError::EmptyRange`] unless `lo < hi`.
#[inline]
pub const fn uniform_i64(bits: u64, lo: i64, hi: i64) -> Result<i64, ScalarError> {
    if lo >= hi {
        return Err(ScalarError::EmptyRange);
    }
    let count = hi.wrapping_sub(lo) as u64;
    let offset = ((bits as u128 * count as u128) >> 64) as u64;
    Ok(lo.wrapping_add(offset as i64))
}

/// A multiple of 2⁻⁵³ in `[0, 1)`, scaled to `[lo, hi)`.
///
/// # Errors
/// [`ScalarError::EmptyRange`] unless `lo < hi` and both are finite.
#[inline]
pub fn uniform_f64(bits: u64, lo: f64, hi: f64) -> Result<f64, ScalarError> {
    if !(lo < hi && lo.is_finite() && hi.is_finite()) {
        return Err(ScalarError::EmptyRange);
    }
    let unit = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
    let value = lo * (1.0 - unit) + hi * unit;
    Ok(value.max(lo).min(hi.next_down()))
}

/// SplitMix64's output function.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range() {
        let k = key(1, 2);
        for n in 0..1000 {
            assert!((-3..4).contains(&uniform_i64(bits(k, n), -3, 4).unwrap()));
            let x = uniform_f64(bits(k, n), 1.0, 1.0f64.next_up()).unwrap();
            assert_eq!(x, 1.0);
        }
        assert!(uniform_i64(u64::MAX, i64::MIN, i64::MAX).unwrap() < i64::MAX);
        assert!(uniform_f64(u64::MAX, f64::MIN, f64::MAX).unwrap() < f64::MAX);
    }

    #[test]
    fn every_value_is_met_about_as_often() {
        let mut counts = [0; 7];
        for n in 0..70_000 {
            counts[uniform_i64(bits(key(0, 0), n), 0, 7).unwrap() as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_600..10_400).contains(c)), "{counts:?}");
    }

    #[test]
    fn empty_ranges_are_errors() {
        assert_eq!(uniform_i64(0, 3, 3), Err(ScalarError::EmptyRange));
        assert_eq!(uniform_f64(0, f64::NAN, 1.0), Err(ScalarError::EmptyRange));
        assert_eq!(uniform_f64(0, 0.0, f64::INFINITY), Err(ScalarError::EmptyRange));
    }
}
