//! Where things are: the repository's root, the eval files that arguments name, the targets file.

use super::format::{Format, is_eval_file, is_sidecar};
use crate::load::select::glob;
use std::path::{Path, PathBuf};

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("No eval paths provided")]
    NoPaths,
    #[error("No eval paths provided, and there are no suites here")]
    NoSuites,
    #[error("No eval files matched: {}", .0.join(", "))]
    NoMatch(Vec<String>),
}

impl DiscoverError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NoPaths => "name an eval file: `agentv eval my.eval.yaml`".to_owned(),
            Self::NoSuites => {
                "run `agentv init` for a first one, or name a file: `agentv eval my.eval.yaml`. \
                               Suites are the files in `evals/` and those called `*.eval.yaml`"
                    .to_owned()
            }
            Self::NoMatch(missing) => {
                if let Some(dir) = missing.iter().find(|path| Path::new(path).is_dir()) {
                    let dir = dir.trim_end_matches('/');
                    return format!(
                        "`{dir}` is a directory: name its files, e.g. `'{dir}/**/*.yaml'`"
                    );
                }
                match missing
                    .iter()
                    .find(|path| Format::of(Path::new(path)).is_some() && !path.contains('*'))
                {
                    Some(path) => format!("there is no file `{path}` here"),
                    None => format!("eval files end in {}", Format::ENDINGS),
                }
            }
        }
    }
}

/// The nearest directory from here upwards that holds `.git`, else the directory itself.
pub fn repo_root(working_dir: &Path) -> PathBuf {
    working_dir.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(working_dir).to_owned()
}

/// The project that a directory belongs to: the nearest one from here upwards that holds `.agentv/` or `.git`, else the
/// directory itself. A repository's root holds `.git`, so no project reaches beyond its repository.
pub fn project_root(working_dir: &Path) -> PathBuf {
    let is_root = |dir: &&Path| dir.join(".agentv").is_dir() || dir.join(".git").exists();
    working_dir.ancestors().find(is_root).unwrap_or(working_dir).to_owned()
}

/// The eval files that the arguments name, sorted, each once.
pub fn eval_files(arguments: &[String], working_dir: &Path) -> Result<Vec<PathBuf>, DiscoverError> {
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| argument.trim())
        .filter(|argument| !argument.is_empty())
        .collect();
    if arguments.is_empty() {
        return Err(DiscoverError::NoPaths);
    }
    let mut files = Vec::new();
    let mut missing = Vec::new();
    for argument in arguments {
        let path = working_dir.join(argument);
        let found = if Format::of(&path).is_some() && path.exists() && !path.is_dir() {
            vec![path]
        } else {
            glob::expand(argument, working_dir)
                .unwrap_or_default()
                .into_iter()
                .filter(|path| is_meant(path))
                .collect()
        };
        if found.is_empty() {
            missing.push(argument.to_owned());
        }
        files.extend(found);
    }
    if !missing.is_empty() {
        return Err(DiscoverError::NoMatch(missing));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Whether a pattern that matches this file means it. Many files are JSON or CSV, results are JSONL, and what stands beside
/// a dataset is read with it.
fn is_meant(path: &Path) -> bool {
    match Format::of(path) {
        Some(Format::Yaml) => !is_sidecar(path),
        Some(_) => is_eval_file(path),
        None => false,
    }
}

/// What a targets file may be called, the best first.
pub(in crate::load) const TARGETS_FILES: [&str; 5] = [
    "targets.yaml",
    "targets.yml",
    ".agentv/targets.yaml",
    ".agentv/targets.yml",
    "agentv.config.yaml",
];

/// The targets file in a directory.
pub fn targets_in(dir: &Path) -> Option<PathBuf> {
    TARGETS_FILES.iter().map(|name| dir.join(name)).find(|path| path.is_file())
}
