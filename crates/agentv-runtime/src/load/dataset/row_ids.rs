//! The ids of rows: derived for rows that have none, and unique in the dataset.

use super::ordinals::Ordinals;
use super::source::Pick;
use super::stream::{Data, Layout, Row, Seen};
use crate::config::{Entry, Kind, Node, Notes, Span, same_key};
use crate::load::suite::case::LoadPurpose;
use crate::load::suite::duplicates;
use crate::load::suite::scope::CaseScope;
use agentv_core::{EvalCase, EvalId, TargetName};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

/// Where the id of a row is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) enum IdOrigin {
    Written,
    /// From a hash of what the row asks.
    Derived,
}

/// A derived id has this many hexadecimal digits of the hash.
const DIGITS: usize = 10;

/// Gives a row an id if it has none. The id depends on what the row asks and on nothing else, so that it stays the same
/// when rows are added, moved or removed.
pub(in crate::load) fn complete(row: &mut Node<'_>) -> IdOrigin {
    let id = match row.as_map() {
        Some(map) if value_of(map, "id").is_none() => derived(map),
        _ => return IdOrigin::Written,
    };
    if let Kind::Map(map) = &mut row.kind {
        let key_span = map.first().map_or(row.span, |entry| entry.key_span);
        let value = Node::new(Kind::Text(Cow::Owned(id)), key_span);
        map.retain(|entry| entry.key != "id");
        map.insert(0, Entry { key: Cow::Borrowed("id"), key_span, value });
    }
    IdOrigin::Derived
}

