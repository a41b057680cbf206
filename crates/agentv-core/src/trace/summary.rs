//! Events → counts.

use agentv_wire::{TraceEvent, TraceEventType, TraceSummary};

/// Counts events, tool calls by name, and errors.
pub fn summarize(events: &[TraceEvent]) -> TraceSummary {
    let mut summary = TraceSummary { event_count: events.len(), ..TraceSummary::default() };
    for event in events {
        match (event.kind, &event.name) {
            (TraceEventType::ToolCall, Some(name)) => {
                *summary.tool_calls_by_name.entry(name.clone()).or_default() += 1;
            }
            (TraceEventType::Error, _) => summary.error_count += 1,
            _ => {}
        }
    }
    // A sorted map's keys are sorted by bytes, which for UTF-8 is by code point.
    summary.tool_names = summary.tool_calls_by_name.keys().cloned().collect();
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_are_counted_by_name_and_names_sorted() {
        let events: Vec<TraceEvent> = serde_json::from_value(json!([
            {"type": "tool_call", "name": "verify"}, {"type": "tool_result"},
            {"type": "tool_call", "name": "searchDocs"}, {"type": "error"},
            {"type": "tool_call", "name": "searchDocs"}, {"type": "tool_call"},
        ]))
        .unwrap();
        assert_eq!(
            serde_json::to_value(summarize(&events)).unwrap(),
            json!({
                "event_count": 6,
                "tool_names": ["searchDocs", "verify"],
                "tool_calls_by_name": {"searchDocs": 2, "verify": 1},
                "error_count": 1,
            })
        );
    }
}
