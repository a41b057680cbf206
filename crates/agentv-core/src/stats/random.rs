//! Random numbers that are the same on every machine.

/// `SplitMix64` (Steele, Lea and Flood, 2014): 64 bits of state, one addition and a mix of bits per number. It passes the
/// usual batteries of tests and is far better than a few thousand draws can notice; it is no cipher.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator that never ends is of no use here"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number from 0 up to, but without, `end`; 0 if `end` is 0. The bias is below `end / 2^64`.
    pub fn below(&mut self, end: usize) -> usize {
        let product = u128::from(self.next()) * (end as u128);
        usize::try_from(product >> 64).unwrap_or_default()
    }

    /// A number in `[0, 1)`.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(expected.map(|_| random.next()), expected);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 5];
        for _ in 0..5000 {
            seen[random.below(5)] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }
}
