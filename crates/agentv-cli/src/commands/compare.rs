//! `agentv compare`: runs side by side.

use crate::args::{CompareArgs, CompareFormat, Compat};
use crate::format::count;
use crate::settings::{Environment, RUN_HELP};
use crate::terminal::{
    self, Paint, Screen, ShownCases, markdown_comparisons, show_comparisons, show_comparisons_2x,
};
use agentv_core::compare::{ComparedRun, Rules, UngradedRecords, compare};
use agentv_core::gate::is_within;
use agentv_core::stats::Resampling;
use agentv_runtime::results_io::{ResultsError, ScoredRun, match_by_suite, read_scored};
use agentv_wire::comparison::{Comparison, ComparisonVerdict, Comparisons};
use agentv_wire::{Exit, number};
use std::error::Error as _;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &CompareArgs, environment: &Environment) -> Exit {
    let rules = match rules(args) {
        Ok(rules) => rules,
        Err((message, help)) => return terminal::fail(&message, Some(help)),
    };
    let names = match names(args, environment) {
        Ok(names) => names,
        Err(exit) => return exit,
    };
    let mut runs = Vec::new();
    for name in names {
        match read(&name, args.cluster.as_deref(), environment) {
            Ok(run) => runs.push((name.display().to_string(), run)),
            Err(error) => return fail(&error),
        }
    }
    if !match_by_suite(runs.iter_mut().map(|(_, run)| run)) {
        let old = runs.iter().filter(|(_, run)| !run.has_suites());
        let old: Vec<String> = old.map(|(name, _)| format!("`{name}`")).collect();
        if old.len() < runs.len() {
            terminal::warn(&format!(
                "{} does not name the suite of each record; cases are matched by `dataset`",
                old.join(", ")
            ));
        }
    }
    if let Some(exit) = args.cluster.as_deref().and_then(|key| check_clusters(key, &runs)) {
        return exit;
    }
    let compared: Vec<ComparedRun<'_>> =
        runs.iter().map(|(name, run)| ComparedRun { name, records: &run.records }).collect();
    let Some((baseline, candidates)) = compared.split_first() else { return Exit::Usage };
    let comparisons = compare(*baseline, candidates, &rules);
    let mut screen = environment.screen();
    match if args.json { CompareFormat::Json } else { args.format } {
        CompareFormat::Table if args.compat.is_some() => {
            show_comparisons_2x(&comparisons, paint(args, environment), &mut screen);
        }
        CompareFormat::Table => {
            let shown = if args.all { ShownCases::All } else { ShownCases::Changed };
            show_comparisons(&comparisons, shown, paint(args, environment), &mut screen);
        }
        CompareFormat::Markdown => markdown_comparisons(&comparisons, &mut screen),
        CompareFormat::Json => show_json(&comparisons, &mut screen),
    }
    screen.show();
    match args.compat {
        Some(Compat::TwoX) => gate_on_means(&comparisons),
        None => gate_on_verdicts(&comparisons, args),
    }
}

/// The runs to compare, the baseline first.
fn names(args: &CompareArgs, environment: &Environment) -> Result<Vec<PathBuf>, Exit> {
    match args.runs.as_slice() {
        [] => environment.last_two().map(Vec::from).map_err(|problem| {
            let help = "run the suites twice with `agentv eval`, or name two runs";
            terminal::fail(&problem, Some(help))
        }),
        [only] => {
            let message = format!("only one run to compare: `{}`", only.display());
            let help = "name the baseline first, then the candidate, as in `agentv compare previous latest`";
            Err(terminal::fail(&message, Some(help)))
        }
        runs => {
            let names = runs.iter().map(|name| environment.run_named(name, |_| true));
            names.collect::<Result<_, _>>().map_err(|error| fail(&error))
        }
    }
}

fn rules(args: &CompareArgs) -> Result<Rules, (String, &'static str)> {
    if !(args.threshold.is_finite() && args.threshold >= 0.0) {
        let message = format!("`--threshold` must not be below 0, got {}", args.threshold);
        return Err((message, "give a difference of scores, like 0.1"));
    }
    // Below this, ten thousand random patterns of signs could show nothing.
    if !(0.001..=0.5).contains(&args.level) {
        let message = format!("`--level` must be between 0.001 and 0.5, got {}", args.level);
        return Err((message, "leave it out for the usual 0.05"));
    }
    if let Some(margin) = args.margin.filter(|margin| !(*margin > 0.0 && *margin <= 1.0)) {
        let message = format!("`--margin` must be above 0 and at most 1, got {margin}");
        return Err((
            message,
            "give the largest loss of the mean score that you accept, like 0.02",
        ));
    }
    let is_counted = args.compat.is_some() && !args.exclude_errors;
    Ok(Rules {
        threshold: args.threshold,
        level: args.level,
        margin: args.margin,
        ungraded: if is_counted { UngradedRecords::AsRecorded } else { UngradedRecords::LeftOut },
        resampling: Resampling { seed: args.seed, ..Resampling::default() },
    })
}

