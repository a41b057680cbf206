//! Whether GitHub Actions is at the other end.

use super::Environment;
use agentv_wire::env;
use std::path::PathBuf;

/// A step of a GitHub workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GithubActions {
    /// What is written here is shown on the job's page.
    pub step_summary: Option<PathBuf>,
}

impl GithubActions {
    /// `None` elsewhere.
    pub(crate) fn around(environment: &Environment) -> Option<Self> {
        let set = |name| environment.env.get(name).filter(|value| !value.is_empty());
        set(env::GITHUB_ACTIONS).filter(|value| *value != "false")?;
        Some(Self { step_summary: set(env::GITHUB_STEP_SUMMARY).map(PathBuf::from) })
    }
}
