//! What did not pass, grouped by cause, in as much detail as the screen has room for.

use super::case_line::{BROKEN, FAILED, UNGRADED};
use super::line::Line;
use super::style::{BOLD, DIM, PLAIN, Paint};
use super::text::{cut_end, cut_error, cut_middle, one_line, wrapped, wrapped_error};
use crate::format;
use agentv_core::totals::{CauseGroup, CauseGroups, NamedCase, Shortfall, Totals};
use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

/// How many causes of a kind are shown.
const SHOWN: usize = 20;
/// How many lines of a reason.
const REASON_LINES: usize = 2;
/// How many misses of a single case.
const MISSES: usize = 3;

/// How much is said of each cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// The cases, the reasons and the answer.
    Full,
    /// One line below the heading.
    Brief,
    /// All in one line.
    OneLine,
}

/// A list of causes with its title, and the mark of its cases.
struct Section<'a> {
    title: &'static str,
    remark: &'static str,
    mark: (&'static str, Style),
    /// What is counted, where it is not cases: one of them may have several.
    unit: Option<(&'static str, &'static str)>,
    groups: &'a CauseGroups,
}

/// Where lines go: how wide they may be, and whether cases are told apart by their targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct CauseLayout {
    pub paint: Paint,
    pub width: usize,
    /// How many lines there is room for. Without it, everything is shown in full.
    pub rows: Option<usize>,
}

/// Grading errors, errors and failures; nothing where all cases passed.
pub(super) fn cause_lines(totals: &Totals, layout: CauseLayout) -> Vec<Line> {
    let highlights = &totals.highlights;
    let sections = [
        Section {
            title: "Grading errors",
            remark: "grading failed; the answer was not judged",
            mark: UNGRADED,
            unit: Some(("grading", "gradings")),
            groups: &highlights.failed_gradings,
        },
        Section {
            title: "Errors",
            remark: "no answer to grade",
            mark: BROKEN,
            unit: None,
            groups: &highlights.in_error,
        },
        Section {
            title: "Failures",
            remark: "",
            mark: FAILED,
            unit: None,
            groups: &highlights.failed,
        },
    ];
    let has_targets = totals.targets.len() > 1;
    let lines = |detail: Detail, most: usize| -> Vec<Line> {
        let page = Page { paint: layout.paint, width: layout.width, has_targets, detail, most };
        sections.iter().flat_map(|section| page.section(section)).collect()
    };
    let has_room = |lines: &Vec<Line>| layout.rows.is_none_or(|rows| lines.len() <= rows);
    let forms = [Detail::Full, Detail::Brief].map(|detail| (detail, SHOWN));
    let fewer = (2..=SHOWN).rev().map(|most| (Detail::OneLine, most));
    let mut all = forms.into_iter().chain(fewer).map(|(detail, most)| lines(detail, most));
    all.find(has_room).unwrap_or_else(|| lines(Detail::OneLine, 1))
}

struct Page {
    paint: Paint,
    width: usize,
    has_targets: bool,
    detail: Detail,
    /// How many causes of a kind.
    most: usize,
}

impl Page {
    fn section(&self, section: &Section<'_>) -> Vec<Line> {
        let groups = section.groups.sorted();
        if groups.is_empty() {
            return Vec::new();
        }
        let records = match section.unit {
            Some((one, many)) => format::count(section.groups.records, one, many),
            None => counted(section.groups.records, &groups),
        };
        // Where each has a cause of its own, or not all causes are known, their number says nothing.
        let known: usize = groups.iter().map(|group| group.records).sum();
        let causes = (known == section.groups.records && groups.len() < known)
            .then(|| format!(", {}", format::count(groups.len(), "cause", "causes")));
        let counts = format!("{records}{}", causes.unwrap_or_default());
        let remark = match section.remark {
            "" => format!("  {counts}"),
            meaning if section.groups.records == 1 => format!("  {meaning}"),
            meaning => format!("  {counts}; {meaning}"),
        };
        let remark = cut_end(&remark, self.width.saturating_sub(section.title.width()));
        let title = self.paint.paint(BOLD, section.title) + self.paint.paint(DIM, remark);
        let mut lines = vec![Line::default(), title];
        let shown = groups.iter().take(self.most);
        lines.extend(shown.flat_map(|group| self.group(group, section.mark)));
        let named: usize = groups.iter().take(self.most).map(|group| group.records).sum();
        if named < section.groups.records {
            let more = format!("  … and {} more", section.groups.records - named);
            lines.push(self.paint.paint(DIM, more));
        }
        lines
    }

    fn group(&self, group: &CauseGroup, (mark, style): (&str, Style)) -> Vec<Line> {
        let what = one_line(&what(group));
        let name = one_line(&self.name(group));
        let room = self.width.saturating_sub(what.width() + 6).max(12);
        let name = cut_middle(&name, room);
        let mark = Line::from("  ") + self.paint.paint(style, mark) + " ";
        let what = if what.is_empty() { what } else { format!("  {what}") };
        if self.detail == Detail::OneLine {
            let gap = if what.is_empty() { "  " } else { ": " };
            let text = one_line(&group.text);
            let text = if text.is_empty() { text } else { format!("{gap}{text}") };
            let rest = self.width.saturating_sub(4 + name.width());
            let cut = if group.shortfall.is_none() { cut_error } else { cut_end };
            let what = cut(&format!("{what}{text}"), rest);
            return vec![mark + &*name + self.paint.paint(DIM, what)];
        }
        let used = 4 + name.width() + what.width();
        let names =
            if self.detail == Detail::Brief { self.names_in(used, group) } else { String::new() };
        let mut lines = vec![mark + &*name + self.paint.paint(DIM, what + &names)];
        lines.extend(self.details(group));
        lines
    }

