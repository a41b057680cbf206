//! The few colours.

use super::line::Line;
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use std::io;

pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const HELP: Style = AnsiColor::Cyan.on_default().bold();
pub(super) const PLAIN: Style = Style::new();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
/// There is no answer, which is not the same as a bad one.
pub(super) const NO_ANSWER: Style = AnsiColor::Magenta.on_default();
pub(super) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();

/// Whether standard output gets colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Coloured,
}

impl Paint {
    /// As the terminal and its usual variables say.
    pub(crate) fn of_stdout() -> Self {
        Self::of(AutoStream::choice(&io::stdout()))
    }

    /// The same for standard error.
    pub(super) fn of_stderr() -> Self {
        Self::of(AutoStream::choice(&io::stderr()))
    }

    fn of(choice: anstream::ColorChoice) -> Self {
        match choice {
            anstream::ColorChoice::Never => Self::Plain,
            _ => Self::Coloured,
        }
    }

    /// Nothing has no colour.
    pub(super) fn paint(self, style: Style, text: impl AsRef<str>) -> Line {
        let text = text.as_ref();
        match self {
            Self::Coloured if style != PLAIN && !text.is_empty() => Line::styled(style, text),
            _ => Line::from(text),
        }
    }
}
