//! The files under `~/.codex/sessions`. What they tell is turned into the events that `codex exec --json` prints, so that its
//! reader makes the same of a session as of the run itself.

use super::transcript::text_of;
use super::{Transcriber, Transcript, Turn};
use crate::providers::agent_cli::{EventReader, text};
use crate::providers::codex::CodexReader;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Follows one file.
#[derive(Debug, Default)]
pub(super) struct CodexRollout {
    transcript: Transcript,
    open: Option<Open>,
    /// The session's tokens so far, as older versions count them.
    total: Option<Value>,
}

/// A turn that may go on.
#[derive(Debug, Default)]
struct Open {
    prompts: Vec<String>,
    reader: CodexReader,
    /// Whether the client says where turns begin and end. Older ones do not.
    has_bounds: bool,
    /// Whether anything was said or done.
    is_answered: bool,
    /// Calls that were told as items, which say more than the model's own calls.
    items: HashSet<String>,
    /// The model's own calls that run something, by id.
    commands: HashMap<String, String>,
    said_last: Option<String>,
    /// The session's tokens before it.
    before: Option<Value>,
    usage: Option<Value>,
    duration_ms: Option<f64>,
}

pub(super) fn knows(event: &Value) -> bool {
    matches!(text(event, "type"), Some("session_meta" | "event_msg" | "response_item"))
        && event.get("payload").is_some()
}

impl Transcriber for CodexRollout {
    fn event(&mut self, event: &Value) {
        let Some(payload) = event.get("payload") else { return };
        match text(event, "type") {
            Some("session_meta") => {
                if let (None, Some(id)) = (&self.transcript.session, text(payload, "id")) {
                    self.transcript.session = Some(id.to_owned());
                }
            }
            Some("token_usage_record") => {
                if let (Some(open), Some(usage)) = (&mut self.open, payload.get("turn_token_usage"))
                {
                    open.usage = Some(usage.clone());
                }
            }
            Some("event_msg") => self.message(payload),
            Some("response_item") => self.call(payload),
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>) -> Transcript {
        self.close();
        self.transcript
    }
}

impl CodexRollout {
    fn message(&mut self, payload: &Value) {
        match text(payload, "type") {
            Some("task_started") => {
                self.close();
                self.begin(true);
            }
            Some("task_complete") => self.complete(payload),
            Some("turn_aborted") => self.fail("the turn was interrupted"),
            Some("item_completed") => {
                if let Some(item) = payload.get("item") {
                    self.item(item);
                }
            }
            Some("user_message") => self.prompt(text(payload, "message").map(str::to_owned)),
            Some("agent_message") => self.say(text(payload, "message").unwrap_or_default(), None),
            Some("token_count") => {
                let total = payload.get("info").and_then(|info| info.get("total_token_usage"));
                self.total = total.cloned().or(self.total.take());
            }
            _ => {}
        }
    }

    /// What was said and done, as newer versions tell it.
    fn item(&mut self, item: &Value) {
        match text(item, "type") {
            Some("UserMessage") => self.prompt(item.get("content").and_then(text_of)),
            Some("AgentMessage") => {
                let said = item.get("content").and_then(text_of).unwrap_or_default();
                self.say(&said, text(item, "id"));
            }
            Some(_) => {
                if let Some(id) = text(item, "id") {
                    self.happened("item.completed", &printed(item));
                    self.open.get_or_insert_default().items.insert(id.to_owned());
                }
            }
            None => {}
        }
    }

    /// The model's own calls and their results.
    fn call(&mut self, payload: &Value) {
        let Some(id) = text(payload, "call_id") else { return };
        if self.open.as_ref().is_some_and(|open| open.items.contains(id)) {
            return;
        }
        match text(payload, "type") {
            Some("function_call") => {
                let arguments = text(payload, "arguments").unwrap_or_default();
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                let Some(command) = command(&arguments) else { return };
                let item = json!({"id": id, "type": "command_execution", "command": command,
                    "status": "in_progress"});
                self.happened("item.started", &item);
                self.open.get_or_insert_default().commands.insert(id.to_owned(), command);
            }
            Some("function_call_output") => {
                let command = self.open.as_ref().and_then(|open| open.commands.get(id));
                let Some(command) = command else { return };
                let item = json!({"id": id, "type": "command_execution", "command": command,
                    "aggregated_output": payload.get("output"), "status": "completed"});
                self.happened("item.completed", &item);
            }
            _ => {}
        }
    }

    fn prompt(&mut self, prompt: Option<String>) {
        let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) else { return };
        let goes_on = self.open.as_ref().is_some_and(|open| open.has_bounds || !open.is_answered);
        if !goes_on {
            self.close();
            self.begin(false);
        }
        let prompts = &mut self.open.get_or_insert_default().prompts;
        // Newer versions tell it in two ways.
        if prompts.last() != Some(&prompt) {
            prompts.push(prompt);
        }
    }

