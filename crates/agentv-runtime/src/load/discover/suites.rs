//! The suites of a directory, where no file is named: files in `evals/`, and those called `*.eval.*`.

use super::format::{Format, is_eval_file, is_sidecar, shows_cases};
use super::paths::{TARGETS_FILES, each_once};
use ignore::WalkBuilder;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The directory whose files are suites, wherever it is.
const SUITES_DIR: &str = "evals";

/// A file in the folder of `agentv demo`. Its suites belong to no project, so they are found only from within.
pub const DEMO_MARK: &str = ".agentv/demo";

/// What was found.
#[derive(Debug, Default)]
pub struct FoundSuites {
    /// In order.
    pub suites: Vec<PathBuf>,
    /// Files in `evals/` that could have been suites by their name, but have no cases.
    pub others: Vec<PathBuf>,
}

/// Looks through a directory. What Git ignores is not a suite, nor is anything hidden, in `node_modules` or in a demo, a
/// targets file, a configuration, or the file beside a dataset.
pub fn suites_below(dir: &Path, repo_root: &Path) -> FoundSuites {
    look_through(dir, repo_root, |_| false)
}

/// The same for a directory that the user named: there, every file with cases is a suite.
pub fn suites_in(dir: &Path, repo_root: &Path) -> FoundSuites {
    look_through(dir, repo_root, shows_cases)
}

fn look_through(dir: &Path, repo_root: &Path, is_suite: fn(&Path) -> bool) -> FoundSuites {
    let starts_in_suites = dir.strip_prefix(repo_root).is_ok_and(is_in_suites_dir);
    let mut found = FoundSuites::default();
    let walk = WalkBuilder::new(dir)
        .require_git(false)
        .filter_entry(|entry| {
            let is_demo = entry.depth() > 0 && entry.path().join(DEMO_MARK).is_file();
            entry.file_name() != "node_modules" && !is_demo
        })
        .sort_by_file_path(Path::cmp)
        .build();
    // A directory that cannot be read hides its files, not its neighbours.
    for entry in walk.flatten() {
        let path = entry.path();
        let Some(format) = Format::of(path).filter(|_| path.is_file()) else { continue };
        if is_of_another_kind(path) {
            continue;
        }
        let folder = path.parent().and_then(|parent| parent.strip_prefix(dir).ok());
        if is_named_so(path) {
            found.suites.push(path.to_owned());
        } else if starts_in_suites || folder.is_some_and(is_in_suites_dir) {
            if is_eval_file(path) {
                found.suites.push(path.to_owned());
            } else if matches!(format, Format::Yaml | Format::Jsonl) {
                // JSON files and tables are not expected to be suites.
                found.others.push(path.to_owned());
            }
        } else if is_suite(path) {
            found.suites.push(path.to_owned());
        }
    }
    found.suites = each_once(found.suites);
    found
}

fn is_in_suites_dir(folder: &Path) -> bool {
    folder.components().any(|part| part.as_os_str() == SUITES_DIR)
}

/// `support.eval.yaml`
fn is_named_so(path: &Path) -> bool {
    let stem = path.file_stem().map(Path::new);
    stem.and_then(Path::extension).is_some_and(|inner| inner == "eval")
}

/// By its name or its neighbour.
fn is_of_another_kind(path: &Path) -> bool {
    let targets = TARGETS_FILES.iter().filter_map(|name| Path::new(name).file_name());
    let mut others = targets.chain([".agentv.yaml"].map(OsStr::new));
    others.any(|name| path.file_name() == Some(name)) || is_sidecar(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[track_caller]
    fn check(files: &[(&str, &str)], from: &str, suites: &[&str], others: &[&str]) {
        check_by(suites_below, files, from, (suites, others));
    }

    #[track_caller]
    fn check_by(
        look: fn(&Path, &Path) -> FoundSuites,
        files: &[(&str, &str)],
        from: &str,
        (suites, others): (&[&str], &[&str]),
    ) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let start = dir.path().join(from);
        let found = look(&start, dir.path());
        let shown = |paths: Vec<PathBuf>| -> Vec<String> {
            let paths = paths.into_iter();
            paths.map(|path| path.strip_prefix(&start).unwrap().display().to_string()).collect()
        };
        assert_eq!(shown(found.suites), suites);
        assert_eq!(shown(found.others), others);
    }

    const SUITE: &str = "description: x\nevalcases:\n  - id: a\n";

    #[test]
    fn suites_are_in_evals_or_called_so() {
        let files = [
            ("evals/a.yaml", SUITE),
            ("evals/deep/b.yml", "tests: []\n"),
            ("evals/c.jsonl", "\n{\"id\": \"a\"}\n"),
            ("elsewhere/d.eval.yaml", ""),
            ("elsewhere/e.yaml", SUITE),
            ("evals/notes.md", ""),
        ];
        let suites = ["elsewhere/d.eval.yaml", "evals/a.yaml", "evals/c.jsonl", "evals/deep/b.yml"];
        check(&files, "", &suites, &[]);
        check(&files, "evals", &["a.yaml", "c.jsonl", "deep/b.yml"], &[]);
        check(&files, "evals/deep", &["b.yml"], &[]);
    }

    #[test]
    fn in_a_named_directory_every_file_with_cases_is_a_suite() {
        let files = [
            ("a.yaml", SUITE),
            ("deep/b.jsonl", "{\"id\": \"a\", \"input_messages\": []}\n"),
            ("calls.jsonl", "{\"id\": \"a\"}\n"),
            ("chart.yaml", "{{ template }}\n"),
            ("evals/empty.yaml", "services: {}\n"),
            ("targets.yaml", "targets: []\n"),
            ("out.jsonl", "{\"eval_id\": \"a\", \"score\": 1}\n"),
        ];
        let suites: &[&str] = &["a.yaml", "deep/b.jsonl"];
        check_by(suites_in, &files, "", (suites, &["evals/empty.yaml"]));
    }

    #[test]
    fn what_is_no_suite_is_left_out() {
        let files = [
            ("evals/targets.yaml", "targets: []\n"),
            ("evals/agentv.config.yaml", "targets: []\n"),
            ("evals/.agentv.yaml", ""),
            ("evals/.agentv/targets.yaml", ""),
            ("evals/data.jsonl", "{\"id\": \"a\"}\n"),
            ("evals/data.yaml", "execution: {}\n"),
            ("evals/node_modules/x/y.eval.yaml", SUITE),
            ("evals/old/z.yaml", SUITE),
            (".gitignore", "old/\n"),
        ];
        check(&files, "", &["evals/data.jsonl"], &[]);
    }

    #[test]
    fn a_file_without_cases_is_told_and_a_broken_one_is_a_suite() {
        let files = [
            ("evals/compose.yaml", "services:\n  tests: {}\n"),
            ("evals/results.jsonl", "{\"eval_id\": \"a\"}\n"),
            ("evals/broken.jsonl", "{\"id\"\n"),
            ("evals/torn.yaml", "evalcases:\n  - id: [\n"),
            ("evals/quoted.yaml", "{\"evalcases\": []}\n"),
        ];
        let suites = ["evals/broken.jsonl", "evals/quoted.yaml", "evals/torn.yaml"];
        check(&files, "", &suites, &["evals/compose.yaml", "evals/results.jsonl"]);
    }
}
