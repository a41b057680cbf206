//! What a run remembers: the cache, and the cassette that is recorded or replayed.

use super::Refusal;
use crate::settings::{Environment, EvalSettings};
use crate::terminal::{self, Screen};
use agentv_runtime::cache::{CacheChoice, Store};
use agentv_runtime::cassette::{CassetteError, Player, Recorder, Tape};
use agentv_runtime::load::LoadedSuite;
use agentv_runtime::run::Ended;
use agentv_runtime::targets::{CallServices, Spending};
use agentv_wire::Exit;
use std::error::Error as _;
use std::sync::Arc;

/// Opens what the flags name; what is wrong with it is said, before anything is paid for.
pub(super) fn open(
    settings: &EvalSettings,
    environment: &Environment,
) -> Result<CallServices, Refusal> {
    let root = &environment.repo_root;
    let tape = match (&settings.record, &settings.replay) {
        (Some(path), _) => Recorder::new(path, root).map(|tape| Tape::Recording(Arc::new(tape))),
        (None, Some(path)) => Player::open(path, root).map(|tape| Tape::Replaying(Arc::new(tape))),
        (None, None) => Ok(Tape::Off),
    };
    let tape = tape.map_err(|error| {
        let help = match &error {
            CassetteError::Unwritable { .. } => "choose another file",
            _ => "make one with `--record FILE`",
        };
        Refusal::usage(said(&error), help)
    })?;
    let store = Some(Arc::new(Store::new(environment.cache_dir())));
    let spending = Arc::new(Spending::within(settings.budget));
    Ok(CallServices { cache: CacheChoice::default(), store, tape, spending })
}

/// The rest of a run is no whole cassette.
pub(super) fn leave_cassette(settings: &mut EvalSettings) {
    if let Some(path) = settings.record.take() {
        let path = path.display();
        terminal::warn(&format!(
            "a run that is resumed is not recorded: `{path}` will not be written"
        ));
    }
}

/// As one suite has it: which answers are kept is for the flags to say, else for the suite, else for each target.
pub(super) fn of_suite(
    services: &CallServices,
    settings: &EvalSettings,
    suite: &LoadedSuite,
) -> CallServices {
    let cache = settings.cache.unwrap_or(match suite.suite.cache {
        Some(true) => CacheChoice::Models,
        Some(false) => CacheChoice::Never,
        None => CacheChoice::Asked,
    });
    CallServices { cache, ..services.clone() }
}

/// Writes the cassette of a run that came to its end. Half a run leaves the one that was there.
pub(super) fn close(services: &CallServices, ended: &Ended, screen: &mut Screen) -> Option<Exit> {
    let Tape::Recording(recorder) = &services.tape else { return None };
    let path = recorder.path().display();
    if !matches!(ended, Ended::Complete) {
        terminal::warn(&format!("the run did not come to its end, so `{path}` was not written"));
        return None;
    }
    match recorder.finish() {
        Ok(calls) => {
            screen.line(format!("Cassette written to: {path} ({calls} calls)"));
            None
        }
        Err(error) => {
            terminal::complain(&said(&error), None);
            Some(Exit::Incomplete)
        }
    }
}

fn said(error: &CassetteError) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
