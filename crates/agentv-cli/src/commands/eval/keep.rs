//! The run folder from the run's first moment to its last.

use super::Refusal;
use super::resume::Earlier;
use crate::settings::{Environment, EvalSettings};
use crate::terminal;
use agentv_runtime::hash::sha256_of_file;
use agentv_runtime::run::{Ended, Outcome, Outputs, Plan, Resumed, Tally, resume};
use agentv_runtime::run_dir::{self, FolderError, Journal, Link, Past, RunFolder};
use agentv_runtime::writers::{ResultFile, WriterKind};
use agentv_wire::{
    Ending, Exit, ResultRecord, RunFile, RunFileKind, RunInfo, RunTarget, RunTargetTotals,
    RunTotals,
};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the records of a run go, and what there is of them already.
pub(super) struct Keeping {
    pub outputs: Outputs,
    pub tally: Tally,
    pub resumed: Option<Resumed>,
    /// `None` without a run folder.
    pub book: Option<Book>,
}

/// The folder, and what is written there when the run ends.
pub(super) struct Book {
    folder: RunFolder,
    info: RunInfo,
}

impl Keeping {
    /// The same for a run that grades what another was answered.
    pub(super) fn of_answers(mut self, of: String) -> Self {
        if let Some(book) = &mut self.book {
            book.info.graded = Some(of);
            book.tell();
        }
        self
    }
}

/// Sorts by time, and no two are the same. It is also in the environment of every child.
pub(super) fn run_id() -> String {
    let now = format!("{:.3}", jiff::Timestamp::now()).replace([':', '.'], "-");
    // Enough to tell runs of the same millisecond apart.
    let random = getrandom::u32().unwrap_or_else(|_| std::process::id());
    format!("{now}-{:04x}", random & 0xffff)
}

/// A new run. Without a folder there is still a run, but for a warning.
pub(super) fn begin(
    (run_id, command): (&str, &[String]),
    plan: &Plan,
    settings: &EvalSettings,
    environment: &Environment,
) -> Result<Keeping, Refusal> {
    let book = if settings.keep.folder {
        let info = RunInfo {
            run: run_id.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            working_dir: environment.working_dir.display().to_string(),
            host: run_dir::host(),
            git: run_dir::git_head(&environment.repo_root),
            started: now(),
            out: settings.out.display().to_string(),
            files: files(plan, settings, environment),
            targets: targets(plan),
            choice: settings.recorded_choice.clone(),
            cases: plan.total,
            ..RunInfo::default()
        };
        open_book(info, environment)
    } else {
        None
    };
    let outputs = match &book {
        Some(book) => kept_outputs(&book.folder, settings),
        None => create(&settings.out)
            .map(|file| Outputs::only(ResultFile::new(settings.writer, file)))
            .map_err(|error| unwritable(&settings.out, &error)),
    };
    let outputs = outputs.inspect_err(|_| {
        // A run that could not begin is none.
        if let Some(book) = &book {
            let _ = std::fs::remove_dir_all(&book.folder.files.dir);
        }
    })?;
    Ok(Keeping { outputs, tally: Tally::default(), resumed: None, book })
}

/// Takes an earlier run up again.
pub(super) fn go_on(
    earlier: Earlier,
    plan: &mut Plan,
    settings: &EvalSettings,
    environment: &Environment,
) -> Result<Keeping, Refusal> {
    let Earlier { folder, mut info } = earlier;
    for file in files(plan, settings, environment) {
        let was = info.files.iter().find(|known| known.path == file.path);
        let changed = was.is_some_and(|was| was.sha256 != file.sha256);
        if file.kind == RunFileKind::Targets && changed {
            let path = &file.path;
            terminal::warn(&format!(
                "`{path}` changed since the run began; records of before stay"
            ));
        }
    }
    let failed = |error: &dyn std::fmt::Display| {
        Refusal::incomplete(format!("run `{}` cannot be resumed: {error}", folder.id))
    };
    let past = Past::read(&folder).map_err(|error| failed(&error))?;
    let mut resumed =
        resume(plan, past, &folder, settings.keep.retry_errors).map_err(|error| failed(&error))?;
    let tally = std::mem::take(&mut resumed.tally);
    // The summary of what was found still wants to know of errors.
    resumed.tally.errors = tally.errors;
    info.resumed.push(now());
    (info.ended, info.ending, info.exit_code, info.totals) = (None, None, None, None);
    info.cases = plan.total;
    info.out = settings.out.display().to_string();
    folder.tell(&info).map_err(|error| failed(&error))?;
    let outputs = kept_outputs(&folder, settings)?;
    Ok(Keeping { outputs, tally, resumed: Some(resumed), book: Some(Book { folder, info }) })
}

fn open_book(info: RunInfo, environment: &Environment) -> Option<Book> {
    let made = environment.runs().create(&info.run).and_then(|folder| {
        let told = folder.tell(&info);
        told.map_err(|source| FolderError::Io { path: folder.files.dir.clone(), source })?;
        Ok(folder)
    });
    match made {
        Ok(folder) => Some(Book { folder, info }),
        Err(error) => {
            terminal::warn(&format!(
                "there is no run folder, so this run cannot be resumed: {error}"
            ));
            None
        }
    }
}

impl Book {
    pub(super) fn results(&self) -> PathBuf {
        self.folder.files.results()
    }

