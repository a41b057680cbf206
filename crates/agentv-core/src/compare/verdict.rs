//! Is it more than noise, and how is that said?

use super::measure::Measures;
use super::{Rules, UngradedRecords};
use crate::amount::count;
use crate::stats::{Interval, Level, PairedSample, Tested, fewest_cases, holm};
use agentv_wire::comparison::{
    Comparison, ComparisonVerdict, MeanInterval, NonInferiority, Statistics,
};

/// How often an effect of the smallest size would be found.
const POWER: f64 = 0.8;

/// What one candidate comes to.
#[derive(Debug)]
pub(super) struct Judged {
    pub mean_score: Statistics,
    pub pass_rate: Option<Statistics>,
    pub verdict: ComparisonVerdict,
    pub non_inferiority: Option<NonInferiority>,
    /// How many cases it takes to show anything.
    pub fewest_cases: usize,
}

/// A measure of a candidate whose test may decide a verdict.
struct Contender<'m> {
    sample: &'m PairedSample,
    /// Whether it shares the level: it could be significant, and is not the same as another one.
    counts: bool,
}

/// Tests both measures of all candidates. All tests that could be significant share the level by Holm's method.
pub(super) fn judge(measures: &[Measures], rules: &Rules) -> Vec<Judged> {
    let contenders: Vec<Contender<'_>> =
        measures.iter().flat_map(|measures| contenders(measures, rules)).collect();
    let family = contenders.iter().filter(|contender| contender.counts).count().max(1);
    let level = Level { alpha: rules.level, tests: family };
    let tested: Vec<Tested> =
        contenders.iter().map(|contender| contender.sample.test(level, rules.resampling)).collect();
    let counted = contenders.iter().zip(&tested).filter(|(contender, _)| contender.counts);
    let counted: Vec<f64> = counted.map(|(_, tested)| tested.p_value).collect();
    let mut adjusted = holm(&counted).into_iter();
    let fewest = fewest_cases(rules.level / f64::from(u32::try_from(family).unwrap_or(u32::MAX)));
    // An effect that these tests would find may make others significant, too: all of them would share the level.
    let share = rules.level / f64::from(u32::try_from(contenders.len()).unwrap_or(u32::MAX));
    let mut statistics = contenders.iter().zip(tested).map(|(contender, tested)| {
        // The p-value of a test that cannot be significant is above the level by itself.
        let adjusted = if contender.counts { adjusted.next() } else { None };
        let p_adjusted = adjusted.unwrap_or(tested.p_value);
        let smallest_effect = contender.sample.detectable_effect(share, POWER, rules.resampling);
        let statistics = statistics(contender.sample, tested, p_adjusted, fewest, rules);
        Statistics { smallest_effect, ..statistics }
    });
    measures
        .iter()
        .filter_map(|measures| {
            let mean_score = statistics.next()?;
            let pass_rate = match &measures.pass_rate {
                None => None,
                Some(_) if measures.are_one => Some(mean_score.clone()),
                Some(_) => statistics.next(),
            };
            Some(Judged {
                verdict: overall(&mean_score, pass_rate.as_ref()),
                non_inferiority: rules.margin.map(|margin| non_inferiority(&mean_score, margin)),
                mean_score,
                pass_rate,
                fewest_cases: fewest,
            })
        })
        .collect()
}

/// The measures of a candidate, each once.
fn contenders<'m>(measures: &'m Measures, rules: &Rules) -> impl Iterator<Item = Contender<'m>> {
    let pass_rate = measures.pass_rate.as_ref().filter(|_| !measures.are_one);
    let samples = [Some(&measures.mean_score), pass_rate].into_iter().flatten();
    let level = rules.level;
    samples.map(move |sample| Contender { sample, counts: sample.can_be_significant(level) })
}

fn statistics(
    sample: &PairedSample,
    tested: Tested,
    p_adjusted: f64,
    fewest: usize,
    rules: &Rules,
) -> Statistics {
    let differences = sample.differences();
    let difference = differences.mean().unwrap_or_default();
    let verdict = if differences.len() < fewest {
        ComparisonVerdict::TooFewCases
    } else if p_adjusted > rules.level {
        ComparisonVerdict::NoEvidence
    } else if difference < 0.0 {
        ComparisonVerdict::Regression
    } else {
        ComparisonVerdict::Improvement
    };
    let confidence = 1.0 - rules.level;
    let interval = sample.interval(confidence, rules.resampling);
    Statistics {
        test: tested.test,
        cases: differences.len(),
        difference,
        p_value: tested.p_value,
        p_adjusted,
        level: rules.level,
        verdict,
        interval: interval.and_then(|interval| consistent(interval, verdict)),
        confidence,
        smallest_effect: None,
        seed: rules.resampling.seed,
    }
}

/// The interval and the test are two methods, and tests share the level. An interval without 0 beside a test that found
/// nothing is widened to 0, and one with 0 beside a test that found something is not shown.
fn consistent(interval: Interval, verdict: ComparisonVerdict) -> Option<MeanInterval> {
    let Interval { low, high } = interval;
    match verdict {
        ComparisonVerdict::NoEvidence | ComparisonVerdict::TooFewCases => {
            Some(MeanInterval { low: low.min(0.0), high: high.max(0.0) })
        }
        ComparisonVerdict::Regression => (high < 0.0).then_some(MeanInterval { low, high }),
        ComparisonVerdict::Improvement => (low > 0.0).then_some(MeanInterval { low, high }),
    }
}

