//! Where a run is kept: its folder, its results and `run.json`, from the first moment to the last.

use super::resume::ResumedRun;
use super::{Conclusion, Environment, Refused};
use crate::atomic_file::AtomicFile;
use crate::clock;
use crate::file_input;
use crate::hash::sha256_of_file;
use crate::new_paths::{claim_name, create_private_dir};
use crate::run::{Ended, Outputs, Plan, Resumed, RunOutcome, resume as claim};
use crate::run_dir::{
    self, FolderError, Journal, Link, Past, RUN_FORMAT, RunFolder, Runs, SigningKey,
};
use crate::writers::{ResultFile, WRITERS, WriterKind};
use agentv_core::totals::Totals;
use agentv_wire::{Ending, Exit, RunFile, RunFileKind, RunInfo, RunSpec, RunTarget};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The run folder, and what is written there when the run ends.
#[derive(Debug)]
pub(super) struct RunStore {
    folder: RunFolder,
    info: RunInfo,
    /// Signs the folder when the run has ended.
    key: Option<SigningKey>,
}

/// Where the records of a run go, and what there is of them already.
pub(super) struct OpenedStore {
    pub outputs: Outputs,
    /// Where the results are for the user.
    pub out: PathBuf,
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
    /// Where the results are asked for, or the name that they get if no other run has it.
    pub out: &'a Path,
    pub writer: &'static WriterKind,
    pub key: Option<SigningKey>,
}

/// The key that signs the run folder, read before anything is called.
pub(super) fn signing_key(
    spec: &RunSpec,
    environment: &Environment,
) -> Result<Option<SigningKey>, Refused> {
    let Some(path) = &spec.sign else { return Ok(None) };
    if !spec.run_folder || spec.dry_run.is_some() {
        let help = "leave out `--sign`, or `--no-run-folder` and `--dry-run`";
        return Err(Refused::usage("`--sign` signs a run folder, and this run has none", help));
    }
    let key = SigningKey::read(&environment.working_dir.join(path));
    key.map(Some).map_err(|error| Refused::usage(error.to_string(), error.help()))
}

/// An id that sorts by time, and is never used twice. It is also in the environment of every child.
pub(super) fn new_run_id() -> String {
    let now = format!("{:.3}", clock::now()).replace([':', '.'], "-");
    let mut random = [0; 4];
    // Without random numbers, runs of the same millisecond are told apart by the number of their folder.
    let _ = getrandom::fill(&mut random);
    format!("{now}-{}", hex::encode(random))
}

