//! The directory that an agent works in: what a file says of it.

use std::path::PathBuf;

/// What a target, a suite or a case asks for. What it leaves out, the next one below says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceSpec {
    /// The directory that is copied, absolute. Without one the workspace is empty.
    pub template: Option<PathBuf>,
    /// Commands that run in the copy before the agent sees it: a program and its arguments each.
    pub setup: Option<Vec<Vec<String>>>,
    /// Secrets that these commands get although the configuration says `env: scrub`.
    pub pass_env: Option<Vec<String>>,
    pub keep: Option<Keep>,
}

/// Which workspaces stay for people to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Those of cases that did not pass.
    #[default]
    OnFailure,
    Always,
    Never,
}

impl WorkspaceSpec {
    /// This one, key by key over another.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        Self {
            template: self.template.as_ref().or(below.template.as_ref()).cloned(),
            setup: self.setup.as_ref().or(below.setup.as_ref()).cloned(),
            pass_env: self.pass_env.as_ref().or(below.pass_env.as_ref()).cloned(),
            keep: self.keep.or(below.keep),
        }
    }

    /// The higher one over the lower one, where there is any.
    pub fn merged(above: Option<&Self>, below: Option<&Self>) -> Option<Self> {
        match (above, below) {
            (Some(above), Some(below)) => Some(above.over(below)),
            (one, other) => one.or(other).cloned(),
        }
    }
}

impl Keep {
    /// Each with its name in files.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::OnFailure, "on_failure"), (Self::Always, "always"), (Self::Never, "never")];

    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(keep, _)| *keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_higher_one_wins_key_by_key() {
        let case = WorkspaceSpec { keep: Some(Keep::Always), ..WorkspaceSpec::default() };
        let target = WorkspaceSpec {
            template: Some("/template".into()),
            keep: Some(Keep::Never),
            ..WorkspaceSpec::default()
        };
        let both = WorkspaceSpec::merged(Some(&case), Some(&target)).unwrap();
        assert_eq!(both, WorkspaceSpec { keep: Some(Keep::Always), ..target.clone() });
        assert_eq!(WorkspaceSpec::merged(None, Some(&target)), Some(target));
        assert_eq!(WorkspaceSpec::merged(None, None), None);
    }
}
