//! What the answer cost.

use super::{Check, grade};
use crate::config::Fields;
use crate::evaluators::amount::Amount;
use crate::evaluators::{Build, FromConfig};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use async_trait::async_trait;
use schemars::JsonSchema;

/// Limits the cost.
#[derive(Debug)]
pub struct CostLimit {
    config: CostConfig,
}

/// `type: cost`: the answer was cheap enough. Scores 0 if the provider reports no cost.
#[derive(Debug, JsonSchema)]
pub struct CostConfig {
    /// The most US dollars that the answer may cost.
    pub budget: Amount,
}

impl FromConfig for CostLimit {
    const NAMES: &'static [&'static str] = &["cost"];
    type Config = CostConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        Some(Self { config: CostConfig { budget: fields.need("budget")? } })
    }
}

#[async_trait]
impl Evaluator for CostLimit {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let Some(value) = cx.candidate.metrics.cost_usd else {
            return Ok(Verdict::miss("No cost data available in trace"));
        };
        let limit = self.config.budget.value();
        let text = |value, limit, relation: &str| {
            format!("Cost ${value:.4} {relation} ${limit:.4} budget")
        };
        Ok(grade([Check { value, limit, text }]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Bench;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(budget: f64, reported: &Value, score: f64, text: &str) {
        let response = json!({ "text": "t", "reported": reported });
        let verdict = Bench::new("cost", &json!({ "budget": budget })).grade(&response);
        assert_eq!(verdict.score, agentv_core::Score::clamped(score));
        assert_eq!([verdict.hits, verdict.misses].concat(), [text]);
    }

    #[test]
    fn the_budget_may_be_spent() {
        check(0.05, &json!({ "cost_usd": 0.05 }), 1.0, "Cost $0.0500 <= $0.0500 budget");
        check(0.05, &json!({ "cost_usd": 1.5 }), 0.0, "Cost $1.5000 > $0.0500 budget");
    }

    #[test]
    fn an_unknown_cost_is_a_miss() {
        check(0.05, &json!({}), 0.0, "No cost data available in trace");
    }

    #[test]
    fn a_budget_is_an_amount() {
        assert_eq!(
            Bench::new("cost", &json!({ "budget": "free" })).notes(),
            ["budget: `budget` of evaluator `e` must be a number from 0 up, not the text `free`"]
        );
    }
}
