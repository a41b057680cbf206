//! What the doctor found, for people.

use super::line::Line;
use super::screen::Screen;
use super::style::{BAD, BOLD, DIM, DOUBTFUL, GOOD, Paint};
use super::table::{Cell, Side, TextTable};
use super::text::wrapped;
use crate::commands::doctor::{Access, Area, ChildSecrets, Finding, FindingState};
use crate::format::count;
use std::collections::BTreeSet;

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

/// A table of who gets which secrets for each file, and what they are.
pub(crate) fn show_children(children: &[ChildSecrets], screen: &mut Screen) {
    let paint = Paint::of_stdout();
    for group in children.chunk_by(|one, other| one.file == other.file) {
        let mut table = TextTable::new()
            .column("Child", Side::Left, 20)
            .column("Secrets given", Side::Left, 0)
            .column("Secrets withheld", Side::Left, 0);
        for child in group {
            add_rows(&mut table, child);
        }
        screen.line(paint.paint(BOLD, group.first().map_or("", |child| child.file.as_str())));
        for line in table.lines(paint, Some(WIDTH)) {
            screen.line(line);
        }
        screen.line(String::new());
    }
    let names = children.iter().flat_map(|child| child.given.iter().chain(&child.withheld));
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let secrets = match names.len() {
        0 => "There are no secrets in the environment or in `.env` files.".to_owned(),
        _ => format!("Secrets: {}.", names.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let rest =
        "Variables that are not secrets reach every child. Git gets only what it needs to run.";
    for text in [secrets.as_str(), rest] {
        for line in wrapped(text, WIDTH, usize::MAX) {
            screen.line(line);
        }
    }
}

/// The table is read in terminals and pasted into texts.
const WIDTH: usize = 80;

/// A name per line, beside the child.
fn add_rows(table: &mut TextTable, child: &ChildSecrets) {
    let note = |text: &str| vec![text.to_owned()];
    let given = match child.access {
        Access::Inherits => note("all (inherits)"),
        Access::InheritsWithoutSecrets if child.given.is_empty() => note("none"),
        Access::InheritsWithoutSecrets => child.given.clone(),
        Access::StartsNoProgram => note("starts no program"),
        Access::Unusable => note("cannot be used"),
    };
    let is_all = child.given.is_empty() && !child.withheld.is_empty();
    let withheld = if is_all { note("all") } else { child.withheld.clone() };
    for index in 0..given.len().max(withheld.len()) {
        let name = if index == 0 { child.child.as_str() } else { "" };
        let at = |names: &[String]| names.get(index).cloned().unwrap_or_default();
        table.row(vec![Cell::new(name), Cell::new(at(&given)), Cell::styled(at(&withheld), DIM)]);
    }
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
        (0, 0) => paint.paint(GOOD, "Everything is ready."),
        (0, _) => paint.paint(DOUBTFUL, warned) + "; a run is possible.",
        (_, 0) => paint.paint(BAD, format!("{}.", count(problems, "problem", "problems"))),
        (_, _) => {
            paint.paint(BAD, format!("{}, {warned}.", count(problems, "problem", "problems")))
        }
    }
}
