//! The lines of `--output-format stream-json`, of any version since 1.0.

use crate::providers::agent_cli::{
    AgentMessages, EventReader, Reading, one_line, text, with_details,
};
use agentv_core::provider::Reported;
use agentv_wire::{Object, OutputMessage, TokenUsage, ToolCall};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Follows a session of Claude Code.
#[derive(Debug, Default)]
pub struct ClaudeReader {
    conversation: AgentMessages,
    /// The last `result` line; there is one more for each turn that a background task starts.
    result: Option<Value>,
    /// An `init` or an answer came after it.
    has_gone_on: bool,
    session: Object,
    /// What agents did that the agent had started, by tool.
    subagent_calls: BTreeMap<String, u64>,
    trouble: Option<String>,
}

impl EventReader for ClaudeReader {
    fn event(&mut self, event: &Value) {
        match text(event, "type") {
            Some("system") if text(event, "subtype") == Some("init") => self.begin(event),
            Some("system") if text(event, "subtype") == Some("api_retry") => {
                self.trouble = Some(retry(event));
            }
            Some("assistant") => self.assistant(event),
            Some("user") => self.results(event),
            Some("result") => {
                self.result = Some(event.clone());
                self.has_gone_on = false;
            }
            _ => {}
        }
    }

    fn is_done(&self) -> bool {
        self.result.is_some() && !self.has_gone_on
    }

    fn finish(self) -> Reading {
        let Self { conversation, result, session, subagent_calls, trouble, .. } = self;
        let (messages, omitted) = conversation.finish();
        let mut reading = Reading { messages, omitted, metadata: session, ..Reading::default() };
        if !subagent_calls.is_empty() {
            reading.metadata.insert("subagent_tool_calls".to_owned(), json!(subagent_calls));
        }
        let Some(result) = result else {
            return Reading { is_cut: true, trouble, ..reading };
        };
        for key in KEPT {
            if let Some(value) = result.get(*key).filter(|value| !value.is_null()) {
                reading.metadata.insert((*key).to_owned(), value.clone());
            }
        }
        reading.reported = reported(&result);
        reading.failure = failure(&result);
        reading.answer = text(&result, "result").map(str::to_owned);
        reading
    }

    fn summary(event: &Value) -> String {
        let kind = text(event, "type").unwrap_or("event");
        match kind {
            "system" => format!("system: {}", text(event, "subtype").unwrap_or_default()),
            "assistant" | "user" => message_entry(kind, event),
            "result" => {
                let cost = cost(event).unwrap_or_default();
                let ms = event.get("duration_ms").and_then(Value::as_f64).unwrap_or_default();
                let head = format!("result: ${cost:.4}, {ms:.0}ms");
                with_details(head, &json!({ "error": failure(event) }), &["error"])
            }
            _ => kind.to_owned(),
        }
    }
}

/// What of a `result` goes into the record as it is.
const KEPT: &[&str] = &[
    "session_id",
    "num_turns",
    "duration_api_ms",
    "stop_reason",
    "terminal_reason",
    "permission_denials",
];

/// How many tools of subagents are counted by name, and what the others are called.
const SUBAGENT_TOOLS: usize = 1000;
const OTHER_TOOLS: &str = "other tools";

impl ClaudeReader {
    fn begin(&mut self, event: &Value) {
        self.has_gone_on = true;
        for (key, name) in [
            ("session_id", "session_id"),
            ("model", "model"),
            ("claude_code_version", "client_version"),
        ] {
            if let Some(value) = text(event, key) {
                self.session.insert(name.to_owned(), value.into());
            }
        }
    }

    fn assistant(&mut self, event: &Value) {
        let mut message =
            OutputMessage { role: "assistant".to_owned(), ..OutputMessage::default() };
        message.timestamp = text(event, "timestamp").map(str::to_owned);
        let mut said = Vec::new();
        let mut calls = Vec::new();
        for block in blocks(event) {
            match text(block, "type") {
                Some("text") => said.extend(text(block, "text")),
                Some("tool_use") => calls.push(ToolCall {
                    tool: text(block, "name").unwrap_or_default().to_owned(),
                    input: block.get("input").cloned(),
                    id: text(block, "id").map(str::to_owned),
                    timestamp: message.timestamp.clone(),
                    ..ToolCall::default()
                }),
                // Thinking is not said.
                _ => {}
            }
        }
        if is_subagents(event) {
            for call in calls {
                let is_full = self.subagent_calls.len() >= SUBAGENT_TOOLS;
                let is_new = !self.subagent_calls.contains_key(&call.tool);
                let tool = if is_full && is_new { OTHER_TOOLS.to_owned() } else { call.tool };
                *self.subagent_calls.entry(tool).or_default() += 1;
            }
            return;
        }
        self.has_gone_on = true;
        if said.is_empty() && calls.is_empty() {
            return;
        }
        message.content = (!said.is_empty()).then(|| said.join("\n").into());
        message.tool_calls = (!calls.is_empty()).then_some(calls);
        self.conversation.push(message);
    }

