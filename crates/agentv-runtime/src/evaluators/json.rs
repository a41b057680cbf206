//! JSON in what a model said: bare, in a code fence, or in the middle of prose.

use agentv_wire::Object;
use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};

/// The first JSON object: the whole text, else a fenced block, else the first piece of the text that really parses.
pub fn first_object(text: &str) -> Option<Object> {
    first_object_where(text, |_| true)
}

/// The first JSON object that is what was asked for, looked for in the same places.
pub fn first_object_where(text: &str, fits: impl Fn(&Object) -> bool) -> Option<Object> {
    let text = text.trim_start_matches('\u{feff}');
    let whole = |text: &str| serde_json::from_str(text).ok().filter(&fits);
    whole(text)
        .or_else(|| fenced(text).into_iter().find_map(whole))
        .or_else(|| embedded(text, opens_object, &fits))
}

/// The first JSON object or list, looked for in the same places. In prose a list counts only if it is one of objects:
/// `[1]` is more often a footnote.
pub fn first_value(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    let whole = |text: &str| {
        serde_json::from_str(text)
            .ok()
            .filter(|value: &Value| value.is_object() || value.is_array())
    };
    whole(text)
        .or_else(|| fenced(text).into_iter().find_map(whole))
        .or_else(|| embedded(text, opens_object_or_list_of_them, |_| true))
}

/// An empty pair of braces in prose or code says nothing.
fn opens_object(rest: &str) -> bool {
    rest.strip_prefix('{').is_some_and(|inside| !inside.trim_start().starts_with('}'))
}

fn opens_object_or_list_of_them(rest: &str) -> bool {
    opens_object(rest.strip_prefix('[').map_or(rest, str::trim_start))
}

/// The contents of Markdown's code fences. The last one may lack its end, as in an answer that was cut off.
fn fenced(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut open = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim_start().starts_with("```") {
            match open.take() {
                None => open = Some(end),
                Some(opened) => blocks.push(&text[opened..start]),
            }
        }
        start = end;
    }
    blocks.extend(open.map(|opened| &text[opened..]));
    blocks
}

/// Tries every place where a value may begin. The parser itself finds the matching brace: it knows about strings, and it
/// gives up at the first thing that is no JSON.
///
/// This takes no longer than reading the text a few times, whatever it is. Each place from which the parser reads past some
/// point is a brace that it holds for open there, and it refuses to have more than 128 of them open; so texts of up to
/// 1/128 of [`SEARCHED`] are searched to their end. Of a longer one that is deeply nested all over, the end may not be seen.
fn embedded<T: DeserializeOwned>(
    text: &str,
    may_begin: impl Fn(&str) -> bool,
    fits: impl Fn(&T) -> bool,
) -> Option<T> {
    let (mut left, mut next) = (SEARCHED + 2 * text.len(), 0);
    for (at, _) in text.match_indices(['{', '[']) {
        let rest = &text[at..];
        if at < next || !may_begin(rest) {
            continue;
        }
        let mut values = Deserializer::from_str(rest).into_iter();
        let taken = match values.next()? {
            Ok(value) if fits(&value) => return Some(value),
            Ok(_) => values.byte_offset(),
            Err(error) => {
                let end = offset(rest, &error);
                // Where nothing was closed on the way, nothing that begins there could be read either.
                if is_too_deep(&error)
                    && !rest.as_bytes()[..end].iter().any(|byte| b"}]".contains(byte))
                {
                    next = at + end;
                }
                end
            }
        };
        left = left.checked_sub(taken)?;
    }
    None
}

/// How many bytes are parsed in search of a value, besides the text itself twice.
const SEARCHED: usize = 4 << 20;

/// Where in the text the parser gave up.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    (lines.map(str::len).sum::<usize>() + error.column()).min(text.len())
}

fn is_too_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, object: &Value, value: &Value) {
        assert_eq!(first_object(text).map_or(Value::Null, Value::Object), *object);
        assert_eq!(first_value(text).unwrap_or_default(), *value);
    }

    /// The same for both.
    #[track_caller]
    fn both(text: &str, expected: &Value) {
        check(text, expected, expected);
    }

    #[test]
    fn bare_json_is_taken_whole() {
        both(" {\"a\": \"```\\n{\"} \n", &json!({"a": "```\n{"}));
        both("\u{feff}{\"a\": 1}", &json!({"a": 1}));
        check(r#"[{"a": 1}, {"a": 2}]"#, &json!({"a": 1}), &json!([{"a": 1}, {"a": 2}]));
    }

    #[test]
    fn a_fence_beats_the_prose_around_it() {
        both("As {\"a\": 0}:\n```json\n{\"a\": 1}\n```\n", &json!({"a": 1}));
        both("```\nls\n```\n  ```json\n{\"a\": 2}\n  ```", &json!({"a": 2}));
        both("```json\n{\"a\": 3}", &json!({"a": 3}));
        both("```json {\"a\": 4}```", &json!({"a": 4}));
        check("```json\n[1, {\"a\": 5}]\n```", &json!({"a": 5}), &json!([1, {"a": 5}]));
    }

    #[test]
    fn prose_is_searched_for_the_first_that_parses() {
        both("Use {braces}, then {\"a\": \"}\"} and {\"a\": 2}.", &json!({"a": "}"}));
        both("A 5\" disk {\"a\": 1}", &json!({"a": 1}));
        both("See [1]: {\"a\": 1}", &json!({"a": 1}));
        check("Here: [ {\"a\": 1} ]", &json!({"a": 1}), &json!([{"a": 1}]));
        both("{\"a\": {\"b\": 1}, \"c\": ", &json!({"b": 1}));
        both("Write `{}` or { }: {\"a\": 1}", &json!({"a": 1}));
    }

    #[test]
    fn text_without_json_has_none() {
        for text in ["", "42", "\"{}", "{a: 1}", "[1, 2", "```", "true"] {
            both(text, &Value::Null);
        }
    }

    #[test]
    fn hostile_text_takes_no_time() {
        first_object(&"{".repeat(1_000_000));
        for piece in ["[", "[{", "{\"", "{\"a\":\"", "{\\\"", "{ ", "```\n"] {
            first_object(&piece.repeat(20_000));
            first_value(&piece.repeat(20_000));
        }
        // Deeper than the parser goes, and as deep as it goes, again and again.
        let deepest = "{\"a\":".repeat(127);
        for text in ["{\"a\":".repeat(400_000), format!("{deepest}!").repeat(1_000)] {
            assert_eq!(first_value(&text), None);
            assert_eq!(first_object_where(&text, |_| false), None);
        }
        first_object_where(&format!("{deepest}1{}", "}".repeat(127)).repeat(1_000), |_| false);
    }

    #[test]
    fn what_comes_behind_deep_nesting_is_found() {
        let deep = "{\"a\":".repeat(20_000);
        both(&format!("{deep} or {{\"b\": 1}}"), &json!({"b": 1}));
        both(&format!("{{\"c\": {{\"b\": 1}}, \"d\": {deep}"), &json!({"b": 1}));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "([{}\\[\\]\":,\\\\` \n]|[a-z0-9é]|```json\n|\"a\":)*") {
            let value = first_value(&text);
            prop_assert!(value.is_some() || first_object(&text).is_none());
        }

        #[test]
        fn an_object_in_prose_is_found(before in "[^{\\[`]*", key in ".*", after in ".*") {
            let object = json!({ key: {"n": [1, "}"]} });
            prop_assert_eq!(first_value(&format!("{before}{object}{after}")), Some(object));
        }
    }
}
