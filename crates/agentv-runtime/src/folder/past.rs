//! What a run that ended early, or a complete one, has left: records and answers by their cases.

use super::RunFolder;
use super::journal::{Answered, Case, Entry, KeptAnswer, Sum, Work};
use agentv_core::event::Place;
use agentv_wire::ResultRecord;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The records and answers of earlier, to be claimed by the cases of now.
#[derive(Debug)]
pub struct Past {
    root: PathBuf,
    journal: PathBuf,
    records: Vec<PastRecord>,
    /// By case, the places of records that nobody has claimed.
    unclaimed: HashMap<Slot, Vec<usize>>,
    answers: HashMap<Slot, Vec<PastAnswer>>,
    /// Cases of now without a record.
    open: HashSet<Slot>,
    /// Whether the results end in the middle of a line.
    torn: bool,
    /// Answers that nobody can grade any more.
    pub lost_workspaces: usize,
}

/// A whole line of the results.
#[derive(Debug)]
struct PastRecord {
    eval_id: String,
    slot: Option<Slot>,
    fingerprint: String,
    ordinal: usize,
    is_error: bool,
    bytes: u64,
    fate: Fate,
}

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is the record of a case of now.
    Kept(Place),
    /// It is an error, and its case is tried again.
    Retried,
    /// No case of now is the one that it is of.
    Unclaimed,
}

/// What a case of now finds.
#[derive(Debug)]
pub enum Claim {
    Done,
    /// It was answered, but not graded.
    Answered(Box<KeptAnswer>),
    Open,
}

/// A case by what it is called, wherever in the file it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slot {
    file: String,
    eval_id: String,
    target: String,
    trial: u32,
}

#[derive(Debug)]
struct PastAnswer {
    fingerprint: String,
    ordinal: usize,
    workspace: bool,
    /// Where in the journal.
    at: u64,
    bytes: usize,
}

/// What was done to the results before the run goes on.
#[derive(Debug, Default)]
pub struct Rewritten {
    pub kept: usize,
    /// Cases that are not what they were.
    pub changed: Vec<String>,
    /// Cases that are no more.
    pub gone: Vec<String>,
    pub retried: usize,
    /// Whether a line was cut off in the middle.
    pub torn: bool,
    /// Lines that the journal does not know.
    pub unknown: usize,
}

impl Case<'_> {
    fn slot(&self) -> Slot {
        Slot {
            file: self.file.clone().into_owned(),
            eval_id: self.eval_id.clone().into_owned(),
            target: self.target.clone().into_owned(),
            trial: self.trial,
        }
    }
}

