//! A run by name: one place says what `latest` and `previous` mean.

use super::Environment;
use agentv_runtime::config::{suggestion, typos_between};
use agentv_runtime::results_io::{ResultsError, find_results};
use agentv_wire::{Ending, RunInfo};
use std::path::{Path, PathBuf};

/// The words that name a run by its age, the newest first.
pub(crate) const AGES: [&str; 2] = ["latest", "previous"];

/// What to do when a name is not that of a run.
pub(crate) const RUN_HELP: &str = "name a run by its id (`agentv runs list` shows them), its folder or its results file, or use `latest` or `previous`";

impl Environment {
    /// The results of a run: by its id, its folder, `latest` or `previous`, or a results file.
    pub(crate) fn results_of(&self, name: &Path) -> Result<PathBuf, ResultsError> {
        find_results(&self.run_named(name, |_| true)?, &self.bases())
    }

    /// The id behind `latest` and `previous`, counted among the runs that are `meant`. Every other name stays as it is.
    pub(crate) fn run_named(
        &self,
        name: &Path,
        meant: impl Fn(&RunInfo) -> bool,
    ) -> Result<PathBuf, ResultsError> {
        self.check_name(name)?;
        by_age(name, || {
            let runs = self.listed_runs().into_iter();
            runs.filter(&meant).map(|info| info.run).collect()
        })
    }

    /// The same among folders, even if nothing in them can be read.
    pub(crate) fn folder_named(&self, name: &Path) -> Result<PathBuf, ResultsError> {
        self.check_name(name)?;
        by_age(name, || self.runs().ids())
    }

    /// Refuses a name that is not there and is near to one that is.
    fn check_name(&self, name: &Path) -> Result<(), ResultsError> {
        let bases = self.bases();
        let runs = bases.iter().map(|base| base.join(".agentv/runs"));
        let mut places = std::iter::once(self.working_dir.clone()).chain(runs);
        let is_there = AGES.iter().any(|age| name == Path::new(age))
            || places.any(|place| place.join(name).exists());
        let written = name.to_string_lossy();
        match self.near_run(&written).filter(|_| !is_there) {
            None => Ok(()),
            Some(near) => Err(ResultsError::Missing {
                name: written.into_owned(),
                problem: format!("no such file, folder or run; did you mean `{near}`?"),
            }),
        }
    }

    /// The name of a run that was probably meant. Ids differ in a few digits only, so they must be nearer than words.
    fn near_run(&self, written: &str) -> Option<String> {
        if let Some(age) = suggestion(written, AGES) {
            return Some(age.to_owned());
        }
        let is_near =
            |id: &String| id.len().abs_diff(written.len()) <= 2 && typos_between(id, written) <= 2;
        let is_part = |id: &String| written.len() >= 4 && id.contains(written);
        self.runs().ids().into_iter().find(|id| is_near(id) || is_part(id))
    }

    /// The last complete run and the one before it of the same suites, the older one first. If there is one of the same
    /// cases, that one: a run of a few cases in between cannot be compared in full.
    pub(crate) fn last_two(&self) -> Result<[PathBuf; 2], String> {
        let runs = self.listed_runs().into_iter();
        let mut runs = runs.filter(|info| info.ending == Some(Ending::Complete));
        let Some(last) = runs.next() else {
            return Err("there are no complete runs in this project".to_owned());
        };
        let suites = |info: &RunInfo| info.spec.as_ref().map(|spec| spec.suites.clone());
        let cases = |info: &RunInfo| info.spec.as_ref().map(|spec| spec.cases.clone());
        let earlier: Vec<RunInfo> = runs.filter(|info| suites(info) == suites(&last)).collect();
        let of_same_cases = earlier.iter().find(|info| cases(info) == cases(&last));
        match of_same_cases.or(earlier.first()) {
            Some(earlier) => Ok([earlier.run.clone(), last.run].map(PathBuf::from)),
            None => {
                Err(format!("there is no earlier complete run of the suites of `{}`", last.run))
            }
        }
    }
}

fn by_age(name: &Path, ids: impl FnOnce() -> Vec<String>) -> Result<PathBuf, ResultsError> {
    let Some(age) = AGES.iter().position(|age| name == Path::new(age)) else {
        return Ok(name.to_owned());
    };
    let ids = ids();
    let problem = match ids.len() {
        0 => "there are no runs in this project",
        _ => "there is only one run in this project",
    };
    let missing =
        || ResultsError::Missing { name: name.display().to_string(), problem: problem.to_owned() };
    ids.into_iter().nth(age).map(PathBuf::from).ok_or_else(missing)
}
