//! The events of versions before 0.44, `{"id": …, "msg": {"type": …}}`. They close with no event of their own.

use super::item;
use super::reader::{CodexReader, tokens};
use crate::providers::agent_cli::{one_line, text, with_details};
use agentv_wire::{TokenUsage, ToolCall};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Tokens as the older versions tell them.
#[derive(Debug, Default)]
pub(super) struct OldUsage {
    /// Over all calls so far, since 0.3x.
    total: Option<TokenUsage>,
    /// The sum of what was told call by call, before.
    sum: Option<TokenUsage>,
}

impl OldUsage {
    pub(super) fn total(self) -> Option<TokenUsage> {
        self.total.or(self.sum)
    }

    fn count(&mut self, message: &Value) {
        let total = message.get("info").and_then(|info| info.get("total_token_usage"));
        if let Some(total) = total.and_then(tokens) {
            self.total = Some(total);
        } else if let Some(call) = tokens(message) {
            let sum = self.sum.unwrap_or(TokenUsage { input: 0.0, output: 0.0, cached: None });
            self.sum = Some(TokenUsage {
                input: sum.input + call.input,
                output: sum.output + call.output,
                cached: call.cached.map(|cached| cached + sum.cached.unwrap_or_default()),
            });
        }
    }
}

pub(super) fn event(reader: &mut CodexReader, message: &Value) {
    match text(message, "type").unwrap_or_default() {
        "agent_message" => {
            if let Some(said) = text(message, "message") {
                reader.conversation.say(said);
            }
            // It has recovered.
            reader.failure = None;
        }
        "exec_command_begin" | "patch_apply_begin" | "mcp_tool_call_begin" => {
            reader.conversation.call(call(message));
        }
        "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" => end(reader, message),
        // It has no beginning of use: what is looked for is told at the end.
        "web_search_end" => reader.conversation.call(call(message)),
        "token_count" => reader.old_usage.count(message),
        "stream_error" => reader.struggle(text(message, "message")),
        // The exit code is 0 even so.
        "error" => {
            let error = text(message, "message").unwrap_or("it reported an error");
            reader.failure = Some(error.to_owned());
        }
        _ => {}
    }
}

/// What of an older message is in the log.
const LOGGED: &[&str] = &[
    "command",
    "changes",
    "query",
    "invocation",
    "stdout",
    "stderr",
    "aggregated_output",
    "exit_code",
    "result",
    "text",
];

/// `exec_command_end` with its output, or `agent_message: I see …`.
pub(super) fn summary(event: &Value) -> String {
    let message = event.get("msg").unwrap_or(event);
    let kind = text(message, "type").unwrap_or("event");
    match text(message, "message") {
        Some(said) => format!("{kind}: {}", one_line(said)),
        None => with_details(kind.to_owned(), message, LOGGED),
    }
}

/// The call under the name that it has in newer versions.
fn call(message: &Value) -> ToolCall {
    let value = |key: &str| message.get(key).cloned().unwrap_or_default();
    let (tool, input) = match text(message, "type").unwrap_or_default() {
        "exec_command_begin" => {
            ("command_execution".to_owned(), json!({ "command": command_line(message) }))
        }
        "patch_apply_begin" => ("file_change".to_owned(), json!({ "changes": value("changes") })),
        "web_search_end" => ("web_search".to_owned(), json!({ "query": value("query") })),
        _ => {
            let invocation = value("invocation");
            let tool = item::mcp_name(text(&invocation, "server"), text(&invocation, "tool"));
            (tool, invocation.get("arguments").cloned().unwrap_or_default())
        }
    };
    let id = text(message, "call_id").map(str::to_owned);
    ToolCall { tool, input: Some(input), id, ..ToolCall::default() }
}

fn end(reader: &mut CodexReader, message: &Value) {
    let id = text(message, "call_id").unwrap_or_default();
    let streams = ["stdout", "stderr"].map(|key| text(message, key).unwrap_or_default());
    reader.conversation.complete(id, |call| {
        call.output = Some(match message.get("result") {
            Some(result) => result.clone(),
            None => {
                text(message, "aggregated_output").map_or(streams.concat(), str::to_owned).into()
            }
        });
        let duration = message.get("duration").and_then(|duration| {
            Some(duration.get("secs")?.as_f64()? * 1e3 + duration.get("nanos")?.as_f64()? / 1e6)
        });
        call.duration_ms = duration.filter(|duration| duration.is_finite());
    });
}

/// The words of a command as one text, as newer versions give it.
fn command_line(message: &Value) -> String {
    let words = message.get("command").and_then(Value::as_array).into_iter().flatten();
    let words: Vec<Cow<'_, str>> = words.filter_map(Value::as_str).map(quoted).collect();
    words.join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''")).into()
    }
}
