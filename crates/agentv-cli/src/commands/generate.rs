//! `agentv generate rubrics`: a model writes the rubrics of cases that have none into their file.

use crate::args::GenerateRubricsArgs;
use crate::format::count;
use crate::settings::Environment;
use crate::terminal::{self, Screen, show_notes};
use agentv_core::{CallContext, Provider, TargetName};
use agentv_runtime::atomic_file::AtomicFile;
use agentv_runtime::config::Notes;
use agentv_runtime::file_input::{self, CAP};
use agentv_runtime::load::{Format, NewRubric, Report, Unrated, unrated, with_rubrics};
use agentv_runtime::process::{Processes, SecretPolicy};
use agentv_runtime::providers::Deps;
use agentv_runtime::targets::TargetBook;
use agentv_wire::Exit;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long one question may take.
const TIME_LIMIT: Duration = Duration::from_mins(2);

pub(crate) fn rubrics(args: &GenerateRubricsArgs, environment: &Environment) -> Exit {
    let path = environment.working_dir.join(&args.file);
    if Format::of(&path).is_some_and(|format| format != Format::Yaml) {
        let help = "make a suite of it with `agentv convert --suite --out suite.eval.yaml`";
        return terminal::fail("rubrics can only be written into YAML", Some(help));
    }
    let text = match file_input::read_argument_to_string(&path, CAP) {
        Ok(text) => text,
        Err(error) => {
            return terminal::fail(
                &format!("`{}` cannot be read: {error}", args.file.display()),
                None,
            );
        }
    };
    let mut notes = Notes::new(path.as_path());
    let found = unrated(&text, &mut notes);
    notes.locate(&text, 1);
    let Some((cases, skipped)) = found else {
        let (list, dropped) = notes.finish();
        show_notes(&Report { notes: list, dropped }, &environment.working_dir);
        return Exit::Usage;
    };
    let processes = Processes::new(format!("generate-{}", std::process::id()));
    let Some(provider) = target(&path, args, environment, &processes) else { return Exit::Usage };

    let mut screen = environment.screen();
    screen.line(format!("Generating rubrics for: {}", args.file.display()));
    let making = make(cases, &*provider, &mut screen);
    let (made, failed) = match super::work(&processes, making) {
        Ok(made) => made,
        Err(exit) => return exit,
    };
    if made.is_empty() {
        screen.line("No cases updated");
    } else if let Err(error) = replace(&path, &with_rubrics(&text, &made)) {
        terminal::complain(&format!("`{}` cannot be written: {error}", path.display()), None);
        return Exit::Incomplete;
    } else {
        screen
            .line(format!("Updated {} with generated rubrics", count(made.len(), "case", "cases")));
    }
    if skipped > 0 {
        screen.line(format!("Skipped {}", count(skipped, "case", "cases")));
    }
    if failed { Exit::Incomplete } else { Exit::Success }
}

/// The target that writes. What is wrong with it is shown.
fn target(
    path: &Path,
    args: &GenerateRubricsArgs,
    environment: &Environment,
    processes: &Arc<Processes>,
) -> Option<Arc<dyn Provider>> {
    let loader = environment.loader(processes);
    let (suite, _) = loader.suite(path);
    let env = suite.as_ref().map_or_else(|| loader.env.clone(), |suite| suite.env.clone());
    let dir = path.parent().unwrap_or(path);
    let found = loader.find_targets(dir, args.targets.as_deref());
    let (file, report) = match &found {
        Ok(file) => loader.targets(file, &env),
        Err(problem) => {
            terminal::complain(
                problem,
                Some("write a `targets.yaml`, or name one with `--targets`"),
            );
            return None;
        }
    };
    show_notes(&report, &environment.working_dir);
    let file = file?;
    let secrets = match &suite {
        Some(suite) => suite.secrets(&file),
        None => file.secrets(&env),
    };
    let scrub = suite.as_ref().map(|suite| suite.scrub).unwrap_or_default();
    let own = suite.and_then(|suite| suite.target);
    let name = args
        .target
        .as_deref()
        .map(TargetName::from)
        .or(own)
        .unwrap_or_else(|| TargetName::from("default"));
    let deps = Deps {
        target: name.clone(),
        eval_dir: dir.to_owned(),
        working_dir: environment.working_dir.clone(),
        project_root: environment.project_root.clone(),
        redactor: secrets.redactor(),
        env,
        secrets: SecretPolicy { scrub, ..SecretPolicy::default() },
        processes: Arc::clone(&loader.processes),
        health: Arc::default(),
    };
    let provider = TargetBook::new(file, deps).provider(&name);
    provider.map_err(|error| terminal::complain(&error.to_string(), None)).ok()
}

/// Asks for one case after the other. A case that cannot be done is said, and the others go on.
async fn make(
    cases: Vec<Unrated>,
    provider: &dyn Provider,
    screen: &mut Screen,
) -> (Vec<(Unrated, Vec<NewRubric>)>, bool) {
    let mut made = Vec::new();
    let mut failed = false;
    for case in cases {
        screen.line(format!("  Generating rubrics for: {}", case.id));
        screen.show();
        let cx = CallContext::quiet();
        match agentv_runtime::generate::rubrics(&case, provider, Some(TIME_LIMIT), &cx).await {
            Ok(rubrics) => made.push((case, rubrics)),
            Err(error) => {
                terminal::complain(&format!("case `{}`: {error}", case.id), None);
                failed = true;
            }
        }
    }
    (made, failed)
}

/// All or nothing: a file that is half written would be worse than none. It stays where a link leads to, and as readable as
/// it was.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes())?;
    file.commit_synced()
}
