//! The lines of `pi --mode json`.

use crate::providers::agent_cli::{
    AgentMessages, Bounded, EventReader, Reading, one_line, size, text, with_details,
};
use agentv_core::provider::Reported;
use agentv_wire::{Object, Omitted, OutputMessage, TokenUsage, ToolCall};
use serde_json::Value;

/// Follows a session of pi. The same messages are told up to three times: each by itself, those of a turn, all of them.
#[derive(Debug, Default)]
pub struct PiReader {
    /// As they ended.
    messages: Bounded<Value>,
    /// Those of the turns.
    turns: Bounded<Value>,
    /// Those of the last `agent_end`; there is one more after each retry.
    all: Vec<Value>,
    has_ended: bool,
    trouble: Option<String>,
    session: Option<String>,
}

impl EventReader for PiReader {
    fn event(&mut self, event: &Value) {
        let message = || event.get("message").cloned();
        let list = |key: &str| event.get(key).and_then(Value::as_array).cloned();
        match text(event, "type") {
            Some("session") => self.session = text(event, "id").map(str::to_owned),
            Some("agent_start") => self.has_ended = false,
            Some("message_end") => add(&mut self.messages, message()),
            Some("turn_end") => {
                add(&mut self.turns, message());
                add(&mut self.turns, list("toolResults").into_iter().flatten());
            }
            Some("agent_end") => {
                self.all = list("messages").unwrap_or_default();
                self.has_ended = true;
            }
            Some("auto_retry_start") => {
                self.trouble = text(event, "errorMessage").map(str::to_owned);
            }
            _ => {}
        }
    }

    /// After a failure pi may try again.
    fn is_done(&self) -> bool {
        self.has_ended && failure(&self.told().0).is_none()
    }

    fn finish(self) -> Reading {
        let (told, dropped) = self.told();
        let told = &*told;
        let reported = reported(told);
        let failure = failure(told);
        let mut metadata = facts(told);
        metadata.extend(self.session.clone().map(|id| ("session_id".to_owned(), id.into())));
        let (messages, mut omitted) = conversation(told);
        omitted.messages += dropped as u64;
        let said = messages.iter().rev().find_map(|message| message.content.as_ref()?.as_str());
        Reading {
            answer: said.map(str::to_owned),
            failure,
            is_cut: !self.has_ended,
            trouble: self.trouble,
            reported,
            metadata,
            messages,
            omitted,
        }
    }

    fn summary(event: &Value) -> String {
        let kind = text(event, "type").unwrap_or("event");
        let inner = event.get("assistantMessageEvent");
        let message = event.get("message").unwrap_or(&Value::Null);
        match (inner.and_then(|inner| text(inner, "type")), text(message, "role")) {
            (Some(inner_kind), _) => match inner.and_then(|inner| text(inner, "delta")) {
                Some(delta) => format!("{inner_kind}: {}", one_line(delta)),
                None => inner_kind.to_owned(),
            },
            // A message is told several times; it is complete at its end.
            (None, Some(role)) if kind == "message_end" => {
                with_details(format!("{kind}: {role}"), message, &["content"])
            }
            (None, Some(role)) => format!("{kind}: {role}"),
            (None, None) => match text(event, "toolName") {
                Some(tool) => with_details(format!("{kind}: {tool}"), event, &["args", "result"]),
                None => kind.to_owned(),
            },
        }
    }
}

impl PiReader {
    /// The messages by the fullest account that there is, and how many are missing in it.
    fn told(&self) -> (Vec<&Value>, usize) {
        let accounts = [
            (self.messages.iter().collect::<Vec<_>>(), self.messages.dropped()),
            (self.all.iter().collect(), 0),
            (self.turns.iter().collect(), self.turns.dropped()),
        ];
        accounts.into_iter().find(|(told, _)| !told.is_empty()).unwrap_or_default()
    }
}

fn add(account: &mut Bounded<Value>, messages: impl IntoIterator<Item = Value>) {
    for message in messages {
        let bytes = size(&message);
        account.push(message, bytes);
    }
}

fn assistants<'a>(told: &[&'a Value]) -> impl DoubleEndedIterator<Item = &'a Value> {
    told.iter().copied().filter(|message| text(message, "role") == Some("assistant"))
}

