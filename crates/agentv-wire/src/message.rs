//! What an agent said and did, in the order in which it did it.

use crate::Object;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// One message of the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct OutputMessage {
    /// `assistant`, `user`, `system` or `tool`; others are passed on.
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text, or whatever structure the agent uses.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

impl OutputMessage {
    /// An assistant message that is only text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: "assistant".to_owned(),
            content: Some(Value::String(text.into())),
            ..Self::default()
        }
    }
}

/// One use of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ToolCall {
    /// The tool's name, as the agent spells it.
    pub tool: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
}

/// One turn of a conversation that is sent to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

/// A value that is there, even if it is `null`: an answer that was kept must be the same as when it came.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_is_not_the_same_as_nothing() {
        let call = json!({ "tool": "A", "input": null, "output": null });
        for message in [
            json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
            json!({ "role": "assistant", "tool_calls": [{ "tool": "A" }] }),
        ] {
            let read: OutputMessage = serde_json::from_value(message.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), message);
        }
    }
}
