//! The messages of an agent, with each tool's result beside its call.

use agentv_wire::{OutputMessage, ToolCall};
use serde_json::Value;
use std::collections::HashMap;

/// Messages in the order in which they were told.
#[derive(Debug, Default)]
pub struct AgentMessages {
    messages: Vec<OutputMessage>,
    /// Where the call of an id is: which message, which of its calls.
    calls: HashMap<String, (usize, usize)>,
}

impl AgentMessages {
    pub fn say(&mut self, text: impl Into<String>) {
        self.push(OutputMessage::assistant(text));
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
        let at = self.messages.len();
        for (index, call) in message.tool_calls.iter().flatten().enumerate() {
            if let Some(id) = &call.id {
                self.calls.insert(id.clone(), (at, index));
            }
        }
        self.messages.push(message);
    }

    /// The call of this id, to be completed. Clients tell results in the order of completion.
    pub fn call_of(&mut self, id: &str) -> Option<&mut ToolCall> {
        let (message, call) = *self.calls.get(id)?;
        self.messages.get_mut(message)?.tool_calls.as_mut()?.get_mut(call)
    }

    /// Puts a result beside its call. One without a call is dropped: there is nothing to grade it with.
    pub fn result(&mut self, id: &str, output: Value) {
        if let Some(call) = self.call_of(id) {
            call.output = Some(output);
        }
    }

    pub fn into_messages(self) -> Vec<OutputMessage> {
        self.messages
    }
}
