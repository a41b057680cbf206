//! What a client printed: `claude --output-format stream-json` and `codex exec --json`. The providers' own readers read it.

use super::{Transcriber, Transcript, Turn};
use crate::providers::agent_cli::{EventReader, text};
use serde_json::Value;

/// One run of a client, with its reader.
#[derive(Debug, Default)]
pub(super) struct ClientOutput<R> {
    session: Option<String>,
    prompt: Option<String>,
    reader: R,
}

pub(super) fn is_claudes(event: &Value) -> bool {
    matches!(text(event, "type"), Some("system" | "assistant" | "user" | "result"))
        && event.get("session_id").is_some()
}

pub(super) fn is_codexs(event: &Value) -> bool {
    let kind = text(event, "type").unwrap_or_default();
    ["thread.started", "turn.", "item."].iter().any(|start| kind.starts_with(start))
        // Before 0.40 the output began with the session's settings.
        || (event.get("workdir").is_some() && event.get("provider").is_some())
}

impl<R: EventReader> Transcriber for ClientOutput<R> {
    fn event(&mut self, event: &Value) {
        let id = text(event, "session_id").or_else(|| text(event, "thread_id"));
        if let (None, Some(id)) = (&self.session, id) {
            self.session = Some(id.to_owned());
        }
        // Only old versions of Codex print it.
        if let (None, Some(prompt)) = (event.get("type"), text(event, "prompt")) {
            self.prompt = Some(prompt.to_owned());
        }
        self.reader.event(event);
    }

    fn finish(self: Box<Self>) -> Transcript {
        let Self { session, prompt, reader } = *self;
        let turns = vec![Turn::new(prompt, reader.finish())];
        Transcript { session, turns, unanswered: 0 }
    }
}
