//! A template → its copy: files, directories and links, with their modes and times.

use super::WorkspaceError;
use crate::file_input;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Copies a directory to a place where nothing is yet; without a template it makes an empty one. Links are copied as links,
/// wherever they lead. Gives what is none of the three and was left out: sockets, pipes, devices.
pub(super) fn tree(
    template: Option<&Path>,
    to: &Path,
    cancel: &CancellationToken,
) -> Result<Vec<PathBuf>, WorkspaceError> {
    let Some(template) = template else {
        return fs::create_dir(to).map_err(WorkspaceError::Place).map(|()| Vec::new());
    };
    if to.starts_with(template) {
        let temp = to.parent().and_then(Path::parent).unwrap_or(to).to_owned();
        return Err(WorkspaceError::HoldsItself { template: template.to_owned(), temp });
    }
    let mut copy = Copy::default();
    copy.directory(template, to).map_err(|source| failed(template, source))?;
    while let Some((from, to)) = copy.waiting.pop() {
        if cancel.is_cancelled() {
            return Err(WorkspaceError::Cancelled);
        }
        copy.contents(&from, &to)?;
    }
    // Last and from the inside out, as nothing can be put into a directory that is read-only.
    for (dir, permissions) in copy.made.into_iter().rev() {
        fs::set_permissions(&dir, permissions).map_err(|source| failed(&dir, source))?;
    }
    Ok(copy.odd)
}

#[derive(Default)]
struct Copy {
    /// Directories that were made, but whose contents are not copied yet: from, to.
    waiting: Vec<(PathBuf, PathBuf)>,
    /// All directories, outer ones first, and the modes that they shall have.
    made: Vec<(PathBuf, Permissions)>,
    odd: Vec<PathBuf>,
}

impl Copy {
    fn directory(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let permissions = fs::metadata(from)?.permissions();
        fs::create_dir(to)?;
        self.made.push((to.to_owned(), permissions));
        self.waiting.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn contents(&mut self, from: &Path, to: &Path) -> Result<(), WorkspaceError> {
        for entry in fs::read_dir(from).map_err(|source| failed(from, source))? {
            let entry = entry.map_err(|source| failed(from, source))?;
            let from = entry.path();
            let copied = self.entry(&entry, &to.join(entry.file_name()));
            copied.map_err(|source| failed(&from, source))?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &fs::DirEntry, to: &Path) -> io::Result<()> {
        let (from, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            self.directory(&from, to)
        } else if kind.is_symlink() {
            symlink(fs::read_link(&from)?, to)
        } else if kind.is_file() {
            file(&from, to)
        } else {
            self.odd.push(from);
            Ok(())
        }
    }
}

/// With its time, as build tools go by it.
fn file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    // A file system that keeps no times loses nothing that was there.
    let _ = file_input::open(to).and_then(|copy| copy.set_modified(modified));
    Ok(())
}

fn failed(path: &Path, source: io::Error) -> WorkspaceError {
    WorkspaceError::Copy { path: path.to_owned(), source }
}
