//! How a run is shown, from its first line to its last.

use super::Presentation;
use super::next::next;
use crate::settings::{Environment, Showing};
use crate::terminal::{
    Events, Live, OverviewInput, Paint, Progress, Progress2x, Quiet, Screen, Step, overview,
    show_event, steps, summary, totals_lines, trials,
};
use agentv_runtime::run::Reporter;
use agentv_runtime::session::{Session, Summary};
use agentv_wire::event::{FailedCase, FailedGrading, RunEnded};
use agentv_wire::{Exit, RunEvent, RunSpec};

/// Where messages go that are not data: what was loaded, which target is called, what was written.
pub(super) fn screen(showing: Showing, environment: &Environment) -> Screen {
    match showing {
        Showing::Lines | Showing::Live | Showing::Compat2x => environment.screen(),
        Showing::Quiet => Screen::nowhere(),
        Showing::Json => Screen::beside_data(),
    }
}

/// Colours of what is shown. A log has none, even on a terminal, unless it is told to.
fn paint(showing: Showing, environment: &Environment) -> Paint {
    match showing {
        Showing::Lines if !environment.wants_colours() => Paint::Plain,
        _ => Paint::of_stdout(),
    }
}

/// What gets every event of the run.
pub(super) fn reporter(
    session: &Session,
    showing: Showing,
    environment: &Environment,
) -> Box<dyn Reporter> {
    let (screen, paint) = (environment.screen(), paint(showing, environment));
    let (totals, total) = (session.totals(), session.plan().total);
    match showing {
        Showing::Lines => Box::new(Progress::new(paint, screen)),
        Showing::Compat2x => Box::new(Progress2x::new(screen)),
        Showing::Live => Box::new(Live::start(totals, total, session.spec().verbose)),
        Showing::Quiet => Box::new(Quiet::new(paint, screen)),
        Showing::Json => Box::new(Events::new(screen)),
    }
}

/// A run that is over, with what is said of it.
pub(super) struct Finish<'a> {
    pub summary: &'a Summary,
    pub showing: Showing,
    /// How much was noticed in the files.
    pub warnings: usize,
    /// What may be wanted next.
    pub next: Vec<Step>,
    /// How many reports will be written.
    pub reports: usize,
}

/// What may be wanted next, where it is shown.
pub(super) fn next_steps(
    summary: &Summary,
    spec: &RunSpec,
    showing: Showing,
    presentation: &Presentation,
    environment: &Environment,
) -> Vec<Step> {
    match (showing, &presentation.next) {
        (Showing::Live | Showing::Lines, Some(next)) => next.clone(),
        (Showing::Live | Showing::Lines, None) => next(summary, spec, environment),
        _ => Vec::new(),
    }
}

/// What people are told at the end.
pub(super) fn sum_up(finish: &Finish<'_>, environment: &Environment, screen: &mut Screen) {
    let Finish { summary: Summary { outcome, took, out, .. }, warnings, showing, .. } = *finish;
    let totals = &outcome.totals;
    let numbers = &finish.summary.totals();
    let paint = paint(showing, environment);
    match showing {
        Showing::Live | Showing::Lines => {
            let input = OverviewInput {
                totals,
                numbers,
                took: *took,
                results: environment.pointed(out),
                warnings,
                below: &below(finish),
                is_watched: showing == Showing::Live,
            };
            overview(&input, paint, screen);
        }
        Showing::Compat2x => {
            summary(totals, numbers, screen);
            trials(&numbers.trials, screen);
            if warnings > 0 {
                let text = format!("{warnings} (shown above; --strict refuses them)");
                screen.line(format!("Warnings in files: {text}"));
            }
            if totals.recorded() > 0 {
                screen.line("");
                screen.line(format!("Results written to: {}", out.display()));
            }
        }
        Showing::Quiet => {
            let mut screen = environment.screen();
            for line in totals_lines(totals, numbers, *took, paint) {
                screen.line(line);
            }
            if totals.recorded() > 0 {
                screen.line(format!("Results  {}", environment.pointed(out)));
            }
        }
        Showing::Json => {}
    }
}

/// The lines that follow the summary, as far as they are known: what failed with the whole run, reports and next steps.
fn below(finish: &Finish<'_>) -> Vec<String> {
    let Summary { conclusion, cassette, .. } = finish.summary;
    let lines = finish.next.len() + finish.reports + usize::from(cassette.is_some());
    let problems = conclusion.problems.iter().flat_map(|problem| {
        let help = problem.help.as_ref().map(|help| format!("  help: {help}"));
        std::iter::once(format!("error: {}", problem.message)).chain(help)
    });
    let warnings = conclusion.warnings.iter().map(|warning| format!("warning: {warning}"));
    problems.chain(warnings).chain(std::iter::repeat_n(String::new(), lines)).collect()
}

/// The very last: what people can do next, and what a program is told of the whole.
pub(super) fn end(finish: &Finish<'_>, exit: Exit, environment: &Environment, screen: &mut Screen) {
    if finish.showing == Showing::Json {
        let ended = Box::new(ended(finish, exit));
        show_event(&RunEvent::Ended(ended), &mut environment.screen());
    }
    steps(&finish.next, paint(finish.showing, environment), screen);
}

fn ended(finish: &Finish<'_>, exit: Exit) -> RunEnded {
    let Summary { run_id, outcome, took, out, .. } = finish.summary;
    let highlights = &outcome.totals.highlights;
    let failures = highlights.failures.iter().map(|failure| FailedCase {
        suite: failure.suite.clone(),
        eval_id: failure.placed.eval_id.clone(),
        target: failure.target.clone(),
        trial: failure.trial,
        score: failure.placed.score,
        misses: failure.misses.clone(),
        reasoning: failure.reasoning.clone(),
        answer: failure.answer.clone(),
    });
    let grading_errors = highlights.grading_errors.iter().map(|error| FailedGrading {
        eval_id: error.eval_id.clone(),
        evaluator: error.evaluator.clone(),
        message: error.message.clone(),
    });
    RunEnded {
        run: run_id.clone(),
        exit_code: exit as u8,
        duration_ms: took.as_secs_f64() * 1000.0,
        totals: finish.summary.totals(),
        failures: failures.collect(),
        grading_errors: grading_errors.collect(),
        retries: outcome.totals.retries,
        out: out.display().to_string(),
    }
}
