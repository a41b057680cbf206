//! The candidate's trace: what it did, as a flat list of events, and a summary in numbers.

use crate::{Object, TokenUsage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One event. Order is the order of the list; a timestamp is never used to sort.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct TraceEvent {
    #[serde(rename = "type")]
    pub kind: TraceEventType,
    /// ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Which of several it is: a result has the id of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the tool was given.
    #[serde(
        default,
        deserialize_with = "crate::message::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub input: Option<Value>,
    /// What the tool gave back.
    #[serde(
        default,
        deserialize_with = "crate::message::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<Value>,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// More facts, copied to the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

impl TraceEvent {
    /// An event of this kind with nothing else known.
    pub fn of(kind: TraceEventType) -> Self {
        Self {
            kind,
            timestamp: None,
            id: None,
            name: None,
            input: None,
            output: None,
            text: None,
            metadata: None,
        }
    }
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceEventType {
    ModelStep,
    ToolCall,
    ToolResult,
    Message,
    Error,
}

/// The trace in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct TraceSummary {
    pub event_count: usize,
    /// Distinct, sorted.
    pub tool_names: Vec<String>,
    /// Tool names are kept as the agent spells them.
    pub tool_calls_by_name: BTreeMap<String, usize>,
    pub error_count: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_durations: BTreeMap<String, Vec<f64>>,
}
