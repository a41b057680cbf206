//! XML as `JUnit` writes it, for CI systems: a suite per dataset and target, a test per record.
//!
//! The counts stand before the tests, so all tests are held until the end; of each only what is shown, and of long texts
//! only the beginning.

use super::source::{Entry, Knowledge};
use super::{Format, FormatKind, Head, error_line, one_line};
use crate::clean::{clean, clean_lines};
use crate::format;
use agentv_wire::{Outcome, RecordSummary, ReportSummary};
use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite, XmlString,
};
use std::io::{self, Write};
use std::time::Duration;

pub(super) const KIND: FormatKind = FormatKind {
    name: "junit",
    knowledge: Knowledge::Places,
    new: || Box::new(Junit { suites: Vec::new() }),
};

/// How much of an answer is shown.
const EXCERPT: usize = 2_000;
/// How much is said of one grading.
const REMARK: usize = 500;

struct Junit {
    suites: Vec<OpenSuite>,
}

/// A suite that may get more tests.
struct OpenSuite {
    suite: TestSuite,
    target: String,
    /// Of all its tests.
    time: Duration,
    /// How many of its answers are made up.
    simulated: usize,
}

impl Format for Junit {
    fn entry(&mut self, entry: &Entry<'_>, _out: &mut dyn Write) -> io::Result<()> {
        let record = entry.record;
        let mut test = TestCase::new(xml(&record.label()), status(entry));
        test.set_classname(xml(&class_name(record)));
        let time = duration(record.metrics.duration_ms);
        test.set_time(time);
        if let Some(place) = entry.place() {
            test.extra.insert("file".into(), xml(&place.file.display().to_string()));
            if let Some(line) = place.line {
                test.extra.insert("line".into(), line.to_string().into());
            }
        }
        test.set_system_out(xml_lines(&grades(record)));
        let open = self.suite(record);
        open.suite.add_test_case(test);
        open.time += time;
        open.simulated += usize::from(record.simulated);
        Ok(())
    }

    fn end(
        &mut self,
        head: &Head<'_>,
        summary: &ReportSummary,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut report = Report::new("agentv");
        let time = summary.wall_ms.or(summary.totals.all.duration_ms);
        report.set_time(duration(time));
        // Records come as they are done, which differs from run to run.
        self.suites.sort_by(|one, other| one.suite.name.as_str().cmp(other.suite.name.as_str()));
        for OpenSuite { mut suite, target, time, simulated } in self.suites.drain(..) {
            suite.set_time(time);
            suite.add_property(Property::new("target", xml(&target)));
            suite.add_property(Property::new("results", xml(head.results)));
            if simulated > 0 {
                suite.add_property(Property::new("simulated", simulated.to_string()));
            }
            if let Some(run) = head.run {
                suite.add_property(Property::new("run", run.run.as_str()));
                if let Some(git) = &run.git {
                    suite.add_property(Property::new("commit", git.commit.as_str()));
                }
            }
            report.add_test_suite(suite);
        }
        report.serialize(&mut *out).map_err(io::Error::other)
    }
}

impl Junit {
    fn suite(&mut self, record: &RecordSummary) -> &mut OpenSuite {
        let name = [suite_name(record), record.target.as_str()];
        let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
        let name = xml(&name);
        let known = self.suites.iter().position(|open| open.suite.name == name);
        let at = known.unwrap_or_else(|| {
            self.suites.push(OpenSuite {
                suite: TestSuite::new(name),
                target: record.target.clone(),
                time: Duration::ZERO,
                simulated: 0,
            });
            self.suites.len() - 1
        });
        &mut self.suites[at]
    }
}

fn status(entry: &Entry<'_>) -> TestCaseStatus {
    let record = entry.record;
    let (kind, name) = match entry.outcome {
        Outcome::Pass => return TestCaseStatus::success(),
        Outcome::Fail => (NonSuccessKind::Failure, "score"),
        Outcome::Ungraded => (NonSuccessKind::Error, "ungraded"),
        Outcome::Error => (NonSuccessKind::Error, "error"),
    };
    let mut status = TestCaseStatus::non_success(kind);
    let why = entry.why().unwrap_or_else(|| "below the pass score".to_owned());
    status.set_type(name);
    // Only a grade has a score that says something.
    status.set_message(xml(&match entry.outcome {
        Outcome::Fail => format!("score {}: {why}", format::score(record.score)),
        outcome => format!("{outcome}: {why}"),
    }));
    let misses = record.misses.iter().map(|miss| format!("✗ {}", one_line(miss, REMARK)));
    let reasoning = record.reasoning.iter().map(|reasoning| one_line(reasoning, REMARK));
    let answer: String = record.candidate_answer.chars().take(EXCERPT).collect();
    let answer = format!("\nAnswer:\n{answer}");
    let lines: Vec<String> = misses.chain(reasoning).chain([answer]).collect();
    status.set_description(xml_lines(&lines.join("\n")));
    status
}

/// A name or a message, without what XML does not allow.
fn xml(text: &str) -> XmlString {
    XmlString::new(clean(text))
}

/// The same for a text of several lines.
fn xml_lines(text: &str) -> XmlString {
    XmlString::new(clean_lines(text))
}

/// What each evaluator found, a line each.
fn grades(record: &RecordSummary) -> String {
    let simulated = if record.simulated { " (simulated answer)" } else { "" };
    let score = format!("score {}{simulated}", format::score(record.score));
    let grades = record.evaluators.iter().map(|grade| match &grade.error {
        None => format!("{}: {}", grade.name, format::score(grade.score)),
        Some(error) => {
            format!("{}: could not grade: {}", grade.name, error_line(&error.message, REMARK))
        }
    });
    [score].into_iter().chain(grades).collect::<Vec<_>>().join("\n")
}

/// The suite by its path; records of 2.x have only the name of their dataset.
fn suite_name(record: &RecordSummary) -> &str {
    record.suite.as_ref().map_or(&*record.dataset, |suite| suite.as_str())
}

/// CI systems take dots for packages, so names have none of their own.
fn class_name(record: &RecordSummary) -> String {
    let plain = |name: &str| name.replace('.', "_");
    let parts = [plain(suite_name(record)), plain(&record.target)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
}

fn duration(millis: Option<f64>) -> Duration {
    millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1000.0).ok()).unwrap_or_default()
}
