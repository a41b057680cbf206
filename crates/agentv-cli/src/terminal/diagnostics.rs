//! Notes on files, in the way of rustc: the line, a mark, and what to do.

use super::style;
use agentv_runtime::config::{Cost, Note, NotePlace};
use agentv_runtime::load::Report;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, Title};
use std::io::Write;
use std::path::Path;

/// Shows every note. Paths are shown from the working directory where they lie below it.
pub(crate) fn show_notes(report: &Report, working_dir: &Path) {
    let mut stderr = anstream::stderr();
    let renderer = Renderer::styled();
    for note in &report.notes {
        let _ = writeln!(stderr, "{}\n", renderer.render(&[group(note, working_dir)]));
    }
    let more = report.dropped.total();
    if more > 0 {
        let (bold, reset) = (style::WARNING.render(), style::WARNING.render_reset());
        let _ = writeln!(stderr, "{bold}… and {more} more{reset}");
    }
}

fn group<'n>(note: &'n Note, working_dir: &Path) -> Group<'n> {
    let level = match note.cost {
        Cost::Info => Level::NOTE,
        Cost::Nothing => Level::WARNING,
        Cost::Evaluator | Cost::Case | Cost::Command => Level::ERROR,
    };
    let path = shown(&note.place.path, working_dir);
    let title = level.primary_title(note.message.as_str()).id(note.code);
    let group = if note.place.line == 0 {
        title.element(Origin::path(path))
    } else {
        located(title, &note.place, path)
    };
    match &note.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

fn located<'n>(title: Title<'n>, place: &'n NotePlace, path: String) -> Group<'n> {
    let mut range = place.range.clone();
    let after = &place.text[range.start..];
    // A mark of no width cannot be seen.
    if range.is_empty() {
        range.end += after.chars().next().map_or(0, char::len_utf8);
    }
    let is_whole = place.text[..range.start].chars().count() + 1 == place.column;
    let snippet = Snippet::source(place.text.as_str()).line_start(place.line);
    let mark = AnnotationKind::Primary.span(range);
    if is_whole {
        return title.element(snippet.path(path).annotation(mark));
    }
    // Of a very long line there is only a part, in which the column cannot be counted.
    let origin = Origin::path(path).line(place.line).char_column(place.column);
    title.element(origin).element(snippet.annotation(mark))
}

fn shown(path: &Path, working_dir: &Path) -> String {
    path.strip_prefix(working_dir).unwrap_or(path).display().to_string()
}
