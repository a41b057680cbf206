//! The lines of `opencode run --format json`.

use crate::providers::agent_cli::{
    AgentMessages, EventReader, Reading, one_line, text, with_details,
};
use agentv_core::provider::Reported;
use agentv_wire::{TokenUsage, ToolCall};
use serde_json::Value;

/// Follows a session of OpenCode.
#[derive(Debug, Default)]
pub struct OpenCodeReader {
    conversation: AgentMessages,
    session: Option<String>,
    /// Whether the last step was one that no other follows.
    is_over: bool,
    failure: Option<String>,
    tokens: Option<TokenUsage>,
    cost: Option<f64>,
}

impl EventReader for OpenCodeReader {
    fn event(&mut self, event: &Value) {
        if let Some(session) = text(event, "sessionID") {
            self.session = Some(session.to_owned());
        }
        let part = event.get("part").unwrap_or(&Value::Null);
        match text(event, "type") {
            Some("step_start") => self.is_over = false,
            Some("text") => self.conversation.say(text(part, "text").unwrap_or_default()),
            Some("tool_use") => self.conversation.call(call(part)),
            Some("step_finish") => self.finish_step(part),
            Some("error") => self.failure = Some(error(event)),
            _ => {}
        }
    }

    fn is_done(&self) -> bool {
        self.is_over
    }

    fn finish(self) -> Reading {
        let (messages, omitted) = self.conversation.finish();
        let said = messages.iter().rev().find_map(|message| message.content.as_ref()?.as_str());
        let session = self.session.map(|session| ("session_id".to_owned(), session.into()));
        Reading {
            answer: said.map(str::to_owned),
            failure: self.failure,
            is_cut: !self.is_over,
            reported: Reported {
                token_usage: self.tokens,
                // OpenCode says 0 of models whose price it does not know.
                cost_usd: self.cost.filter(|cost| *cost > 0.0),
                ..Reported::default()
            },
            metadata: session.into_iter().collect(),
            messages,
            omitted,
            ..Reading::default()
        }
    }

    fn summary(event: &Value) -> String {
        let kind = text(event, "type").unwrap_or("event");
        let part = event.get("part").unwrap_or(&Value::Null);
        let head = match ["text", "tool", "reason"].iter().find_map(|key| text(part, key)) {
            Some(about) => format!("{kind}: {}", one_line(about)),
            None if kind == "error" => format!("error: {}", one_line(&error(event))),
            None => kind.to_owned(),
        };
        let state = part.get("state").unwrap_or(&Value::Null);
        with_details(head, state, &["input", "output", "error"])
    }
}

impl OpenCodeReader {
    /// Tokens and cost are those of one step.
    fn finish_step(&mut self, part: &Value) {
        let reason = text(part, "reason").unwrap_or("unknown");
        // After these OpenCode asks the model again.
        self.is_over = !matches!(reason, "tool-calls" | "unknown");
        if let Some(cost) = part.get("cost").and_then(Value::as_f64) {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
        let Some(tokens) = part.get("tokens") else { return };
        let number =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_f64).unwrap_or_default();
        let cache = tokens.get("cache").unwrap_or(&Value::Null);
        let cached = number(cache, "read");
        let before = self.tokens.unwrap_or(TokenUsage { input: 0.0, output: 0.0, cached: None });
        self.tokens = Some(TokenUsage {
            input: before.input + number(tokens, "input") + cached + number(cache, "write"),
            output: before.output + number(tokens, "output") + number(tokens, "reasoning"),
            cached: Some(before.cached.unwrap_or_default() + cached),
        });
    }
}

/// A call is told when it is over, with its result.
fn call(part: &Value) -> ToolCall {
    let state = part.get("state").unwrap_or(&Value::Null);
    let time = |key: &str| state.get("time")?.get(key)?.as_i64();
    let started = time("start");
    let took = started.zip(time("end")).map(|(start, end)| end.saturating_sub(start));
    ToolCall {
        tool: text(part, "tool").unwrap_or_default().to_owned(),
        input: state.get("input").cloned(),
        output: state.get("output").or_else(|| state.get("error")).cloned(),
        id: text(part, "callID").map(str::to_owned),
        timestamp: started
            .and_then(|start| jiff::Timestamp::from_millisecond(start).ok())
            .map(|start| format!("{start:.3}")),
        duration_ms: took.and_then(|took| u32::try_from(took).ok()).map(f64::from),
    }
}

fn error(event: &Value) -> String {
    let error = event.get("error").unwrap_or(&Value::Null);
    let message = error.get("data").and_then(|data| text(data, "message"));
    let said = message.or_else(|| text(error, "message")).or_else(|| text(error, "name"));
    said.unwrap_or("the session failed").to_owned()
}
