//! What a case asks, in short: not who grades it, nor what is expected.

use super::journal::LineHash;
use agentv_core::EvalCase;
use agentv_core::suite::{Content, InputMessage, PartRef};

/// Tells questions apart: words, speakers, and the names and contents of files. It is written to files, so it may never change.
pub fn asked(case: &EvalCase) -> LineHash {
    let mut bytes = Vec::with_capacity(256);
    for message in &case.input {
        add_message(message, &mut bytes);
    }
    LineHash::of(&bytes)
}

fn add_message(message: &InputMessage, bytes: &mut Vec<u8>) {
    add(b'm', message.role.name(), bytes);
    if let Some(name) = &message.name {
        add(b'n', name, bytes);
    }
    if let Some(calls) = &message.tool_calls {
        add(b'c', &calls.to_string(), bytes);
    }
    for part in message.content.parts() {
        match part {
            PartRef::Text(text) => add(b't', text, bytes),
            PartRef::File(file) | PartRef::Guideline(file) => {
                add(b'f', &file.display, bytes);
                add(b't', &file.text, bytes);
            }
        }
    }
    if matches!(message.content, Content::Nothing) {
        bytes.push(b'-');
    }
}

/// With its length, so that no two lists of texts are the same bytes.
fn add(kind: u8, text: &str, bytes: &mut Vec<u8>) {
    bytes.push(kind);
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}
