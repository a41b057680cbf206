//! The prompt as one text, and as a conversation where there is more than one voice.

use crate::provider::{PromptMode, Request};
use crate::suite::{Attachment, EvalCase, InputMessage, PartRef, Role, basename};
use agentv_wire::ChatMessage;
use std::borrow::Cow;

/// Builds what is sent for a case.
pub fn build(case: &EvalCase, mode: PromptMode) -> Request {
    let guidelines = guidelines(case);
    let marked = needs_role_markers(&case.input);
    let question =
        if marked { marked_question(&case.input, mode) } else { flat_question(&case.input, mode) };
    Request {
        eval_id: case.id.as_str().to_owned(),
        attempt: 0,
        question,
        chat: marked.then(|| chat(&case.input, &guidelines, mode)),
        guidelines,
        system_prompt: None,
        guideline_paths: case.guidelines().map(|file| file.path.clone()).collect(),
        file_paths: case.files().map(|file| file.path.clone()).collect(),
        workspace: None,
    }
}

/// The contents of the guideline files.
fn guidelines(case: &EvalCase) -> String {
    let files: Vec<String> =
        case.guidelines().map(|file| embedded(&basename(&file.path), &file.text)).collect();
    files.join("\n\n")
}

/// The heading under which guidelines stand in a system message.
pub fn guidelines_block(guidelines: &str) -> String {
    format!("[[ ## Guidelines ## ]]\n\n{guidelines}")
}

fn needs_role_markers(messages: &[InputMessage]) -> bool {
    let speaks = |message: &InputMessage| matches!(message.role, Role::Assistant | Role::Tool);
    messages.iter().any(speaks) || messages.iter().filter(|message| is_visible(message)).count() > 1
}

/// Whether a message says anything by itself; naming a guideline does not count.
fn is_visible(message: &InputMessage) -> bool {
    message.content.parts().any(|part| match part {
        PartRef::Text(text) => !text.trim().is_empty(),
        PartRef::File(file) => !file.text.trim().is_empty(),
        PartRef::Guideline(_) => false,
    })
}

fn flat_question(messages: &[InputMessage], mode: PromptMode) -> String {
    let mut question = String::new();
    for part in messages.iter().flat_map(|message| message.content.parts()) {
        let text = show(part, mode);
        let text = text.trim();
        if !text.is_empty() {
            new_paragraph(&mut question);
            question.push_str(text);
        }
    }
    question
}

/// A blank line, unless nothing was said so far.
fn new_paragraph(text: &mut String) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
}

fn marked_question(messages: &[InputMessage], mode: PromptMode) -> String {
    let mut question = String::new();
    for message in messages.iter().filter(|message| is_visible(message)) {
        new_paragraph(&mut question);
        question.push_str(marker(message.role));
        question.push('\n');
        question.push_str(&spoken(message, mode, Guidelines::Named));
    }
    question
}

fn chat(messages: &[InputMessage], guidelines: &str, mode: PromptMode) -> Vec<ChatMessage> {
    let leading = messages.iter().take_while(|message| message.role == Role::System).count();
    let (leading, rest) = messages.split_at(leading);

    let mut system = String::new();
    if !guidelines.is_empty() {
        system = guidelines_block(guidelines);
    }
    for message in leading {
        let text = spoken(message, mode, Guidelines::LeftOut);
        if !text.is_empty() {
            new_paragraph(&mut system);
            system.push_str(&text);
        }
    }

    let mut chat = Vec::with_capacity(rest.len() + 1);
    if !system.is_empty() {
        chat.push(ChatMessage { role: "system".to_owned(), content: system });
    }
    for message in rest {
        let text = spoken(message, mode, Guidelines::LeftOut);
        if text.is_empty() {
            continue;
        }
        // Chat APIs take no system message in the middle and no tool message without its call: both become marked text.
        let (role, content) = match message.role {
            Role::User | Role::Assistant => (message.role.name(), text.into_owned()),
            Role::System | Role::Tool => ("assistant", format!("{}\n{text}", marker(message.role))),
        };
        chat.push(ChatMessage { role: role.to_owned(), content });
    }
    chat
}

fn marker(role: Role) -> &'static str {
    match role {
        Role::System => "@[System]:",
        Role::User => "@[User]:",
        Role::Assistant => "@[Assistant]:",
        Role::Tool => "@[Tool]:",
    }
}

/// Whether a reference to a guideline leaves a mark where it stood.
#[derive(Clone, Copy, PartialEq)]
enum Guidelines {
    Named,
    LeftOut,
}

fn spoken(message: &InputMessage, mode: PromptMode, guidelines: Guidelines) -> Cow<'_, str> {
    let mut texts = message
        .content
        .parts()
        .filter(|part| guidelines == Guidelines::Named || !matches!(part, PartRef::Guideline(_)))
        .map(|part| show(part, mode))
        .filter(|text| !text.trim().is_empty());
    let mut spoken = texts.next().unwrap_or_default();
    for text in texts {
        let spoken = spoken.to_mut();
        spoken.push('\n');
        spoken.push_str(&text);
    }
    spoken
}

fn show(part: PartRef<'_>, mode: PromptMode) -> Cow<'_, str> {
    match (part, mode) {
        (PartRef::Text(text), _) => text.into(),
        (PartRef::File(Attachment { display, text, .. }), PromptMode::Model) => {
            embedded(display, text).into()
        }
        (PartRef::File(file), PromptMode::Agent) => {
            format!("<file: path=\"{}\">", file.display).into()
        }
        (PartRef::Guideline(file), _) => format!("<Attached: {}>", file.display).into(),
    }
}

fn embedded(name: &str, text: &str) -> String {
    format!("<file path=\"{name}\">\n{}\n</file>", text.trim())
}
