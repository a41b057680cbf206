//! All printing is here. Data goes to stdout, everything else to stderr; colours only where somebody can see them.

mod ask;
mod case_line;
mod comparison;
mod counts;
mod diagnostics;
mod doctor;
mod events;
mod found;
mod init;
mod live;
mod markdown;
mod overview;
mod plan;
mod progress;
mod quiet;
mod regraded;
mod resumed;
mod runs;
mod screen;
mod style;
mod summary;
mod table;
mod text;
mod trials;

pub(crate) use ask::{Asker, NoAnswer};
pub(crate) use comparison::show_comparisons;
pub(crate) use diagnostics::show_notes;
pub(crate) use doctor::show_findings;
pub(crate) use events::{Events, show_event};
pub(crate) use found::found;
pub(crate) use init::{FileStep, init_found, init_next, init_step};
pub(crate) use live::Live;
pub(crate) use markdown::{code, markdown_comparisons};
pub(crate) use overview::{OverviewInput, Step, overview, steps};
pub(crate) use plan::show_plan;
pub(crate) use progress::Progress;
pub(crate) use quiet::Quiet;
pub(crate) use regraded::regraded;
pub(crate) use resumed::resumed;
pub(crate) use runs::{show_run, table};
pub(crate) use screen::{Screen, StdoutData};
pub(crate) use style::Paint;
pub(crate) use summary::{last_lines, summary};
pub(crate) use trials::trials;

use agentv_wire::Exit;
use std::io::Write;

/// Shows clap's word on a command line: help and version are no errors.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    // A closed pipe has nobody to tell.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Success }
}

/// Says why a command cannot do its work.
pub(crate) fn fail(message: &str, help: Option<&str>) -> Exit {
    complain(message, help);
    Exit::Usage
}

/// Prints an error and what to do about it.
pub(crate) fn complain(message: &str, help: Option<&str>) {
    let error = style::ERROR;
    let mut stderr = anstream::stderr();
    let _ = writeln!(stderr, "{error}error{error:#}: {message}");
    if let Some(help) = help {
        let _ = writeln!(stderr, "  {}help{:#}: {help}", style::HELP, style::HELP);
    }
}

/// Prints lines that a CI system reads. They go to stderr, since stdout may be somebody's data.
pub(crate) fn remarks(lines: &[String]) {
    let mut stderr = std::io::stderr();
    for line in lines {
        let _ = writeln!(stderr, "{line}");
    }
}

/// Says what is odd, though the work goes on.
pub(crate) fn warn(message: &str) {
    let warning = style::WARNING;
    let _ = writeln!(anstream::stderr(), "{warning}warning{warning:#}: {message}");
}

/// Passes on what a target or a judge warns of.
fn warn_of(text: &str) {
    let warning = style::WARNING;
    let _ = writeln!(anstream::stderr(), "{warning}Warning{warning:#}: {text}");
}
