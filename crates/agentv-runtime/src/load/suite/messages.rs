//! The messages of a case: what is asked, and what is expected.

use super::files::{Files, Missing};
use crate::config::{Fields, Kind, Node, Span, suggestion};
use crate::evaluators::CaseDigest;
use agentv_core::suite::{Content, InputMessage, Part, Role};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Reads messages of one case.
pub(in crate::load) struct MessageReader<'a> {
    pub files: &'a Files,
    /// The contents of files belong to what the case is.
    pub fingerprint: &'a mut CaseDigest,
}

impl MessageReader<'_> {
    /// `input_messages`, or its short form `input`: text is one user message.
    pub(in crate::load) fn input(
        &mut self,
        fields: &mut Fields<'_, '_>,
    ) -> Option<Vec<InputMessage>> {
        let (long, short) = (fields.node("input_messages"), fields.node("input"));
        let Some((key, node)) =
            long.map(|node| ("input_messages", node)).or(short.map(|node| ("input", node)))
        else {
            let message = format!("{} has no input", fields.owner());
            fields.error("case::input", "id", message).help(
                "add `input: <the question>` or `input_messages: [{role: user, content: …}]`",
            );
            return None;
        };
        let messages = match (&node.kind, key) {
            (Kind::Text(text), "input") => {
                warn_of_marker(text, node.span, fields);
                let content = Content::Text(text.clone().into_owned());
                vec![InputMessage { role: Role::User, content, name: None, tool_calls: None }]
            }
            (Kind::List(items), _) => {
                items.iter().filter_map(|item| self.message(item, fields)).collect()
            }
            _ => {
                let expected = if key == "input" {
                    "text or a list of messages"
                } else {
                    "a list of messages"
                };
                let message = format!(
                    "`{key}` of {} must be {expected}, not {}",
                    fields.owner(),
                    node.describe()
                );
                fields.error_at("case::input", node.span, message);
                return None;
            }
        };
        if messages.is_empty() && !fields.failed() {
            let message = format!("{} has no usable message in `{key}`", fields.owner());
            fields.error_at("case::input", node.span, message);
        }
        (!messages.is_empty()).then_some(messages)
    }

    /// A message that makes no sense is left out with a warning, as the rest may well be asked.
    fn message(&mut self, node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Option<InputMessage> {
        let role = role(node, fields)?;
        let tool_calls = node
            .get("tool_calls")
            .filter(|calls| calls.as_list().is_some_and(|calls| !calls.is_empty()));
        let content = match node.get("content") {
            Some(content) => self.content(content, fields),
            None if tool_calls.is_some() => Some(Content::Nothing),
            None => None,
        };
        let Some(content) = content else {
            left_out(node, fields, "its `content` must be text, a list of parts or a mapping");
            return None;
        };
        let name = node.get("name").and_then(Node::as_text).map(str::to_owned);
        Some(InputMessage { role, content, name, tool_calls: tool_calls.map(Node::to_value) })
    }

    fn content(&mut self, node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Option<Content> {
        match &node.kind {
            Kind::Text(text) => {
                warn_of_marker(text, node.span, fields);
                Some(Content::Text(text.clone().into_owned()))
            }
            Kind::Map(_) => {
                let written = node.to_value();
                let text = agentv_wire::number::to_string_pretty(&written).unwrap_or_default();
                Some(Content::Parts { parts: vec![Part::Text(text)], written })
            }
            Kind::List(items) => {
                let parts = items.iter().filter_map(|item| self.part(item, fields)).collect();
                Some(Content::Parts { parts, written: node.to_value() })
            }
            _ => None,
        }
    }

    fn part(&mut self, node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Option<Part> {
        if let Kind::Text(text) = &node.kind {
            return Some(Part::Text(text.clone().into_owned()));
        }
        let value = node.get("value");
        let text = value.and_then(Node::as_text);
        match (node.get("type").and_then(Node::as_text), text) {
            (Some("text"), Some(text)) => {
                warn_of_marker(text, value.map_or(node.span, |value| value.span), fields);
                Some(Part::Text(text.to_owned()))
            }
            (Some("file"), Some(reference)) => {
                let known =
                    self.file(reference, value.map_or(node.span, |value| value.span), fields)?;
                Some(if known.is_guideline {
                    Part::Guideline(known.attachment)
                } else {
                    Part::File(known.attachment)
                })
            }
            (Some(kind @ ("text" | "file")), None) => {
                let message = format!(
                    "a part of type `{kind}` in {} is left out: it needs a `value`",
                    fields.owner()
                );
                fields.warning_at("case::part", node.span, message);
                None
            }
            (Some(_), text) => Some(Part::Other(text.map(str::to_owned))),
            (None, _) => {
                let message =
                    format!("a part in {} is left out: it needs a `type`", fields.owner());
                let note = fields.warning_at("case::part", node.span, message);
                note.help("write `{type: text, value: …}` or `{type: file, value: <path>}`");
                None
            }
        }
    }

    fn file(
        &mut self,
        reference: &str,
        span: Span,
        fields: &mut Fields<'_, '_>,
    ) -> Option<super::files::Known> {
        match self.files.get(reference) {
            Ok(known) => {
                if known.attachment.text.trim().is_empty() {
                    fields.warning_at("case::file", span, format!("`{reference}` is empty"));
                }
                self.fingerprint.depends_on(&known.attachment.path, Some(known.digest));
                Some(known)
            }
            Err(Missing::NotFound { tried }) => {
                let message = format!("`{reference}` of {} was not found", fields.owner());
                let help = format!("correct the path, or create one of {}", listed(&tried));
                fields.error_at("case::file", span, message).help(help);
                None
            }
            Err(Missing::Unreadable { path, reason }) => {
                let path = path.display();
                let message = format!("`{path}` of {} cannot be read: {reason}", fields.owner());
                fields.error_at("case::file", span, message).help("name a file that can be read");
                None
            }
        }
    }

    /// `expected_messages`, or its short form `expected_output`.
    pub(in crate::load) fn expected(&mut self, fields: &mut Fields<'_, '_>) -> Vec<Value> {
        let messages = fields.node("expected_messages");
        let output = fields.node("expected_output");
        let Some(messages) = messages else {
            return output.map_or_else(Vec::new, |node| self.expected_output(node, fields));
        };
        let Some(items) = messages.as_list() else {
            let message = format!(
                "`expected_messages` of {} must be a list, not {}",
                fields.owner(),
                messages.describe()
            );
            fields.error_at("case::expected", messages.span, message);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.expected_message(item, fields)).collect()
    }

    fn expected_output(&mut self, node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Vec<Value> {
        let is_message = |node: &Node<'_>| node.get("role").is_some();
        match &node.kind {
            Kind::List(items) if items.first().is_some_and(is_message) => {
                items.iter().filter_map(|item| self.expected_message(item, fields)).collect()
            }
            Kind::Map(_) if is_message(node) => {
                self.expected_message(node, fields).into_iter().collect()
            }
            _ => vec![json!({ "role": "assistant", "content": node.to_value() })],
        }
    }

    fn expected_message(&mut self, node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Option<Value> {
        role(node, fields)?;
        let mut message = node.to_value();
        let parts = node.get("content").and_then(Node::as_list).unwrap_or_default();
        for (index, part) in parts.iter().enumerate() {
            let reference = part
                .get("value")
                .filter(|_| part.get("type").and_then(Node::as_text) == Some("file"));
            let Some((reference, span)) =
                reference.and_then(|node| Some((node.as_text()?, node.span)))
            else {
                continue;
            };
            if let Some(known) = self.file(reference, span, fields) {
                let file = known.attachment;
                message["content"][index] = json!({ "type": "file", "path": file.display, "text": &*file.text, "resolved_path": file.path });
            }
        }
        Some(message)
    }
}

/// The role of a message. Without one the message could not be sent, and the case would ask something else.
fn role(node: &Node<'_>, fields: &mut Fields<'_, '_>) -> Option<Role> {
    let written = node.get("role");
    let role = written.and_then(Node::as_text).and_then(Role::of);
    if role.is_none() {
        let found = written.and_then(Node::as_text);
        let message = match found {
            Some(found) => {
                format!("a message of {} has the unknown role `{found}`", fields.owner())
            }
            None => format!("a message of {} has no `role`", fields.owner()),
        };
        let help = match found.and_then(|found| suggestion(found, Role::NAMES)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of {}", Role::NAMES.join(", ")),
        };
        let span = written.map_or_else(|| head_of(node), |written| written.span);
        fields.error_at("case::role", span, message).help(help);
    }
    role
}

/// The first key of a message, or all of what is not a mapping.
fn head_of(node: &Node<'_>) -> Span {
    node.as_map().and_then(|map| map.first()).map_or(node.span, |entry| entry.key_span)
}

fn left_out(node: &Node<'_>, fields: &mut Fields<'_, '_>, reason: &str) {
    let message = format!("a message of {} is left out: {reason}", fields.owner());
    fields.warning_at("case::message", head_of(node), message);
}

/// Text that looks like our own role markers would be taken for another speaker.
fn warn_of_marker(text: &str, span: Span, fields: &mut Fields<'_, '_>) {
    if !text.contains("@[") {
        return;
    }
    let lower = text.to_ascii_lowercase();
    if let Some(marker) =
        ["@[system]:", "@[user]:", "@[assistant]:", "@[tool]:"].iter().find(|m| lower.contains(*m))
    {
        let message = format!(
            "the text of {} contains `{marker}`, which separates speakers in prompts",
            fields.owner()
        );
        fields
            .warning_at("case::marker", span, message)
            .help("reword it, or make it a message of its own");
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}
