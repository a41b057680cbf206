//! Questions to a person at a terminal.

use super::style::Paint;
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Confirm, MultiSelect, Select};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
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

/// Asks questions on stderr.
pub(crate) struct Asker {
    theme: Box<dyn Theme>,
    /// `dialoguer` sends itself the signal when it reads Ctrl-C; with a listener for it, that is an error and not the end
    /// of the process.
    _interrupts: (Runtime, Signal),
    _keys: KeysAsInput,
}

impl Asker {
    /// `None` where no person would see the question.
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
        Some(Self { theme, _interrupts: (runtime, interrupts), _keys: KeysAsInput::start()? })
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

/// Keeps the terminal from turning Ctrl-C into a signal while questions are open. `dialoguer` does the same, but only after
/// it has drawn a question: a Ctrl-C in between was lost.
struct KeysAsInput {
    before: Termios,
}

impl KeysAsInput {
    fn start() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut modes = before.clone();
        modes.local_modes -= LocalModes::ISIG | LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(io::stdin(), OptionalActions::Drain, &modes).ok()?;
        Some(Self { before })
    }
}

impl Drop for KeysAsInput {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
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
