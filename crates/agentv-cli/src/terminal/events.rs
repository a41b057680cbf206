//! The run as it goes, for programs: one JSON event per line.

use super::screen::Screen;
use agentv_core::event::Finished;
use agentv_core::{LogLevel, RunEvent};
use agentv_runtime::run::Reporter;
use agentv_wire::progress::{CaseEnds, CaseStarts, LogLine, LogLineLevel};
use agentv_wire::{ProgressEvent, number};

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
        CaseEnds {
            eval_id: finished.eval_id.clone(),
            target: finished.label.to_string(),
            done: self.done,
            total: self.total,
            score: finished.score,
            status: finished.status,
            error: finished.error.clone(),
            duration_ms: finished.duration_ms,
            cost_usd: finished.used.cost_usd,
            tokens: finished.used.tokens(),
            judge_errors: finished.judge_errors.len(),
            misses: finished.why.as_ref().map(|why| why.misses.clone()).unwrap_or_default(),
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
