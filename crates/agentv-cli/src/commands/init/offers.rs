//! What this machine offers: agents on `PATH`, and models whose keys are in the environment.

use agentv_runtime::config::Env;
use agentv_runtime::process::find;
use agentv_runtime::providers::{PROVIDERS, Starter};
use std::path::Path;

/// A target that could be used here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub provider: &'static str,
    pub starter: Starter,
}

impl Offer {
    /// Why it is offered.
    pub(super) fn why(&self) -> String {
        match (self.starter.program, self.starter.variables) {
            (Some(program), _) => format!("`{program}` is on PATH"),
            (None, [one]) => format!("{one} is set"),
            (None, several) => format!("{} are set", several.join(", ")),
        }
    }
}

/// All that can be used. Of variables only their presence is looked at.
pub(super) fn offers(env: &Env, dir: &Path) -> Vec<Offer> {
    let is_there = |starter: &Starter| {
        starter.program.is_none_or(|program| find(program, dir, env).is_ok())
            && starter.variables.iter().all(|name| env.require(name).is_ok())
    };
    let starters = all().filter(|offer| is_there(&offer.starter));
    starters.collect()
}

/// Every variable that a first target may want, for `.env.example`.
pub(super) fn variables() -> Vec<&'static str> {
    all().flat_map(|offer| offer.starter.variables).copied().collect()
}

fn all() -> impl Iterator<Item = Offer> {
    PROVIDERS
        .iter()
        .filter_map(|kind| Some(Offer { provider: kind.names[0], starter: kind.starter? }))
}
