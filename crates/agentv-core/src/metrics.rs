//! What an answer cost: numbers from outside are checked here, and the derived ones are made here.

use crate::provider::Reported;
use agentv_wire::{ExecutionMetrics, Object, TokenUsage, ToolCall, TraceSummary};
use serde_json::Value;
use std::collections::BTreeMap;

/// Tools that look around, unless the suite lists its own.
pub const EXPLORATION_TOOLS: [&str; 10] =
    ["read", "grep", "glob", "search", "list", "Read", "Grep", "Glob", "WebSearch", "WebFetch"];

/// Takes `token_usage`, `cost_usd` and `duration_ms` from what a provider printed. What is no usable number is left out
/// and named; it never costs the rest.
pub fn reported(object: &Object) -> (Reported, Vec<String>) {
    let mut problems = Vec::new();
    let mut number = |key: &str| match object.get(key) {
        None | Some(Value::Null) => None,
        Some(value) => amount(value).or_else(|| {
            problems
                .push(format!("`{key}` is left out: {} is not a number from 0 up", brief(value)));
            None
        }),
    };
    let cost_usd = number("cost_usd");
    let duration_ms = number("duration_ms");
    let token_usage = object.get("token_usage").and_then(|value| token_usage(value, &mut problems));
    (Reported { token_usage, cost_usd, duration_ms }, problems)
}

fn token_usage(value: &Value, problems: &mut Vec<String>) -> Option<TokenUsage> {
    if value.is_null() {
        return None;
    }
    let count = |key: &str| value.get(key).and_then(amount);
    let (Some(input), Some(output)) = (count("input"), count("output")) else {
        problems.push(format!(
            "`token_usage` is left out: {} needs `input` and `output`, both from 0 up",
            brief(value)
        ));
        return None;
    };
    let cached = count("cached");
    if cached.is_none() && value.get("cached").is_some_and(|cached| !cached.is_null()) {
        problems.push("`token_usage.cached` is left out: it is not a number from 0 up".to_owned());
    }
    Some(TokenUsage { input, output, cached })
}

/// A number that can be an amount of something.
pub fn amount(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The durations of the calls that report one, by tool, in order.
pub fn tool_durations<'a>(
    calls: impl IntoIterator<Item = &'a ToolCall>,
) -> BTreeMap<String, Vec<f64>> {
    let mut durations = BTreeMap::<String, Vec<f64>>::new();
    for call in calls {
        if let Some(duration) = call.duration_ms.filter(|ms| ms.is_finite() && *ms >= 0.0) {
            durations.entry(call.tool.clone()).or_default().push(duration);
        }
    }
    durations
}

/// Puts together what was reported and what follows from it.
pub fn derive(
    reported: &Reported,
    tool_durations: BTreeMap<String, Vec<f64>>,
    summary: &TraceSummary,
    exploration_tools: &[String],
) -> ExecutionMetrics {
    let calls: usize = summary.tool_calls_by_name.values().sum();
    let exploring: usize = summary
        .tool_calls_by_name
        .iter()
        .filter(|(tool, _)| exploration_tools.iter().any(|name| name == *tool))
        .map(|(_, count)| count)
        .sum();
    let all_durations: Vec<f64> = tool_durations.values().flatten().copied().collect();
    ExecutionMetrics {
        token_usage: reported.token_usage,
        cost_usd: reported.cost_usd,
        duration_ms: reported.duration_ms,
        exploration_ratio: (calls > 0).then(|| count(exploring) / count(calls)),
        tokens_per_tool: reported
            .token_usage
            .filter(|_| calls > 0)
            .map(|usage| usage.output / count(calls)),
        avg_tool_duration_ms: (!all_durations.is_empty())
            .then(|| all_durations.iter().sum::<f64>().min(f64::MAX) / count(all_durations.len())),
        tool_durations,
    }
}

#[expect(clippy::cast_precision_loss, reason = "tool calls of one answer are far below 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(object: &Value, expected: Reported, problems: usize) {
        let (got, found) = reported(object.as_object().unwrap());
        assert_eq!(got, expected);
        assert_eq!(found.len(), problems, "{found:?}");
    }

    #[test]
    fn a_bad_number_costs_only_itself() {
        check(
            &json!({"cost_usd": -1, "duration_ms": 5, "token_usage": {"input": "x", "output": 1}}),
            Reported { duration_ms: Some(5.0), ..Reported::default() },
            2,
        );
        check(
            &json!({"token_usage": {"input": 1, "output": 2, "cached": -3}}),
            Reported {
                token_usage: Some(TokenUsage { input: 1.0, output: 2.0, cached: None }),
                ..Reported::default()
            },
            1,
        );
    }

    #[test]
    fn absent_and_null_are_no_problem() {
        check(&json!({"cost_usd": null, "token_usage": null}), Reported::default(), 0);
    }

    #[test]
    fn an_average_of_durations_is_always_a_number() {
        let durations = BTreeMap::from([("Read".to_owned(), vec![f64::MAX, 1e300])]);
        let metrics = derive(&Reported::default(), durations, &TraceSummary::default(), &[]);
        assert_eq!(metrics.avg_tool_duration_ms, Some(f64::MAX / 2.0));
    }

    #[test]
    fn ratios_need_calls() {
        let reported = Reported {
            token_usage: Some(TokenUsage { input: 9.0, output: 10.0, cached: None }),
            ..Reported::default()
        };
        let none = derive(&reported, BTreeMap::new(), &TraceSummary::default(), &[]);
        assert_eq!((none.exploration_ratio, none.tokens_per_tool), (None, None));

        let summary = TraceSummary {
            tool_calls_by_name: [("Read".to_owned(), 3), ("Edit".to_owned(), 1)].into(),
            ..TraceSummary::default()
        };
        let some = derive(&reported, BTreeMap::new(), &summary, &["Read".to_owned()]);
        assert_eq!((some.exploration_ratio, some.tokens_per_tool), (Some(0.75), Some(2.5)));
    }
}
