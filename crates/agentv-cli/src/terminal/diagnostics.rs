//! Notes on files, in the way of rustc: the line, a mark, and what to do.

use super::style;
use agentv_runtime::config::{Cost, Note};
use agentv_runtime::load::Report;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::io::Write;
use std::path::Path;

/// Shows every note. Paths are shown from the working directory where they lie below it.
pub(crate) fn show_notes(report: &Report, working_dir: &Path) {
    let mut stderr = anstream::stderr();
    let renderer = Renderer::styled();
    for note in &report.notes {
        let _ = writeln!(stderr, "{}\n", renderer.render(&[group(note, working_dir)]));
    }
    if report.dropped > 0 {
        let (bold, reset) = (style::WARNING.render(), style::WARNING.render_reset());
        let _ = writeln!(stderr, "{bold}… and {} more{reset}", report.dropped);
    }
}

fn group<'n>(note: &'n Note, working_dir: &Path) -> Group<'n> {
    let level = if note.cost == Cost::Nothing { Level::WARNING } else { Level::ERROR };
    let path = shown(&note.place.path, working_dir);
    let title = level.primary_title(note.message.as_str()).id(note.code);
    let group = if note.place.line == 0 {
        title.element(annotate_snippets::Origin::path(path))
    } else {
        let mut range = note.place.range.clone();
        // A mark of no width cannot be seen.
        if range.is_empty() {
            range.end = (range.start + 1).min(note.place.text.len());
        }
        let snippet =
            Snippet::source(note.place.text.as_str()).line_start(note.place.line).path(path);
        title.element(snippet.annotation(AnnotationKind::Primary.span(range)))
    };
    match &note.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

fn shown(path: &Path, working_dir: &Path) -> String {
    path.strip_prefix(working_dir).unwrap_or(path).display().to_string()
}
