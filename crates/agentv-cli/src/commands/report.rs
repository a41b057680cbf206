//! `agentv report`: a run in the formats that people and other programs read.

use super::compare::fail;
use crate::args::ReportArgs;
use crate::browser;
use crate::format;
use crate::report::{self, Destination, FORMATS, Github, Source, Wanted, WrittenReports};
use crate::settings::{Environment, GithubActions};
use crate::terminal::{self, Screen};
use agentv_runtime::results_io::ResultsError;
use agentv_wire::{Exit, ReportSummary};
use std::path::Path;

pub(crate) fn run(args: &ReportArgs, environment: &Environment) -> Exit {
    let source = match Source::find(args.run.as_deref(), environment) {
        Ok(source) => source,
        Err(error) => return fail(&error),
    };
    let mut wanted = wanted(args, &environment.working_dir);
    let needs_html = wanted.is_empty() || (args.open && args.html.is_none());
    if needs_html && let Some(html) = FORMATS.iter().find(|kind| kind.name == "html") {
        let destination = Destination::File(source.default_html());
        wanted.push(Wanted { kind: html, destination });
    }
    if let Err((message, help)) = check(&wanted, source.inputs()) {
        return terminal::fail(&message, Some(&help));
    }
    let page = wanted.iter().find(|wanted| wanted.kind.name == "html");
    let page = match page.map(|page| &page.destination) {
        Some(Destination::File(path)) if args.open => Some(path.clone()),
        _ if args.open => {
            let help = "name a file: `--html report.html`";
            return terminal::fail("`--open` cannot open standard output", Some(help));
        }
        _ => None,
    };
    match write(&source, &wanted, environment, &mut environment.screen()) {
        Ok((exit, summary)) => {
            if !has_stdout(&wanted) {
                show(&summary, &mut environment.screen());
            }
            match page.filter(|_| exit == Exit::Success) {
                Some(page) => open(&page, environment),
                None => exit,
            }
        }
        Err(error) => fail(&error),
    }
}

/// Opens the page, or says how to.
fn open(page: &Path, environment: &Environment) -> Exit {
    let Err(error) = browser::open(page) else { return Exit::Success };
    let page = environment.pointed(page);
    terminal::complain(&error, Some(&format!("open `{page}` in a browser")));
    Exit::Incomplete
}

/// The run in one line.
fn show(summary: &ReportSummary, screen: &mut Screen) {
    let all = &summary.totals.all;
    let mean = all.mean_score.map(|_| format!(", mean score {}", format::mean_score(all)));
    screen.line(format!("{}{}", report::verdict(all), mean.unwrap_or_default()));
}

/// Whoever reads data from stdout wants nothing else there.
fn has_stdout(wanted: &[Wanted]) -> bool {
    wanted.iter().any(|wanted| wanted.destination == Destination::Stdout)
}

fn wanted(args: &ReportArgs, working_dir: &Path) -> Vec<Wanted> {
    let flag = |name: &str| match name {
        "html" => args.html.as_deref(),
        "junit" => args.junit.as_deref(),
        "markdown" => args.markdown.as_deref(),
        "csv" => args.csv.as_deref(),
        "json" => args.json.as_deref(),
        _ => None,
    };
    let asked = FORMATS.iter().filter_map(|kind| Some((kind, flag(kind.name)?)));
    asked.map(|(kind, path)| Wanted::new(kind, path, working_dir)).collect()
}

/// Refuses what would mix two reports, or replace what they are made of.
pub(crate) fn check<'p>(
    wanted: &[Wanted],
    inputs: impl Iterator<Item = &'p Path>,
) -> Result<(), (String, String)> {
    for (index, one) in wanted.iter().enumerate() {
        if wanted[..index].iter().any(|other| other.destination == one.destination) {
            let message = format!("two reports would both go to `{}`", one.destination);
            return Err((message, "give each report a file of its own".to_owned()));
        }
    }
    let inputs: Vec<_> = inputs.filter_map(|input| input.canonicalize().ok()).collect();
    for wanted in wanted {
        let Destination::File(path) = &wanted.destination else { continue };
        if path.is_dir() {
            // `.` and `..` have no name to put the file's after.
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            let file = path.join(usual_name(wanted.kind.name));
            let message = format!("`{}` is a directory", path.display());
            return Err((message, format!("name a file: `{}`", file.display())));
        }
        if path.canonicalize().is_ok_and(|path| inputs.contains(&path)) {
            let message = format!("`{}` is an input of the report", path.display());
            return Err((message, "choose another name for the report".to_owned()));
        }
    }
    Ok(())
}

/// What a report of this format is often called.
fn usual_name(format: &str) -> String {
    match format {
        "junit" => "junit.xml".to_owned(),
        "markdown" => "report.md".to_owned(),
        other => format!("report.{other}"),
    }
}

/// Writes the reports, tells GitHub, and says where everything is.
pub(crate) fn write(
    source: &Source,
    wanted: &[Wanted],
    environment: &Environment,
    screen: &mut Screen,
) -> Result<(Exit, ReportSummary), ResultsError> {
    let actions = GithubActions::around(environment);
    let mut github = actions.as_ref().map(|_| Github::default());
    let WrittenReports { summary, torn, failed } = report::write(source, wanted, github.as_mut())?;
    if let Some(line) = torn {
        let shown = &source.shown;
        terminal::warn(&format!("{shown}:{line}: the last record was cut off and is left out"));
    }
    let mut exit = Exit::Success;
    let is_quiet = has_stdout(wanted);
    for Wanted { kind, destination } in wanted {
        if let Some((_, error)) = failed.iter().find(|(other, _)| other == destination) {
            let help = "choose another path, or free disk space; no partial file was left";
            terminal::complain(&format!("`{destination}` cannot be written: {error}"), Some(help));
            exit = Exit::Incomplete;
        } else if let Destination::File(path) = destination
            && !is_quiet
        {
            let path = environment.pointed(path);
            screen.line(format!("Report written to: {path} ({})", kind.name));
        }
    }
    screen.show();
    if let (Some(github), Some(actions)) = (&github, &actions) {
        report::tell_github(github, actions);
    }
    Ok((exit, summary))
}
