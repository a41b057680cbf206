//! `agentv demo`: a small suite against a scripted agent, to see what AgentV does with no key and no network.

use super::eval::{Presentation, conduct};
use crate::args::{DemoArgs, ReportFormat};
use crate::report::{FORMATS, Wanted};
use crate::settings::{Environment, RunOrder, Showing};
use crate::terminal::{self, Step};
use agentv_runtime::load::{DEMO_MARK, repo_root};
use agentv_runtime::session::{self, Order};
use agentv_wire::{CaseLimit, Exit, RunGates, RunSpec};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, iter};

/// What lies in the folder. The first two are the suites.
const FILES: [(&str, &str); 5] = [
    ("support.eval.yaml", include_str!("../../assets/demo/support.eval.yaml")),
    ("discounts.eval.yaml", include_str!("../../assets/demo/discounts.eval.yaml")),
    ("targets.yaml", include_str!("../../assets/demo/targets.yaml")),
    ("README.md", include_str!("../../assets/demo/README.md")),
    (DEMO_MARK, "This is a demo: `agentv eval` runs it only if you name it, or from within.\n"),
];

pub(crate) fn run(args: &DemoArgs, environment: &Environment) -> Exit {
    let dir = environment.working_dir.join(&args.dir);
    if let Err((message, help)) = furnish(&dir, &args.dir) {
        terminal::complain(&message, Some(&help));
        return Exit::Usage;
    }
    let session = session::Environment {
        repo_root: repo_root(&dir),
        project_root: dir.clone(),
        working_dir: dir.clone(),
        env: environment.env.clone(),
    };
    let there = Environment {
        session,
        shown_from: environment.working_dir.clone(),
        output: environment.output.clone(),
    };
    let next = next(&args.dir);
    conduct(Ok(order(&dir, &there)), &there, &Presentation { next: Some(next) })
}

/// The run of the demo, as one would order it in its folder.
fn order(dir: &Path, there: &Environment) -> RunOrder {
    let report = free_name(dir);
    let spec = RunSpec {
        suites: FILES[..2].iter().map(|(name, _)| dir.join(name)).collect(),
        reports: vec![format!("html={}", dir.join(&report).display())],
        // One judge is made to fail, and that is part of the show.
        gates: RunGates { allow_errors: Some(CaseLimit::Percent(100.0)), ..RunGates::default() },
        ..RunSpec::default()
    };
    let report_flag = format!("html={report}");
    let command = ["eval", FILES[0].0, FILES[1].0, "--allow-errors", "--report", &report_flag];
    let html = FORMATS.iter().filter(|kind| kind.name == "html");
    let reports = html.map(|kind| Wanted::new(kind, Path::new(&report), dir)).collect();
    RunOrder {
        order: Order { spec, command: command.map(str::to_owned).to_vec(), resume: None },
        found: None,
        showing: Showing::of(ReportFormat::Text, false, there),
        reports,
        cluster: None,
    }
}

/// Writes what is missing. What is there stays as it is: the user may have changed it.
fn furnish(dir: &Path, shown: &Path) -> Result<(), (String, String)> {
    let is_foreign = dir.exists() && !dir.join(FILES[0].0).exists() && !is_empty(dir);
    let shown = shown.display();
    if is_foreign {
        return Err((
            format!("`{shown}` exists and is not a demo folder"),
            "name a new folder: `agentv demo my-demo`".to_owned(),
        ));
    }
    let unwritable = |error: io::Error| {
        let help = "name a folder that can be written: `agentv demo /tmp/agentv-demo`";
        (format!("`{shown}` cannot be written: {error}"), help.to_owned())
    };
    fs::create_dir_all(dir.join(DEMO_MARK).parent().unwrap_or(dir)).map_err(unwritable)?;
    for (name, text) in FILES {
        match fs::File::create_new(dir.join(name)) {
            Ok(mut file) => file.write_all(text.as_bytes()).map_err(unwritable)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unwritable(error)),
        }
    }
    Ok(())
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// The report of an earlier demo stays.
fn free_name(dir: &Path) -> String {
    let names = (2..).map(|number| format!("report-{number}.html"));
    let mut names = iter::once("report.html".to_owned()).chain(names);
    names.find(|name| !dir.join(name).exists()).unwrap_or_default()
}

fn next(dir: &Path) -> Vec<Step> {
    let suite: PathBuf = dir.join(FILES[0].0);
    [
        (format!("agentv eval {}", suite.display()), "after a change of your own"),
        ("agentv doctor".to_owned(), "agents and keys found here"),
        ("agentv init".to_owned(), "evals for your own agent"),
    ]
    .map(|(command, purpose)| Step { command, purpose })
    .into()
}
