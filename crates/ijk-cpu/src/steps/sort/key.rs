//! Keys of values: unsigned integers in their order.
//!
//! Equal values have equal keys, `0.0` and `-0.0` too; NaN has the greatest key in both directions.

use super::items::{Item, Pair, Tagged};

/// Unsigned integers that order values.
pub(super) trait Key: Item + Ord {
    /// A key with the position of its value; keys in order, and equal ones by position.
    type At: Item + Ord;
    /// The key with a position, which the pair can hold.
    fn at(self, position: usize) -> Self::At;
    /// The key of a pair.
    fn of(pair: Self::At) -> Self;
    /// The position of a pair.
    fn position(pair: Self::At) -> usize;
}

impl Key for u32 {
    type At = Tagged;
    #[inline(always)]
    fn at(self, position: usize) -> Tagged {
        Tagged(u64::from(self) << 32 | position as u64)
    }
    #[inline(always)]
    fn of(pair: Tagged) -> Self {
        (pair.0 >> 32) as u32
    }
    #[inline(always)]
    fn position(pair: Tagged) -> usize {
        pair.0 as u32 as usize
    }
}

impl Key for u64 {
    type At = Pair;
    #[inline(always)]
    fn at(self, position: usize) -> Pair {
        Pair { key: self, position: position as u64 }
    }
    #[inline(always)]
    fn of(pair: Pair) -> Self {
        pair.key
    }
    #[inline(always)]
    fn position(pair: Pair) -> usize {
        pair.position as usize
    }
}

/// The key of NaN, and that of 0 for what inverts the order.
type InexactKeys<K> = (K, fn(K) -> K);

/// Elements as they lie in memory.
pub(super) trait Keyed: Copy + 'static {
    /// Type of the keys.
    type Key: Key;
    /// Bytes of a key that differ.
    const BYTES: u32;
    /// Inverts the order of keys, by exclusive or.
    const FLIP: Self::Key;
    /// The key of NaN, and that of 0; none where a key determines the value.
    const INEXACT: Option<InexactKeys<Self::Key>>;
    /// The key; `flip` is 0 or [`Self::FLIP`].
    fn key(self, flip: Self::Key) -> Self::Key;
    /// The value of a key, but for NaN and the sign of 0.
    fn value(key: Self::Key, flip: Self::Key) -> Self;
}

macro_rules! integers {
    ($($t:ident as $unsigned:ident, $key:ident, $sign:expr;)*) => {
        $(impl Keyed for $t {
            type Key = $key;
            const BYTES: u32 = size_of::<$t>() as u32;
            const FLIP: $key = $unsigned::MAX as $key;
            const INEXACT: Option<InexactKeys<$key>> = None;
            #[inline(always)]
            fn key(self, flip: $key) -> $key {
                (self as $unsigned ^ $sign) as $key ^ flip
            }
            #[inline(always)]
            fn value(key: $key, flip: $key) -> $t {
                ((key ^ flip) as $unsigned ^ $sign) as $t
            }
        })*
    };
}

integers! {
    u8 as u8, u32, 0;
    u16 as u16, u32, 0;
    u32 as u32, u32, 0;
    u64 as u64, u64, 0;
    i8 as u8, u32, 1 << 7;
    i16 as u16, u32, 1 << 15;
    i32 as u32, u32, 1 << 31;
    i64 as u64, u64, 1 << 63;
}

macro_rules! floats {
    ($($t:ident as $unsigned:ident, $signed:ident;)*) => {
        $(impl Keyed for $t {
            type Key = $unsigned;
            const BYTES: u32 = size_of::<$t>() as u32;
            const FLIP: $unsigned = $unsigned::MAX;
            const INEXACT: Option<InexactKeys<$unsigned>> =
                Some(($unsigned::MAX, |flip| (0.0 as $t).key(flip)));
            #[inline(always)]
            fn key(self, flip: $unsigned) -> $unsigned {
                // The sum makes 0 of -0.
                let bits = (self + 0.0).to_bits();
                let below = (bits as $signed >> ($unsigned::BITS - 1)) as $unsigned;
                let ordered = bits ^ (below | 1 << ($unsigned::BITS - 1));
                if self.is_nan() { $unsigned::MAX } else { ordered ^ flip }
            }
            #[inline(always)]
            fn value(key: $unsigned, flip: $unsigned) -> $t {
                let ordered = key ^ flip;
                let above = (ordered as $signed >> ($unsigned::BITS - 1)) as $unsigned;
                $t::from_bits(ordered ^ (!above | 1 << ($unsigned::BITS - 1)))
            }
        })*
    };
}

