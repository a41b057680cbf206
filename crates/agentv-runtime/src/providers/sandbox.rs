//! Programs of targets in a sandbox.

use crate::process::sandbox::{Confinement, GivenFiles, SandboxSettings, Surroundings};
use agentv_core::ProviderError;
use serde_json::{Value, json};

/// The key of a record's `provider_metadata`.
const FACT: &str = "sandbox";

/// The sandbox for one call, if the target has one.
pub(super) fn confine(
    settings: Option<&SandboxSettings>,
    surroundings: &Surroundings<'_>,
    given: &GivenFiles,
) -> Result<Option<Confinement>, ProviderError> {
    let sandbox = settings.map(|settings| settings.confine(surroundings, given)).transpose();
    sandbox.map_err(|error| ProviderError::not_started(format!("the target was not run: {error}")))
}

/// What a record says of it.
pub(super) fn fact(sandbox: Option<&Confinement>) -> Option<(String, Value)> {
    sandbox.map(|sandbox| (FACT.to_owned(), json!(sandbox.record())))
}

/// The failure of a program in a sandbox: that may be why it failed.
pub(super) fn explain(error: ProviderError, sandbox: Option<&Confinement>) -> ProviderError {
    let Some(sandbox) = sandbox else { return error };
    ProviderError { message: format!("{}; {}", error.message, sandbox.hint()), ..error }
}
