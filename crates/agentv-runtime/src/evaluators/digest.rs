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
    /// Which they are, if that is asked for.
    paths: Option<Vec<PathBuf>>,
}

impl CaseDigest {
    /// One that also notices whether the case depends on any of these files.
    pub fn watching(watched: Option<Arc<ChangedFiles>>) -> Self {
        Self { watched, ..Self::default() }
    }

    /// The same, and it keeps the paths of all that the case depends on.
    #[must_use]
    pub fn keeping_paths(self) -> Self {
        Self { paths: Some(Vec::new()), ..self }
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
        if let Some(paths) = &mut self.paths {
            paths.push(path.to_owned());
        }
        if let Some(digest) = digest {
            self.hash.update(digest);
        }
        if let Some(watched) = &self.watched {
            self.is_touched |= watched.touch(path);
        }
    }

    /// The same for what others have found out.
    pub fn depends_on_shared(&mut self, shared: &SharedDigest) {
        self.hash.update(shared.digest);
        self.is_touched |= shared.is_touched;
        if let Some(paths) = &mut self.paths {
            paths.extend_from_slice(&shared.paths);
        }
    }

    /// The paths of all that the case depends on, if they were kept.
    pub fn paths(&self) -> Option<&[PathBuf]> {
        self.paths.as_deref()
    }

    /// What it adds to the fingerprints of all cases that share it.
    pub fn shared(self) -> SharedDigest {
        let (is_touched, paths) = (self.is_touched, self.paths.unwrap_or_default());
        SharedDigest { digest: self.hash.finish(), is_touched, paths }
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

/// What several cases depend on in the same way.
#[derive(Debug, Clone, Default)]
pub struct SharedDigest {
    digest: [u8; 32],
    is_touched: bool,
    paths: Vec<PathBuf>,
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
