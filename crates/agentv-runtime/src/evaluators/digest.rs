//! What makes a case what it is, in short; and whether some of it was changed lately.

use crate::config::Node;
use crate::hash::ContentHasher;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The fingerprint of a case under construction.
#[derive(Debug, Clone, Default)]
pub struct CaseDigest {
    hash: ContentHasher,
    watched: Option<Arc<ChangedFiles>>,
    is_touched: bool,
    /// How many files it depends on.
    files: usize,
}

impl CaseDigest {
    /// One that also notices whether the case depends on any of these files.
    pub fn watching(watched: Option<Arc<ChangedFiles>>) -> Self {
        Self { watched, ..Self::default() }
    }

    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.hash.update(bytes);
    }

    pub fn node(&mut self, node: &Node<'_>) {
        node.digest(&mut self.hash);
    }

    /// The case depends on a file, or on all that is in a directory, whose contents come to `digest`.
    pub fn depends_on(&mut self, path: &Path, digest: Option<[u8; 32]>) {
        self.files += 1;
        if let Some(digest) = digest {
            self.hash.update(digest);
        }
        if let Some(watched) = &self.watched {
            self.is_touched |= watched.touch(path);
        }
    }

    /// The same for what others have found out: their digest, and whether they were touched.
    pub fn depends_on_shared(&mut self, digest: [u8; 32], is_touched: bool) {
        self.hash.update(digest);
        self.is_touched |= is_touched;
    }

    /// On how many files the case depends, as far as is known.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Whether the case depends on a file that is watched for.
    pub fn is_touched(&self) -> bool {
        self.is_touched
    }

    pub fn finish(self) -> [u8; 32] {
        self.hash.finish()
    }
}

/// Files that were changed, by their paths without links.
#[derive(Debug, Default)]
pub struct ChangedFiles {
    paths: HashSet<PathBuf>,
}

impl ChangedFiles {
    /// Whether this file is one of them, or this directory holds one.
    pub fn touch(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else { return false };
        self.paths.contains(&path)
            || (path.is_dir() && self.paths.iter().any(|changed| changed.starts_with(&path)))
    }
}

impl FromIterator<PathBuf> for ChangedFiles {
    /// What is no more cannot be depended on.
    fn from_iter<I: IntoIterator<Item = PathBuf>>(paths: I) -> Self {
        Self { paths: paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect() }
    }
}
