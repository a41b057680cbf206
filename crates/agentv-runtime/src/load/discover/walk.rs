//! Directories, looked through once each: links may lead back up, or to the same place again and again.

use crate::file_input;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// What is below a directory.
#[derive(Debug, Default)]
pub(in crate::load) struct FilesBelow {
    /// Those without links on their way come first.
    pub files: Vec<PathBuf>,
    /// Directories that could not be read. Their neighbours could.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

/// Looks through a directory and those in it that `enters` lets in by their names. What lies behind a link to a directory
/// that was seen before is not looked through again, but its own files are found by that path, too.
pub(in crate::load) fn files_below(start: &Path, enters: impl Fn(&OsStr) -> bool) -> FilesBelow {
    let mut found = FilesBelow::default();
    let (mut waiting, mut linked) = (vec![start.to_owned()], VecDeque::new());
    let mut known = HashSet::new();
    while let Some(dir) = waiting.pop().or_else(|| linked.pop_front()) {
        let look = || {
            let id = file_input::id(&dir.metadata()?);
            let entries: io::Result<Vec<_>> = std::fs::read_dir(&dir)?.collect();
            Ok((id, entries?))
        };
        let (id, mut entries) = match look() {
            Ok(seen) => seen,
            Err(error) => {
                found.unreadable.push((dir, error));
                continue;
            }
        };
        let is_new = known.insert(id);
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if path.is_file() {
                found.files.push(path);
            } else if is_new && path.is_dir() && enters(&entry.file_name()) {
                if path.is_symlink() { linked.push_back(path) } else { waiting.push(path) }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_that_lead_around_end() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::write(base.join("a/b/file"), "").unwrap();
        for link in ["a/one", "a/two", "a/b/three", "a/b/four"] {
            symlink(base.join("a"), base.join(link)).unwrap();
        }
        symlink("b", base.join("a/other")).unwrap();
        symlink("nowhere", base.join("a/broken")).unwrap();
        let found = files_below(base, |_| true);
        let files: Vec<_> =
            found.files.iter().map(|path| path.strip_prefix(base).unwrap()).collect();
        assert_eq!(files, [Path::new("a/b/file"), Path::new("a/other/file")]);
        assert!(found.unreadable.is_empty());
    }
}
