//! Flags → a [`RunSpec`], and how the run is shown.

use super::{Environment, last_failed};
use crate::args::{Compat, EvalArgs, GradeArgs, KeepArgs, ReportFormat, TermsArgs};
use crate::report::Wanted;
use crate::run_args::{CaseArgs, ResultsArgs};
use agentv_cluster::ClusterAccess;
use agentv_core::TargetName;
use agentv_runtime::load::{DiscoverError, FoundSuites, eval_files, suites_below};
use agentv_runtime::session::{Order, Refused, ResumeOrder, asked_targets, last_run, resumable};
use agentv_wire::{CaseSelection, ClusterSpec, DryRunDelay, RunInfo, RunSpec};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A run as it was ordered, and how it is shown.
#[derive(Debug)]
pub(crate) struct RunOrder {
    pub order: Order,
    /// What was found where the command line names no file.
    pub found: Option<FoundSuites>,
    pub showing: Showing,
    /// What is written besides, when the run is over.
    pub reports: Vec<Wanted>,
    /// The cluster that runs the cases, if one does.
    pub cluster: Option<ClusterAccess>,
}

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// Line by line, for pipes and logs.
    Lines,
    /// Line by line, as 2.x did.
    Compat2x,
    /// Drawn over, for a person at a terminal.
    Live,
    /// What did not pass, and the end of it.
    Quiet,
    /// An event per line.
    Json,
}

impl Showing {
    pub(crate) fn of(format: ReportFormat, quiet: bool, environment: &Environment) -> Self {
        match format {
            ReportFormat::Json => Self::Json,
            ReportFormat::Text if quiet => Self::Quiet,
            ReportFormat::Text if environment.is_watched() => Self::Live,
            ReportFormat::Text => Self::Lines,
        }
    }
}

impl RunOrder {
    /// What `agentv eval` is to do. `words` is the whole command line.
    pub(crate) fn of_eval(
        mut args: EvalArgs,
        words: &[OsString],
        environment: &Environment,
    ) -> Result<Self, Refused> {
        let mut run = args.resume.take();
        // `--resume suite.yaml`: clap cannot know that this is not a run.
        if let Some(path) = run.as_mut().filter(|run| is_path(run, environment)) {
            args.paths.insert(0, std::mem::take(path));
        }
        check_reports(&args.report, environment)?;
        let showing = match args.compat {
            Some(Compat::TwoX) => Showing::Compat2x,
            None => Showing::of(args.format, args.quiet, environment),
        };
        let retry_errors = args.retry_errors;
        let resumed = |info: RunInfo| ResumeOrder { run: info.run, retry_errors };
        let address = args.cluster.take();
        let (mut spec, found, resume) = match run {
            None if args.last_failed => {
                let mut suites = Vec::new();
                if !args.paths.is_empty() {
                    suites = self::suites(&args.paths, environment)?.0;
                }
                let mut spec = spec(args, RunSpec { suites, ..RunSpec::default() }, environment);
                last_failed::select(&mut spec, environment)?;
                (spec, None, None)
            }
            None => {
                let (suites, found) = suites(&args.paths, environment)?;
                (spec(args, RunSpec { suites, ..RunSpec::default() }, environment), found, None)
            }
            Some(run) if !args.paths.is_empty() => {
                let (suites, _) = suites(&args.paths, environment)?;
                let spec = spec(args, RunSpec { suites, ..RunSpec::default() }, environment);
                let runs = environment.runs();
                let info = match run.as_str() {
                    "" => last_run(&spec, &runs)?,
                    run => named_run(run, environment)?,
                };
                (spec, None, Some(resumed(info)))
            }
            Some(run) => {
                let info = named_run(if run.is_empty() { "latest" } else { &run }, environment)?;
                // The run as it was, with the flags of now.
                let earlier = info.spec.clone().unwrap_or_default();
                (spec(args, earlier, environment), None, Some(resumed(info)))
            }
        };
        let reports = check_reports(&spec.reports, environment)?;
        let cluster = cluster(address.as_deref(), &mut spec, environment)?;
        let mut command = command(words);
        if let (Some(address), Some(cluster)) = (&address, &cluster) {
            // A login in the address is not written down.
            for word in &mut command {
                *word = word.replace(address.as_str(), &cluster.url);
            }
        }
        let order = Order { spec, command, resume };
        Ok(Self { order, found, showing, reports, cluster })
    }

