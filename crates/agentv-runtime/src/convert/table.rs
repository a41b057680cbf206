//! Cases as a table that is read as the same cases.

use crate::config::same_key;
use crate::load::{CSV_KEYS, CsvShape, reads_as_var};
use agentv_core::amount::count;
use agentv_wire::Object;
use serde_json::Value;
use std::collections::BTreeMap;

/// A table, and what found no place in it.
#[derive(Debug)]
pub(super) struct CaseTable {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// In words, for people.
    pub lost: Vec<String>,
}

/// One column: its name, and the cell of each case.
struct Column {
    name: String,
    cells: Vec<String>,
}

pub(super) fn of(cases: &[Object]) -> CaseTable {
    let plain_vars = plain_vars(cases);
    let mut columns: Vec<Column> = Vec::new();
    for (key, shape) in CSV_KEYS {
        let values: Vec<Option<Value>> = if key == "vars" {
            cases.iter().map(|case| other_vars(case, &plain_vars)).collect()
        } else {
            cases.iter().map(|case| value(case, key).cloned()).collect()
        };
        columns.extend(column(key, shape, &values));
    }
    for name in &plain_vars {
        let cells = cases.iter().map(|case| var(case, name).unwrap_or_default().to_owned());
        columns.push(Column { name: name.clone(), cells: cells.collect() });
    }
    let rows = (0..cases.len())
        .map(|row| columns.iter().map(|column| column.cells[row].clone()).collect())
        .collect();
    CaseTable {
        header: columns.into_iter().map(|column| column.name).collect(),
        rows,
        lost: lost(cases),
    }
}

impl CaseTable {
    pub(super) fn text(&self, separator: u8) -> String {
        let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(Vec::new());
        for row in std::iter::once(&self.header).chain(&self.rows) {
            // Nothing can go wrong in memory.
            let _ = writer.write_record(row);
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// What a case says under a key, in either spelling.
fn value<'c>(case: &'c Object, key: &str) -> Option<&'c Value> {
    case.get(key)
        .or_else(|| case.iter().find(|(name, _)| same_key(name, key)).map(|(_, value)| value))
}

/// A column for a key; none where no case has it. Cells are JSON where they must be.
fn column(key: &str, shape: CsvShape, values: &[Option<Value>]) -> Option<Column> {
    if values.iter().all(Option::is_none) {
        return None;
    }
    let plain: Option<Vec<String>> = values
        .iter()
        .map(|value| value.as_ref().map_or(Some(String::new()), |value| cell(value, shape)))
        .collect();
    Some(match plain {
        Some(cells) => Column { name: key.to_owned(), cells },
        None => Column {
            name: format!("{key}:json"),
            cells: values
                .iter()
                .map(|value| value.as_ref().map_or_else(String::new, Value::to_string))
                .collect(),
        },
    })
}

/// A cell of a column that does not end in `:json`. `None` if it would be read as something else.
fn cell(value: &Value, shape: CsvShape) -> Option<String> {
    match shape {
        CsvShape::Json => Some(value.to_string()),
        CsvShape::Text => value.as_str().filter(|text| !text.is_empty()).map(str::to_owned),
        CsvShape::Tags => {
            let tags: Vec<&str> =
                value.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
            let is_plain = |tag: &&str| !tag.is_empty() && tag.trim() == *tag && !tag.contains(';');
            (!tags.is_empty() && tags.iter().all(is_plain)).then(|| tags.join(";"))
        }
    }
}

fn var<'c>(case: &'c Object, name: &str) -> Option<&'c str> {
    case.get("vars")?.get(name)?.as_str()
}

/// The vars that have a column of their own: texts that every case has.
fn plain_vars(cases: &[Object]) -> Vec<String> {
    let first = cases.first().and_then(|case| case.get("vars")).and_then(Value::as_object);
    let names = first.into_iter().flat_map(Object::keys);
    names
        .filter(|name| reads_as_var(name))
        .filter(|name| cases.iter().all(|case| var(case, name).is_some()))
        .cloned()
        .collect()
}

/// What is left of a case's vars.
fn other_vars(case: &Object, plain: &[String]) -> Option<Value> {
    let mut vars = case.get("vars")?.clone();
    if let Value::Object(map) = &mut vars {
        map.retain(|name, _| !plain.contains(name));
        if map.is_empty() && !plain.is_empty() {
            return None;
        }
    }
    Some(vars)
}

/// What has no column: keys that are not a case's, a second spelling of one, and cases without an id.
fn lost(cases: &[Object]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        let has_column = |name: &str| {
            CSV_KEYS
                .iter()
                .any(|(key, _)| name == *key || (same_key(name, key) && !case.contains_key(*key)))
        };
        for name in case.keys().filter(|name| !has_column(name)) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let has_id = |case: &&Object| {
        case.get("id").and_then(Value::as_str).is_some_and(|id| !id.trim().is_empty())
    };
    let nameless = cases.iter().filter(|case| !has_id(case)).count();
    let cases = |number: usize| count(number, "case", "cases");
    let mut lost: Vec<String> =
        counts.into_iter().map(|(name, number)| format!("`{name}` of {}", cases(number))).collect();
    if nameless > 0 {
        lost.push(format!("the place of {} without an `id`", cases(nameless)));
    }
    lost
}
