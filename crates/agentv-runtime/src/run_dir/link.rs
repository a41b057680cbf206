//! The output and the results of the run folder are one file under two names, so that keeping both costs nothing.

use super::{RunFiles, Runs};
use crate::atomic_file::UNFINISHED_PREFIX;
use std::fs;
use std::io;
use std::path::Path;

/// Whether the output has become another name of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Made,
    /// It is a pipe, a device, a link of the user's or lies on another disk: it must be written apart.
    Refused,
}

/// Gives `results` a second name. A file that was there is replaced in one step, and is not written into: it may be the
/// results of an earlier run under a second name.
pub fn link(results: &Path, out: &Path) -> io::Result<Link> {
    match fs::symlink_metadata(out) {
        Ok(found) if !found.is_file() => return Ok(Link::Refused),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if is_same(results, out) {
        return Ok(Link::Made);
    }
    let Some(dir) = out.parent() else { return Ok(Link::Refused) };
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED_PREFIX);
    let linked = builder.make_in(dir, |draft| fs::hard_link(results, draft));
    // A draft that cannot be moved is removed again.
    let moved =
        linked.and_then(|draft| draft.into_temp_path().persist(out).map_err(|error| error.error));
    Ok(if moved.is_ok() { Link::Made } else { Link::Refused })
}

pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((id(one), id(other)), (Ok(one), Ok(other)) if one == other)
}

/// The folder of the run whose output this is: another name of the results in it.
pub fn folder_of_output(results: &Path, runs: &Runs) -> Option<RunFiles> {
    let mut folders = runs.list().into_iter().map(|info| runs.files(&info.run));
    folders.find(|folder| is_same(results, &folder.results()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_keeps_its_other_name() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new, out] = ["old", "new", "out"].map(|name| dir.path().join(name));
        fs::write(&old, "old").unwrap();
        fs::write(&new, "new").unwrap();
        assert_eq!(link(&old, &out).unwrap(), Link::Made);
        assert_eq!(link(&old, &out).unwrap(), Link::Made);
        assert_eq!(link(&new, &out).unwrap(), Link::Made);
        let read = |path| fs::read_to_string(path).unwrap();
        assert_eq!((read(&old), read(&out)), ("old".to_owned(), "new".to_owned()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "a draft is left");
    }

    #[test]
    fn a_link_of_the_users_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let [results, out] = ["results", "out"].map(|name| dir.path().join(name));
        fs::write(&results, "").unwrap();
        std::os::unix::fs::symlink("/dev/null", &out).unwrap();
        assert_eq!(link(&results, &out).unwrap(), Link::Refused);
        assert!(fs::symlink_metadata(out).unwrap().is_symlink());
    }
}
