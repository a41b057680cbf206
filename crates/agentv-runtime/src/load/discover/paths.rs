//! Where things are: the repository's root, the eval files that arguments name, the targets file.

use super::format::{Format, is_eval_file, is_sidecar};
use super::suites::{FoundSuites, suites_in};
use crate::file_input;
use crate::load::select::glob;
use agentv_core::SuiteId;
use std::collections::HashSet;
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
                        "`{dir}` has no files with cases; files that Git ignores do not count"
                    );
                }
                match missing
                    .iter()
                    .find(|path| Format::of(Path::new(path)).is_some() && !path.contains('*'))
                {
                    Some(path) => format!("`{path}` does not exist"),
                    None => format!("eval files end in {}", Format::ENDINGS),
                }
            }
        }
    }
}

/// The nearest directory from here upwards that holds `.git`, else the project's: files are looked for up to there.
pub fn repo_root(working_dir: &Path) -> PathBuf {
    let repository = working_dir.ancestors().find(|dir| dir.join(".git").exists());
    repository.map_or_else(|| project_root(working_dir), Path::to_owned)
}

/// The project that a directory belongs to: the nearest one from here upwards that holds `.agentv/` or `.git`, else the
/// directory itself. A repository's root holds `.git`, so no project reaches beyond its repository.
pub fn project_root(working_dir: &Path) -> PathBuf {
    let is_root = |dir: &&Path| dir.join(".agentv").is_dir() || dir.join(".git").exists();
    working_dir.ancestors().find(is_root).unwrap_or(working_dir).to_owned()
}

/// The eval files that the arguments name, sorted: files, patterns, and directories with all suites below them. A file
/// that is named twice is there once, as it is spelled first.
pub fn eval_files(
    arguments: &[String],
    working_dir: &Path,
    repo_root: &Path,
) -> Result<FoundSuites, DiscoverError> {
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| argument.trim())
        .filter(|argument| !argument.is_empty())
        .collect();
    if arguments.is_empty() {
        return Err(DiscoverError::NoPaths);
    }
    let mut files = Vec::new();
    let mut others = Vec::new();
    let mut missing = Vec::new();
    for argument in arguments {
        let path = working_dir.join(argument);
        let found = if path.is_dir() {
            let below = suites_in(&path, repo_root);
            others.extend(below.others);
            below.suites
        } else if Format::of(&path).is_some() && path.exists() {
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
    let mut suites = each_once(files);
    suites.sort();
    Ok(FoundSuites { suites, others: each_once(others) })
}

/// Leaves out files that are named before, however they are spelled. What cannot be looked at stays.
pub(super) fn each_once(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut known = HashSet::new();
    let mut is_new =
        |file: &PathBuf| file.metadata().map_or(true, |found| known.insert(file_input::id(&found)));
    files.into_iter().filter(|file| is_new(file)).collect()
}

/// What a suite is known by: its canonical path from the project's root, or its absolute one outside of the project.
pub(in crate::load) fn suite_id(file: &Path, project_root: &Path) -> SuiteId {
    let (file, root) = (canonical(file), canonical(project_root));
    let path = file.strip_prefix(root).unwrap_or(&file);
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/").into()
}

/// Without links and detours. What has no such path, like a pipe, stays as it is.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Whether a pattern that matches this file means it. Many files are JSON or CSV, results are JSONL, and the file beside
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

/// Whether all cases may depend on this file: targets, configuration, environment variables.
pub fn is_shared_file(path: &Path) -> bool {
    let names = [".env", ".agentv.yaml", ".agentv/config.yaml"];
    TARGETS_FILES.iter().chain(&names).any(|name| path.ends_with(name))
}

/// The targets file in a directory.
pub fn targets_in(dir: &Path) -> Option<PathBuf> {
    TARGETS_FILES.iter().map(|name| dir.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_project_is_the_nearest_folder_that_looks_like_one() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        for path in ["repository/.git", "repository/evals/.agentv", "repository/evals/deep"] {
            fs::create_dir_all(base.join(path)).unwrap();
        }
        for (from, root) in [
            ("repository", "repository"),
            ("repository/evals", "repository/evals"),
            ("repository/evals/deep", "repository/evals"),
        ] {
            assert_eq!(project_root(&base.join(from)), base.join(root), "{from}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_suite_has_one_id_however_it_is_spelled() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs::create_dir_all(root.join("evals")).unwrap();
        fs::write(root.join("evals/a.yaml"), "").unwrap();
        fs::write(dir.path().join("b.yaml"), "").unwrap();
        std::os::unix::fs::symlink(root.join("evals/a.yaml"), root.join("link.yaml")).unwrap();
        for spelling in ["evals/a.yaml", "./evals/../evals/a.yaml", "link.yaml"] {
            assert_eq!(suite_id(&root.join(spelling), &root).as_str(), "evals/a.yaml");
        }
        let outside = dir.path().canonicalize().unwrap().join("b.yaml");
        assert_eq!(suite_id(&root.join("../b.yaml"), &root).as_str(), outside.to_str().unwrap());
    }
}
