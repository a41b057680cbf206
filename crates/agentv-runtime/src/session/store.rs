//! Where a run is kept: its folder, its results and `run.json`, from the first moment to the last.

use super::resume::ResumedRun;
use super::{Conclusion, Environment, Refused};
use crate::file_input;
use crate::clock;
use crate::hash::sha256_of_file;
use crate::run::{Ended, Outputs, Plan, Resumed, RunOutcome, resume as claim};
use crate::run_dir::{self, FolderError, Journal, Link, Past, RUN_FORMAT, RunFolder, Runs};
use crate::writers::{ResultFile, WRITERS, WriterKind};
use agentv_core::totals::Totals;
use agentv_wire::{Ending, RunFile, RunFileKind, RunInfo, RunSpec, RunTarget};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The run folder, and what is written there when the run ends.
#[derive(Debug)]
pub(super) struct RunStore {
    folder: RunFolder,
    info: RunInfo,
}

/// Where the records of a run go, and what there is of them already.
pub(super) struct OpenedStore {
    pub outputs: Outputs,
    pub totals: Totals,
    pub resumed: Option<Resumed>,
    /// `None` without a run folder.
    pub store: Option<RunStore>,
}

/// A run that begins.
pub(super) struct Begin<'a> {
    pub run_id: &'a str,
    pub command: Vec<String>,
    pub spec: &'a RunSpec,
    pub out: &'a Path,
    pub writer: &'static WriterKind,
}

/// An id that sorts by time, and is never used twice. It is also in the environment of every child.
pub(super) fn new_run_id() -> String {
    let now = format!("{:.3}", clock::now()).replace([':', '.'], "-");
    let mut random = [0; 2];
    // Without random numbers, runs of the same millisecond are told apart by the lock on their folder.
    let _ = getrandom::fill(&mut random);
    format!("{now}-{}", hex::encode(random))
}

