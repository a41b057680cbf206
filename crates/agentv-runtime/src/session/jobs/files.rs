//! The files that a job needs, by their contents.

use super::JobError;
use crate::hash::sha256_of_file;
use crate::run::JobFile;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFile {
    pub sha256: String,
    /// Where it is here.
    pub path: PathBuf,
}

/// What is known of the files that jobs need.
#[derive(Debug)]
pub(super) struct JobFiles {
    root: PathBuf,
    /// The same without links: some paths come without them.
    real_root: PathBuf,
    /// What each path comes to. A lock and not a message: a file is read once.
    known: Mutex<HashMap<PathBuf, Arc<Tree>>>,
}

/// A file, or a directory with all that is in it.
#[derive(Debug, Default)]
struct Tree {
    entries: Vec<(String, JobFile)>,
    contents: Vec<SentFile>,
}

/// As many are remembered; past that, memory would grow with the number of cases.
const KEPT: usize = 1024;
/// Larger directories are not what cases are made of.
const MOST_ENTRIES: usize = 100_000;
/// Names that are never sent: secrets, and what belongs to this copy of the repository.
const NEVER_SENT: [&str; 2] = [".env", ".git"];

impl JobFiles {
    pub(super) fn below(root: &Path) -> Self {
        let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { root: root.to_owned(), real_root, known: Mutex::default() }
    }

    /// A path as it is named in jobs: from the root, with `/`.
    pub(super) fn name(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(&self.root).or_else(|_| path.strip_prefix(&self.real_root));
        below.ok()?.to_str().map(str::to_owned)
    }

    /// Adds what is at a path.
    pub(super) fn add(
        &self,
        path: &Path,
        (files, sent): (&mut BTreeMap<String, JobFile>, &mut Vec<SentFile>),
    ) -> Result<(), JobError> {
        let tree = self.tree(path).map_err(|error| JobError::File {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        files.extend(tree.entries.iter().cloned());
        sent.extend(tree.contents.iter().cloned());
        Ok(())
    }

    fn tree(&self, path: &Path) -> io::Result<Arc<Tree>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = known.get(path) {
            return Ok(Arc::clone(tree));
        }
        let mut tree = Tree::default();
        if is_never_sent(path) {
            return Err(io::Error::other("files of this name are never sent"));
        }
        self.walk(path, &mut tree)?;
        let tree = Arc::new(tree);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(path.to_owned(), Arc::clone(&tree));
        Ok(tree)
    }

    fn walk(&self, path: &Path, tree: &mut Tree) -> io::Result<()> {
        let name =
            self.name(path).ok_or_else(|| io::Error::other("it is outside of the repository"))?;
        if is_never_sent(path) {
            return Ok(());
        }
        if tree.entries.len() >= MOST_ENTRIES {
            return Err(io::Error::other(format!("it has more than {MOST_ENTRIES} files")));
        }
        let about = fs::metadata(path)?;
        if about.is_dir() {
            tree.entries.push((name, JobFile::Directory { directory: true }));
            let mut inside: Vec<PathBuf> = fs::read_dir(path)?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<io::Result<_>>()?;
            inside.sort();
            for path in inside {
                match fs::read_link(&path).ok().filter(|_| !path.is_file()) {
                    Some(link) => tree.link(self.name(&path), &link)?,
                    None => self.walk(&path, tree)?,
                }
            }
            return Ok(());
        }
        let sha256 = hex::encode(sha256_of_file(path)?);
        let executable = about.permissions().mode() & 0o111 != 0;
        tree.entries.push((name, JobFile::Content { sha256: sha256.clone(), executable }));
        tree.contents.push(SentFile { sha256, path: path.to_owned() });
        Ok(())
    }
}

fn is_never_sent(path: &Path) -> bool {
    path.file_name().is_some_and(|name| NEVER_SENT.iter().any(|never| name == *never))
}

impl Tree {
    /// A link inside of a directory, to a directory or to nothing. Links to files are sent as files.
    fn link(&mut self, name: Option<String>, link: &Path) -> io::Result<()> {
        let (Some(name), Some(link)) = (name, link.to_str()) else {
            return Err(io::Error::other("the name of a link is not text"));
        };
        if link.starts_with('/') || link.split('/').any(|part| part == "..") {
            return Err(io::Error::other(format!("its link `{name}` leads elsewhere")));
        }
        self.entries.push((name, JobFile::Link { link: link.to_owned() }));
        Ok(())
    }
}
