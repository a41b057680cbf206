//! Answers before they are graded, and which case each record is of. Lines are only ever added.
//!
//! An answer is in the journal before anybody grades it, and a record's line before the record is in the results. So what
//! is in the results can be told, and what was paid for is not asked again, whenever the run is killed.

use super::asked::asked;
use agentv_core::{EvalCase, Request, Response, TargetName, Trial};
use agentv_wire::{RunSpend, number};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The journal of a run under way.
#[derive(Debug)]
pub struct Journal {
    /// Files are named from here.
    root: PathBuf,
    /// A lock and not a message: a worker must know that its answer is written before it goes on, and a write takes
    /// microseconds.
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: Arc<File>,
    /// How much of the file is whole lines.
    length: u64,
    is_synced: bool,
    /// Whether somebody may have paid for what is in it.
    has_answers: bool,
    /// Why nothing more can be written.
    failure: Option<Failure>,
}

#[derive(Debug)]
enum Failure {
    Fresh(io::Error),
    Told,
}

/// An answer that was kept, as good as new.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptAnswer {
    pub response: Response,
    pub wall: Duration,
    /// Which attempt brought it.
    pub attempt: u32,
}

/// A line of the journal, with a response that is written or read, or one that is not looked into.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry<'e, R = &'e RawValue> {
    #[serde(borrow)]
    Answered(Answered<'e, R>),
    #[serde(borrow)]
    Recorded(Recorded<'e>),
    /// What a call used, whatever came of its case.
    Spent(RunSpend),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answered<'e, R> {
    #[serde(borrow)]
    pub case: Case<'e>,
    pub attempt: u32,
    pub wall_ms: f64,
    /// Where it was worked out is gone once the run has ended, so it can be graded by nobody else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub workspace: bool,
    pub response: R,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Recorded<'e> {
    #[serde(borrow)]
    pub case: Case<'e>,
    #[serde(borrow)]
    pub sum: Cow<'e, str>,
}

/// Which case.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Case<'e> {
    #[serde(borrow)]
    pub file: Cow<'e, str>,
    #[serde(borrow)]
    pub eval_id: Cow<'e, str>,
    pub ordinal: usize,
    #[serde(borrow)]
    pub target: Cow<'e, str>,
    /// From 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub trial: u32,
    #[serde(borrow)]
    pub fingerprint: Cow<'e, str>,
    /// What was asked, apart from how it is graded.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Cow<'e, str>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_first(trial: &u32) -> bool {
    *trial == 0
}

/// One trial of a case on a target.
#[derive(Debug, Clone, Copy)]
pub struct Work<'w> {
    pub case: &'w EvalCase,
    pub target: &'w TargetName,
    pub trial: Trial,
}

impl<'e> Case<'e> {
    pub(super) fn new(Work { case, target, trial }: Work<'e>, root: &Path) -> Self {
        let file = &case.suite.file;
        Self {
            file: file.strip_prefix(root).unwrap_or(file).to_string_lossy(),
            eval_id: case.id.as_str().into(),
            ordinal: case.ordinal,
            target: target.as_str().into(),
            trial: trial.number(),
            fingerprint: hex(&case.fingerprint.0).into(),
            asked: Some(asked(case).to_string().into()),
        }
    }
}

impl Journal {
    /// Goes on after the whole lines of a journal, or starts one.
    pub fn open(path: &Path, root: &Path) -> io::Result<Self> {
        let mut file = File::options().append(true).read(true).create(true).open(path)?;
        let length = whole_lines(&mut file)?;
        file.set_len(length)?;
        let written = Written {
            file: Arc::new(file),
            length,
            is_synced: true,
            has_answers: length > 0,
            failure: None,
        };
        Ok(Self { root: root.to_owned(), written: Mutex::new(written) })
    }

    /// Keeps an answer. When this returns, a kill loses it no more.
    pub fn answered(
        &self,
        work: Work<'_>,
        request: &Request,
        answer: (&Response, Duration),
    ) -> io::Result<()> {
        let (response, wall) = answer;
        let entry = Entry::Answered(Answered {
            case: Case::new(work, &self.root),
            attempt: request.attempt,
            wall_ms: wall.as_secs_f64() * 1000.0,
            workspace: request.workspace.is_some(),
            response,
        });
        self.enter(&entry)?;
        self.lock().has_answers = true;
        Ok(())
    }

