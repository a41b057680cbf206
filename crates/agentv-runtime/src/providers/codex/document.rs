//! Outputs that are no stream of events: one JSON document with the answer somewhere in it.

use crate::providers::agent_cli::text;
use serde_json::Value;

/// The answer in a document: the last message of an assistant, else the response, else the output.
pub(super) fn answer(document: &Value) -> Option<String> {
    let messages = document.get("messages").and_then(Value::as_array);
    let last = messages.into_iter().flatten().rev().find(|message| is_assistants(message));
    last.and_then(|message| flat(message.get("content")?))
        .or_else(|| flat(document.get("response")?.get("content")?))
        .or_else(|| flat(document.get("response")?))
        .or_else(|| flat(document.get("output")?))
        .or_else(|| flat(document.get("content").filter(|_| is_nobody_elses(document))?))
}

/// Text, or a list of texts, or something with a text.
pub(super) fn flat(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let parts: Vec<String> = parts.iter().filter_map(flat).collect();
            (!parts.is_empty()).then(|| parts.join("\n"))
        }
        Value::Object(part) => part.get("text")?.as_str().map(str::to_owned),
        _ => None,
    }
}

fn is_assistants(message: &Value) -> bool {
    text(message, "role") == Some("assistant")
}

/// What others said is not the answer.
fn is_nobody_elses(document: &Value) -> bool {
    document.get("role").is_none() || is_assistants(document)
}
