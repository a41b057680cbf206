//! Where an agent works: where it is told to, or in an empty directory of its own.

use super::AgentInvocation;
use crate::temp;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A working directory.
#[derive(Debug)]
pub(super) enum WorkingDir {
    Given(PathBuf),
    Own(Own),
}

impl WorkingDir {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Own(own) => &own.path,
        }
    }

    /// As in 2.x. It is no loss if that fails.
    pub(super) fn keep_prompt(&self, call: &AgentInvocation) {
        if let (Self::Own(own), Some(prompt)) = (self, &call.stdin) {
            let _ = fs::write(own.path.join("prompt.md"), prompt);
        }
    }
}

/// A directory for one call, gone when that is over.
#[derive(Debug)]
pub(super) struct Own {
    path: PathBuf,
    spares: Arc<Spares>,
}

impl Own {
    pub(super) fn new(prefix: &str, spares: &Arc<Spares>) -> io::Result<Self> {
        // Another process may have swept the spare ones away.
        let path = match spares.take().and_then(|spare| rename(&spare, prefix).ok()) {
            Some(path) => path,
            None => tempfile::Builder::new().prefix(prefix).tempdir()?.keep(),
        };
        Ok(Self { path, spares: Arc::clone(spares) })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if is_empty(&self.path) {
            self.spares.lock().push(std::mem::take(&mut self.path));
        } else {
            temp::remove_dir(&self.path);
        }
    }
}

/// Directories that were left empty. Each gets another name for another call, so that no agent finds what it knows of an
/// earlier one: that costs a tenth of removing it and making a new one, which took a fifth of the time of a quick agent.
#[derive(Debug, Default)]
pub(super) struct Spares(Mutex<Vec<PathBuf>>);

impl Spares {
    fn take(&self) -> Option<PathBuf> {
        self.lock().pop()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        for spare in self.lock().drain(..) {
            let _ = fs::remove_dir(spare);
        }
    }
}

fn rename(spare: &Path, prefix: &str) -> io::Result<PathBuf> {
    let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    let path = spare.with_file_name(format!("{prefix}{number:016x}"));
    fs::rename(spare, &path)?;
    Ok(path)
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_directory_is_used_again_under_another_name() {
        let spares = Arc::new(Spares::default());
        let first = Own::new("agentv-test-", &spares).unwrap();
        let old = first.path.clone();
        drop(first);
        assert!(old.is_dir());
        let second = Own::new("agentv-test-", &spares).unwrap();
        let new = second.path.clone();
        assert!(!old.exists() && is_empty(&new) && new != old);
        drop((second, spares));
        assert!(!new.exists());
    }

    #[test]
    fn what_an_agent_left_goes_with_its_directory() {
        let spares = Arc::new(Spares::default());
        let own = Own::new("agentv-test-", &spares).unwrap();
        let path = own.path.clone();
        fs::create_dir(path.join("sub")).unwrap();
        fs::write(path.join("sub/file"), "left").unwrap();
        drop(own);
        assert!(!path.exists() && spares.take().is_none());
    }
}
