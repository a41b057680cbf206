//! The lines of `gemini -o stream-json`, and the document of `-o json`.

use crate::providers::agent_cli::{
    AgentMessages, EventReader, Reading, one_line, text, with_details,
};
use agentv_core::provider::Reported;
use agentv_wire::{Object, TokenUsage, ToolCall};
use serde_json::Value;

/// Follows a session of Gemini CLI.
#[derive(Debug, Default)]
pub struct GeminiCliReader {
    conversation: AgentMessages,
    /// The closing line, or the document.
    result: Option<Value>,
    trouble: Option<String>,
    session: Object,
}

impl EventReader for GeminiCliReader {
    fn event(&mut self, event: &Value) {
        match text(event, "type") {
            Some("init") => self.keep(event, &["session_id", "model"]),
            Some("message") if text(event, "role") == Some("assistant") => {
                if event.get("delta").and_then(Value::as_bool) != Some(true) {
                    self.conversation.end_pieces();
                }
                self.conversation.say_piece(text(event, "content").unwrap_or_default());
            }
            Some("tool_use") => {
                self.conversation.end_pieces();
                self.conversation.call(ToolCall {
                    tool: text(event, "tool_name").unwrap_or_default().to_owned(),
                    input: event.get("parameters").cloned(),
                    id: text(event, "tool_id").map(str::to_owned),
                    timestamp: text(event, "timestamp").map(str::to_owned),
                    ..ToolCall::default()
                });
            }
            Some("tool_result") => self.result_of_tool(event),
            Some("error") => self.trouble = text(event, "message").map(str::to_owned),
            Some("result") => self.result = Some(event.clone()),
            None if event.get("response").is_some() || event.get("error").is_some() => {
                self.keep(event, &["session_id"]);
                self.conversation.say_piece(text(event, "response").unwrap_or_default());
                self.result = Some(event.clone());
            }
            _ => {}
        }
    }

    fn is_done(&self) -> bool {
        self.result.is_some()
    }

    fn finish(self) -> Reading {
        let (messages, omitted) = self.conversation.finish();
        let said = messages.iter().rev().find_map(|message| message.content.as_ref()?.as_str());
        let stats = self.result.as_ref().and_then(|result| result.get("stats"));
        Reading {
            // A session that ended well without a word has an empty answer.
            answer: said.map(str::to_owned).or_else(|| self.result.as_ref().map(|_| String::new())),
            failure: self.result.as_ref().and_then(failure),
            is_cut: self.result.is_none(),
            trouble: self.trouble,
            reported: Reported {
                token_usage: stats.and_then(tokens),
                cost_usd: None,
                duration_ms: stats.and_then(|stats| stats.get("duration_ms")?.as_f64()),
            },
            metadata: self.session,
            messages,
            omitted,
        }
    }

    fn summary(event: &Value) -> String {
        let kind = text(event, "type").unwrap_or("event");
        let about = ["content", "tool_name", "status", "message"];
        let head = match about.iter().find_map(|key| text(event, key)) {
            Some(about) => format!("{kind}: {}", one_line(about)),
            None => kind.to_owned(),
        };
        with_details(head, event, &["parameters", "output", "error"])
    }
}

impl GeminiCliReader {
    fn result_of_tool(&mut self, event: &Value) {
        let id = text(event, "tool_id").unwrap_or_default();
        let error = event.get("error").and_then(|error| error.get("message"));
        let output = event.get("output").or(error).or_else(|| event.get("status"));
        self.conversation.result(id, output.cloned().unwrap_or_default());
    }

    fn keep(&mut self, event: &Value, keys: &[&str]) {
        let known = keys.iter().filter_map(|key| Some((*key, text(event, key)?)));
        self.session.extend(known.map(|(key, value)| (key.to_owned(), value.into())));
    }
}

fn failure(result: &Value) -> Option<String> {
    let error = result.get("error").filter(|error| !error.is_null());
    let said = error.and_then(|error| text(error, "message")).map(str::to_owned);
    let is_error =
        error.is_some() || text(result, "status").is_some_and(|status| status != "success");
    is_error.then(|| said.unwrap_or_else(|| "the session failed".to_owned()))
}

/// The stream has sums, the document a table for each model. What was thought came out as well, which `output_tokens` and
/// `candidates` leave out.
fn tokens(stats: &Value) -> Option<TokenUsage> {
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64);
    if let Some(input) = number(stats, "input_tokens") {
        let output = number(stats, "output_tokens")?;
        let all = number(stats, "total_tokens").unwrap_or_default();
        let cached = number(stats, "cached");
        return Some(TokenUsage { input, output: output.max(all - input), cached });
    }
    let models = stats.get("models")?.as_object()?;
    let sum = |key: &str| -> f64 {
        models.values().filter_map(|model| number(model.get("tokens")?, key)).sum()
    };
    Some(TokenUsage {
        input: sum("prompt"),
        output: sum("candidates") + sum("thoughts"),
        cached: Some(sum("cached")),
    })
}
