//! What GitHub Actions shows of a run: a page in the job's summary, and remarks at the lines of cases.

use super::markdown::Markdown;
use super::source::Entry;
use super::{Head, error_line};
use crate::clean::clean;
use crate::settings::GithubActions;
use crate::terminal;
use agentv_core::totals::grading_errors;
use agentv_wire::{Outcome, ReportSummary};
use std::fs::File;
use std::io::{self, Write as _};

/// GitHub shows no more remarks of one kind per step.
const SHOWN: usize = 10;

/// How much is said of one case.
const REMARK: usize = 160;

/// Gathers what GitHub is told.
#[derive(Debug, Default)]
pub(crate) struct Github {
    markdown: Markdown,
    errors: Vec<String>,
    warnings: Vec<String>,
    /// Remarks that found no room.
    more: usize,
    page: String,
}

impl Github {
    pub(super) fn entry(&mut self, entry: &Entry<'_>) {
        self.markdown.note(entry);
        let record = entry.record;
        let (list, level, message) = match (entry.outcome, grading_errors(record).first()) {
            (Outcome::Pass, None) => return,
            (Outcome::Pass, Some(error)) => {
                let message = error_line(error.message, REMARK);
                let message = format!("{} could not grade: {message}", error.evaluator);
                (&mut self.warnings, "warning", message)
            }
            (outcome, _) => {
                let why = entry.why().unwrap_or_else(|| format!("outcome: {outcome}"));
                (&mut self.errors, "error", why)
            }
        };
        if list.len() == SHOWN {
            self.more += 1;
            return;
        }
        let place = entry.place();
        let file = place.as_ref().map(|place| ("file", place.file.display().to_string()));
        let line = place.and_then(|place| place.line).map(|line| ("line", line.to_string()));
        let simulated = if record.simulated { " (simulated)" } else { "" };
        let title = ("title", format!("{} on {}{simulated}", record.label(), record.target));
        let properties: Vec<String> = file
            .into_iter()
            .chain(line)
            .chain([title])
            .map(|(name, value)| format!("{name}={}", property(&value)))
            .collect();
        list.push(format!("::{level} {}::{}", properties.join(","), data(&message)));
    }

    pub(super) fn finish(&mut self, head: &Head<'_>, summary: &ReportSummary) {
        self.page = self.markdown.page(head, summary);
    }
}

/// Prints the remarks, and adds the page to the job's summary. A summary that cannot be written is no failure of the run.
pub(crate) fn tell_github(github: &Github, actions: &GithubActions) {
    let mut lines: Vec<String> = github.errors.iter().chain(&github.warnings).cloned().collect();
    if github.more > 0 {
        let more = format!("{} more cases are in the report", github.more);
        lines.push(format!("::notice title=AgentV::{}", data(&more)));
    }
    terminal::remarks(&lines);
    let Some(path) = &actions.step_summary else { return };
    if let Err(error) = append(path, &github.page) {
        terminal::warn(&format!(
            "the step summary `{}` cannot be written: {error}",
            path.display()
        ));
    }
}

fn append(path: &std::path::Path, page: &str) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(format!("{page}\n").as_bytes())
}

/// The message of a command, as one line: what follows a line break could be read as another command.
fn data(text: &str) -> String {
    clean(text).replace('%', "%25")
}

/// A property of a command, which also ends at `:` and `,`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_end_its_command() {
        assert_eq!(data("50 %\r\n::set-env name=X::y"), "50 %25\\r\\n::set-env name=X::y");
        assert_eq!(property("a,b: c\x1b"), "a%2Cb%3A c\\x1b");
    }
}
