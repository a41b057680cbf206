//! Where the calls come from.

use agentv_core::Candidate;
use agentv_wire::{ToolCall, TraceEvent, TraceEventType};
use serde_json::Value;

/// One tool call of the candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct CandidateCall<'a> {
    pub(super) tool: &'a str,
    pub(super) input: Option<&'a Value>,
    /// Milliseconds; `None` if it was not reported, or not as an amount.
    pub(super) duration: Option<f64>,
}

/// The calls in order, or `None` if nothing is known of what the candidate did. Messages come before the trace: they know
/// durations.
pub(super) fn of(candidate: &Candidate) -> Option<Vec<CandidateCall<'_>>> {
    let trace = candidate.trace.as_deref()?;
    let messages = candidate.messages.iter().flatten();
    let told: Vec<_> = messages
        .flat_map(|message| message.tool_calls.iter().flatten())
        .map(CandidateCall::from_message)
        .collect();
    if told.is_empty() {
        return Some(trace.iter().filter_map(CandidateCall::from_event).collect());
    }
    Some(told)
}

impl<'a> CandidateCall<'a> {
    fn from_message(call: &'a ToolCall) -> Self {
        let duration = call.duration_ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
        Self { tool: &call.tool, input: call.input.as_ref(), duration }
    }

    /// A call without a name is none of the summary's either.
    fn from_event(event: &'a TraceEvent) -> Option<Self> {
        let tool = event.name.as_deref().filter(|_| event.kind == TraceEventType::ToolCall)?;
        Some(Self { tool, input: event.input.as_ref(), duration: None })
    }
}
