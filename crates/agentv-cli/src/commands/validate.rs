//! `agentv validate`: the loader without a run.

use crate::args::{ReportFormat, ValidateArgs};
use crate::settings::{self, Environment};
use crate::terminal::{self, Screen, show_notes};
use agentv_runtime::config::Note;
use agentv_runtime::load::{FileKind, Format, Loader, Report, validatable, validate};
use agentv_runtime::process::Processes;
use agentv_wire::Exit;
use serde_json::json;
use std::path::PathBuf;

/// What was found in one file.
struct Checked {
    path: PathBuf,
    kind: FileKind,
    report: Report,
}

impl Checked {
    fn is_valid(&self, strict: bool) -> bool {
        let spoils = |note: &Note| note.is_error() || (strict && note.is_warning());
        !self.report.notes.iter().any(spoils)
    }
}

pub(crate) fn run(args: &ValidateArgs, environment: &Environment) -> Exit {
    let loader = environment.loader(&Processes::new(String::new()));
    let mut files: Vec<PathBuf> = Vec::new();
    let mut missing = false;
    if args.paths.is_empty() {
        match settings::files(&[], environment) {
            Ok((suites, _)) => files = with_targets(suites, &loader),
            Err(error) => return terminal::fail(&error.to_string(), Some(&error.help())),
        }
    }
    for path in &args.paths {
        match validatable(&environment.working_dir.join(path)) {
            Ok(found) => files.extend(found),
            Err(error) => {
                terminal::complain(&format!("`{}` cannot be read: {error}", path.display()), None);
                missing = true;
            }
        }
    }
    files.sort();
    files.dedup();
    if files.is_empty() && !missing {
        let help = format!("eval files end in {}", Format::ENDINGS);
        return terminal::fail("no eval files were found", Some(&help));
    }
    let checked: Vec<Checked> = files
        .into_iter()
        .map(|path| {
            let (kind, report) = validate(&path, &loader);
            Checked { path, kind, report }
        })
        .collect();
    match args.format {
        ReportFormat::Text => show(&checked, args.strict, environment),
        ReportFormat::Json => show_json(&checked, args.strict, &mut environment.screen()),
    }
    let all_valid = checked.iter().all(|file| file.is_valid(args.strict));
    if all_valid && !missing { Exit::Success } else { Exit::Usage }
}

/// The suites, and the targets files that they use.
fn with_targets(suites: Vec<PathBuf>, loader: &Loader) -> Vec<PathBuf> {
    let dirs = suites.iter().filter_map(|suite| suite.parent());
    let targets: Vec<PathBuf> =
        dirs.filter_map(|dir| loader.find_targets(dir, None).ok()).collect();
    suites.into_iter().chain(targets).collect()
}

fn show(checked: &[Checked], strict: bool, environment: &Environment) {
    let working_dir = &environment.working_dir;
    for file in checked {
        show_notes(&file.report, working_dir);
    }
    let mut screen = environment.screen();
    for line in ["", "Validation Summary", ""] {
        screen.line(line);
    }
    for file in checked {
        let mark = if file.is_valid(strict) { '✓' } else { '✗' };
        let path = file.path.strip_prefix(working_dir).unwrap_or(&file.path);
        screen.line(format!("{mark} {}", path.display()));
    }
    let valid = checked.iter().filter(|file| file.is_valid(strict)).count();
    let warned = checked.iter().filter(|file| file.report.warnings().next().is_some()).count();
    screen.line("");
    screen.line(format!("Total files: {}", checked.len()));
    screen.line(format!("Valid: {valid}"));
    screen.line(format!("Invalid: {}", checked.len() - valid));
    if warned > 0 {
        screen.line(format!("Files with warnings: {warned}"));
    }
}

fn show_json(checked: &[Checked], strict: bool, screen: &mut Screen) {
    let files: Vec<_> = checked
        .iter()
        .map(|file| {
            json!({
                "path": file.path,
                "kind": file.kind,
                "valid": file.is_valid(strict),
                "notes": file.report.notes,
                "notes_left_out": file.report.dropped.total(),
            })
        })
        .collect();
    let valid = checked.iter().filter(|file| file.is_valid(strict)).count();
    let summary =
        json!({ "total": checked.len(), "valid": valid, "invalid": checked.len() - valid });
    let text =
        agentv_wire::number::to_string_pretty(&json!({ "files": files, "summary": summary }));
    screen.data(&text.unwrap_or_default());
}
