//! A script as it is written in an eval file.

use crate::config::{Fields, FromNode, Kind, Node, Wrong};
use crate::process::{Command, first_program, is_plain};
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

/// Programs that run a script which is one of their arguments. `python` has many names, so it is not listed.
const INTERPRETERS: [&str; 18] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "node", "bun", "deno", "tsx", "ts-node", "uv",
    "ruby", "perl", "php", "lua", "Rscript", "pwsh",
];

/// Options of interpreters whose value is the next word.
const WITH_VALUE: [&str; 16] = [
    "-C",
    "-I",
    "-W",
    "-X",
    "-r",
    "--config",
    "--conditions",
    "--cwd",
    "--directory",
    "--import",
    "--import-map",
    "--loader",
    "--preload",
    "--project",
    "--require",
    "--with",
];

/// Options of interpreters that stand for a script: code or a module comes next.
const INLINE: [&str; 7] = ["-c", "-e", "-m", "-p", "-lc", "--eval", "--print"];

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
    fn plain_words(&self) -> Vec<&str> {
        match self {
            Self::Argv(argv) => argv.iter().map(String::as_str).collect(),
            Self::Shell(script) if first_program(script).is_some() => {
                script.split_whitespace().take_while(|word| is_plain(word)).collect()
            }
            Self::Shell(_) => Vec::new(),
        }
    }

    pub(super) fn as_written(&self) -> Value {
        match self {
            Self::Argv(argv) => json!(argv),
            Self::Shell(script) => json!(script),
        }
    }
}

/// The script that an interpreter is given, if it is a file.
fn interpreted<'w>(words: &[&'w str]) -> Option<&'w str> {
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next()?;
    if !name.starts_with("python") && !INTERPRETERS.contains(&name) {
        return None;
    }
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if INLINE.contains(argument) {
            return None;
        }
        if WITH_VALUE.contains(argument) {
            arguments.next();
        } else if !argument.starts_with('-') && *argument != "run" {
            // `npm:x` and `https://x` are fetched.
            return (!argument.contains(':')).then_some(*argument);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_given_a_file_or_not() {
        let check = |script: &str, expected: Option<&str>| {
            let words: Vec<&str> = script.split_whitespace().collect();
            assert_eq!(interpreted(&words), expected, "{script}");
        };
        check("python3 judges/a.py --x b/c", Some("judges/a.py"));
        check("/usr/bin/python3.12 -u judges/a.py", Some("judges/a.py"));
        check("bun run scripts/a.ts", Some("scripts/a.ts"));
        check("node --import tsx/esm scripts/a.ts", Some("scripts/a.ts"));
        check("deno run --allow-read --config x/y.json scripts/a.ts", Some("scripts/a.ts"));
        check("python3 -m judges/a", None);
        check("sh -c ./a.sh", None);
        check("deno run npm:@scope/judge", None);
        check("npx @scope/judge", None);
        check("./judge.sh a/b", None);
    }
}
