//! How two values of a field are compared.

use super::date::DateFormat;
use crate::evaluators::equal::equal;
use crate::evaluators::shown;
use serde_json::Value;

/// A comparison with its settings.
#[derive(Debug)]
pub(super) enum FieldComparison {
    Exact,
    Numeric { tolerance: f64, scale: Scale },
    Date(Vec<DateFormat>),
}

/// What a tolerance is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Absolute,
    /// Shares of the expected number.
    Relative,
}

/// A remark on a field that is right, or what is wrong with it.
type Outcome = Result<Option<String>, String>;

impl FieldComparison {
    pub(super) fn compare(&self, got: &Value, expected: &Value) -> Outcome {
        match self {
            Self::Exact => exact(got, expected),
            Self::Numeric { tolerance, scale } => numeric(got, expected, *tolerance, *scale),
            Self::Date(formats) => date(got, expected, formats),
        }
    }
}

fn exact(got: &Value, expected: &Value) -> Outcome {
    if equal(got, expected) {
        return Ok(None);
    }
    let (got, expected) = (type_name(got), type_name(expected));
    if got == expected {
        return Err("value mismatch".to_owned());
    }
    Err(format!("type mismatch: got {got}, expected {expected}"))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn numeric(got: &Value, expected: &Value, tolerance: f64, scale: Scale) -> Outcome {
    let (Some(got), Some(expected)) = (number(got), number(expected)) else {
        return Err("non-numeric value".to_owned());
    };
    if !got.is_finite() || !expected.is_finite() {
        return Err("invalid numeric value".to_owned());
    }
    let unit = match scale {
        Scale::Relative if expected != 0.0 => expected.abs(),
        _ => 1.0,
    };
    let difference = (got - expected).abs() / unit;
    // In binary, 1.1 - 1.0 is a little more than 0.1. What rounding adds is not the candidate's fault.
    let noise = 4.0 * f64::EPSILON * got.abs().max(expected.abs()) / unit;
    if difference <= tolerance + noise {
        return Ok(Some(format!("within tolerance: diff={difference:.2}")));
    }
    let tolerance = shown::number(tolerance);
    Err(format!("outside tolerance: diff={difference:.2}, tolerance={tolerance}"))
}

/// A number, or the one that a text begins with: `12.50 EUR`. Infinite if it is too big for one.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => leading_number(text.trim_start()),
        _ => None,
    }
}

