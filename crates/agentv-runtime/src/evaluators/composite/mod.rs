//! Evaluators inside an evaluator. Its members grade at the same time, and an aggregator makes one score of theirs.
//!
//! ```yaml
//! - name: release-gate
//!   type: composite
//!   evaluators:
//!     - { name: safe, type: llm_judge, prompt: prompts/safe.md }
//!     - { name: short, type: regex, pattern: '^.{1,400}$' }
//!   aggregator:
//!     type: weighted_average
//!     weights: { safe: 3 }
//! ```
//!
//! A member that fails to grade counts as its own `on_judge_error` says: 0, not at all, or the end of the composite.

mod aggregate;
mod config;

#[cfg(test)]
mod tests;

pub use config::CompositeConfig;

use super::{Build, FromConfig};
use crate::config::Fields;
use agentv_core::evaluator::OnError;
use agentv_core::record::{Graded, evaluator_result};
use agentv_core::{EvalContext, Evaluator, EvaluatorEntry, EvaluatorError, Verdict};
use agentv_wire::EvaluatorResult;
use aggregate::Aggregator;
use async_trait::async_trait;
use futures_util::future::join_all;

/// Asks its members and puts their verdicts together.
#[derive(Debug)]
pub struct Composite {
    members: Vec<EvaluatorEntry>,
    aggregator: Aggregator,
}

impl FromConfig for Composite {
    const NAMES: &'static [&'static str] = &["composite"];
    type Config = CompositeConfig;

    fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Self> {
        config::read(fields, build)
    }
}

#[async_trait]
impl Evaluator for Composite {
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let outcomes =
            join_all(self.members.iter().map(|member| member.evaluator.evaluate(cx))).await;
        let mut results = Vec::with_capacity(outcomes.len());
        for (entry, outcome) in self.members.iter().zip(outcomes) {
            if let (OnError::Fail, Err(error)) = (entry.on_error, &outcome) {
                return Err(EvaluatorError {
                    message: format!("member '{}' failed: {error}", entry.name),
                    ..error.clone()
                });
            }
            results.push(evaluator_result(Graded { entry, outcome }));
        }
        let counted: Vec<&EvaluatorResult> = results
            .iter()
            .zip(&self.members)
            .filter(|(result, member)| counts(result, member))
            .map(|(r, _)| r)
            .collect();
        let verdict = self.aggregator.aggregate(&counted, cx).await?;
        Ok(Verdict { members: Some(self.aggregator.shown(results)), ..verdict })
    }
}

/// Whether a member goes into the score.
fn counts(result: &EvaluatorResult, member: &EvaluatorEntry) -> bool {
    result.error.is_none() || member.on_error != OnError::Exclude
}
