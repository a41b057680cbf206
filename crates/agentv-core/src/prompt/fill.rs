//! `{{ name }}` in texts. Values are put in once and never looked into; unknown names stay as they are, and so
//! does everything else, `{% … %}` included.

use std::borrow::Cow;

/// Puts values into a text. `value` is asked for each name, and says `None` where the text is to stay as it is.
pub fn fill<'v>(template: &str, value: impl Fn(&str) -> Option<Cow<'v, str>>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        let (before, after) = rest.split_at(open);
        let inside = &after[2..];
        let Some(close) = inside.find("}}") else { break };
        text.push_str(before);
        if let Some(value) = value(inside[..close].trim()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let rendered = fill(template, |name| match name {
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

    proptest! {
        #[test]
        fn any_text_is_rendered(text in "[{} ab]{0,30}") {
            fill(&text, |_| Some("x".into()));
        }
    }
}
