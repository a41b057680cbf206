//! Where files that an eval file refers to are looked for.

use std::path::{Path, PathBuf};

/// The directories, in order, in which a reference is looked up.
#[derive(Debug, Clone)]
pub struct FileSearch {
    roots: Vec<PathBuf>,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    /// The reference without leading separators.
    pub display: String,
}

impl FileSearch {
    /// The eval file's directory, each parent up to the repository's root (or `/` when the file lies outside), the root,
    /// the working directory.
    pub fn new(eval_dir: &Path, repo_root: &Path, working_dir: &Path) -> Self {
        let mut roots: Vec<PathBuf> = Vec::new();
        let inside = eval_dir.starts_with(repo_root);
        for dir in eval_dir.ancestors() {
            roots.push(dir.to_owned());
            if inside && dir == repo_root {
                break;
            }
        }
        for dir in [repo_root, working_dir] {
            if !roots.iter().any(|root| root == dir) {
                roots.push(dir.to_owned());
            }
        }
        Self { roots }
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The first existing path, or all that were tried.
    pub fn find(&self, reference: &str) -> Result<Found, Vec<PathBuf>> {
        let display = reference.trim_start_matches(['/', '\\']).to_owned();
        let relative = display.replace('\\', "/");
        let absolute = Path::new(reference).is_absolute().then(|| PathBuf::from(reference));
        let tried: Vec<PathBuf> = absolute
            .into_iter()
            .chain(self.roots.iter().map(|root| root.join(&relative)))
            .collect();
        match tried.iter().find(|path| path.exists()) {
            Some(path) => Ok(Found { path: tidy(path), display }),
            None => Err(tried),
        }
    }
}

/// Without `.` and `..`, as far as that can be said without looking.
fn tidy(path: &Path) -> PathBuf {
    std::path::absolute(path).map_or_else(
        |_| path.to_owned(),
        |path| {
            let mut tidy = PathBuf::new();
            for part in path.components() {
                match part {
                    std::path::Component::ParentDir => {
                        tidy.pop();
                    }
                    other => tidy.push(other),
                }
            }
            tidy
        },
    )
}