    fn results(&mut self, event: &Value) {
        if is_subagents(event) {
            return;
        }
        for block in blocks(event) {
            let Some(id) = text(block, "tool_use_id") else { continue };
            self.conversation.complete(id, |call| {
                call.output = block.get("content").map(flat);
                let started = call.timestamp.as_deref();
                call.duration_ms = milliseconds(started, text(event, "timestamp"));
            });
        }
    }
}

/// The blocks of a message; a message may also be bare text.
fn blocks(event: &Value) -> impl Iterator<Item = &Value> {
    let content = event.get("message").and_then(|message| message.get("content"));
    content.and_then(Value::as_array).into_iter().flatten()
}

/// A line of an agent that the agent has started.
fn is_subagents(event: &Value) -> bool {
    event.get("parent_tool_use_id").is_some_and(|id| !id.is_null())
}

/// A result is text, or a list of blocks; blocks that are all text are text.
fn flat(content: &Value) -> Value {
    let Some(blocks) = content.as_array() else { return content.clone() };
    let texts: Option<Vec<&str>> = blocks.iter().map(|block| text(block, "text")).collect();
    texts.map_or_else(|| content.clone(), |texts| texts.join("\n").into())
}

/// Between two of the session's own time stamps.
fn milliseconds(from: Option<&str>, to: Option<&str>) -> Option<f64> {
    let (from, to): (jiff::Timestamp, jiff::Timestamp) = (from?.parse().ok()?, to?.parse().ok()?);
    let millis = to.as_millisecond() - from.as_millisecond();
    u32::try_from(millis).ok().map(f64::from)
}

/// `API retry 7 of 10 (401 authentication_failed)`
fn retry(event: &Value) -> String {
    let number = |key: &str| event.get(key).and_then(Value::as_u64);
    let of = number("max_retries").map(|most| format!(" of {most}")).unwrap_or_default();
    let status = number("error_status").map(|status| format!("{status} ")).unwrap_or_default();
    let attempt = number("attempt").unwrap_or_default();
    format!("API retry {attempt}{of} ({status}{})", text(event, "error").unwrap_or("no answer"))
}

/// Whether a turn failed, and why. `subtype` says `success` even of an API error, and the exit code is 0 after an interrupt.
fn failure(result: &Value) -> Option<String> {
    let is_error = result.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    let subtype = text(result, "subtype").unwrap_or("success");
    if !is_error && subtype == "success" {
        return None;
    }
    let errors = result.get("errors").and_then(Value::as_array).into_iter().flatten();
    let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
    let said = text(result, "result").map(str::to_owned).filter(|said| !said.trim().is_empty());
    let said = said.or_else(|| (!errors.is_empty()).then(|| errors.join("; ")));
    Some(match (said, subtype) {
        (Some(said), "success") => said,
        (Some(said), subtype) => format!("{said} ({subtype})"),
        (None, subtype) => subtype.to_owned(),
    })
}

fn reported(result: &Value) -> Reported {
    Reported {
        token_usage: tokens(result),
        cost_usd: cost(result),
        duration_ms: result.get("duration_ms").and_then(Value::as_f64),
    }
}

fn cost(result: &Value) -> Option<f64> {
    ["total_cost_usd", "cost_usd"].iter().find_map(|key| result.get(*key)?.as_f64())
}

/// Over all turns and subagents, as the cost is, where the client tells; else those of the last turn. What was read from the
/// cache or written to it went in as well.
fn tokens(result: &Value) -> Option<TokenUsage> {
    let models = result.get("modelUsage").and_then(Value::as_object);
    if let Some(models) = models.filter(|models| !models.is_empty()) {
        let sum = |key: &str| -> f64 {
            models.values().filter_map(|model| model.get(key)?.as_f64()).sum()
        };
        let cached = sum("cacheReadInputTokens");
        return Some(TokenUsage {
            input: sum("inputTokens") + cached + sum("cacheCreationInputTokens"),
            output: sum("outputTokens"),
            cached: Some(cached),
        });
    }
    // Before 1.0 the numbers stood in the result itself.
    let usage = result.get("usage").unwrap_or(result);
    let number = |key: &str| usage.get(key).and_then(Value::as_f64);
    let cached = number("cache_read_input_tokens");
    Some(TokenUsage {
        input: number("input_tokens")?
            + cached.unwrap_or_default()
            + number("cache_creation_input_tokens").unwrap_or_default(),
        output: number("output_tokens")?,
        cached,
    })
}

/// Each block of a message, one below the other.
fn message_entry(role: &str, event: &Value) -> String {
    let content = event.get("message").and_then(|message| message.get("content"));
    let bare = content.and_then(Value::as_str).map(|said| format!("{role}: {}", one_line(said)));
    bare.into_iter()
        .chain(blocks(event).map(|block| block_entry(role, block)))
        .collect::<Vec<_>>()
        .join("\n")
}

fn block_entry(role: &str, block: &Value) -> String {
    let part = |key: &str| text(block, key).unwrap_or_default();
    match part("type") {
        "text" => format!("{role}: {}", one_line(part("text"))),
        "tool_use" => {
            with_details(format!("{role}: tool_use ({})", part("name")), block, &["input"])
        }
        "tool_result" => {
            let head = format!("{role}: tool_result ({})", part("tool_use_id"));
            with_details(head, block, &["content"])
        }
        other => with_details(format!("{role}: {other}"), block, &["thinking"]),
    }
}
