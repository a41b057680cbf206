//! Answers on disk: a file each, under its key. Many processes may use one directory at once.
//!
//! A file is written beside its place and then renamed, so a reader sees all of it or nothing. Two who write the same key
//! write the same kind of thing, and the last one stays. Whatever is there and is no answer of ours counts as absent.

use super::AnswerKey;
use crate::atomic_file::{AtomicFile, UNFINISHED_PREFIX};
use crate::file_input;
use crate::new_paths::create_private_dir;
use agentv_core::Response;
use agentv_wire::number;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Where answers are kept.
#[async_trait]
pub trait AnswerStore: fmt::Debug + Send + Sync {
    /// The answer, if it is known.
    async fn find(&self, key: &AnswerKey) -> Option<Response>;

    /// Keeps an answer.
    fn keep(&self, key: &AnswerKey, response: &Response) -> io::Result<()>;

    /// Where that is, for people.
    fn place(&self) -> String;
}

#[async_trait]
impl AnswerStore for Store {
    async fn find(&self, key: &AnswerKey) -> Option<Response> {
        self.read(key)
    }

    fn keep(&self, key: &AnswerKey, response: &Response) -> io::Result<()> {
        self.write(key, response)
    }

    fn place(&self) -> String {
        self.dir.display().to_string()
    }
}

/// A directory of answers.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
}

/// An answer as it is in its file.
#[derive(Debug, Serialize, Deserialize)]
struct Entry<R> {
    agentv_cache: u32,
    key: String,
    response: R,
}

/// Files of another version count as absent.
const VERSION: u32 = 1;

/// What a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    pub answers: u64,
    pub bytes: u64,
    pub oldest: Option<SystemTime>,
    pub newest: Option<SystemTime>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleared {
    pub answers: u64,
    pub bytes: u64,
}

/// How long a half-written file may stay: writing never takes that long.
const ABANDONED: Duration = Duration::from_hours(1);

impl Store {
    /// The directory need not be there yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The answer, if it is known.
    pub fn read(&self, key: &AnswerKey) -> Option<Response> {
        let text = file_input::read_to_string(&self.file(key)).ok()?;
        let entry: Entry<Response> = serde_json::from_str(&text).ok()?;
        (entry.agentv_cache == VERSION && entry.key == key.to_string()).then_some(entry.response)
    }

    /// Keeps an answer.
    pub fn write(&self, key: &AnswerKey, response: &Response) -> io::Result<()> {
        let entry = Entry { agentv_cache: VERSION, key: key.to_string(), response };
        let place = self.file(key);
        let dir = place.parent().unwrap_or(&self.dir);
        self.make(dir)?;
        let mut text = number::to_string(&entry).map_err(io::Error::other)?;
        text.push('\n');
        let mut file = AtomicFile::create_private(&place)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    }

    /// Answers may hold what is not for everybody, so they keep themselves out of Git.
    fn make(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        create_private_dir(&self.dir)?;
        create_private_dir(dir)?;
        let ignore = self.dir.join(".gitignore");
        if !ignore.exists() {
            fs::write(ignore, "*\n")?;
        }
        Ok(())
    }

    fn file(&self, key: &AnswerKey) -> PathBuf {
        let key = key.to_string();
        let (folder, name) = key.split_at(2);
        self.dir.join(folder).join(format!("{name}.json"))
    }

    /// Counts what is there.
    pub fn stats(&self) -> io::Result<Stats> {
        let mut stats = Stats::default();
        self.each(|file, about| {
            if file.is_answer() {
                stats.answers += 1;
                stats.bytes += about.len();
                let written = about.modified().ok();
                stats.oldest = stats.oldest.into_iter().chain(written).min();
                stats.newest = stats.newest.into_iter().chain(written).max();
            }
            Ok(())
        })?;
        Ok(stats)
    }

