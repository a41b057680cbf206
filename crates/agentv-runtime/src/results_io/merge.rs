//! The results of several shards as one file.

use super::{Reader, ResultsError};
use crate::atomic_file::AtomicFile;
use crate::hash::sha256_of_parts;
use crate::writers::{ResultFile, WriterKind};
use agentv_wire::{RecordSummary, Skipped};
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How many conflicts are told.
const TOLD: usize = 5;
/// How many bytes are gathered for a write.
const BLOCK: usize = 256 * 1024;

/// What became one file.
#[derive(Debug, Default)]
pub struct Merged {
    pub records: usize,
    /// Records that were there already, to the letter.
    pub repeated: usize,
    /// Files whose last record was cut off, by their place among the inputs, and the line.
    pub torn: Vec<(usize, usize)>,
}

/// Two records of the same case that are not the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Conflict {
    pub eval_id: String,
    pub target: String,
    /// The inputs by their place, and the lines.
    pub first: (usize, usize),
    pub second: (usize, usize),
}

/// Why there is no file.
#[derive(Debug, Error)]
pub enum MergeError {
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error("{} records contradict others of the same case", .0.len() + .1)]
    Conflicts(Vec<Conflict>, usize),
    #[error("the results cannot be written")]
    Unwritable(#[source] io::Error),
}

/// An input: its file, and how messages call it.
type Input = (PathBuf, String);

/// Joins files of results in the order given. `out` is written only if all is well, and then at once.
pub fn merge(inputs: &[Input], out: &Path) -> Result<Merged, MergeError> {
    // The name that a link leads to says the format.
    let out = out.canonicalize().unwrap_or_else(|_| out.to_owned());
    let merged = AtomicFile::create_with_directory(&out).map_err(MergeError::Unwritable)?;
    let file = merged.reopen().map_err(MergeError::Unwritable)?;
    let mut merging = Merging {
        results: ResultFile::new(WriterKind::of_path(&out), file, &out),
        seen: HashMap::new(),
        merged: Merged::default(),
        conflicts: Vec::new(),
        more_conflicts: 0,
        waiting: 0,
    };
    for (index, (path, name)) in inputs.iter().enumerate() {
        merging.take(index, Reader::open(path, name)?)?;
    }
    if !merging.conflicts.is_empty() {
        return Err(MergeError::Conflicts(merging.conflicts, merging.more_conflicts));
    }
    let written = merging.results.commit().and_then(|()| merged.commit_synced());
    written.map_err(MergeError::Unwritable)?;
    Ok(merging.merged)
}

struct Merging {
    results: ResultFile,
    /// Of each record what it is known by and what it says, as hashes: records may be large.
    seen: HashMap<[u8; 16], Seen>,
    merged: Merged,
    conflicts: Vec<Conflict>,
    more_conflicts: usize,
    /// Bytes that are not in the file yet.
    waiting: usize,
}

struct Seen {
    content: [u8; 16],
    place: (usize, usize),
}

impl Merging {
    fn take(&mut self, index: usize, mut reader: Reader) -> Result<(), MergeError> {
        // Records of one case in one file are its trials, where they do not say which.
        let mut trials: HashMap<[u8; 16], u64> = HashMap::new();
        while let Some(record) = reader.read::<RecordSummary<Skipped>>()? {
            // Records of 2.x do not say their suite.
            let suite = record.suite.as_ref().map_or(&*record.dataset, |suite| suite.as_str());
            let case = hash([&record.eval_id, suite, &record.target]);
            let mut next_trial = || {
                let next = trials.entry(case).or_default();
                *next += 1;
                *next - 1
            };
            let trial = record.trial.map_or_else(&mut next_trial, u64::from);
            let place = (index, reader.line());
            let seen = Seen { content: content_of(reader.json())?, place };
            match self.seen.entry(hash([case, extend(trial)])) {
                Entry::Vacant(vacant) => {
                    vacant.insert(seen);
                    self.add(reader.json())?;
                }
                Entry::Occupied(known) if known.get().content == seen.content => {
                    self.merged.repeated += 1;
                }
                Entry::Occupied(_) if self.conflicts.len() == TOLD => self.more_conflicts += 1,
                Entry::Occupied(known) => self.conflicts.push(Conflict {
                    eval_id: record.eval_id,
                    target: record.target,
                    first: known.get().place,
                    second: place,
                }),
            }
        }
        self.merged.torn.extend(reader.torn().map(|line| (index, line)));
        Ok(())
    }

    fn add(&mut self, json: &str) -> Result<(), MergeError> {
        let rendered = (self.results.kind().copy)(json).map_err(MergeError::Unwritable)?;
        self.results.add(&rendered);
        self.merged.records += 1;
        self.waiting += rendered.len();
        if self.waiting < BLOCK {
            return Ok(());
        }
        self.waiting = 0;
        self.results.commit().map_err(MergeError::Unwritable)
    }
}

/// The same for a record in JSONL and in YAML, however its numbers are written.
fn content_of(json: &str) -> Result<[u8; 16], MergeError> {
    // A field that no reader looks at may have an escape that is no letter. Such a record is known by its text.
    let Ok(value) = serde_json::from_str::<Value>(json) else { return Ok(hash([json])) };
    let text = agentv_wire::number::to_string(&value);
    Ok(hash([text.map_err(|error| MergeError::Unwritable(error.into()))?]))
}

fn extend(number: u64) -> [u8; 16] {
    u128::from(number).to_le_bytes()
}

/// Half of SHA-256: no two records meet by chance.
fn hash<P: AsRef<[u8]>, const N: usize>(parts: [P; N]) -> [u8; 16] {
    let digest = sha256_of_parts(parts);
    std::array::from_fn(|index| digest[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_are_not_quite_json_are_told_apart() {
        let content = |answer: &str| {
            content_of(&format!(r#"{{"eval_id":"a","score":1,"x":"\ud800","answer":"{answer}"}}"#))
        };
        assert_eq!(content("yes").unwrap(), content("yes").unwrap());
        assert_ne!(content("yes").unwrap(), content("no").unwrap());
    }
}
