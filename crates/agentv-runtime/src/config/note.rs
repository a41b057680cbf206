//! What is wrong in a file: a value, gathered in a list, not an exception.

use super::Span;
use super::masking::secret_pieces;
use super::names_a_secret;
use agentv_core::Redactor;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::{AddAssign, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One thing that is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Note {
    /// `area::what`, for machines and for looking it up.
    pub code: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    pub cost: Cost,
    pub place: NotePlace,
    #[serde(skip)]
    span: Option<Span>,
    /// Where a name that is used twice was used first. The message says so once the place is known.
    #[serde(skip)]
    first: Option<Span>,
}

/// What a note costs the run. The order is the order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Worth knowing, and nothing is wrong: not even a warning.
    Info,
    /// A warning: the run goes on with what is there.
    Nothing,
    /// This evaluator cannot be used.
    Evaluator,
    /// This case cannot be run.
    Case,
    /// The command cannot do its work.
    Command,
}

/// Where a note points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotePlace {
    pub path: Arc<Path>,
    /// From 1; 0 where the note is about the whole file.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The line's text, so that it can be shown after the file is gone.
    #[serde(skip)]
    pub text: String,
    /// The bytes of `text` that the note is about.
    #[serde(skip)]
    pub range: Range<usize>,
}

impl Note {
    #[must_use = "a note is kept by the list it came from"]
    pub fn is_error(&self) -> bool {
        self.cost > Cost::Nothing
    }

    pub fn is_warning(&self) -> bool {
        self.cost == Cost::Nothing
    }

    /// Masks secrets in what it says.
    pub fn mask(&mut self, redactor: &Redactor) {
        for text in [Some(&mut self.message), self.help.as_mut()].into_iter().flatten() {
            if let Cow::Owned(masked) = redactor.text(text) {
                *text = masked;
            }
        }
    }

    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// The name in question was used before, at this place.
    pub fn first_used(&mut self, at: Option<Span>) -> &mut Self {
        self.first = at;
        self
    }

    pub fn costs(&mut self, cost: Cost) -> &mut Self {
        self.cost = cost;
        self
    }
}

/// The notes on one file.
#[derive(Debug)]
pub struct Notes {
    path: Arc<Path>,
    list: Vec<Note>,
    count: Count,
    /// A note that is only counted. It is here so that a caller has one to talk to.
    spare: Option<Note>,
    /// What no note may show of the source: keys that are written into a file.
    hidden: Vec<Span>,
    /// The environment variables that the file uses as secrets.
    secret_variables: BTreeSet<String>,
    /// Variables whose values end up on a command line, with the place of the reference and its key.
    on_command_line: Vec<(String, Span, String)>,
}

/// How far a list of notes had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    kept: usize,
    count: Count,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    infos: usize,
    warnings: usize,
    errors: usize,
    dropped: Dropped,
}

/// Notes that were not kept, since thousands are not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    pub warnings: usize,
    pub errors: usize,
    /// What the worst of them costs.
    pub worst: Option<Cost>,
}

impl Dropped {
    pub fn total(&self) -> usize {
        self.warnings + self.errors
    }
}

impl AddAssign for Dropped {
    fn add_assign(&mut self, other: Self) {
        self.warnings += other.warnings;
        self.errors += other.errors;
        self.worst = self.worst.max(other.worst);
    }
}

/// How many warnings on one file are kept, and how many errors: neither crowds out the other.
const KEPT: usize = 200;

