//! Where the results of a run are, however it was named.

use super::ResultsError;
use crate::run_dir::{RESULTS, Runs};
use std::path::{Path, PathBuf};

/// What the results are called in a run's folder.
const NAMES: [&str; 2] = [RESULTS, "results.yaml"];

/// Finds the results by a file, by a folder that holds them, or by the id of a run in `.agentv/runs` of one of the bases.
pub fn find_results(name: &Path, bases: &[&Path]) -> Result<PathBuf, ResultsError> {
    let missing = |problem: &str| ResultsError::Missing {
        name: name.display().to_string(),
        problem: problem.to_owned(),
    };
    let Some(first) = bases.first() else { return Err(missing("no directory to look in")) };
    let direct = first.join(name);
    let run = || bases.iter().map(|base| Runs::of(base).dir().join(name));
    let folders = [direct.clone()].into_iter().chain(run());
    if direct.exists() && !direct.is_dir() {
        return Ok(direct);
    }
    let mut found_folder = false;
    for folder in folders.filter(|folder| folder.is_dir()) {
        found_folder = true;
        let inside = NAMES.map(|name| folder.join(name));
        if let Some(file) = inside.into_iter().find(|file| file.is_file()) {
            return Ok(file);
        }
    }
    Err(missing(if found_folder {
        "the folder has no `results.jsonl`"
    } else {
        "no such file, folder or run"
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_run_is_found_by_file_folder_and_id() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join(".agentv/runs/r1");
        fs::create_dir_all(&run).unwrap();
        fs::create_dir(dir.path().join("empty")).unwrap();
        fs::write(run.join("results.jsonl"), "").unwrap();
        let elsewhere = dir.path().join("empty");
        let bases = [elsewhere.as_path(), dir.path()];
        let find = |name: &str, bases| find_results(Path::new(name), bases);
        for (name, bases) in [
            (".agentv/runs/r1/results.jsonl", &bases[1..]),
            (".agentv/runs/r1", &bases[1..]),
            ("r1", &bases[1..]),
            ("r1", &bases[..]),
        ] {
            assert_eq!(find(name, bases).unwrap(), run.join("results.jsonl"), "{name}");
        }
        assert!(find("empty", &bases[1..]).unwrap_err().to_string().contains("no `results.jsonl`"));
        assert!(find("r2", &bases[1..]).unwrap_err().to_string().contains("no such file"));
    }
}
