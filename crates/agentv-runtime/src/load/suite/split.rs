//! Large YAML suites, read in pieces: the text is cut at the items of the case list and the pieces go to the full parser
//! on all cores. Each piece's tree is dropped as soon as its cases are made, so memory holds the cases and not the trees.
//!
//! A cut is only made where it cannot change the meaning: the list is the last key, in block style, and nothing in the file
//! looks like an anchor or an alias. Otherwise, and whenever a piece does not read as it should, the file is read whole.

use super::case;
use super::case::LoadPurpose;
use super::head::CASES;
use super::scope::CaseScope;
use crate::config::{Node, Notes};
use crate::load::syntax::yaml;
use crate::parallel::on_each_core;
use agentv_core::EvalCase;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A text that can be read in pieces.
#[derive(Debug)]
pub(super) struct Split<'t> {
    /// All up to the key of the case list, with the key.
    pub head: &'t str,
    pieces: Vec<Piece<'t>>,
}

/// Some items of the case list.
#[derive(Debug)]
struct Piece<'t> {
    text: &'t str,
    /// The number of its first line in the file, from 1.
    first_line: usize,
    /// The place of its first item in the list.
    first_item: usize,
    items: usize,
}

impl Split<'_> {
    /// How many items the list has.
    pub(in crate::load) fn items(&self) -> usize {
        self.pieces.iter().map(|piece| piece.items).sum()
    }
}

/// Below this, cutting costs more than it gains.
const WORTH_IT: usize = 128 * 1024;
/// How much text goes to the parser at once.
const PIECE: usize = 64 * 1024;

/// Cuts a text, if that is safe and worth it.
pub(in crate::load) fn split(text: &str) -> Option<Split<'_>> {
    if text.len() < WORTH_IT { None } else { cut(text, PIECE) }
}

fn cut(text: &str, piece_size: usize) -> Option<Split<'_>> {
    let list_start = list_start(text)?;
    let (head, body) = text.split_at(list_start);
    if may_have_anchor(text) {
        return None;
    }
    let first_line = 1 + head.matches('\n').count();
    let mut indent = None;
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut offset = 0;
    let (mut start, mut start_line, mut items, mut total) = (0, first_line, 0, 0);
    for (line_number, line) in (first_line..).zip(body.split_inclusive('\n')) {
        let content = line.trim_start_matches(' ');
        let depth = line.len() - content.len();
        if !content.trim_end().is_empty() && !content.starts_with('#') {
            let is_item = content.starts_with("- ");
            let indent = *indent.get_or_insert(depth);
            if is_item && depth == indent {
                if offset - start >= piece_size {
                    pieces.push(Piece {
                        text: &body[start..offset],
                        first_line: start_line,
                        first_item: total,
                        items,
                    });
                    (start, start_line) = (offset, line_number);
                    total += items;
                    items = 0;
                }
                items += 1;
            } else if depth <= indent || items == 0 || content.starts_with('\t') {
                return None;
            }
        }
        offset += line.len();
    }
    pieces.push(Piece { text: &body[start..], first_line: start_line, first_item: total, items });
    Some(Split { head, pieces })
}

/// Where the line after `evalcases:` begins, if that key is there once, at the left edge, with nothing after it.
fn list_start(text: &str) -> Option<usize> {
    let mut offset = 0;
    let mut found = None;
    for line in text.split_inclusive('\n') {
        offset += line.len();
        let key = line.split_once(':').filter(|(key, _)| CASES.contains(key));
        if let Some((_, rest)) = key {
            let rest = rest.trim();
            if found.is_some() || !(rest.is_empty() || rest.starts_with('#')) {
                return None;
            }
            found = Some(offset);
        }
    }
    found
}

/// Whether a `&` or `*` is where an anchor or an alias could be: first on its line, or after an indicator.
fn may_have_anchor(text: &str) -> bool {
    text.match_indices(['&', '*']).any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', ':', '-', '?', '[', ',', '{', '!'])
    })
}

