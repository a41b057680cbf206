//! Bodies of the Gemini API.

use super::GeminiSettings;
use crate::http::HttpResponse;
use crate::providers::chat::{ChatReply, ChatUsage, Conversation, Speaker};
use agentv_core::ProviderError;
use agentv_wire::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is asked. Settings that are absent are left out, so that Google's own defaults hold.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiBody<'a> {
    #[serde(skip_serializing_if = "Generation::is_empty")]
    generation_config: Generation,
    contents: Vec<Content<'a>>,
    system_instruction: System<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    thinking_budget: i64,
}

#[derive(Debug, Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: [Text<'a>; 1],
}

#[derive(Debug, Serialize)]
struct System<'a> {
    parts: [Text<'a>; 1],
}

#[derive(Debug, Serialize)]
struct Text<'a> {
    text: &'a str,
}

impl Generation {
    fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none()
            && self.temperature.is_none()
            && self.thinking_config.is_none()
    }
}

impl<'a> GeminiBody<'a> {
    pub(super) fn new(settings: &GeminiSettings, conversation: &'a Conversation) -> Self {
        let contents = conversation.turns.iter().map(|turn| Content {
            role: match turn.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "model",
            },
            parts: [Text { text: &turn.text }],
        });
        Self {
            generation_config: Generation {
                max_output_tokens: settings.chat.max_output_tokens,
                temperature: settings.chat.temperature,
                thinking_config: settings
                    .thinking_budget
                    .map(|thinking_budget| Thinking { thinking_budget }),
            },
            contents: contents.collect(),
            system_instruction: System { parts: [Text { text: &conversation.system }] },
        }
    }
}

/// What comes back.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    model_version: Option<String>,
    response_id: Option<String>,
    usage_metadata: Option<Counted>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Said {
    #[serde(default)]
    parts: Vec<Part>,
}

/// A piece of the answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<Call>,
}

#[derive(Debug, Deserialize)]
struct Call {
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "their names, not ours")]
struct Counted {
    /// With what was read from a cache.
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    /// Without thoughts.
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

/// Reads the answer. Thoughts stay out of it.
pub(in crate::providers) fn read(answer: &HttpResponse<'_>) -> Result<ChatReply, ProviderError> {
    let answered: Answered = answer.json()?;
    let blocked = answered.prompt_feedback.and_then(|feedback| feedback.block_reason);
    if answered.candidates.is_empty() && blocked.is_none() {
        let Some(error) = answered.error else { return Err(answer.lacks("`candidates`")) };
        let code = error.get("code").and_then(Value::as_u64);
        return Err(answer.as_error(code.and_then(|code| u16::try_from(code).ok())));
    }
    let candidate = answered.candidates.into_iter().next().unwrap_or_default();
    // A model that was stopped may have said nothing.
    let is_stopped = candidate.finish_reason.as_deref().is_some_and(|reason| reason != "STOP");
    if candidate.content.is_none() && !is_stopped && blocked.is_none() {
        return Err(answer.lacks("`content`"));
    }
    let (mut text, mut calls) = (String::new(), Vec::new());
    let parts = candidate.content.map(|content| content.parts).unwrap_or_default();
    for part in parts.into_iter().filter(|part| !part.thought) {
        text.push_str(part.text.as_deref().unwrap_or_default());
        calls.extend(part.function_call.map(|Call { id, name, args }| ToolCall {
            tool: name.unwrap_or_default(),
            input: args,
            id,
            ..ToolCall::default()
        }));
    }
    Ok(ChatReply {
        text,
        calls,
        refusal: blocked.as_ref().map(|reason| format!("The prompt was blocked: {reason}.")),
        finish_reason: candidate.finish_reason.or(blocked),
        model: answered.model_version,
        id: answered.response_id,
        usage: answered.usage_metadata.and_then(Counted::usage),
    })
}

impl Counted {
    fn usage(self) -> Option<ChatUsage> {
        // A blocked prompt has no candidates, and then no count of them.
        let said = self.candidates_token_count.unwrap_or(0);
        Some(ChatUsage {
            input: self.prompt_token_count?,
            cached: self.cached_content_token_count,
            written: 0,
            output: said.saturating_add(self.thoughts_token_count.unwrap_or(0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_all_numbers_end_at_the_largest() {
        let counted = Counted {
            prompt_token_count: Some(1),
            cached_content_token_count: None,
            candidates_token_count: Some(u64::MAX),
            thoughts_token_count: Some(1),
        };
        assert_eq!(counted.usage().map(|usage| usage.output), Some(u64::MAX));
    }
}
