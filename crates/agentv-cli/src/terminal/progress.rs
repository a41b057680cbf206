//! The run as it goes, line by line: for pipes and logs, and with `--compat 2x` in the lines that scripts of 2.x read.

use super::case_line::log_line;
use super::screen::Screen;
use super::style::Paint;
use super::warn_of;
use agentv_runtime::run::Reporter;
use agentv_wire::event::{CaseStarted, LogLine};
use agentv_wire::{LogLevel, RunEvent};

/// Prints a line for each case that is done.
#[derive(Debug)]
pub(crate) struct Progress {
    screen: Screen,
    paint: Paint,
}

impl Progress {
    pub(crate) fn new(paint: Paint, screen: Screen) -> Self {
        Self { screen, paint }
    }
}

impl Reporter for Progress {
    fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Finished(finished) => self.screen.line(log_line(finished, self.paint)),
            _ => log(event, &mut self.screen),
        }
    }

    fn wants_phases(&self) -> bool {
        false
    }

    fn pause(&mut self) {
        self.screen.show();
    }
}

/// Prints a line when a case starts and one when it is done, as 2.x did: `✅` says that there is an answer.
#[derive(Debug)]
pub(crate) struct Progress2x {
    screen: Screen,
    done: usize,
    total: usize,
}

impl Progress2x {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, done: 0, total: 0 }
    }
}

impl Reporter for Progress2x {
    fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Planned(planned) => (self.done, self.total) = (planned.done, planned.total),
            RunEvent::Started(CaseStarted { work, label }) => {
                let (done, total) = (self.done, self.total);
                self.screen.print(format_args!("{done}/{total}   🔄 {} | {label}", work.eval_id));
            }
            RunEvent::Finished(finished) => {
                self.done = finished.done;
                let (id, target) = (&finished.record.eval_id, &finished.label);
                let (done, total) = (self.done, self.total);
                match &finished.record.error {
                    None => self.screen.print(format_args!("{done}/{total}   ✅ {id} | {target}")),
                    Some(error) => self
                        .screen
                        .print(format_args!("{done}/{total}   ❌ {id} | {target}: {error}")),
                }
            }
            _ => log(event, &mut self.screen),
        }
    }

    fn wants_phases(&self) -> bool {
        false
    }

    fn pause(&mut self) {
        self.screen.show();
    }
}

/// Prints what is said during the run.
fn log(event: &RunEvent, screen: &mut Screen) {
    match event {
        RunEvent::Log(LogLine { level: LogLevel::Verbose, text }) => screen.line(text),
        RunEvent::Log(LogLine { level: LogLevel::Warning, text }) => {
            screen.show();
            warn_of(text);
        }
        _ => {}
    }
}
