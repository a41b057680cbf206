//! The answers of an earlier run, to be graded again. Only where they are is kept in memory.

use super::{Reader, ResultsError};
use crate::run_dir::{Index, KeptAnswer, LinePlace, PastAnswer, RunFiles, asked};
use agentv_core::answered::AnswerNumbers;
use agentv_core::evaluator::AnswerDetail;
use agentv_core::outcome::outcome_of_result;
use agentv_core::provider::Reported;
use agentv_core::{
    Answered, EvalCase, EvalId, ProviderError, ProviderInfo, Response, SuiteId, TargetName, Trial,
    Trials, WorkId, prompt, record,
};
use agentv_wire::{Outcome, ProviderRequest, RecordSummary, ResultRecord, Skipped};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The answers of a run, by case.
#[derive(Debug)]
pub struct Recorded {
    files: Arc<Files>,
    /// By id, target and trial.
    cases: HashMap<(String, String, u32), Vec<Entry>>,
    /// The last trial of each id on each target, where there are several.
    last_trials: HashMap<(String, String), u32>,
    /// Whose answers there are, in the order of their first records.
    pub targets: Vec<String>,
    /// The line of a last record that was cut off.
    pub torn: Option<usize>,
}

#[derive(Debug)]
struct Files {
    results: PathBuf,
    /// `None` for results without a run folder.
    journal: Option<PathBuf>,
}

/// One answer. It has a record, or is in the journal, or both.
#[derive(Debug, Clone)]
struct Entry {
    /// Of which suite it is, if the journal or the record says so.
    suite: Option<SuiteId>,
    dataset: Option<String>,
    /// What was asked, in short.
    asked: Option<String>,
    record: Option<Place>,
    answer: Option<PastAnswer>,
    /// Whether the record tells of tools.
    has_tools: bool,
    /// Whether the run kept no answer because it was free and told no steps: the record has all of it.
    is_whole: bool,
    is_claimed: bool,
}

/// A record of the results.
#[derive(Debug, Clone)]
enum Place {
    At(LinePlace),
    /// One that cannot be read alone.
    Held(Arc<str>),
}

/// What a case finds.
#[derive(Debug)]
pub enum Recall {
    Found(Box<RecordedAnswer>),
    /// There is an answer to another question.
    OtherQuestion,
    Nothing,
}

/// An answer that can be read when it is wanted.
#[derive(Debug, Clone)]
pub struct RecordedAnswer {
    files: Arc<Files>,
    entry: Entry,
}

impl Recorded {
    /// Reads what a run has left in its folder. `name` is how messages call the results.
    pub fn of_run(folder: &RunFiles, name: &str) -> Result<Self, ResultsError> {
        let journal = folder.journal();
        let unreadable =
            |source| ResultsError::Unreadable { path: journal.display().to_string(), source };
        let index = Index::read(&journal).map_err(unreadable)?;
        let files = Files { results: folder.results(), journal: Some(journal) };
        let spec = folder.known().and_then(|info| info.spec);
        let was_replayed = spec.is_some_and(|spec| spec.replay.is_some());
        Self::read(files, index, was_replayed, name)
    }

    /// Reads bare results, in which there are answers but no messages.
    pub fn of_results(path: &Path, name: &str) -> Result<Self, ResultsError> {
        let files = Files { results: path.to_owned(), journal: None };
        Self::read(files, Index::default(), false, name)
    }

