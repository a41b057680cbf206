//! What is made of a client's output.

use super::stream::JsonLines;
use agentv_core::Response;
use agentv_core::provider::Reported;
use agentv_wire::{Object, Omitted, OutputMessage};
use serde_json::Value;

/// Follows what one client prints, event by event. Unknown events are passed over: clients add some with every version.
pub trait EventReader: Default + Send + 'static {
    fn event(&mut self, event: &Value);

    /// Whether the answer is complete as far as one can tell; a later event may take it back.
    fn is_done(&self) -> bool;

    fn finish(self) -> Reading;

    /// An event for the log, in a few lines: all texts, and tool calls with their inputs and results.
    fn summary(event: &Value) -> String;
}

/// All that a client's output says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub messages: Vec<OutputMessage>,
    /// What the client calls its result; else the last that was said.
    pub answer: Option<String>,
    /// Why there is none, by the client's own word.
    pub failure: Option<String>,
    /// The client never came to its closing event: what there is, is no answer.
    pub is_cut: bool,
    /// What it was struggling with last, for an error that says nothing else: `API retry 7 of 10 (401)`.
    pub trouble: Option<String>,
    pub reported: Reported,
    /// For the record's `provider_metadata`.
    pub metadata: Object,
    /// What is missing among the messages.
    pub omitted: Omitted,
}

impl Reading {
    /// `None` if nothing was said at all.
    pub fn into_response(self) -> Option<Response> {
        let Self { mut messages, answer, reported, metadata, .. } = self;
        let said = messages.iter().rev().filter(|message| message.role == "assistant");
        let mut said = said.filter_map(|message| message.content.as_ref()?.as_str());
        let last = said.next();
        match (&answer, last) {
            (None, None) => return None,
            (Some(answer), last) if last != Some(answer) => {
                messages.push(OutputMessage::assistant(answer.clone()));
            }
            _ => {}
        }
        let reported = reported.bounded();
        Some(Response { messages: Some(messages), reported, metadata, ..Response::default() })
    }
}

/// Reads an output that is there as a whole: lines of events, or one JSON document with one event or a list of them.
pub fn read_all<R: EventReader>(bytes: &[u8]) -> Reading {
    let mut reader = R::default();
    let mut events = 0;
    let mut lines = JsonLines::default();
    let mut take = |line: &[u8]| {
        for event in Event::parse(line).into_iter().flatten() {
            reader.event(&event);
            events += 1;
        }
    };
    lines.push(bytes, &mut take);
    lines.finish(&mut take);
    if events == 0 {
        for event in Event::parse(bytes).into_iter().flatten() {
            reader.event(&event);
        }
    }
    reader.finish()
}

/// The events of one line, or of a document.
pub(super) struct Event;

impl Event {
    /// `None` if it is noise. An array is a list of events.
    pub(super) fn parse(bytes: &[u8]) -> Option<Vec<Value>> {
        let text = bytes.trim_ascii();
        if !matches!(text.first(), Some(b'{' | b'[')) {
            return None;
        }
        match serde_json::from_slice(text).ok()? {
            Value::Array(events) => Some(events),
            event => Some(vec![event]),
        }
    }
}
