//! What a run of the candidate cost. All numbers are finite and not negative.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tokens, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct TokenUsage {
    /// Of the prompt, those from a cache included.
    pub input: f64,
    /// Of the answer, thoughts included.
    pub output: f64,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
}

/// What is known of a run's cost; the last three are computed from the others and the trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ExecutionMetrics {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// Per tool, the milliseconds of each call that reported them, in order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_durations: BTreeMap<String, Vec<f64>>,
    /// Calls of exploring tools over all tool calls, in `[0, 1]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration_ratio: Option<f64>,
    /// Output tokens per tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_tool: Option<f64>,
    /// Mean over all reported tool durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_tool_duration_ms: Option<f64>,
}

impl ExecutionMetrics {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
