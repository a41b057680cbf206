//! A temporary directory that goes away whatever is in it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Removed when dropped, even where a program took its own right to write away.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    is_kept: bool,
}

impl Scratch {
    pub(super) fn new(prefix: &str) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir()?;
        // Where `/tmp` is a link, agents would report other paths than we do.
        let path = dir.path().canonicalize()?;
        let _ = dir.keep();
        Ok(Self { path, is_kept: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_kept {
            remove(&self.path);
        }
    }
}

fn remove(dir: &Path) {
    if fs::remove_dir_all(dir).is_ok() {
        return;
    }
    open_up(dir);
    // What is still there now is somebody else's.
    let _ = fs::remove_dir_all(dir);
}

/// Gives us all rights to all directories. Links are not followed.
fn open_up(dir: &Path) {
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        let _ = fs::set_permissions(&dir, Permissions::from_mode(0o700));
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let inside = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(inside.map(|entry| entry.path()));
    }
}
