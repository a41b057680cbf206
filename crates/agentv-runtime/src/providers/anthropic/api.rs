//! Bodies of Anthropic's messages API.

use super::AnthropicSettings;
use crate::http::HttpResponse;
use crate::providers::chat::{ChatReply, ChatUsage, Conversation, Speaker};
use agentv_core::ProviderError;
use agentv_wire::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is asked.
#[derive(Debug, Serialize)]
pub(super) struct AnthropicBody<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    system: [Text<'a>; 1],
    messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
    budget_tokens: u64,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: [Text<'a>; 1],
}

#[derive(Debug, Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

impl<'a> Text<'a> {
    fn block(text: &'a str) -> [Self; 1] {
        [Self { kind: "text", text }]
    }
}

impl<'a> AnthropicBody<'a> {
    pub(super) fn new(
        settings: &'a AnthropicSettings,
        max_tokens: u64,
        conversation: &'a Conversation,
    ) -> Self {
        let budget = settings.thinking_budget;
        let last = conversation.turns.len().saturating_sub(1);
        let turns = conversation.turns.iter().enumerate();
        let messages = turns.map(|(index, turn)| match turn.speaker {
            Speaker::User => Message { role: "user", content: Text::block(&turn.text) },
            Speaker::Assistant => Message {
                role: "assistant",
                // The API refuses a last word of the assistant that ends in a space.
                content: Text::block(if index == last { turn.text.trim_end() } else { &turn.text }),
            },
        });
        Self {
            model: &settings.model,
            max_tokens,
            temperature: settings.chat.temperature.filter(|_| budget.is_none()),
            thinking: budget.map(|budget_tokens| Thinking { kind: "enabled", budget_tokens }),
            system: Text::block(&conversation.system),
            messages: messages.collect(),
        }
    }
}

/// What comes back.
#[derive(Debug, Deserialize)]
struct Answered {
    id: Option<String>,
    model: Option<String>,
    content: Option<Vec<Block>>,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
    usage: Option<Counted>,
    error: Option<Value>,
}

/// A piece of the answer: a text, a tool call, a thought, or something newer.
#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "their names, not ours")]
struct Counted {
    /// Without what was read from or written to a cache.
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// Reads the answer. Thoughts stay out of it.
pub(in crate::providers) fn read(answer: &HttpResponse<'_>) -> Result<ChatReply, ProviderError> {
    let answered: Answered = answer.json()?;
    if answered.error.is_some() {
        return Err(answer.as_error(None));
    }
    let Some(content) = answered.content else { return Err(answer.lacks("`content`")) };
    if content.is_empty() && answered.stop_reason.is_none() {
        return Err(answer.lacks("`stop_reason`"));
    }
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in content {
        match block.kind.as_str() {
            "text" => match block.text {
                Some(piece) => text.push_str(&piece),
                None => return Err(answer.lacks("`text` in its block of text")),
            },
            "tool_use" | "server_tool_use" => calls.push(ToolCall {
                tool: block.name.unwrap_or_default(),
                input: block.input,
                id: block.id,
                ..ToolCall::default()
            }),
            _ => {}
        }
    }
    let refused = answered.stop_reason.as_deref() == Some("refusal");
    let why = answered.stop_details.as_ref().and_then(|details| details.get("explanation"));
    let why = why.and_then(Value::as_str).unwrap_or("The model declined to answer.");
    Ok(ChatReply {
        text,
        calls,
        finish_reason: answered.stop_reason,
        refusal: refused.then(|| why.to_owned()),
        model: answered.model,
        id: answered.id,
        usage: answered.usage.and_then(Counted::usage),
    })
}

impl Counted {
    fn usage(self) -> Option<ChatUsage> {
        let read = self.cache_read_input_tokens;
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        Some(ChatUsage {
            input: self.input_tokens?.saturating_add(read.unwrap_or(0)).saturating_add(written),
            cached: read,
            written,
            output: self.output_tokens?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_all_numbers_end_at_the_largest() {
        let counted = Counted {
            input_tokens: Some(u64::MAX),
            cache_read_input_tokens: Some(u64::MAX),
            cache_creation_input_tokens: Some(1),
            output_tokens: Some(2),
        };
        assert_eq!(counted.usage().map(|usage| usage.input), Some(u64::MAX));
    }
}
