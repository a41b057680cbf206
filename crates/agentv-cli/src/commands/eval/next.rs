//! What may be wanted after a run, by what it came to.

use super::resume::is_of_here;
use crate::settings::{Environment, EvalSettings};
use crate::terminal::Step;
use agentv_runtime::run::{Ended, Outcome};
use agentv_wire::{RunFileKind, RunInfo};

/// At most three commands, what is needed most first. `run` is `None` where nothing is kept of the run.
pub(super) fn next(
    outcome: &Outcome,
    run: Option<&str>,
    settings: &EvalSettings,
    environment: &Environment,
) -> Vec<Step> {
    let tally = &outcome.tally;
    let results = environment.shown(&settings.out);
    let mut steps = Vec::new();
    let mut add = |command: String, purpose| steps.push(Step { command, purpose });
    // How a run that ended early goes on is said with the reason why it did.
    let is_whole = matches!(outcome.ended, Ended::Complete);
    if run.is_some() && is_whole && tally.errors > 0 {
        add("agentv eval --resume --retry-errors".to_owned(), "runs only the errors again");
    }
    if run.is_some() && tally.judge_errors > 0 {
        add("agentv grade latest".to_owned(), "asks only the judges again");
    }
    if !tally.scores.is_empty() {
        // Without a name it is the last run, which is this one.
        let which = if run.is_some() { String::new() } else { format!(" {results}") };
        add(format!("agentv report{which} --html report.html"), "shows every case in a browser");
    }
    if let Some((run, before)) =
        run.filter(|_| is_whole).and_then(|run| Some((run, before(run, settings, environment)?)))
    {
        add(format!("agentv compare {before} {run}"), "tells what is better than the last time");
    }
    steps.truncate(3);
    steps
}

/// The last complete run of the same files with the same choices.
fn before(run: &str, settings: &EvalSettings, environment: &Environment) -> Option<String> {
    let files: Vec<String> = settings.files.iter().map(|path| environment.shown(path)).collect();
    let is_alike = |info: &RunInfo| {
        let evals = info.files.iter().filter(|file| file.kind == RunFileKind::Eval);
        info.run != run
            && info.ended.is_some()
            && is_of_here(info, environment)
            && info.choice == settings.recorded_choice
            && evals.map(|file| &file.path).eq(&files)
    };
    let runs = environment.runs().list();
    runs.into_iter().find(is_alike).map(|info| info.run)
}
