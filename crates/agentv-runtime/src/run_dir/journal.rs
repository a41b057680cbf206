//! Answers before they are graded, and which piece of work each record is of. Lines are only ever added.
//!
//! An answer is in the journal before it is graded, and a record's line before the record is in the results. So whenever
//! the run is killed, every record in the results can be identified, and no answer that was paid for is asked for again.
//!
//! Each line is an object with one of the keys of [`Entry`]. Readers ignore keys they do not know, so that a later version
//! can add to a line (a hash of the line before, the turn of a conversation) without a new format.

use super::asked::asked;
use super::chain::ChainHash;
use crate::hash;
use crate::written_file::WrittenFile;
use agentv_core::{Answered, EvalCase, Response, WorkId};
use agentv_wire::{JournalSeal, RunInfo, RunSpend, number};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much room is kept for lines that are written together.
const KEPT_ROOM: usize = 256 * 1024;

/// The journal of a run under way.
#[derive(Debug)]
pub struct Journal {
    /// A lock and not a message: a worker must know that its answer is written before it goes on, and a write takes
    /// microseconds.
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    path: PathBuf,
    file: Arc<File>,
    /// How much of the file is whole lines, and how many.
    length: u64,
    lines: u64,
    /// The hash of the last line.
    head: ChainHash,
    /// Lines with their hashes, before they are written; kept for its room.
    chained: Vec<u8>,
    is_synced: bool,
    /// Whether its content may have cost money.
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

/// A line of the journal as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Entry<'e> {
    Begun(&'e RunInfo),
    Answered(AnswerEntry<'e>),
    Recorded(RecordedEntry),
    /// What a call used, even if its case has no record.
    Spent(&'e RunSpend),
}

#[derive(Debug, Serialize)]
struct AnswerEntry<'e> {
    work: &'e WorkId,
    revision: CaseRevision,
    attempt: u32,
    wall_ms: f64,
    /// The directory that it was worked out in is gone once the run has ended, so it cannot be graded later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    workspace: bool,
    response: &'e Response,
}

/// Of which work a record is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedEntry {
    pub work: WorkId,
    pub revision: CaseRevision,
    /// The hash of the record's line in the results.
    pub line: String,
}

/// What a case was when it was run: two runs of the same revision can share answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRevision {
    /// A hash of all that makes the case what it is.
    pub fingerprint: String,
    /// A hash of what it asks, apart from how it is graded.
    pub asked: String,
}

impl CaseRevision {
    pub fn of(case: &EvalCase) -> Self {
        Self { fingerprint: hash::digits(&case.fingerprint.0), asked: asked(case).to_string() }
    }
}