/// Of a record, only whether there is an error.
#[derive(Deserialize)]
struct Glance {
    eval_id: String,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl Past {
    /// Reads what a run has left. Files are named from `root`.
    pub fn read(folder: &RunFolder, root: &Path) -> io::Result<Self> {
        let mut past = Self {
            root: root.to_owned(),
            journal: folder.journal(),
            records: Vec::new(),
            unclaimed: HashMap::new(),
            answers: HashMap::new(),
            open: HashSet::new(),
            torn: false,
            lost_workspaces: 0,
        };
        let recorded = past.read_journal()?;
        past.read_results(&folder.results(), &recorded)?;
        Ok(past)
    }

    fn read_journal(&mut self) -> io::Result<HashMap<String, (Slot, String, usize)>> {
        let mut recorded = HashMap::new();
        let mut at = 0;
        lines(&self.journal.clone(), |line| {
            let (start, bytes) = (at, line.len());
            at += bytes as u64;
            // A line that cannot be read is a case that is asked again.
            match serde_json::from_slice(line) {
                Ok(Entry::Answered(Answered { case, workspace, .. })) => {
                    let answer = PastAnswer {
                        fingerprint: case.fingerprint.clone().into_owned(),
                        ordinal: case.ordinal,
                        workspace,
                        at: start,
                        bytes,
                    };
                    self.answers.entry(case.slot()).or_default().push(answer);
                }
                Ok(Entry::Recorded(entry)) => {
                    let case = &entry.case;
                    let known = (case.slot(), case.fingerprint.clone().into_owned(), case.ordinal);
                    recorded.insert(entry.sum.into_owned(), known);
                }
                Err(_) => {}
            }
            Ok(())
        })?;
        Ok(recorded)
    }

    fn read_results(
        &mut self,
        path: &Path,
        recorded: &HashMap<String, (Slot, String, usize)>,
    ) -> io::Result<()> {
        let (records, unclaimed) = (&mut self.records, &mut self.unclaimed);
        self.torn = lines(path, |line| {
            let known = recorded.get(&Sum::of(line).to_string());
            let glance = serde_json::from_slice::<Glance>(line).ok();
            let (slot, fingerprint, ordinal) = known
                .map_or_else(Default::default, |(slot, fingerprint, ordinal)| {
                    (Some(slot.clone()), fingerprint.clone(), *ordinal)
                });
            if let Some(slot) = &slot {
                unclaimed.entry(slot.clone()).or_default().push(records.len());
            }
            records.push(PastRecord {
                is_error: glance.as_ref().is_some_and(|glance| glance.error.is_some()),
                eval_id: glance.map(|glance| glance.eval_id).unwrap_or_default(),
                slot,
                fingerprint,
                ordinal,
                bytes: line.len() as u64,
                fate: Fate::Unclaimed,
            });
            Ok(())
        })?;
        Ok(())
    }

    /// How many whole records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What there is for a trial of a case. Its record, if that is good, belongs to `place`; with `retry`, errors are not.
    pub fn claim(&mut self, work: Work<'_>, place: Place, retry: bool) -> io::Result<Claim> {
        let root = self.root.clone();
        let case = Case::new(work, &root);
        let slot = case.slot();
        let answers = self.take_answers(&slot, &case);
        if let Some(record) = self.take_record(&slot, &case) {
            if !(retry && record.is_error) {
                record.fate = Fate::Kept(place);
                return Ok(Claim::Done);
            }
            record.fate = Fate::Retried;
        }
        self.open.insert(slot);
        let Some(last) = answers.last() else { return Ok(Claim::Open) };
        if last.workspace {
            self.lost_workspaces += 1;
            return Ok(Claim::Open);
        }
        // An answer with an error in it is what a retry is to replace.
        let answer = self.answer(last)?.filter(|answer| answer.response.error.is_none() || !retry);
        Ok(answer.map_or(Claim::Open, |answer| Claim::Answered(Box::new(answer))))
    }

    /// The record of this very case; of twins, the one that stood at the same place, if there is one.
    fn take_record(&mut self, slot: &Slot, case: &Case<'_>) -> Option<&mut PastRecord> {
        let places = self.unclaimed.get_mut(slot)?;
        let records = &self.records;
        let same = |place: &usize| records[*place].fingerprint == case.fingerprint;
        let at = places
            .iter()
            .position(|place| same(place) && records[*place].ordinal == case.ordinal)
            .or_else(|| places.iter().position(same))?;
        let place = places.remove(at);
        self.records.get_mut(place)
    }

    fn take_answers(&mut self, slot: &Slot, case: &Case<'_>) -> Vec<PastAnswer> {
        let Some(answers) = self.answers.get_mut(slot) else { return Vec::new() };
        let same = |answer: &PastAnswer| answer.fingerprint == case.fingerprint;
        let here = answers.iter().any(|answer| same(answer) && answer.ordinal == case.ordinal);
        let ordinal = if here {
            case.ordinal
        } else {
            let Some(moved) = answers.iter().rfind(|answer| same(answer)) else {
                return Vec::new();
            };
            moved.ordinal
        };
        answers.extract_if(.., |answer| same(answer) && answer.ordinal == ordinal).collect()
    }

    /// Reads an answer from the journal; `None` if it is none any more.
    fn answer(&self, place: &PastAnswer) -> io::Result<Option<KeptAnswer>> {
        let mut file = File::open(&self.journal)?;
        file.seek(SeekFrom::Start(place.at))?;
        let mut line = vec![0; place.bytes];
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

    /// Leaves in the results what was claimed, in its old order, and shows each record that stays. What is taken out goes
    /// to another file, as somebody has paid for it. The results are whole at every moment: the old ones or the new ones.
    pub fn settle(
        self,
        folder: &RunFolder,
        mut stays: impl FnMut(ResultRecord, &Place),
    ) -> io::Result<Rewritten> {
        let mut done = Rewritten { torn: self.torn, ..Rewritten::default() };
        let path = folder.results();
        let all_stay = self.records.iter().all(|record| matches!(record.fate, Fate::Kept(_)));
        let draft = folder.dir.join("results.jsonl.new");
        let mut new = if all_stay { None } else { Some(BufWriter::new(File::create(&draft)?)) };
        let mut removed = None;
        let mut whole = 0;
        let mut records = self.records.iter();
        lines(&path, |line| {
            let Some(record) = records.next() else { return Ok(()) };
            if let Fate::Kept(place) = &record.fate {
                done.kept += 1;
                whole += record.bytes;
                stays(serde_json::from_slice(line)?, place);
                return new.as_mut().map_or(Ok(()), |new| new.write_all(line));
            }
            done.count(record, &self.open);
            if removed.is_none() {
                removed = Some(File::options().append(true).create(true).open(folder.removed())?);
            }
            removed.as_mut().map_or(Ok(()), |removed| removed.write_all(line))
        })?;
        if let Some(removed) = removed {
            removed.sync_data()?;
        }
        match new {
            None if self.torn => File::options().write(true).open(&path)?.set_len(whole)?,
            None => {}
            Some(new) => {
                new.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
                std::fs::rename(draft, path)?;
            }
        }
        Ok(done)
    }
}

impl Rewritten {
    fn count(&mut self, record: &PastRecord, open: &HashSet<Slot>) {
        match &record.slot {
            None => self.unknown += 1,
            Some(_) if record.fate == Fate::Retried => self.retried += 1,
            Some(slot) if open.contains(slot) => self.changed.push(record.eval_id.clone()),
            Some(_) => self.gone.push(record.eval_id.clone()),
        }
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