/// Begins a new run. If there can be no folder, the run is not kept, and a warning says so.
pub(super) fn begin(
    mut begin: Begin<'_>,
    plan: &Plan,
    graded: Option<&str>,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<OpenedStore, Refused> {
    let key = begin.key.take();
    let begin = &begin;
    // A dry run costs nothing, so there is nothing to be kept of it.
    let is_kept = begin.spec.run_folder && begin.spec.dry_run.is_none();
    let mut store = if is_kept {
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
        RunStore::create(info, key, environment, warnings)
    } else {
        None
    };
    let opened = match &mut store {
        Some(store) => {
            let outputs = kept_outputs(&store.folder, begin);
            outputs.and_then(|(outputs, out)| {
                let out = store.name_output(out)?;
                store.note_beginning(&outputs)?;
                Ok((outputs, out))
            })
        }
        None => open_output(begin)
            .map(|(out, file)| (Outputs::only(ResultFile::new(begin.writer, file, &out)), out))
            .map_err(|error| unwritable(begin.out, &error)),
    };
    let (outputs, out) = opened.inspect_err(|_| {
        // A run that could not begin leaves no folder.
        if let Some(store) = &store {
            let _ = std::fs::remove_dir_all(&store.folder.files.dir);
        }
    })?;
    Ok(OpenedStore { outputs, out, totals: Totals::default(), resumed: None, store })
}

/// Continues an earlier run.
pub(super) fn resume(
    earlier: ResumedRun,
    plan: &mut Plan,
    mut begin: Begin<'_>,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<OpenedStore, Refused> {
    let ResumedRun { folder, mut info, retry_errors } = earlier;
    let key = begin.key.take();
    let begin = &begin;
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
    folder.unseal().map_err(|error| failed(&error))?;
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
    let (outputs, out) = kept_outputs(&folder, begin)?;
    let store = RunStore { folder, info, key };
    store.note_beginning(&outputs)?;
    Ok(OpenedStore { outputs, out, totals, resumed: Some(resumed), store: Some(store) })
}

impl RunStore {
    fn create(
        mut info: RunInfo,
        key: Option<SigningKey>,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Option<Self> {
        let created = Runs::of(&environment.project_root).create(&info.run).and_then(|folder| {
            info.run.clone_from(&folder.id);
            let written = folder.write_info(&info);
            written.map_err(|source| FolderError::Io { path: folder.files.dir.clone(), source })?;
            Ok(folder)
        });
        match created {
            Ok(folder) => Some(Self { folder, info, key }),
            Err(error) => {
                warnings.push(format!(
                    "cannot make a run folder, so this run cannot be resumed: {error}"
                ));
                None
            }
        }
    }

    pub(super) fn run_id(&self) -> &str {
        &self.folder.id
    }

    /// The records in the run folder.
    pub(super) fn results(&self) -> PathBuf {
        self.folder.files.results()
    }

    fn seal(&self, outputs: &Outputs) -> io::Result<()> {
        let (Some(journal), Some(results)) = (&outputs.journal, outputs.results.seal()) else {
            return Ok(());
        };
        self.folder.seal(journal, results, self.key.as_ref())
    }

    /// Notes in the journal how the run was begun, should `run.json` be lost.
    fn note_beginning(&self, outputs: &Outputs) -> Result<(), Refused> {
        let noted = outputs.journal.as_ref().map_or(Ok(()), |journal| journal.begun(&self.info));
        noted.map_err(|error| unwritable(&self.folder.files.journal(), &error))
    }

    /// Notes the name of the output, which may have got a number.
    fn name_output(&mut self, out: PathBuf) -> Result<PathBuf, Refused> {
        let name = out.display().to_string();
        if self.info.out != name {
            self.info.out = name;
            let written = self.folder.write_info(&self.info);
            written.map_err(|error| unwritable(&self.folder.files.dir, &error))?;
        }
        Ok(out)
    }

    /// Writes down what came of the run. If that fails, `agentv runs` takes it for killed, and a resume finds nothing to do.
    pub(super) fn close(
        mut self,
        outcome: &RunOutcome,
        outputs: Option<&Outputs>,
        working_dir: &Path,
        conclusion: &mut Conclusion,
    ) {
        if !self.folder.has_info() {
            let path = self.folder.files.info_path();
            let path = path.strip_prefix(working_dir).unwrap_or(&path).display();
            let message =
                format!("`{path}` was removed or damaged during the run; it was written again");
            conclusion.add(Exit::Incomplete, message, None);
        }
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
            let message = format!("`run.json` cannot be written: {error}");
            conclusion.add(Exit::Incomplete, message, None);
        }
        let sealed = outputs.map_or(Ok(()), |outputs| self.seal(outputs));
        if let Err(error) = sealed {
            let message = format!("`manifest.json` cannot be written: {error}");
            let help = "`agentv verify` cannot check this run".to_owned();
            conclusion.add(Exit::Incomplete, message, Some(help));
        }
    }
}

/// The results in the run folder, and the output: the same file, or a copy where that cannot be.
fn kept_outputs(folder: &RunFolder, begin: &Begin<'_>) -> Result<(Outputs, PathBuf), Refused> {
    let results = folder.files.results();
    let refuse = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| unwritable(&path, &error)
    };
    let file = appended(&results).map_err(refuse(&results))?;
    let journal = Journal::open(&folder.files.journal());
    let journal = Arc::new(journal.map_err(refuse(&folder.files.journal()))?);
    let jsonl = WriterKind::find("jsonl").unwrap_or(&WRITERS[0]);
    let (out, copy) = output(&results, jsonl, begin).map_err(refuse(begin.out))?;
    let results = ResultFile::after(jsonl, file, &results).map_err(refuse(&results))?;
    Ok((Outputs::kept(results, copy, journal), out))
}

