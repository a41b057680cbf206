//! Files of cases on their way through the server: sent by content, once; kept by workers up to a size; placed where the case
//! expects them.

use crate::link::{ClusterError, ClusterLink};
use agentv_runtime::file_input;
use agentv_runtime::hash::sha256;
use agentv_runtime::run::JobFile;
use agentv_runtime::session::SentFile;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// The largest file that is sent.
const LARGEST: usize = 1 << 30;

/// Sends the files of a run.
#[derive(Debug, Default)]
pub(crate) struct FileSender {
    /// What the server has, as far as is known. A lock that is held while a file is sent, so that it is sent once.
    sent: tokio::sync::Mutex<HashSet<String>>,
}

impl FileSender {
    /// Sends what the server does not have.
    pub(crate) async fn send(
        &self,
        files: &[SentFile],
        link: &ClusterLink,
    ) -> Result<(), ClusterError> {
        for SentFile { sha256: expected, path } in files {
            let mut sent = self.sent.lock().await;
            if sent.contains(expected) {
                continue;
            }
            let failed = |reason: String| ClusterError::Failed {
                what: "cannot send a file",
                reason: format!("`{}`: {reason}", path.display()),
            };
            if link.files.info(expected.as_str()).await.is_err() {
                let bytes = file_input::read(path).map_err(|error| failed(error.to_string()))?;
                if hex::encode(sha256(&bytes)) != *expected {
                    return Err(failed("it was changed during the run".to_owned()));
                }
                let put = link.files.put(expected.as_str(), &mut bytes.as_slice()).await;
                put.map_err(|error| failed(error.to_string()))?;
            }
            sent.insert(expected.clone());
        }
        Ok(())
    }
}

/// The files that a worker keeps from run to run.
#[derive(Debug)]
pub(crate) struct FileCache {
    dir: PathBuf,
    /// How many bytes they may have together.
    limit: u64,
}

impl FileCache {
    pub(crate) fn open(dir: PathBuf, limit: u64) -> io::Result<Self> {
        fs::create_dir_all(&dir)?;
        Ok(Self { dir, limit })
    }

    /// The contents of a file, from here or from the server. They are checked each time.
    async fn contents(&self, expected: &str, link: &ClusterLink) -> Result<Vec<u8>, String> {
        if expected.len() != 64 || !expected.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("its hash is not a hash".to_owned());
        }
        let path = self.dir.join(expected);
        if let Ok(bytes) = file_input::read(&path)
            && hex::encode(sha256(&bytes)) == expected
        {
            // The time of its last use.
            let _ = fs::File::options()
                .append(true)
                .open(&path)
                .and_then(|file| file.set_modified(SystemTime::now()));
            return Ok(bytes);
        }
        let bytes = crate::link::read_object(&link.files, expected, LARGEST).await?;
        if hex::encode(sha256(&bytes)) != expected {
            return Err("its contents are not what the job says".to_owned());
        }
        if self.make_room(bytes.len() as u64) {
            let _ = agentv_runtime::atomic_file::write_atomically(&path, &bytes);
        }
        Ok(bytes)
    }

    /// Removes what was not used for the longest time. Returns whether there is room now.
    fn make_room(&self, wanted: u64) -> bool {
        let listed = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = listed
            .filter_map(|entry| {
                let about = entry.metadata().ok()?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut used: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files {
            if used + wanted <= self.limit {
                break;
            }
            if fs::remove_file(path).is_ok() {
                used -= bytes;
            }
        }
        used + wanted <= self.limit
    }
}

/// The directory in which a worker rebuilds what it needs of a run's repository.
#[derive(Debug)]
pub(crate) struct RepositoryCopy {
    root: PathBuf,
    /// What is there. A lock that is held while files are placed: two jobs must not write one file at the same time.
    placed: tokio::sync::Mutex<HashMap<String, JobFile>>,
}

impl RepositoryCopy {
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        // Paths are compared without links.
        Ok(Self { root: root.canonicalize()?, placed: tokio::sync::Mutex::default() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Places the files of a job. `Err` names the one that cannot be had.
    pub(crate) async fn place(
        &self,
        files: &BTreeMap<String, JobFile>,
        (cache, link): (&FileCache, &ClusterLink),
    ) -> Result<(), String> {
        let mut placed = self.placed.lock().await;
        // Directories come before what is in them: names are in order.
        for (name, file) in files {
            match placed.get(name) {
                Some(known) if known == file => continue,
                Some(_) => return Err(format!("`{name}` was changed during the run")),
                None => {}
            }
            let failed = |reason: String| format!("`{name}` cannot be had: {reason}");
            let path =
                self.inside(name).ok_or_else(|| failed("its name is not allowed".to_owned()))?;
            let done = match file {
                JobFile::Directory { .. } => fs::create_dir_all(&path),
                JobFile::Link { link } => put_link(link, &path),
                JobFile::Content { sha256, executable } => {
                    let bytes = cache.contents(sha256, link).await.map_err(failed)?;
                    put_file(&path, &bytes, *executable)
                }
            };
            done.map_err(|error| failed(error.to_string()))?;
            placed.insert(name.clone(), file.clone());
        }
        Ok(())
    }

    /// The path of a name, which may not lead out of the tree.
    fn inside(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        (is_plain && !name.is_empty()).then(|| self.root.join(path))
    }
}

fn put_file(path: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(path, bytes)?;
    fs::set_permissions(path, fs::Permissions::from_mode(if executable { 0o755 } else { 0o644 }))
}

fn put_link(link: &str, path: &Path) -> io::Result<()> {
    let is_plain = Path::new(link)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_plain {
        return Err(io::Error::other("its link leads out of its directory"));
    }
    match symlink(link, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}
