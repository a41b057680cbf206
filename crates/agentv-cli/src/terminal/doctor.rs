//! What the doctor found, for people.

use super::line::Line;
use super::screen::Screen;
use super::style::{BAD, BOLD, DIM, DOUBTFUL, GOOD, Paint};
use crate::commands::doctor::{Area, Finding, FindingState};
use crate::format::count;

/// A line for each finding, under what it belongs to, and a word at the end.
pub(crate) fn show_findings(findings: &[Finding], screen: &mut Screen) {
    let paint = Paint::of_stdout();
    let mut area = None;
    for finding in findings {
        let before = area.replace(finding.area);
        if before != Some(finding.area) {
            if before.is_some() {
                screen.line("");
            }
            screen.line(paint.paint(BOLD, title(finding.area)));
        }
        let (mark, style) = match finding.state {
            FindingState::Good => ("✓", GOOD),
            FindingState::Warning => ("!", DOUBTFUL),
            FindingState::Problem => ("✗", BAD),
        };
        let mark = paint.paint(style, mark);
        let text = format!(" {}: {}", finding.subject, finding.message);
        screen.line(Line::from("  ") + mark + &*text);
        if let Some(fix) = &finding.fix {
            screen.line(Line::from("      ") + paint.paint(DIM, "fix:") + &*format!(" {fix}"));
        }
    }
    screen.line("");
    screen.line(verdict(findings, paint));
}

fn title(area: Area) -> &'static str {
    match area {
        Area::Files => "Files",
        Area::Targets => "Targets",
        Area::Judges => "Judges",
        Area::Machine => "This machine",
    }
}

fn verdict(findings: &[Finding], paint: Paint) -> Line {
    let of = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (problems, warnings) = (of(FindingState::Problem), of(FindingState::Warning));
    let warned = count(warnings, "warning", "warnings");
    match (problems, warnings) {
        (0, 0) => paint.paint(GOOD, "All is well."),
        (0, _) => paint.paint(DOUBTFUL, warned) + ", but nothing stands in the way of a run.",
        (_, 0) => paint.paint(BAD, format!("{}.", count(problems, "problem", "problems"))),
        (_, _) => {
            paint.paint(BAD, format!("{}, {warned}.", count(problems, "problem", "problems")))
        }
    }
}
