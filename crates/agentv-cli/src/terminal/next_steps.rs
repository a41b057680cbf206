//! Commands that may be wanted next.

use super::line::Line;
use super::screen::Screen;
use super::style::{BOLD, DIM, Paint};
use unicode_width::UnicodeWidthStr as _;

/// The widest line: that of the usual terminal.
const WIDTH: usize = 80;

/// A command that may be wanted next, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub command: String,
    pub purpose: &'static str,
}

/// Prints them. A command is there to be copied, so it is never cut; its purpose is left out where it has no room.
pub(crate) fn steps(next: &[Step], paint: Paint, screen: &mut Screen) {
    let has_room = |command: usize, step: &Step| 9 + command + 2 + step.purpose.width() <= WIDTH;
    // Purposes are below each other if all of them have room there.
    let widest = next.iter().map(|step| step.command.width()).max();
    let widest = widest.filter(|widest| next.iter().all(|step| has_room(*widest, step)));
    for (number, step) in next.iter().enumerate() {
        let word = paint.paint(DIM, if number == 0 { "Next   " } else { "       " });
        let command = paint.paint(BOLD, &step.command);
        let own = step.command.width();
        let purpose = if has_room(own, step) {
            Line::from(" ".repeat(widest.unwrap_or(own) - own + 2)) + paint.paint(DIM, step.purpose)
        } else {
            Line::default()
        };
        screen.line(word + "  " + command + purpose);
    }
}