impl Journal {
    /// Continues after the whole lines of a journal, or starts one.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::options().append(true).read(true).create(true).open(path)?;
        let length = whole_lines(&mut file)?;
        file.set_len(length)?;
        let (lines, head) = last_hash(&file, length)?;
        let written = Written {
            path: path.to_owned(),
            file: Arc::new(file),
            length,
            lines,
            head,
            chained: Vec::new(),
            is_synced: true,
            has_answers: length > 0,
            failure: None,
        };
        Ok(Self { written: Mutex::new(written) })
    }

    /// Notes how the run was begun, or resumed: `run.json` may be lost.
    pub fn begun(&self, info: &RunInfo) -> io::Result<()> {
        self.enter(&Entry::Begun(info))
    }

    /// What is in it, for the manifest.
    pub(super) fn seal(&self) -> JournalSeal {
        let Written { length, lines, head, .. } = *self.lock();
        JournalSeal { bytes: length, lines, chain: head.to_string() }
    }

    /// Keeps an answer, if there is one; `workspace` says whether it was worked out in one. When this returns, a kill no
    /// longer loses it.
    pub fn answered(
        &self,
        (work, case): (&WorkId, &EvalCase),
        answered: &Answered,
        workspace: bool,
    ) -> io::Result<()> {
        let Ok(response) = &answered.outcome else { return Ok(()) };
        self.enter(&Entry::Answered(AnswerEntry {
            work,
            revision: CaseRevision::of(case),
            attempt: answered.attempt,
            wall_ms: answered.wall.as_secs_f64() * 1000.0,
            workspace,
            response,
        }))?;
        self.lock().has_answers = true;
        Ok(())
    }

    /// Adds to a record the line that says of which work it is, to be appended to the journal before the record is written.
    pub fn recorded(
        &self,
        (work, case): (&WorkId, &EvalCase),
        record: &mut Vec<u8>,
    ) -> io::Result<()> {
        let entry = Entry::Recorded(RecordedEntry {
            work: work.clone(),
            revision: CaseRevision::of(case),
            line: LineHash::of(record).to_string(),
        });
        line(&entry, record)
    }

    /// Notes what a call used. If that fails, the next answer cannot be kept either, and the run stops.
    pub fn spent(&self, spend: &RunSpend) {
        let _ = self.enter(&Entry::Spent(spend));
    }

    fn enter(&self, entry: &Entry<'_>) -> io::Result<()> {
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
        let written = &mut *written;
        written.chained.clear();
        let (mut head, mut start, mut count) = (written.head, 0, 0);
        for end in memchr::memchr_iter(b'\n', lines) {
            head = head.link(&lines[start..=end], &mut written.chained);
            start = end + 1;
            count += 1;
        }
        match (&*written.file).write_all(&written.chained) {
            Ok(()) => {
                written.length += written.chained.len() as u64;
                written.lines += count;
                written.head = head;
                written.is_synced = false;
                // A long answer does not keep its room for the rest of the run.
                written.chained.shrink_to(KEPT_ROOM);
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

    /// The file as it should be.
    pub(crate) fn written(&self) -> WrittenFile {
        let Written { path, file, length, .. } = &*self.lock();
        WrittenFile { path: path.clone(), file: Arc::clone(file), length: *length }
    }

    /// Whether its content may have cost money.
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

fn line(entry: &Entry<'_>, bytes: &mut Vec<u8>) -> io::Result<()> {
    number::to_writer(&mut *bytes, entry)?;
    bytes.push(b'\n');
    Ok(())
}

/// How many lines a journal has, and the hash that the next line continues. The chain of a journal of an earlier version starts
/// with all that is in it.
fn last_hash(file: &File, length: u64) -> io::Result<(u64, ChainHash)> {
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    reader.seek(SeekFrom::Start(0))?;
    let (mut lines, mut line, mut before) = (0, Vec::new(), Vec::new());
    let mut head = None;
    let mut left = reader.take(length);
    while left.read_until(b'\n', &mut line)? > 0 {
        lines += 1;
        match ChainHash::split(&line) {
            Some((_, hash)) => head = Some(hash),
            None if head.is_none() => before.extend_from_slice(&line),
            None => {}
        }
        line.clear();
    }
    let start =
        if before.is_empty() { ChainHash::default() } else { ChainHash::default().next(&before) };
    Ok((lines, head.unwrap_or(start)))
}

/// How many bytes there are up to the end of the last whole line.
pub(super) fn whole_lines(file: &mut File) -> io::Result<u64> {
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

/// What tells a record from all others: its bytes in short. It is written to files, so it may never change.
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
        write!(f, "{:016x}", self.0)
    }
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
    fn a_torn_line_is_cut_when_the_journal_is_continued() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        for (found, length) in [("", 0), ("{}\n", 3), ("{}\n{\"a", 3), ("{\"a", 0)] {
            std::fs::write(&path, found).unwrap();
            drop(Journal::open(&path).unwrap());
            assert_eq!(std::fs::metadata(&path).unwrap().len(), length, "{found:?}");
        }
        let long = format!("{{}}\n{}", "x".repeat(200_000));
        std::fs::write(&path, long).unwrap();
        drop(Journal::open(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 3);
    }
}
