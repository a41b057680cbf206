//! What may be wanted after a run, by what it came to.

use crate::settings::Environment;
use crate::terminal::Step;
use agentv_runtime::run::Ended;
use agentv_runtime::session::Summary;
use agentv_wire::{RunInfo, RunSpec};

/// At most three commands, what is needed most first.
pub(super) fn next(summary: &Summary, spec: &RunSpec, environment: &Environment) -> Vec<Step> {
    let outcome = &summary.outcome;
    let run = summary.is_kept.then_some(summary.run_id.as_str());
    let totals = &outcome.totals;
    let counts = totals.all.counts;
    let results = environment.shown(&summary.out);
    let mut steps = Vec::new();
    let mut add = |command: String, purpose| steps.push(Step { command, purpose });
    // How to resume a run that ended early is said with the reason why it did.
    let is_whole = matches!(outcome.ended, Ended::Complete);
    if run.is_some() && is_whole && counts.errors > 0 {
        add("agentv eval --resume --retry-errors".to_owned(), "run only the errors again");
    }
    if run.is_some() && totals.grading_errors > 0 {
        add("agentv grade latest".to_owned(), "run only the judges again");
    }
    if totals.recorded() > 0 {
        // Without a name it is the last run, which is this one.
        let which = if run.is_some() { String::new() } else { format!(" {results}") };
        add(format!("agentv report{which} --html report.html"), "see every case in a browser");
    }
    if run.is_some() && is_whole && counts.failed > 0 && counts.errors == 0 {
        add("agentv eval --last-failed".to_owned(), "run the failed cases again");
    }
    if run.is_some_and(|run| is_whole && has_previous(run, spec, environment)) {
        add("agentv compare".to_owned(), "see what changed since last time");
    }
    steps.truncate(3);
    steps
}

/// Whether there is another complete run of the same files with the same choices.
fn has_previous(run: &str, spec: &RunSpec, environment: &Environment) -> bool {
    let is_alike = |info: &RunInfo| {
        let other = info.spec.as_ref();
        info.run != run
            && info.ended.is_some()
            && other.is_some_and(|other| {
                (&other.suites, &other.cases, &other.targets)
                    == (&spec.suites, &spec.cases, &spec.targets)
            })
    };
    environment.runs().list().iter().any(is_alike)
}