fn leading_number(text: &str) -> Option<f64> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let at = |at: usize| text.as_bytes().get(at).copied();
    let sign = usize::from(matches!(at(0), Some(b'+' | b'-')));
    let mut end = sign + digits(sign);
    let mut count = end - sign;
    if at(end) == Some(b'.') {
        let fraction = digits(end + 1);
        count += fraction;
        // `5.` is 5, and the dot may end a sentence.
        end += if fraction > 0 { 1 + fraction } else { 0 };
    }
    if count == 0 {
        return None;
    }
    if matches!(at(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(at(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    text[..end].parse().ok()
}

fn date(got: &Value, expected: &Value, formats: &[DateFormat]) -> Outcome {
    let read = |value: &Value| {
        let text = value.as_str()?.trim();
        formats.iter().find_map(|format| format.read(text))
    };
    let expected = read(expected).ok_or("unparseable expected date")?;
    let got = read(got).ok_or("unparseable candidate date")?;
    if got == expected {
        return Ok(None);
    }
    Err(format!("date mismatch: got {got}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(
        comparison: &FieldComparison,
        got: &Value,
        expected: &Value,
        outcome: Result<&str, &str>,
    ) {
        let outcome = outcome.map(|remark| (!remark.is_empty()).then(|| remark.to_owned()));
        assert_eq!(comparison.compare(got, expected), outcome.map_err(str::to_owned));
    }

    #[test]
    fn exact_is_deep_equality() {
        let check =
            |got, expected, outcome| check(&FieldComparison::Exact, &got, &expected, outcome);
        check(json!({"a": [1, 2]}), json!({"a": [1.0, 2]}), Ok(""));
        check(json!("x"), json!("y"), Err("value mismatch"));
        check(json!("1"), json!(1), Err("type mismatch: got string, expected number"));
        check(json!([]), json!({}), Err("type mismatch: got array, expected object"));
        check(json!(null), json!(true), Err("type mismatch: got null, expected boolean"));
    }

    #[test]
    fn numbers_may_be_apart_by_the_tolerance() {
        let within = FieldComparison::Numeric { tolerance: 0.1, scale: Scale::Absolute };
        let check = |got, expected, outcome| check(&within, &got, &expected, outcome);
        check(json!(1.1), json!(1.0), Ok("within tolerance: diff=0.10"));
        check(json!("1.05 EUR"), json!(" 1"), Ok("within tolerance: diff=0.05"));
        check(json!(1.2), json!(1), Err("outside tolerance: diff=0.20, tolerance=0.1"));
        check(json!("one"), json!(1), Err("non-numeric value"));
        check(json!(null), json!(1), Err("non-numeric value"));
        check(json!("1e999"), json!(1), Err("invalid numeric value"));
    }

    #[test]
    fn without_a_tolerance_numbers_are_equal() {
        let equal = FieldComparison::Numeric { tolerance: 0.0, scale: Scale::Absolute };
        check(&equal, &json!("100"), &json!(100), Ok("within tolerance: diff=0.00"));
        let miss = "outside tolerance: diff=0.00, tolerance=0";
        check(&equal, &json!(100.001), &json!(100), Err(miss));
    }

    #[test]
    fn a_relative_tolerance_is_a_share_of_the_expected() {
        let within = FieldComparison::Numeric { tolerance: 0.05, scale: Scale::Relative };
        let check = |got, expected, outcome| check(&within, &got, &expected, outcome);
        check(json!(105), json!(100), Ok("within tolerance: diff=0.05"));
        check(json!(-95), json!(-100), Ok("within tolerance: diff=0.05"));
        check(json!(106), json!(100), Err("outside tolerance: diff=0.06, tolerance=0.05"));
        check(json!(0.04), json!(0), Ok("within tolerance: diff=0.04"));
    }

    #[test]
    fn a_text_begins_with_a_number() {
        for (text, number) in [
            ("12.5kg", Some(12.5)),
            ("-3", Some(-3.0)),
            ("+.5.5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e3x", Some(1000.0)),
            ("1e", Some(1.0)),
            ("1e+", Some(1.0)),
            ("2E-1", Some(0.2)),
            ("", None),
            ("-", None),
            (".", None),
            ("e5", None),
            ("$5", None),
            ("Infinity", None),
            ("é", None),
        ] {
            assert_eq!(leading_number(text), number, "{text}");
        }
    }

    #[test]
    fn dates_are_compared_by_day() {
        let dates = FieldComparison::Date(DateFormat::defaults());
        let check = |got, expected, outcome| check(&dates, &got, &expected, outcome);
        check(json!("15-Jan-2025"), json!("2025-01-15"), Ok(""));
        check(json!(" 2025-01-15T23:30:00-05:00 "), json!("01/15/2025"), Ok(""));
        let miss = "date mismatch: got 2025-01-16, expected 2025-01-15";
        check(json!("16/01/2025"), json!("2025-01-15"), Err(miss));
        check(json!("soon"), json!("2025-01-15"), Err("unparseable candidate date"));
        check(json!(2025), json!("2025-01-15"), Err("unparseable candidate date"));
        check(json!("2025-01-15"), json!(null), Err("unparseable expected date"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[-+]?[0-9.eE]{0,6}\\PC{0,3}") {
            prop_assert!(leading_number(&text).is_none_or(|number| !number.is_nan()));
        }

        #[test]
        fn a_number_is_read_back(number in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
            prop_assert_eq!(leading_number(&format!("{number:e} EUR")), Some(number));
        }
    }
}
