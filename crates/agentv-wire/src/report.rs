//! What `agentv report --json` writes: a run in numbers, and each case in short. The records themselves are in the results.

use crate::{FailureKind, Outcome, RunInfo, RunTotals, TokenUsage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Report {
    /// Where the records were read from.
    pub results: String,
    /// Absent where the results have no run folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunInfo>,
    /// In the order of the results.
    pub cases: Vec<ReportCase>,
    pub summary: ReportSummary,
}

/// One record in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ReportCase {
    pub eval_id: String,
    pub dataset: String,
    pub target: String,
    /// Where a case is asked several times: which of them, as in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    pub outcome: Outcome,
    /// Whether the answer was made up, by a mock target or a dry run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    pub score: f64,
    /// Why it did not pass, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The eval file, from the repository's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where the case starts in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// What target and judges cost together, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The part of `cost_usd` that is for grading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading_cost_usd: Option<f64>,
    /// Tokens of target and judges together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// The part of `token_usage` that is for grading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading_token_usage: Option<TokenUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evaluators: Vec<ReportGrade>,
}

/// What one evaluator found, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ReportGrade {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub score: f64,
    /// Set when the evaluator could not grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureKind>,
}

/// All records in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ReportSummary {
    /// How many cases were planned, where the run says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    #[serde(flatten)]
    pub totals: RunTotals,
    /// From the start of the run to its end, where the run says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<f64>,
}
