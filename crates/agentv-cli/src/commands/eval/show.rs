//! How a run is shown, from its first line to its last.

use super::Presentation;
use super::next::next;
use crate::settings::{Environment, Showing};
use crate::terminal::{
    Events, Live, OverviewInput, Paint, Progress, Quiet, Screen, last_lines, overview, show_event,
    steps, summary, trials,
};
use agentv_runtime::run::Reporter;
use agentv_runtime::session::{Session, Summary};
use agentv_wire::event::{FailedCase, FailedGrading, RunEnded};
use agentv_wire::{Exit, RunEvent, RunSpec};

/// Where things are said that are no data: what was loaded, who is asked, what was written.
pub(super) fn screen(showing: Showing, environment: &Environment) -> Screen {
    match showing {
        Showing::Lines | Showing::Live => environment.screen(),
        Showing::Quiet => Screen::nowhere(),
        Showing::Json => Screen::beside_data(),
    }
}

/// Who hears of every case.
pub(super) fn reporter(
    session: &Session,
    showing: Showing,
    environment: &Environment,
) -> Box<dyn Reporter> {
    let screen = environment.screen();
    let (totals, total) = (session.totals(), session.plan().total);
    match showing {
        Showing::Lines => Box::new(Progress::new(screen)),
        Showing::Live => Box::new(Live::start(totals, total, session.spec().verbose)),
        Showing::Quiet => Box::new(Quiet::new(Paint::of_stdout(), screen)),
        Showing::Json => Box::new(Events::new(screen)),
    }
}

/// A run that is over, with what is said of it.
pub(super) struct Finish<'a> {
    pub summary: &'a Summary,
    pub spec: &'a RunSpec,
    pub showing: Showing,
    /// How much was noticed in the files.
    pub warnings: usize,
    pub presentation: &'a Presentation,
}

/// What people are told at the end.
pub(super) fn sum_up(finish: &Finish<'_>, environment: &Environment, screen: &mut Screen) {
    let Finish { summary: Summary { outcome, took, out, .. }, warnings, .. } = *finish;
    let totals = &outcome.totals;
    let numbers = &finish.summary.totals();
    let results = format!("Results written to: {}", out.display());
    match finish.showing {
        Showing::Live | Showing::Lines if is_drawn(finish, environment) => {
            let ending = OverviewInput {
                totals,
                numbers,
                took: *took,
                results: environment.pointed(out),
                warnings,
            };
            overview(&ending, Paint::of_stdout(), screen);
        }
        Showing::Live | Showing::Lines => {
            summary(totals, numbers, screen);
            trials(&numbers.trials, screen);
            if warnings > 0 {
                let text = format!("{warnings} (shown above; --strict refuses them)");
                screen.line(format!("Warnings in files: {text}"));
            }
            if totals.recorded() > 0 {
                screen.line("");
                screen.line(results);
            }
        }
        Showing::Quiet => {
            let mut screen = environment.screen();
            last_lines(numbers, &mut screen);
            if totals.recorded() > 0 {
                screen.line(results);
            }
        }
        Showing::Json => {}
    }
}

/// Whether the summary is for people. Others read its lines, which must stay as they are.
fn is_drawn(finish: &Finish<'_>, environment: &Environment) -> bool {
    finish.showing == Showing::Live
        || finish.presentation.next.is_some()
        || environment.wants_colours()
}

/// The very last: what people can do next, and what a program is told of the whole.
pub(super) fn end(finish: &Finish<'_>, exit: Exit, environment: &Environment, screen: &mut Screen) {
    match finish.showing {
        Showing::Live | Showing::Lines if is_drawn(finish, environment) => {
            let next = (finish.presentation.next.clone())
                .unwrap_or_else(|| next(finish.summary, finish.spec, environment));
            steps(&next, Paint::of_stdout(), screen);
        }
        Showing::Json => {
            let ended = Box::new(ended(finish, exit));
            show_event(&RunEvent::Ended(ended), &mut environment.screen());
        }
        _ => {}
    }
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
