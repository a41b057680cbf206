//! Notes on files, in the way of rustc: the line, a mark, and what to do.

use super::screen::Screen;
use super::style::{self, Paint};
use crate::clean::clean;
use agentv_runtime::config::{Cost, Note, NotePlace};
use agentv_runtime::load::Report;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, Title};
use std::ops::Range;
use std::path::Path;

/// Shows every note. Paths are shown from the working directory where they lie below it.
pub(crate) fn show_notes(report: &Report, working_dir: &Path) {
    let (mut screen, paint) = (Screen::beside_data(), Paint::of_stderr());
    let renderer = if paint == Paint::Plain { Renderer::plain() } else { Renderer::styled() };
    for note in &report.notes {
        let texts = Texts::of(note, working_dir);
        screen.rendered(&renderer.render(&[group(note, &texts)]));
        screen.line("");
    }
    let more = report.dropped.total();
    if more > 0 {
        screen.line(paint.paint(style::WARNING, format!("… and {more} more")));
    }
}

/// One note with its line and its mark, in colours.
#[cfg(feature = "fuzzing")]
pub(crate) fn render_note(note: &Note, working_dir: &Path) -> String {
    Renderer::styled().render(&[group(note, &Texts::of(note, working_dir))])
}

/// What a note says, cleaned: it is rendered with colours, which a line would escape.
struct Texts {
    message: String,
    help: Option<String>,
    path: String,
    source: String,
    range: Range<usize>,
    /// Whether columns of the source are those of the file.
    is_whole: bool,
}

impl Texts {
    fn of(note: &Note, working_dir: &Path) -> Self {
        let clean = |text: &str| clean(text).into_owned();
        let NotePlace { path, text, range, column, .. } = &note.place;
        let parts = [&text[..range.start], &text[range.clone()], &text[range.end..]];
        // A tab is one column wide, so that it can be seen and columns stay as they are in the file.
        let [before, marked, after] = parts.map(|part| clean(&part.replace('\t', "→")));
        // A mark of no width cannot be seen.
        let least =
            if marked.is_empty() { after.chars().next().map_or(0, char::len_utf8) } else { 0 };
        let range = before.len()..before.len() + marked.len() + least;
        let source = before + &marked + &after;
        Self {
            message: clean(&note.message),
            help: note.help.as_deref().map(clean),
            path: clean(&path.strip_prefix(working_dir).unwrap_or(path).display().to_string()),
            is_whole: source[..range.start].chars().count() + 1 == *column,
            source,
            range,
        }
    }
}

fn group<'t>(note: &Note, texts: &'t Texts) -> Group<'t> {
    let level = match note.cost {
        Cost::Info => Level::NOTE,
        Cost::Nothing => Level::WARNING,
        Cost::Evaluator | Cost::Case | Cost::Command => Level::ERROR,
    };
    let title = level.primary_title(texts.message.as_str()).id(note.code);
    let group = if note.place.line == 0 {
        title.element(Origin::path(texts.path.as_str()))
    } else {
        located(title, &note.place, texts)
    };
    match &texts.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

fn located<'t>(title: Title<'t>, place: &NotePlace, texts: &'t Texts) -> Group<'t> {
    let Texts { path, source, range, is_whole, .. } = texts;
    let snippet = Snippet::source(source.as_str()).line_start(place.line);
    let mark = AnnotationKind::Primary.span(range.clone());
    if *is_whole {
        return title.element(snippet.path(path.as_str()).annotation(mark));
    }
    // Of a very long line there is only a part, and in a cleaned one there is more: the column cannot be counted in it.
    let origin = Origin::path(path.as_str()).line(place.line).char_column(place.column);
    title.element(origin).element(snippet.annotation(mark))
}
