//! Tests of pairs: could the differences between two runs be chance?

use super::distribution::ln_gamma;
use super::permutation::permuted_trials;
use super::{Level, PairedSample, Random, Resampling, SMALLEST_DIFFERENCE, float};
use agentv_wire::comparison::PairedTest;

/// Up to this many differences that are not zero, every way to flip their signs is tried.
const EXACT_UP_TO: usize = 24;
/// A test may cost about this many signs; with very many differences fewer patterns are tried.
const WORK: usize = 200_000_000;
/// This many more if the p-value is close to the level.
const REFINED_WORK: usize = 400_000_000;
/// No fewer patterns than this.
const FEWEST_FLIPS: usize = 2000;
/// A p-value is known up to this many standard errors: another seed would give the same verdict.
const CERTAIN: f64 = 4.0;

/// What a test found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    pub test: PairedTest,
    pub p_value: f64,
}

impl PairedSample {
    /// How likely differences at least as large as these are if the runs do not differ, two-sided.
    ///
    /// * McNemar's exact test where all values are 0 or 1 and each case has one trial.
    /// * Else the sign-flip test over clusters. It assumes that the difference of a case could as well have had the other
    ///   sign. That holds if the two runs are alike, and if some cases got better and others just as much worse.
    /// * Where a case has more trials in one run, the difference is skewed even if the runs are alike: the mean of ten trials
    ///   is rarely far off, that of one often is. Then trials are also permuted within their case, which is exact if the runs
    ///   are alike, and the larger of the two p-values counts.
    pub fn test(&self, level: Level, resampling: Resampling) -> Tested {
        if !self.is_empty() && self.is_simple() && self.is_binary() {
            let (wins, losses) = self.wins_and_losses();
            return Tested { test: PairedTest::Mcnemar, p_value: exact_mcnemar(losses, wins) };
        }
        let sums = self.differences().sums();
        let flipped = sign_flip(&sums, level, resampling);
        if self.has_unequal_trials() {
            // Where the signs settle the verdict, the trials need not be looked at closely.
            let level = Some(level).filter(|level| flipped <= level.alpha);
            let p_value = permuted_trials(self, level, resampling).max(flipped);
            return Tested { test: PairedTest::TrialPermutation, p_value };
        }
        let is_exact = sums.iter().filter(|sum| **sum != 0.0).count() <= EXACT_UP_TO;
        let test = if is_exact { PairedTest::SignFlipExact } else { PairedTest::SignFlipSampled };
        Tested { test, p_value: flipped }
    }

    /// Whether these cases can be significant at all: enough clusters differ. That depends on the sizes of the differences
    /// alone, not on their signs, so a test for which it does not hold need not share the level with others (Tarone, 1990).
    pub fn can_be_significant(&self, alpha: f64) -> bool {
        let sums = self.differences().sums();
        sums.iter().filter(|sum| **sum != 0.0).count() >= super::fewest_cases(alpha)
    }
}

/// The sign-flip permutation test, two-sided: if the two runs were alike, each difference could as well have the other
/// sign. The result is the share of all sign patterns whose sum is at least as far from 0 as the one that was seen.
///
/// Up to 24 differences all patterns are tried; with more, `resampling.flips` random ones (fewer of very many differences,
/// more where the p-value is close to the level). The pattern that was seen counts as one of them, so that the result is
/// never 0 and the test keeps its level.
/// Differences of 0 carry no sign and differences that are not finite are left out.
pub fn sign_flip(differences: &[f64], level: Level, resampling: Resampling) -> f64 {
    let signed = differences.iter().copied().filter(|value| value.is_finite());
    let signed: Vec<f64> = signed.filter(|value| value.abs() >= SMALLEST_DIFFERENCE).collect();
    if signed.is_empty() {
        return 1.0;
    }
    let sizes: Vec<f64> = signed.iter().map(|value| value.abs()).collect();
    let threshold = threshold(signed.iter().sum(), &sizes);
    if sizes.len() <= EXACT_UP_TO {
        all_flips(&sizes, threshold)
    } else {
        random_flips(&sizes, threshold, level, resampling)
    }
}

/// From where on a sum is as extreme as the one seen. Sums that differ only by rounding are equal: 0.3 − 0.2 is not 0.1.
pub(super) fn threshold(seen: f64, sizes: &[f64]) -> f64 {
    seen.abs() - 1e-9 * sizes.iter().sum::<f64>()
}

/// The share of all patterns that are extreme. Each pattern is one of the first half and one of the second; for each of the
/// first half those of the second are counted that make it extreme, by looking for where they begin.
pub(super) fn all_flips(sizes: &[f64], threshold: f64) -> f64 {
    if threshold <= 0.0 {
        return 1.0;
    }
    let (first, second) = sizes.split_at(sizes.len() / 2);
    let (first, mut second) = (signed_sums(first), signed_sums(second));
    second.sort_by(f64::total_cmp);
    let extreme = first.iter().map(|sum| {
        let above = second.len() - second.partition_point(|more| sum + more < threshold);
        let below = second.partition_point(|more| sum + more <= -threshold);
        above + below
    });
    float(extreme.sum()) / (float(first.len()) * float(second.len()))
}