/// Reads all pieces. `None` if they do not add up to what was cut, or ids repeat: then the whole file must be looked at.
pub(in crate::load) fn read(
    split: &Split<'_>,
    path: &Path,
    scope: &CaseScope,
    notes: &mut Notes,
) -> Option<Vec<Arc<EvalCase>>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = split.pieces.get(index) else { return Some(done) };
            done.push((index, read_piece(piece, path, scope)?));
        }
    };
    let parts: Option<Vec<_>> = on_each_core(split.pieces.len(), work)?.into_iter().collect();
    let mut parts: Vec<_> = parts?.into_iter().flatten().collect();
    parts.sort_unstable_by_key(|(index, _)| *index);

    let mut cases = Vec::new();
    for (_, part) in parts {
        cases.extend(part.cases);
        notes.absorb(part.notes);
    }
    let mut ids = HashSet::with_capacity(cases.len());
    cases.iter().all(|case: &Arc<EvalCase>| ids.insert(case.id.as_str())).then_some(())?;
    Some(cases)
}

struct Part {
    cases: Vec<Arc<EvalCase>>,
    notes: Notes,
}

fn read_piece(piece: &Piece<'_>, path: &Path, scope: &CaseScope) -> Option<Part> {
    let mut notes = Notes::new(path);
    let tree = yaml::parse(piece.text, &mut notes)?;
    let items = tree.as_list().filter(|items| items.len() == piece.items)?;
    let cases = check_all(items, piece.first_item, scope, &mut notes);
    notes.locate(piece.text, piece.first_line);
    Some(Part { cases, notes })
}

/// Checks the wanted ones of these items.
pub(super) fn check_all(
    items: &[Node<'_>],
    first: usize,
    scope: &CaseScope,
    notes: &mut Notes,
) -> Vec<Arc<EvalCase>> {
    let numbered = items.iter().zip(first..).filter(|(item, _)| scope.filter.wants(item));
    numbered
        .filter_map(|(item, ordinal)| case::check(item, ordinal, scope, LoadPurpose::Run, notes))
        .map(Arc::new)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// The items as the whole file has them, and as the pieces have them.
    fn both(text: &str) -> (Option<Vec<Value>>, Option<Vec<Value>>) {
        let values = |node: &Node<'_>| {
            node.as_list().map(|items| items.iter().map(Node::to_value).collect::<Vec<_>>())
        };
        let whole =
            yaml::parse(text, &mut Notes::new("f")).and_then(|root| values(root.get("evalcases")?));
        let pieces = cut(text, 1).and_then(|split| {
            let parts = split.pieces.iter().map(|piece| {
                let tree = yaml::parse(piece.text, &mut Notes::new("f"))?;
                values(&tree).filter(|items| items.len() == piece.items)
            });
            Some(parts.collect::<Option<Vec<_>>>()?.concat())
        });
        (whole, pieces)
    }

    #[track_caller]
    fn check(text: &str, is_cut: bool) {
        let (whole, pieces) = both(text);
        assert_eq!(pieces.is_some(), is_cut, "{text}");
        if is_cut {
            assert_eq!(whole, pieces);
        }
    }

    #[test]
    fn pieces_read_as_the_whole() {
        check("evalcases:\n  - id: a\n    x: |\n      - not an item\n\n  # c\n  - id: b\n", true);
        check(
            "dataset: d\nevalcases: # all\n- id: a\n- id: b\n  y: >-\n    two\n    lines\n",
            true,
        );
        check("evalcases:\n  - id: 'a & b'\n    t: x * y\n  - id: b", true);
    }

    #[test]
    fn doubtful_files_are_read_whole() {
        check("evalcases:\n  - &a {id: a}\n  - *a\n", false);
        check("evalcases: [{id: a}]\n", false);
        check("evalcases:\n  - id: a\ndataset: d\n", false);
        check("evalcases:\n  - id: \"a\n  - b\"\n", false);
        check("evalcases:\n", false);
        check("evalcases:\n  - id: a\n---\nb: 1\n", false);
    }

    #[test]
    fn lines_are_numbered_as_in_the_file() {
        let split = cut("a: 1\nevalcases:\n  - id: a\n\n  - id: b\n", 1).unwrap();
        let lines: Vec<usize> = split.pieces.iter().map(|piece| piece.first_line).collect();
        assert_eq!(lines, [3, 5]);
    }

    proptest! {
        #[test]
        fn whatever_is_cut_reads_the_same(body in "( {0,4}(- )?[a-c\"'|>:#{}\\[\\]]{0,3}( [a-c]| \\||: >|: \"x)?\n){0,12}") {
            let (whole, pieces) = both(&format!("evalcases:\n{body}"));
            if let (Some(whole), Some(pieces)) = (whole, pieces) {
                prop_assert_eq!(whole, pieces);
            }
        }
    }
}
