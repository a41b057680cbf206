//! The files under `~/.claude/projects`. Their messages look like those that Claude Code prints, so its reader reads them; what
//! it prints at the end of a turn is put together here.

use super::transcript::text_of;
use super::{Transcriber, Transcript, Turn};
use crate::providers::agent_cli::{EventReader, text};
use crate::providers::claude_code::ClaudeReader;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Follows one file.
#[derive(Debug, Default)]
pub(super) struct ClaudeSession {
    transcript: Transcript,
    open: Option<Open>,
    cost: Cost,
}

/// A turn that may go on.
#[derive(Debug)]
struct Open {
    prompt: String,
    reader: ClaudeReader,
    began: Option<String>,
    ended: Option<String>,
    /// By API message: each is told once per block, with the same numbers.
    usage: BTreeMap<String, Value>,
    end: End,
}

/// What a turn would end with if it ended now.
#[derive(Debug)]
enum End {
    Unanswered,
    /// A tool was called, or has answered.
    InTool,
    Interrupted,
    Answer(String),
    ApiError(String),
}

/// The session's cost, which is told now and then, in total.
#[derive(Debug)]
struct Cost {
    /// When the turn at hand began; `None` if a turn ended since without being counted.
    before: Option<f64>,
    now: Option<f64>,
}

impl Default for Cost {
    fn default() -> Self {
        Self { before: Some(0.0), now: None }
    }
}

impl Cost {
    /// What the turn cost that ends here.
    fn take(&mut self) -> Option<f64> {
        let now = self.now.take();
        let before = std::mem::replace(&mut self.before, now);
        match (before, now) {
            // A total that shrank has been started anew.
            (Some(before), Some(now)) if now < before => Some(now),
            // Differences of decimal fractions come with noise.
            (Some(before), Some(now)) => Some(((now - before) * 1e12).round() / 1e12),
            _ => None,
        }
    }
}

/// Only session files spell it like this.
pub(super) fn knows(event: &Value) -> bool {
    text(event, "sessionId").is_some() && text(event, "type").is_some()
}

impl Transcriber for ClaudeSession {
    fn event(&mut self, event: &Value) {
        if let (None, Some(id)) = (&self.transcript.session, text(event, "sessionId")) {
            self.transcript.session = Some(id.to_owned());
        }
        // The work of an agent that the agent has started.
        if is_set(event, "isSidechain") {
            return;
        }
        match text(event, "type") {
            Some("user") => self.user(event),
            Some("assistant") => self.assistant(event),
            Some("cost-state") => {
                let total = event.get("totalCostUSD").and_then(Value::as_f64);
                self.cost.now = total.or(self.cost.now);
            }
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>) -> Transcript {
        self.close();
        self.transcript
    }
}

impl ClaudeSession {
    fn user(&mut self, event: &Value) {
        let said = Said::of(event);
        if let Said::Prompt(prompt) = said {
            self.close();
            self.open = Some(Open {
                prompt,
                reader: ClaudeReader::default(),
                began: text(event, "timestamp").map(str::to_owned),
                ended: None,
                usage: BTreeMap::new(),
                end: End::Unanswered,
            });
            return;
        }
        let Some(open) = &mut self.open else { return };
        match said {
            Said::Interrupt => open.end = End::Interrupted,
            Said::ToolResult => {
                open.reader.event(event);
                open.end = End::InTool;
            }
            Said::Prompt(_) | Said::Nothing => {}
        }
    }

    fn assistant(&mut self, event: &Value) {
        let Some(open) = &mut self.open else { return };
        open.ended = text(event, "timestamp").map(str::to_owned).or(open.ended.take());
        let Some(message) = event.get("message") else { return };
        if let (Some(id), Some(usage)) = (text(message, "id"), message.get("usage")) {
            open.usage.insert(id.to_owned(), usage.clone());
        }
        let content = message.get("content").unwrap_or(&Value::Null);
        let said = text_of(content);
        if let Some(said) = said.clone().filter(|_| is_set(event, "isApiErrorMessage")) {
            open.end = End::ApiError(said);
            return;
        }
        open.reader.event(event);
        let mut blocks = content.as_array().into_iter().flatten();
        if blocks.any(|block| text(block, "type") == Some("tool_use")) {
            open.end = End::InTool;
        } else if let Some(said) = said {
            open.end = End::Answer(said);
        }
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let cost = self.cost.take();
        let (said, is_error) = match &open.end {
            End::Unanswered => {
                self.transcript.unanswered += 1;
                return;
            }
            // Without a result the reader knows that the turn was cut.
            End::InTool => (None, true),
            End::Interrupted => (Some("the user interrupted it"), true),
            End::Answer(said) => (Some(said.as_str()), false),
            End::ApiError(said) => (Some(said.as_str()), true),
        };
        if let Some(said) = said {
            let result = json!({
                "type": "result",
                "subtype": "success",
                "is_error": is_error,
                "result": said,
                "session_id": self.transcript.session,
                "usage": open.usage(),
                "total_cost_usd": cost,
                "duration_ms": open.milliseconds(),
            });
            open.reader.event(&result);
        }
        self.transcript.turns.push(Turn::new(Some(open.prompt), open.reader.finish()));
    }
}

impl Open {
    /// Summed over the turn's messages.
    fn usage(&self) -> Value {
        let sum = |key: &str| -> f64 {
            self.usage.values().filter_map(|usage| usage.get(key)?.as_f64()).sum()
        };
        json!({
            "input_tokens": sum("input_tokens"),
            "output_tokens": sum("output_tokens"),
            "cache_read_input_tokens": sum("cache_read_input_tokens"),
            "cache_creation_input_tokens": sum("cache_creation_input_tokens"),
        })
    }

    /// From the prompt to the last word.
    fn milliseconds(&self) -> Option<i64> {
        let time = |text: &Option<String>| text.as_deref()?.parse::<jiff::Timestamp>().ok();
        let (began, ended) = (time(&self.began)?, time(&self.ended)?);
        Some(ended.as_millisecond().saturating_sub(began.as_millisecond())).filter(|ms| *ms >= 0)
    }
}

/// What a line of the user's is.
enum Said {
    Prompt(String),
    ToolResult,
    Interrupt,
    /// Words that the client put into the user's mouth.
    Nothing,
}

impl Said {
    fn of(event: &Value) -> Self {
        let Some(content) = event.get("message").and_then(|message| message.get("content")) else {
            return Self::Nothing;
        };
        let is_result = |block: &Value| text(block, "type") == Some("tool_result");
        if content.as_array().is_some_and(|blocks| blocks.iter().any(is_result)) {
            return Self::ToolResult;
        }
        let Some(said) = text_of(content) else { return Self::Nothing };
        if said.starts_with("[Request interrupted by user") {
            return Self::Interrupt;
        }
        let is_made_up = ["isMeta", "isCompactSummary"].iter().any(|key| is_set(event, key))
            || ["<local-command-", "<task-notification>"].iter().any(|tag| said.starts_with(tag));
        if is_made_up { Self::Nothing } else { Self::Prompt(said) }
    }
}

fn is_set(event: &Value, key: &str) -> bool {
    event.get(key).and_then(Value::as_bool).unwrap_or_default()
}
