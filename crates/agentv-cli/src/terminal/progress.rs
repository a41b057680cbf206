//! The run as it goes, line by line, for pipes and logs. Scripts read these lines: their shape is part of the contract.

use super::screen::Screen;
use super::warn_of;
use agentv_core::{LogLevel, RunEvent};
use agentv_runtime::run::Reporter;

/// Prints a line when a case starts and one when it is done.
#[derive(Debug)]
pub(crate) struct Progress {
    screen: Screen,
    done: usize,
    total: usize,
}

impl Progress {
    /// `done` of the cases have their records already.
    pub(crate) fn new(done: usize, total: usize) -> Self {
        Self { screen: Screen::new(), done, total }
    }
}

impl Reporter for Progress {
    fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started { work, label } => {
                let (done, total) = (self.done, self.total);
                self.screen.print(format_args!("{done}/{total}   🔄 {} | {label}", work.eval_id));
            }
            RunEvent::Finished(finished) => {
                self.done += 1;
                let (id, target) = (&finished.record.eval_id, &finished.place.label);
                let (done, total) = (self.done, self.total);
                match &finished.record.error {
                    None => self.screen.print(format_args!("{done}/{total}   ✅ {id} | {target}")),
                    Some(error) => self
                        .screen
                        .print(format_args!("{done}/{total}   ❌ {id} | {target}: {error}")),
                }
            }
            RunEvent::Stopping
            | RunEvent::Waiting { .. }
            | RunEvent::Answered { .. }
            | RunEvent::Grading { .. } => {}
            RunEvent::Log { level: LogLevel::Verbose, text } => self.screen.line(text),
            RunEvent::Log { level: LogLevel::Warning, text } => {
                self.screen.show();
                warn_of(text);
            }
        }
    }

    fn pause(&mut self) {
        self.screen.show();
    }
}