    /// Removes answers, all or those that are at least this old. Only files that the store itself has made are touched.
    pub fn clear(&self, older_than: Option<Duration>) -> io::Result<Cleared> {
        let mut cleared = Cleared::default();
        self.each(|file, about| {
            let age = about.modified().ok().and_then(|written| written.elapsed().ok());
            let is_old = |limit: Duration| age.is_some_and(|age| age >= limit);
            match file {
                Found::Answer(path) if older_than.is_none_or(is_old) => {
                    gone(fs::remove_file(path))?;
                    cleared.answers += 1;
                    cleared.bytes += about.len();
                }
                Found::HalfWritten(path) if is_old(ABANDONED) => gone(fs::remove_file(path))?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(cleared)
    }

    fn each(&self, mut look: impl FnMut(&Found, &Metadata) -> io::Result<()>) -> io::Result<()> {
        for folder in listed(&self.dir)? {
            let is_ours = folder.file_name().is_some_and(|name| is_hex(&name.to_string_lossy(), 2));
            if !is_ours || !folder.is_dir() {
                continue;
            }
            for path in listed(&folder)? {
                // Another process may clear at the same time.
                let Ok(about) = fs::symlink_metadata(&path) else { continue };
                if let Some(found) = Found::at(path).filter(|_| about.is_file()) {
                    look(&found, &about)?;
                }
            }
        }
        Ok(())
    }
}

/// A file of ours.
enum Found {
    Answer(PathBuf),
    /// It is being written, or its writer did not come to the end.
    HalfWritten(PathBuf),
}

impl Found {
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy();
        if name.starts_with(UNFINISHED_PREFIX) {
            return Some(Self::HalfWritten(path));
        }
        let is_answer = name.strip_suffix(".json").is_some_and(|name| is_hex(name, 62));
        is_answer.then_some(Self::Answer(path))
    }

    fn is_answer(&self) -> bool {
        matches!(self, Self::Answer(_))
    }
}

fn is_hex(name: &str, digits: usize) -> bool {
    name.len() == digits && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What a directory holds; nothing, if it is not there.
fn listed(dir: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(dir) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What another process has removed meanwhile is removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::TargetFingerprint;
    use super::*;
    use agentv_core::{CallContext, EvalId, Request};

    fn key(question: &str) -> AnswerKey {
        let settled = TargetFingerprint { kind: "openai", settings: [0; 32], place: None };
        let request = Request::plain(&EvalId::from("one"), question.to_owned());
        AnswerKey::of(&settled, &request, &CallContext::quiet())
    }

    #[test]
    fn what_is_no_answer_counts_as_absent_and_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("cache"));
        let key = key("What?");
        assert_eq!(store.read(&key), None);
        store.write(&key, &Response::text("This")).unwrap();
        let whole = fs::read_to_string(store.file(&key)).unwrap();
        let foreign = whole.replace("\"agentv_cache\":1", "\"agentv_cache\":2");
        let moved = whole.replace(&key.to_string(), &"0".repeat(64));
        for torn in [&whole[..whole.len() / 2], "", "[]", &foreign, &moved] {
            fs::write(store.file(&key), torn).unwrap();
            assert_eq!(store.read(&key), None, "{torn}");
            store.write(&key, &Response::text("This")).unwrap();
            assert_eq!(store.read(&key), Some(Response::text("This")));
        }
    }

    #[test]
    fn only_what_the_store_made_is_counted_and_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        for question in ["a", "b", "c"] {
            store.write(&key(question), &Response::text(question)).unwrap();
        }
        fs::create_dir_all(dir.path().join("ab")).unwrap();
        for kept in ["notes.json", "ab/notes.json", "ab/.writing-now"] {
            fs::write(dir.path().join(kept), "mine").unwrap();
        }
        assert_eq!(store.stats().unwrap().answers, 3);
        assert_eq!(store.clear(Some(Duration::from_hours(24))).unwrap().answers, 0);
        assert_eq!(store.clear(None).unwrap().answers, 3);
        assert_eq!(store.stats().unwrap(), Stats::default());
        for kept in [".gitignore", "notes.json", "ab/notes.json", "ab/.writing-now"] {
            assert!(dir.path().join(kept).exists(), "{kept}");
        }
    }
}
