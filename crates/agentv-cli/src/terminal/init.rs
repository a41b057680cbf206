//! What `agentv init` found, did, and suggests.

use super::line::Line;
use super::screen::Screen;
use super::style::{BOLD, DIM, GOOD, Paint};
use unicode_width::UnicodeWidthStr as _;

/// What became of a file.
#[derive(Debug)]
pub(crate) enum FileStep {
    /// The verb, and a remark.
    Done(&'static str, String),
    /// It stays, for this reason.
    Left(String),
}

/// What is on this machine, and why it is thought to be.
pub(crate) fn init_found(offers: &[(&str, String)], screen: &mut Screen) {
    let paint = Paint::of_stdout();
    if offers.is_empty() {
        screen.line("Found no agent on PATH and no key in the environment: the target is a mock.");
        screen.line("");
        return;
    }
    screen.line("Found on this machine:");
    let width = offers.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    for (name, why) in offers {
        let margin = " ".repeat(width - name.width());
        screen.line(Line::from(format!("  {name}{margin}  ")) + paint.paint(DIM, why));
    }
    screen.line("");
}

/// A line for a file.
pub(crate) fn init_step(step: &FileStep, path: &str, screen: &mut Screen) {
    let paint = Paint::of_stdout();
    let (verb, style, remark) = match step {
        FileStep::Done(verb, remark) => (*verb, GOOD, remark),
        FileStep::Left(why) => ("kept", DIM, why),
    };
    let verb = paint.paint(style, format!("{verb:<8}"));
    let remark = if remark.is_empty() { String::new() } else { format!("  ({remark})") };
    screen.line(Line::from("  ") + verb + "  " + path + paint.paint(DIM, remark));
}

/// The lines that the user is to change, if there are any.
pub(crate) fn init_changes(lines: &[(String, String)], screen: &mut Screen) {
    if !lines.is_empty() {
        list("Change these lines:", lines, screen);
    }
}

/// The next commands.
pub(crate) fn init_next(next: &[(String, String)], screen: &mut Screen) {
    list("Next:", next, screen);
}

/// Pairs in two columns, under a title.
fn list(title: &str, pairs: &[(String, String)], screen: &mut Screen) {
    let paint = Paint::of_stdout();
    screen.line("");
    screen.line(paint.paint(BOLD, title));
    let width = pairs.iter().map(|(first, _)| first.width()).max().unwrap_or(0);
    for (first, what) in pairs {
        let margin = " ".repeat(width - first.width());
        screen.line(Line::from(format!("  {first}{margin}  ")) + paint.paint(DIM, what));
    }
}