/// Begins a new run. If there can be no folder, the run is not kept, and a warning says so.
pub(super) fn begin(
    begin: &Begin<'_>,
    plan: &Plan,
    graded: Option<&str>,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<OpenedStore, Refused> {
    // A dry run costs nothing, so there is nothing to be kept of it.
    let is_kept = begin.spec.run_folder && begin.spec.dry_run.is_none();
    let store = if is_kept {
        let info = RunInfo {
            format: RUN_FORMAT,
            run: begin.run_id.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: begin.command.clone(),
            spec: Some(begin.spec.clone()),
            working_dir: environment.working_dir.display().to_string(),
            host: run_dir::host(),
            git: run_dir::git_head(&environment.repo_root),
            started: now(),
            graded: graded.map(str::to_owned),
            out: begin.out.display().to_string(),
            files: files(plan, begin.spec, environment),
            targets: targets(plan),
            cases: plan.total,
            ..RunInfo::default()
        };
        RunStore::create(info, environment, warnings)
    } else {
        None
    };
    let outputs = match &store {
        Some(store) => kept_outputs(&store.folder, begin),
        None => create(begin.out)
            .map(|file| Outputs::only(ResultFile::new(begin.writer, file)))
            .map_err(|error| unwritable(begin.out, &error)),
    };
    let outputs = outputs.inspect_err(|_| {
        // A run that could not begin leaves no folder.
        if let Some(store) = &store {
            let _ = std::fs::remove_dir_all(&store.folder.files.dir);
        }
    })?;
    Ok(OpenedStore { outputs, totals: Totals::default(), resumed: None, store })
}

/// Continues an earlier run.
pub(super) fn resume(
    earlier: ResumedRun,
    plan: &mut Plan,
    begin: &Begin<'_>,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<OpenedStore, Refused> {
    let ResumedRun { folder, mut info, retry_errors } = earlier;
    for file in files(plan, begin.spec, environment) {
        let was = info.files.iter().find(|known| known.path == file.path);
        let changed = was.is_some_and(|was| was.sha256 != file.sha256);
        if file.kind == RunFileKind::Targets && changed {
            let path = &file.path;
            warnings.push(format!("`{path}` changed since the run began; earlier records stay"));
        }
    }
    let failed = |error: &dyn std::fmt::Display| {
        Refused::incomplete(format!("run `{}` cannot be resumed: {error}", folder.id))
    };
    let past = Past::read(&folder).map_err(|error| failed(&error))?;
    let mut resumed = claim(plan, past, &folder, retry_errors).map_err(|error| failed(&error))?;
    let totals = std::mem::take(&mut resumed.totals);
    // What is told of the resume still needs to know of errors.
    resumed.totals.all.counts = totals.all.counts;
    info.resumed.push(now());
    (info.ended, info.ending, info.exit_code, info.totals) = (None, None, None, None);
    info.cases = plan.total;
    info.out = begin.out.display().to_string();
    info.spec = Some(begin.spec.clone());
    folder.write_info(&info).map_err(|error| failed(&error))?;
    let outputs = kept_outputs(&folder, begin)?;
    Ok(OpenedStore {
        outputs,
        totals,
        resumed: Some(resumed),
        store: Some(RunStore { folder, info }),
    })
}

impl RunStore {
    fn create(
        info: RunInfo,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Option<Self> {
        let created = Runs::of(&environment.project_root).create(&info.run).and_then(|folder| {
            let written = folder.write_info(&info);
            written.map_err(|source| FolderError::Io { path: folder.files.dir.clone(), source })?;
            Ok(folder)
        });
        match created {
            Ok(folder) => Some(Self { folder, info }),
            Err(error) => {
                warnings.push(format!(
                    "there is no run folder, so this run cannot be resumed: {error}"
                ));
                None
            }
        }
    }

    /// The records in the run folder.
    pub(super) fn results(&self) -> PathBuf {
        self.folder.files.results()
    }

    /// Writes down what came of the run. If that fails, `agentv runs` takes it for killed, and a resume finds nothing to do.
    pub(super) fn close(mut self, outcome: &RunOutcome, conclusion: &mut Conclusion) {
        let info = &mut self.info;
        info.ended = Some(now());
        info.ending = Some(match outcome.ended {
            Ended::Complete => Ending::Complete,
            Ended::Interrupted => Ending::Interrupted,
            Ended::Stopped(_) => Ending::Stopped,
            Ended::Unwritable(_) | Ended::Unreadable(_) => Ending::Failed,
        });
        info.exit_code = Some(conclusion.exit as u8);
        info.totals = Some(outcome.totals.wire(Some(info.cases)));
        if let Err(error) = self.folder.write_info(&self.info) {
            conclusion.warnings.push(format!("`run.json` cannot be written: {error}"));
        }
    }
}

/// The results in the run folder, and the output: the same file, or a copy where that cannot be.
fn kept_outputs(folder: &RunFolder, begin: &Begin<'_>) -> Result<Outputs, Refused> {
    let results = folder.files.results();
    let refuse = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| unwritable(&path, &error)
    };
    let file =
        File::options().append(true).create(true).open(&results).map_err(refuse(&results))?;
    let journal = Journal::open(&folder.files.journal());
    let journal = Arc::new(journal.map_err(refuse(&folder.files.journal()))?);
    let jsonl = WriterKind::find("jsonl").unwrap_or(&WRITERS[0]);
    let copy = output(&results, jsonl, begin).map_err(refuse(begin.out))?;
    let results = ResultFile::after(jsonl, file).map_err(refuse(&results))?;
    Ok(Outputs::kept(results, copy, journal))
}

/// Makes the output another name of the results, or a copy of what is in them so far.
fn output(results: &Path, jsonl: &WriterKind, begin: &Begin<'_>) -> io::Result<Option<ResultFile>> {
    let Begin { out, writer, .. } = begin;
    if let Some(dir) = out.parent() {
        std::fs::create_dir_all(dir)?;
    }
    if writer.name == jsonl.name && run_dir::link(results, out)? == Link::Made {
        return Ok(None);
    }
    let mut copy = ResultFile::new(writer, create(out)?);
    for line in BufReader::new(file_input::open(results)?).lines() {
        // The record as it is: one of an older version stays one.
        copy.add(&(writer.copy)(&line?)?);
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

fn unwritable(path: &Path, error: &io::Error) -> Refused {
    Refused::incomplete(format!("`{}` cannot be written: {error}", path.display()))
}

/// The eval files and targets files of a run, each once. One that cannot be hashed (a pipe) has no hash.
fn files(plan: &Plan, spec: &RunSpec, environment: &Environment) -> Vec<RunFile> {
    let mut targets: Vec<PathBuf> =
        plan.lanes().map(|lane| lane.target.judges.book.file.path.clone()).collect();
    targets.sort();
    targets.dedup();
    let evals = spec.suites.iter().map(|path| (path, RunFileKind::Eval));
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
    let suite = plan.lanes().map(|lane| &lane.suite).find(|suite| suite.suite.file == path);
    let known = suite.and_then(|suite| suite.cases.sha256());
    known.or_else(|| sha256_of_file(path).ok()).map(hex::encode)
}

fn targets(plan: &Plan) -> Vec<RunTarget> {
    let mut targets: Vec<RunTarget> = Vec::new();
    for lane in plan.lanes() {
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

fn now() -> String {
    format!("{:.3}", clock::now())
}
