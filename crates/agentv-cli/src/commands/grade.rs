//! `agentv grade`: the answers of an earlier run, graded by the evaluators of now.

use super::eval::{Origin, Presentation, Refusal, conduct, is_same_file, report_refusal};
use crate::args::{Args, CaseArgs, Command, EvalArgs, GradeArgs};
use crate::deferred::Deferred;
use crate::settings::{Environment, EvalSettings, unnamed};
use crate::terminal::{self, Screen};
use agentv_core::TargetName;
use agentv_runtime::results_io::{Recorded, ResultsError, find_results};
use agentv_runtime::run::{Plan, regrade};
use agentv_runtime::run_dir::{RunFiles, Runs};
use agentv_wire::{Exit, RunFileKind, RunInfo};
use clap::Parser as _;
use std::error::Error as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `words` is the whole command line.
pub(crate) fn run(args: GradeArgs, words: &[OsString], environment: &Environment) -> Exit {
    report_refusal(attempt(args, words, environment))
}

fn attempt(
    args: GradeArgs,
    words: &[OsString],
    environment: &Environment,
) -> Result<Exit, Refusal> {
    let command: Vec<String> =
        words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let found = find(&args.run, environment)?;
    let recorded = found.read(environment)?;
    let wanted = args.target.clone();
    let args = eval_args(args, found.info.as_ref())?;
    let mut settings = EvalSettings::resolve(args, environment)?;
    settings.choice.regrade = true;
    settings.choice.targets = targets(&recorded, &wanted, &found)?;
    if !settings.out_given {
        settings.out = unnamed("grade", settings.writer, environment);
    }
    if found.folder.is_none() && is_same_file(&found.results, &settings.out) {
        let message = format!("`--out` would overwrite the results `{}`", found.name);
        return Err(Refusal::usage(message, "choose another name for the results"));
    }
    let source = Source { recorded, name: found.name };
    let presentation = Presentation::default();
    conduct(Origin::Recorded(Box::new(source)), &command, &settings, environment, &presentation)
}

/// Answers to be graded.
pub(super) struct Source {
    recorded: Recorded,
    /// What they are called.
    name: String,
}

impl Source {
    /// Gives each case of the plan its answer, and says which have none. Returns what the answers are called.
    pub(super) fn claim(
        mut self,
        plan: &mut Plan,
        settings: &EvalSettings,
        screen: &mut Screen,
    ) -> Result<String, Refusal> {
        let regraded = regrade(plan, &mut self.recorded)
            .map_err(|error| Refusal::incomplete(error.to_string()))?;
        terminal::regraded(&self.name, &regraded, screen);
        if regraded.answers == 0 {
            screen.show();
            return Err(Refusal::usage(
                format!("`{}` has no answer to any of these cases", self.name),
                "name the eval files and targets that it was a run of",
            ));
        }
        if !regraded.blind.is_empty() && !settings.skip_invalid {
            screen.show();
            let names: Vec<String> = regraded
                .blind
                .iter()
                .map(|(name, answers)| format!("`{name}` ({answers} of {})", regraded.answers))
                .collect();
            return Err(Refusal::usage(
                format!(
                    "the messages that these evaluators look at are not in `{}`: {}",
                    self.name,
                    names.join(", ")
                ),
                "name the run instead of its results, if there is one; `--skip-invalid` leaves these evaluators out",
            ));
        }
        Ok(self.name)
    }
}

/// Where the answers are.
struct Found {
    /// What people call it.
    name: String,
    results: PathBuf,
    /// The folder of the run, if it is one.
    folder: Option<RunFiles>,
    info: Option<RunInfo>,
}

impl Found {
    fn read(&self, environment: &Environment) -> Result<Recorded, Refusal> {
        let shown = environment.shown(&self.results);
        let read = match &self.folder {
            Some(folder) => Recorded::of_run(folder, &shown),
            None => Recorded::of_results(&self.results, &shown),
        };
        let recorded = read.map_err(|error| unreadable(&error))?;
        if let Some(line) = recorded.torn {
            terminal::warn(&format!("{shown}:{line}: the last record was cut off and is left out"));
        }
        Ok(recorded)
    }
}

/// The newest run that asked its targets; a run by its id or folder; or results.
const LATEST: &str = "latest";

