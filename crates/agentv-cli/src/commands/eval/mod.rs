//! `agentv eval`: load, plan, run, sum up.

mod budget;
mod conclude;
mod keep;
mod next;
mod prepare;
mod reports;
mod resume;
mod services;
mod show;

use super::grade::Source;
use crate::args::EvalArgs;
use crate::settings::{Environment, EvalSettings, SettingsError, Showing};
use crate::terminal::{self, Screen, Step};
use agentv_runtime::process::{self, Processes};
use agentv_runtime::run::{Limit, Outcome, Outputs, Plan, Run, Tally};
use agentv_runtime::targets::Spending;
use agentv_wire::Exit;
use keep::Keeping;
use prepare::{Prepared, Selected, prepare};
use resume::Earlier;
use show::Over;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What is special about a run.
#[derive(Debug, Default)]
pub(crate) struct Presentation {
    /// For a demo: what to do next. It is for people, so they get the summary for people even through a pipe.
    pub next: Option<Vec<Step>>,
}

/// Why a command ends before it has begun.
pub(super) struct Refusal {
    exit: Exit,
    message: String,
    help: Option<String>,
}

impl Refusal {
    pub(super) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), help: Some(help.into()) }
    }

    pub(super) fn incomplete(message: String) -> Self {
        Self { exit: Exit::Incomplete, message, help: None }
    }
}

impl From<SettingsError> for Refusal {
    fn from(error: SettingsError) -> Self {
        Self { exit: Exit::Usage, message: error.message, help: error.help }
    }
}

/// `words` is the whole command line.
pub(crate) fn run(
    args: EvalArgs,
    words: &[OsString],
    environment: &Environment,
    presentation: &Presentation,
) -> Exit {
    report_refusal(attempt(args, words, environment, presentation))
}

/// The exit code, once a refusal was said.
pub(super) fn report_refusal(outcome: Result<Exit, Refusal>) -> Exit {
    outcome.unwrap_or_else(|Refusal { exit, message, help }| {
        terminal::complain(&message, help.as_deref());
        exit
    })
}

fn attempt(
    args: EvalArgs,
    words: &[OsString],
    environment: &Environment,
    presentation: &Presentation,
) -> Result<Exit, Refusal> {
    let runs = environment.runs();
    let ordered = resume::order(args, words, &runs, environment)?;
    let mut settings = EvalSettings::resolve(ordered.args, environment)?;
    let origin = match &ordered.resume {
        Some(wanted) => {
            services::leave_cassette(&mut settings);
            Origin::Earlier(Box::new(resume::find(wanted, &mut settings, &runs, environment)?))
        }
        None => Origin::Targets,
    };
    conduct(origin, &ordered.command, &settings, environment, presentation)
}

/// Where the answers come from.
pub(super) enum Origin {
    Targets,
    /// A run that is taken up again.
    Earlier(Box<Earlier>),
    /// Another run, whose answers are graded once more.
    Recorded(Box<Source>),
}

/// A run from its files to its exit code. Whether an answer is new or was recorded makes no difference once it is there.
pub(super) fn conduct(
    origin: Origin,
    command: &[String],
    settings: &EvalSettings,
    environment: &Environment,
    presentation: &Presentation,
) -> Result<Exit, Refusal> {
    let run_id = match &origin {
        Origin::Earlier(earlier) => earlier.folder.id.clone(),
        Origin::Targets | Origin::Recorded(_) => keep::run_id(),
    };
    let processes = Processes::new(run_id.clone());
    if matches!(origin, Origin::Earlier(_)) {
        // What the killed process has started may still be at work.
        processes.end_run();
    }
    let services = services::open(settings, environment)?;
    let mut screen = show::screen(settings.showing);
    if let Some(found) = &settings.found {
        terminal::found(found, environment, &mut screen);
    }
    let prepared = prepare(settings, environment, (&processes, &services), &mut screen)?;
    let Some(Prepared { mut plan, warnings, selected }) = prepared else {
        return Ok(Exit::Usage);
    };
    check(selected, settings)?;
    reports::check(settings)?;
    let can_resume = !matches!(origin, Origin::Recorded(_));
    let keeping = match origin {
        Origin::Earlier(earlier) => {
            budget::afford(&plan)?;
            keep::go_on(*earlier, &mut plan, settings, environment)?
        }
        Origin::Targets => {
            budget::afford(&plan)?;
            keep::begin((&run_id, command), &plan, settings, environment)?
        }
        Origin::Recorded(source) => {
            let graded = source.claim(&mut plan, settings, &mut screen)?;
            budget::afford(&plan)?;
            let keeping = keep::begin((&run_id, command), &plan, settings, environment)?;
            keeping.of_answers(graded)
        }
    };
    let Keeping { outputs, tally, resumed, book } = keeping;
    budget::count(&services.spending, resumed.as_ref(), &outputs);
    announce(&plan, settings, environment, &mut screen);
    if !selected.is_all {
        screen.line(format!("Selected: {} of {}", selected.cases, count(selected.of)));
    }
    if let Some(resumed) = &resumed {
        terminal::resumed(&run_id, resumed, &plan, &mut screen);
    }
    screen.show();
    show::begin(&run_id, &plan, &tally, settings);
    let began = Instant::now();
    let spending = Arc::clone(&services.spending);
    let outcome = execute(plan, outputs, tally, settings, (processes, spending))
        .map_err(|error| Refusal::incomplete(format!("the run cannot be started: {error}")))?;
    let over = Over {
        outcome: &outcome,
        took: began.elapsed(),
        warnings,
        run_id: &run_id,
        is_kept: book.is_some(),
        presentation,
    };
    show::sum_up(&over, settings, environment, &mut screen);
    let unwritten = services::close(&services, &outcome.ended, &mut screen);
    screen.show();
    let again = book.as_ref().filter(|_| can_resume).map(|_| run_id.as_str());
    let exit = conclude::conclude(&outcome, settings, again);
    let exit = unwritten.unwrap_or(exit);
    let results = book.as_ref().map_or_else(|| settings.out.clone(), keep::Book::results);
    if let Some(book) = book {
        book.close(&outcome, exit);
    }
    let exit = reports::write(results, settings, environment, &mut screen).max(exit);
    show::end(&over, exit, settings, environment, &mut screen);
    Ok(exit)
}