fn derived(row: &[Entry<'_>]) -> String {
    let value = |key: &str| value_of(row, key).map_or(Value::Null, Node::to_value);
    let input = value_of(row, "input_messages").map_or_else(|| value("input"), Node::to_value);
    let mut asked = json!([input, value("vars")]);
    // The order of keys means nothing.
    asked.sort_all_objects();
    let mut id = "row-".to_owned();
    for byte in Sha256::digest(asked.to_string()).iter().take(DIGITS / 2) {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

fn value_of<'n, 't>(row: &'n [Entry<'t>], key: &str) -> Option<&'n Node<'t>> {
    let entry = row.iter().find(|entry| same_key(&entry.key, key) && !entry.value.is_null());
    entry.map(|entry| &entry.value)
}

/// Tells rows with the same derived id apart, in the order of the dataset.
#[derive(Debug, Default)]
pub(in crate::load) struct EqualRows(HashMap<String, u32>);

impl EqualRows {
    /// Counts a row: 1 for the first one with this id.
    fn count(&mut self, id: &str) -> u32 {
        let count = self.0.entry(id.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// The id of the next row with this derived id.
    pub(in crate::load) fn next(&mut self, id: &str) -> String {
        numbered(id, self.count(id))
    }
}

/// `row-…`, `row-…-2`, `row-…-3`.
fn numbered(id: &str, number: u32) -> String {
    if number > 1 { format!("{id}-{number}") } else { id.to_owned() }
}

/// A hash for finding ids that may be there twice. Eight bytes a case: a set of texts would hold the whole file.
pub(super) fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The hashes that are there more than once.
pub(super) fn repeated(mut hashes: Vec<u64>) -> HashSet<u64> {
    hashes.sort_unstable();
    hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

/// What makes the ids of a dataset unique. Mostly nothing.
#[derive(Debug, Default)]
pub(super) struct IdRepairs {
    /// Rows whose id was written before.
    pub left_out: Ordinals,
    /// The targets of the cases that are left out.
    pub lost: Vec<Option<TargetName>>,
    /// Rows with a derived id that is not the first of its kind, by their ordinals, with the number that tells them apart.
    numbers: Vec<(usize, u32)>,
    /// What the new ids draw, where samples or shards are drawn.
    pub picks: Vec<Pick>,
}

impl IdRepairs {
    /// Reads a dataset again and compares the ids whose hashes are repeated. Each id that is written twice is noted.
    pub(super) fn find(
        repeated: &HashSet<u64>,
        (data, layout): (&Data, &Layout),
        scope: &CaseScope,
        notes: &mut Notes,
    ) -> io::Result<Self> {
        let mut search = Search {
            scope,
            repairs: Self::default(),
            first: HashMap::new(),
            equal: EqualRows::default(),
        };
        let mut rows = layout.open(data, Seen::default())?;
        while let Some(row) = rows.next()? {
            layout.look_at(row, |node, origin, text| {
                let Some((id, span)) = node.get("id").and_then(|id| Some((id.as_text()?, id.span)))
                else {
                    return;
                };
                if !repeated.contains(&hash(id)) {
                    return;
                }
                match origin {
                    IdOrigin::Derived => search.number(id, row),
                    IdOrigin::Written => {
                        let read = layout.read(row, scope, LoadPurpose::Check, &mut Notes::new(""));
                        if let Some(case) = read.case {
                            search.compare(case, span, row, notes);
                            notes.locate(text, row.number);
                        }
                    }
                }
            });
        }
        Ok(search.repairs)
    }

    /// Gives a case the number that tells its id from others like it.
    pub(super) fn apply(&self, case: &mut EvalCase) {
        if let Ok(at) = self.numbers.binary_search_by_key(&case.ordinal, |(ordinal, _)| *ordinal) {
            case.id = EvalId::from(numbered(case.id.as_str(), self.numbers[at].1));
        }
    }
}

/// A second look at a dataset.
struct Search<'a> {
    scope: &'a CaseScope,
    repairs: IdRepairs,
    /// The line on which each of the repeated ids is first.
    first: HashMap<String, usize>,
    equal: EqualRows,
}

impl Search<'_> {
    /// A row with a derived id.
    fn number(&mut self, id: &str, row: Row<'_>) {
        // Another row may have this id written down.
        if self.first.contains_key(id) && !self.equal.0.contains_key(id) {
            self.equal.count(id);
        }
        self.first.entry(id.to_owned()).or_insert(row.number);
        let number = self.equal.count(id);
        if number == 1 {
            return;
        }
        self.repairs.numbers.push((row.ordinal, number));
        let selection = &self.scope.filter.selection;
        if selection.draws() {
            self.repairs.picks.push(selection.pick(&numbered(id, number), row.ordinal));
        }
    }

    /// A row with a written id.
    fn compare(&mut self, case: EvalCase, span: Span, row: Row<'_>, notes: &mut Notes) {
        let id = case.id.as_str();
        if let Some(line) = self.first.get(id) {
            duplicates::refuse(id, *line, Some(span), notes);
            self.repairs.left_out.insert(row.ordinal);
            self.repairs.lost.push(case.target);
        } else {
            self.first.insert(id.to_owned(), row.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::syntax::json;

    #[track_caller]
    fn id(row: &str) -> (String, IdOrigin) {
        let mut node = json::parse(row).unwrap();
        let origin = complete(&mut node);
        (node.get("id").unwrap().to_value().as_str().unwrap().to_owned(), origin)
    }

    #[test]
    fn a_written_id_stays() {
        assert_eq!(id(r#"{"input": "q", "id": "a"}"#), ("a".to_owned(), IdOrigin::Written));
    }

    #[test]
    fn a_derived_id_is_of_what_is_asked_and_never_changes() {
        let expected = ("row-4b48e26e21".to_owned(), IdOrigin::Derived);
        for row in [
            r#"{"input": "q"}"#,
            r#"{"id": null, "input": "q", "expected_outcome": "o"}"#,
            r#"{"tags": ["x"], "input": "q", "vars": null}"#,
        ] {
            assert_eq!(id(row), expected, "{row}");
        }
        for row in [r#"{"input": "p"}"#, r#"{"input": "q", "vars": {"a": 1}}"#] {
            assert_ne!(id(row), expected, "{row}");
        }
        let one = id(r#"{"vars": {"a": 1, "b": 2}}"#);
        assert_eq!(id(r#"{"vars": {"b": 2, "a": 1}}"#), one);
    }
}
