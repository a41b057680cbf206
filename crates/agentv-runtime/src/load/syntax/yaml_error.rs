//! Syntax errors of YAML in plain words, at the place that has to change. The parser stops where it no longer understands,
//! which is often lines after the cause, and names the grammar's rule.

use super::yaml::Fault;
use crate::config::Span;

/// Explains why `text` cannot be read. The parser stopped at byte `at` with the reason `info`; everything before byte
/// `done` was understood.
pub(super) fn explain(text: &str, done: usize, at: usize, info: &str) -> Fault {
    let at = floor(text, at);
    tab(text, at, info)
        .or_else(|| quote(text, floor(text, done), at, info))
        .or_else(|| colon(text, at, info))
        .or_else(|| reserved(at, info))
        .or_else(|| known(at, info))
        .unwrap_or_else(|| fault(at, info))
}

fn fault(at: usize, message: impl Into<String>) -> Fault {
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    Fault::new("yaml::syntax", Span { start: at, end: at.saturating_add(1) }, message)
}

/// A tab in the indentation, on the line of the error or after it: a text that is not closed may continue there.
fn tab(text: &str, at: usize, info: &str) -> Option<Fault> {
    let start = line_start(text, at);
    let names_tab = info.contains("tab");
    let lines = if names_tab { usize::MAX } else { 1 };
    let mut offset = start;
    for line in text[start..].split_inclusive('\n').take(lines) {
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line[..indentation].find('\t') {
            let help = "indent with spaces: YAML does not allow tabs there";
            return Some(fault(offset + tab, "tab in the indentation").help(help));
        }
        offset += line.len();
    }
    None
}

/// A quote that is not closed, or closed too early.
fn quote(text: &str, done: usize, at: usize, info: &str) -> Option<Fault> {
    let is_trailing = info.contains("trailing content after");
    if !is_trailing && info != "unclosed quote" && !info.contains("multiline quoted scalar") {
        return None;
    }
    let end = if info == "unclosed quote" { at + 1 } else { at };
    let open = last_quote(&text[..end.min(text.len())], done)?;
    let (name, mark) =
        if text[open..].starts_with('"') { ("double", '"') } else { ("single", '\'') };
    if is_trailing && line_start(text, open) == line_start(text, at) {
        let column = text[line_start(text, open)..open].chars().count() + 1;
        let message = format!("text after the closing quote (opened in column {column})");
        return Some(fault(at, message).help(match mark {
            '"' => "write `\\\"` for a quote inside double quotes, or use single quotes",
            _ => "write `''` for a quote inside single quotes, or use double quotes",
        }));
    }
    let message = format!("unclosed {name} quote");
    Some(fault(open, message).help(format!("add the closing `{mark}`")))
}

/// Where the last quoted text from byte `from` on starts. Quotes in comments and inside words open nothing.
fn last_quote(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut found) = (from.min(bytes.len()), None);
    while at < bytes.len() {
        let starts = can_open(&bytes[..at]);
        match bytes[at] {
            b'#' if starts => at = after(bytes, at, b'\n').unwrap_or(bytes.len()),
            mark @ (b'"' | b'\'') if starts => {
                found = Some(at);
                at = closing(bytes, at, mark).unwrap_or(bytes.len());
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whether a quote or `#` after these bytes starts something. In `{"a":"b"}` no space is needed after the colon.
fn can_open(before: &[u8]) -> bool {
    matches!(
        before,
        [] | [.., b' ' | b'\t' | b'\n' | b'[' | b'{' | b','] | [.., b'"' | b'\'', b':']
    )
}

/// Where a quoted text ends that starts at `open`.
fn closing(bytes: &[u8], open: usize, mark: u8) -> Option<usize> {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if mark == b'"' => at += 1,
            byte if byte == mark && mark == b'\'' && bytes.get(at + 1) == Some(&mark) => at += 1,
            byte if byte == mark => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn after(bytes: &[u8], from: usize, wanted: u8) -> Option<usize> {
    bytes[from..].iter().position(|byte| *byte == wanted).map(|at| from + at)
}

/// A `:` in a text without quotes, or on a line that is indented too far.
fn colon(text: &str, at: usize, info: &str) -> Option<Fault> {
    if info != "mapping values are not allowed in this context" {
        return None;
    }
    let is_second = text[line_start(text, at)..at].contains(": ");
    let help = if is_second {
        "put the value in quotes, since it contains `: `"
    } else {
        "check the indentation of this line, and that the line above ends as you mean it"
    };
    Some(fault(at, "unexpected `:`").help(help))
}

/// A character that no plain text starts with.
fn reserved(at: usize, info: &str) -> Option<Fault> {
    let found = info.strip_prefix("unexpected character: `")?.strip_suffix('\'')?;
    let shown = if found == "`" { "a backtick".to_owned() } else { format!("`{found}`") };
    Some(fault(at, format!("{shown} cannot start a value")).help("put the value in quotes"))
}

/// What the parser says, what it means, and what to do.
const KNOWN: [(&str, &str, &str); 5] = [
    (
        "did not find expected '-' indicator",
        "unexpected indentation",
        "align this line with the key or list item that it belongs to",
    ),
    (
        "did not find expected key",
        "unexpected indentation",
        "align this line with the key or list item that it belongs to",
    ),
    (
        "unknown escape character",
        "unknown escape in double quotes",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    ("found unknown anchor", "unknown alias", "put the value in quotes if it is meant as text"),
    (
        "simple key expected ':'",
        "this line has no `:`",
        "write `key: value`, or indent it if it continues the text above",
    ),
];

fn known(at: usize, info: &str) -> Option<Fault> {
    let (_, message, help) = KNOWN.iter().find(|(said, ..)| info.contains(said))?;
    Some(fault(at, *message).help(*help))
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
