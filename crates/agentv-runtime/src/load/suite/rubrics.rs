//! Cases that have no rubrics yet, and how to write some into their file without touching anything else in it.

use super::case;
use super::defaults::{OUTCOME, TEXTS};
use super::head::CASES;
use crate::config::{Kind, Node, Notes};
use crate::load::syntax::yaml;
use serde_json::{Value, json};
use std::fmt::Write;

/// A case that rubrics can be made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrated {
    pub id: String,
    pub expected_outcome: String,
    pub question: String,
    pub reference_answer: Option<String>,
    /// Its number in the list.
    index: usize,
    place: Place,
}

/// Where the rubrics of a case go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The byte of a line's start.
    at: usize,
    /// The column of the case's keys.
    indent: usize,
}

/// A rubric to write down.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRubric {
    pub id: String,
    pub expected_outcome: String,
    pub weight: f64,
    pub required: bool,
}

/// The cases of an eval file that have an outcome, no rubrics and a place for them, and how many others there are. What is
/// wrong with the file is noted.
pub fn unrated(text: &str, notes: &mut Notes) -> Option<(Vec<Unrated>, usize)> {
    let root = yaml::parse(text, notes)?;
    let Some((key, items)) = CASES.iter().find_map(|key| Some((*key, root.get(key)?.as_list()?)))
    else {
        notes.error("suite::cases", None, "the file has no list of `evalcases`");
        return None;
    };
    let mut found: Vec<Unrated> =
        (0..items.len()).filter_map(|index| unrated_case(items, index, text)).collect();
    // YAML has more layouts than anyone can foresee, and a file must not be spoiled by any of them.
    let before = root.to_value();
    found = fitting(found, |cases| fits(text, &before, key, cases));
    let skipped = items.len() - found.len();
    Some((found, skipped))
}

/// The cases that fit: all of them at once, or those of each half. Each try reads the whole file, so that few of many cases
/// are found in a few tries.
fn fitting(mut cases: Vec<Unrated>, fits: impl Fn(&[Unrated]) -> bool + Copy) -> Vec<Unrated> {
    if cases.is_empty() || fits(&cases) {
        return cases;
    }
    if cases.len() == 1 {
        return Vec::new();
    }
    let rest = cases.split_off(cases.len() / 2);
    let mut found = fitting(cases, fits);
    found.extend(fitting(rest, fits));
    found
}

/// Whether rubrics at these places are the rubrics of these cases and change nothing else.
fn fits(text: &str, before: &Value, key: &str, cases: &[Unrated]) -> bool {
    let probe = NewRubric {
        id: "probe".to_owned(),
        expected_outcome: "probe".to_owned(),
        weight: 1.0,
        required: true,
    };
    let made: Vec<_> = cases.iter().map(|case| (case.clone(), vec![probe.clone()])).collect();
    let after = with_rubrics(text, &made);
    let mut expected = before.clone();
    for case in cases {
        expected[key][case.index]["rubrics"] = json!([
            { "id": "probe", "expected_outcome": "probe", "weight": 1, "required": true },
        ]);
    }
    yaml::parse(&after, &mut Notes::new("")).is_some_and(|root| root.to_value() == expected)
}

fn unrated_case(items: &[Node<'_>], index: usize, text: &str) -> Option<Unrated> {
    let node = &items[index];
    if node.get("rubrics").is_some() {
        return None;
    }
    let outcome = TEXTS[OUTCOME].iter().find_map(|key| node.get(key)?.as_text())?;
    Some(Unrated {
        id: case::id(node).unwrap_or("?").to_owned(),
        expected_outcome: outcome.to_owned(),
        question: question(node).unwrap_or_default(),
        reference_answer: node.get("reference_answer").and_then(Node::as_text).map(str::to_owned),
        index,
        place: place(node, text)?,
    })
}

/// The question, or what the user says first.
fn question(node: &Node<'_>) -> Option<String> {
    let plain = node.get("question").or_else(|| node.get("input")).and_then(Node::as_text);
    let said = || {
        let messages = node.get("input_messages").or_else(|| node.get("input"))?.as_list()?;
        let user = messages
            .iter()
            .find(|message| message.get("role").and_then(Node::as_text) == Some("user"))?;
        user.get("content")?.as_text()
    };
    plain.or_else(said).map(str::to_owned)
}

/// Behind the last line of a case in block style. A case in braces has no such place. The values' own places are no help:
/// an alias has the place of its anchor, and a value in brackets ends before they do.
fn place(node: &Node<'_>, text: &str) -> Option<Place> {
    let start = node.span.start;
    let keys = node.as_map()?.iter().map(|entry| entry.key_span.start);
    // Keys from a merge stand elsewhere, before the case.
    let key = keys.filter(|key| *key >= start).min()? as usize;
    let line = text[..key].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line..key];
    if !before.chars().all(|c| c == ' ' || c == '-') {
        return None;
    }
    let indent = before.len();
    // Blank lines after the case stay after it, unless a block text (`|+`) keeps them as its own.
    let keeps_blanks = last_leaf(node).as_text().is_some_and(|text| text.ends_with("\n\n"));
    let (mut at, mut end) = (line, line);
    for line in text[line..].split_inclusive('\n') {
        let column = line.len() - line.trim_start_matches(' ').len();
        let is_blank = line.trim().is_empty();
        let is_comment = line.trim_start().starts_with('#') && column < indent;
        // The first line may begin with the dash of its item.
        let is_own =
            if is_blank { keeps_blanks && at == end } else { at < key || column >= indent };
        if !is_own && !is_blank && !is_comment {
            break;
        }
        end += line.len();
        if is_own && !is_comment {
            at = end;
        }
    }
    Some(Place { at, indent })
}

