//! What `/proc` says of processes. A process may end between two looks, so nothing here fails: it is merely absent.
#![expect(clippy::disallowed_methods, reason = "the files of `/proc` are the system's")]

use super::mark::CallMark;
use rustix::process::{PidfdFlags, Signal, WaitOptions};
use rustix::process::{kill_process, pidfd_open, pidfd_send_signal, waitpid};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::OnceLock;

/// The number of a process, as `/proc` and the system calls use it.
pub(super) type Pid = i32;

/// A process as it was when looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    pub(super) session: Pid,
    /// It has ended, and its status was not taken yet.
    pub(super) is_zombie: bool,
    /// In clock ticks since boot. With the pid it names a process for good, though pids are used again.
    pub(super) start: u64,
}

impl Process {
    pub(super) fn of(pid: Pid) -> Option<Self> {
        parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// What it was started with.
    pub(super) fn environment(&self) -> ProcessEnvironment {
        let read = |what| read_at_once(&format!("/proc/{}/{what}", self.pid));
        // A process that becomes another program has neither arguments nor environment for a moment, and an open file shows
        // the program that was there when it was opened. So an environment counts as empty only if that is seen twice of a
        // program that had its arguments before.
        for _ in 0..2 {
            let has_arguments = read("cmdline").is_ok_and(|line| !line.is_empty());
            match read("environ") {
                Ok(all) if !all.is_empty() => return ProcessEnvironment::Known(all),
                Ok(_) if has_arguments => {}
                Ok(_) => return ProcessEnvironment::Changing,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return ProcessEnvironment::Hidden;
                }
                Err(_) => return ProcessEnvironment::Changing,
            }
        }
        ProcessEnvironment::Known(Vec::new())
    }

    /// The mark of the call that it descends from.
    pub(super) fn mark(&self) -> Option<CallMark> {
        CallMark::read(&read_at_once(&format!("/proc/{}/limits", self.pid)).ok()?)
    }

    /// Kills this very process, and not another one that got its pid since.
    pub(super) fn kill(&self) {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid) else { return };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if self.is_still_there() => {
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            // A kernel without process handles, or no file descriptor left.
            Err(_) if self.is_still_there() => {
                let _ = kill_process(pid, Signal::KILL);
            }
            Err(_) => {}
        }
    }

    fn is_still_there(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.start == self.start)
    }

    /// Takes the exit status of a zombie that is our child; `true` if it is gone now. By its pid: a wait for any child
    /// would take that of a call.
    pub(super) fn reap(&self) -> bool {
        let pid = rustix::process::Pid::from_raw(self.pid);
        !matches!(pid.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG)), Some(Ok(None)))
    }
}

/// Reads a file of `/proc` in one piece, if it is not enormous. `fs::read` begins with a few bytes: of a process that ends
/// or becomes another program before the next piece, those would pass for the whole.
fn read_at_once(path: &str) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let mut all = vec![0; 64 * 1024];
    let count = file.read(&mut all)?;
    all.truncate(count);
    file.read_to_end(&mut all)?;
    Ok(all)
}

/// The environment of a process, as far as it can be seen.
#[derive(Debug)]
pub(super) enum ProcessEnvironment {
    Known(Vec<u8>),
    /// The process is another user's.
    Hidden,
    /// The process is becoming another program, or is ending; who looks again will know. Under load that takes a while.
    Changing,
}

impl ProcessEnvironment {
    /// Whether it has this `NAME=value`.
    pub(super) fn has(&self, entry: &[u8]) -> bool {
        self.entries().any(|one| one == entry)
    }

    /// Whether it has this variable with another value than `entry` says.
    pub(super) fn has_another(&self, name: &str, entry: &[u8]) -> bool {
        let names_it = |one: &[u8]| {
            one.strip_prefix(name.as_bytes()).is_some_and(|value| value.starts_with(b"="))
        };
        self.entries().any(|one| one != entry && names_it(one))
    }

