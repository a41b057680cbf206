//! `agentv validate`: the loader itself, without a run.

use super::suite::{is_jsonl, read_text};
use super::{Loader, Report, guidelines, yaml};
use crate::config::{Cost, Notes};
use std::path::Path;

/// What a file is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Eval,
    Targets,
    Config,
}

/// Checks one file exactly as a run would load it.
pub fn validate(path: &Path, loader: &Loader) -> (FileKind, Report) {
    let kind = kind_of(path);
    let report = match kind {
        FileKind::Eval => loader.suite(path).1,
        FileKind::Targets => targets(path, loader),
        FileKind::Config => config(path),
    };
    (kind, report)
}

/// What cannot be used now, for want of a variable, is only a warning here: the file is fine.
fn targets(path: &Path, loader: &Loader) -> Report {
    let (file, mut report) = loader.targets(path, &loader.env);
    for target in file.into_iter().flat_map(|file| file.targets) {
        report.notes.extend(target.obstacles.into_iter().map(|mut note| {
            note.costs(Cost::Nothing);
            note
        }));
    }
    report
}

fn config(path: &Path) -> Report {
    let mut report = Report::default();
    let mut notes = Notes::new(path);
    if let Some(text) = read_text(path, &mut notes) {
        guidelines::check(&text, &mut notes);
        notes.locate(&text, 1);
    }
    report.add(notes);
    report
}

/// By `$schema` if the file has one, else by its name.
fn kind_of(path: &Path) -> FileKind {
    if is_jsonl(path) {
        return FileKind::Eval;
    }
    let declared = std::fs::read_to_string(path).ok().and_then(|text| {
        let root = yaml::parse(&text, &mut Notes::new(path))?;
        match root.get("$schema")?.as_text()? {
            "agentv-eval-v2" => Some(FileKind::Eval),
            "agentv-targets-v2.2" => Some(FileKind::Targets),
            "agentv-config-v2" => Some(FileKind::Config),
            _ => None,
        }
    });
    declared.unwrap_or_else(|| match path.file_name().and_then(|name| name.to_str()) {
        Some("targets.yaml" | "targets.yml") => FileKind::Targets,
        Some(".agentv.yaml") => FileKind::Config,
        Some("config.yaml" | "config.yml")
            if path.parent().is_some_and(|dir| dir.ends_with(".agentv")) =>
        {
            FileKind::Config
        }
        _ => FileKind::Eval,
    })
}