impl Notes {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into().into(),
            list: Vec::new(),
            count: Count::default(),
            spare: None,
            hidden: Vec::new(),
            secret_variables: BTreeSet::new(),
            on_command_line: Vec::new(),
        }
    }

    /// Something costs the run something: the whole command, unless [`Note::costs`] says less.
    pub fn error(
        &mut self,
        code: &'static str,
        at: Option<Span>,
        message: impl Into<String>,
    ) -> &mut Note {
        self.push(code, at, message.into(), Cost::Command)
    }

    /// Something is odd.
    pub fn warning(
        &mut self,
        code: &'static str,
        at: Option<Span>,
        message: impl Into<String>,
    ) -> &mut Note {
        self.push(code, at, message.into(), Cost::Nothing)
    }

    /// Something is as it should be, but may surprise.
    pub fn info(
        &mut self,
        code: &'static str,
        at: Option<Span>,
        message: impl Into<String>,
    ) -> &mut Note {
        self.push(code, at, message.into(), Cost::Info)
    }

    fn push(
        &mut self,
        code: &'static str,
        span: Option<Span>,
        message: String,
        cost: Cost,
    ) -> &mut Note {
        let place = NotePlace {
            path: Arc::clone(&self.path),
            line: 0,
            column: 0,
            text: String::new(),
            range: 0..0,
        };
        self.keep(Note { code, message, help: None, cost, place, span, first: None })
    }

    fn keep(&mut self, note: Note) -> &mut Note {
        self.count_spare();
        let count = match note.cost {
            Cost::Info => &mut self.count.infos,
            Cost::Nothing => &mut self.count.warnings,
            _ => &mut self.count.errors,
        };
        *count += 1;
        // There are only a few of what is worth knowing.
        if *count > KEPT && note.cost != Cost::Info {
            return self.spare.insert(note);
        }
        self.list.push(note);
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// Counts the spare note, now that nothing more is said about it.
    fn count_spare(&mut self) {
        let Some(note) = self.spare.take() else { return };
        let errors = usize::from(note.is_error());
        self.count.dropped += Dropped { warnings: 1 - errors, errors, worst: Some(note.cost) };
    }

    /// How many errors there are so far.
    pub fn errors(&self) -> usize {
        self.count.errors
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether a note with these very words is kept.
    pub fn has_said(&self, message: &str) -> bool {
        self.list.iter().any(|note| note.message == message)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.rewind(Mark { kept: 0, count: Count::default() });
    }

    /// A place to go back to with [`Notes::rewind`].
    pub fn mark(&mut self) -> Mark {
        self.count_spare();
        Mark { kept: self.list.len(), count: self.count }
    }

    /// Forgets all that was noted since, to note it again in another way.
    pub fn rewind(&mut self, mark: Mark) {
        self.list.truncate(mark.kept);
        self.count = mark.count;
        self.spare = None;
    }

    /// This variable holds a secret.
    pub fn remember_secret(&mut self, variable: &str) {
        self.secret_variables.insert(variable.to_owned());
    }

    /// The variables that hold secrets.
    pub fn secret_variables(&self) -> &BTreeSet<String> {
        &self.secret_variables
    }

    /// The value of this variable ends up on a command line, by way of the key at `place`.
    pub fn remember_on_command_line(&mut self, variable: &str, span: Span, place: String) {
        self.on_command_line.push((variable.to_owned(), span, place));
    }

    /// Refuses each variable that ends up on a command line and is a secret: it is used as one in this file, or its name
    /// says so.
    pub fn refuse_secrets_on_command_lines(&mut self) {
        for (name, span, place) in std::mem::take(&mut self.on_command_line) {
            if self.secret_variables.contains(&name) || names_a_secret(&name) {
                let message = format!("{place} puts the secret `{name}` on a command line");
                self.error("config::secret", Some(span), message).help(
                    "hand it over with `env`: every user of a machine can read command lines",
                );
            }
        }
    }

    /// From now on, no note shows this piece of the source.
    pub fn hide(&mut self, span: Span) {
        self.hidden.push(span);
    }

    /// Turns byte ranges into places. `first_line` is the number of the first line of `text` in its file, from 1.
    pub fn locate(&mut self, text: &str, first_line: usize) {
        for note in &mut self.list {
            if let Some(first) = note.first.take() {
                let path = Arc::clone(&note.place.path);
                let NotePlace { line, column, .. } = place(path, text, first, &self.hidden);
                let line = line + first_line;
                let _ = write!(note.message, " (first used at line {line}, column {column})");
            }
            if let Some(span) = note.span.take() {
                let path = Arc::clone(&note.place.path);
                note.place = place(path, text, span, &self.hidden);
                note.place.line += first_line;
            }
        }
    }

    /// An empty list for the same file.
    #[must_use]
    pub fn of_same_file(&self) -> Self {
        Self::new(&*self.path)
    }

    /// Takes over the notes of another file.
    pub fn absorb(&mut self, other: Self) {
        self.absorb_unless(other, |_| false);
    }

    /// Takes over those notes of another list that are not held back, and gives the others.
    pub fn absorb_unless(
        &mut self,
        mut other: Self,
        hold_back: impl Fn(&Note) -> bool,
    ) -> Vec<Note> {
        other.count_spare();
        self.secret_variables.append(&mut other.secret_variables);
        self.on_command_line.append(&mut other.on_command_line);
        let (held, taken): (Vec<Note>, Vec<Note>) = other.list.into_iter().partition(hold_back);
        for note in taken {
            self.keep(note);
        }
        self.count.errors += other.count.dropped.errors;
        self.count.warnings += other.count.dropped.warnings;
        self.count.dropped += other.count.dropped;
        held
    }

    /// The notes, and what more there was.
    pub fn finish(mut self) -> (Vec<Note>, Dropped) {
        self.count_spare();
        (self.list, self.count.dropped)
    }
}

/// A part of a text with stars in place of the secret pieces. There are as many stars as bytes, so that every place stays
/// where it is.
fn with_stars(text: &str, part: Range<usize>, mut secrets: Vec<Range<usize>>) -> String {
    secrets.retain(|secret| secret.start < part.end && part.start < secret.end);
    let is_hidden = |at: usize| secrets.iter().any(|secret| secret.contains(&at));
    let mut starred = String::with_capacity(part.len());
    for (at, letter) in text[part.clone()].char_indices() {
        if is_hidden(part.start + at) {
            starred.extend(std::iter::repeat_n('*', letter.len_utf8()));
        } else {
            starred.push(letter);
        }
    }
    starred
}

/// The place of a span in a text whose first line is line 0.
fn place(path: Arc<Path>, text: &str, span: Span, hidden: &[Span]) -> NotePlace {
    let start = floor_char_boundary(text, span.start as usize);
    let end = floor_char_boundary(text, (span.end as usize).max(start));
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line_end = line_start + text[line_start..line_end].trim_end_matches('\r').len();
    let line = &text[line_start..line_end];
    let (start, end) = (start - line_start, end.min(line_end) - line_start);
    let window = window(line, start);
    let inside = |at: usize| at.clamp(window.start, window.end) - window.start;
    let shown = line_start + window.start..line_start + window.end;
    // There may be a key in the file.
    let mut secrets = secret_pieces(text, line_start, &shown);
    secrets.extend(hidden.iter().map(|span| span.start as usize..span.end as usize));
    NotePlace {
        path,
        line: before.matches('\n').count(),
        column: line[..start.min(line.len())].chars().count() + 1,
        range: inside(start)..floor_char_boundary(&line[window.clone()], inside(end)),
        text: with_stars(text, shown, secrets),
    }
}

/// Lines of megabytes are not shown whole, but only around the place.
fn window(line: &str, at: usize) -> Range<usize> {
    if line.len() <= SHOWN {
        return 0..line.len();
    }
    let start = floor_char_boundary(line, at.min(line.len()).saturating_sub(SHOWN / 2));
    start..floor_char_boundary(line, start + SHOWN)
}

/// How many bytes of a line are kept.
const SHOWN: usize = 4096;

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, span: (u32, u32), line: usize, column: usize, marked: &str) {
        let mut notes = Notes::new("f.yaml");
        notes.error("x::y", Some(Span { start: span.0, end: span.1 }), "no");
        notes.locate(text, 1);
        let (list, _) = notes.finish();
        let place = &list[0].place;
        assert_eq!(
            (place.line, place.column, &place.text[place.range.clone()]),
            (line, column, marked)
        );
    }

    #[test]
    fn places_are_lines_and_columns() {
        check("a: 1\nbé: 22\n", (10, 12), 2, 5, "22");
        check("a: 1\r\nb: 2\r\n", (6, 12), 2, 1, "b: 2");
        check("", (0, 0), 1, 1, "");
        check("é", (1, 9), 1, 1, "é");
        check("a\r\n", (1, 2), 1, 2, "");
        let long = "é".repeat(10_000);
        check(&format!("x\n{long}ab{long}"), (20_002, 20_004), 2, 10_001, "ab");
        check(&long, (20_000, 20_000), 1, 10_001, "");
    }

    #[test]
    fn a_hidden_piece_is_shown_as_stars() {
        let mut notes = Notes::new("f.yaml");
        let span = Span { start: 9, end: 14 };
        notes.hide(span);
        notes.error("x::y", Some(span), "no");
        notes.locate("api_key: sk-é\nname: x\n", 1);
        let (list, _) = notes.finish();
        assert_eq!(list[0].place.text, "api_key: *****");
    }

    #[test]
    fn thousands_of_notes_are_counted_not_kept() {
        let mut notes = Notes::new("f.yaml");
        (0..1000).for_each(|_| {
            notes.error("x::y", None, "no");
        });
        assert_eq!(notes.errors(), 1000);
        let (list, dropped) = notes.finish();
        assert_eq!((list.len(), dropped.total()), (200, 800));
    }

    #[test]
    fn what_is_worth_knowing_is_neither_counted_nor_dropped() {
        let mut notes = Notes::new("f.yaml");
        (0..300).for_each(|_| {
            notes.warning("x::y", None, "odd");
        });
        notes.info("x::z", None, "as it should be");
        let (list, dropped) = notes.finish();
        assert_eq!(list.iter().filter(|note| note.is_warning()).count(), 200);
        assert_eq!(list.last().map(|note| note.cost), Some(Cost::Info));
        assert_eq!(dropped.total(), 100);
    }

    #[test]
    fn warnings_do_not_crowd_out_errors_and_costs_are_not_forgotten() {
        let mut notes = Notes::new("f.yaml");
        for number in 0..500 {
            notes.warning("x::y", None, "odd");
            let cost = if number == 400 { Cost::Case } else { Cost::Evaluator };
            notes.error("x::y", None, "no").costs(cost);
        }
        let mark = notes.mark();
        notes.error("x::y", None, "no").costs(Cost::Command);
        notes.rewind(mark);
        let (list, dropped) = notes.finish();
        assert_eq!(list.iter().filter(|note| note.is_error()).count(), 200);
        assert_eq!(dropped, Dropped { warnings: 300, errors: 300, worst: Some(Cost::Case) });
    }
}
