//! What a code judge reads on stdin and prints on stdout.

use crate::{ExecutionMetrics, FileChange, Object, OutputMessage, TraceEvent, TraceSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The whole of a judge's input: one JSON object, then the end of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CodeJudgePayload {
    /// The text of the input messages, joined by spaces.
    pub question: String,
    pub expected_outcome: String,
    #[schemars(with = "Vec<OutputMessage>")]
    pub expected_messages: Vec<Value>,
    /// `""` when there is none.
    pub reference_answer: String,
    pub candidate_answer: String,
    /// `null` when the answer came with a trace instead.
    pub output_messages: Option<Vec<OutputMessage>>,
    /// Absolute paths.
    pub guideline_files: Vec<String>,
    /// Absolute paths, without the guidelines.
    pub input_files: Vec<String>,
    /// As written in the eval file, aliases expanded.
    #[schemars(with = "Vec<OutputMessage>")]
    pub input_messages: Vec<Value>,
    pub trace_summary: Option<TraceSummary>,
    /// Use `output_messages` instead. `null` when the answer was only text.
    // Spec: "the `trace` field carries a `@deprecated` annotation recommending `outputMessages`".
    #[schemars(extend("deprecated" = true))]
    pub candidate_trace: Option<Vec<TraceEvent>>,
    /// `null` when the answer was only text.
    pub candidate_trace_summary: Option<TraceSummary>,
    #[serde(default)]
    pub execution_metrics: ExecutionMetrics,
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub provider_metadata: Object,
    /// What the agent changed in its workspace, as a unified diff; `""` if it changed nothing. Absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_changes: Option<String>,
    /// The diff was longer than 1 MiB and ends early, after a whole line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub file_changes_truncated: bool,
    /// The files that `file_changes` is about, at most 1000. Absent where there is no workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<Vec<FileChange>>,
    /// The agent's workspace, absolute. It is there until the case is graded, and a judge may run programs in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// The keys of the evaluator that AgentV does not know, as written.
    pub config: Option<Object>,
}

/// What a judge prints: one JSON object and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CodeJudgeOutput {
    /// From 0 to 1. Anything else is a grading error.
    #[schemars(range(min = 0, max = 1))]
    pub score: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// An object or an array. Kept in the record, untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// What a judge has to say besides its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub enum Details {
    Object(Object),
    Array(Vec<Value>),
}