    pub(super) fn is_changing(&self) -> bool {
        matches!(self, Self::Changing)
    }

    fn entries(&self) -> impl Iterator<Item = &[u8]> {
        let all = if let Self::Known(all) = self { all.as_slice() } else { &[] };
        all.split(|byte| *byte == 0)
    }
}

/// Our own pid.
pub(super) fn own_pid() -> Pid {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The session we are in; 0 where its leader is outside of our pid namespace (`docker exec`). The system call says the same,
/// but its result is no valid pid then, and rustix panics over it.
pub(super) fn own_session() -> Option<Pid> {
    static SESSION: OnceLock<Option<Pid>> = OnceLock::new();
    *SESSION.get_or_init(|| Some(Process::of(own_pid())?.session))
}

/// Every process that can be seen. Empty where `/proc` shows the pids of another namespace: a pid from there would be
/// others' here.
pub(super) fn all() -> Vec<Process> {
    let shown = fs::read_link("/proc/self");
    if !shown.is_ok_and(|shown| shown == Path::new(&own_pid().to_string())) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Process::of)
        .collect()
}

/// The children of our main thread. Orphans that come to a subreaper come to its main thread while that is alive, and
/// tokio's workers keep their own children, so this list is short and reading it costs microseconds.
pub(super) fn adopted() -> Vec<Process> {
    let Some(mut children) = listed_children() else {
        // The kernel was built without this file.
        let own = own_pid();
        return all().into_iter().filter(|process| process.parent == own).collect();
    };
    // The kernel may leave out a child when another one goes while it makes the list; an empty list is sure.
    for _ in 0..5 {
        let again = if children.is_empty() { break } else { listed_children() };
        match again {
            Some(again) if again != children => children = again,
            _ => break,
        }
    }
    children.split_ascii_whitespace().filter_map(|pid| Process::of(pid.parse().ok()?)).collect()
}

/// The pids of those that may be [`adopted`], which costs one read however many they are. One may be missing that is there
/// the next time.
pub(super) fn own_children() -> Vec<Pid> {
    match listed_children() {
        Some(children) => {
            children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
        }
        None => adopted().into_iter().map(|process| process.pid).collect(),
    }
}

/// The children of our main thread, as the kernel lists them. The file is kept open: to find it takes longer than to read it.
fn listed_children() -> Option<String> {
    static LIST: OnceLock<Option<fs::File>> = OnceLock::new();
    let list =
        LIST.get_or_init(|| fs::File::open(format!("/proc/self/task/{}/children", own_pid())).ok());
    let (mut children, mut buffer) = (Vec::new(), [0; 512]);
    loop {
        let count = list.as_ref()?.read_at(&mut buffer, children.len() as u64).ok()?;
        if count == 0 {
            return String::from_utf8(children).ok();
        }
        children.extend_from_slice(&buffer[..count]);
    }
}

/// The fields of `/proc/<pid>/stat`. The name, in brackets, may hold spaces and brackets itself.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let mut fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<Pid>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // The start is field 22 of the line, and six are behind us.
    let start = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, group, session, is_zombie: matches!(state, "Z" | "X"), start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line =
            b"42 (a) Z (b) c) S 7 8 9 0 -1 4194304 96 0 0 0 0 0 0 0 20 0 1 0 155951 2990080 417\n";
        let expected =
            Process { pid: 42, parent: 7, group: 8, session: 9, is_zombie: false, start: 155_951 };
        assert_eq!(parse_stat(line), Some(expected));
        assert_eq!(parse_stat(b"42 (cut"), None);
        assert_eq!(parse_stat(b"42 (cut) S 7"), None);
    }

    #[test]
    fn we_see_ourselves() {
        let own = Process::of(own_pid()).unwrap();
        assert!(all().contains(&own));
        assert!(!own.is_zombie);
        let environment = own.environment();
        assert!(environment.has_another("PATH", b"PATH=nowhere"));
        assert!(!environment.has(b"PATH=nowhere") && !environment.is_changing());
    }
}
