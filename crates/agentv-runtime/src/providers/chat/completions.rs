//! OpenAI's chat completions, which Azure and many other servers speak too.

use super::{ChatReply, ChatSettings, ChatUsage, Conversation, Rates, Speaker};
use crate::http::{self, HttpPost, HttpResponse, KeyHeader, Url};
use agentv_core::{CallContext, ProviderError, Request, Response};
use agentv_wire::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A server that speaks them, and what is wanted of it.
#[derive(Debug)]
pub(in crate::providers) struct Server<'a> {
    pub url: &'a Url,
    pub key: Option<KeyHeader<'a>>,
    pub model: &'a str,
    pub chat: &'a ChatSettings,
    /// Goes out under that name, whatever the model.
    pub max_completion_tokens: Option<u64>,
    pub rates: &'a Rates,
}

impl Server<'_> {
    /// Asks once.
    pub(in crate::providers) async fn ask(
        &self,
        request: &Request,
        cx: &CallContext,
    ) -> Result<Response, ProviderError> {
        let conversation = Conversation::of(request);
        let body = Body::new(self, &conversation);
        let post = HttpPost { url: self.url, key: self.key, headers: &[], body: &body };
        let answer = http::post(&post, cx).await?;
        Ok(read(&answer)?.into_response(self.rates))
    }
}

/// What is asked. Settings that are absent are left out, so that the server's own defaults hold.
#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

impl<'a> Body<'a> {
    fn new(server: &Server<'a>, conversation: &'a Conversation) -> Self {
        let Server { model, chat, max_completion_tokens, .. } = *server;
        let system = Message { role: "system", content: &conversation.system };
        let turns = conversation.turns.iter().map(|turn| Message {
            role: match turn.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            },
            content: &turn.text,
        });
        let reasons = refuses_max_tokens(model);
        let plain = chat.max_output_tokens;
        Self {
            model,
            messages: std::iter::once(system).chain(turns).collect(),
            temperature: chat.temperature,
            max_tokens: plain.filter(|_| !reasons && max_completion_tokens.is_none()),
            max_completion_tokens: max_completion_tokens.or(plain.filter(|_| reasons)),
        }
    }
}

/// OpenAI's reasoning models refuse `max_tokens` and want `max_completion_tokens`, which other servers may not know.
fn refuses_max_tokens(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let mut letters = name.chars();
    let is_o = letters.next() == Some('o') && letters.next().is_some_and(|c| c.is_ascii_digit());
    let newer = ["gpt-5", "gpt-6"].iter().any(|start| name.starts_with(start));
    is_o || (newer && !name.contains("chat"))
}

/// What comes back; of gateways, maybe an error with status 200.
#[derive(Debug, Deserialize)]
struct Completion {
    id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counted>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    message: Said,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Said {
    /// Text; of some servers, a list of parts.
    content: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Debug, Deserialize)]
struct Call {
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    /// JSON in a text; of some servers, JSON.
    arguments: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Counted {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<CachedPart>,
}

#[derive(Debug, Deserialize)]
struct CachedPart {
    cached_tokens: Option<u64>,
}

pub(in crate::providers) fn read(answer: &HttpResponse<'_>) -> Result<ChatReply, ProviderError> {
    let completion: Completion = answer.json()?;
    let Some(choice) = completion.choices.into_iter().next() else {
        let Some(error) = completion.error else { return Err(answer.lacks("`choices`")) };
        let code = error.get("code").and_then(Value::as_u64);
        return Err(answer.as_error(code.and_then(|code| u16::try_from(code).ok())));
    };
    let Said { content, refusal, tool_calls } = choice.message;
    let calls: Vec<_> = tool_calls.into_iter().flatten().filter_map(Call::into_wire).collect();
    let refusal = refusal.filter(|text| !text.is_empty());
    // A model that was stopped may have said nothing. One that ended by itself has said something, if only `""`.
    let is_stopped = choice.finish_reason.as_deref().is_some_and(|reason| reason != "stop");
    let text = match content.map(text) {
        Some(Some(text)) => text,
        None if is_stopped || refusal.is_some() || !calls.is_empty() => String::new(),
        None | Some(None) => return Err(answer.lacks("text in `content`")),
    };
    Ok(ChatReply {
        text,
        calls,
        finish_reason: choice.finish_reason,
        refusal,
        model: completion.model,
        id: completion.id,
        usage: completion.usage.and_then(Counted::usage),
    })
}

fn text(content: Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())
        }
        _ => None,
    }
}

impl Call {
    fn into_wire(self) -> Option<ToolCall> {
        let Function { name, arguments } = self.function?;
        let input = arguments.map(|arguments| match arguments {
            // What is no JSON is kept as it is: a broken call is worth seeing.
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            other => other,
        });
        Some(ToolCall { tool: name, input, id: self.id, ..ToolCall::default() })
    }
}

impl Counted {
    fn usage(self) -> Option<ChatUsage> {
        Some(ChatUsage {
            input: self.prompt_tokens?,
            cached: self.prompt_tokens_details.and_then(|part| part.cached_tokens),
            written: 0,
            output: self.completion_tokens?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_models_are_known_by_name() {
        for model in ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1", "openai/o3"] {
            assert!(refuses_max_tokens(model), "{model}");
        }
        for model in ["gpt-4o", "gpt-5-chat-latest", "olmo-2", "llama3", "my-deploy", "omni"] {
            assert!(!refuses_max_tokens(model), "{model}");
        }
    }
}
