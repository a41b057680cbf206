//! The prompt as one text, and as a conversation where there is more than one voice.

use crate::provider::{PromptMode, Request};
use crate::suite::{Attachment, EvalCase, InputMessage, PartRef, Role, basename};
use agentv_wire::ChatMessage;

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
    let parts = messages.iter().flat_map(|message| message.content.parts());
    let texts: Vec<String> = parts
        .map(|part| show(part, mode).trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n\n")
}

fn marked_question(messages: &[InputMessage], mode: PromptMode) -> String {
    let turns: Vec<String> = messages
        .iter()
        .filter(|message| is_visible(message))
        .map(|message| {
            format!("{}\n{}", marker(message.role), spoken(message, mode, Guidelines::Named))
        })
        .collect();
    turns.join("\n\n")
}

fn chat(messages: &[InputMessage], guidelines: &str, mode: PromptMode) -> Vec<ChatMessage> {
    let leading = messages.iter().take_while(|message| message.role == Role::System).count();
    let (leading, rest) = messages.split_at(leading);

    let mut system: Vec<String> =
        leading.iter().map(|message| spoken(message, mode, Guidelines::LeftOut)).collect();
    if !guidelines.is_empty() {
        system.insert(0, guidelines_block(guidelines));
    }
    system.retain(|text| !text.is_empty());

    let mut chat = Vec::with_capacity(rest.len() + 1);
    if !system.is_empty() {
        chat.push(ChatMessage { role: "system".to_owned(), content: system.join("\n\n") });
    }
    for message in rest {
        let text = spoken(message, mode, Guidelines::LeftOut);
        if text.is_empty() {
            continue;
        }
        // Chat APIs take no system message in the middle and no tool message without its call: both become marked text.
        let (role, content) = match message.role {
            Role::User | Role::Assistant => (message.role.name(), text),
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

fn spoken(message: &InputMessage, mode: PromptMode, guidelines: Guidelines) -> String {
    let parts: Vec<String> = message
        .content
        .parts()
        .filter(|part| guidelines == Guidelines::Named || !matches!(part, PartRef::Guideline(_)))
        .map(|part| show(part, mode))
        .filter(|text| !text.trim().is_empty())
        .collect();
    parts.join("\n")
}

fn show(part: PartRef<'_>, mode: PromptMode) -> String {
    match (part, mode) {
        (PartRef::Text(text), _) => text.to_owned(),
        (PartRef::File(Attachment { display, text, .. }), PromptMode::Model) => {
            embedded(display, text)
        }
        (PartRef::File(file), PromptMode::Agent) => format!("<file: path=\"{}\">", file.display),
        (PartRef::Guideline(file), _) => format!("<Attached: {}>", file.display),
    }
}

fn embedded(name: &str, text: &str) -> String {
    format!("<file path=\"{name}\">\n{}\n</file>", text.trim())
}
