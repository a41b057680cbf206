//! How long the answer took.

use super::{Check, grade};
use crate::config::Fields;
use crate::evaluators::amount::Amount;
use crate::evaluators::{Build, FromConfig, shown};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use async_trait::async_trait;
use schemars::JsonSchema;

/// Limits the duration.
#[derive(Debug)]
pub struct LatencyLimit {
    config: LatencyConfig,
}

/// `type: latency`: the answer came quickly enough. The duration is the provider's own, else the one that AgentV measured.
#[derive(Debug, JsonSchema)]
pub struct LatencyConfig {
    /// The most milliseconds that the answer may take.
    pub threshold: Amount,
}

impl FromConfig for LatencyLimit {
    const NAMES: &'static [&'static str] = &["latency"];
    type Config = LatencyConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        Some(Self { config: LatencyConfig { threshold: fields.need("threshold")? } })
    }
}

#[async_trait]
impl Evaluator for LatencyLimit {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let Some(duration) = cx.candidate.metrics.duration_ms else {
            return Ok(Verdict::miss("No duration data available in trace"));
        };
        let limit = self.config.threshold.value();
        let text = |value, limit, relation: &str| {
            let (value, limit) = (shown::number(value), shown::number(limit));
            format!("Duration {value}ms {relation} {limit}ms threshold")
        };
        let (took, threshold) = (shown::number(duration), shown::number(limit));
        Ok(grade([Check { value: duration, limit, text }])
            .because(format!("Execution took {took}ms (threshold: {threshold}ms)")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Bench;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(threshold: &Value, response: &Value, score: f64, text: &str) {
        let verdict = Bench::new("latency", &json!({ "threshold": threshold })).grade(response);
        assert_eq!(verdict.score, agentv_core::Score::clamped(score));
        assert_eq!([verdict.hits, verdict.misses].concat(), [text]);
    }

    fn took(milliseconds: f64) -> Value {
        json!({ "reported": { "duration_ms": milliseconds } })
    }

    #[test]
    fn the_threshold_itself_is_quick_enough() {
        check(&json!(100), &took(100.0), 1.0, "Duration 100ms <= 100ms threshold");
        check(&json!(100), &took(100.5), 0.0, "Duration 100.5ms > 100ms threshold");
        check(&json!(0), &took(0.0), 1.0, "Duration 0ms <= 0ms threshold");
    }

    #[test]
    fn the_measured_time_stands_in() {
        check(&json!(50), &json!({ "text": "t" }), 1.0, "Duration 41ms <= 50ms threshold");
    }

    #[test]
    fn the_reasoning_names_both() {
        let verdict = Bench::new("latency", &json!({ "threshold": 50 })).grade(&took(60.0));
        assert_eq!(verdict.reasoning.unwrap(), "Execution took 60ms (threshold: 50ms)");
    }

    #[test]
    fn a_threshold_is_an_amount() {
        let notes = |config: &Value| Bench::new("latency", config).notes();
        assert_eq!(notes(&json!({})), [": evaluator `e` needs `threshold`"]);
        assert_eq!(
            notes(&json!({ "threshold": -1 })),
            ["threshold: `threshold` of evaluator `e` must be a number from 0 up, not `-1`"]
        );
    }
}
