//! Which files change, for `agentv eval --watch`.

use ignore::WalkBuilder;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::timeout;

/// One save is several events, and one checkout changes many files. What comes within this time is one change.
const QUIET: Duration = Duration::from_millis(100);

/// Watches directories. What Git ignores and hidden directories are left out, but for `.agentv`, where targets may be.
#[derive(Debug)]
pub struct FileWatcher {
    watcher: RecommendedWatcher,
    events: UnboundedReceiver<PathBuf>,
    watched: HashSet<PathBuf>,
}

impl FileWatcher {
    /// Starts watching these directories with all that is below them.
    pub fn start(roots: impl IntoIterator<Item = PathBuf>) -> Result<Self, notify::Error> {
        let (sender, events) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: Result<Event, notify::Error>| {
            let Ok(event) = event else { return };
            if is_change(event.kind) {
                // Without a receiver, watching has ended.
                event.paths.into_iter().for_each(|path| drop(sender.send(path)));
            }
        })?;
        let mut files = Self { watcher, events, watched: HashSet::new() };
        roots.into_iter().try_for_each(|root| files.add(&root).map(drop))?;
        Ok(files)
    }

    /// Waits for a change, and until no other follows at once.
    pub async fn next(&mut self) -> BTreeSet<PathBuf> {
        let mut changed = BTreeSet::new();
        if let Some(path) = self.events.recv().await {
            self.take(path, &mut changed);
        }
        while let Ok(Some(path)) = timeout(QUIET, self.events.recv()).await {
            self.take(path, &mut changed);
        }
        changed
    }

    /// What has changed meanwhile. Waits only until nothing follows at once.
    pub async fn meanwhile(&mut self) -> BTreeSet<PathBuf> {
        let mut changed = BTreeSet::new();
        while let Ok(Some(path)) = timeout(QUIET, self.events.recv()).await {
            self.take(path, &mut changed);
        }
        changed
    }

    /// Files in a new directory may have been there before it was watched.
    fn take(&mut self, path: PathBuf, changed: &mut BTreeSet<PathBuf>) {
        if path.is_dir() {
            // A directory that cannot be watched hides its own files only.
            changed.extend(self.add(&path).unwrap_or_default());
        } else {
            changed.insert(path);
        }
    }

    /// Watches a directory and those below it. Returns the files of directories that were not watched before.
    fn add(&mut self, root: &Path) -> Result<Vec<PathBuf>, notify::Error> {
        let walk = WalkBuilder::new(root)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != "node_modules")
            .build();
        let mut files = Vec::new();
        for entry in walk.flatten() {
            let path = entry.path();
            if path.is_file() {
                files.push(path.to_owned());
                continue;
            }
            for dir in [path.to_owned(), path.join(".agentv")] {
                if dir.is_dir() && !self.watched.contains(&dir) {
                    self.watcher.watch(&dir, RecursiveMode::NonRecursive)?;
                    self.watched.insert(dir);
                }
            }
        }
        Ok(files)
    }
}

/// A look at a file is not a change; `touch` is one.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Modify(ModifyKind::Metadata(_)) => false,
        _ => true,
    }
}
