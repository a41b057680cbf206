//! An eval file as it is written, for those who write it in another way. Its cases are not checked.

use super::defaults::Defaults;
use super::head::CASES;
use crate::config::{Node, Notes, Presence};
use crate::load::Report;
use crate::load::dataset::csv::Table;
use crate::load::dataset::csv_header::{self, KEYS, Shape};
use crate::load::dataset::jsonl::Lines;
use crate::load::dataset::row_ids::{self, EqualRows, IdOrigin};
use crate::load::dataset::stream::{Data, Row, Seen};
use crate::load::discover::format::{Format, is_about_dataset, sidecar};
use crate::load::syntax::{json, read_text, yaml};
use agentv_wire::Object;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// An eval file, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The suite's own keys; of a dataset, those in the file beside it.
    pub head: Object,
    /// The file beside a dataset that the head is from.
    pub beside: Option<PathBuf>,
    pub cases: Vec<Object>,
    /// What the list of cases is called.
    pub list: &'static str,
    /// Whether there are comments, as far as can be seen: they are not in here.
    pub has_comments: bool,
}

/// How a column of a CSV dataset holds a key of a case, if it does not end in `:json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvShape {
    Text,
    /// `a;b`.
    Tags,
    Json,
}

/// The keys of a case that are columns of a CSV dataset; all other columns are vars.
pub const CSV_KEYS: [(&str, CsvShape); KEYS.len()] = {
    let mut keys = [("", CsvShape::Text); KEYS.len()];
    let mut index = 0;
    while index < KEYS.len() {
        let shape = match KEYS[index].1 {
            Shape::Text => CsvShape::Text,
            Shape::Tags => CsvShape::Tags,
            Shape::Json => CsvShape::Json,
        };
        keys[index] = (KEYS[index].0, shape);
        index += 1;
    }
    keys
};

/// Reads a file without checking its cases. `None` if it cannot be read as a whole.
pub fn written(path: &Path) -> (Option<Written>, Report) {
    let mut notes = Notes::new(path);
    let found = match Format::of(path) {
        Some(Format::Csv) => table(path, &mut notes),
        Some(Format::Jsonl) => lines(path, &mut notes),
        Some(Format::Json) => document(path, &mut notes),
        Some(Format::Yaml) | None => suite(path, &mut notes),
    };
    let found = found.filter(|_| notes.errors() == 0);
    let mut report = Report::default();
    report.add(notes);
    (found, report)
}

/// Only the suite's own keys. Of a dataset no row is read. `None` if the file cannot be read.
pub fn written_head(path: &Path) -> Option<Object> {
    match Format::of(path) {
        Some(Format::Csv | Format::Jsonl) => {
            Some(beside(path, Vec::new(), &mut Notes::new(path)).head)
        }
        _ => written(path).0.map(|written| written.head),
    }
}

fn suite(path: &Path, notes: &mut Notes) -> Option<Written> {
    let text = read_text(path, notes)?;
    let root = yaml::parse(&text, notes);
    let written = root.and_then(|root| of_suite(&root, notes));
    notes.locate(&text, 1);
    Some(Written { has_comments: has_comments(&text), ..written? })
}

/// Whether there seems to be a comment. A `#` in a text may look like one.
fn has_comments(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with('#') || line.contains(" #"))
}

/// What a mapping with the keys of a suite says.
fn of_suite(root: &Node<'_>, notes: &mut Notes) -> Option<Written> {
    let list = CASES.into_iter().find(|key| root.get(key).is_some());
    let items = list.and_then(|key| root.get(key)).and_then(Node::as_list);
    let (Some(list), Some(items), Value::Object(mut head)) = (list, items, root.to_value()) else {
        notes
            .error("suite::cases", Some(root.span), "the file has no list `evalcases`")
            .help("name an eval suite or a dataset");
        return None;
    };
    head.shift_remove(list);
    let cases = of_items(items, notes);
    Some(Written { head, beside: None, cases, list, has_comments: false })
}

