//! `tool_trajectory`: which tools were called, how often, in which order, with which arguments and how quickly.

mod any_order;
mod args;
mod calls;
mod config;
mod findings;
mod sequence;
#[cfg(test)]
mod tests;

pub use args::ExpectedArgs;
pub use config::{ExpectedCall, Mode, ToolTrajectoryConfig};

use super::{Build, FromConfig};
use crate::config::Fields;
use agentv_core::evaluator::{AnswerDetail, Needs};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use async_trait::async_trait;
use config::Rule;

/// Checks the candidate's tool calls against a rule. Makes no calls.
#[derive(Debug)]
pub struct ToolTrajectory {
    rule: Rule,
}

impl FromConfig for ToolTrajectory {
    const NAMES: &'static [&'static str] = &["tool_trajectory", "tool-trajectory"];
    type Config = ToolTrajectoryConfig;

    fn read(fields: &mut Fields<'_, '_>, _build: &mut Build<'_>) -> Option<Self> {
        Some(Self { rule: config::read(fields)? })
    }
}

#[async_trait]
impl Evaluator for ToolTrajectory {
    fn needs(&self) -> Needs<'_> {
        Needs { detail: AnswerDetail::Trace, ..Needs::default() }
    }

    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        // Spec: "No trace or outputMessages available".
        let Some(calls) = calls::of(cx.candidate) else {
            return Ok(Verdict::miss("No trace available for evaluation"));
        };
        let findings = match &self.rule {
            Rule::AnyOrder { minimums, limits } => any_order::grade(minimums, limits, &calls),
            Rule::InOrder(expected) => sequence::in_order(expected, &calls),
            Rule::Exact(expected) => sequence::exact(expected, &calls),
        };
        for warning in &findings.warnings {
            cx.call.log.warn(warning);
        }
        Ok(findings.into_verdict())
    }
}
