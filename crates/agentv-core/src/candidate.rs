//! A response as graders see it: the answer, the messages, the trace and what it cost.

use crate::answered::Answered;
use crate::provider::{ProviderError, Response};
use crate::{metrics, trace};
use agentv_wire::{ExecutionMetrics, FileChanges, Object, OutputMessage, TraceEvent, TraceSummary};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What is graded.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The last thing the assistant said; empty when it said nothing.
    pub answer: String,
    /// A text answer is one assistant message here, unless it came with a trace instead of messages.
    pub messages: Option<Vec<OutputMessage>>,
    /// `None` when the provider gave only text: then nothing is known of what it did.
    pub trace: Option<Vec<TraceEvent>>,
    /// The trace in numbers, with the metrics.
    pub summary: TraceSummary,
    pub metrics: ExecutionMetrics,
    pub metadata: Object,
    /// The provider answered and still reports an error.
    pub error: Option<String>,
    /// What it changed in its workspace; `None` where it had none.
    pub file_changes: Option<FileChanges>,
    /// Its workspace, as long as that is there.
    pub workspace: Option<PathBuf>,
}

/// Why there is nothing to grade, and what was changed all the same.
#[derive(Debug, Clone)]
pub struct MissingAnswer {
    pub error: ProviderError,
    pub file_changes: Option<FileChanges>,
}

impl Candidate {
    /// What a source brought, as graders see it; the error where there is no answer.
    pub fn observe(
        answered: Answered,
        exploration_tools: &[String],
    ) -> Result<Self, Box<MissingAnswer>> {
        let Answered { outcome, wall, file_changes, workspace, numbers, .. } = answered;
        let response = match outcome {
            Ok(response) => response,
            Err(error) => return Err(Box::new(MissingAnswer { error, file_changes })),
        };
        let mut candidate = Self::new(response, wall, exploration_tools);
        if let Some(numbers) = numbers {
            (candidate.summary, candidate.metrics) = (numbers.summary, numbers.metrics);
        }
        Ok(Self { file_changes, workspace, ..candidate })
    }

    /// `wall` is how long the call took; it is used when the provider reports no duration.
    pub fn new(response: Response, wall: Duration, exploration_tools: &[String]) -> Self {
        let Response { text, messages, trace, mut reported, metadata, error, is_masked: _ } =
            response;
        reported.duration_ms = reported.duration_ms.or(Some(whole_milliseconds(wall)));

        // Spec: "Explicit trace takes precedence".
        let trace = trace.or_else(|| messages.as_deref().map(trace::from_messages));
        let mut summary = trace.as_deref().map(trace::summarize).unwrap_or_default();
        let calls =
            messages.iter().flatten().flat_map(|message| message.tool_calls.iter().flatten());
        let durations = metrics::tool_durations(calls);

        summary.token_usage = reported.token_usage;
        summary.cost_usd = reported.cost_usd;
        summary.duration_ms = reported.duration_ms;
        summary.tool_durations.clone_from(&durations);
        Self {
            answer: answer(messages.as_deref(), text.as_deref()),
            metrics: metrics::derive(&reported, durations, &summary, exploration_tools),
            messages: messages.or_else(|| match trace {
                None => Some(text.map(OutputMessage::assistant).into_iter().collect()),
                Some(_) => None,
            }),
            trace,
            summary,
            metadata,
            error,
            file_changes: None,
            workspace: None,
        }
    }

    /// What judges get as `candidate_trace_summary`: nothing where nothing is known.
    pub fn trace_summary(&self) -> Option<&TraceSummary> {
        self.trace.as_ref().map(|_| &self.summary)
    }
}

/// The content of the last assistant message that has any, else the text.
fn answer(messages: Option<&[OutputMessage]>, text: Option<&str>) -> String {
    let said =
        messages.unwrap_or_default().iter().rev().filter(|message| message.role == "assistant");
    let content =
        said.filter_map(|message| message.content.as_ref()).find(|content| !content.is_null());
    match content {
        Some(Value::String(content)) => content.clone(),
        Some(content) => agentv_wire::number::to_string(content).unwrap_or_default(),
        None => text.unwrap_or_default().to_owned(),
    }
}

fn whole_milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn candidate(response: Value) -> Candidate {
        Candidate::new(serde_json::from_value(response).unwrap(), Duration::from_millis(41), &[])
    }

    #[test]
    fn the_last_assistant_content_is_the_answer() {
        let said = candidate(json!({"text": "t", "messages": [
            {"role": "assistant", "content": "first"},
            {"role": "assistant", "content": {"n": 1.0}},
            {"role": "assistant", "content": null},
            {"role": "tool", "content": "no"},
        ]}));
        assert_eq!(said.answer, r#"{"n":1}"#);
    }

    #[test]
    fn text_stands_in_for_messages_that_say_nothing() {
        let said = candidate(
            json!({"text": "t", "messages": [{"role": "assistant", "tool_calls": [{"tool": "A"}]}]}),
        );
        assert_eq!(said.answer, "t");
        assert_eq!(candidate(json!({"messages": []})).answer, "");
    }

    #[test]
    fn only_text_leaves_the_trace_unknown() {
        let said = candidate(json!({"text": "t"}));
        assert_eq!(said.trace, None);
        assert_eq!(said.trace_summary(), None);
        assert_eq!(said.messages, Some(vec![OutputMessage::assistant("t")]));
        assert_eq!(said.summary.duration_ms, Some(41.0));
    }

    #[test]
    fn messages_without_calls_are_an_empty_trace() {
        let said = candidate(json!({"messages": [{"role": "assistant", "content": "hi"}]}));
        assert_eq!(said.trace, Some(vec![]));
        assert_eq!(said.trace_summary().unwrap().event_count, 0);
    }

    #[test]
    fn an_explicit_trace_comes_first_and_replaces_made_up_messages() {
        let both = candidate(json!({"trace": [{"type": "tool_call", "name": "X"}],
            "messages": [{"role": "assistant", "tool_calls": [{"tool": "A"}]}]}));
        assert_eq!(both.summary.tool_names, ["X"]);
        let trace_only = candidate(json!({"text": "t", "trace": []}));
        assert_eq!((trace_only.messages, trace_only.answer.as_str()), (None, "t"));
    }
}
