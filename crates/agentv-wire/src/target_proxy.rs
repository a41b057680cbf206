//! The bodies of the target proxy, through which code judges ask models. Unlike all else on the wire they are camelCase, so
//! the messages have twins here.

use crate::{Object, OutputMessage, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What `GET /info` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyInfo {
    /// The target that is asked where a request names none.
    pub target_name: String,
    pub max_calls: u64,
    pub call_count: u64,
    pub available_targets: Vec<String>,
}

/// What `POST /invoke` takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvokeRequest {
    pub question: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_case_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Another target than the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// What `POST /invoke` answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvokeResponse {
    pub output_messages: Vec<ProxyMessage>,
    /// What the assistant said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_text: Option<String>,
}

/// What `POST /invokeBatch` answers, in the order of the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvokeBatchResponse {
    pub responses: Vec<InvokeResponse>,
}

/// What every failure answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyError {
    pub error: String,
}

/// An [`OutputMessage`] in camelCase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyMessage {
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ProxyToolCall>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

/// A [`ToolCall`] in camelCase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyToolCall {
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
}

// Taken apart field by field, so that a new field cannot be forgotten.
impl From<OutputMessage> for ProxyMessage {
    fn from(message: OutputMessage) -> Self {
        let OutputMessage { role, name, content, tool_calls, timestamp, duration_ms, metadata } =
            message;
        let tool_calls =
            tool_calls.map(|calls| calls.into_iter().map(ProxyToolCall::from).collect());
        Self { role, name, content, tool_calls, timestamp, duration_ms, metadata }
    }
}

impl From<ToolCall> for ProxyToolCall {
    fn from(call: ToolCall) -> Self {
        let ToolCall { tool, input, output, id, timestamp, duration_ms } = call;
        Self { tool, input, output, id, timestamp, duration_ms }
    }
}
