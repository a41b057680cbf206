//! A script as it is written in an eval file.

use crate::config::{Fields, FromNode, Kind, Node, Wrong};
use crate::process::{Command, first_program, interpreted, shell_words};
use schemars::JsonSchema;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[serde(untagged)]
pub enum Script {
    /// A program and its arguments, each as it is.
    Argv(Vec<String>),
    /// For the shell.
    Shell(String),
}

/// Files over this size are programs or data rather than scripts, and too slow to hash for every case.
const SCRIPT_SIZE: u64 = 1 << 20;

impl FromNode for Script {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let wrong = Wrong {
            expected: "a list of texts (a program and its arguments) or one text for the shell, none of them empty",
        };
        let text = |node: &Node<'_>| {
            node.as_text().filter(|text| !text.trim().is_empty()).map(str::to_owned).ok_or(wrong)
        };
        match &node.kind {
            Kind::Text(_) => text(node).map(Self::Shell),
            Kind::List(items) if !items.is_empty() => {
                items.iter().map(text).collect::<Result<_, _>>().map(Self::Argv)
            }
            _ => Err(wrong),
        }
    }
}

impl Script {
    pub(super) fn argv(&self) -> Vec<OsString> {
        match self {
            Self::Argv(argv) => argv.iter().map(OsString::from).collect(),
            Self::Shell(script) => Command::shell(script),
        }
    }

    /// What it starts with, if that is a program.
    pub(super) fn program(&self) -> Option<&str> {
        match self {
            Self::Argv(argv) => argv.first().map(String::as_str),
            Self::Shell(script) => first_program(script),
        }
    }

    /// The files among its words: if one changes, the grading may change.
    pub(super) fn files(&self, cwd: &Path) -> Vec<PathBuf> {
        let words: Vec<&str> = match self {
            Self::Argv(argv) => argv.iter().map(String::as_str).collect(),
            Self::Shell(script) => script.split_whitespace().collect(),
        };
        let is_script = |path: &PathBuf| {
            path.metadata().is_ok_and(|file| file.is_file() && file.len() <= SCRIPT_SIZE)
        };
        words.into_iter().map(|word| cwd.join(word)).filter(is_script).collect()
    }

    /// Notes a script that is written as a path and is not there: it would fail every case, after all have been answered.
    /// What is written without a path is looked up on `PATH`, and only `agentv doctor` and the run can tell.
    pub(super) fn check_files(&self, key: &str, cwd: &Path, fields: &mut Fields<'_, '_>) {
        let words = self.plain_words();
        let program = words.first().copied();
        let is_missing = |word: &&str| word.contains('/') && !cwd.join(word).exists();
        let mut written = [program, interpreted(&words)].into_iter().flatten();
        let Some(missing) = written.find(is_missing) else { return };
        let message = format!("the script `{missing}` of {} was not found", fields.owner());
        let help =
            format!("correct the path, or create it; it is looked up from `{}`", cwd.display());
        fields.error("evaluator::script", key, message).help(help);
    }

    /// Its words, up to the first that a shell would change.
    pub(super) fn plain_words(&self) -> Vec<&str> {
        match self {
            Self::Argv(argv) => argv.iter().map(String::as_str).collect(),
            Self::Shell(script) => shell_words(script),
        }
    }

    pub(super) fn as_written(&self) -> Value {
        match self {
            Self::Argv(argv) => json!(argv),
            Self::Shell(script) => json!(script),
        }
    }
}
