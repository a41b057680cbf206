//! Output messages → events.

use agentv_wire::{OutputMessage, TraceEvent, TraceEventType};

/// One `tool_call` event per tool call, in order. Messages without calls give an empty trace, which is not the same as
/// no trace.
pub fn from_messages(messages: &[OutputMessage]) -> Vec<TraceEvent> {
    let calls = messages
        .iter()
        .flat_map(|message| message.tool_calls.iter().flatten().map(move |call| (message, call)));
    calls
        .map(|(message, call)| TraceEvent {
            timestamp: call.timestamp.clone().or_else(|| message.timestamp.clone()),
            id: call.id.clone(),
            name: Some(call.tool.clone()),
            input: call.input.clone(),
            output: call.output.clone(),
            ..TraceEvent::of(TraceEventType::ToolCall)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_without_a_time_takes_its_messages() {
        let messages: Vec<OutputMessage> = serde_json::from_value(json!([
            {"role": "assistant", "timestamp": "T1", "tool_calls": [
                {"tool": "A", "input": {"q": 1}, "id": "c1"},
                {"tool": "B", "timestamp": "T2"},
            ]},
            {"role": "assistant", "content": "done"},
        ]))
        .unwrap();
        let events = serde_json::to_value(from_messages(&messages)).unwrap();
        assert_eq!(
            events,
            json!([
                {"type": "tool_call", "timestamp": "T1", "id": "c1", "name": "A", "input": {"q": 1}},
                {"type": "tool_call", "timestamp": "T2", "name": "B"},
            ])
        );
    }
}