/// The exit code is 0 even then.
fn failure(told: &[&Value]) -> Option<String> {
    let last = assistants(told).next_back()?;
    let reason =
        text(last, "stopReason").filter(|reason| matches!(*reason, "error" | "aborted"))?;
    Some(text(last, "errorMessage").unwrap_or(reason).to_owned())
}

fn conversation(told: &[&Value]) -> (Vec<OutputMessage>, Omitted) {
    let mut conversation = AgentMessages::default();
    for message in told {
        match text(message, "role") {
            Some("assistant") => assistant(&mut conversation, message),
            Some("toolResult") => {
                let id = text(message, "toolCallId").unwrap_or_default();
                conversation.result(id, message.get("content").map(flat).unwrap_or_default());
            }
            _ => {}
        }
    }
    conversation.finish()
}

fn assistant(conversation: &mut AgentMessages, message: &Value) {
    let timestamp = message.get("timestamp").and_then(Value::as_i64);
    let timestamp = timestamp
        .and_then(|time| jiff::Timestamp::from_millisecond(time).ok())
        .map(|time| format!("{time:.3}"));
    let content = message.get("content").unwrap_or(&Value::Null);
    let mut said: Vec<&str> = content.as_str().into_iter().collect();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for part in content.as_array().into_iter().flatten() {
        match text(part, "type") {
            Some("text") => said.extend(text(part, "text")),
            // Older versions use the names of Anthropic's API, with the result in the same message.
            Some("toolCall" | "tool_use") => calls.push(ToolCall {
                tool: text(part, "name").unwrap_or_default().to_owned(),
                input: part.get("arguments").or_else(|| part.get("input")).cloned(),
                id: text(part, "id").map(str::to_owned),
                timestamp: timestamp.clone(),
                ..ToolCall::default()
            }),
            Some("tool_result") => results.push(part),
            _ => {}
        }
    }
    let has_failed = text(message, "stopReason") == Some("error");
    if has_failed && said.is_empty() && calls.is_empty() {
        return;
    }
    conversation.push(OutputMessage {
        role: "assistant".to_owned(),
        content: (!said.is_empty() || calls.is_empty()).then(|| said.join("\n").into()),
        tool_calls: (!calls.is_empty()).then_some(calls),
        timestamp,
        ..OutputMessage::default()
    });
    for part in results {
        let id = text(part, "tool_use_id").unwrap_or_default();
        conversation.result(id, part.get("content").map(flat).unwrap_or_default());
    }
}

/// Blocks that are all text are text.
fn flat(content: &Value) -> Value {
    let Some(blocks) = content.as_array() else { return content.clone() };
    let texts: Option<Vec<&str>> = blocks.iter().map(|block| text(block, "text")).collect();
    texts.map_or_else(|| content.clone(), |texts| texts.join("\n").into())
}

/// The sum over all messages. What was read from the cache or written to it went in as well.
fn reported(told: &[&Value]) -> Reported {
    let mut usages = assistants(told).filter_map(|message| message.get("usage")).peekable();
    if usages.peek().is_none() {
        return Reported::default();
    }
    let mut tokens = TokenUsage { input: 0.0, output: 0.0, cached: Some(0.0) };
    let mut cost = None;
    for usage in usages {
        let number = |key: &str| usage.get(key).and_then(Value::as_f64).unwrap_or_default();
        let cached = number("cacheRead");
        tokens.input += number("input") + cached + number("cacheWrite");
        tokens.output += number("output");
        tokens.cached = tokens.cached.map(|sum| sum + cached);
        if let Some(more) = usage.get("cost").and_then(|cost| cost.get("total")?.as_f64()) {
            cost = Some(cost.unwrap_or_default() + more);
        }
    }
    // pi says 0 of models whose price it does not know.
    let cost_usd = cost.filter(|cost| *cost > 0.0);
    Reported { token_usage: Some(tokens), cost_usd, duration_ms: None }
}

/// Who answered, for the record.
fn facts(told: &[&Value]) -> Object {
    let last = assistants(told).next_back();
    let facts = [("provider", "provider"), ("model", "model"), ("stop_reason", "stopReason")];
    let known = facts.iter().filter_map(|(name, key)| Some((*name, text(last?, key)?)));
    known.map(|(name, value)| (name.to_owned(), value.into())).collect()
}
