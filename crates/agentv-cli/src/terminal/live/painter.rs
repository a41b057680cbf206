//! A few lines at the bottom of the screen that are drawn over again and again.
//!
//! Why this is ours: the crates for it remember how many rows a frame had, and when the window has become narrower since,
//! the terminal has broken its lines and the rows are more. Here each frame is measured again with the width of now.
//! The cursor is never hidden, so that nothing has to be restored, whatever may end the program.

use super::super::line::Line;
use anstream::adapter::strip_str;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// What is on the screen, as far as it is ours.
#[derive(Debug, Default)]
pub(super) struct Painter {
    drawn: Vec<Line>,
}

/// Terminals that know these show all between them at once; others take no notice.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

impl Painter {
    /// What takes the frame off a screen of this width, for lines that are to stay.
    pub(super) fn erase(&mut self, width: usize) -> String {
        let mut out = self.to_first_row(width);
        if !self.drawn.is_empty() {
            out.push_str("\x1b[J");
        }
        self.drawn.clear();
        out
    }

    /// What puts this frame in the place of the last one; nothing if it is the same.
    pub(super) fn draw(&mut self, frame: Vec<Line>, width: usize) -> String {
        if frame == self.drawn {
            return String::new();
        }
        let mut out = format!("{BEGIN}{}", self.to_first_row(width));
        // Each line is written over and only its rest is erased: what stays the same does not flicker.
        let lines: Vec<String> =
            frame.iter().map(|line| format!("{}\x1b[K", line.as_str())).collect();
        out.push_str(&lines.join("\r\n"));
        out.push_str("\x1b[J");
        out.push_str(END);
        self.drawn = frame;
        out
    }

    /// The cursor is at the end of the last line.
    fn to_first_row(&self, width: usize) -> String {
        let rows: usize = self.drawn.iter().map(|line| rows(line.as_str(), width)).sum();
        let mut out = String::new();
        if rows > 0 {
            out.push('\r');
        }
        if rows > 1 {
            // Writing to a string cannot fail.
            let _ = write!(out, "\x1b[{}A", rows - 1);
        }
        out
    }
}

/// How many rows a line takes.
pub(in crate::terminal) fn rows(line: &str, width: usize) -> usize {
    let columns = strip_str(line).to_string().width();
    columns.div_ceil(width.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(lines: &[&str]) -> Vec<Line> {
        lines.iter().map(Line::from).collect()
    }

    #[test]
    fn the_same_frame_is_not_drawn_twice() {
        let mut painter = Painter::default();
        assert!(painter.draw(frame(&["one", "two"]), 80).contains("one\x1b[K\r\ntwo\x1b[K\x1b[J"));
        assert_eq!(painter.draw(frame(&["one", "two"]), 80), "");
        assert!(painter.draw(frame(&["one"]), 80).contains("\r\x1b[1Aone"));
    }

    #[test]
    fn a_window_that_became_narrower_is_cleared_whole() {
        let mut painter = Painter::default();
        let bold = Line::styled(anstyle::Style::new().bold(), "12345678");
        painter.draw(vec![bold, "1234".into()], 80);
        // Eight columns take two rows of five.
        assert_eq!(painter.erase(5), "\r\x1b[2A\x1b[J");
        assert_eq!(painter.erase(5), "");
    }
}
