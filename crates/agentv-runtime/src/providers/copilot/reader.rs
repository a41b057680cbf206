//! The lines of `copilot --output-format json`.

use crate::providers::agent_cli::{
    AgentMessages, EventReader, Reading, one_line, text, with_details,
};
use agentv_core::provider::Reported;
use agentv_wire::{Object, OutputMessage, ToolCall};
use serde_json::Value;
use std::collections::HashMap;

/// How many tools may be at work for their time to be taken.
const RUNNING_TOOLS: usize = 10_000;

/// Follows a session of Copilot.
#[derive(Debug, Default)]
pub struct CopilotReader {
    conversation: AgentMessages,
    /// When a tool was started, by the id of its call.
    started: HashMap<String, String>,
    /// The closing line.
    result: Option<Value>,
    error: Option<String>,
    trouble: Option<String>,
    model: Option<String>,
}

impl EventReader for CopilotReader {
    fn event(&mut self, event: &Value) {
        let data = event.get("data").unwrap_or(&Value::Null);
        match text(event, "type") {
            Some("assistant.message") => self.message(event, data),
            Some("tool.execution_start") => {
                let (id, time) = (text(data, "toolCallId"), text(event, "timestamp"));
                let started = id.zip(time).filter(|_| self.started.len() < RUNNING_TOOLS);
                self.started.extend(started.map(|(id, time)| (id.to_owned(), time.to_owned())));
            }
            Some("tool.execution_complete") => self.complete(event, data),
            Some("model.call_failure") => {
                let status = data.get("statusCode").and_then(Value::as_u64);
                self.trouble = Some(match status {
                    Some(status) => format!("the model's API answered {status}"),
                    None => "the model's API did not answer".to_owned(),
                });
            }
            Some("session.error") => self.error = text(data, "message").map(str::to_owned),
            Some("result") => self.result = Some(event.clone()),
            _ => {}
        }
    }

    fn is_done(&self) -> bool {
        self.result.is_some()
    }

    fn finish(self) -> Reading {
        let Self { conversation, result, error, trouble, model, .. } = self;
        let (messages, omitted) = conversation.finish();
        let said = messages.iter().rev().find_map(|message| message.content.as_ref()?.as_str());
        let reading = Reading {
            answer: said.map(str::to_owned),
            messages,
            omitted,
            trouble,
            metadata: model.map(|model| ("model".to_owned(), model.into())).into_iter().collect(),
            ..Reading::default()
        };
        let Some(result) = result else {
            return Reading { is_cut: true, failure: error, ..reading };
        };
        let usage = result.get("usage");
        let duration = usage.and_then(|usage| usage.get("sessionDurationMs")?.as_f64());
        let mut metadata = reading.metadata.clone();
        metadata.extend(facts(&result));
        let code = result.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
        let failure = (code != 0)
            .then(|| error.unwrap_or_else(|| format!("the session ended with exit code {code}")));
        let reported = Reported { duration_ms: duration, ..Reported::default() };
        Reading { failure, reported, metadata, ..reading }
    }

    fn summary(event: &Value) -> String {
        let kind = text(event, "type").unwrap_or("event");
        let data = event.get("data").unwrap_or(&Value::Null);
        let about = ["content", "message", "toolName"].iter().find_map(|key| text(data, key));
        let head = match about.filter(|about| !about.is_empty()) {
            Some(about) => format!("{kind}: {}", one_line(about)),
            None => kind.to_owned(),
        };
        with_details(head, data, &["toolRequests", "arguments", "result", "error"])
    }
}

impl CopilotReader {
    fn message(&mut self, event: &Value, data: &Value) {
        // What an agent says that the agent has started is the result of a tool, and told there.
        if data.get("parentToolCallId").is_some_and(|parent| !parent.is_null()) {
            return;
        }
        self.model = text(data, "model").map(str::to_owned).or_else(|| self.model.take());
        let time = text(event, "timestamp").map(str::to_owned);
        let requests = data.get("toolRequests").and_then(Value::as_array).into_iter().flatten();
        let calls: Vec<ToolCall> = requests
            .map(|request| ToolCall {
                tool: text(request, "name").unwrap_or_default().to_owned(),
                input: request.get("arguments").cloned(),
                id: text(request, "toolCallId").map(str::to_owned),
                timestamp: time.clone(),
                ..ToolCall::default()
            })
            .collect();
        let content = text(data, "content").unwrap_or_default();
        self.conversation.push(OutputMessage {
            role: "assistant".to_owned(),
            // A message of calls only has an empty text, which is no answer.
            content: (calls.is_empty() || !content.is_empty()).then(|| content.into()),
            tool_calls: (!calls.is_empty()).then_some(calls),
            timestamp: time,
            ..OutputMessage::default()
        });
    }

    fn complete(&mut self, event: &Value, data: &Value) {
        let id = text(data, "toolCallId").unwrap_or_default();
        let content = |key: &str, inner: &str| data.get(key)?.get(inner).cloned();
        let started = self.started.remove(id);
        self.conversation.complete(id, |call| {
            call.output = content("result", "content").or_else(|| content("error", "message"));
            call.duration_ms = milliseconds(started.as_deref(), text(event, "timestamp"));
        });
    }
}

/// What of the closing line goes into the record.
fn facts(result: &Value) -> Object {
    let usage = result.get("usage").unwrap_or(&Value::Null);
    let facts = [
        ("session_id", result.get("sessionId")),
        ("premium_requests", usage.get("premiumRequests")),
        ("code_changes", usage.get("codeChanges")),
    ];
    let known =
        facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
    known.collect()
}

/// Between two of the session's own time stamps.
fn milliseconds(from: Option<&str>, to: Option<&str>) -> Option<f64> {
    let (from, to): (jiff::Timestamp, jiff::Timestamp) = (from?.parse().ok()?, to?.parse().ok()?);
    u32::try_from(to.as_millisecond() - from.as_millisecond()).ok().map(f64::from)
}