    fn details(&self, group: &CauseGroup) -> Vec<Line> {
        let CauseGroup { text, example, .. } = group;
        let is_missed = example.misses.contains(text);
        let word = match group.shortfall {
            None => "error",
            Some(_) if is_missed => "missed",
            Some(_) => "because",
        };
        let reason = |most: usize| {
            let wrap = if group.shortfall.is_none() { wrapped_error } else { wrapped };
            self.labelled(word, wrap(text, self.room(), most), PLAIN)
        };
        if self.detail == Detail::Brief {
            return reason(1);
        }
        let mut lines = Vec::new();
        if group.records > 1 {
            lines.extend(self.words("cases", &self.names(group), PLAIN, REASON_LINES));
        }
        lines.extend(reason(REASON_LINES));
        if group.records > 1 || group.shortfall.is_none() {
            return lines;
        }
        let others = example.misses.iter().filter(|miss| *miss != text);
        for miss in others.take(MISSES - usize::from(is_missed)) {
            lines.extend(self.words("missed", miss, PLAIN, REASON_LINES));
        }
        if let Some(reasoning) = example.reasoning.as_ref().filter(|_| is_missed) {
            lines.extend(self.words("because", reasoning, PLAIN, REASON_LINES));
        }
        let answer = if example.answer.trim().is_empty() { "(empty)" } else { &example.answer };
        lines.extend(self.words("answer", answer, DIM, REASON_LINES));
        lines
    }

    /// A text below a case, with a word that says what it is.
    fn words(&self, word: &str, text: &str, style: Style, most: usize) -> Vec<Line> {
        self.labelled(word, wrapped(text, self.room(), most), style)
    }

    /// How wide such a text may be.
    fn room(&self) -> usize {
        self.width.saturating_sub(13).max(12)
    }

    fn labelled(&self, word: &str, lines: Vec<String>, style: Style) -> Vec<Line> {
        let line = |(number, line): (usize, String)| {
            let word = if number == 0 { word } else { "" };
            let word = self.paint.paint(DIM, format!("{word:<8}"));
            Line::from("    ") + word + " " + self.paint.paint(style, line)
        };
        lines.into_iter().enumerate().map(line).collect()
    }

    /// The case, or how many there are.
    fn name(&self, group: &CauseGroup) -> String {
        match group.cases.as_slice() {
            [only] if group.records == 1 => self.label(only),
            _ => counted(group.records, &[group]),
        }
    }

    /// The first cases of a group; one that failed in several trials is named once.
    fn names(&self, group: &CauseGroup) -> String {
        let mut names: Vec<String> = group.cases.iter().map(|case| self.label(case)).collect();
        names.dedup();
        let more = group.records - group.cases.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names.join(", "))
    }

    /// The same in the rest of a line, if that is of use.
    fn names_in(&self, used: usize, group: &CauseGroup) -> String {
        let room = self.width.saturating_sub(used + 2);
        if group.records == 1 || room < 12 {
            return String::new();
        }
        format!("  {}", cut_end(&one_line(&self.names(group)), room))
    }

    fn label(&self, case: &NamedCase) -> String {
        let trial = case.trial.map(|trial| format!(" (trial {})", u64::from(trial) + 1));
        let target = self.has_targets.then(|| format!(" @ {}", case.target));
        format!("{}{}{}", case.eval_id, target.unwrap_or_default(), trial.unwrap_or_default())
    }
}

/// `7 cases`, or `7 trials` where all of them are trials.
fn counted(records: usize, groups: &[&CauseGroup]) -> String {
    let are_trials = groups.iter().flat_map(|group| &group.cases).all(|case| case.trial.is_some());
    let (one, many) = if are_trials { ("trial", "trials") } else { ("case", "cases") };
    format::count(records, one, many)
}

/// `quality 0.900, needs 1.0`.
fn what(group: &CauseGroup) -> String {
    let evaluator = group.evaluator.as_deref().unwrap_or_default();
    let Some(Shortfall { scores, case_scores, needed }) = group.shortfall else {
        return evaluator.to_owned();
    };
    let needs = format!("needs {}", format::threshold(needed));
    match case_scores {
        None => format!("{evaluator} {}, {needs}", scores_below(scores, needed)),
        Some(of_cases) => {
            let score = scores_below(scores, f64::INFINITY);
            format!("{evaluator} {score}; case {}, {needs}", scores_below(of_cases, needed))
        }
    }
}

fn scores_below((low, high): (f64, f64), needed: f64) -> String {
    let [low, high] = [low, high].map(|score| format::score_below(score, needed));
    if low == high { low } else { format!("{low}–{high}") }
}
