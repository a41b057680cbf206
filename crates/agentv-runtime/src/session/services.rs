//! What surrounds the calls of a run: the cache, the cassette that is recorded or replayed, and the budget.

use super::{Conclusion, Environment, Refused};
use crate::cache::{AnswerStore, CacheChoice, Store};
use crate::cassette::{CassetteError, Player, Recorder, Tape};
use crate::load::LoadedSuite;
use crate::run::Plan;
use crate::targets::{CallServices, Spending};
use agentv_wire::{Exit, RunSpec};
use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens what the spec names; what is wrong with it is refused before anything is paid for.
pub(super) fn open(spec: &RunSpec, environment: &Environment) -> Result<CallServices, Refused> {
    let root = &environment.repo_root;
    let tape = match (&spec.record, &spec.replay) {
        (Some(path), _) => Recorder::new(path, root).map(|tape| Tape::Recording(Arc::new(tape))),
        (None, Some(path)) => Player::open(path, root).map(|tape| Tape::Replaying(Arc::new(tape))),
        (None, None) => Ok(Tape::Off),
    };
    let tape = tape.map_err(|error| {
        let help = match &error {
            CassetteError::Unwritable { .. } => "choose another file",
            _ => "make one with `--record FILE`",
        };
        Refused::usage(with_cause(&error), help)
    })?;
    let store: Arc<dyn AnswerStore> = Arc::new(Store::new(environment.cache_dir()));
    let spending = Arc::new(Spending::within(spec.budget));
    Ok(CallServices { cache: CacheChoice::default(), store: Some(store), tape, spending })
}

/// As one suite has it: which answers are kept is for the spec to say, else for the suite, else for each target.
pub(super) fn of_suite(
    services: &CallServices,
    spec: &RunSpec,
    suite: &LoadedSuite,
) -> CallServices {
    let cache = match spec.cache.or(suite.suite.cache) {
        Some(true) => CacheChoice::Models,
        Some(false) => CacheChoice::Never,
        None => CacheChoice::Asked,
    };
    CallServices { cache, ..services.clone() }
}

/// A cassette of an earlier version does not say which suite a call is for.
pub(super) fn check_cassette(services: &CallServices, plan: &Plan) -> Result<(), Refused> {
    let Tape::Replaying(player) = &services.tape else { return Ok(()) };
    let mut suites: Vec<_> = plan.lanes().map(|lane| &lane.suite.suite.id).collect();
    suites.sort();
    suites.dedup();
    if player.is_legacy() && suites.len() > 1 {
        return Err(Refused::usage(
            format!(
                "the cassette `{}` was recorded by an earlier version, which did not note the suite of a call",
                player.path().display()
            ),
            "replay it with one eval file at a time, or record it again with `--record FILE`",
        ));
    }
    Ok(())
}

/// Writes the cassette of a complete run. An incomplete one leaves the cassette that was there.
pub(super) fn close(
    services: &CallServices,
    is_complete: bool,
    conclusion: &mut Conclusion,
) -> Option<(PathBuf, usize)> {
    let Tape::Recording(recorder) = &services.tape else { return None };
    let path = recorder.path();
    if !is_complete {
        let path = path.display();
        conclusion.warnings.push(format!("the run is incomplete, so `{path}` was not written"));
        return None;
    }
    match recorder.finish() {
        Ok(calls) => Some((path.to_owned(), calls)),
        Err(error) => {
            conclusion.add(Exit::Incomplete, with_cause(&error), None);
            None
        }
    }
}

fn with_cause(error: &CassetteError) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
