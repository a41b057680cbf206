//! A temporary directory that goes away whatever is in it.

use crate::temp;
use std::io;
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
        // Should the run be killed later, it stays all the same. Without the mark, only that is lost.
        let _ = temp::keep(&self.path);
        self.is_kept = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_kept {
            temp::remove_dir(&self.path);
        }
    }
}
