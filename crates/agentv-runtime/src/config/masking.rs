//! Which parts of a source line may be a secret, whatever the file is: YAML or JSON, whole or broken. So the text itself is
//! looked at, and in doubt a value is hidden.

use super::{names_a_secret, variable_reference};
use std::ops::Range;

/// How far before what is shown its key is looked for, and those that it is below of.
const LOOKED_BEFORE: usize = 64 << 10;

/// The pieces of what is shown of a line that may be secrets: values of keys that name one, or headers, and all that is below
/// of such a key. Some may lie before what is shown. `line` is where the line starts.
pub(super) fn secret_pieces(text: &str, line: usize, shown: &Range<usize>) -> Vec<Range<usize>> {
    let start = line.max(before(text, shown.start));
    let is_below = is_below_secret(text, line, shown.end);
    let shown = &text[start..shown.end];
    let values = if is_below { vec![(indent(shown), shown.len())] } else { values(shown) };
    values.into_iter().map(|(from, to)| start + from..start + to).collect()
}

/// A place before this one, as far as anybody looks.
fn before(text: &str, at: usize) -> usize {
    let from = at.saturating_sub(LOOKED_BEFORE);
    (from..=at).find(|at| text.is_char_boundary(*at)).unwrap_or(at)
}

/// Whether the value of a key is a secret, by the key's name: `api_key`, `accessKey`, `Proxy-Authorization`, `headers`.
fn is_secret_key(key: &str) -> bool {
    const WORDS: [&str; 5] = ["AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "HEADERS"];
    let mut words = String::with_capacity(key.len() + 2);
    let mut was_lower = false;
    for letter in key.chars() {
        if letter.is_uppercase() && was_lower {
            words.push('_');
        }
        was_lower = letter.is_lowercase();
        words.push(if letter.is_alphanumeric() { letter } else { '_' });
    }
    let is_telling = |part: &str| WORDS.iter().any(|word| part.eq_ignore_ascii_case(word));
    names_a_secret(key) || names_a_secret(&words) || words.split('_').any(is_telling)
}

/// Whether one of the lines above that a line is below of, by their indentation, has a key that names a secret.
fn is_below_secret(text: &str, line: usize, end: usize) -> bool {
    let shown = &text[line..end];
    let mut column = indent(shown);
    // The items of a list may stand right below its key.
    let mut is_item = shown.trim_start().starts_with('-');
    // In a broken file, so may the value of a key that has none beside it.
    let mut is_bare = next_key(shown, 0).is_none();
    for above in text[before(text, line)..line].lines().rev() {
        let (content, above_column) = (above.trim_start(), indent(above));
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let is_above_item = content.starts_with('-');
        let is_value = is_bare && content.trim_end().ends_with([':', '|', '>', '-']);
        is_bare = false;
        let is_parent =
            above_column < column || (is_item && above_column == column && !is_above_item);
        if !is_parent && !is_value {
            continue;
        }
        // The first key of an item is behind its dash, and the other keys are below it.
        let key_column = above.len() - content.trim_start_matches(['-', ' ']).len();
        let is_sibling = is_above_item && key_column >= column && !is_value;
        let key = next_key(above, 0).filter(|_| !is_sibling);
        if key.is_some_and(|(key, _)| is_secret_key(key)) {
            return true;
        }
        (column, is_item) = (above_column, is_above_item);
        if column == 0 && !is_item {
            break;
        }
    }
    false
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Where the values of keys that name a secret begin and end in a line.
fn values(line: &str) -> Vec<(usize, usize)> {
    let (mut values, mut from) = (Vec::new(), 0);
    let flow = line.find(['{', '[']).unwrap_or(line.len());
    while let Some((key, after)) = next_key(line, from) {
        let start = after + indent(&line[after..]);
        from = after;
        if !is_secret_key(key) {
            continue;
        }
        let value = value(&line[start..], flow < after);
        from = start + value.len();
        // `|-` announces a value that is on the next lines.
        let is_elsewhere = value.len() <= 3 && (value.is_empty() || value.starts_with(['|', '>']));
        if !is_elsewhere && variable_reference(value.trim_matches(['"', '\''])).is_none() {
            values.push((start, from));
        }
    }
    values
}

/// The next key of a line from there on, and where its colon ends.
fn next_key(line: &str, from: usize) -> Option<(&str, usize)> {
    let mut colons = line[from..].match_indices(':').map(|(at, _)| from + at);
    colons.find_map(|colon| Some((key_before(&line[from..colon])?, colon + 1)))
}

/// The key that ends here, quoted or not.
fn key_before(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let is_part = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    let key = if let Some(inside) = text.strip_suffix(['"', '\'']) {
        &inside[inside.rfind(['"', '\''])? + 1..]
    } else {
        &text[text.trim_end_matches(is_part).len()..]
    };
    (!key.is_empty()).then_some(key)
}

/// The value at the beginning of a text: to the end of its quotes or brackets, or else of the line.
fn value(text: &str, is_flow: bool) -> &str {
    let end = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => closing_quote(text, quote),
        Some('{' | '[') => closing_bracket(text),
        _ if text.starts_with("${{") => text.find("}}").map(|at| at + 2),
        _ if is_flow => text.find([',', '}', ']']),
        _ => None,
    };
    text[..end.unwrap_or(text.len())].trim_end()
}

fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        // `\"` in the one kind of quotes, `''` in the other.
        let is_escape = match quote {
            '"' => letter == '\\',
            _ => letter == quote && letters.peek().is_some_and(|(_, next)| *next == quote),
        };
        if is_escape {
            letters.next();
        } else if letter == quote {
            return Some(at + 1);
        }
    }
    None
}

fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last line, with stars.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        let mut line = text[start..].to_owned();
        for piece in secret_pieces(text, start, &(start..text.len())) {
            line.replace_range(piece.start - start..piece.end - start, &"*".repeat(piece.len()));
        }
        assert_eq!(line, expected);
    }

    #[test]
    fn values_of_keys_that_name_secrets_are_hidden() {
        check("  api_key: sk-1, x # c", "  api_key: ***********");
        check("- {name: a, apiKey: sk-1, workers: 0}", "- {name: a, apiKey: ****, workers: 0}");
        check(
            r#"{"Authorization": "Bearer: \"x", "a": 1}"#,
            r#"{"Authorization": *************, "a": 1}"#,
        );
        check("password: 'it''s", "password: ******");
        check("x-api-key: \"sk-1", "x-api-key: *****");
        check("api_key: sk-1: [", "api_key: *******");
    }

    #[test]
    fn all_that_is_in_headers_is_hidden() {
        check("headers: {X-A: b, C: d}, e: f", "headers: **************, e: f");
        check("a:\n  headers:\n    # c\n\n    X-A: b", "    ******");
        check("extra_headers:\n- X-A: b", "********");
        check("headers:\n  - name: A\n    value: b", "    ********");
        check("headers:\n  - A=b", "  *****");
    }

    #[test]
    fn a_value_that_goes_on_is_hidden() {
        check("api_key: |\n  sk-1", "  ****");
        check("a:\n  token:\n    sk-1", "    ****");
        check("    password: |-\n  sk-1", "  ****");
    }

    #[test]
    fn other_values_are_shown() {
        check("api_key: ${{ KEY }}, x: y", "api_key: ${{ KEY }}, x: y");
        check("{api_key: \"${{ KEY }}\", workers: 0}", "{api_key: \"${{ KEY }}\", workers: 0}");
        check("max_tokens: 5", "max_tokens: 5");
        check("keyboard: a", "keyboard: a");
        check("headers:\n  a: b\nmodel: c", "model: c");
        check("api_key: a\nmodel: c", "model: c");
        check("- api_key: a\n- model: c", "- model: c");
        check("- api_key: a\n  model: c", "  model: c");
    }
}
