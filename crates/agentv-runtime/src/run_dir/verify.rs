//! Whether a run folder is as its run left it: every file by its hash, the journal line by line by its chain, and the records
//! by what the journal knows of them.

use super::RESULTS;
use super::chain::{ChainHash, TAIL};
use super::files::{BEGUN, REPORT, RunFiles};
use super::index::RecordedLine;
use super::journal::LineHash;
use super::lock::is_clean_lock;
use super::manifest::{all_files, read};
use super::signature::PublicKey;
use crate::file_input;
use crate::hash::sha256_of_file;
use agentv_wire::{Difference, FileSeal, JournalSeal, RunManifest, SignatureState, Verification};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

const MANIFEST: &str = "manifest.json";
const SIGNATURE: &str = "manifest.sig";
const JOURNAL: &str = "journal.jsonl";

/// More differences of one file are only counted.
const LISTED: usize = 10;

/// Checks a run folder, with the key that should have signed it if there is one.
pub fn verify(files: &RunFiles, key: Option<&PublicKey>) -> io::Result<Verification> {
    let text = optional(&files.manifest())?;
    let manifest = text.as_deref().and_then(read);
    let mut found = Findings::default();
    if text.is_some() && manifest.is_none() {
        found.add(MANIFEST, None, "it was changed: its own hash does not match");
    }
    let journal = JournalCheck::read(&files.journal(), manifest.as_ref().map(|all| &all.journal))?;
    found.take(JOURNAL, journal.problems);
    let info = files.info().ok();
    let has_ended = info.as_ref().is_some_and(|info| info.ended.is_some());
    if text.is_none() && has_ended {
        let problem = "it is missing, though the run has ended: it was removed, or AgentV was killed while it wrote it";
        found.add(MANIFEST, None, problem);
    }
    let results = ResultsCheck {
        seal: manifest.as_ref().and_then(|manifest| manifest.files.get(RESULTS)),
        recorded: &journal.recorded,
        // Records that a resume has replaced or left out are in the journal, too.
        is_first_session: info.as_ref().is_some_and(|info| info.resumed.is_empty()),
    };
    let records = results.check(&files.results(), &mut found)?;
    if let Some(manifest) = &manifest {
        check_files(files, manifest, &mut found)?;
    }
    let signature = check_signature(files, text.as_deref(), manifest.as_ref(), key, &mut found)?;
    let unchecked = all_files(&files.dir)?.into_iter().filter(|name| name == REPORT);
    Ok(Verification {
        run: files.dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        folder: files.dir.display().to_string(),
        whole: found.all.is_empty(),
        finished: text.is_some() || has_ended,
        journal_lines: journal.lines,
        records,
        signature,
        signed_by: manifest.and_then(|manifest| manifest.signed_by),
        differences: found.all,
        unchecked: unchecked.collect(),
    })
}

/// Whether a folder was made by a version that writes chains, so that there is something to check.
pub fn can_be_verified(files: &RunFiles) -> bool {
    let has_chain = || {
        let file = file_input::open(&files.journal()).ok()?;
        let mut lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
        lines
            .any(|mut line| {
                line.push(b'\n');
                ChainHash::split(&line).is_some()
            })
            .then_some(())
    };
    files.manifest().exists() || has_chain().is_some()
}

#[derive(Default)]
struct Findings {
    all: Vec<Difference>,
}

impl Findings {
    fn add(&mut self, file: &str, line: Option<u64>, problem: impl Into<String>) {
        self.all.push(Difference { file: file.to_owned(), line, problem: problem.into() });
    }

    fn take(&mut self, file: &str, problems: Vec<(Option<u64>, String)>) {
        let more = problems.len().saturating_sub(LISTED);
        for (line, problem) in problems.into_iter().take(LISTED) {
            self.add(file, line, problem);
        }
        if more > 0 {
            self.add(file, None, format!("{more} more lines differ"));
        }
    }
}

