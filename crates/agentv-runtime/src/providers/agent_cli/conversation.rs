//! The messages of an agent, with each tool's result beside its call.

use super::bounded::{Bounded, size};
use agentv_wire::{Omitted, OutputMessage, ToolCall};
use serde_json::Value;
use std::collections::HashMap;

/// How long a message may be that is told in pieces.
const PIECES_BYTES: usize = 16 << 20;

/// Messages in the order in which they were told. An agent that never stops talking cannot fill the memory.
#[derive(Debug, Default)]
pub struct AgentMessages {
    messages: Bounded<OutputMessage>,
    /// Where the call of an id is: which message, which of its calls.
    calls: HashMap<String, (usize, usize)>,
    /// A message that is told in pieces, so far.
    begun: String,
    omitted: Omitted,
}

impl AgentMessages {
    pub fn say(&mut self, text: impl Into<String>) {
        self.push(OutputMessage::assistant(text));
    }

    /// Adds a piece to the message at hand.
    pub fn say_piece(&mut self, piece: &str) {
        if self.begun.len() + piece.len() <= PIECES_BYTES {
            self.begun.push_str(piece);
        } else {
            self.omitted.text_bytes += piece.len() as u64;
        }
    }

    /// The pieces so far are a message, if there are any.
    pub fn end_pieces(&mut self) {
        if !self.begun.is_empty() {
            let said = std::mem::take(&mut self.begun);
            self.say(said);
        }
    }

    /// A call as a message of its own.
    pub fn call(&mut self, call: ToolCall) {
        self.push(OutputMessage {
            role: "assistant".to_owned(),
            tool_calls: Some(vec![call]),
            ..OutputMessage::default()
        });
    }

    pub fn push(&mut self, message: OutputMessage) {
        let at = self.messages.next_number();
        for (index, call) in message.tool_calls.iter().flatten().enumerate() {
            if let Some(id) = &call.id {
                self.calls.insert(id.clone(), (at, index));
            }
        }
        let bytes = size_of(&message);
        for (number, gone) in self.messages.push(message, bytes) {
            self.omitted.messages += 1;
            for call in gone.tool_calls.iter().flatten() {
                self.omitted.tool_calls += 1;
                let id = call.id.as_deref().unwrap_or_default();
                if self.calls.get(id).is_some_and(|(message, _)| *message == number) {
                    self.calls.remove(id);
                }
            }
        }
    }

    /// Completes the call of this id, if it is there. Clients tell results in the order of completion.
    pub fn complete(&mut self, id: &str, complete: impl FnOnce(&mut ToolCall)) -> bool {
        let Some((number, index)) = self.calls.get(id).copied() else { return false };
        let Some(call) = call_at(&mut self.messages, number, index) else { return false };
        let before = call.output.as_ref().map_or(0, size);
        complete(call);
        let growth = call.output.as_ref().map_or(0, size).saturating_sub(before);
        if !self.messages.grow(number, growth)
            && let Some(call) = call_at(&mut self.messages, number, index)
        {
            call.output = Some(format!("… about {growth} bytes left out …").into());
            self.omitted.text_bytes += growth as u64;
        }
        true
    }

    /// Puts a result beside its call. One without a call is dropped: there is nothing to grade it with.
    pub fn result(&mut self, id: &str, output: Value) {
        self.complete(id, |call| call.output = Some(output));
    }

    /// The messages, and what is missing among them.
    pub fn finish(mut self) -> (Vec<OutputMessage>, Omitted) {
        self.end_pieces();
        (self.messages.into_vec(), self.omitted)
    }
}

fn call_at(
    messages: &mut Bounded<OutputMessage>,
    number: usize,
    index: usize,
) -> Option<&mut ToolCall> {
    messages.get_mut(number)?.tool_calls.as_mut()?.get_mut(index)
}

/// About how much memory a message takes.
fn size_of(message: &OutputMessage) -> usize {
    let calls = message.tool_calls.iter().flatten();
    let calls = calls.map(|call| {
        let values = [&call.input, &call.output].into_iter().flatten().map(size).sum::<usize>();
        size_of_val(call) + call.tool.len() + values
    });
    let content = message.content.as_ref().map_or(0, size);
    size_of_val(message) + content + calls.sum::<usize>()
}
