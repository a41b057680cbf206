//! `{{ name }}` in prompts. Values are put in once and never looked into; names that nobody knows stay as they are.

use super::Build;
use crate::config::{Fields, Node};
use std::borrow::Cow;

/// Puts values into a template.
pub(super) fn render<'v>(template: &str, value: impl Fn(&str) -> Option<Cow<'v, str>>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        let (before, after) = rest.split_at(open);
        text.push_str(before);
        let inside = &after[2..];
        let close = inside.find("}}");
        let found = close.and_then(|close| Some((close, value(inside[..close].trim())?)));
        if let Some((close, value)) = found {
            text.push_str(&value);
            rest = &inside[close + 2..];
        } else {
            // One brace further: `{{{ name }}` has a name as well.
            text.push('{');
            rest = &after[1..];
        }
    }
    text.push_str(rest);
    text
}

/// A template as an eval file gives it.
#[derive(Debug)]
pub(super) struct Template {
    pub text: String,
    /// The file it was read from, as written.
    pub file: Option<String>,
}

impl Template {
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
) -> Option<Template> {
    let looks_like_path = !text.trim().contains(char::is_whitespace);
    let found = build.search.find(text.trim()).ok().filter(|found| found.path.is_file());
    let Some(found) = found else {
        if looks_like_path {
            let message = format!(
                "`prompt` of {} names no file, so `{text}` itself is the prompt",
                fields.owner()
            );
            let note = fields.warning_at("prompt::file", node.span, message);
            note.help("correct the path, or write the prompt out");
        }
        return Some(Template { text: text.to_owned(), file: None });
    };
    match std::fs::read_to_string(&found.path) {
        Ok(text) => {
            build.depends_on(&found.path);
            Some(Template { text: text.replace("\r\n", "\n"), file: Some(found.display) })
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
    render(template, |asked| {
        found.set(found.get() || asked == name);
        None
    });
    found.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let rendered = render(template, |name| match name {
            "a" => Some("{{ b }}".into()),
            "b" => Some("B".into()),
            _ => None,
        });
        assert_eq!(rendered, expected);
    }

    #[test]
    fn values_go_in_once() {
        check("{{a}} {{ b }}", "{{ b }} B");
    }

    #[test]
    fn what_is_not_known_stays() {
        check("{{ c }} {% if %} {{ b", "{{ c }} {% if %} {{ b");
        check("{{{ b }}} {{ {{ b }}", "{B} {{ B");
    }

    #[test]
    fn a_name_is_found_whatever_its_spaces() {
        assert!(asks_for("x {{candidate_answer }}", "candidate_answer"));
        assert!(!asks_for("candidate_answer", "candidate_answer"));
    }

    proptest! {
        #[test]
        fn any_text_is_rendered(text in "[{} ab]{0,30}") {
            render(&text, |_| Some("x".into()));
        }
    }
}
