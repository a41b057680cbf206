//! The subagents of a root: which there are, which is free, and new ones.

use super::Edition;
use super::claim::{self, Attempt, SubagentClaim, SubagentState};
use super::folder;
use crate::config::Env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many subagents anybody may want; a typing error should not fill the disk.
const MAX_SUBAGENTS: usize = 1000;

/// Where the subagents of an edition are, unless the user says otherwise. `None` if there is no home directory.
pub fn default_root(edition: &Edition, env: &Env) -> Option<PathBuf> {
    let home = env.get("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(home).join(".subagent").join(edition.folder))
}

/// What [`provision`] found and made, by folder.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Provisioned {
    pub made: Vec<PathBuf>,
    /// Free ones that were there already.
    pub kept: Vec<PathBuf>,
    /// Those that are in use, or were left locked; they do not count.
    pub locked: Vec<PathBuf>,
}

/// What [`provision`] may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    Make,
    /// Only say what would be made.
    DryRun,
}

/// Makes sure that this many subagents are free. Numbers are filled up from 1.
pub fn provision(root: &Path, count: usize, how: Provisioning) -> io::Result<Provisioned> {
    if count > MAX_SUBAGENTS {
        let text = format!("{count} subagents are more than {MAX_SUBAGENTS}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut found = Provisioned::default();
    for number in 1_u32.. {
        if found.made.len() + found.kept.len() >= count {
            break;
        }
        let dir = root.join(format!("subagent-{number}"));
        if !dir.is_dir() {
            if how == Provisioning::Make {
                folder::make(&dir)?;
            }
            found.made.push(dir);
        } else if claim::look(&dir) == SubagentState::Free {
            if how == Provisioning::Make {
                folder::make(&dir)?;
            }
            found.kept.push(dir);
        } else {
            found.locked.push(dir);
        }
    }
    Ok(found)
}

/// Why there is no subagent for a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClaimError {
    /// An AgentV has one; it is worth waiting for.
    #[error("all subagents are in use")]
    InUse,
    #[error("No unlocked subagents available: {} in `{}`", counted(*locked), root.display())]
    Locked { root: PathBuf, locked: usize },
    #[error("the subagents in `{}` cannot be used: {source}", root.display())]
    Io { root: PathBuf, source: io::Error },
}

fn counted(locked: usize) -> String {
    match locked {
        0 => "none found".to_owned(),
        1 => "the only one is locked".to_owned(),
        _ => format!("all {locked} are locked"),
    }
}

/// Claims the lowest one that is free.
pub(super) fn claim_lowest(root: &Path, who: &str) -> Result<SubagentClaim, ClaimError> {
    let io_error = |source| ClaimError::Io { root: root.to_owned(), source };
    let (mut held, mut locked, mut problem) = (0, 0, None);
    for number in numbers(root).map_err(io_error)? {
        match SubagentClaim::attempt(&root.join(format!("subagent-{number}")), who) {
            Ok(Attempt::Claimed(claim)) => return Ok(claim),
            Ok(Attempt::NotFree(SubagentState::Held)) => held += 1,
            Ok(Attempt::NotFree(_)) => locked += 1,
            // The others may be fine.
            Err(error) => problem = Some(error),
        }
    }
    match problem {
        _ if held > 0 => Err(ClaimError::InUse),
        Some(source) => Err(io_error(source)),
        None => Err(ClaimError::Locked { root: root.to_owned(), locked }),
    }
}

/// The name of the subagent that the next request would get.
pub(super) fn lowest_free(root: &Path) -> Option<String> {
    let names = numbers(root).ok()?.into_iter().map(|number| format!("subagent-{number}"));
    names.into_iter().find(|name| claim::look(&root.join(name)) == SubagentState::Free)
}

/// The numbers of all subagents, lowest first. A root that does not exist has none.
pub(super) fn numbers(root: &Path) -> io::Result<Vec<u32>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(number_of);
        numbers.extend(number.filter(|_| entry.path().is_dir()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// `subagent-7` is 7; `subagent-07` is a folder of others.
fn number_of(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("subagent-")?;
    let number: u32 = digits.parse().ok()?;
    (number > 0 && number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dirs: &[PathBuf]) -> Vec<String> {
        dirs.iter().map(|dir| dir.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[track_caller]
    fn check(root: &Path, count: usize, how: Provisioning, expected: [&[&str]; 3]) {
        let found = provision(root, count, how).unwrap();
        assert_eq!([names(&found.made), names(&found.kept), names(&found.locked)], expected);
    }

    #[test]
    fn only_exact_names_count() {
        for (name, number) in [
            ("subagent-1", Some(1)),
            ("subagent-10", Some(10)),
            ("subagent-01", None),
            ("subagent-0", None),
            ("subagent-+1", None),
            ("subagent-", None),
            ("Subagent-1", None),
            ("subagent-99999999999", None),
        ] {
            assert_eq!(number_of(name), number, "{name}");
        }
    }

    #[test]
    fn provisioning_fills_up_and_skips_what_is_locked() {
        let dir = tempfile::tempdir().unwrap();
        let root = &dir.path().join("root");
        check(root, 2, Provisioning::DryRun, [&["subagent-1", "subagent-2"], &[], &[]]);
        assert!(!root.exists());
        check(root, 2, Provisioning::Make, [&["subagent-1", "subagent-2"], &[], &[]]);
        check(root, 2, Provisioning::Make, [&[], &["subagent-1", "subagent-2"], &[]]);
        fs::write(root.join("subagent-1/subagent.lock"), "").unwrap();
        check(root, 2, Provisioning::Make, [&["subagent-3"], &["subagent-2"], &["subagent-1"]]);
        assert!(provision(root, 100_000, Provisioning::Make).is_err());
    }

    #[test]
    fn the_lowest_free_one_is_claimed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let error = claim_lowest(&root.join("none"), "x").unwrap_err();
        assert!(matches!(error, ClaimError::Locked { locked: 0, .. }), "{error:?}");
        for number in [10, 9, 2] {
            folder::make(&root.join(format!("subagent-{number}"))).unwrap();
        }
        fs::write(root.join("subagent-2/subagent.lock"), "").unwrap();
        fs::write(root.join("subagent-1"), "no folder").unwrap();
        assert_eq!(lowest_free(root).unwrap(), "subagent-9");
        let first = claim_lowest(root, "x").unwrap();
        let second = claim_lowest(root, "x").unwrap();
        assert_eq!([first.name(), second.name()], ["subagent-9", "subagent-10"]);
        assert!(matches!(claim_lowest(root, "x").unwrap_err(), ClaimError::InUse));
        drop(first);
        assert_eq!(claim_lowest(root, "x").unwrap().name(), "subagent-9");
    }
}