fn find(name: &Path, environment: &Environment) -> Result<Found, Refusal> {
    let runs = environment.runs();
    let name = match name.to_str() {
        Some(LATEST) if !environment.working_dir.join(LATEST).exists() => {
            let newest = runs.list().into_iter().find(|info| info.graded.is_none());
            let none = || {
                Refusal::usage("there is no run to grade", "start one: `agentv eval my.eval.yaml`")
            };
            PathBuf::from(newest.ok_or_else(none)?.run)
        }
        _ => name.to_owned(),
    };
    let results = find_results(&name, &environment.bases()).map_err(|error| unreadable(&error))?;
    let folder = RunFiles::beside(&results).or_else(|| folder_of(&results, &runs));
    let info = folder.as_ref().and_then(|folder| folder.info().ok());
    let name = match folder.as_ref().and_then(|folder| folder.dir.file_name()) {
        Some(run) => run.to_string_lossy().into_owned(),
        None => environment.shown(&results),
    };
    Ok(Found { name, results, folder, info })
}

/// The folder of the run whose output this is: another name of the results in it.
fn folder_of(results: &Path, runs: &Runs) -> Option<RunFiles> {
    use std::os::unix::fs::MetadataExt as _;
    let same = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let wanted = same(results)?;
    let mut folders = runs.list().into_iter().map(|info| runs.files(&info.run));
    folders.find(|folder| same(&folder.results()) == Some(wanted))
}

fn unreadable(error: &ResultsError) -> Refusal {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Refusal::usage(
        format!("{error}{cause}"),
        "name a run (`agentv runs list` shows them), `latest`, or a results file",
    )
}

/// The run as it was ordered, with the flags of now: what a grading does not say is as `agentv eval` has it.
fn eval_args(args: GradeArgs, info: Option<&RunInfo>) -> Result<EvalArgs, Refusal> {
    let mut eval = match Args::try_parse_from(["agentv", "eval"]).map(|args| args.command) {
        Ok(Command::Eval(Deferred(eval))) => *eval,
        _ => return Err(Refusal::incomplete("`agentv eval` cannot be told what to do".to_owned())),
    };
    (eval.paths, eval.cases) = (args.paths, args.cases);
    if let Some(info) = info {
        as_it_was(&mut eval, info);
    }
    if eval.paths.is_empty() {
        return Err(Refusal::usage(
            "results do not say which eval files they are of",
            "name them: `agentv grade results.jsonl my.eval.yaml`",
        ));
    }
    (eval.target, eval.targets) = (args.target, args.targets);
    (eval.workers, eval.agent_timeout) = (args.workers, args.agent_timeout);
    (eval.results, eval.keep, eval.terms) = (args.results, args.keep, args.terms);
    eval.verbose = args.verbose;
    Ok(eval)
}

/// Without other files or cases, those of the run are meant.
fn as_it_was(eval: &mut EvalArgs, info: &RunInfo) {
    if eval.paths.is_empty() {
        let files = info.files.iter().filter(|file| file.kind == RunFileKind::Eval);
        eval.paths = files.map(|file| file.path.clone()).collect();
    }
    let CaseArgs { eval_id, filter, tag } = &mut eval.cases;
    if eval_id.is_none() && filter.is_empty() && tag.is_empty() {
        let choice = info.choice.clone();
        (*eval_id, *filter, *tag) = (choice.eval_id, choice.filter, choice.tags);
        eval.sample = choice.sample.and_then(|sample| u64::try_from(sample).ok());
        eval.seed = choice.seed.unwrap_or(0);
        eval.shard = choice.shard;
    }
}

/// Whose answers are graded.
fn targets(
    recorded: &Recorded,
    wanted: &[String],
    found: &Found,
) -> Result<Vec<TargetName>, Refusal> {
    let answered = || recorded.targets.iter();
    if let Some(unknown) = wanted.iter().find(|name| !recorded.targets.contains(name)) {
        let mut names: Vec<&str> = answered().map(String::as_str).collect();
        names.sort_unstable();
        return Err(Refusal::usage(
            format!("`{}` has no answers of target `{unknown}`", found.name),
            format!("it has those of: {}", names.join(", ")),
        ));
    }
    if recorded.targets.is_empty() {
        return Err(Refusal::usage(
            format!("`{}` has no answers", found.name),
            "run it first: `agentv eval`",
        ));
    }
    let chosen = answered().filter(|name| wanted.is_empty() || wanted.contains(name));
    Ok(chosen.map(|name| TargetName::from(name.as_str())).collect())
}