floats! {
    f32 as u32, i32;
    f64 as u64, i64;
}

/// `f16` or `bf16`, by its infinity.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Half<const INFINITY: u16>(u16);

impl<const INFINITY: u16> Keyed for Half<INFINITY> {
    type Key = u32;
    const BYTES: u32 = 2;
    const FLIP: u32 = 0xFFFF;
    const INEXACT: Option<InexactKeys<u32>> = Some((0xFFFF, |flip| 0x8000 ^ flip));
    #[inline(always)]
    fn key(self, flip: u32) -> u32 {
        let bits = if self.0 == 0x8000 { 0 } else { self.0 };
        let ordered = bits ^ ((bits as i16 >> 15) as u16 | 0x8000);
        if bits & 0x7FFF > INFINITY { 0xFFFF } else { u32::from(ordered) ^ flip }
    }
    #[inline(always)]
    fn value(key: u32, flip: u32) -> Self {
        let ordered = (key ^ flip) as u16;
        Self(ordered ^ (!(ordered as i16 >> 15) as u16 | 0x8000))
    }
}

/// Elements with keys of 32 bits whose positions need more: rows of `u32::MAX` values or more.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Wide<T>(T);

impl<T: Keyed<Key = u32>> Keyed for Wide<T> {
    type Key = u64;
    const BYTES: u32 = T::BYTES;
    const FLIP: u64 = T::FLIP as u64;
    const INEXACT: Option<InexactKeys<u64>> = match T::INEXACT {
        Some((nan, _)) => Some((nan as u64, |flip| match T::INEXACT {
            Some((_, zero)) => zero(flip as u32).into(),
            None => 0,
        })),
        None => None,
    };
    #[inline(always)]
    fn key(self, flip: u64) -> u64 {
        self.0.key(flip as u32).into()
    }
    #[inline(always)]
    fn value(key: u64, flip: u64) -> Self {
        Self(T::value(key as u32, flip as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_values() {
        let values = [f32::NEG_INFINITY, -2.5, -1e-40, 0.0, 1e-40, 1.0, f32::INFINITY];
        for flip in [0, f32::FLIP] {
            let keys = values.map(|x| x.key(flip));
            assert!(keys.is_sorted_by(|a, b| if flip == 0 { a < b } else { a > b }));
            assert_eq!(values.map(|x| f32::value(x.key(flip), flip)), values);
            assert_eq!((-0.0f32).key(flip), 0.0f32.key(flip));
            assert!(keys.iter().all(|&key| key < f32::NAN.key(flip)));
        }
        let values = [i16::MIN, -3, 0, 7, i16::MAX];
        assert!(values.map(|x| x.key(0)).is_sorted());
        assert_eq!(values.map(|x| i16::value(x.key(i16::FLIP), i16::FLIP)), values);
    }

    #[test]
    fn halves_are_ordered_like_wide_numbers() {
        type Bf16 = Half<0x7F80>;
        let mut all: Vec<u16> = (0..=u16::MAX).filter(|b| b & 0x7FFF <= 0x7F80).collect();
        all.sort_by_key(|&b| Bf16::key(Half(b), 0));
        let wide = |b: &u16| f32::from_bits(u32::from(*b) << 16);
        assert!(all.iter().map(wide).is_sorted());
        let back = |b: u16| Bf16::value(Bf16::key(Half(b), 0), 0).0;
        assert!(all.iter().all(|&b| b == 0x8000 || back(b) == b));
        assert_eq!(Bf16::key(Half(0x7FC0), Bf16::FLIP), 0xFFFF);
    }
}
