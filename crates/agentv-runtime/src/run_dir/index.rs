//! What a journal knows, by record and by piece of work. Answers stay in the file until they are wanted.

use super::journal::{CaseRevision, KeptAnswer, LineHash, RecordedEntry};
use super::lines::{LinePlace, lines};
use agentv_core::{Response, WorkId};
use agentv_wire::RunSpend;
use serde::Deserialize;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A journal, read once: to resume its run, to grade its answers again, or to report on it while it may still be running.
#[derive(Debug, Default)]
pub struct Index {
    /// Of which work each record is, by the hash of its line.
    recorded: HashMap<String, RecordedWork>,
    pub answers: HashMap<WorkId, Vec<PastAnswer>>,
    /// What the calls used.
    pub spent: RunSpend,
}

/// A piece of work that has a record.
#[derive(Debug, Clone)]
pub struct RecordedWork {
    pub id: WorkId,
    pub revision: CaseRevision,
}

/// Where in a journal an answer is.
#[derive(Debug, Clone)]
pub struct PastAnswer {
    pub revision: CaseRevision,
    /// Whether it was worked out in a directory that is gone.
    pub workspace: bool,
    place: LinePlace,
}

/// A line of the journal without its answer.
#[derive(Debug, Deserialize)]
struct IndexedLine {
    #[serde(default)]
    answered: Option<IndexedAnswer>,
    #[serde(default)]
    recorded: Option<RecordedEntry>,
    #[serde(default)]
    spent: Option<RunSpend>,
}

#[derive(Debug, Deserialize)]
struct IndexedAnswer {
    work: WorkId,
    revision: CaseRevision,
    #[serde(default)]
    workspace: bool,
}

/// A line of the journal about a record, without its case's revision.
#[derive(Debug)]
pub(super) struct RecordedLine {
    pub work: WorkId,
    /// Of the record's line in the results.
    pub hash: String,
}

impl RecordedLine {
    /// `None` if the line is about something else.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let recorded = serde_json::from_slice::<IndexedLine>(line).ok()?.recorded?;
        Some(Self { work: recorded.work, hash: recorded.line })
    }
}

/// The answer of a line of the journal.
#[derive(Debug, Deserialize)]
struct AnswerLine {
    answered: AnswerOnly,
}

#[derive(Debug, Deserialize)]
struct AnswerOnly {
    attempt: u32,
    wall_ms: f64,
    response: Response,
}

impl Index {
    /// Reads a journal; without one, nothing is known. A line that cannot be read is skipped: its case is run again.
    pub fn read(journal: &Path) -> io::Result<Self> {
        let mut index = Self::default();
        lines(journal, |line, place| {
            if let Ok(line) = serde_json::from_slice(line) {
                index.add(line, place);
            }
            Ok(())
        })?;
        Ok(index)
    }

    fn add(&mut self, line: IndexedLine, place: LinePlace) {
        if let Some(IndexedAnswer { work, revision, workspace }) = line.answered {
            let answer = PastAnswer { revision, workspace, place };
            // There is seldom more than one, and a list makes room for four by default.
            let answers = self.answers.entry(work).or_insert_with(|| Vec::with_capacity(1));
            answers.push(answer);
        }
        if let Some(RecordedEntry { work: id, revision, line }) = line.recorded {
            self.recorded.insert(line, RecordedWork { id, revision });
        }
        if let Some(spent) = line.spent {
            self.spent.add(&spent);
        }
    }

    /// The work that a record is of, by its whole line in the results.
    pub fn work_of(&self, line: &[u8]) -> Option<&RecordedWork> {
        self.recorded.get(&LineHash::of(line).to_string())
    }

    /// What the target answered, if it was kept; of several attempts the last.
    pub fn answer_to(&self, RecordedWork { id, revision }: &RecordedWork) -> Option<&PastAnswer> {
        self.answers.get(id)?.iter().rfind(|answer| answer.revision == *revision)
    }
}

impl PastAnswer {
    /// Reads the answer from its journal; `None` if the line is no longer an answer.
    pub fn read(&self, journal: &Path) -> io::Result<Option<KeptAnswer>> {
        let line = self.place.read(journal)?;
        let Ok(AnswerLine { answered }) = serde_json::from_slice(&line) else { return Ok(None) };
        let AnswerOnly { attempt, wall_ms, response } = answered;
        let wall = Duration::try_from_secs_f64(wall_ms / 1000.0).unwrap_or_default();
        Ok(Some(KeptAnswer { response, wall, attempt }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_leads_to_its_work_and_to_its_last_answer() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("journal");
        let work = r#""work":{"suite":"a.yaml","eval_id":"x","target":"t","trial":1},"revision":{"fingerprint":"f","asked":"q"}"#;
        let hash = LineHash::of(b"{}\n");
        let answer = |text: &str| {
            format!(
                r#"{{"answered":{{{work},"attempt":0,"wall_ms":1,"response":{{"text":"{text}"}}}},"chain":"later"}}"#
            )
        };
        let recorded = format!(r#"{{"recorded":{{{work},"line":"{hash}"}}}}"#);
        let written = [&answer("one"), &answer("two"), &recorded, "{\"torn"].map(str::to_owned);
        std::fs::write(&journal, written.join("\n")).unwrap();
        let index = Index::read(&journal).unwrap();
        let known = index.work_of(b"{}\n").unwrap();
        assert_eq!(known.id.to_string(), "a.yaml#x@t~1");
        let answer = index.answer_to(known).unwrap().read(&journal).unwrap().unwrap();
        assert_eq!(answer.response.text.as_deref(), Some("two"));
        assert!(index.work_of(b"{ }\n").is_none());
    }

    #[test]
    fn without_a_journal_nothing_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::read(&dir.path().join("journal")).unwrap();
        assert!(index.work_of(b"{}\n").is_none());
    }
}
