//! What targets need of the machine, and what a first target of a kind looks like.

use crate::http::Url;
use std::path::{Path, PathBuf};

/// Something outside of AgentV that a target cannot do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// A program, by its name or path, that answers to `--version`; and the key of the target that names another.
    Program { program: String, key: &'static str },
    /// A command of the user's, as far as its first words say what it runs.
    Command(CommandNeed),
    /// A server that is asked.
    Server(Url),
    /// What only the provider itself can tell, when it prepares for its first call: a health check, a file.
    Readiness,
}

/// What a command needs to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandNeed {
    pub program: String,
    /// The script that an interpreter is given.
    pub script: Option<String>,
    /// Where it runs, from the directory of the eval file.
    pub cwd: Option<String>,
}

impl CommandNeed {
    /// Where it runs for an eval file in this directory.
    pub fn dir(&self, eval_dir: &Path) -> PathBuf {
        self.cwd.as_ref().map_or_else(|| eval_dir.to_owned(), |cwd| eval_dir.join(cwd))
    }
}

/// What `agentv init` writes for a provider, where all that it needs is there.
#[derive(Debug, Clone, Copy)]
pub struct Starter {
    /// What the target is called.
    pub name: &'static str,
    /// A program that must be found.
    pub program: Option<&'static str>,
    /// Variables that must be set. Their values are not read.
    pub variables: &'static [&'static str],
    /// Its keys besides `name` and `provider`, as lines of YAML.
    pub keys: &'static [&'static str],
    /// Whether it can grade the answers of others.
    pub is_judge: bool,
}

impl Starter {
    /// A program that is asked as it is.
    pub const fn program(name: &'static str, program: &'static str) -> Self {
        Self { name, program: Some(program), variables: &[], keys: &[], is_judge: false }
    }

    /// A model that is known by its key.
    pub const fn model(
        name: &'static str,
        variables: &'static [&'static str],
        keys: &'static [&'static str],
    ) -> Self {
        Self { name, program: None, variables, keys, is_judge: true }
    }
}