    fn read(
        files: Files,
        index: Index,
        was_replayed: bool,
        name: &str,
    ) -> Result<Self, ResultsError> {
        let mut reader = Reader::open(&files.results, name)?;
        let mut recorded = Self {
            files: Arc::new(files),
            cases: HashMap::new(),
            last_trials: HashMap::new(),
            targets: Vec::new(),
            torn: None,
        };
        let mut graded = HashSet::new();
        while let Some(record) = reader.read::<RecordSummary<Skipped>>()? {
            let work = index.work_of(format!("{}\n", reader.json()).as_bytes());
            let answer = work.and_then(|work| index.answer_to(work));
            graded.extend(work.map(|work| work.id.clone()));
            let place = reader.place().map_or_else(|| Place::Held(reader.json().into()), Place::At);
            let has_tools = record.trace.is_some_and(|trace| trace.event_count > 0);
            let is_free = record.simulated || was_replayed;
            let entry = Entry {
                suite: work.map(|work| work.id.suite.clone()).or(record.suite),
                dataset: Some(record.dataset),
                asked: work.map(|work| work.revision.asked.clone()),
                record: Some(place),
                answer: answer.cloned(),
                has_tools,
                is_whole: work.is_some() && is_free && !has_tools,
                is_claimed: false,
            };
            recorded.add(record.eval_id, record.target, record.trial.unwrap_or(0), entry);
        }
        recorded.torn = reader.torn();
        recorded.add_ungraded(index, &graded);
        Ok(recorded)
    }

    /// Answers of a run that ended before they were graded.
    fn add_ungraded(&mut self, index: Index, graded: &HashSet<WorkId>) {
        let open = index.answers.into_iter().filter(|(work, _)| !graded.contains(work));
        let mut open: Vec<(WorkId, PastAnswer)> =
            open.filter_map(|(work, mut answers)| Some((work, answers.pop()?))).collect();
        open.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (work, answer) in open {
            let entry = Entry {
                suite: Some(work.suite),
                dataset: None,
                asked: Some(answer.revision.asked.clone()),
                record: None,
                answer: Some(answer),
                has_tools: false,
                is_whole: false,
                is_claimed: false,
            };
            let (eval_id, target) = (work.eval_id.to_string(), work.target.to_string());
            self.add(eval_id, target, work.trial, entry);
        }
    }

    fn add(&mut self, eval_id: String, target: String, trial: u32, entry: Entry) {
        if !self.targets.contains(&target) {
            self.targets.push(target.clone());
        }
        if trial > 0 {
            let last = self.last_trials.entry((eval_id.clone(), target.clone())).or_default();
            *last = trial.max(*last);
        }
        self.cases.entry((eval_id, target, trial)).or_default().push(entry);
    }

    /// How often an id was asked on a target.
    pub fn trials(&self, id: &EvalId, target: &TargetName) -> Trials {
        let key = (id.as_str().to_owned(), target.as_str().to_owned());
        let last = self.last_trials.get(&key).copied().unwrap_or(0);
        Trials::new(last.saturating_add(1)).unwrap_or(Trials::ONE)
    }

    /// Finds the answer to a trial of a case, once. Of several it is the one of the same suite.
    pub fn claim(
        &mut self,
        case: &EvalCase,
        (target, provider): (&str, ProviderInfo),
        trial: Trial,
    ) -> io::Result<Recall> {
        let key = (case.id.as_str().to_owned(), target.to_owned(), trial.number());
        let Some(entries) = self.cases.get_mut(&key) else { return Ok(Recall::Nothing) };
        let mut best: Option<((bool, bool), usize)> = None;
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| !entry.is_claimed) {
            if !entry.asks_the_same(case, provider, &self.files)? {
                continue;
            }
            let nearness = (
                entry.suite.as_ref() == Some(&case.suite.id),
                entry.dataset.as_deref() == Some(case.suite.dataset.as_str()),
            );
            if best.is_none_or(|(known, _)| nearness > known) {
                best = Some((nearness, at));
            }
        }
        let Some((_, at)) = best else { return Ok(Recall::OtherQuestion) };
        entries[at].is_claimed = true;
        Ok(Recall::Found(Box::new(RecordedAnswer {
            files: Arc::clone(&self.files),
            entry: entries[at].clone(),
        })))
    }
}

