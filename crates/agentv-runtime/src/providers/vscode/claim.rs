//! One subagent for one request, and the focus for one chat: taken atomically, freed however the request ends.
//!
//! `subagent.lock` is what other tools look at and may leave behind. AgentV also holds a file lock of the system on
//! `.agentv-claim`, which ends with the process that holds it. So two runs exclude each other even if an agent deletes
//! `subagent.lock` early, and a `subagent.lock` of an AgentV that was killed is known to be stale. One that another tool
//! made is respected, since that cannot be known.

use crate::file_input;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const LOCK: &str = "subagent.lock";
const CLAIM: &str = ".agentv-claim";
const FOCUS: &str = ".agentv-focus";
/// How a lock of ours begins; other tools write an empty one.
const OURS: &str = "AgentV";

/// A subagent that is ours until this is dropped.
#[derive(Debug)]
pub(super) struct SubagentClaim {
    dir: PathBuf,
    /// What we wrote into `subagent.lock`.
    text: String,
    /// Holds the system's lock.
    _held: File,
}

/// What came of an attempt to claim.
#[derive(Debug)]
pub(super) enum Attempt {
    Claimed(SubagentClaim),
    NotFree(SubagentState),
}

/// Who has a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubagentState {
    Free,
    /// An AgentV that lives; it will free it.
    Held,
    /// A process of which nothing is known.
    Locked,
}

impl SubagentClaim {
    /// Tries to take the subagent in this folder. `who` is for people who find the lock.
    pub(super) fn attempt(dir: &Path, who: &str) -> io::Result<Attempt> {
        let held = open_or_create(&dir.join(CLAIM))?;
        match state(dir, Some(&held)) {
            SubagentState::Free => {}
            other => return Ok(Attempt::NotFree(other)),
        }
        let (lock, text) = (dir.join(LOCK), format!("{OURS} {who}\n"));
        // What is there now is a stale one of ours.
        remove(&lock)?;
        match File::create_new(&lock) {
            Ok(mut file) => {
                // One that says nothing would be taken for another tool's.
                file.write_all(text.as_bytes()).inspect_err(|_| drop(remove(&lock)))?;
                Ok(Attempt::Claimed(Self { dir: dir.to_owned(), text, _held: held }))
            }
            // Another tool was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(Attempt::NotFree(SubagentState::Locked))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// `subagent-3`
    pub(super) fn name(&self) -> String {
        self.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

impl Drop for SubagentClaim {
    fn drop(&mut self) {
        let lock = self.dir.join(LOCK);
        // An agent may have deleted it, and another tool may have made its own since.
        if file_input::read_to_string(&lock).is_ok_and(|text| text == self.text) {
            let _ = remove(&lock);
        }
    }
}

/// The focus of VS Code, until this is dropped. A chat goes to the window with the focus, so who is about to chat must not be
/// disturbed by another who opens a window.
#[derive(Debug)]
pub(super) struct Focus {
    /// Holds the system's lock, where the file system has locks.
    _held: File,
}

impl Focus {
    /// `None` if another one has it.
    pub(super) fn attempt(root: &Path) -> io::Result<Option<Self>> {
        let file = open_or_create(&root.join(FOCUS))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            _ => Ok(Some(Self { _held: file })),
        }
    }
}

/// Who has the subagent in this folder, without taking it.
pub(super) fn look(dir: &Path) -> SubagentState {
    state(dir, file_input::open(&dir.join(CLAIM)).ok().as_ref())
}

/// Leaves the system's lock on `claim` with us if the answer is `Free`; it ends when the file is closed.
fn state(dir: &Path, claim: Option<&File>) -> SubagentState {
    let is_ours_alone = match claim.map(File::try_lock) {
        Some(Err(TryLockError::WouldBlock)) => return SubagentState::Held,
        Some(Ok(())) => true,
        // No AgentV was ever here, or the file system has no locks; then `subagent.lock` is all there is to go by.
        None | Some(Err(TryLockError::Error(_))) => false,
    };
    match file_input::read(&dir.join(LOCK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => SubagentState::Free,
        Ok(text) if is_ours_alone && text.starts_with(OURS.as_bytes()) => SubagentState::Free,
        _ => SubagentState::Locked,
    }
}

fn open_or_create(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(false).open(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(dir: &Path) -> SubagentClaim {
        match SubagentClaim::attempt(dir, "process 1").unwrap() {
            Attempt::Claimed(claim) => claim,
            Attempt::NotFree(state) => panic!("{state:?}"),
        }
    }

    #[track_caller]
    fn is_refused(dir: &Path, expected: SubagentState) {
        let attempt = SubagentClaim::attempt(dir, "process 2").unwrap();
        assert!(matches!(attempt, Attempt::NotFree(state) if state == expected), "{attempt:?}");
        assert_eq!(look(dir), expected);
    }

    #[test]
    fn a_claim_keeps_others_out_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let claim = claimed(dir.path());
        assert_eq!(fs::read_to_string(dir.path().join(LOCK)).unwrap(), "AgentV process 1\n");
        is_refused(dir.path(), SubagentState::Held);
        drop(claim);
        assert!(!dir.path().join(LOCK).exists());
        assert_eq!(look(dir.path()), SubagentState::Free);
        claimed(dir.path());
    }

    #[test]
    fn a_lock_that_its_agent_deleted_early_still_holds() {
        let dir = tempfile::tempdir().unwrap();
        let _claim = claimed(dir.path());
        fs::remove_file(dir.path().join(LOCK)).unwrap();
        is_refused(dir.path(), SubagentState::Held);
    }

    #[test]
    fn a_lock_of_a_dead_agentv_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(CLAIM), "").unwrap();
        fs::write(dir.path().join(LOCK), "AgentV process 1\n").unwrap();
        assert_eq!(look(dir.path()), SubagentState::Free);
        let claim = claimed(dir.path());
        is_refused(dir.path(), SubagentState::Held);
        drop(claim);
    }

    #[test]
    fn a_lock_of_another_tool_is_respected_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(LOCK), "").unwrap();
        is_refused(dir.path(), SubagentState::Locked);
        fs::remove_file(dir.path().join(LOCK)).unwrap();
        let claim = claimed(dir.path());
        fs::write(dir.path().join(LOCK), "").unwrap();
        drop(claim);
        assert!(dir.path().join(LOCK).exists());
    }

    #[test]
    fn one_has_the_focus() {
        let dir = tempfile::tempdir().unwrap();
        let focus = Focus::attempt(dir.path()).unwrap();
        assert!(focus.is_some());
        assert!(Focus::attempt(dir.path()).unwrap().is_none());
        drop(focus);
        assert!(Focus::attempt(dir.path()).unwrap().is_some());
    }

    #[test]
    fn of_many_who_race_one_wins() {
        let dir = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(8);
        let race = || {
            start.wait();
            SubagentClaim::attempt(dir.path(), "racer").unwrap()
        };
        // All attempts are kept until the last is made.
        let attempts: Vec<Attempt> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..8).map(|_| scope.spawn(race)).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let winners = attempts.iter().filter(|one| matches!(one, Attempt::Claimed(_))).count();
        assert_eq!(winners, 1);
    }
}
