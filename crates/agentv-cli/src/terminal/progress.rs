//! The run as it goes, line by line, for pipes and logs. Scripts read these lines: their shape is part of the contract.

use super::screen::Screen;
use super::warn_of;
use agentv_runtime::run::Reporter;
use agentv_wire::event::{CaseStarted, LogLine};
use agentv_wire::{LogLevel, RunEvent};

/// Prints a line when a case starts and one when it is done.
#[derive(Debug)]
pub(crate) struct Progress {
    screen: Screen,
    done: usize,
    total: usize,
}

impl Progress {
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, done: 0, total: 0 }
    }
}

impl Reporter for Progress {
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
            RunEvent::Log(LogLine { level: LogLevel::Verbose, text }) => self.screen.line(text),
            RunEvent::Log(LogLine { level: LogLevel::Warning, text }) => {
                self.screen.show();
                warn_of(text);
            }
            RunEvent::Stopping
            | RunEvent::Waiting(_)
            | RunEvent::Answered(_)
            | RunEvent::Grading(_)
            | RunEvent::Ended(_) => {}
        }
    }

    fn wants_phases(&self) -> bool {
        false
    }

    fn pause(&mut self) {
        self.screen.show();
    }
}
