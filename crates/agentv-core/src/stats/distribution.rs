//! The normal and Student's distribution, as far as intervals need them.

use std::f64::consts::{PI, SQRT_2};

/// The value that a standard normal variable stays below with this probability; infinite at 0 and 1.
pub fn normal_quantile(probability: f64) -> f64 {
    quantile(probability, normal_below)
}

/// The same for Student's distribution with this many degrees of freedom.
pub fn student_quantile(probability: f64, freedom: f64) -> f64 {
    // From here on the two differ by less than a millionth.
    if freedom > 1e6 {
        return normal_quantile(probability);
    }
    quantile(probability, |value| student_below(value, freedom))
}

/// Halves an interval until it cannot be halved. Both distributions are symmetric around 0, so only the lower tail is
/// used: a probability near 1 has few digits left of what it is short of 1.
fn quantile(probability: f64, below: impl Fn(f64) -> f64) -> f64 {
    if probability.is_nan() || probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    let tail = probability.min(1.0 - probability);
    let (mut low, mut high) = (0.0, 1.0);
    while below(-high) > tail && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if below(-middle) > tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).copysign(probability - 0.5)
}

/// How likely a standard normal variable is to stay below a value.
pub(crate) fn normal_below(value: f64) -> f64 {
    let half = 0.5 * complementary_error(value.abs() / SQRT_2);
    if value > 0.0 { 1.0 - half } else { half }
}

/// The complementary error function of a value that is not negative.
fn complementary_error(value: f64) -> f64 {
    if value < 2.5 {
        // The power series; its terms fall quickly here.
        let (mut term, mut sum, mut index) = (value, value, 0.0);
        while term.abs() > 1e-17 * sum.abs() {
            index += 1.0;
            term *= -value * value / index;
            sum += term / (2.0 * index + 1.0);
            if index > 200.0 {
                break;
            }
        }
        return 1.0 - 2.0 / PI.sqrt() * sum;
    }
    // The continued fraction, from its far end.
    let mut fraction = 0.0;
    for index in (1..=80).rev() {
        fraction = f64::from(index) / 2.0 / (value + fraction);
    }
    (-value * value).exp() / PI.sqrt() / (value + fraction)
}

/// How likely a variable of Student's distribution is to stay below a value.
fn student_below(value: f64, freedom: f64) -> f64 {
    let outside = incomplete_beta(freedom / (freedom + value * value), freedom / 2.0, 0.5);
    if value > 0.0 { 1.0 - outside / 2.0 } else { outside / 2.0 }
}

/// The regularised incomplete beta function.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly on one side of the mean only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let logarithm = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    logarithm.exp() / a * beta_fraction(x, a, b)
}

/// Lentz's way to a continued fraction.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let safe = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut over, mut under) = (1.0, 1.0 / safe(1.0 - (a + b) * x / (a + 1.0)));
    let mut result = under;
    let mut step = 0.0;
    for _ in 0..500 {
        step += 1.0;
        let twice = a + 2.0 * step;
        let even = step * (b - step) * x / ((twice - 1.0) * twice);
        let odd = -(a + step) * (a + b + step) * x / (twice * (twice + 1.0));
        for part in [even, odd] {
            under = 1.0 / safe(1.0 + part * under);
            over = safe(1.0 + part / over);
            result *= under * over;
        }
        if (under * over - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// The logarithm of the gamma function, for positive values: Stirling's series, after a step up where it is too coarse.
pub(super) fn ln_gamma(value: f64) -> f64 {
    let (mut value, mut shift) = (value, 0.0);
    while value < 12.0 {
        shift -= value.ln();
        value += 1.0;
    }
    let inverse = 1.0 / value;
    let square = inverse * inverse;
    let series = inverse
        * (1.0 / 12.0
            - square
                * (1.0 / 360.0
                    - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))));
    shift + (value - 0.5) * value.ln() - value + 0.5 * (2.0 * PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{found} is not {expected}"
        );
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        check(normal_quantile(0.5), 0.0);
        check(normal_quantile(0.8), 0.841_621_233_572_914_2);
        check(normal_quantile(0.975), 1.959_963_984_540_054);
        check(normal_quantile(0.995), 2.575_829_303_548_901);
        check(normal_quantile(0.001), -3.090_232_306_167_813);
        check(normal_quantile(1e-9), -5.997_807_015_007_685);
    }

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        // With one degree of freedom it is Cauchy's distribution: tan(π (p − 1/2)).
        check(student_quantile(0.975, 1.0), 12.706_204_736_174_71);
        // With two: (2p − 1) / sqrt(2p (1 − p)).
        check(student_quantile(0.975, 2.0), 0.95 / (2.0 * 0.975 * 0.025_f64).sqrt());
        check(student_quantile(0.975, 4.0), 2.776_445_105_197_793);
        check(student_quantile(0.975, 10.0), 2.228_138_851_964_938_5);
        check(student_quantile(0.8, 10.0), 0.879_057_828_550_589_4);
        check(student_quantile(0.025, 30.0), -2.042_272_456_301_238_5);
        assert!((student_quantile(0.975, 1e5) - 1.959_963_984_540_054).abs() < 1e-4);
        check(student_quantile(0.975, 1e9), 1.959_963_984_540_054);
    }

    #[test]
    fn the_ends_are_infinite() {
        assert!(normal_quantile(0.0).is_infinite() && normal_quantile(1.0).is_infinite());
        assert!(normal_quantile(f64::NAN).is_infinite());
    }

    #[test]
    fn gamma_is_the_factorial() {
        check(ln_gamma(1.0), 0.0);
        check(ln_gamma(5.0), 24.0_f64.ln());
        check(ln_gamma(0.5), PI.sqrt().ln());
        check(ln_gamma(171.0), 706.573_062_245_787_4);
    }
}
