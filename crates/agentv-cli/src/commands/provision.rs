//! `agentv provision vscode`: subagents for VS Code targets, made ahead of the run.

use crate::args::ProvisionVscodeArgs;
use crate::settings::Environment;
use crate::terminal::{self, Screen};
use agentv_runtime::providers::vscode::{
    INSIDERS, Provisioned, Provisioning, STABLE, default_root, provision,
};
use agentv_wire::Exit;
use std::path::{Path, PathBuf};

pub(crate) fn vscode(args: &ProvisionVscodeArgs, environment: &Environment) -> Exit {
    let edition = if args.insiders { &INSIDERS } else { &STABLE };
    let given = args.root.as_ref().map(|root| environment.working_dir.join(root));
    let Some(root) = given.or_else(|| default_root(edition, &environment.env)) else {
        return terminal::fail(
            "cannot place subagents: `HOME` is not set",
            Some("name one with `--root`"),
        );
    };
    let how = if args.dry_run { Provisioning::DryRun } else { Provisioning::Make };
    match provision(&root, args.count.into(), how) {
        Ok(found) => {
            show(&found, &root, how, &mut environment.screen());
            Exit::Success
        }
        Err(error) => {
            terminal::complain(
                &format!("no subagents could be made in `{}`: {error}", root.display()),
                Some("name another place with `--root`"),
            );
            Exit::Incomplete
        }
    }
}

fn show(found: &Provisioned, root: &Path, how: Provisioning, screen: &mut Screen) {
    screen.line(format!("Subagents in: {}", root.display()));
    let made = if how == Provisioning::DryRun { "would be made" } else { "made" };
    let mut all: Vec<(&PathBuf, &str)> = Vec::new();
    all.extend(found.made.iter().map(|dir| (dir, made)));
    all.extend(found.kept.iter().map(|dir| (dir, "there already")));
    all.extend(found.locked.iter().map(|dir| (dir, "locked, skipped")));
    // By number, which in these names is by length first.
    all.sort_by_key(|(dir, _)| (dir.as_os_str().len(), *dir));
    for (dir, state) in all {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        screen.line(format!("  {name}: {state}"));
    }
}
