//! What every chat API answers, once its own shape is taken off.

use super::{ChatUsage, Rates};
use agentv_core::Response;
use agentv_core::provider::Reported;
use agentv_wire::{Object, OutputMessage, ToolCall};
use serde_json::Value;

/// An answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::providers) struct ChatReply {
    /// What the model said, without its thoughts.
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// Why it stopped, in the vendor's own word: `stop`, `end_turn`, `content_filter`, …
    pub finish_reason: Option<String>,
    /// It declined, or was made to; in its words, if it had any.
    pub refusal: Option<String>,
    /// The model that really answered.
    pub model: Option<String>,
    pub id: Option<String>,
    pub usage: Option<ChatUsage>,
}

impl ChatReply {
    /// One assistant message. A chat API says when it wants a tool, so an answer without calls is an empty trace and not
    /// an unknown one.
    pub(in crate::providers) fn into_response(self, rates: &Rates) -> Response {
        let model = self.model.as_deref();
        let cost_usd = self.usage.and_then(|usage| rates.cost(&usage, model));
        let metadata = self.metadata();
        // Whoever asks whether a model declines wants to read how.
        let said = Some(self.text).filter(|text| !text.is_empty()).or(self.refusal);
        let content = match said {
            Some(text) => Some(Value::String(text)),
            None if self.calls.is_empty() => Some(Value::String(String::new())),
            None => None,
        };
        let message = OutputMessage {
            role: "assistant".to_owned(),
            content,
            tool_calls: (!self.calls.is_empty()).then_some(self.calls),
            ..OutputMessage::default()
        };
        let token_usage = self.usage.map(Into::into);
        Response {
            messages: Some(vec![message]),
            reported: Reported { token_usage, cost_usd, duration_ms: None }.bounded(),
            metadata,
            ..Response::default()
        }
    }

    /// What tells an answer from a refusal, a filtered one and an empty one.
    fn metadata(&self) -> Object {
        let facts = [
            ("model", &self.model),
            ("response_id", &self.id),
            ("finish_reason", &self.finish_reason),
            ("refusal", &self.refusal),
        ];
        let known = facts.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let mut metadata: Object =
            known.map(|(key, value)| (key.to_owned(), Value::String(value.clone()))).collect();
        if self.text.is_empty() && self.calls.is_empty() && self.refusal.is_none() {
            metadata.insert("empty_answer".to_owned(), Value::Bool(true));
        }
        metadata
    }
}