/// What can still be wrong when all files are good.
fn check(selected: Selected, settings: &EvalSettings) -> Result<(), Refusal> {
    // A share without cases is no mistake: somebody else has them all.
    let is_empty_shard = settings.selection.shard.is_some() && selected.before_lots > 0;
    if selected.cases == 0 && !is_empty_shard {
        return Err(Refusal::usage(
            "No eval cases matched the provided filters.",
            format!("the files have {}; look at {}", count(selected.of), filters(settings)),
        ));
    }
    if let Some(input) = settings.files.iter().find(|input| is_same_file(input, &settings.out)) {
        let message = format!("`--out` would overwrite the eval file `{}`", input.display());
        return Err(Refusal::usage(message, "choose another name for the results"));
    }
    Ok(())
}

fn count(cases: usize) -> String {
    if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") }
}

/// The flags that leave cases out.
fn filters(settings: &EvalSettings) -> String {
    let choice = &settings.recorded_choice;
    let flags = [
        ("`--eval-id`", choice.eval_id.is_some()),
        ("`--filter`", !choice.filter.is_empty()),
        ("`--tag`", !choice.tags.is_empty()),
        ("`--changed-since`", choice.changed_since.is_some()),
    ];
    let used: Vec<&str> = flags.iter().filter(|(_, used)| *used).map(|(flag, _)| *flag).collect();
    if used.is_empty() { "the files".to_owned() } else { used.join(", ") }
}

fn announce(plan: &Plan, settings: &EvalSettings, environment: &Environment, screen: &mut Screen) {
    let out = match settings.showing {
        Showing::Live => environment.pointed(&settings.out),
        _ => settings.out.display().to_string(),
    };
    screen.line(format!("Output path: {out}"));
    let mut named: Vec<&str> = Vec::new();
    for lane in plan.pools.iter().flat_map(|pool| &pool.lanes) {
        let label = &lane.target.label;
        // Scripts are used to a line for each file; people want to know it once.
        if settings.showing == Showing::Live && named.contains(&&**label) && !settings.run.verbose {
            continue;
        }
        named.push(label);
        if settings.run.verbose {
            let source = if !settings.choice.targets.is_empty() {
                "cli"
            } else if lane.suite.target.is_some() {
                "test-file"
            } else {
                "default"
            };
            let file = lane.target.judges.book.file.path.display();
            screen.line(format!("Using target ({source}): {label} via {file}"));
        } else {
            screen.line(format!("Using target: {label}"));
        }
    }
}

pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn execute(
    plan: Plan,
    outputs: Outputs,
    tally: Tally,
    settings: &EvalSettings,
    (processes, spending): (Arc<Processes>, Arc<Spending>),
) -> io::Result<Outcome> {
    // Without it orphans go to the system's first process; a time-out still ends the tree that can be seen.
    let _ = process::become_subreaper();
    let runtime = super::runtime()?;
    let gates = settings.gates;
    let run = Run {
        settings: settings.run,
        workers: settings.choice.workers,
        limit: Limit::new(gates.max_errors, gates.fail_fast, spending),
        outputs,
        reporter: show::reporter(settings, &tally, plan.total),
        tally,
        total: plan.total,
        pools: plan.pools,
        processes,
    };
    let outcome = runtime.block_on(agentv_runtime::run::run(run));
    // Nothing is left to be done, and its threads end with the program: to take them down would only keep the user waiting.
    std::mem::forget(runtime);
    Ok(outcome)
}
