//! `agentv validate`: the loader itself, without a run.

use super::format::{Format, is_eval_file, is_sidecar};
use super::paths::each_once;
use super::walk::{FilesBelow, files_below};
use crate::config::{Cost, Notes};
use crate::file_input;
use crate::load::suite::guidelines;
use crate::load::syntax::{read_text, yaml};
use crate::load::{Loader, Report};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

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

/// The files that an argument names: itself, or all that are ours below a directory. Hidden directories and `node_modules`
/// are skipped, and so are files that have none of our keys.
pub fn validatable(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_ours =
        |name: &OsStr| !name.as_encoded_bytes().starts_with(b".") && name != "node_modules";
    let FilesBelow { mut files, unreadable } = files_below(path, is_ours);
    if let Some((dir, error)) = unreadable.into_iter().next() {
        return Err(io::Error::new(error.kind(), format!("`{}`: {error}", dir.display())));
    }
    files.retain(|path| is_eval_file(path) || is_settings_file(path));
    Ok(each_once(files))
}

/// Whether a file holds targets or configuration.
fn is_settings_file(path: &Path) -> bool {
    if Format::of(path) != Some(Format::Yaml) || is_sidecar(path) {
        return false;
    }
    if kind_of(path) == FileKind::Config {
        return true;
    }
    let text = file_input::read_to_string(path).unwrap_or_default();
    let root = yaml::parse(&text, &mut Notes::new(path));
    let keys = ["targets", "guideline_patterns", "$schema"];
    root.is_some_and(|root| keys.iter().any(|key| root.get(key).is_some()))
}

/// By `$schema` if the file has one, else by its name.
fn kind_of(path: &Path) -> FileKind {
    if Format::of(path) != Some(Format::Yaml) {
        return FileKind::Eval;
    }
    // A file that does not even have the word need not be read twice.
    let text = file_input::read_to_string(path).ok().filter(|text| text.contains("$schema"));
    let declared = text.and_then(|text| {
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
