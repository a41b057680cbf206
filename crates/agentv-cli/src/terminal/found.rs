//! Which suites a run found by itself.

use super::Screen;
use crate::format::count;
use crate::settings::Environment;
use agentv_runtime::load::FoundSuites;
use std::path::PathBuf;

/// More are only counted.
const SHOWN: usize = 5;

/// Says what will be run, and what looked as if it should be.
pub(crate) fn found(found: &FoundSuites, environment: &Environment, screen: &mut Screen) {
    let FoundSuites { suites, others } = found;
    let number = count(suites.len(), "suite", "suites");
    screen.line(format!("Found {number}: {}", listed(suites, environment)));
    if !others.is_empty() {
        let number = count(others.len(), "file", "files");
        screen.line(format!("Left out {number} without cases: {}", listed(others, environment)));
    }
}

fn listed(paths: &[PathBuf], environment: &Environment) -> String {
    let shown: Vec<String> = paths.iter().take(SHOWN).map(|path| environment.shown(path)).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
