//! All printing is here. Data goes to stdout, everything else to stderr; colours only on a terminal.

mod ask;
mod case_line;
mod causes;
mod cluster;
mod comparison;
mod counts;
mod diagnostics;
mod doctor;
mod events;
mod found;
mod init;
mod line;
mod live;
mod markdown;
mod next_steps;
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
mod totals;
mod trials;
mod verification;

pub(crate) use ask::{Asker, NoAnswer};
pub(crate) use cluster::show_cluster;
pub(crate) use comparison::{ShownCases, show_comparisons, show_comparisons_2x};
#[cfg(feature = "fuzzing")]
pub(crate) use diagnostics::render_note;
pub(crate) use diagnostics::show_notes;
pub(crate) use doctor::{show_children, show_findings};
pub(crate) use events::{Events, show_event};
pub(crate) use found::found;
pub(crate) use init::{FileStep, init_changes, init_found, init_next, init_step};
pub(crate) use live::Live;
pub(crate) use markdown::{code, markdown_comparisons};
pub(crate) use next_steps::{Step, steps};
pub(crate) use overview::{OverviewInput, overview};
pub(crate) use plan::show_plan;
pub(crate) use progress::{Progress, Progress2x};
pub(crate) use quiet::Quiet;
pub(crate) use regraded::regraded;
pub(crate) use resumed::resumed;
pub(crate) use runs::{show_run, table};
pub(crate) use screen::{Screen, StandardOutput, StdoutData};
pub(crate) use style::Paint;
pub(crate) use summary::summary;
pub(crate) use totals::totals_lines;
pub(crate) use trials::trials;
pub(crate) use verification::show_verification;

use agentv_wire::Exit;
use line::Line;

/// Shows clap's word on a command line: help and version are no errors.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    let output = StandardOutput::default();
    output.usage(error);
    output.conclude(if error.use_stderr() { Exit::Usage } else { Exit::Success })
}

/// Says why a command cannot do its work.
pub(crate) fn fail(message: &str, help: Option<&str>) -> Exit {
    complain(message, help);
    Exit::Usage
}

/// Prints an error and what to do about it.
pub(crate) fn complain(message: &str, help: Option<&str>) {
    let (mut screen, paint) = (Screen::beside_data(), Paint::of_stderr());
    screen.line(paint.paint(style::ERROR, "error") + ": " + message);
    if let Some(help) = help {
        screen.line(Line::from("  ") + paint.paint(style::HELP, "help") + ": " + help);
    }
}

/// Prints lines that a CI system reads. They go to stderr, since stdout may be data.
pub(crate) fn remarks(lines: &[String]) {
    Screen::beside_data().commands(lines);
}

/// Says what is odd, though the work goes on.
pub(crate) fn warn(message: &str) {
    warning("warning", message);
}

/// Passes on what a target or a judge warns of.
fn warn_of(text: &str) {
    warning("Warning", text);
}

fn warning(word: &str, text: &str) {
    let word = Paint::of_stderr().paint(style::WARNING, word);
    Screen::beside_data().line(word + ": " + text);
}