/// The sum of every pattern of signs.
fn signed_sums(sizes: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for size in sizes {
        sums = sums.iter().flat_map(|sum| [sum + size, sum - size]).collect();
    }
    sums
}

fn random_flips(sizes: &[f64], threshold: f64, level: Level, resampling: Resampling) -> f64 {
    let signs = RandomSigns::of(sizes);
    sampled_p_value(sizes.len(), Some(level), resampling, |random| {
        signs.draw(random).abs() >= threshold
    })
}

/// Sums with random signs. Four sizes at a time: their 16 signed sums are looked up, not added.
pub(super) struct RandomSigns(Vec<[f64; 16]>);

impl RandomSigns {
    pub(super) fn of(sizes: &[f64]) -> Self {
        let signed_sum = |chunk: &[f64], signs: usize| -> f64 {
            let sizes = chunk.iter().enumerate();
            sizes.map(|(index, size)| if signs >> index & 1 == 1 { -size } else { *size }).sum()
        };
        let chunks = sizes.chunks(4);
        Self(chunks.map(|chunk| std::array::from_fn(|signs| signed_sum(chunk, signs))).collect())
    }

    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        let mut sum = 0.0;
        for sixteen in self.0.chunks(16) {
            let mut bits = random.next();
            for table in sixteen {
                sum += table[(bits & 15) as usize];
                bits >>= 4;
            }
        }
        sum
    }
}

/// The share of random patterns that are as extreme as the one seen, which counts as one of them. Patterns are drawn until
/// the share is on one side of the level, whatever the seed. If that would take too long, the upper end of what it may be is
/// returned, so that a close call is not significant. Without a level the first patterns are enough. `cost` is what one
/// pattern costs.
pub(super) fn sampled_p_value(
    cost: usize,
    level: Option<Level>,
    Resampling { flips, most_flips, seed, .. }: Resampling,
    mut is_extreme: impl FnMut(&mut Random) -> bool,
) -> f64 {
    let affordable = |work: usize| (work / cost.max(1)).max(FEWEST_FLIPS);
    let most = affordable(REFINED_WORK).min(most_flips as usize);
    let mut batch = (flips as usize).min(affordable(WORK)).max(1);
    let mut random = Random::new(seed);
    let (mut extreme, mut drawn) = (1_usize, 0);
    loop {
        extreme += (0..batch).filter(|_| is_extreme(&mut random)).count();
        drawn += batch;
        let p_value = float(extreme) / float(drawn + 1);
        let error = CERTAIN * (p_value * (1.0 - p_value) / float(drawn)).sqrt();
        if !level.is_some_and(|level| level.is_within(p_value - error, p_value + error)) {
            return p_value;
        }
        if drawn >= most {
            return (p_value + error).min(1.0);
        }
        batch = drawn.min(most - drawn);
    }
}

/// McNemar's exact test, two-sided: of the cases that passed in one run only, were `losses` and `wins` a fair coin? The
/// same as [`sign_flip`] where every difference is 1 or −1, in closed form for any number of them.
pub fn exact_mcnemar(losses: usize, wins: usize) -> f64 {
    let (fewer, all) = (losses.min(wins), losses + wins);
    if losses == wins {
        return 1.0;
    }
    let tail =
        if all <= EXACT_BINOMIAL { counted_tail(fewer, all) } else { summed_tail(fewer, all) };
    (2.0 * tail).min(1.0)
}

/// Up to this many throws the ways to fall can be counted in 128 bits.
const EXACT_BINOMIAL: usize = 100;

/// How likely `most` heads or fewer are in `throws` throws of a coin, by counting.
#[expect(clippy::cast_precision_loss, reason = "a rounded share is what is wanted")]
fn counted_tail(most: usize, throws: usize) -> f64 {
    let (mut ways, mut tail) = (1_u128, 1_u128);
    for heads in 1..=most as u128 {
        ways = ways * (throws as u128 - heads + 1) / heads;
        tail += ways;
    }
    tail as f64 / (1_u128 << throws) as f64
}