/// One measure that is worse is enough for a regression.
fn overall(mean_score: &Statistics, pass_rate: Option<&Statistics>) -> ComparisonVerdict {
    let verdicts = || [Some(mean_score), pass_rate].into_iter().flatten().map(|one| one.verdict);
    for decisive in [ComparisonVerdict::Regression, ComparisonVerdict::Improvement] {
        if verdicts().any(|verdict| verdict == decisive) {
            return decisive;
        }
    }
    mean_score.verdict
}

/// A mean that is significantly better is not worse by any margin, even where no interval is shown.
fn non_inferiority(mean_score: &Statistics, margin: f64) -> NonInferiority {
    let is_better = mean_score.verdict == ComparisonVerdict::Improvement;
    let holds = match mean_score.interval {
        _ if is_better => Some(true),
        Some(interval) => Some(interval.low > -margin),
        None if mean_score.verdict == ComparisonVerdict::Regression => Some(false),
        None => None,
    };
    NonInferiority { margin, holds }
}

/// The verdict in words, the most important first.
pub(super) fn reasons(comparison: &Comparison, rules: &Rules, fewest_cases: usize) -> Vec<String> {
    let Comparison { statistics, summary, .. } = comparison;
    let mut reasons = main_reasons(comparison, fewest_cases);
    if comparison.verdict == ComparisonVerdict::NoEvidence {
        reasons.push(blind_spot(statistics.smallest_effect));
    }
    reasons.extend(comparison.non_inferiority.map(|shown| margin_reason(shown, statistics)));
    let left_out = match rules.ungraded {
        UngradedRecords::LeftOut => "are left out",
        UngradedRecords::AsRecorded => "count with their recorded score",
    };
    let counts = [
        ("records with an error", summary.errors1, summary.errors2),
        ("ungraded records", summary.ungraded1, summary.ungraded2),
    ];
    for (what, one, other) in counts.into_iter().filter(|(_, one, other)| one + other > 0) {
        reasons.push(format!("{what} {left_out}: {one} in the baseline, {other} in the candidate"));
    }
    if summary.missing > 0 && !comparison.matched.is_empty() {
        let all = summary.matched + summary.missing;
        reasons.push(format!(
            "{} of {} of the baseline could not be compared",
            summary.missing,
            cases(all)
        ));
    }
    reasons
}

fn main_reasons(comparison: &Comparison, fewest_cases: usize) -> Vec<String> {
    let Comparison { statistics, pass_statistics, .. } = comparison;
    let Statistics { cases: count, level, .. } = *statistics;
    let tested = || {
        let pass_rate = pass_statistics.as_ref().map(|one| ("pass rate", one));
        [Some(("mean score", statistics)), pass_rate].into_iter().flatten()
    };
    match comparison.verdict {
        ComparisonVerdict::TooFewCases if count == 0 => {
            vec!["the runs have no case in common that both have graded".to_owned()]
        }
        ComparisonVerdict::TooFewCases => vec![format!(
            "{} cannot show a difference at the level {level}; it takes at least {fewest_cases}",
            cases(count)
        )],
        ComparisonVerdict::NoEvidence => {
            let p_value = tested().map(|(_, one)| one.p_adjusted).fold(1.0, f64::min);
            vec![format!("the differences may be chance: {} is above {level}", p_text(p_value))]
        }
        ComparisonVerdict::Regression | ComparisonVerdict::Improvement => tested()
            .filter_map(|(measure, one)| {
                let direction = match one.verdict {
                    ComparisonVerdict::Regression => "worse",
                    ComparisonVerdict::Improvement => "better",
                    _ => return None,
                };
                let p_value = p_text(one.p_adjusted);
                Some(format!("{measure} is {direction}; unlikely to be chance ({p_value})"))
            })
            .collect(),
    }
}

/// What may have been overlooked.
fn blind_spot(effect: Option<f64>) -> String {
    match effect {
        Some(effect) => format!(
            "these cases would most likely miss a true difference below {effect:.3} (80 % power)"
        ),
        None => "these cases are too few, or scatter too much, to show any difference reliably"
            .to_owned(),
    }
}

fn margin_reason(shown: NonInferiority, mean_score: &Statistics) -> String {
    let NonInferiority { margin, holds } = shown;
    let low =
        mean_score.interval.map(|interval| format!(": the interval starts at {:.3}", interval.low));
    let low = low.unwrap_or_default();
    match holds {
        Some(true) => format!("not worse by more than the margin {margin}{low}"),
        Some(false) => format!("may be worse by more than the margin {margin}{low}"),
        None => format!(
            "whether it is worse by more than the margin {margin} cannot be said: too few cases for an interval"
        ),
    }
}

fn cases(number: usize) -> String {
    count(number, "case", "cases")
}

/// Small p-values are not shown exactly: no sample is that good.
fn p_text(p_value: f64) -> String {
    if p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p_value:.3}") }
}
