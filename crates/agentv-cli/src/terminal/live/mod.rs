//! The run as it goes, drawn over ten times a second, for a terminal.

mod board;
mod painter;
mod running;

use super::case_line::case_line;
use super::line::Line;
use super::screen::{Screen, draw, stdout_size};
use super::style::{self, Paint};
use agentv_core::totals::Totals;
use agentv_runtime::run::Reporter;
use agentv_wire::event::{CaseFinished, LogLine};
use agentv_wire::{LogLevel, Outcome, RunEvent};
use board::Board;
pub(super) use board::whole;
use painter::Painter;
pub(super) use painter::rows;
use std::io;
use std::panic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the screen is drawn over, at most.
const EVERY: Duration = Duration::from_millis(100);
/// How many cases that did not pass have a line of their own as they come; the summary has them all, by cause.
const TOLD: usize = 20;

/// Shows a bar, numbers and running cases below all that was printed before.
#[derive(Debug)]
pub(crate) struct Live {
    shared: Arc<Shared>,
    /// Draws. Ends with the display, which waits for it.
    thread: Option<JoinHandle<()>>,
    paint: Paint,
    verbose: bool,
    told: usize,
}

/// What the run and the drawing thread share. A lock and not a message, since only the newest state is of interest; it is
/// held for no longer than a few lines of text take.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Rings when the display is over.
    over: Condvar,
}

#[derive(Debug)]
struct State {
    board: Board,
    /// Lines that stay, in their order.
    above: Vec<Above>,
    is_over: bool,
}

/// A line that stays.
#[derive(Debug)]
enum Above {
    Out(Line),
    /// It belongs on standard error, which need not be the same terminal.
    Warning(String),
    Panic(Line),
}

impl Live {
    /// `totals` has the cases that are done already.
    pub(crate) fn start(totals: &Totals, total: usize, verbose: bool) -> Self {
        let board = Board::new(totals, total, Instant::now());
        let state = State { board, above: Vec::new(), is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), over: Condvar::new() });
        let paint = Paint::of_stdout();
        let drawn = Arc::clone(&shared);
        // Not a task: a terminal that takes nothing more, as after Ctrl-S, must not hold up the run. Without it the run
        // goes on unseen.
        let thread = thread::Builder::new().name("display".to_owned());
        let thread = thread.spawn(move || drawn.draw(paint)).ok();
        shared.listen_to_panics();
        Self { shared, thread, paint, verbose, told: 0 }
    }

    /// A case that did not pass has a line that stays; one that did, only for those who want to know everything.
    fn tell(&mut self, finished: &CaseFinished) -> Option<Line> {
        let is_bad = finished.outcome != Outcome::Pass;
        if !is_bad && !self.verbose {
            return None;
        }
        self.told += usize::from(is_bad);
        if self.told > TOLD && !self.verbose {
            let is_first = self.told == TOLD + 1;
            let more = "  … more did not pass; the summary has their causes";
            return is_first.then(|| self.paint.paint(style::DIM, more));
        }
        Some(case_line(finished, self.paint, Some(size().0)))
    }
}

impl Reporter for Live {
    fn event(&mut self, event: &RunEvent) {
        let line = match event {
            RunEvent::Finished(finished) => self.tell(finished).map(Above::Out),
            RunEvent::Log(LogLine { level: LogLevel::Verbose, text }) => {
                Some(Above::Out(text.into()))
            }
            RunEvent::Log(LogLine { level: LogLevel::Warning, text }) => {
                Some(Above::Warning(text.clone()))
            }
            _ => None,
        };
        let mut state = self.shared.state();
        state.above.extend(line);
        state.board.event(event, Instant::now());
    }
}

impl Drop for Live {
    /// Takes the frame off the screen, after the last lines that stay.
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.over.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A panic inside of a case becomes its record; what is said of it beside that must not tear the frame.
    fn listen_to_panics(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        panic::set_hook(Box::new(move |panic| match shared.state.try_lock() {
            Ok(mut state) if !state.is_over => {
                state.above.push(Above::Panic(panic.to_string().into()));
            }
            // Perhaps it is the display itself that failed.
            _ => Screen::beside_data().line(panic.to_string()),
        }));
    }

    fn draw(&self, paint: Paint) {
        let mut painter = Painter::default();
        loop {
            let state = self.state();
            let waited = self.over.wait_timeout_while(state, EVERY, |state| !state.is_over);
            let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let size = size();
            let above = std::mem::take(&mut state.above);
            let is_over = state.is_over;
            let frame =
                if is_over { Vec::new() } else { state.board.frame(Instant::now(), size, paint) };
            drop(state);
            // There is no terminal to draw on; the run continues.
            if show(&mut painter, above, frame, size.0).is_err() || is_over {
                return;
            }
        }
    }
}

fn show(
    painter: &mut Painter,
    above: Vec<Above>,
    frame: Vec<Line>,
    width: usize,
) -> io::Result<()> {
    if !above.is_empty() || frame.is_empty() {
        let mut text = painter.erase(width);
        for line in above {
            match line {
                Above::Out(line) => text = text + line.as_str() + "\r\n",
                Above::Warning(line) => {
                    draw(&mut text)?;
                    super::warn_of(&line);
                }
                Above::Panic(line) => {
                    draw(&mut text)?;
                    Screen::beside_data().line(line);
                }
            }
        }
        draw(&mut text)?;
    }
    if frame.is_empty() {
        return Ok(());
    }
    draw(&mut painter.draw(frame, width))
}

/// Columns and rows, as they are now.
fn size() -> (usize, usize) {
    stdout_size().unwrap_or((80, 24))
}
