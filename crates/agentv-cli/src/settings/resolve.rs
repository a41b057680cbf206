//! What the flags mean: nothing optional is left that is not truly optional.

use super::Environment;
use crate::args::{EvalArgs, KeepArgs, OutputFormat, ReportFormat, TermsArgs};
use crate::report::Wanted;
use agentv_core::{TargetName, Trials};
use agentv_runtime::cache::CacheChoice;
use agentv_runtime::load::{
    BadGlob, BadShard, DiscoverError, FoundSuites, Glob, IdFilter, Sample, Selection, eval_files,
    suites_below,
};
use agentv_runtime::providers::mock::DryRunDelay;
use agentv_runtime::run::{Choice, RunSettings};
use agentv_runtime::targets::Budget;
use agentv_runtime::writers::WriterKind;
use agentv_wire::RunChoice;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// A run as it was ordered.
#[derive(Debug)]
pub(crate) struct EvalSettings {
    pub files: Vec<PathBuf>,
    /// What was found where the command line names no file.
    pub found: Option<FoundSuites>,
    pub targets_file: Option<PathBuf>,
    /// But for what changed, which Git has to be asked for.
    pub selection: Selection,
    pub changed_since: Option<String>,
    pub choice: Choice,
    /// Where the user wants the results, if a wish was stated.
    pub out_given: bool,
    pub out: PathBuf,
    pub writer: &'static WriterKind,
    pub run: RunSettings,
    pub gates: Gates,
    /// How much the run may spend.
    pub budget: Budget,
    /// What is written besides, when the run is over.
    pub reports: Vec<Wanted>,
    /// What the flags say of remembered answers; `None` leaves it to the files.
    pub cache: Option<CacheChoice>,
    /// A cassette to be written. As the user wrote it, since errors in records name it and are to be the same everywhere.
    pub record: Option<PathBuf>,
    /// A cassette to be answered from.
    pub replay: Option<PathBuf>,
    /// Leave out what cannot be used.
    pub skip_invalid: bool,
    /// Warnings are errors.
    pub strict: bool,
    pub keep: Keep,
    pub showing: Showing,
    /// The choice of cases and targets as `run.json` has it.
    pub recorded_choice: RunChoice,
}

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// Line by line, in the shape that scripts read.
    Lines,
    /// Drawn over, for somebody at a terminal.
    Live,
    /// What did not pass, and the end of it.
    Quiet,
    /// An event per line.
    Json,
}

impl Showing {
    fn of(args: &EvalArgs, environment: &Environment) -> Self {
        match args.format {
            ReportFormat::Json => Self::Json,
            ReportFormat::Text if args.quiet => Self::Quiet,
            ReportFormat::Text if environment.is_watched() => Self::Live,
            ReportFormat::Text => Self::Lines,
        }
    }
}

/// What becomes of a run when it is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keep {
    /// Whether there is to be a run folder.
    pub folder: bool,
    /// With a run that is taken up again: errors are tried again.
    pub retry_errors: bool,
}

/// What the results must reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gates {
    pub target_mean: Option<f64>,
    pub every_case: Option<f64>,
    pub allow_errors: bool,
    /// Start no more cases after so many errors.
    pub max_errors: Option<usize>,
    /// Start no more cases after one that did not pass.
    pub fail_fast: bool,
}

/// A flag that makes no sense.
#[derive(Debug)]
pub(crate) struct SettingsError {
    pub message: String,
    pub help: Option<String>,
}

impl SettingsError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()) }
    }
}

impl EvalSettings {
    pub(crate) fn resolve(
        args: EvalArgs,
        environment: &Environment,
    ) -> Result<Self, SettingsError> {
        let (files, found) = files(&args.paths, environment)
            .map_err(|error| SettingsError::new(error.to_string(), error.help()))?;
        let selection = selection(&args)?;
        let (gates, budget) = (gates(&args.terms)?, budget(&args.terms)?);
        let writer = writer(args.results.output_format)?;
        let reports = reports(&args, environment)?;
        let showing = Showing::of(&args, environment);
        let targets = targets(&args.target);
        let recorded_choice = RunChoice {
            targets: targets.iter().map(ToString::to_string).collect(),
            eval_id: args.cases.eval_id,
            filter: args.cases.filter,
            tags: args.cases.tag,
            changed_since: args.changed_since.clone(),
            sample: selection.sample.map(|sample| sample.count),
            seed: selection.sample.map(|sample| sample.seed),
            shard: args.shard,
        };
        Ok(Self {
            files,
            found,
            targets_file: args.targets,
            selection,
            changed_since: args.changed_since,
            out_given: args.results.out.is_some(),
            out: match args.results.out {
                Some(out) => environment.working_dir.join(out),
                None => unnamed("eval", writer, environment),
            },
            writer,
            run: RunSettings {
                agent_timeout: time_limit(args.agent_timeout),
                max_retries: args.max_retries,
                verbose: args.verbose,
            },
            gates,
            budget,
            choice: Choice {
                targets,
                regrade: false,
                workers: args.workers.and_then(|workers| NonZeroUsize::new(workers.into())),
                trials: args.trials.and_then(Trials::new),
                dry_run: args.dry_run.then_some(DryRunDelay {
                    fixed_ms: args.dry_run_delay,
                    min_ms: args.dry_run_delay_min,
                    max_ms: args.dry_run_delay_max,
                }),
            },
            reports,
            cache: cache(&args.keep),
            record: args.keep.record,
            replay: args.keep.replay,
            skip_invalid: args.terms.skip_invalid,
            strict: args.terms.strict,
            keep: Keep {
                // A dry run costs nothing, so there is nothing to be kept of it.
                folder: !args.keep.no_run_folder && !args.dry_run,
                retry_errors: args.retry_errors,
            },
            showing,
            recorded_choice,
        })
    }
}

