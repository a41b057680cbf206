//! `agentv eval`: flags become a session, and its events become lines.

mod cluster;
mod next;
mod reports;
mod show;
mod watch;

use crate::args::EvalArgs;
use crate::settings::{Environment, RunOrder, Showing};
use crate::terminal::{self, Screen, Step, show_notes};
use agentv_runtime::run::Executor;
use agentv_runtime::session::{Opened, Refused, Session, Summary};
use agentv_wire::Exit;
use show::Finish;
use std::ffi::OsString;
use std::sync::Arc;

/// What is special about how a run is shown.
#[derive(Debug, Default)]
pub(crate) struct Presentation {
    /// For a demo: what to do next.
    pub next: Option<Vec<Step>>,
}

/// `words` is the whole command line.
pub(crate) fn run(args: EvalArgs, words: &[OsString], environment: &Environment) -> Exit {
    if args.watch {
        return on_runtime(watch::watch(&args, words, environment));
    }
    let order = RunOrder::of_eval(args, words, environment);
    conduct(order, environment, &Presentation::default())
}

/// Shows a run from its first line to its exit code.
pub(super) fn conduct(
    order: Result<RunOrder, Refused>,
    environment: &Environment,
    presentation: &Presentation,
) -> Exit {
    on_runtime(async {
        let conducted = carry_out(order, environment, presentation).await;
        conducted.unwrap_or_else(|refused| report_refusal(&refused, environment))
    })
}

fn on_runtime(work: impl Future<Output = Exit>) -> Exit {
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    let exit = runtime.block_on(work);
    // Nothing is left to be done, and its threads end with the program: to take them down would only keep the user waiting.
    std::mem::forget(runtime);
    exit
}

async fn carry_out(
    order: Result<RunOrder, Refused>,
    environment: &Environment,
    presentation: &Presentation,
) -> Result<Exit, Refused> {
    let order = order?;
    reports::check(&order)?;
    Box::pin(attempt(order, environment, presentation)).await
}

/// Says why there is no run.
fn report_refusal(refused: &Refused, environment: &Environment) -> Exit {
    show_notes(&refused.report, &environment.working_dir);
    if let Some(regrading) = &refused.regrading {
        let mut screen = environment.screen();
        terminal::regraded(regrading, &mut screen);
        screen.show();
    }
    if refused.exit == Exit::Success {
        Screen::beside_data().line(refused.message.as_str());
    } else {
        terminal::complain(&refused.message, refused.help.as_deref());
    }
    refused.exit
}

async fn attempt(
    order: RunOrder,
    environment: &Environment,
    presentation: &Presentation,
) -> Result<Exit, Refused> {
    let RunOrder { order, found, showing, reports, cluster } = order;
    let mut screen = show::screen(showing, environment);
    if let Some(found) = &found {
        terminal::found(found, environment, &mut screen);
    }
    // Before anything is written: a run that no cluster takes is no run.
    let link = match &cluster {
        Some(access) => Some(cluster::connect(access).await?),
        None => None,
    };
    let opened = Session::open(order, &environment.session).await?;
    announce(&opened, showing, environment, &mut screen);
    let warnings = opened.report.noticed();
    let is_resumed = opened.resumed.is_some();
    let mut session = opened.session;
    let spec = session.spec().clone();
    let observer = show::reporter(&session, showing, environment);
    let mut coordinator = None;
    if let Some(link) = link {
        let wants_updates = observer.wants_phases();
        let opened = cluster::coordinate(link, &session, (is_resumed, wants_updates), environment);
        let opened = coordinator.insert(Box::pin(opened).await?);
        session = session.with_executor(Arc::clone(opened) as Arc<dyn Executor>);
    }
    let summary = session.run(observer).await;
    if let Some(coordinator) = coordinator {
        coordinator.close().await;
    }
    let next = show::next_steps(&summary, &spec, showing, presentation, environment);
    let finish = Finish { summary: &summary, showing, warnings, next, reports: reports.len() };
    show::sum_up(&finish, environment, &mut screen);
    conclude(&summary, &mut screen);
    let written = reports::write(&summary, &reports, &spec.suites, environment, &mut screen);
    let exit = written.max(summary.conclusion.exit);
    show::end(&finish, exit, environment, &mut screen);
    Ok(exit)
}

/// What is known before the first case.
fn announce(opened: &Opened, showing: Showing, environment: &Environment, screen: &mut Screen) {
    let session = &opened.session;
    let is_verbose = session.spec().verbose;
    if is_verbose {
        opened.env_files.iter().for_each(|files| announce_env(files, screen));
    }
    show_notes(&opened.report, &environment.working_dir);
    opened.warnings.iter().for_each(|warning| terminal::warn(warning));
    if let Some(regrading) = &opened.regrading {
        terminal::regraded(regrading, screen);
    }
    let out = match showing {
        Showing::Live => environment.pointed(session.out()),
        _ => session.out().display().to_string(),
    };
    screen.line(format!("Output path: {out}"));
    announce_targets(session, showing, screen);
    let selected = &opened.selected;
    if !selected.is_all {
        let of = crate::format::count(selected.of, "case", "cases");
        screen.line(format!("Selected: {} of {of}", selected.cases));
    }
    if let Some(resumed) = &opened.resumed {
        terminal::resumed(session.run_id(), resumed, session.plan(), screen);
    }
    screen.show();
}

fn announce_env(files: &[std::path::PathBuf], screen: &mut Screen) {
    if files.is_empty() {
        screen.line("No .env file found in hierarchy");
    }
    for path in files {
        screen.line(format!("Loaded environment from: {}", path.display()));
    }
}

fn announce_targets(session: &Session, showing: Showing, screen: &mut Screen) {
    let spec = session.spec();
    let mut named: Vec<&str> = Vec::new();
    for lane in session.plan().lanes() {
        let label = &lane.target.label;
        // 2.x had a line for each file; people want to know it once.
        if showing != Showing::Compat2x && named.contains(&&**label) && !spec.verbose {
            continue;
        }
        named.push(label);
        if spec.verbose {
            let source = if !spec.targets.is_empty() {
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

/// What failed with the run as a whole.
fn conclude(summary: &Summary, screen: &mut Screen) {
    if let Some((path, calls)) = &summary.cassette {
        screen.line(format!("Cassette written to: {} ({calls} calls)", path.display()));
    }
    screen.show();
    let conclusion = &summary.conclusion;
    conclusion.warnings.iter().for_each(|warning| terminal::warn(warning));
    for problem in &conclusion.problems {
        terminal::complain(&problem.message, problem.help.as_deref());
    }
}
