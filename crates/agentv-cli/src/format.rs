//! How numbers, durations, sizes and money are written for people: on the screen and in reports alike.

pub(crate) use agentv_core::amount::{count, dollars as money, tokens as amount};
use agentv_wire::OutcomeTotals;
use agentv_wire::comparison::MeanInterval;
use std::time::Duration;

/// With its sign; what rounds to zero is `+0`, never `-0`.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    let is_zero = text.bytes().all(|byte| !byte.is_ascii_digit() || byte == b'0');
    if is_zero { text.replacen('-', "+", 1) } else { text }
}

/// Small p-values are not shown exactly, since they are not known that exactly.
pub(crate) fn p_value(value: f64) -> String {
    if value < 0.001 { "<0.001".to_owned() } else { format!("{value:.3}") }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `0.650 (0.230 to 0.920, n=2)`: a mean score with its 95 % interval, and the number of graded cases where not all are.
pub(crate) fn mean_score(totals: &OutcomeTotals) -> String {
    let between = totals.mean_interval.map(score_interval);
    with_remarks(optional_score(totals.mean_score), [between, graded(totals)])
}

/// `0.650 (0.230–0.920, n=2)`: the same for a column of a table.
pub(crate) fn narrow_mean_score(totals: &OutcomeTotals) -> String {
    with_remarks(
        optional_score(totals.mean_score),
        [narrow_interval(totals.mean_interval), graded(totals)],
    )
}

/// `0.650 (0.230 to 0.920)`: a mean score, or another mean of values from 0 to 1, with its 95 % interval.
pub(crate) fn mean_of(mean: Option<f64>, interval: Option<MeanInterval>) -> String {
    with_remarks(optional_score(mean), [interval.map(score_interval)])
}

/// `0.650 (0.230–0.920)`: the same for a column of a table.
pub(crate) fn narrow_mean_of(mean: Option<f64>, interval: Option<MeanInterval>) -> String {
    with_remarks(optional_score(mean), [narrow_interval(interval)])
}

/// `50.0 % (15.0 % to 85.0 %)`: a pass rate with its 95 % interval.
pub(crate) fn pass_rate_interval(totals: &OutcomeTotals) -> String {
    let Some(rate) = totals.pass_rate.map(percent) else { return String::new() };
    with_remarks(rate, [totals.pass_interval.map(percent_interval)])
}

/// `3/6 (15–85 %)`: passes with the 95 % interval of the pass rate, for a column of a table.
pub(crate) fn narrow_passes(totals: &OutcomeTotals) -> String {
    let percents = |MeanInterval { low, high }| format!("{:.0}–{:.0} %", low * 100.0, high * 100.0);
    let passes = format!("{}/{}", totals.passed, totals.recorded);
    with_remarks(passes, [totals.pass_interval.map(percents)])
}

/// `0.230 to 0.920`.
pub(crate) fn score_interval(MeanInterval { low, high }: MeanInterval) -> String {
    format!("{} to {}", score(low), score(high))
}

/// `15.0 % to 85.0 %`.
fn percent_interval(MeanInterval { low, high }: MeanInterval) -> String {
    format!("{} to {}", percent(low), percent(high))
}

fn narrow_interval(interval: Option<MeanInterval>) -> Option<String> {
    interval.map(|MeanInterval { low, high }| format!("{}–{}", score(low), score(high)))
}

fn optional_score(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), score)
}

/// `n=2`, where not all records are graded.
fn graded(totals: &OutcomeTotals) -> Option<String> {
    (totals.graded < totals.recorded).then(|| format!("n={}", totals.graded))
}

/// Text with remarks in brackets, as far as there are any.
fn with_remarks<const N: usize>(text: String, remarks: [Option<String>; N]) -> String {
    let remarks: Vec<String> = remarks.into_iter().flatten().collect();
    if remarks.is_empty() { text } else { format!("{text} ({})", remarks.join(", ")) }
}

/// `32 %`, for what moves: it is never 100 before the end.
#[expect(clippy::cast_precision_loss, reason = "a percentage is shown")]
pub(crate) fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "100 %".to_owned();
    }
    format!("{:.0} %", (part as f64 / whole as f64 * 100.0).floor())
}

/// `0:07`, `12:05`, `1:02:03`: for what runs.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A score, or a mean of scores.
pub(crate) fn score(value: f64) -> String {
    format!("{value:.3}")
}

/// A score that is below a threshold, and is shown below it: `0.9996` is `0.999` where 1 is needed.
pub(crate) fn score_below(value: f64, threshold: f64) -> String {
    let shown = score(value);
    let is_below = shown.parse().is_ok_and(|shown: f64| shown < threshold);
    if is_below { shown } else { score((value * 1000.0).floor() / 1000.0) }
}

