//! Files and folders that are made anew: names that no other process has, and folders that are only for their owner.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// More runs than this are not started in a millisecond.
const MOST: u32 = 10_000;

/// Makes something under this name, or under one with a number (`a-2.jsonl`) where it is taken. `make` must fail with
/// [`io::ErrorKind::AlreadyExists`] if the name is.
pub(crate) fn claim_name<T>(
    wanted: &Path,
    mut make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let mut name = wanted.to_owned();
    for number in 2..MOST {
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                name = numbered(wanted, number);
            }
            made => return made.map(|made| (name, made)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Makes a folder that only its owner may look into. One that is there stays as it is; those above it follow the mask.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    match create_new_private_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        made => made,
    }
}

/// The same, unless there is one.
pub(crate) fn create_new_private_dir(dir: &Path) -> io::Result<()> {
    if let Some(above) = dir.parent() {
        fs::create_dir_all(above)?;
    }
    DirBuilder::new().mode(0o700).create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let dir = tempfile::tempdir().unwrap();
        for (wanted, expected) in [
            ("a.jsonl", "a.jsonl"),
            ("a.jsonl", "a-2.jsonl"),
            ("a.jsonl", "a-3.jsonl"),
            ("run", "run"),
            ("run", "run-2"),
        ] {
            let wanted = dir.path().join(wanted);
            let (name, ()) = claim_name(&wanted, create_new_private_dir).unwrap();
            assert_eq!(name, dir.path().join(expected));
        }
        let refused = claim_name(&dir.path().join("a.jsonl/x/\0"), create_new_private_dir);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
