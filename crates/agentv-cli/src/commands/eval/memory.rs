//! What a run remembers: the answers of earlier ones.

use crate::settings::{EvalSettings, Surroundings};
use agentv_runtime::cache::{CacheChoice, Store};
use agentv_runtime::load::LoadedSuite;
use agentv_runtime::target::Memory;
use std::sync::Arc;

/// The cache, whatever is kept in it.
pub(super) fn open(surroundings: &Surroundings) -> Memory {
    let store = Some(Arc::new(Store::new(surroundings.cache_dir())));
    Memory { store, ..Memory::default() }
}

/// As one suite has it: which answers are kept is for the flags to say, else for the suite, else for each target.
pub(super) fn of_suite(memory: &Memory, settings: &EvalSettings, suite: &LoadedSuite) -> Memory {
    let cache = settings.cache.unwrap_or(match suite.suite.cache {
        Some(true) => CacheChoice::Models,
        Some(false) => CacheChoice::Never,
        None => CacheChoice::Asked,
    });
    Memory { cache, ..memory.clone() }
}