impl Entry {
    /// Whether it is an answer to what the case asks now.
    fn asks_the_same(
        &self,
        case: &EvalCase,
        provider: ProviderInfo,
        files: &Files,
    ) -> io::Result<bool> {
        if let Some(then) = &self.asked {
            return Ok(*then == asked(case).to_string());
        }
        let Some(place) = &self.record else { return Ok(false) };
        let record = place.read(&files.results)?;
        let then = record.lm_provider_request.or(record.agent_provider_request).unwrap_or_default();
        let request = prompt::build(case, provider.prompt_mode);
        let now = record::recorded_request(request, provider.recorded_as);
        let words = |asked: ProviderRequest| (asked.question, asked.chat_prompt, asked.guidelines);
        Ok(words(*then) == words(now))
    }
}

impl Place {
    fn read(&self, results: &Path) -> io::Result<ResultRecord> {
        match self {
            Self::Held(json) => Ok(serde_json::from_str(json)?),
            Self::At(place) => {
                let line = place.read(results)?;
                let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
                Ok(serde_json::from_slice(line)?)
            }
        }
    }
}

impl RecordedAnswer {
    /// How closely it can be looked at: a record has no messages, and cannot tell whether a trace was empty or unknown.
    pub fn detail(&self) -> AnswerDetail {
        match &self.entry {
            Entry { answer: Some(_), .. } | Entry { is_whole: true, .. } => AnswerDetail::Trace,
            Entry { has_tools: true, .. } => AnswerDetail::Answer,
            Entry { .. } => AnswerDetail::Messages,
        }
    }

    /// Whether it was worked out in a directory of its own.
    pub fn had_workspace(&self) -> bool {
        self.entry.answer.as_ref().is_some_and(|answer| answer.workspace)
    }

    /// The answer as it was then; an error of then is one now.
    pub fn read(&self) -> io::Result<Answered> {
        let Entry { record, answer, .. } = &self.entry;
        let record = record.as_ref().map(|place| place.read(&self.files.results)).transpose()?;
        if let Some(error) = record.as_ref().and_then(failure) {
            let file_changes = record.and_then(|record| record.file_changes);
            return Ok(Answered { file_changes, ..Answered::failed(error) });
        }
        let kept = match (answer, &self.files.journal) {
            (Some(answer), Some(journal)) => answer.read(journal)?,
            _ => None,
        };
        let seen = record.as_ref().map(|record| {
            let workspace = record.workspace.as_ref().map(PathBuf::from);
            (record.file_changes.clone(), workspace.filter(|dir| dir.is_dir()))
        });
        let (file_changes, workspace) = seen.unwrap_or_default();
        let answered = match (kept, record) {
            (Some(KeptAnswer { response, wall, attempt }), _) => {
                Answered::whole(Ok(response), wall, attempt)
            }
            (None, Some(record)) => of_record(record),
            (None, None) => {
                return Err(io::Error::other("it is no longer in the journal"));
            }
        };
        Ok(Answered { detail: self.detail(), file_changes, workspace, ..answered })
    }
}

/// The answer as far as a record has it.
fn of_record(mut record: ResultRecord) -> Answered {
    let numbers = record.trace_summary.take().map(|summary| {
        let metrics = record.execution_metrics.clone();
        Box::new(AnswerNumbers { summary, metrics })
    });
    Answered { numbers, ..Answered::whole(Ok(response(record)), Duration::ZERO, 0) }
}

/// Why there was no answer. A record that was graded has a summary, whatever else went wrong.
fn failure(record: &ResultRecord) -> Option<ProviderError> {
    let message = record.error.as_ref().filter(|_| record.trace_summary.is_none())?;
    let mut error = ProviderError::failed(message);
    error.metadata.clone_from(&record.provider_metadata);
    Some(error)
}

/// The answer as far as a record has it.
fn response(record: ResultRecord) -> Response {
    let metrics = &record.execution_metrics;
    let reported = Reported {
        token_usage: metrics.token_usage,
        cost_usd: metrics.cost_usd,
        duration_ms: metrics.duration_ms,
    };
    // A grading that failed is not an error of the answer.
    let is_of_target = outcome_of_result(&record) == Outcome::Error;
    let error = record.error.filter(|_| is_of_target);
    Response {
        reported,
        metadata: record.provider_metadata,
        error,
        ..Response::text(record.candidate_answer)
    }
}
