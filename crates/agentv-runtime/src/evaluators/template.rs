//! Prompts of judges, in which `{{ name }}` asks for a value.

use super::Build;
use crate::config::{Fields, Node};
use crate::file_input;
use agentv_core::prompt::fill;

/// A template as an eval file gives it.
#[derive(Debug)]
pub(super) struct JudgeTemplate {
    pub text: String,
    /// The file it was read from, as written.
    pub file: Option<String>,
}

impl JudgeTemplate {
    pub(super) fn asks_for(&self, name: &str) -> bool {
        asks_for(&self.text, name)
    }
}

/// Reads a template: a file if there is one of this name, else the text itself.
pub(super) fn read(
    text: &str,
    node: &Node<'_>,
    fields: &mut Fields<'_, '_>,
    build: &mut Build<'_>,
) -> Option<JudgeTemplate> {
    let looks_like_path = !text.trim().contains(char::is_whitespace);
    let found = build.search.find(text.trim()).ok().filter(|found| !found.path.is_dir());
    let Some(found) = found else {
        if looks_like_path {
            let message = format!(
                "`prompt` of {} names no file, so `{text}` itself is the prompt",
                fields.owner()
            );
            let note = fields.warning_at("prompt::file", node.span, message);
            note.help("correct the path, or write the prompt out");
        }
        return Some(JudgeTemplate { text: text.to_owned(), file: None });
    };
    match file_input::read_to_string(&found.path) {
        Ok(text) => {
            build.depends_on(&found.path);
            Some(JudgeTemplate { text: text.replace("\r\n", "\n"), file: Some(found.display) })
        }
        Err(error) => {
            let message = format!(
                "the prompt `{}` of {} cannot be read: {error}",
                found.display,
                fields.owner()
            );
            fields.error_at("prompt::file", node.span, message);
            None
        }
    }
}

/// Whether a template asks for this.
pub(super) fn asks_for(template: &str, name: &str) -> bool {
    let found = std::cell::Cell::new(false);
    fill(template, |asked| {
        found.set(found.get() || asked == name);
        None
    });
    found.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_whatever_its_spaces() {
        assert!(asks_for("x {{candidate_answer }}", "candidate_answer"));
        assert!(!asks_for("candidate_answer", "candidate_answer"));
    }
}
