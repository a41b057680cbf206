//! How a run is shown, from its first line to its last.

use super::next::next;
use super::{Presentation, keep};
use crate::settings::{Environment, EvalSettings, Showing};
use crate::terminal::{
    Ending, Events, Live, Paint, Progress, Quiet, Screen, last_lines, overview, show_event, steps,
    summary, trials,
};
use agentv_runtime::run::{Outcome, Plan, Reporter, Tally};
use agentv_wire::Exit;
use agentv_wire::progress::{
    EvaluatorTotals, FailedCase, FailedGrading, ProgressEvent, RunBegins, RunSummary,
};
use std::time::Duration;

/// Where things are said that are no data: what was loaded, who is asked, what was written.
pub(super) fn screen(showing: Showing) -> Screen {
    match showing {
        Showing::Lines | Showing::Live => Screen::new(),
        Showing::Quiet => Screen::nowhere(),
        Showing::Json => Screen::beside_data(),
    }
}

/// Tells a program what is to come.
pub(super) fn begin(run: &str, plan: &Plan, tally: &Tally, settings: &EvalSettings) {
    if settings.showing != Showing::Json {
        return;
    }
    let lanes = plan.pools.iter().flat_map(|pool| &pool.lanes);
    let begins = RunBegins {
        run: run.to_owned(),
        total: plan.total,
        done: tally.scores.len(),
        out: settings.out.display().to_string(),
        targets: lanes.map(|lane| lane.target.label.to_string()).collect(),
    };
    show_event(&ProgressEvent::Run(begins), &mut Screen::new());
}

/// Who hears of every case.
pub(super) fn reporter(settings: &EvalSettings, tally: &Tally, total: usize) -> Box<dyn Reporter> {
    let done = tally.scores.len();
    match settings.showing {
        Showing::Lines => Box::new(Progress::new(done, total)),
        Showing::Live => Box::new(Live::start(tally, total, settings.run.verbose)),
        Showing::Quiet => Box::new(Quiet::new(Paint::of_stdout())),
        Showing::Json => Box::new(Events::new(done, total)),
    }
}

/// A run that is over, with what is said of it.
pub(super) struct Over<'a> {
    pub outcome: &'a Outcome,
    pub took: Duration,
    pub warnings: usize,
    pub run_id: &'a str,
    /// Whether there is a run folder.
    pub is_kept: bool,
    pub presentation: &'a Presentation,
}

/// What people are told at the end.
pub(super) fn sum_up(
    over: &Over<'_>,
    settings: &EvalSettings,
    environment: &Environment,
    screen: &mut Screen,
) {
    let tally = &over.outcome.tally;
    let results = format!("Results written to: {}", settings.out.display());
    match settings.showing {
        Showing::Live | Showing::Lines if is_drawn(over, settings, environment) => {
            let ending = Ending {
                tally,
                took: over.took,
                results: environment.pointed(&settings.out),
                warnings: over.warnings,
            };
            overview(&ending, Paint::of_stdout(), screen);
        }
        Showing::Live | Showing::Lines => {
            summary(tally, screen);
            trials(&tally.trials.totals(), screen);
            let warnings = over.warnings;
            if warnings > 0 {
                let text = format!("{warnings} (shown above; --strict refuses them)");
                screen.line(format!("Warnings in files: {text}"));
            }
            if !tally.scores.is_empty() {
                screen.line(format!("\n{results}"));
            }
        }
        Showing::Quiet => {
            let mut screen = Screen::new();
            last_lines(tally, &mut screen);
            if !tally.scores.is_empty() {
                screen.line(results);
            }
        }
        Showing::Json => {}
    }
}

/// Whether the summary is for people. Others read its lines, which must stay as they are.
fn is_drawn(over: &Over<'_>, settings: &EvalSettings, environment: &Environment) -> bool {
    settings.showing == Showing::Live
        || over.presentation.next.is_some()
        || environment.wants_colours()
}

/// The very last: what people can do next, and what a program is told of the whole.
pub(super) fn end(
    over: &Over<'_>,
    exit: Exit,
    settings: &EvalSettings,
    environment: &Environment,
    screen: &mut Screen,
) {
    match settings.showing {
        Showing::Live | Showing::Lines if is_drawn(over, settings, environment) => {
            let run = over.is_kept.then_some(over.run_id);
            let next = (over.presentation.next.clone())
                .unwrap_or_else(|| next(over.outcome, run, settings, environment));
            steps(&next, Paint::of_stdout(), screen);
        }
        Showing::Json => {
            let summary = Box::new(run_summary(over, exit, settings));
            show_event(&ProgressEvent::Summary(summary), &mut Screen::new());
        }
        _ => {}
    }
}

fn run_summary(over: &Over<'_>, exit: Exit, settings: &EvalSettings) -> RunSummary {
    let tally = &over.outcome.tally;
    let evaluators = tally.evaluators.iter().map(|(name, evaluator)| {
        let totals = EvaluatorTotals {
            kind: evaluator.kind.clone(),
            graded: evaluator.cases,
            passed: evaluator.passed,
            errors: evaluator.errors,
            mean_score: evaluator.mean(),
            weights: evaluator.weights,
        };
        (name.clone(), totals)
    });
    let failures = tally.failures.iter().map(|failure| FailedCase {
        eval_id: failure.placed.eval_id.clone(),
        target: failure.target.clone(),
        score: failure.placed.score,
        misses: failure.why.misses.clone(),
        reasoning: failure.why.reasoning.clone(),
        answer: failure.why.answer.clone(),
    });
    let judge_errors = tally.judge_failures.iter().map(|(eval_id, error)| FailedGrading {
        eval_id: eval_id.clone(),
        evaluator: error.evaluator.clone(),
        message: error.message.clone(),
    });
    RunSummary {
        run: over.run_id.to_owned(),
        exit_code: exit as u8,
        duration_ms: over.took.as_secs_f64() * 1000.0,
        totals: keep::totals(tally),
        cost_usd: tally.used.cost_usd,
        input_tokens: tally.used.input_tokens,
        output_tokens: tally.used.output_tokens,
        evaluators: evaluators.collect(),
        failures: failures.collect(),
        judge_errors: judge_errors.collect(),
        out: settings.out.display().to_string(),
    }
}
