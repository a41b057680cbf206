//! Evaluators inside an evaluator. Its members grade like the evaluators of a case (models at the same time, programs in
//! their order), and an aggregator makes one score of theirs.
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

pub(super) mod aggregate;
mod config;

#[cfg(test)]
mod tests;

pub use config::CompositeConfig;

use super::{Build, FromConfig, evaluate_all};
use crate::config::Fields;
use agentv_core::evaluator::{JudgeChild, Needs, OnError};
use agentv_core::record::{Graded, evaluator_result};
use agentv_core::{EvalContext, Evaluator, EvaluatorEntry, EvaluatorError, Verdict};
use agentv_wire::EvaluatorResult;
use aggregate::Aggregator;
use async_trait::async_trait;

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
    fn needs(&self) -> Needs<'_> {
        let members = self.members.iter().map(|member| member.evaluator.needs());
        members.fold(self.aggregator.needs(), Needs::and)
    }

    fn children(&self) -> Vec<JudgeChild<'_>> {
        let members = self.members.iter().flat_map(|member| {
            let children = member.evaluator.children().into_iter();
            children.map(|child| JudgeChild {
                name: format!("{}/{}", member.name, child.name),
                ..child
            })
        });
        members.chain(self.aggregator.child()).collect()
    }

    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let graded = evaluate_all(&self.members, cx).await;
        let failure = failure(&graded);
        let results: Vec<EvaluatorResult> = graded.into_iter().map(evaluator_result).collect();
        let verdict = if let Some(failure) = failure {
            Err(failure)
        } else {
            let results = results.iter().zip(&self.members);
            let counted = results.filter(|(result, member)| counts(result, member));
            let counted: Vec<&EvaluatorResult> = counted.map(|(result, _)| result).collect();
            self.aggregator.aggregate(&counted, cx).await
        };
        let policies = self.members.iter().map(|member| member.on_error);
        let members = Some(self.aggregator.shown(results.into_iter().zip(policies).collect()));
        match verdict {
            Ok(verdict) => Ok(Verdict { members, ..verdict }),
            Err(error) => Err(EvaluatorError { members, ..error }),
        }
    }
}

/// Why there is nothing to aggregate: a member whose failure is to be that of the whole, or no member that counts.
fn failure(graded: &[Graded<'_>]) -> Option<EvaluatorError> {
    let failed = || {
        let errors = graded.iter().map(|member| (member.entry, member.outcome.as_ref().err()));
        errors.filter_map(|(entry, error)| Some((entry, error?)))
    };
    if let Some((member, error)) = failed().find(|(member, _)| member.on_error == OnError::Fail) {
        let message = format!("member '{}' failed: {error}", member.name);
        return Some(EvaluatorError::new(error.kind, message));
    }
    let excluded = failed().filter(|(member, _)| member.on_error == OnError::Exclude).count();
    let (member, error) = failed().next().filter(|_| excluded == graded.len())?;
    let message = format!("no member could grade; '{}' failed: {error}", member.name);
    Some(EvaluatorError::new(error.kind, message))
}

/// Whether a member goes into the score.
fn counts(result: &EvaluatorResult, member: &EvaluatorEntry) -> bool {
    result.error.is_none() || member.on_error != OnError::Exclude
}