/// The last value that is no block: a block's own end may lie in the next one's indent.
fn last_leaf<'n, 't>(node: &'n Node<'t>) -> &'n Node<'t> {
    let inner = match &node.kind {
        Kind::Map(entries) => entries.last().map(|entry| &entry.value),
        Kind::List(items) => items.last(),
        _ => None,
    };
    inner.map_or(node, last_leaf)
}

/// The file's text with rubrics in it. All else stays, byte for byte.
pub fn with_rubrics(text: &str, made: &[(Unrated, Vec<NewRubric>)]) -> String {
    let mut made: Vec<&(Unrated, Vec<NewRubric>)> = made.iter().collect();
    made.sort_by_key(|(case, _)| case.place.at);
    let mut whole = String::with_capacity(text.len() + made.len() * 512);
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut from = 0;
    for (case, rubrics) in made {
        whole.push_str(&text[from..case.place.at]);
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push_str(newline);
        }
        whole.push_str(&block(rubrics, case.place.indent).replace('\n', newline));
        from = case.place.at;
    }
    whole.push_str(&text[from..]);
    whole
}

fn block(rubrics: &[NewRubric], indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut block = format!("{pad}rubrics:\n");
    for NewRubric { id, expected_outcome, weight, required } in rubrics {
        // Writing to a string cannot fail.
        let _ = writeln!(block, "{pad}  - id: {}", scalar(id));
        let _ = writeln!(block, "{pad}    expected_outcome: {}", scalar(expected_outcome));
        let _ = writeln!(block, "{pad}    weight: {weight}");
        let _ = writeln!(block, "{pad}    required: {required}");
    }
    block
}

/// Plain where that cannot be taken for anything else, else in quotes. A JSON string is a YAML string.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == ')')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " ,.'()/_-".contains(c))
        && !["true", "false", "null", "yes", "no", "on", "off"]
            .contains(&text.to_lowercase().as_str());
    if plain { text.to_owned() } else { json!(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rubric(id: &str, outcome: &str) -> NewRubric {
        NewRubric {
            id: id.to_owned(),
            expected_outcome: outcome.to_owned(),
            weight: 1.0,
            required: true,
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let (cases, _) = unrated(text, &mut Notes::new("f")).unwrap();
        let made: Vec<_> =
            cases.into_iter().map(|case| (case, vec![rubric("a", "Says: \"hi\"")])).collect();
        let whole = with_rubrics(text, &made);
        assert_eq!(whole, expected);
        assert_eq!(unrated(&whole, &mut Notes::new("f")).unwrap().0, []);
    }

    #[test]
    fn comments_and_layout_stay() {
        check(
            "# top\nevalcases:\n  - id: one   # first\n    outcome: x\n    input: |\n      two\n      lines\n\n  # second\n  \
             - id: two\n    outcome: y # why\n    input: q\n",
            "# top\nevalcases:\n  - id: one   # first\n    outcome: x\n    input: |\n      two\n      lines\n    rubrics:\n      \
             - id: a\n        expected_outcome: \"Says: \\\"hi\\\"\"\n        weight: 1\n        required: true\n\n  # second\n  \
             - id: two\n    outcome: y # why\n    input: q\n    rubrics:\n      - id: a\n        \
             expected_outcome: \"Says: \\\"hi\\\"\"\n        weight: 1\n        required: true\n",
        );
    }

    #[test]
    fn a_file_without_a_last_newline_gets_one() {
        check(
            "evalcases:\n- id: one\n  outcome: x\n  input: q",
            "evalcases:\n- id: one\n  outcome: x\n  input: q\n  rubrics:\n    - id: a\n      \
             expected_outcome: \"Says: \\\"hi\\\"\"\n      weight: 1\n      required: true\n",
        );
    }

    #[test]
    fn cases_that_have_rubrics_or_no_outcome_are_left_alone() {
        let text = "evalcases:\n  - {id: a, outcome: x}\n  - id: b\n    outcome: y\n    rubrics: [z]\n  - id: c\n";
        let (cases, skipped) = unrated(text, &mut Notes::new("f")).unwrap();
        assert_eq!((cases.len(), skipped), (0, 3));
    }

    #[test]
    fn a_case_that_stands_for_another_one_too_is_left_alone() {
        let other = |id: &str| format!("  - id: {id}\n    outcome: y\n    input: q\n");
        let shared = "  - &a\n    id: a\n    outcome: x\n    input: q\n  - *a\n";
        let text = ["evalcases:\n", &other("b"), shared, &other("c"), &other("d")].concat();
        let (cases, skipped) = unrated(&text, &mut Notes::new("f")).unwrap();
        let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!((ids, skipped), (vec!["b", "c", "d"], 2));
    }
}