    /// Writes down what came of the run. If that fails, `agentv runs` takes it for killed, and a resume finds nothing to do.
    pub(super) fn close(mut self, outcome: &Outcome, exit: Exit) {
        let info = &mut self.info;
        info.ended = Some(now());
        info.ending = Some(match outcome.ended {
            Ended::Complete => Ending::Complete,
            Ended::Interrupted => Ending::Interrupted,
            Ended::Stopped(_) => Ending::Stopped,
            Ended::Unwritable(_) | Ended::Unreadable(_) => Ending::Failed,
        });
        info.exit_code = Some(exit as u8);
        info.totals = Some(totals(&outcome.tally));
        self.tell();
    }

    fn tell(&self) {
        if let Err(error) = self.folder.tell(&self.info) {
            terminal::warn(&format!("`run.json` cannot be written: {error}"));
        }
    }
}

/// The results in the run folder, and the output: the same file, or a copy where that cannot be.
fn kept_outputs(folder: &RunFolder, settings: &EvalSettings) -> Result<Outputs, Refusal> {
    let results = folder.files.results();
    let refuse = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| unwritable(&path, &error)
    };
    let file =
        File::options().append(true).create(true).open(&results).map_err(refuse(&results))?;
    let journal = Journal::open(&folder.files.journal());
    let journal = Arc::new(journal.map_err(refuse(&folder.files.journal()))?);
    let jsonl = WriterKind::find("jsonl").unwrap_or(settings.writer);
    let copy = output(&results, jsonl, settings).map_err(refuse(&settings.out))?;
    let results = ResultFile::after(jsonl, file).map_err(refuse(&results))?;
    Ok(Outputs::kept(results, copy, journal))
}

/// Makes the output another name of the results, or a copy of what is in them so far.
fn output(
    results: &Path,
    jsonl: &WriterKind,
    settings: &EvalSettings,
) -> io::Result<Option<ResultFile>> {
    if let Some(dir) = settings.out.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let is_same_format = settings.writer.name == jsonl.name;
    if is_same_format && run_dir::link(results, &settings.out)? == Link::Made {
        return Ok(None);
    }
    let mut copy = ResultFile::new(settings.writer, create(&settings.out)?);
    for line in BufReader::new(File::open(results)?).lines() {
        let record: ResultRecord = serde_json::from_str(&line?)?;
        let mut rendered = Vec::new();
        (settings.writer.render)(&record, &mut rendered)?;
        copy.add(&rendered);
        copy.commit()?;
    }
    Ok(Some(copy))
}

/// Opens the output, with the directories above it.
fn create(path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    File::create(path)
}

fn unwritable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::incomplete(format!("`{}` cannot be written: {error}", path.display()))
}

/// The eval files and targets files of a run, each once. One that cannot be hashed (a pipe) has no hash.
fn files(plan: &Plan, settings: &EvalSettings, environment: &Environment) -> Vec<RunFile> {
    let lanes = plan.pools.iter().flat_map(|pool| &pool.lanes);
    let mut targets: Vec<PathBuf> =
        lanes.map(|lane| lane.target.judges.book.file.path.clone()).collect();
    targets.sort();
    targets.dedup();
    let evals = settings.files.iter().map(|path| (path, RunFileKind::Eval));
    let all = evals.chain(targets.iter().map(|path| (path, RunFileKind::Targets)));
    all.map(|(path, kind)| RunFile {
        path: environment.shown(path),
        kind,
        sha256: path.is_file().then(|| sha256(path, plan)).flatten().unwrap_or_default(),
    })
    .collect()
}

/// The hash that loading has taken, where it has.
fn sha256(path: &Path, plan: &Plan) -> Option<String> {
    let mut suites = plan.pools.iter().flat_map(|pool| &pool.lanes).map(|lane| &lane.suite);
    let suite = suites.find(|suite| suite.suite.file == path);
    match suite.and_then(|suite| suite.cases.sha256()) {
        Some(hash) => Some(hex::encode(hash)),
        None => sha256_of_file(path).ok().map(hex::encode),
    }
}

fn targets(plan: &Plan) -> Vec<RunTarget> {
    let mut targets: Vec<RunTarget> = Vec::new();
    for lane in plan.pools.iter().flat_map(|pool| &pool.lanes) {
        let name = lane.target.name.as_str();
        let target = RunTarget {
            name: name.to_owned(),
            provider: lane.target.provider.info().kind.to_owned(),
            model: lane.target.judges.book.file.find(name).and_then(|spec| spec.model.clone()),
        };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

#[expect(clippy::cast_precision_loss, reason = "numbers of cases are far below 2^52")]
pub(super) fn totals(tally: &Tally) -> RunTotals {
    let recorded = tally.scores.len();
    let mean = tally.scores.iter().sum::<f64>() / recorded as f64;
    let targets = tally.targets.iter().map(|(name, target)| {
        let totals = RunTargetTotals {
            recorded: target.cases,
            passed: target.passed,
            errors: target.errors,
            mean_score: target.mean(),
        };
        (name.clone(), totals)
    });
    RunTotals {
        recorded,
        passed: tally.passed,
        errors: tally.errors,
        judge_errors: tally.judge_errors,
        mean_score: (recorded > 0).then_some(mean),
        targets: targets.collect(),
        trials: tally.trials.totals(),
        spend: (!tally.paid.is_nothing()).then_some(tally.paid),
    }
}

fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}