fn of_items(items: &[Node<'_>], notes: &mut Notes) -> Vec<Object> {
    items.iter().zip(1..).filter_map(|(item, number)| of_case(item, number, notes)).collect()
}

fn of_case(node: &Node<'_>, number: usize, notes: &mut Notes) -> Option<Object> {
    if let Value::Object(case) = node.to_value() {
        return Some(case);
    }
    let message = format!("case number {number} must be a mapping, not {}", node.describe());
    notes.error("config::type", Some(node.span), message);
    None
}

/// A row with the id that it has in a run.
fn of_row(
    node: &Node<'_>,
    origin: IdOrigin,
    number: usize,
    (equal, notes): (&mut EqualRows, &mut Notes),
) -> Option<Object> {
    let mut case = of_case(node, number, notes)?;
    if let Some(Value::String(id)) = case.get_mut("id").filter(|_| origin == IdOrigin::Derived) {
        *id = equal.next(id);
    }
    Some(case)
}

fn document(path: &Path, notes: &mut Notes) -> Option<Written> {
    let text = read_text(path, notes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let root = match json::parse(text).and_then(|_| json::located(text)) {
        Ok(root) => root,
        Err(error) => {
            json::note_syntax(text, &error, notes);
            notes.locate(text, 1);
            return None;
        }
    };
    let written = match root.as_list() {
        Some(items) => {
            let cases = of_items(items, notes);
            Some(beside(path, cases, notes))
        }
        None => of_suite(&root, notes),
    };
    notes.locate(text, 1);
    written
}

/// A dataset with the head from the file beside it.
fn beside(path: &Path, cases: Vec<Object>, notes: &mut Notes) -> Written {
    let (file, head) =
        settings(path, notes).map_or((None, Object::new()), |(file, head)| (Some(file), head));
    Written { head, beside: file, cases, list: CASES[0], has_comments: false }
}

/// The file beside a dataset and what it says.
fn settings(path: &Path, notes: &mut Notes) -> Option<(PathBuf, Object)> {
    let file = sidecar(path).filter(|file| file.is_file())?;
    let text = read_text(&file, notes).filter(|text| is_about_dataset(text))?;
    let mut own = Notes::new(file.as_path());
    let root = yaml::parse(&text, &mut own);
    own.locate(&text, 1);
    notes.absorb(own);
    match root?.to_value() {
        Value::Object(head) => Some((file, head)),
        _ => None,
    }
}

fn lines(path: &Path, notes: &mut Notes) -> Option<Written> {
    let read = |notes: &mut Notes| -> io::Result<Vec<Object>> {
        let mut lines = Lines::new(Data::new(path)?.open()?, Seen::default());
        let (mut cases, mut equal) = (Vec::new(), EqualRows::default());
        while let Some((number, bytes)) = lines.next()? {
            let text = String::from_utf8_lossy(bytes);
            match json::parse(&text) {
                Ok(mut node) => {
                    // A line that asks nothing is not a case: records of a run are converted, too.
                    let is_case = ["input", "input_messages", "vars"]
                        .iter()
                        .any(|key| node.get(key).is_some());
                    let origin =
                        if is_case { row_ids::complete(&mut node) } else { IdOrigin::Written };
                    cases.extend(of_row(&node, origin, cases.len() + 1, (&mut equal, notes)));
                }
                Err(error) => json::note_syntax(&text, &error, notes),
            }
            notes.locate(&text, number);
        }
        Ok(cases)
    };
    match read(notes) {
        Ok(cases) => Some(beside(path, cases, notes)),
        Err(error) => unreadable(&error, notes),
    }
}

fn unreadable<T>(error: &io::Error, notes: &mut Notes) -> Option<T> {
    notes.error("file::unreadable", None, format!("the file cannot be read: {error}"));
    None
}

fn table(path: &Path, notes: &mut Notes) -> Option<Written> {
    let mut written = beside(path, Vec::new(), notes);
    let root = settings_node(&written.head);
    let defaults = Defaults::read(&root, notes);
    let mut read = || -> io::Result<Option<Vec<Object>>> {
        let data = Data::new(path)?;
        let given = (&defaults, Presence::Optional);
        let Some(table) = csv_header::read(&data, path, given, notes)? else { return Ok(None) };
        rows(&table, &data, notes).map(Some)
    };
    match read() {
        Ok(cases) => {
            written.cases = cases?;
            Some(written)
        }
        Err(error) => unreadable(&error, notes),
    }
}

fn rows(table: &Table, data: &Data, notes: &mut Notes) -> io::Result<Vec<Object>> {
    let mut records = table.records(data.open()?, Seen::default())?;
    let (mut cases, mut equal) = (Vec::new(), EqualRows::default());
    while let Some((number, bytes)) = records.next()? {
        let ordinal = cases.len();
        table.with_node(Row { ordinal, number, bytes }, notes, |node, origin, notes| {
            cases.extend(of_row(node, origin, ordinal + 1, (&mut equal, notes)));
        });
    }
    Ok(cases)
}

/// The head as a node again. It was one, but its text is gone.
fn settings_node(head: &Object) -> Node<'static> {
    let text = Value::Object(head.clone()).to_string();
    let span = crate::config::Span::default();
    json::parse(&text).map_or(Node::new(crate::config::Kind::Null, span), |node| node.placed(span))
}
