//! How many tokens the answer took.

use super::{Check, grade};
use crate::config::Fields;
use crate::evaluators::amount::Amount;
use crate::evaluators::{Build, FromConfig, shown};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use async_trait::async_trait;
use schemars::JsonSchema;

/// Limits the tokens.
#[derive(Debug)]
pub struct TokenUsageLimit {
    config: TokenUsageConfig,
}

/// `type: token_usage`: the answer took few enough tokens. At least one limit is needed, and every limit that is given must
/// hold. Scores 0 if the provider reports no usage.
#[derive(Debug, JsonSchema)]
pub struct TokenUsageConfig {
    /// The most tokens in all, which is input plus output. Cached tokens are part of the input and do not count twice, as
    /// they did in AgentV 2.
    #[serde(default)]
    pub max_total: Option<Amount>,
    /// The most input tokens.
    #[serde(default)]
    pub max_input: Option<Amount>,
    /// The most output tokens.
    #[serde(default)]
    pub max_output: Option<Amount>,
}

impl FromConfig for TokenUsageLimit {
    const NAMES: &'static [&'static str] = &["token_usage", "token-usage"];
    type Config = TokenUsageConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        let config = TokenUsageConfig {
            max_total: fields.take("max_total"),
            max_input: fields.take("max_input"),
            max_output: fields.take("max_output"),
        };
        let unlimited =
            [config.max_total, config.max_input, config.max_output].iter().all(Option::is_none);
        // A limit that is there and wrong was noted when it was read.
        if unlimited && !fields.failed() {
            let message = format!(
                "{} needs at least one of `max_total`, `max_input` and `max_output`",
                fields.owner()
            );
            fields.error("config::missing", "max_total", message);
        }
        Some(Self { config })
    }
}

#[async_trait]
impl Evaluator for TokenUsageLimit {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let Some(usage) = cx.candidate.metrics.token_usage else {
            return Ok(Verdict::miss("No token usage data available in trace"));
        };
        let (input, output) = (usage.input, usage.output);
        let total = input + output;
        let check =
            |value, limit: Option<Amount>, text| Some(Check { value, limit: limit?.value(), text });
        let checks = [
            check(input, self.config.max_input, |a, b, relation| says("Input", a, relation, b)),
            check(output, self.config.max_output, |a, b, relation| says("Output", a, relation, b)),
            check(total, self.config.max_total, |a, b, relation| says("Total", a, relation, b)),
        ];
        let [input, output, cached, total] =
            [input, output, usage.cached.unwrap_or(0.0), total].map(shown::number);
        Ok(grade(checks.into_iter().flatten()).because(format!(
            "token_usage input={input}, output={output}, cached={cached}, total={total}"
        )))
    }
}

fn says(what: &str, value: f64, relation: &str, limit: f64) -> String {
    format!("{what} tokens {} {relation} {}", shown::number(value), shown::number(limit))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Bench;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(config: &Value, usage: &Value, score: f64, hits: &[&str], misses: &[&str]) {
        let response = json!({ "text": "t", "reported": { "token_usage": usage } });
        let verdict = Bench::new("token_usage", config).grade(&response);
        assert_eq!(verdict.hits, hits);
        assert_eq!(verdict.misses, misses);
        assert_eq!(verdict.score, agentv_core::Score::clamped(score));
    }

    #[test]
    fn every_given_limit_must_hold() {
        let usage = json!({ "input": 100, "output": 20, "cached": 90 });
        check(
            &json!({ "max_total": 120, "maxInput": 100, "max_output": 19 }),
            &usage,
            0.0,
            &["Input tokens 100 <= 100", "Total tokens 120 <= 120"],
            &["Output tokens 20 > 19"],
        );
        check(&json!({ "max_input": 100 }), &usage, 1.0, &["Input tokens 100 <= 100"], &[]);
    }

    #[test]
    fn unknown_usage_is_a_miss() {
        let miss = "No token usage data available in trace";
        check(&json!({ "max_total": 1 }), &json!(null), 0.0, &[], &[miss]);
    }

    #[test]
    fn the_reasoning_names_all_numbers() {
        let bench = Bench::new("token-usage", &json!({ "max_total": 1 }));
        let reasoning = |usage: Value| {
            bench.grade(&json!({ "reported": { "token_usage": usage } })).reasoning.unwrap()
        };
        assert_eq!(
            reasoning(json!({ "input": 1, "output": 2, "cached": 1 })),
            "token_usage input=1, output=2, cached=1, total=3"
        );
        assert_eq!(
            reasoning(json!({ "input": 1, "output": 2 })),
            "token_usage input=1, output=2, cached=0, total=3"
        );
    }

    #[test]
    fn at_least_one_limit_is_needed_and_none_may_be_wrong() {
        let notes = |config: &Value| Bench::new("token_usage", config).notes();
        assert_eq!(
            notes(&json!({})),
            [": evaluator `e` needs at least one of `max_total`, `max_input` and `max_output`"]
        );
        assert_eq!(
            notes(&json!({ "max_total": "x", "max_input": 1 })),
            [
                "max_total: `max_total` of evaluator `e` must be a number from 0 up, not the text `x`"
            ]
        );
    }
}
