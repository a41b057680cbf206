//! How often McNemar's exact test finds a difference.

use super::distribution::{ln_gamma, normal_below};
use super::{float, normal_quantile};

/// Up to this many cases the power is computed exactly; above, the normal distribution differs by two percent at most.
const EXACT_UP_TO: usize = 1000;

/// The power of McNemar's exact test at this level: how often it finds a difference in the direction of the losses where a
/// case is lost with one probability and won with another, smaller one.
pub fn mcnemar_power(cases: usize, lost: f64, won: f64, level: f64) -> f64 {
    let differing = (lost + won).min(1.0);
    if differing <= 0.0 {
        return 0.0;
    }
    if cases > EXACT_UP_TO {
        return normal_power(float(cases), lost, won, level);
    }
    let share = lost / (lost + won);
    let power: f64 = (1..=cases)
        .map(|count| binomial(cases, count, differing) * power_if_differing(count, share, level))
        .sum();
    power.min(1.0)
}

/// The power if this many cases differ, of which this share is lost on average: the test finds a difference if there are so
/// few wins that a fair coin would rarely give as few.
fn power_if_differing(count: usize, share: f64, level: f64) -> f64 {
    let all = float(count);
    let (mut fair, mut fair_tail) = (0.5_f64.powf(all), 0.0);
    let (mut chance, mut power) = (share.powf(all), 0.0);
    for wins in 0..=count / 2 {
        fair_tail += fair;
        if 2.0 * fair_tail > level {
            break;
        }
        power += chance;
        // From each number of wins to the next.
        let more = (all - float(wins)) / float(wins + 1);
        fair *= more;
        chance *= more * (1.0 - share) / share;
    }
    power
}

/// The same from the normal distribution. The exact test needs one loss more than the plain one.
fn normal_power(cases: f64, lost: f64, won: f64, level: f64) -> f64 {
    let (effect, differing) = (lost - won, lost + won);
    let threshold = normal_quantile(1.0 - level / 2.0) * (differing / cases).sqrt() + 1.0 / cases;
    let error = ((differing - effect * effect) / cases).sqrt();
    normal_below((effect - threshold) / error)
}

/// How likely exactly this many successes are.
fn binomial(trials: usize, successes: usize, chance: f64) -> f64 {
    if chance <= 0.0 || chance >= 1.0 {
        let certain = if chance >= 1.0 { trials } else { 0 };
        return f64::from(successes == certain);
    }
    let (all, hits) = (float(trials), float(successes));
    let ways = ln_gamma(all + 1.0) - ln_gamma(hits + 1.0) - ln_gamma(all - hits + 1.0);
    (ways + hits * chance.ln() + (all - hits) * (-chance).ln_1p()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
    }

    #[test]
    fn without_wins_it_is_a_binomial_tail() {
        // Six losses of twenty are needed: P(Bin(20, 0.3) ≥ 6).
        near(mcnemar_power(20, 0.3, 0.0, 0.05), 0.583_629, 1e-6);
        assert!(mcnemar_power(5, 1.0, 0.0, 0.05).abs() < 1e-12);
        near(mcnemar_power(6, 1.0, 0.0, 0.05), 1.0, 1e-12);
        assert!(mcnemar_power(100, 0.0, 0.0, 0.05).abs() < 1e-12);
    }

    #[test]
    fn the_normal_distribution_takes_over_smoothly() {
        for (lost, won) in [(0.12, 0.1), (0.15, 0.1), (0.03, 0.01), (0.4, 0.3)] {
            let exact = mcnemar_power(1000, lost, won, 0.05);
            near(normal_power(1000.0, lost, won, 0.05), exact, 0.025);
        }
    }

    #[test]
    fn more_wins_mean_less_power() {
        let power = |won| mcnemar_power(60, 0.2, won, 0.05);
        assert!(power(0.0) > power(0.05) && power(0.05) > power(0.1));
    }
}
