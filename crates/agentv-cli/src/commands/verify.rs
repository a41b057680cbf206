//! `agentv verify`: whether a run folder is as its run left it.

use super::compare::fail;
use crate::args::{ReportFormat, VerifyArgs};
use crate::settings::{Environment, RUN_HELP};
use crate::terminal::{self, show_verification};
use agentv_runtime::run_dir::{PublicKey, RunFiles, can_be_verified, verify};
use agentv_wire::{Exit, number};
use std::path::Path;

pub(crate) fn run(args: &VerifyArgs, environment: &Environment) -> Exit {
    let name = args.run.as_deref().unwrap_or(Path::new("latest"));
    let name = match environment.folder_named(name) {
        Ok(name) => name,
        Err(error) => return fail(&error),
    };
    let Some(files) = find(&name, environment) else {
        return terminal::fail(&format!("no run folder `{}`", name.display()), Some(RUN_HELP));
    };
    if !can_be_verified(&files) {
        let message = format!("`{}` has neither a manifest nor a chain", files.dir.display());
        let help = "it was made by a version of AgentV that did not write them";
        return terminal::fail(&message, Some(help));
    }
    let key = args.key.as_ref().map(|path| PublicKey::read(&environment.working_dir.join(path)));
    let key = match key.transpose() {
        Ok(key) => key,
        Err(error) => return terminal::fail(&error.to_string(), Some(error.help())),
    };
    let verification = match verify(&files, key.as_ref()) {
        Ok(verification) => verification,
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", files.dir.display());
            return terminal::fail(&message, Some("check the folder's permissions"));
        }
    };
    let mut screen = environment.screen();
    match args.format {
        ReportFormat::Text => show_verification(&verification, &mut screen),
        ReportFormat::Json => {
            screen.data(&number::to_string_pretty(&verification).unwrap_or_default());
        }
    }
    if verification.whole { Exit::Success } else { Exit::Gate }
}

/// A run by its id, its folder, or a file in it.
fn find(name: &Path, environment: &Environment) -> Option<RunFiles> {
    let is_run = |files: &RunFiles| {
        [files.manifest(), files.info_path(), files.journal()].iter().any(|path| path.is_file())
    };
    let direct = environment.working_dir.join(name);
    let named = if direct.is_dir() {
        Some(RunFiles { dir: direct })
    } else if direct.exists() {
        direct.parent().map(|dir| RunFiles { dir: dir.to_owned() })
    } else {
        let runs = environment.bases().map(|base| base.join(".agentv/runs").join(name));
        runs.into_iter().find(|dir| dir.is_dir()).map(|dir| RunFiles { dir })
    };
    named.filter(is_run)
}
