//! What a run's journal knows of each record: of which case it is, and the conversation behind it. For those who look at a
//! run, which may still go on; nothing is locked and nothing is changed.

use super::journal::{Answered, Case, Entry, Sum};
use super::past::lines;
use agentv_core::Response;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The answers in a journal. In memory are only their places.
#[derive(Debug, Default)]
pub struct Answers {
    journal: PathBuf,
    /// By the sum of a record's line.
    recorded: HashMap<String, RecordedCase>,
    /// Where in the journal, and how long; of several attempts the last.
    places: HashMap<RecordedCase, (u64, usize)>,
}

/// Which case a record is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordedCase {
    /// From the directory where the run was started, if it lies below that.
    pub file: String,
    /// The place in the file, from 0.
    pub ordinal: usize,
    eval_id: String,
    target: String,
    trial: u32,
    fingerprint: String,
}

impl RecordedCase {
    fn of(case: &Case<'_>) -> Self {
        Self {
            file: case.file.clone().into_owned(),
            ordinal: case.ordinal,
            eval_id: case.eval_id.clone().into_owned(),
            target: case.target.clone().into_owned(),
            trial: case.trial,
            fingerprint: case.fingerprint.clone().into_owned(),
        }
    }
}

impl Answers {
    /// Reads the journal of a run folder. Without one, nothing is known.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut answers = Self { journal: folder.join("journal.jsonl"), ..Self::default() };
        let mut at = 0;
        let (recorded, places) = (&mut answers.recorded, &mut answers.places);
        lines(&answers.journal, |line| {
            let (start, bytes) = (at, line.len());
            at += bytes as u64;
            match serde_json::from_slice(line) {
                Ok(Entry::Answered(Answered { case, .. })) => {
                    places.insert(RecordedCase::of(&case), (start, bytes));
                }
                Ok(Entry::Recorded(entry)) => {
                    recorded.insert(entry.sum.into_owned(), RecordedCase::of(&entry.case));
                }
                Err(_) => {}
            }
            Ok(())
        })?;
        Ok(answers)
    }

    /// The case of a record, by its whole line in the results.
    pub fn case_of(&self, line: &[u8]) -> Option<&RecordedCase> {
        self.recorded.get(&Sum::of(line).to_string())
    }

    /// What the target answered, if it was kept.
    pub fn answer(&self, case: &RecordedCase) -> io::Result<Option<Response>> {
        let Some((at, bytes)) = self.places.get(case) else { return Ok(None) };
        let mut file = File::open(&self.journal)?;
        file.seek(SeekFrom::Start(*at))?;
        let mut line = vec![0; *bytes];
        file.read_exact(&mut line)?;
        let Ok(Entry::Answered(Answered { response, .. })) = serde_json::from_slice(&line) else {
            return Ok(None);
        };
        Ok(serde_json::from_str(response.get()).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_leads_to_its_case_and_to_its_last_answer() {
        let dir = tempfile::tempdir().unwrap();
        let case = r#"{"file":"a.yaml","eval_id":"x","ordinal":3,"target":"t","fingerprint":"f"}"#;
        let sum = Sum::of(b"{}\n");
        let answer = |text: &str| {
            format!(
                r#"{{"answered":{{"case":{case},"attempt":0,"wall_ms":1,"response":{{"text":"{text}"}}}}}}"#
            )
        };
        let recorded = format!(r#"{{"recorded":{{"case":{case},"sum":"{sum}"}}}}"#);
        let journal = [&answer("one"), &answer("two"), &recorded, "{\"torn"].map(str::to_owned);
        std::fs::write(dir.path().join("journal.jsonl"), journal.join("\n")).unwrap();
        let answers = Answers::read(dir.path()).unwrap();
        let found = answers.case_of(b"{}\n").unwrap();
        assert_eq!((found.file.as_str(), found.ordinal), ("a.yaml", 3));
        let response = answers.answer(found).unwrap().unwrap();
        assert_eq!(response.text.as_deref(), Some("two"));
        assert!(answers.case_of(b"{ }\n").is_none());
    }

    #[test]
    fn without_a_journal_nothing_is_known() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Answers::read(dir.path()).unwrap().case_of(b"{}\n").is_none());
    }
}
