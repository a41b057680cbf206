//! A run of which only the bad news is told.

use super::case_line::case_line;
use super::screen::Screen;
use super::style::Paint;
use super::warn_of;
use agentv_runtime::run::Reporter;
use agentv_wire::event::LogLine;
use agentv_wire::{LogLevel, Outcome, RunEvent};

/// Prints a line for each case that did not pass.
#[derive(Debug)]
pub(crate) struct Quiet {
    screen: Screen,
    paint: Paint,
}

impl Quiet {
    pub(crate) fn new(paint: Paint, screen: Screen) -> Self {
        Self { screen, paint }
    }
}

impl Reporter for Quiet {
    fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Finished(finished) if finished.outcome != Outcome::Pass => {
                self.screen.line(case_line(finished, self.paint, None));
            }
            RunEvent::Log(LogLine { level: LogLevel::Warning, text }) => {
                self.screen.show();
                warn_of(text);
            }
            _ => {}
        }
    }

    fn wants_phases(&self) -> bool {
        false
    }

    fn pause(&mut self) {
        self.screen.show();
    }
}
