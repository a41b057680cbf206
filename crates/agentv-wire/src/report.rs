//! What `agentv report --json` writes: a run in numbers, and each case in short. The records themselves are in the results.

use crate::{FailureKind, RunInfo, TokenUsage};
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

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Pass,
    Fail,
    /// There was no answer, or it could not be graded.
    Error,
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
    pub trial: Option<u64>,
    pub standing: Standing,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
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
    /// Set when the grading itself went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureKind>,
}

/// All records in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ReportSummary {
    /// How many there were to be, where the run says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    #[serde(flatten)]
    pub all: ReportTotals,
    /// How many scores are in each tenth from 0 to 1. A score of 1 is in the last.
    pub histogram: [usize; 10],
    /// Gradings that went wrong.
    pub grading_errors: usize,
    /// What the gradings cost, apart from the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading_cost_usd: Option<f64>,
    /// From the start of the run to its end, where the run says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<f64>,
    /// In the order in which they appear in the results.
    pub targets: Vec<ReportGroup>,
    pub evaluators: Vec<ReportEvaluator>,
}

/// Some records in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ReportTotals {
    pub records: usize,
    pub passed: usize,
    pub failed: usize,
    pub errors: usize,
    /// Records with an error count as 0. Absent without records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// The time of all answers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
}

/// The records of one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ReportGroup {
    pub name: String,
    #[serde(flatten)]
    pub totals: ReportTotals,
}

/// What one evaluator found in all records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ReportEvaluator {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// How many records it graded.
    pub graded: usize,
    /// Without gradings that went wrong. Absent if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// Gradings with the full score.
    pub full: usize,
    pub errors: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