/// `1.0`, `0.8`, `0.85`: a score that is needed.
pub(crate) fn threshold(value: f64) -> String {
    let text = score(value);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

/// `1`, `0.5`, or `0.5-2` where they differ: for weights.
pub(crate) fn range(low: f64, high: f64) -> String {
    if (high - low).abs() < f64::EPSILON { format!("{high}") } else { format!("{low}-{high}") }
}

/// `850 ms`, `3.2 s`, `2 min 05 s`, `1 h 02 min`: three figures are enough for anybody.
pub(crate) fn duration(time: Duration) -> String {
    let (millis, seconds) = (time.as_millis(), time.as_secs());
    match seconds {
        0 => format!("{millis} ms"),
        // Not `60.0 s`: what would round to a minute is one.
        1..60 if millis < 59_950 => format!("{:.1} s", time.as_secs_f64()),
        1..60 => "1 min 00 s".to_owned(),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// The same of milliseconds, as records have them. What is no time is none.
pub(crate) fn millis(time: f64) -> String {
    duration(Duration::try_from_secs_f64(time / 1000.0).unwrap_or_default())
}

/// The same of tokens, as records have them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is no number of tokens is 0"
)]
pub(crate) fn tokens(number: f64) -> String {
    amount(number.round() as u64)
}

/// Bytes, as people say it.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_one_sign() {
        assert_eq!(signed(-0.000_1, 3), "+0.000");
        assert_eq!(signed(0.0, 2), "+0.00");
        assert_eq!(signed(-0.05, 2), "-0.05");
        assert_eq!(signed(0.126, 2), "+0.13");
    }

    #[test]
    fn what_falls_short_is_never_shown_as_enough() {
        assert_eq!(score_below(0.9, 1.0), "0.900");
        assert_eq!(score_below(0.999_6, 1.0), "0.999");
        assert_eq!(score_below(0.57, f64::INFINITY), "0.570");
        assert_eq!([1.0, 0.8, 0.85].map(threshold), ["1.0", "0.8", "0.85"]);
    }

    #[test]
    fn tiny_p_values_are_not_told_exactly() {
        assert_eq!(p_value(0.000_999), "<0.001");
        assert_eq!(p_value(0.039_062_5), "0.039");
        assert_eq!(p_value(1.0), "1.000");
    }

    #[test]
    fn durations_have_three_figures_at_most() {
        let check = |millis, expected: &str| {
            assert_eq!(duration(Duration::from_millis(millis)), expected);
        };
        check(0, "0 ms");
        check(999, "999 ms");
        check(1_000, "1.0 s");
        check(59_940, "59.9 s");
        check(59_960, "1 min 00 s");
        check(125_400, "2 min 05 s");
        check(3_720_000, "1 h 02 min");
    }

    #[test]
    fn a_mean_and_a_rate_have_their_intervals_in_brackets() {
        let interval = Some(MeanInterval { low: 0.125, high: 0.875 });
        let some = OutcomeTotals {
            recorded: 4,
            passed: 1,
            graded: 2,
            mean_score: Some(0.5),
            mean_interval: interval,
            pass_rate: Some(0.25),
            pass_interval: Some(MeanInterval { low: 0.014, high: 0.7 }),
            ..OutcomeTotals::default()
        };
        assert_eq!(mean_score(&some), "0.500 (0.125 to 0.875, n=2)");
        assert_eq!(narrow_mean_score(&some), "0.500 (0.125–0.875, n=2)");
        assert_eq!(pass_rate_interval(&some), "25.0 % (1.4 % to 70.0 %)");
        assert_eq!(narrow_passes(&some), "1/4 (1–70 %)");
        let whole = OutcomeTotals { graded: 4, ..some };
        assert_eq!(mean_score(&whole), "0.500 (0.125 to 0.875)");
        let ungraded = OutcomeTotals { recorded: 4, ..OutcomeTotals::default() };
        assert_eq!(mean_score(&ungraded), "- (n=0)");
        assert_eq!(narrow_mean_of(None, None), "-");
        assert_eq!(mean_of(Some(0.5), interval), "0.500 (0.125 to 0.875)");
    }

    #[test]
    fn a_clock_shows_seconds_and_a_share_is_whole_at_the_end_only() {
        let check = |seconds, expected: &str| {
            assert_eq!(clock(Duration::from_secs(seconds)), expected);
        };
        check(7, "0:07");
        check(725, "12:05");
        check(3723, "1:02:03");
        assert_eq!(share(999, 1000), "99 %");
        assert_eq!(share(1000, 1000), "100 %");
        assert_eq!(share(0, 0), "100 %");
    }

    #[test]
    fn money_shows_what_it_costs() {
        assert_eq!(money(0.0), "$0.00");
        assert_eq!(money(12.345), "$12.35");
        assert_eq!(money(0.0042), "$0.0042");
        assert_eq!(money(0.000_012), "$0.000012");
    }

    type Writer = fn(f64) -> String;

    /// The page has formats of its own, in JavaScript. A test there reads the same table.
    #[test]
    fn the_page_writes_numbers_as_we_do() {
        let table = include_str!("../../../tests/browser/figures.json");
        let table: serde_json::Value = serde_json::from_str(table).unwrap();
        let writers: [(&str, Writer); 5] = [
            ("score", score),
            ("percent", percent),
            ("millis", millis),
            ("money", money),
            ("tokens", tokens),
        ];
        assert_eq!(table.as_object().unwrap().len(), writers.len());
        for (name, write) in writers {
            for example in table[name].as_array().unwrap() {
                assert_eq!(write(example[0].as_f64().unwrap()), example[1], "{name}: {example}");
            }
        }
    }

    #[test]
    fn amounts_are_short() {
        assert_eq!(amount(999), "999");
        assert_eq!(amount(12_345), "12.3k");
        assert_eq!(amount(999_960), "1.0M");
        assert_eq!(amount(2_500_000_000), "2.5G");
    }
}