/// The files that are named, else all suites that are here.
pub(crate) fn files(
    paths: &[String],
    environment: &Environment,
) -> Result<(Vec<PathBuf>, Option<FoundSuites>), DiscoverError> {
    if !paths.is_empty() {
        return eval_files(paths, &environment.working_dir).map(|files| (files, None));
    }
    let found = suites_below(&environment.working_dir, &environment.repo_root);
    match found.suites.as_slice() {
        [] => Err(DiscoverError::NoSuites),
        suites => Ok((suites.to_vec(), Some(found))),
    }
}

/// What must hold for the run to be a good one.
fn gates(terms: &TermsArgs) -> Result<Gates, SettingsError> {
    for (flag, score) in
        [("--threshold", terms.threshold), ("--case-threshold", terms.case_threshold)]
    {
        if let Some(score) = score.filter(|score| !(0.0..=1.0).contains(score)) {
            return Err(SettingsError::new(
                format!("`{flag} {score}` is no score"),
                "scores go from 0 to 1",
            ));
        }
    }
    Ok(Gates {
        target_mean: terms.threshold,
        every_case: terms.case_threshold,
        allow_errors: terms.allow_errors,
        max_errors: terms.max_errors.map(|max| max as usize),
        fail_fast: terms.fail_fast,
    })
}

fn budget(terms: &TermsArgs) -> Result<Budget, SettingsError> {
    if let Some(cost) = terms.max_cost.filter(|cost| !(cost.is_finite() && *cost > 0.0)) {
        return Err(SettingsError::new(
            format!("`--max-cost {cost}` is no budget"),
            "give dollars above 0, like 2.5",
        ));
    }
    Ok(Budget { max_cost_usd: terms.max_cost, max_tokens: terms.max_tokens })
}

/// Which cases the flags ask for.
fn selection(args: &EvalArgs) -> Result<Selection, SettingsError> {
    let bad_glob = |error: BadGlob| SettingsError { message: error.to_string(), help: None };
    let shard = args.shard.as_deref().map(str::parse).transpose().map_err(|error: BadShard| {
        SettingsError::new(error.to_string(), "write `--shard 2/8` for the second of eight")
    })?;
    let filters =
        args.cases.filter.iter().map(|text| IdFilter::new(text)).collect::<Result<_, _>>();
    Ok(Selection {
        eval_id: args.cases.eval_id.as_deref().map(Glob::new).transpose().map_err(bad_glob)?,
        filters: filters.map_err(bad_glob)?,
        tags: args.cases.tag.clone(),
        changed: None,
        sample: args.sample.map(|count| Sample {
            count: usize::try_from(count).unwrap_or(usize::MAX),
            seed: args.seed,
        }),
        shard,
    })
}

/// A report that cannot be written is known before anything is paid for, as far as that goes.
fn reports(args: &EvalArgs, environment: &Environment) -> Result<Vec<Wanted>, SettingsError> {
    let wanted = args.report.iter().map(|text| Wanted::parse(text, &environment.working_dir));
    let wanted = wanted.collect::<Result<Vec<_>, _>>();
    let mut wanted = wanted.map_err(|(message, help)| SettingsError::new(message, help))?;
    // A run that is taken up again may be told again what it was told before.
    let mut seen = Vec::new();
    wanted.retain(|one| {
        let key = (one.kind.name, one.destination.clone());
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    Ok(wanted)
}

fn cache(keep: &KeepArgs) -> Option<CacheChoice> {
    match (keep.cache, keep.no_cache) {
        (_, true) => Some(CacheChoice::Never),
        (true, false) => Some(CacheChoice::Models),
        (false, false) => None,
    }
}

/// `default` alone has always meant "as the files say".
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

/// 0, or less, means no limit.
fn time_limit(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero())
}

fn writer(format: OutputFormat) -> Result<&'static WriterKind, SettingsError> {
    let writer = match format {
        OutputFormat::Jsonl => WriterKind::find("jsonl"),
        OutputFormat::Yaml => WriterKind::find("yaml"),
    };
    writer.ok_or_else(|| SettingsError::new("there is no such output format", "use jsonl or yaml"))
}

/// Where the results of a command go if nobody says so.
pub(crate) fn unnamed(command: &str, writer: &WriterKind, environment: &Environment) -> PathBuf {
    let stamp = format!("{:.3}", jiff::Timestamp::now()).replace([':', '.'], "-");
    let path = format!(".agentv/results/{command}_{stamp}.{}", writer.extension);
    environment.project_root.join(path)
}