    /// Adds to a record the line that says of which case it is, to be appended to the journal before the record is written.
    pub fn recorded(&self, work: Work<'_>, record: &mut Vec<u8>) -> io::Result<()> {
        let sum = LineHash::of(record).to_string().into();
        let entry: Entry<'_> = Entry::Recorded(Recorded { case: Case::new(work, &self.root), sum });
        line(&entry, record)
    }

    /// Takes down what a call used. If that fails, the next answer cannot be kept either, and the run stops.
    pub fn spent(&self, spend: &RunSpend) {
        let entry: Entry<'_> = Entry::Spent(*spend);
        let _ = self.enter(&entry);
    }

    fn enter(&self, entry: &Entry<'_, impl Serialize>) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(512);
        line(entry, &mut bytes)?;
        self.append(&bytes)
    }

    /// Adds whole lines, all of them or none. After a failure there is no more to be added.
    pub fn append(&self, lines: &[u8]) -> io::Result<()> {
        let mut written = self.lock();
        if written.failure.is_some() {
            return Err(io::Error::other("the journal could not be written before"));
        }
        match (&*written.file).write_all(lines) {
            Ok(()) => {
                written.length += lines.len() as u64;
                written.is_synced = false;
                Ok(())
            }
            Err(error) => {
                let length = written.length;
                // Half a line would make the next one unreadable, too.
                let _ = written.file.set_len(length);
                let told = io::Error::new(error.kind(), error.to_string());
                written.failure = Some(Failure::Fresh(error));
                Err(told)
            }
        }
    }

    /// Makes it last through a power cut.
    pub fn sync(&self) -> io::Result<()> {
        let file = {
            let mut written = self.lock();
            if std::mem::replace(&mut written.is_synced, true) {
                return Ok(());
            }
            Arc::clone(&written.file)
        };
        // Not under the lock: workers would have to wait for the disk.
        file.sync_data()
    }

    /// Whether somebody may have paid for what is in it.
    pub fn has_answers(&self) -> bool {
        self.lock().has_answers
    }

    /// Why it could not be written, once.
    pub fn take_failure(&self) -> Option<io::Error> {
        let mut written = self.lock();
        match written.failure.replace(Failure::Told) {
            Some(Failure::Fresh(error)) => Some(error),
            Some(Failure::Told) => None,
            None => {
                written.failure = None;
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(entry: &Entry<'_, impl Serialize>, bytes: &mut Vec<u8>) -> io::Result<()> {
    number::to_writer(&mut *bytes, entry)?;
    bytes.push(b'\n');
    Ok(())
}

/// How many bytes there are up to the end of the last whole line.
pub(super) fn whole_lines(file: &mut File) -> io::Result<u64> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    const STEP: u64 = 64 * 1024;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        (&*file).take(end - start).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// What tells a record from all others: its bytes in short. It stands in files, so it may never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineHash(u64);

impl LineHash {
    /// Of a whole line. Eight bytes at a time, as every record goes through here.
    pub fn of(bytes: &[u8]) -> Self {
        let mut state = bytes.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
        let mut mix = |word: [u8; 8]| {
            let mixed = state.rotate_left(29) ^ u64::from_le_bytes(word);
            state = mixed.wrapping_mul(0x9fb2_1c65_1e98_df25);
        };
        let (words, rest) = bytes.as_chunks();
        words.iter().copied().for_each(&mut mix);
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            mix(last);
        }
        state = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self(state ^ (state >> 32))
    }
}

impl std::fmt::Display for LineHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0.to_be_bytes()))
    }
}

/// As `sha256sum` and `git` print hashes.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
    let mut text = vec![0; bytes.len() * 2];
    for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_change_from_version_to_version() {
        assert_eq!(LineHash::of(b"").to_string(), "17fb89ee9dcab42a");
        assert_eq!(LineHash::of(b"a record\n").to_string(), "0dbb92ed73deed52");
        assert_ne!(LineHash::of(b"a record\n"), LineHash::of(b"a recorD\n"));
        assert_ne!(LineHash::of(b"\0"), LineHash::of(b"\0\0"));
    }

    #[test]
    fn a_torn_line_is_cut_when_the_journal_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        for (found, length) in [("", 0), ("{}\n", 3), ("{}\n{\"a", 3), ("{\"a", 0)] {
            std::fs::write(&path, found).unwrap();
            drop(Journal::open(&path, dir.path()).unwrap());
            assert_eq!(std::fs::metadata(&path).unwrap().len(), length, "{found:?}");
        }
        let long = format!("{{}}\n{}", "x".repeat(200_000));
        std::fs::write(&path, long).unwrap();
        drop(Journal::open(&path, dir.path()).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 3);
    }
}
