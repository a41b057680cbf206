//! Earlier runs, as tables for people.

use super::screen::Screen;
use crate::format;
use agentv_runtime::run_dir::State;
use agentv_wire::RunInfo;

/// How many columns the table of runs has.
const COLUMNS: usize = 9;

/// One line for each run.
pub(crate) fn table(runs: &[(RunInfo, State)], screen: &mut Screen) {
    let head = ["RUN", "STATE", "DONE", "PASSED", "FAILED", "UNGRADED", "ERRORS", "MEAN", "FILES"];
    let head = head.map(str::to_owned);
    let rows: Vec<[String; COLUMNS]> = std::iter::once(head).chain(runs.iter().map(row)).collect();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        screen.line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

fn row((info, state): &(RunInfo, State)) -> [String; COLUMNS] {
    let number = |of: fn(&agentv_wire::RunTotals) -> String| {
        info.totals.as_ref().map_or_else(|| "-".to_owned(), of)
    };
    let done = number(|totals| totals.all.recorded.to_string());
    [
        info.run.clone(),
        state.name().to_owned(),
        format!("{done}/{}", info.cases),
        number(|totals| totals.all.passed.to_string()),
        number(|totals| totals.all.failed.to_string()),
        number(|totals| totals.all.ungraded.to_string()),
        number(|totals| totals.all.errors.to_string()),
        number(|totals| format::mean_score(&totals.all)),
        files(info),
    ]
}

fn files(info: &RunInfo) -> String {
    let evals = info.files.iter().filter(|file| file.kind == agentv_wire::RunFileKind::Eval);
    evals.map(|file| file.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// All that is known of one run.
pub(crate) fn show_run((info, state): &(RunInfo, State), folder: &str, screen: &mut Screen) {
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            screen.line(format!("{name:<9} {value}"));
        }
    };
    say("Run", &info.run);
    say("State", state.name());
    say("Command", &format!("agentv {}", info.command.join(" ")));
    say("Graded", info.graded.as_deref().unwrap_or_default());
    say("Started", &info.started);
    say("Resumed", &info.resumed.join(", "));
    say("Ended", info.ended.as_deref().unwrap_or_default());
    say("Exit code", &info.exit_code.map(|code| code.to_string()).unwrap_or_default());
    say("Version", &info.version);
    say("Host", info.host.as_deref().unwrap_or_default());
    if let Some(git) = &info.git {
        say(
            "Commit",
            &match &git.branch {
                Some(branch) => format!("{} ({branch})", git.commit),
                None => git.commit.clone(),
            },
        );
    }
    for file in &info.files {
        say("File", &format!("{}  sha256 {}", file.path, file.sha256));
    }
    for target in &info.targets {
        let model = target.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
        say("Target", &format!("{} [provider={}{model}]", target.name, target.provider));
    }
    say("Output", &info.out);
    say("Folder", folder);
    let Some(totals) = &info.totals else { return };
    let all = &totals.all;
    say("Records", &format!("{} of {}", all.recorded, info.cases));
    let (passed, failed, ungraded, errors) = (all.passed, all.failed, all.ungraded, all.errors);
    let errors = format::count(errors, "error", "errors");
    say("Status", &format!("{passed} passed, {failed} failed, {ungraded} ungraded, {errors}"));
    say("Pass rate", &format::pass_rate_interval(all));
    say("Mean", &format::mean_score(all));
    say("Cost", &all.cost_usd.map(format::money).unwrap_or_default());
    super::trials(&totals.trials, screen);
}
