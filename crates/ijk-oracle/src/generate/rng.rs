//! A small generator of pseudo-random numbers: SplitMix64.

/// Pseudo-random numbers as a function of a seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x6a09_e667_f3bc_c908)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number of an inclusive range.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of `things`, which must not be empty.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len())]
    }

    /// One of `things`, by weight.
    pub fn weighted<T: Copy>(&mut self, things: &[(u32, T)]) -> T {
        let total: u32 = things.iter().map(|t| t.0).sum();
        let mut at = self.below(total as usize) as u32;
        for &(weight, thing) in things {
            match at.checked_sub(weight) {
                Some(rest) => at = rest,
                None => return thing,
            }
        }
        unreachable!("the weights sum up to their total")
    }

    /// Shuffles `things`.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn depends_on_the_seed_alone() {
        let numbers = |seed| (0..4).map(|_| Rng::new(seed).bits()).collect::<Vec<_>>();
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn stays_in_range() {
        let mut rng = Rng::new(0);
        assert!((0..1000).all(|_| (3..=7).contains(&rng.between(3, 7))));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&rng.unit())));
    }
}
