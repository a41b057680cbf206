//! Entry points to reports and screens, for fuzzing. They are not in the program.

use crate::report::{self, RenderedReport, Source};
use crate::settings::Environment;
use crate::terminal::{
    OverviewInput, Paint, Screen, ShownCases, StandardOutput, markdown_comparisons, overview,
    render_note, show_comparisons, show_plan, summary,
};
use agentv_core::totals::Totals;
use agentv_runtime::config::{Env, Note};
use agentv_runtime::results_io::ResultsError;
use agentv_runtime::session;
use agentv_wire::comparison::Comparison;
use agentv_wire::plan::ComparisonPlan;
use agentv_wire::{ReportSummary, RunTotals};
use std::path::Path;
use std::time::Duration;

/// Every report on a file of results in `dir`, by the name of its format.
pub fn reports(
    results: &Path,
    dir: &Path,
) -> Result<(ReportSummary, Vec<RenderedReport>), ResultsError> {
    let session = session::Environment {
        working_dir: dir.to_owned(),
        repo_root: dir.to_owned(),
        project_root: dir.to_owned(),
        env: Env::default(),
    };
    let environment =
        Environment { session, shown_from: dir.to_owned(), output: StandardOutput::default() };
    report::texts(&Source::of_file(results.to_owned(), &environment))
}

/// A note as it is printed.
pub fn note(note: &Note, dir: &Path) -> String {
    render_note(note, dir)
}

/// Makes what `agentv compare` prints.
pub fn comparisons(comparisons: &[Comparison]) {
    show_comparisons(comparisons, ShownCases::Changed, Paint::Coloured, &mut Screen::discarding());
    markdown_comparisons(comparisons, &mut Screen::discarding());
}

/// Makes what `agentv plan` prints.
pub fn plan(plan: &ComparisonPlan) {
    show_plan(plan, 4, &mut Screen::discarding());
}

/// Makes what is printed at the end of a run, for people and for scripts.
pub fn run_summary(totals: &Totals, numbers: &RunTotals) {
    let (took, results) = (Duration::from_millis(1234), "results.jsonl".to_owned());
    let (below, is_watched) = (&[][..], true);
    let ending = OverviewInput { totals, numbers, took, results, warnings: 1, below, is_watched };
    overview(&ending, Paint::Coloured, &mut Screen::discarding());
    summary(totals, numbers, &mut Screen::discarding());
}