    /// A message, told once however often it is written down.
    fn say(&mut self, said: &str, id: Option<&str>) {
        let Some(open) = &mut self.open else { return };
        let is_known = match id {
            Some(id) => !open.items.insert(id.to_owned()),
            None => open.said_last.as_deref() == Some(said),
        };
        if is_known || said.is_empty() {
            return;
        }
        open.said_last = Some(said.to_owned());
        self.happened("item.completed", &json!({"type": "agent_message", "text": said}));
    }

    fn happened(&mut self, kind: &str, item: &Value) {
        let Some(open) = &mut self.open else { return };
        open.is_answered = true;
        open.reader.event(&json!({ "type": kind, "item": item }));
    }

    fn begin(&mut self, has_bounds: bool) {
        let mut open = Open { has_bounds, before: self.total.clone(), ..Open::default() };
        if let Some(session) = &self.transcript.session {
            open.reader.event(&json!({ "type": "thread.started", "thread_id": session }));
        }
        open.reader.event(&json!({ "type": "turn.started" }));
        self.open = Some(open);
    }

    fn complete(&mut self, payload: &Value) {
        let error = payload.get("error").filter(|error| !error.is_null());
        let Some(open) = &mut self.open else { return };
        open.duration_ms = payload.get("duration_ms").and_then(Value::as_f64);
        if let Some(error) = error {
            let message = text(error, "message").unwrap_or("the turn failed").to_owned();
            return self.fail(&message);
        }
        open.finish(self.total.as_ref());
        self.close();
    }

    fn fail(&mut self, message: &str) {
        if let Some(open) = &mut self.open {
            open.is_answered = true;
            open.reader.event(&json!({ "type": "turn.failed", "error": { "message": message } }));
        }
        self.close();
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        if !open.is_answered {
            self.transcript.unanswered += usize::from(!open.prompts.is_empty());
            return;
        }
        if !open.has_bounds {
            open.finish(self.total.as_ref());
        }
        let prompt = (!open.prompts.is_empty()).then(|| open.prompts.join("\n\n"));
        let mut reading = open.reader.finish();
        reading.reported.duration_ms = open.duration_ms;
        self.transcript.turns.push(Turn::new(prompt, reading));
    }
}

impl Open {
    /// Says that the turn came to its end.
    fn finish(&mut self, total: Option<&Value>) {
        let usage = self.usage.take().or_else(|| since(self.before.as_ref(), total?));
        self.reader.event(&json!({ "type": "turn.completed", "usage": usage }));
    }
}

/// The tokens between two totals.
fn since(before: Option<&Value>, total: &Value) -> Option<Value> {
    let number = |usage: &Value, key: &str| usage.get(key).and_then(Value::as_f64);
    let spent = |key: &str| -> Option<f64> {
        let before = before.and_then(|before| number(before, key)).unwrap_or_default();
        Some((number(total, key)? - before).max(0.0))
    };
    Some(json!({
        "input_tokens": spent("input_tokens")?,
        "output_tokens": spent("output_tokens")?,
        "cached_input_tokens": spent("cached_input_tokens"),
    }))
}

/// An item as it is printed: types in `snake_case`, commands as one text, changes as a list.
fn printed(item: &Value) -> Value {
    let mut printed = item.clone();
    let Some(keys) = printed.as_object_mut() else { return printed };
    let kind = text(item, "type").map(snake_case).unwrap_or_default();
    keys.insert("type".to_owned(), kind.into());
    if let Some(command) = item.get("command").and_then(Value::as_array) {
        let words: Vec<String> = command.iter().filter_map(Value::as_str).map(quoted).collect();
        keys.insert("command".to_owned(), words.join(" ").into());
    }
    if let Some(changes) = item.get("changes").and_then(Value::as_object) {
        let change =
            |(path, change): (&String, &Value)| json!({"path": path, "kind": change.get("type")});
        keys.insert("changes".to_owned(), changes.iter().map(change).collect());
    }
    printed
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// A word for a shell, in the way in which Codex prints commands: quoted only where it must be.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-./:@]_,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    let mut double = String::from('"');
    for c in word.chars() {
        if matches!(c, '$' | '`' | '"' | '\\') {
            double.push('\\');
        }
        double.push(c);
    }
    double.push('"');
    double
}

/// What a tool was asked to run, if it runs commands.
fn command(arguments: &Value) -> Option<String> {
    match arguments.get("cmd").or_else(|| arguments.get("command"))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(quoted).collect();
            Some(words.join(" "))
        }
        _ => None,
    }
}