fn read(
    name: &Path,
    cluster: Option<&str>,
    environment: &Environment,
) -> Result<ScoredRun, ResultsError> {
    let path = environment.results_of(name)?;
    let shown = shown(&path, &environment.working_dir);
    let run = read_scored(&path, &shown, cluster)?;
    if let Some(line) = run.torn {
        terminal::warn(&format!("{shown}:{line}: the last record was cut off and is left out"));
    }
    Ok(run)
}

/// Refuses a key that no case has, and says how many cases lack it.
fn check_clusters(key: &str, runs: &[(String, ScoredRun)]) -> Option<Exit> {
    let records = || runs.iter().flat_map(|(_, run)| &run.records);
    let without = records().filter(|record| record.cluster.is_none()).count();
    if without == records().count() {
        let message = format!("no record has `{key}` in its `metadata`");
        let help =
            "`--cluster` takes a key of the cases' `metadata`; results of 2.x do not have it";
        return Some(terminal::fail(&message, Some(help)));
    }
    if without > 0 {
        let without = count(without, "record does", "records do");
        terminal::warn(&format!(
            "{without} not have `{key}` in `metadata`; such a case is a cluster of its own"
        ));
    }
    None
}

/// Says what is wrong with a results file.
pub(super) fn fail(error: &ResultsError) -> Exit {
    let help = match error {
        ResultsError::Missing { .. } => Some(RUN_HELP),
        ResultsError::Malformed { .. } => {
            Some("results have one record per line, with `eval_id` and `score`")
        }
        ResultsError::Unreadable { .. } => None,
    };
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    terminal::fail(&format!("{error}{cause}"), help)
}

/// A path from the working directory, where it lies below it.
pub(super) fn shown(path: &Path, working_dir: &Path) -> String {
    path.strip_prefix(working_dir).unwrap_or(path).display().to_string()
}

fn paint(args: &CompareArgs, environment: &Environment) -> Paint {
    // Any value counts, even an empty one, as in 2.x.
    if args.no_color || environment.env.get("NO_COLOR").is_some() {
        return Paint::Plain;
    }
    Paint::of_stdout()
}

fn show_json(comparisons: &[Comparison], screen: &mut Screen) {
    let text = match comparisons {
        [only] => number::to_string_pretty(only),
        _ => number::to_string_pretty(&Comparisons { comparisons: comparisons.to_vec() }),
    };
    screen.data(&text.unwrap_or_default());
}

/// The rule of 2.x.
fn gate_on_means(comparisons: &[Comparison]) -> Exit {
    let is_worse = |comparison: &Comparison| comparison.summary.mean_delta < 0.0;
    if comparisons.iter().any(is_worse) { Exit::Gate } else { Exit::Success }
}

/// A comparison that could not look is worse than one that found something.
fn gate_on_verdicts(comparisons: &[Comparison], args: &CompareArgs) -> Exit {
    let blind = comparisons.iter().filter_map(|comparison| blindness(comparison, args));
    let blind: Vec<(String, &str)> = blind.collect();
    for (message, help) in &blind {
        terminal::complain(message, Some(help));
    }
    let is_missed = |comparison: &Comparison| {
        comparison.verdict == ComparisonVerdict::Regression
            || comparison.non_inferiority.is_some_and(|margin| margin.holds == Some(false))
    };
    if !blind.is_empty() {
        Exit::Incomplete
    } else if comparisons.iter().any(is_missed) {
        Exit::Gate
    } else {
        Exit::Success
    }
}

/// Why a comparison says nothing about the candidate, and what to do about it.
fn blindness(comparison: &Comparison, args: &CompareArgs) -> Option<(String, &'static str)> {
    let Comparison { candidate, summary, .. } = comparison;
    if comparison.matched.is_empty() {
        let message = format!("no case of `{candidate}` can be compared with the baseline");
        return Some((message, "compare runs of the same eval files whose cases are graded"));
    }
    if comparison.non_inferiority.is_some_and(|margin| margin.holds.is_none()) {
        let message = format!(
            "`--margin` cannot be checked for `{candidate}`: too few cases for an interval"
        );
        return Some((message, "use more cases, or more trials of each"));
    }
    if !args.strict {
        return None;
    }
    let all = summary.matched + summary.missing;
    if !is_within(args.max_missing, summary.missing, all) {
        let message = format!(
            "{} of {} of the baseline cannot be compared with `{candidate}`",
            summary.missing,
            count(all, "case", "cases")
        );
        let help = "run the missing cases (`agentv eval --resume RUN --retry-errors`), or allow some with `--max-missing`";
        return Some((message, help));
    }
    if comparison.verdict == ComparisonVerdict::TooFewCases {
        let message = format!("too few cases for a verdict on `{candidate}`");
        return Some((message, "use more cases; `agentv plan` says how many"));
    }
    None
}
