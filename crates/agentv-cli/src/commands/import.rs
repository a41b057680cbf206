//! `agentv import`: past sessions become a dataset whose answers are replayed.

use crate::args::ImportArgs;
use crate::format::count;
use crate::settings::Environment;
use crate::terminal::{self, Screen};
use agentv_core::Redactor;
use agentv_runtime::import::{
    self, Dataset, DatasetError, FORMATS, Out, SessionFormat, WrittenDataset,
};
use agentv_wire::Exit;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn run(args: &ImportArgs, environment: &Environment) -> Exit {
    let here = &environment.working_dir;
    let paths: Vec<PathBuf> = args.paths.iter().map(|path| here.join(path)).collect();
    let files = match import::files(&paths) {
        Ok(files) => files,
        Err((path, error)) => {
            return terminal::fail(&format!("`{}` cannot be read: {error}", path.display()), None);
        }
    };
    if files.is_empty() {
        let help = "sessions are in `~/.claude/projects` and `~/.codex/sessions`";
        return terminal::fail("no .jsonl files in it", Some(help));
    }
    let out = Out::new(&here.join(&args.out));
    let redactor = if args.no_redact { Arc::default() } else { environment.secrets().redactor() };
    match import(&files, args, &redactor, &out, here) {
        Ok(Some(written)) => {
            report(&written, &out, here, &mut environment.screen());
            Exit::Success
        }
        Ok(None) => {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            let help = format!("known formats: {}", names.join(", "));
            terminal::fail("nothing was imported", Some(&help))
        }
        Err(error @ DatasetError::Exists(_)) => {
            let help = "choose another `--out`, or replace it with `--force`";
            terminal::fail(&error.to_string(), Some(help))
        }
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            terminal::fail(&format!("{error}{cause}"), None)
        }
    }
}

/// `None` if no file had anything to give. What is left out is said, and the others go on.
fn import(
    files: &[PathBuf],
    args: &ImportArgs,
    redactor: &Redactor,
    out: &Out,
    here: &Path,
) -> Result<Option<WrittenDataset>, DatasetError> {
    let format = args.format.as_deref().and_then(SessionFormat::find);
    let mut dataset = Dataset::create(out.clone(), args.force)?;
    for file in files {
        let say = |what: &str| terminal::warn(&format!("{}: {what}", shown(file, here)));
        let mut found = match import::read(file, format) {
            Ok(found) => found,
            Err(error) => {
                say(&format!("left out, since it cannot be read: {error}"));
                continue;
            }
        };
        if found.format.is_none() {
            say("left out, since none of its lines is of a known format");
            continue;
        }
        found.remarks.iter().for_each(|remark| say(remark));
        if let Err(error) = found.transcript.mask(redactor) {
            say(&format!("left out, since its secrets cannot be masked: {error}"));
            continue;
        }
        if !dataset.add(file, &found.transcript)? {
            say("left out: its session was imported before");
        }
    }
    if dataset.cases() == 0 {
        return Ok(None);
    }
    dataset.finish().map(Some)
}

fn report(written: &WrittenDataset, out: &Out, here: &Path, screen: &mut Screen) {
    let dataset = shown(&written.dataset, here);
    screen.line(format!("Imported {}: {dataset}", count(written.cases, "case", "cases")));
    screen.line(format!("Recordings: {}", shown(&out.recordings(), here)));
    if let Some(targets) = &written.kept_targets {
        screen.line(format!(
            "{} exists and was not changed. If it lacks this target, add it:",
            shown(targets, here)
        ));
        for line in out.target_entry().trim_end().lines() {
            screen.line(line);
        }
    }
    screen.line(format!("Next: agentv eval {dataset}"));
}

fn shown(path: &Path, here: &Path) -> String {
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
