//! Temporary files and directories that go away even if AgentV is killed: the next run removes them.
//!
//! Every run has a token, which is part of the names of all that it makes, and a file that says that it is alive: the run
//! keeps it locked. The system lets go of the lock when the process ends, however it ends. So a token whose file can be
//! locked has no owner any more.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the names of all temporary files begin with.
const PREFIX: &str = "agentv-";
/// What the names of the files begin with that say who is alive; the token follows.
const ALIVE: &str = ".agentv-alive-";
/// In a directory that must not be removed: its run may be resumed, or a record names it.
const KEPT: &str = "kept";
/// How often a token is tried that another process happens to be looking at.
const TRIES: usize = 10;

/// The temporary files of one run.
#[derive(Debug, Default)]
pub(crate) struct TempFiles {
    /// Claimed by the first who needs it. `None` where that is not possible: then it is not known which process is alive.
    token: OnceLock<Option<Token>>,
}

impl TempFiles {
    /// How the name of a temporary file begins that is about this.
    pub(crate) fn prefix(&self, about: &str) -> String {
        let claim = || Token::claim(&std::env::temp_dir()).ok();
        match self.token.get_or_init(claim) {
            Some(token) => format!("{PREFIX}{about}-{}-", token.text),
            None => format!("{PREFIX}{about}-"),
        }
    }

    /// The run is over, and what is still there of it stays.
    pub(crate) fn release(&self) {
        if let Some(Some(token)) = self.token.get() {
            token.release();
        }
    }
}

impl Drop for TempFiles {
    fn drop(&mut self) {
        self.release();
    }
}

/// Says that a directory stays, whatever becomes of its run.
pub(crate) fn keep(dir: &Path) -> io::Result<()> {
    File::create(dir.join(KEPT)).map(drop)
}

/// Removes a directory, even where a program took its own right to write away.
pub(crate) fn remove_dir(dir: &Path) {
    if fs::remove_dir_all(dir).is_ok() {
        return;
    }
    open_up(dir);
    // What is still there now belongs to another process.
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

/// Removes what runs have left that were killed.
pub(crate) fn sweep() {
    sweep_in(&std::env::temp_dir());
}

fn sweep_in(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> =
        names.filter(|name| name.starts_with(PREFIX) || name.starts_with(ALIVE)).collect();
    for token in names.iter().filter_map(|name| name.strip_prefix(ALIVE)) {
        let path = dir.join(format!("{ALIVE}{token}"));
        // Locked until all is removed, so that no two runs do that.
        let Some(_lock) = lock_abandoned(&path) else { continue };
        let part = format!("-{token}-");
        for name in names.iter().filter(|name| name.starts_with(PREFIX) && name.contains(&part)) {
            remove(&dir.join(name));
        }
        let _ = fs::remove_file(&path);
    }
}

/// The file of a token whose owner is gone, locked by us.
fn lock_abandoned(path: &Path) -> Option<File> {
    if !is_ours(path)?.is_file() {
        return None;
    }
    let file = crate::file_input::open(path).ok()?;
    file.try_lock().ok()?;
    // The owner may have removed it at the end of its run before we had the lock.
    is_same(path, &file).then_some(file)
}

/// Removes a leftover, unless it is another user's, or a link, or kept.
fn remove(path: &Path) {
    match is_ours(path) {
        Some(found) if found.is_dir() && !path.join(KEPT).exists() => remove_dir(path),
        Some(found) if found.is_file() => drop(fs::remove_file(path)),
        _ => {}
    }
}

/// What is there, if it belongs to this user. Links are not followed.
fn is_ours(path: &Path) -> Option<fs::Metadata> {
    let own = rustix::process::getuid().as_raw();
    path.symlink_metadata().ok().filter(|found| found.uid() == own)
}

fn is_same(path: &Path, file: &File) -> bool {
    let number = |found: &fs::Metadata| (found.dev(), found.ino());
    match (path.symlink_metadata(), file.metadata()) {
        (Ok(there), Ok(open)) => number(&there) == number(&open),
        _ => false,
    }
}

/// A token whose file we keep locked.
#[derive(Debug)]
struct Token {
    text: String,
    path: PathBuf,
    file: File,
}

impl Token {
    fn claim(dir: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
            let text = format!("{number:016x}");
            let path = dir.join(format!("{ALIVE}{text}"));
            let file = File::options().write(true).create_new(true).open(&path)?;
            // Another process that sweeps may have been quicker, and removes it.
            if file.try_lock().is_ok() && is_same(&path, &file) {
                return Ok(Self { text, path, file });
            }
            let _ = fs::remove_file(&path);
        }
        Err(io::Error::other("the file of a run cannot be locked"))
    }

    fn release(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_nobody_owns_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (gone, alive) = (Token::claim(dir.path()).unwrap(), Token::claim(dir.path()).unwrap());
        let outside = tempfile::tempdir().unwrap();
        for token in [&gone, &alive] {
            let path = |name: &str| dir.path().join(format!("{PREFIX}{name}-{}-x", token.text));
            for name in ["case", "kept-case"] {
                fs::create_dir(path(name)).unwrap();
            }
            fs::write(path("file"), "").unwrap();
            keep(&path("kept-case")).unwrap();
            symlink(outside.path(), path("link")).unwrap();
        }
        fs::create_dir(dir.path().join("agentv-of-nobody")).unwrap();
        // As by a kill: the lock is let go of, and the file stays.
        drop(gone.file);
        sweep_in(dir.path());
        let (gone, alive) = (gone.text, alive.text);
        let mut left: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| name.replace(&gone, "GONE").replace(&alive, "ALIVE"))
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                ".agentv-alive-ALIVE",
                "agentv-case-ALIVE-x",
                "agentv-file-ALIVE-x",
                "agentv-kept-case-ALIVE-x",
                "agentv-kept-case-GONE-x",
                "agentv-link-ALIVE-x",
                "agentv-link-GONE-x",
                "agentv-of-nobody",
            ]
        );
        assert!(outside.path().is_dir());
    }
}
