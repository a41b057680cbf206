//! One line of a results file.

use crate::{
    ChatMessage, ExecutionMetrics, FileChanges, JudgeErrorPolicy, Object, Outcome, SandboxRecord,
    SuiteId, TokenUsage, TraceSummary, number,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What became of one case, or of one trial of it. Every one that was started has exactly one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ResultRecord {
    /// When grading ended: ISO 8601, UTC, milliseconds.
    pub timestamp: String,
    pub eval_id: String,
    pub dataset: String,
    /// The eval file that the case is in, from the project root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Weighted mean of the evaluators, in `[0, 1]`; 0 when the case ended in an error.
    pub score: f64,
    pub status: Status,
    /// What became of the case. Always written; records of versions before it have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Whether the answer was made up, by a mock target or a dry run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    pub hits: Vec<String>,
    pub misses: Vec<String>,
    pub candidate_answer: String,
    pub target: String,
    /// Which trial of its case on its target, from 0. Absent where a case is asked once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The case's own `metadata`, untouched.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What an agent was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_provider_request: Option<Box<ProviderRequest>>,
    /// What a model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lm_provider_request: Option<Box<ProviderRequest>>,
    /// Only where the case has no evaluators of its own: what the default judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator_provider_request: Option<Value>,
    /// Only where the case has no evaluators of its own: what the default judge cost, apart from the candidate's own cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator_usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator_results: Option<Vec<EvaluatorResult>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_summary: Option<TraceSummary>,
    #[serde(default, skip_serializing_if = "ExecutionMetrics::is_empty")]
    pub execution_metrics: ExecutionMetrics,
    /// What else the provider had to say: `log_file`, `session_id`, `model`, `exit_code`, … If an agent printed more than is
    /// kept, `omitted` says what is missing: `messages`, `tool_calls`, `text_bytes`, `lines`, `log_bytes`.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub provider_metadata: Object,
    /// What the agent changed in its workspace. The diff ends after 64 KiB; judges get more of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_changes: Option<FileChanges>,
    /// Where the workspace is, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// `false` if secrets were not masked: the run was started with `--no-redact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// Required evaluators that were not met; with one of them the status is `fail`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_required: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What was asked: a conversation, or a question with the guidelines (models) or the paths of their files (agents).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ProviderRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_prompt: Option<Vec<ChatMessage>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidelines: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guideline_paths: Option<Vec<String>>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `pass` exactly when the outcome is `pass`, else `fail`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pass,
    Fail,
}

/// A word for a score: `pass` from 0.8, `borderline` from 0.6. A label only; nothing is gated on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictWord {
    Pass,
    Borderline,
    Fail,
}

/// What one evaluator found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct EvaluatorResult {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub score: f64,
    /// The score as a model wrote it, where that is outside of `[0, 1]`; `score` is the nearest one inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_score: Option<f64>,
    /// The weight that went into the mean.
    pub weight: f64,
    pub verdict: VerdictWord,
    pub hits: Vec<String>,
    pub misses: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What the grader was asked or ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator_provider_request: Option<Value>,
    /// The members of a composite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator_results: Option<Vec<EvaluatorResult>>,
    /// What a code judge wants kept, untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Set when the evaluator could not grade, which is not the same as a bad answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<EvaluatorFailure>,
    /// What the grading cost, apart from the candidate's own cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What each judge of a panel said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<Vec<Vote>>,
    /// The highest vote less the lowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// The sandbox that its program ran in. That of a target is in the record's `provider_metadata`, in the same shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<SandboxRecord>>,
}

/// One judge of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Vote {
    pub target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The score as this judge wrote it, where that is outside of `[0, 1]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictWord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Why this judge has no vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<EvaluatorFailure>,
}

/// Why an evaluator could not grade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct EvaluatorFailure {
    pub kind: FailureKind,
    pub message: String,
    /// The policy for grading errors, where the suite or the evaluator has one. Without it the case is ungraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_judge_error: Option<JudgeErrorPolicy>,
}

/// The kind of a grading error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The grader's answer could not be read.
    Parse,
    /// The grader could not be asked, or a judge script failed.
    Provider,
    /// The grader took too long.
    Timeout,
    /// A judge script gave a score that is not between 0 and 1.
    ScoreRange,
}

/// What a grading cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Adds what another call used. What is not known adds nothing.
    pub fn add(&mut self, more: &Self) {
        if let Some(cost) = more.cost_usd {
            self.cost_usd = Some(number::sum(self.cost_usd.unwrap_or(0.0), cost));
        }
        if let Some(tokens) = more.token_usage {
            let sum = self.token_usage.get_or_insert_default();
            sum.input = number::sum(sum.input, tokens.input);
            sum.output = number::sum(sum.output, tokens.output);
            if let Some(cached) = tokens.cached {
                sum.cached = Some(number::sum(sum.cached.unwrap_or(0.0), cached));
            }
        }
    }

    /// Tokens of prompts and answers together.
    pub fn tokens(&self) -> f64 {
        self.token_usage.map_or(0.0, |tokens| tokens.input + tokens.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_adds_nothing() {
        let tokens = TokenUsage { input: 3.0, output: 4.0, cached: None };
        let mut used = Usage::default();
        used.add(&Usage { cost_usd: None, token_usage: Some(tokens) });
        assert_eq!(used.cost_usd, None);
        used.add(&Usage { cost_usd: Some(0.5), token_usage: None });
        assert_eq!((used.cost_usd, used.tokens()), (Some(0.5), 7.0));
    }

    #[test]
    fn a_sum_beyond_all_numbers_can_be_read_again() {
        let tokens = TokenUsage { input: f64::MAX, output: f64::MAX, cached: Some(f64::MAX) };
        let mut used = Usage { cost_usd: Some(f64::MAX), token_usage: Some(tokens) };
        used.add(&used.clone());
        let written = number::to_string(&used).unwrap();
        assert_eq!(serde_json::from_str::<Usage>(&written).unwrap(), used);
    }
}