fn optional(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match file_input::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The journal, line by line.
#[derive(Default)]
struct JournalCheck {
    lines: u64,
    bytes: u64,
    head: ChainHash,
    /// The hash that the last line should have, if it has another.
    expected: Option<ChainHash>,
    is_chained: bool,
    problems: Vec<(Option<u64>, String)>,
    /// In their order.
    recorded: Vec<RecordedLine>,
}

impl JournalCheck {
    fn read(path: &Path, seal: Option<&JournalSeal>) -> io::Result<Self> {
        let mut check = Self::default();
        let file = match file_input::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                check.problems.push((None, "it was removed".to_owned()));
                return Ok(check);
            }
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let (mut line, mut before) = (Vec::new(), Vec::new());
        let mut is_torn = false;
        while reader.read_until(b'\n', &mut line)? > 0 {
            is_torn = !line.ends_with(b"\n");
            if !is_torn {
                check.take(&line, &mut before);
            }
            line.clear();
        }
        if let Some(seal) = seal {
            check.compare(seal, is_torn);
        }
        Ok(check)
    }

    fn take(&mut self, line: &[u8], before: &mut Vec<u8>) {
        self.lines += 1;
        self.bytes += line.len() as u64;
        self.recorded.extend(RecordedLine::of(line));
        let number = Some(self.lines);
        let Some((body, stored)) = ChainHash::split(line) else {
            if self.is_chained || line.starts_with(BEGUN.as_bytes()) {
                self.problems.push((number, "it has no hash: it was changed or added".to_owned()));
                self.is_chained = true;
                // If only the end of the line was changed, the next line is as it was.
                let body = line.len().checked_sub(TAIL).map(|end| &line[..end]);
                self.expected = body.map(|body| self.head.next(body));
            } else {
                // Lines of an earlier version; the first hash is over all of them.
                before.extend_from_slice(line);
            }
            return;
        };
        if !std::mem::replace(&mut self.is_chained, true) && !before.is_empty() {
            self.head = ChainHash::default().next(before);
        }
        let expected = self.head.next(body);
        // If only the hash of the line before was changed, this line is as it was.
        let is_whole =
            expected == stored || self.expected.is_some_and(|before| before.next(body) == stored);
        if !is_whole {
            let problem =
                "it was changed, or a line before it was changed, removed, added or moved";
            self.problems.push((number, problem.to_owned()));
        }
        self.expected = (expected != stored).then_some(expected);
        self.head = stored;
    }

    fn compare(&mut self, seal: &JournalSeal, is_torn: bool) {
        if !self.problems.is_empty() {
            return;
        }
        let (there, written) = (self.lines, seal.lines);
        if there < written {
            let problem = format!("{written} lines were written, and it ends after {there}");
            self.problems.push((Some(there + 1), problem));
        } else if there > written {
            self.problems.push((Some(written + 1), "it was added after the run ended".to_owned()));
        } else if is_torn {
            self.problems.push((Some(there + 1), "it was added after the run ended".to_owned()));
        } else if self.head.to_string() != seal.chain || self.bytes != seal.bytes {
            self.problems
                .push((None, "it was written anew: its last hash is another one".to_owned()));
        }
    }
}

/// The records, as far as the manifest and the journal know them.
struct ResultsCheck<'a> {
    seal: Option<&'a FileSeal>,
    recorded: &'a [RecordedLine],
    is_first_session: bool,
}

