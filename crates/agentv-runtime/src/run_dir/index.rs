//! What a journal knows, by record and by case. Answers stay in the file until somebody wants them.

use super::journal::{Answered, Case, Entry, KeptAnswer, LineHash};
use super::lines::{LinePlace, lines};
use agentv_core::Response;
use agentv_wire::RunSpend;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A journal, read once. For those who take a run up again, grade it anew or only look at it, while it may still go on.
#[derive(Debug, Default)]
pub struct Index {
    /// Of which case each record is, by the checksum of its line.
    recorded: HashMap<String, Known>,
    pub answers: HashMap<Slot, Vec<PastAnswer>>,
    /// What the calls used.
    pub spent: RunSpend,
}

/// A case as a journal tells of it.
#[derive(Debug, Clone)]
pub struct Known {
    pub slot: Slot,
    pub version: CaseRevision,
}

/// A case by what it is called, wherever in the file it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot {
    /// From the directory where the run was started, if it lies below that.
    pub file: String,
    pub eval_id: String,
    pub target: String,
    pub trial: u32,
}

/// What a case was at the time, and where.
#[derive(Debug, Clone)]
pub struct CaseRevision {
    pub fingerprint: String,
    /// The place in the file, from 0.
    pub ordinal: usize,
    /// What was asked, in short; `None` in journals of before.
    pub asked: Option<String>,
}

/// Where in a journal an answer is.
#[derive(Debug, Clone)]
pub struct PastAnswer {
    pub version: CaseRevision,
    /// Whether it was worked out in a directory that is gone.
    pub workspace: bool,
    place: LinePlace,
}

impl Case<'_> {
    pub(super) fn slot(&self) -> Slot {
        Slot {
            file: self.file.clone().into_owned(),
            eval_id: self.eval_id.clone().into_owned(),
            target: self.target.clone().into_owned(),
            trial: self.trial,
        }
    }

    fn version(&self) -> CaseRevision {
        CaseRevision {
            fingerprint: self.fingerprint.clone().into_owned(),
            ordinal: self.ordinal,
            asked: self.asked.clone().map(Cow::into_owned),
        }
    }
}

impl Index {
    /// Reads a journal; without one, nothing is known. A line that cannot be read is passed over: its case is asked again.
    pub fn read(journal: &Path) -> io::Result<Self> {
        let mut index = Self::default();
        lines(journal, |line, place| {
            match serde_json::from_slice::<Entry<'_>>(line) {
                Ok(Entry::Answered(Answered { case, workspace, .. })) => {
                    let answer = PastAnswer { version: case.version(), workspace, place };
                    // There is seldom more than one, and a list of its own accord makes room for four.
                    let answers = index.answers.entry(case.slot());
                    answers.or_insert_with(|| Vec::with_capacity(1)).push(answer);
                }
                Ok(Entry::Recorded(entry)) => {
                    let known = Known { slot: entry.case.slot(), version: entry.case.version() };
                    index.recorded.insert(entry.sum.into_owned(), known);
                }
                Ok(Entry::Spent(more)) => index.spent.add(&more),
                Err(_) => {}
            }
            Ok(())
        })?;
        Ok(index)
    }

    /// The case of a record, by its whole line in the results.
    pub fn case_of(&self, line: &[u8]) -> Option<&Known> {
        self.recorded.get(&LineHash::of(line).to_string())
    }

    /// What the target answered, if it was kept; of several attempts the last.
    pub fn answer_to(&self, Known { slot, version }: &Known) -> Option<&PastAnswer> {
        self.answers.get(slot)?.iter().rfind(|answer| answer.version.is_same_as(version))
    }
}

impl CaseRevision {
    fn is_same_as(&self, other: &Self) -> bool {
        (self.ordinal, &self.fingerprint) == (other.ordinal, &other.fingerprint)
    }
}

impl PastAnswer {
    /// Reads the answer from its journal; `None` if it is none any more.
    pub fn read(&self, journal: &Path) -> io::Result<Option<KeptAnswer>> {
        let line = self.place.read(journal)?;
        let Ok(Entry::Answered(Answered { attempt, wall_ms, response, .. })) =
            serde_json::from_slice::<Entry<'_, Response>>(&line)
        else {
            return Ok(None);
        };
        let wall = Duration::try_from_secs_f64(wall_ms / 1000.0).unwrap_or_default();
        Ok(Some(KeptAnswer { response, wall, attempt }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_leads_to_its_case_and_to_its_last_answer() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("journal");
        let case = r#"{"file":"a.yaml","eval_id":"x","ordinal":3,"target":"t","fingerprint":"f"}"#;
        let sum = LineHash::of(b"{}\n");
        let answer = |text: &str| {
            format!(
                r#"{{"answered":{{"case":{case},"attempt":0,"wall_ms":1,"response":{{"text":"{text}"}}}}}}"#
            )
        };
        let recorded = format!(r#"{{"recorded":{{"case":{case},"sum":"{sum}"}}}}"#);
        let written = [&answer("one"), &answer("two"), &recorded, "{\"torn"].map(str::to_owned);
        std::fs::write(&journal, written.join("\n")).unwrap();
        let index = Index::read(&journal).unwrap();
        let known = index.case_of(b"{}\n").unwrap();
        assert_eq!((known.slot.file.as_str(), known.version.ordinal), ("a.yaml", 3));
        let answer = index.answer_to(known).unwrap().read(&journal).unwrap().unwrap();
        assert_eq!(answer.response.text.as_deref(), Some("two"));
        assert!(index.case_of(b"{ }\n").is_none());
    }

    #[test]
    fn without_a_journal_nothing_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::read(&dir.path().join("journal")).unwrap();
        assert!(index.case_of(b"{}\n").is_none());
    }
}