/// Makes the output another name of the results, or a copy of what is in them so far.
fn output(
    results: &Path,
    jsonl: &WriterKind,
    begin: &Begin<'_>,
) -> io::Result<(PathBuf, Option<ResultFile>)> {
    let writer = begin.writer;
    make_dir_of(begin)?;
    if writer.name == jsonl.name {
        if begin.spec.out.is_none() {
            if let Ok((out, ())) = claim_name(begin.out, |name| std::fs::hard_link(results, name)) {
                return Ok((out, None));
            }
        } else if run_dir::link(results, begin.out)? == Link::Made {
            return Ok((begin.out.to_owned(), None));
        }
    }
    let (out, file) = open_output(begin)?;
    let mut copy = ResultFile::new(writer, file, &out);
    for line in BufReader::new(file_input::open(results)?).lines() {
        // The record as it is: one of an older version stays one.
        copy.add(&(writer.copy)(&line?)?);
        copy.commit()?;
    }
    Ok((out, Some(copy)))
}

/// Opens the output, with the directories above it. A name of our own is not used by others.
fn open_output(begin: &Begin<'_>) -> io::Result<(PathBuf, File)> {
    make_dir_of(begin)?;
    if begin.spec.out.is_some() {
        return open_anew(begin.out).map(|file| (begin.out.to_owned(), file));
    }
    claim_name(begin.out, |name| {
        File::options().read(true).append(true).create_new(true).open(name)
    })
}

fn make_dir_of(begin: &Begin<'_>) -> io::Result<()> {
    match begin.out.parent() {
        // Answers are kept in it.
        Some(dir) if begin.spec.out.is_none() => create_private_dir(dir),
        Some(dir) => std::fs::create_dir_all(dir),
        None => Ok(()),
    }
}

/// Opens a file that is to be empty. A regular one is replaced and not written into, since another run may be writing to
/// it. A link of the user's stays one, and pipes and devices are what they are.
fn open_anew(path: &Path) -> io::Result<File> {
    let is_ours = std::fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    if is_ours && let Ok(draft) = AtomicFile::create(path) {
        let file = appended(draft.path())?;
        draft.commit()?;
        return Ok(file);
    }
    if path.exists() && !path.is_file() {
        return File::options().write(true).open(path);
    }
    let file = appended(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Always at the end, so that a file that is cut meanwhile has no gap; and to be read again, should it be removed.
fn appended(path: &Path) -> io::Result<File> {
    File::options().read(true).append(true).create(true).open(path)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_millisecond_have_outputs_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("results/eval_now.jsonl");
        let (spec, writer) = (RunSpec::default(), &WRITERS[0]);
        let begin =
            Begin { run_id: "r", command: Vec::new(), spec: &spec, out: &out, writer, key: None };
        let (first, _) = open_output(&begin).unwrap();
        std::fs::write(&first, "theirs").unwrap();
        let (second, _) = open_output(&begin).unwrap();
        let results = dir.path().join("results.jsonl");
        std::fs::write(&results, "").unwrap();
        let (third, copy) = output(&results, writer, &begin).unwrap();
        assert!(copy.is_none());
        let names =
            [&first, &second, &third].map(|path| path.file_name().unwrap().to_str().unwrap());
        assert_eq!(names, ["eval_now.jsonl", "eval_now-2.jsonl", "eval_now-3.jsonl"]);
        assert_eq!(std::fs::read_to_string(first).unwrap(), "theirs");
    }
}