impl ResultsCheck<'_> {
    /// Says what differs, and how many records there are.
    fn check(&self, path: &Path, found: &mut Findings) -> io::Result<u64> {
        if let Some(seal) = self.seal
            && path.is_file()
            && hex::encode(sha256_of_file(path)?) == seal.sha256
        {
            return Ok(seal.lines.unwrap_or_default());
        }
        if !path.is_file() {
            if self.seal.is_some() || !self.recorded.is_empty() {
                found.add(RESULTS, None, "it was removed");
            }
            return Ok(0);
        }
        let places: HashMap<&str, usize> =
            self.recorded.iter().enumerate().map(|(at, line)| (line.hash.as_str(), at)).collect();
        let mut seen = HashSet::new();
        let (mut problems, mut last, mut count) = (Vec::new(), None, 0);
        let mut reader = BufReader::with_capacity(64 * 1024, file_input::open(path)?);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            // A run that was killed may have cut its last line.
            let is_torn = !line.ends_with(b"\n");
            if is_torn && self.seal.is_none() {
                break;
            }
            count += 1;
            let place = places.get(LineHash::of(&line).to_string().as_str()).copied();
            let problem = match place {
                None if is_torn => Some("it was cut off or added"),
                None => Some("it was changed or added: it is not in the journal"),
                Some(at) if !seen.insert(at) => Some("it is there twice"),
                Some(at) if last.is_some_and(|last| at < last) => {
                    Some("it is not where it was written")
                }
                Some(at) => {
                    if self.is_gap(last, at) {
                        let missing = &self.recorded[at - 1].work;
                        problems.push((
                            Some(count),
                            format!("the record of `{missing}` before it was removed"),
                        ));
                    }
                    last = Some(at);
                    None
                }
            };
            problems.extend(problem.map(|problem| (Some(count), problem.to_owned())));
            line.clear();
        }
        if let Some(seal) = self.seal.filter(|_| problems.is_empty()) {
            problems.push(of_seal(seal, count));
        }
        found.take(RESULTS, problems);
        Ok(count)
    }

    /// In the first session of a run, records are in the order of the journal, and all of them are there.
    fn is_gap(&self, last: Option<usize>, at: usize) -> bool {
        self.is_first_session && last.map_or(at > 0, |last| at > last + 1)
    }
}

/// What can be said of records that are all known, though they are not what was written.
fn of_seal(seal: &FileSeal, count: u64) -> (Option<u64>, String) {
    match seal.lines {
        Some(lines) if count < lines => {
            (Some(count + 1), format!("{lines} records were written, and it has {count}"))
        }
        _ => (None, "it differs from the manifest".to_owned()),
    }
}

/// Everything but the journal and the results.
fn check_files(files: &RunFiles, manifest: &RunManifest, found: &mut Findings) -> io::Result<()> {
    let names = all_files(&files.dir)?;
    for (name, seal) in manifest.files.iter().filter(|(name, _)| *name != RESULTS) {
        let path = files.dir.join(name);
        if !names.contains(name) {
            found.add(name, None, "it was removed");
        } else if !fs::symlink_metadata(&path)?.is_file() {
            found.add(name, None, "it is no longer a regular file");
        } else if hex::encode(sha256_of_file(&path)?) != seal.sha256 {
            found.add(name, None, "it was changed");
        }
    }
    for name in names {
        let is_known =
            manifest.files.contains_key(&name) || name == JOURNAL || files.is_apart(&name);
        if !is_known || (name == SIGNATURE && manifest.signed_by.is_none()) {
            found.add(&name, None, "it was added: the manifest does not name it");
        }
    }
    if !is_clean_lock(&files.lock()) {
        found.add("lock", None, "it was changed");
    }
    Ok(())
}

fn check_signature(
    files: &RunFiles,
    text: Option<&[u8]>,
    manifest: Option<&RunManifest>,
    key: Option<&PublicKey>,
    found: &mut Findings,
) -> io::Result<SignatureState> {
    let signature = optional(&files.signature())?;
    let signed_by = manifest.and_then(|manifest| manifest.signed_by.as_deref());
    let (Some(text), Some(signed_by)) = (text, signed_by) else {
        if key.is_some() {
            found.add(SIGNATURE, None, "the run is not signed");
        }
        let state = if key.is_some() { SignatureState::Invalid } else { SignatureState::None };
        return Ok(state);
    };
    let Some(signature) = signature else {
        found.add(SIGNATURE, None, "it was removed: the manifest says that the run is signed");
        return Ok(SignatureState::Invalid);
    };
    if key.is_some_and(|key| key.digits() != signed_by) {
        found.add(SIGNATURE, None, format!("it is signed with another key: {signed_by}"));
        return Ok(SignatureState::Invalid);
    }
    let is_valid = PublicKey::of_hex(signed_by).is_some_and(|key| key.is_of(text, &signature));
    if !is_valid {
        found.add(SIGNATURE, None, "it is not the signature of this manifest");
        return Ok(SignatureState::Invalid);
    }
    Ok(if key.is_some() { SignatureState::Valid } else { SignatureState::Unchecked })
}