    /// What `agentv grade` is to do: `answers` are the results of another run, whose `info` is there if it has a folder.
    pub(crate) fn of_grade(
        args: GradeArgs,
        words: &[OsString],
        (answers, info): (PathBuf, Option<RunInfo>),
        environment: &Environment,
    ) -> Result<Self, Refused> {
        let showing = match args.compat {
            Some(Compat::TwoX) => Showing::Compat2x,
            None => Showing::of(ReportFormat::Text, args.quiet, environment),
        };
        let earlier = info.and_then(|info| info.spec);
        let mut spec = RunSpec::default();
        if let Some(earlier) = &earlier {
            spec.suites.clone_from(&earlier.suites);
        }
        if !args.paths.is_empty() {
            spec.suites = suites(&args.paths, environment)?.0;
        }
        if spec.suites.is_empty() {
            return Err(Refused::usage(
                "results do not name their eval files",
                "name them: `agentv grade results.jsonl my.eval.yaml`",
            ));
        }
        select(args.cases, &mut spec.cases);
        // Without other cases, those of the run are meant.
        if let Some(earlier) = earlier.filter(|_| spec.cases.is_all()) {
            spec.cases =
                CaseSelection { changed_since: None, changed_files: Vec::new(), ..earlier.cases };
        }
        spec.answers = agentv_wire::AnswerOrigin::Recorded(answers);
        spec.targets = targets(&args.target);
        spec.targets_file = args.targets;
        spec.workers = args.workers.map(usize::from);
        spec.verbose = args.verbose;
        set(&mut spec.agent_timeout, args.agent_timeout);
        set_results(args.results, &mut spec, environment);
        set_services(args.keep, &mut spec, environment);
        set_terms(&args.terms, &mut spec);
        let reports = check_reports(&spec.reports, environment)?;
        let order = Order { spec, command: command(words), resume: None };
        Ok(Self { order, found: None, showing, reports, cluster: None })
    }
}

