//! The lines of `codex exec --json`, of any version since 0.20.

use super::document;
use super::item;
use super::older::{self, OldUsage};
use crate::providers::agent_cli::{
    AgentMessages, EventReader, Reading, one_line, text, with_details,
};
use agentv_core::provider::Reported;
use agentv_wire::{Object, TokenUsage};
use serde_json::Value;

/// How many warnings are kept.
const WARNINGS: usize = 20;

/// Follows a session of Codex.
#[derive(Debug, Default)]
pub struct CodexReader {
    pub(super) conversation: AgentMessages,
    turn: Turn,
    /// By Codex's own word. A later turn takes it back.
    pub(super) failure: Option<String>,
    /// The last of the errors which Codex means to survive.
    trouble: Option<String>,
    warnings: Vec<Value>,
    usage: Option<TokenUsage>,
    pub(super) old_usage: OldUsage,
    /// The answer of an output that is no stream of events.
    document: Option<String>,
    pub(super) session: Object,
}

/// How far the prompt at hand is answered.
#[derive(Debug, Default, PartialEq, Eq)]
enum Turn {
    /// Versions before 0.4x tell of no turns; they are trusted by their exit code.
    #[default]
    Untold,
    Open,
    Closed,
}

impl EventReader for CodexReader {
    fn event(&mut self, event: &Value) {
        if let Some(old) = event.get("msg") {
            return older::event(self, old);
        }
        match text(event, "type") {
            Some("thread.started") => self.keep("thread_id", event.get("thread_id")),
            Some("turn.started") => {
                self.turn = Turn::Open;
                self.failure = None;
            }
            Some("turn.completed") => {
                self.turn = Turn::Closed;
                self.failure = None;
                // Counted over the whole session, so the last is all of it.
                self.usage = event.get("usage").and_then(tokens).or(self.usage);
            }
            Some("turn.failed") => {
                self.turn = Turn::Closed;
                let error = event.get("error").and_then(|error| text(error, "message"));
                self.failure = Some(error.unwrap_or("the turn failed").to_owned());
            }
            Some("item.started" | "item.updated" | "item.completed") => self.item(event),
            // `Reconnecting... 1/5` is one of these; if it was the end, `turn.failed` follows.
            Some("error") => self.struggle(text(event, "message")),
            _ => self.other(event),
        }
    }

    fn is_done(&self) -> bool {
        self.turn == Turn::Closed
    }

    fn finish(self) -> Reading {
        let Self { conversation, failure, trouble, warnings, usage, old_usage, .. } = self;
        let (messages, omitted) = conversation.finish();
        // Several messages are said along the way; the last is the answer.
        let said = messages.iter().rev().find_map(|message| message.content.as_ref()?.as_str());
        let mut metadata = self.session;
        if !warnings.is_empty() {
            metadata.insert("warnings".to_owned(), warnings.into());
        }
        Reading {
            answer: said.map(str::to_owned).or(self.document),
            messages,
            omitted,
            failure,
            is_cut: self.turn == Turn::Open,
            trouble,
            reported: Reported {
                token_usage: usage.or_else(|| old_usage.total()),
                ..Reported::default()
            },
            metadata,
        }
    }

    fn summary(event: &Value) -> String {
        let kind = text(event, "type").unwrap_or("event");
        let item = event.get("item");
        let said = item.and_then(item::said);
        let said = said.or_else(|| text(event, "message").map(str::to_owned));
        let said = said.or_else(|| Some(text(event.get("error")?, "message")?.to_owned()));
        match (said, item.and_then(item::kind)) {
            _ if event.get("msg").is_some() => older::summary(event),
            (Some(said), _) => format!("{kind}: {}", one_line(&said)),
            (None, Some(item_kind)) => with_details(
                format!("{kind}:{item_kind}"),
                item.unwrap_or(&Value::Null),
                item::LOGGED,
            ),
            (None, None) => kind.to_owned(),
        }
    }
}

impl CodexReader {
    fn item(&mut self, event: &Value) {
        let Some(item) = event.get("item") else { return };
        let is_over = text(event, "type") == Some("item.completed");
        if let Some(call) = item::call(item) {
            let id = call.id.clone().unwrap_or_default();
            let known = call.clone();
            if !self.conversation.complete(&id, |before| *before = known) {
                self.conversation.call(call);
            }
        } else if !is_over {
            // A message that is still being written.
        } else if item::kind(item) == Some("error") {
            // A remark, such as that it does not know the model.
            self.warn(text(item, "message"));
        } else if let Some(said) = item::said(item) {
            self.conversation.say(said);
        }
    }

    /// Something that keeps Codex from going on, perhaps for a while only.
    pub(super) fn struggle(&mut self, message: Option<&str>) {
        self.trouble = message.map(str::to_owned);
        self.warn(message);
    }

    fn warn(&mut self, message: Option<&str>) {
        if self.warnings.len() < WARNINGS {
            self.warnings.extend(message.map(Value::from));
        }
    }

    /// The head of an older session, or an answer in some other shape.
    fn other(&mut self, event: &Value) {
        if event.get("workdir").is_some() {
            self.keep("model", event.get("model"));
        } else if let Some(answer) = document::answer(event) {
            self.document = Some(answer);
        }
    }

    fn keep(&mut self, name: &str, value: Option<&Value>) {
        if let Some(value) = value.filter(|value| value.is_string()) {
            self.session.insert(name.to_owned(), value.clone());
        }
    }
}

/// What went in, with the part from a cache, and what came out, with the thoughts.
pub(super) fn tokens(usage: &Value) -> Option<TokenUsage> {
    let number = |key: &str| usage.get(key).and_then(Value::as_f64);
    Some(TokenUsage {
        input: number("input_tokens")?,
        output: number("output_tokens")?,
        cached: number("cached_input_tokens"),
    })
}
