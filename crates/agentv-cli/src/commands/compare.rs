//! `agentv compare`: runs side by side.

use crate::args::{CompareArgs, CompareFormat};
use crate::settings::Environment;
use crate::terminal::{self, Paint, Screen, markdown_comparisons, show_comparisons};
use agentv_core::compare::{ComparedRun, Errors, Rules, compare};
use agentv_core::stats::Resampling;
use agentv_runtime::results_io::{
    ResultsError, ScoredRun, find_results, match_by_suite, read_scored,
};
use agentv_wire::comparison::{Comparison, ComparisonVerdict, Comparisons};
use agentv_wire::{Exit, number};
use std::error::Error as _;
use std::path::Path;

pub(crate) fn run(args: &CompareArgs, environment: &Environment) -> Exit {
    let rules = match rules(args) {
        Ok(rules) => rules,
        Err((message, help)) => return terminal::fail(&message, Some(help)),
    };
    let mut runs = Vec::new();
    for path in &args.runs {
        match read(path, environment) {
            Ok(run) => runs.push((path.display().to_string(), run)),
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
    let Some(((baseline, first), candidates)) = runs.split_first() else { return Exit::Usage };
    let baseline = ComparedRun { name: baseline, records: &first.records };
    let comparisons: Vec<Comparison> = candidates
        .iter()
        .map(|(name, run)| compare(baseline, ComparedRun { name, records: &run.records }, &rules))
        .collect();
    match if args.json { CompareFormat::Json } else { args.format } {
        CompareFormat::Table => show_comparisons(&comparisons, paint(args, environment)),
        CompareFormat::Markdown => markdown_comparisons(&comparisons),
        CompareFormat::Json => show_json(&comparisons),
    }
    if args.strict { gate_on_verdicts(&comparisons) } else { gate_on_means(&comparisons) }
}

fn rules(args: &CompareArgs) -> Result<Rules, (String, &'static str)> {
    if !(args.threshold.is_finite() && args.threshold >= 0.0) {
        let message = format!("`--threshold {}` is no difference", args.threshold);
        return Err((message, "give a number from 0 on, like 0.1"));
    }
    // Below this, ten thousand random patterns of signs could show nothing.
    if !(0.001..=0.5).contains(&args.level) {
        let message = format!("`--level {}` is out of range", args.level);
        return Err((message, "give a number from 0.001 to 0.5, like 0.05"));
    }
    Ok(Rules {
        threshold: args.threshold,
        level: args.level,
        errors: if args.exclude_errors { Errors::LeaveOut } else { Errors::CountAsZero },
        resampling: Resampling { seed: args.seed, ..Resampling::default() },
    })
}

fn read(name: &Path, environment: &Environment) -> Result<ScoredRun, ResultsError> {
    let path = find_results(name, &environment.bases())?;
    let shown = shown(&path, &environment.working_dir);
    let run = read_scored(&path, &shown)?;
    if let Some(line) = run.torn {
        terminal::warn(&format!("{shown}:{line}: the last record was cut off and is left out"));
    }
    Ok(run)
}

/// Says what is wrong with a results file.
pub(super) fn fail(error: &ResultsError) -> Exit {
    let help = match error {
        ResultsError::Missing { .. } => {
            Some("name a results file, a folder with `results.jsonl`, or the id of a run")
        }
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

fn show_json(comparisons: &[Comparison]) {
    let text = match comparisons {
        [only] => number::to_string_pretty(only),
        _ => number::to_string_pretty(&Comparisons { comparisons: comparisons.to_vec() }),
    };
    Screen::new().line(text.unwrap_or_default());
}

/// The contract's plain rule.
fn gate_on_means(comparisons: &[Comparison]) -> Exit {
    let is_worse = |comparison: &Comparison| comparison.summary.mean_delta < 0.0;
    if comparisons.iter().any(is_worse) { Exit::Gate } else { Exit::Success }
}

fn gate_on_verdicts(comparisons: &[Comparison]) -> Exit {
    for comparison in comparisons {
        let candidate = &comparison.candidate;
        match comparison.verdict {
            ComparisonVerdict::TooFewCases if comparison.matched.is_empty() => {
                return terminal::fail(
                    &format!("`{candidate}` has no case in common with the baseline"),
                    Some("compare runs of the same eval files"),
                );
            }
            ComparisonVerdict::TooFewCases => {
                terminal::warn(&format!(
                    "`--strict` cannot find a regression of `{candidate}`: too few cases"
                ));
            }
            _ => {}
        }
    }
    let is_worse = |comparison: &Comparison| comparison.verdict == ComparisonVerdict::Regression;
    if comparisons.iter().any(is_worse) { Exit::Gate } else { Exit::Success }
}