/// The command line after the program's name.
fn command(words: &[OsString]) -> Vec<String> {
    words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The cluster of a run: as the command line says, else as the run was started.
fn cluster(
    address: Option<&str>,
    spec: &mut RunSpec,
    environment: &Environment,
) -> Result<Option<ClusterAccess>, Refused> {
    let earlier = spec.cluster.take();
    let Some(address) = address.map(str::to_owned).or_else(|| Some(earlier?.url)) else {
        return Ok(None);
    };
    let access = ClusterAccess::read(&address, &environment.env)
        .map_err(|error| Refused::usage(error.to_string(), error.help()))?;
    spec.cluster = Some(ClusterSpec { url: access.url.clone(), prefix: access.prefix.clone() });
    Ok(Some(access))
}

fn is_path(text: &str, environment: &Environment) -> bool {
    let is_dir = || environment.working_dir.join(text).is_dir();
    text.contains(['.', '/', '*']) || (!text.is_empty() && is_dir())
}

/// The run of this id; `latest` and `previous` are among those that asked their targets.
fn named_run(run: &str, environment: &Environment) -> Result<RunInfo, Refused> {
    let id = environment.run_named(Path::new(run), asked_targets).map_err(|error| {
        let help = "start one: `agentv eval my.eval.yaml`";
        Refused::usage(format!("no run to resume: {error}"), help)
    })?;
    resumable(&id.to_string_lossy(), &environment.runs())
}

/// The files that are named, else all suites that are here.
pub(crate) fn files(
    paths: &[String],
    environment: &Environment,
) -> Result<(Vec<PathBuf>, Option<FoundSuites>), DiscoverError> {
    if !paths.is_empty() {
        let found = eval_files(paths, &environment.working_dir, &environment.repo_root)?;
        // What is named file by file needs no announcement.
        let is_dir = |path: &String| environment.working_dir.join(path.trim()).is_dir();
        let suites = found.suites.clone();
        return Ok((suites, paths.iter().any(is_dir).then_some(found)));
    }
    let found = suites_below(&environment.working_dir, &environment.repo_root);
    match found.suites.as_slice() {
        [] => Err(DiscoverError::NoSuites),
        suites => Ok((suites.to_vec(), Some(found))),
    }
}

fn suites(
    paths: &[String],
    environment: &Environment,
) -> Result<(Vec<PathBuf>, Option<FoundSuites>), Refused> {
    files(paths, environment).map_err(|error| Refused::usage(error.to_string(), error.help()))
}

/// A spec with what the flags say; what they do not say stays as it is.
fn spec(args: EvalArgs, mut spec: RunSpec, environment: &Environment) -> RunSpec {
    set_some(&mut spec.targets_file, args.targets);
    if !args.target.is_empty() {
        spec.targets = targets(&args.target);
    }
    select(args.cases, &mut spec.cases);
    let cases = &mut spec.cases;
    set_some(&mut cases.changed_since, args.changed_since);
    set_some(&mut cases.sample, args.sample.and_then(|count| usize::try_from(count).ok()));
    set_some(&mut cases.seed, args.seed);
    if cases.sample.is_some() {
        cases.seed.get_or_insert(0);
    }
    set_some(&mut cases.shard, args.shard);
    set_some(&mut spec.workers, args.workers.map(usize::from));
    set_some(&mut spec.trials, args.trials);
    if args.dry_run {
        spec.dry_run = Some(DryRunDelay {
            fixed_ms: args.dry_run_delay,
            min_ms: args.dry_run_delay_min,
            max_ms: args.dry_run_delay_max,
        });
    }
    set(&mut spec.agent_timeout, args.agent_timeout);
    set(&mut spec.max_retries, args.max_retries);
    set_results(args.results, &mut spec, environment);
    for report in args.report {
        let report = absolute(&report, &environment.working_dir);
        if !spec.reports.contains(&report) {
            spec.reports.push(report);
        }
    }
    set_services(args.keep, &mut spec, environment);
    set_terms(&args.terms, &mut spec);
    spec.verbose |= args.verbose;
    spec
}

fn set<T>(value: &mut T, flag: Option<T>) {
    if let Some(flag) = flag {
        *value = flag;
    }
}

fn set_some<T>(value: &mut Option<T>, flag: Option<T>) {
    if flag.is_some() {
        *value = flag;
    }
}

fn select(args: CaseArgs, cases: &mut CaseSelection) {
    set_some(&mut cases.eval_id, args.eval_id);
    if !args.filter.is_empty() {
        cases.filter = args.filter;
    }
    if !args.tag.is_empty() {
        cases.tags = args.tag;
    }
}

fn set_results(args: ResultsArgs, spec: &mut RunSpec, environment: &Environment) {
    set_some(&mut spec.out, args.out.map(|out| environment.working_dir.join(out)));
    set(&mut spec.output_format, args.output_format.map(Into::into));
}

/// Cassettes are named as the user wrote them: errors in records name them, and are to be the same everywhere.
fn set_services(args: KeepArgs, spec: &mut RunSpec, environment: &Environment) {
    set_some(&mut spec.sign, args.sign.map(|key| environment.working_dir.join(key)));
    spec.run_folder &= !args.no_run_folder;
    match (args.cache, args.no_cache) {
        (_, true) => spec.cache = Some(false),
        (true, false) => spec.cache = Some(true),
        (false, false) => {}
    }
    set_some(&mut spec.record, args.record);
    set_some(&mut spec.replay, args.replay);
    spec.no_redact |= args.no_redact;
}

fn set_terms(terms: &TermsArgs, spec: &mut RunSpec) {
    let gates = &mut spec.gates;
    set_some(&mut gates.threshold, terms.threshold);
    set_some(&mut gates.case_threshold, terms.case_threshold);
    set_some(&mut gates.max_errors, terms.max_errors.map(|max| max as usize));
    gates.fail_fast |= terms.fail_fast;
    set_some(&mut gates.allow_errors, terms.allow_errors);
    set_some(&mut spec.budget.max_cost_usd, terms.max_cost);
    set_some(&mut spec.budget.max_tokens, terms.max_tokens);
    spec.skip_invalid |= terms.skip_invalid;
    spec.strict |= terms.strict;
    spec.sandbox |= terms.sandbox;
}

/// `default` alone means "as the files say".
fn targets(names: &[String]) -> Vec<TargetName> {
    if matches!(names, [only] if only == "default") {
        return Vec::new();
    }
    let mut targets: Vec<TargetName> = Vec::new();
    for name in names {
        let name = TargetName::from(name.as_str());
        if !targets.contains(&name) {
            targets.push(name);
        }
    }
    targets
}

/// `FORMAT=PATH` with an absolute path.
fn absolute(report: &str, working_dir: &Path) -> String {
    match report.split_once('=') {
        Some((format, path)) if !path.is_empty() && path != "-" => {
            format!("{format}={}", working_dir.join(path).display())
        }
        _ => report.to_owned(),
    }
}

/// Reports that the flags name, as they are written there.
fn check_reports(texts: &[String], environment: &Environment) -> Result<Vec<Wanted>, Refused> {
    let wanted = texts.iter().map(|text| Wanted::parse(text, &environment.working_dir));
    let wanted = wanted.collect::<Result<Vec<_>, _>>();
    wanted.map_err(|(message, help)| Refused::usage(message, help))
}
