//! Where things are in an eval file, for messages that are written after it was read.

use super::head::CASES;
use crate::config::{Node, Notes, Span};
use crate::file_input;
use crate::load::discover::format::{Format, sidecar};
use crate::load::syntax::{json, yaml};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The line of each case, from 1, by the case's place in the file. What cannot be read has none, nor have rows of a table:
/// their cells may hold lines.
pub fn case_lines(path: &Path) -> Vec<usize> {
    let text = || file_input::read_to_string(path).unwrap_or_default();
    match Format::of(path) {
        Some(Format::Jsonl) => {
            let file = file_input::open(path);
            file.map(|file| lines_of_jsonl(BufReader::new(file))).unwrap_or_default()
        }
        Some(Format::Json) => lines_of_json(&text()),
        Some(Format::Yaml) => lines_of_yaml(&text()),
        Some(Format::Csv) | None => Vec::new(),
    }
}

/// A dataset may be large, so it is only passed by.
fn lines_of_jsonl(file: impl BufRead) -> Vec<usize> {
    let numbered = (1..).zip(file.split(b'\n').map_while(Result::ok));
    numbered.filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(number, _)| number).collect()
}

fn lines_of_yaml(text: &str) -> Vec<usize> {
    let root = yaml::parse(text, &mut Notes::new(""));
    root.map(|root| lines_of_list(&root, text)).unwrap_or_default()
}

fn lines_of_json(text: &str) -> Vec<usize> {
    json::located(text).map(|root| lines_of_list(&root, text)).unwrap_or_default()
}

/// The list is the whole file, or is under its key.
fn lines_of_list(root: &Node<'_>, text: &str) -> Vec<usize> {
    let list = CASES.iter().find_map(|key| root.get(key)).unwrap_or(root).as_list();
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line = |start: usize| 1 + breaks.partition_point(|at| *at < start);
    list.unwrap_or_default().iter().map(|case| line(case.span.start as usize)).collect()
}

/// Where a file names a target.
#[derive(Debug)]
pub(crate) struct TargetPlace {
    /// The eval file, or the one beside a dataset.
    pub path: PathBuf,
    /// The text that `span` is of: the file, or one line of it.
    pub text: String,
    pub first_line: usize,
    pub span: Span,
}

/// Finds the first place where an eval file names this target. Cells of tables have none.
pub(crate) fn target_place(path: &Path, name: &str) -> Option<TargetPlace> {
    let read = |path: &Path| file_input::read_to_string(path).ok();
    let whole = |path: &Path, text: String, span: Span| TargetPlace {
        path: path.to_owned(),
        text,
        first_line: 1,
        span,
    };
    let in_yaml = |path: &Path| {
        let text = read(path)?;
        let span = target_in(&yaml::parse(&text, &mut Notes::new(""))?, name)?;
        Some(whole(path, text, span))
    };
    match Format::of(path)? {
        Format::Yaml => in_yaml(path),
        Format::Json => {
            let text = read(path)?;
            let span = target_in(&json::located(&text).ok()?, name)?;
            Some(whole(path, text, span))
        }
        Format::Jsonl => {
            let rows = (1..).zip(BufReader::new(file_input::open(path).ok()?).lines());
            let mut rows = rows.map_while(|(number, line)| Some((number, line.ok()?)));
            let found = rows.find_map(|(first_line, text)| {
                let span = target_in(&json::located(&text).ok()?, name)?;
                Some(TargetPlace { first_line, ..whole(path, text, span) })
            });
            found.or_else(|| in_yaml(&sidecar(path)?))
        }
        Format::Csv => in_yaml(&sidecar(path)?),
    }
}

/// The place of a target in a suite, a list of cases, or one case.
fn target_in(root: &Node<'_>, name: &str) -> Option<Span> {
    let of_entry = |node: &Node<'_>| {
        let execution = node.get("execution").and_then(|execution| execution.get("target"));
        let written = execution.or_else(|| node.get("target"));
        written.filter(|target| target.as_text() == Some(name)).map(|target| target.span)
    };
    let list = CASES.iter().find_map(|key| root.get(key)).unwrap_or(root).as_list();
    of_entry(root).or_else(|| list?.iter().find_map(of_entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_of_yaml_start_where_their_first_key_is() {
        let text = "# head\nevalcases:\n  - id: a\n    input: x\n\n  -\n    id: b\n  - {id: c}\n";
        assert_eq!(lines_of_yaml(text), [3, 7, 8]);
        assert!(lines_of_yaml("evalcases: 3\n").is_empty());
        assert!(lines_of_yaml("{").is_empty());
    }

    #[test]
    fn cases_of_json_are_a_list_or_stand_under_their_key() {
        assert_eq!(lines_of_json("[\n {\"id\": 1},\n\n {\"id\": 2}]"), [2, 4]);
        assert_eq!(lines_of_json("{\"tests\": [\n{}]}"), [2]);
    }

    #[test]
    fn blank_lines_of_jsonl_are_no_cases() {
        assert_eq!(lines_of_jsonl(&b"{}\n\n  \n{}\n"[..]), [1, 4]);
    }
}