/// The same for any number of throws, from the largest term downwards.
fn summed_tail(most: usize, throws: usize) -> f64 {
    let (heads, all) = (float(most), float(throws));
    let ways = ln_gamma(all + 1.0) - ln_gamma(heads + 1.0) - ln_gamma(all - heads + 1.0);
    let mut term = (ways - all * std::f64::consts::LN_2).exp();
    let mut tail = term;
    for heads in (1..=most).rev() {
        let heads = float(heads);
        term *= heads / (all - heads + 1.0);
        tail += term;
        if term < tail * 1e-18 {
            break;
        }
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEVEL: Level = Level { alpha: 0.05, tests: 1 };

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[track_caller]
    fn check(differences: &[f64], expected: f64) {
        near(sign_flip(differences, LEVEL, Resampling::default()), expected);
    }

    #[test]
    fn few_differences_are_counted_out() {
        check(&[1.0; 5], 2.0 / 32.0);
        check(&[-1.0; 5], 2.0 / 32.0);
        // Of the sums ±1 ±2 ±3 two reach 6, and two more reach 4.
        check(&[1.0, 2.0, 3.0], 2.0 / 8.0);
        check(&[-1.0, 2.0, 3.0], 4.0 / 8.0);
        // Fisher's data of Darwin's maize, in eighths of an inch: 863 of 2^15 sums reach 314.
        let maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from);
        check(&maize, 2.0 * 863.0 / 32_768.0);
    }

    #[test]
    fn zeros_and_nonsense_do_not_count() {
        check(&[], 1.0);
        check(&[0.0, 0.0], 1.0);
        check(&[0.4], 1.0);
        check(&[0.5, 0.0, f64::NAN, 0.5, f64::INFINITY, 0.5], 2.0 / 8.0);
    }

    #[test]
    fn rounding_makes_no_pattern_rarer() {
        // 0.3 − 0.1 − 0.2 is not 0 for a machine.
        check(&[0.3, -0.1, -0.2], 1.0);
        check(&[0.1 + 0.2, -0.3, 0.1], 1.0);
    }

    #[test]
    fn many_differences_are_sampled_and_agree_with_theory() {
        // 25 and more are sampled; for differences of one size the closed form is McNemar's.
        for (losses, wins) in [(10, 15), (5, 20), (30, 34)] {
            let differences = [vec![-0.25; losses], vec![0.25; wins]].concat();
            let sampled = sign_flip(&differences, LEVEL, Resampling::default());
            let exact = exact_mcnemar(losses, wins);
            let error = (exact * (1.0 - exact) / 10_000.0).sqrt();
            assert!((sampled - exact).abs() < 4.0 * error + 1e-4, "{sampled} is not near {exact}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_number() {
        let differences: Vec<f64> = (0..40).map(|index| f64::from(index % 7) - 2.0).collect();
        let of =
            |seed| sign_flip(&differences, LEVEL, Resampling { seed, ..Resampling::default() });
        near(of(1), of(1));
        assert!((of(1) - of(2)).abs() > 0.0);
    }

    #[test]
    fn a_sampled_p_value_is_never_zero() {
        near(sign_flip(&[1.0; 500], LEVEL, Resampling::default()), 1.0 / 10_001.0);
    }

    #[test]
    fn mcnemar_is_twice_the_binomial_tail() {
        near(exact_mcnemar(1, 8), 0.039_062_5);
        near(exact_mcnemar(8, 1), 0.039_062_5);
        near(exact_mcnemar(0, 6), 0.031_25);
        near(exact_mcnemar(0, 0), 1.0);
        near(exact_mcnemar(7, 7), 1.0);
        near(exact_mcnemar(7, 8), 1.0);
        // 2 · Σ C(25, i) for i ≤ 5, over 2^25: 2 · 68 406 / 33 554 432.
        near(exact_mcnemar(5, 20), 136_812.0 / 33_554_432.0);
    }

    #[test]
    fn mcnemar_stands_large_numbers() {
        let p_value = exact_mcnemar(49_500, 50_500);
        // The normal approximation with a correction of one half gives 0.00158.
        assert!((0.001_5..0.001_7).contains(&p_value), "{p_value}");
        assert!((0.0..1e-300).contains(&exact_mcnemar(0, 100_000)));
    }

    #[test]
    fn both_ways_to_the_tail_agree() {
        for (most, throws) in [(0, 1), (3, 9), (20, 60), (45, 100)] {
            let (counted, summed) = (counted_tail(most, throws), summed_tail(most, throws));
            assert!((counted / summed - 1.0).abs() < 1e-12, "{counted} is not {summed}");
        }
    }

    proptest! {
        #[test]
        fn a_p_value_is_a_share_and_knows_no_direction(
            differences in prop::collection::vec(-1.0..1.0_f64, 0..30),
        ) {
            let resampling = Resampling { flips: 200, ..Resampling::default() };
            let p_value = sign_flip(&differences, LEVEL, resampling);
            let mirrored: Vec<f64> = differences.iter().map(|value| -value).collect();
            prop_assert!(p_value > 0.0 && p_value <= 1.0);
            prop_assert!((p_value - sign_flip(&mirrored, LEVEL, resampling)).abs() < 1e-12);
        }

        #[test]
        fn mcnemar_is_the_sign_flip_of_ones(losses in 0_usize..12, wins in 0_usize..12) {
            let differences = [vec![-1.0; losses], vec![1.0; wins]].concat();
            let flipped = sign_flip(&differences, LEVEL, Resampling::default());
            prop_assert!((flipped - exact_mcnemar(losses, wins)).abs() < 1e-12);
        }
    }
}
