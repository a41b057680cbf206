//! What a journal knows, by case. Answers stay in the file until somebody wants them.

use super::journal::{Answered, Case, Entry, KeptAnswer};
use agentv_wire::RunSpend;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// A journal, read once.
#[derive(Debug, Default)]
pub struct Index {
    /// Of which case each record is, by the checksum of its line.
    pub recorded: HashMap<String, Known>,
    pub answers: HashMap<Slot, Vec<PastAnswer>>,
    /// What the calls used.
    pub spent: RunSpend,
}

/// A case as a journal tells of it.
#[derive(Debug, Clone)]
pub struct Known {
    pub slot: Slot,
    pub fingerprint: String,
    pub ordinal: usize,
    /// What was asked, in short; `None` in journals of before.
    pub asked: Option<String>,
}

/// A case by what it is called, wherever in the file it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot {
    pub file: String,
    pub eval_id: String,
    pub target: String,
    pub trial: u32,
}

/// Where in a journal an answer is.
#[derive(Debug, Clone)]
pub struct PastAnswer {
    pub case: Known,
    /// Whether it was worked out in a directory that is gone.
    pub workspace: bool,
    at: u64,
    bytes: usize,
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

    fn known(&self) -> Known {
        Known {
            slot: self.slot(),
            fingerprint: self.fingerprint.clone().into_owned(),
            ordinal: self.ordinal,
            asked: self.asked.clone().map(std::borrow::Cow::into_owned),
        }
    }
}

impl Index {
    /// Reads a journal. A line that cannot be read is passed over: its case is asked again.
    pub fn read(journal: &Path) -> io::Result<Self> {
        let mut index = Self::default();
        let mut at = 0;
        lines(journal, |line| {
            let (start, bytes) = (at, line.len());
            at += bytes as u64;
            match serde_json::from_slice(line) {
                Ok(Entry::Answered(Answered { case, workspace, .. })) => {
                    let answer = PastAnswer { case: case.known(), workspace, at: start, bytes };
                    index.answers.entry(case.slot()).or_default().push(answer);
                }
                Ok(Entry::Recorded(entry)) => {
                    index.recorded.insert(entry.sum.into_owned(), entry.case.known());
                }
                Ok(Entry::Spent(more)) => index.spent.add(&more),
                Err(_) => {}
            }
            Ok(())
        })?;
        Ok(index)
    }
}

impl PastAnswer {
    /// Reads the answer from its journal; `None` if it is none any more.
    pub fn read(&self, journal: &Path) -> io::Result<Option<KeptAnswer>> {
        let mut file = File::open(journal)?;
        file.seek(SeekFrom::Start(self.at))?;
        let mut line = vec![0; self.bytes];
        file.read_exact(&mut line)?;
        let Ok(Entry::Answered(Answered { attempt, wall_ms, response, .. })) =
            serde_json::from_slice(&line)
        else {
            return Ok(None);
        };
        let wall = Duration::try_from_secs_f64(wall_ms / 1000.0).unwrap_or_default();
        let response = serde_json::from_str(response.get()).ok();
        Ok(response.map(|response| KeptAnswer { response, wall, attempt }))
    }
}

/// Shows every whole line, with its end. Returns whether something was left that is no line. A file that is not there has
/// none.
pub(super) fn lines(
    path: &Path,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        if !line.ends_with(b"\n") {
            return Ok(true);
        }
        each(&line)?;
    }
}
