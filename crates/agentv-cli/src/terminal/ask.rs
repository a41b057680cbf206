//! Questions to somebody at a terminal.

use super::style::Paint;
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Confirm, MultiSelect, Select};
use std::io::{self, IsTerminal as _};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// Ctrl-C.
    Interrupted,
    Failed(io::Error),
}

impl From<dialoguer::Error> for NoAnswer {
    fn from(error: dialoguer::Error) -> Self {
        let dialoguer::Error::IO(error) = error;
        match error.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Failed(error),
        }
    }
}

/// Somebody who can be asked. Questions go to stderr.
pub(crate) struct Asker {
    theme: Box<dyn Theme>,
    /// With somebody listening for it, Ctrl-C becomes an answer, and the cursor comes back.
    _interrupts: (Runtime, Signal),
}

impl Asker {
    /// `None` where nobody would see the question.
    pub(crate) fn new() -> Option<Self> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let interrupts = {
            let _inside = runtime.enter();
            signal(SignalKind::interrupt()).ok()?
        };
        let theme: Box<dyn Theme> = match Paint::of_stderr() {
            Paint::Plain => Box::new(SimpleTheme),
            Paint::Coloured => Box::new(ColorfulTheme::default()),
        };
        Some(Self { theme, _interrupts: (runtime, interrupts) })
    }

    /// Which of these; all are marked at first.
    pub(crate) fn which(&self, question: &str, items: &[String]) -> Result<Vec<usize>, NoAnswer> {
        let all = vec![true; items.len()];
        let ask = MultiSelect::with_theme(&*self.theme).with_prompt(question).items(items);
        settled(ask.defaults(&all).interact())
    }

    /// One of these; the first is marked.
    pub(crate) fn one(&self, question: &str, items: &[String]) -> Result<usize, NoAnswer> {
        let ask = Select::with_theme(&*self.theme).with_prompt(question).items(items);
        settled(ask.default(0).interact())
    }

    pub(crate) fn confirm(&self, question: &str, default: bool) -> Result<bool, NoAnswer> {
        let ask = Confirm::with_theme(&*self.theme).with_prompt(question).default(default);
        settled(ask.interact())
    }
}

fn settled<T>(answer: dialoguer::Result<T>) -> Result<T, NoAnswer> {
    // A question that was broken off leaves the cursor hidden.
    answer
        .inspect_err(|_| {
            let _ = dialoguer::console::Term::stderr().show_cursor();
        })
        .map_err(NoAnswer::from)
}
