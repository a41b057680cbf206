//! The run as it goes, for programs: one JSON event per line.

use super::screen::Screen;
use agentv_core::event::Finished;
use agentv_core::totals::{grading_errors, usage};
use agentv_core::{LogLevel, RunEvent};
use agentv_runtime::run::Reporter;
use agentv_wire::progress::{CaseEnds, CaseStarts, LogLine, LogLineLevel};
use agentv_wire::{Outcome, ProgressEvent, Status, number};

/// Prints an event when a case starts and one when it is done.
#[derive(Debug)]
pub(crate) struct Events {
    screen: Screen,
    done: usize,
    total: usize,
}

impl Events {
    /// `done` of the cases have their records already.
    pub(crate) fn new(done: usize, total: usize) -> Self {
        Self { screen: Screen::new(), done, total }
    }

    fn ends(&self, finished: &Finished) -> CaseEnds {
        let record = &finished.record;
        let used = usage(record).total();
        CaseEnds {
            eval_id: record.eval_id.clone(),
            target: finished.place.label.to_string(),
            done: self.done,
            total: self.total,
            score: record.score,
            status: if finished.outcome == Outcome::Pass { Status::Pass } else { Status::Fail },
            outcome: finished.outcome,
            error: record.error.clone(),
            duration_ms: record.metrics.duration_ms,
            cost_usd: used.cost_usd,
            tokens: used.tokens(),
            grading_errors: grading_errors(record).len(),
            misses: record.misses.clone(),
        }
    }
}

impl Reporter for Events {
    fn event(&mut self, event: &RunEvent) {
        let event = match event {
            RunEvent::Started { work, label } => ProgressEvent::Started(CaseStarts {
                eval_id: work.eval_id.to_string(),
                target: label.to_string(),
            }),
            RunEvent::Waiting { .. } | RunEvent::Answered { .. } | RunEvent::Grading { .. } => {
                return;
            }
            RunEvent::Finished(finished) => {
                self.done += 1;
                ProgressEvent::Finished(self.ends(finished))
            }
            RunEvent::Log { level, text } => {
                let level = match level {
                    LogLevel::Verbose => LogLineLevel::Verbose,
                    LogLevel::Warning => LogLineLevel::Warning,
                };
                ProgressEvent::Log(LogLine { level, text: text.clone() })
            }
            RunEvent::Stopping => ProgressEvent::Stopping,
        };
        show_event(&event, &mut self.screen);
    }

    fn pause(&mut self) {
        self.screen.show();
    }
}

/// Prints one event.
pub(crate) fn show_event(event: &ProgressEvent, screen: &mut Screen) {
    // What has only texts and numbers can always be written.
    if let Ok(line) = number::to_string(event) {
        screen.line(line);
    }
}
