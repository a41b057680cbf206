//! All that one call started, found and ended.

use super::leader::Leader;
use super::mark::{CallMark, Marks};
#[cfg(target_os = "linux")]
use super::procfs::{self, Process, ProcessEnvironment};
use super::sandbox::{Confinement, Guard};
#[cfg(target_os = "linux")]
use agentv_wire::env;
use rustix::process::{Pid, Signal};
use rustix::process::{kill_process_group, test_kill_process_group};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, iter};

/// Makes orphans of our children come to us instead of going to init. For `main`, once, before the first child.
#[cfg(target_os = "linux")]
pub fn become_subreaper() -> io::Result<()> {
    // The argument is only a flag to the kernel; any pid says yes.
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Only Linux has subreapers; elsewhere the process group has to do.
#[cfg(not(target_os = "linux"))]
pub fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// One call at a time looks through the orphans. A message would not do: a zombie that another call takes away between two
/// looks at it takes along the hint that its children have come to us. Held for microseconds, never over an await.
#[derive(Debug, Default)]
pub(super) struct OrphanLock(Mutex<()>);

impl OrphanLock {
    fn take(&self) -> MutexGuard<'_, ()> {
        // There is nothing behind the lock that a panic could have left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(target_os = "linux")]
impl OrphanLock {
    /// The orphans that came to us and live. Those that have ended are taken away, in one pass: a program that makes them
    /// faster than that must not keep us here, and until then they count as processes for the system.
    pub(super) fn living_orphans(&self) -> Vec<Process> {
        let _turn = self.take();
        let children = procfs::own_children().into_iter().filter_map(Process::of);
        let orphans = children.filter(|child| !may_be_leader(child));
        orphans.filter(|orphan| !orphan.is_zombie || !orphan.reap()).collect()
    }
}

/// The processes of one call: the one that we started, its group, and what carries the call's id.
#[derive(Debug)]
pub(super) struct Tree {
    /// The process that we started, which is also the number of its group.
    leader: Pid,
    turn: Arc<OrphanLock>,
    membership: Membership,
    /// Its status was taken, so its pid may be another process's by now. That of its group is not while it has members.
    leader_is_reaped: bool,
    /// Members that were seen before, by pid and start. They are found again even if they have lost their parent and have
    /// no environment to show, as zombies have none.
    #[cfg(target_os = "linux")]
    seen: Vec<(procfs::Pid, u64)>,
}

/// What the processes of a call are known by.
#[derive(Debug, Clone)]
pub(super) struct Membership {
    /// What members carry that have another environment.
    mark: CallMark,
    marks: Arc<Marks>,
    /// `AGENTV_CALL_ID=…`, as it is in the members' environments.
    #[cfg(target_os = "linux")]
    id: Vec<u8>,
}

/// What one look at a tree found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Gone,
    /// Something was there and was killed, or cannot be told yet; look again.
    Busy,
}

impl Tree {
    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_variables, reason = "only /proc shows marks")
    )]
    pub(super) fn new(
        leader: &Leader,
        call_id: &str,
        (mark, marks): (CallMark, &Arc<Marks>),
        turn: &Arc<OrphanLock>,
    ) -> Self {
        Self {
            leader: leader.pid(),
            turn: Arc::clone(turn),
            membership: Membership {
                mark,
                marks: Arc::clone(marks),
                #[cfg(target_os = "linux")]
                id: entry(env::CALL_ID, call_id),
            },
            leader_is_reaped: false,
            #[cfg(target_os = "linux")]
            seen: Vec::new(),
        }
    }

    /// Watches what it uses, for a call in a sandbox.
    pub(super) fn guard(&self, sandbox: &Confinement) -> Guard {
        Guard::new(
            sandbox.record().limits,
            #[cfg(target_os = "linux")]
            (self.leader.as_raw_nonzero().get(), self.membership.clone()),
            #[cfg(target_os = "linux")]
            Arc::clone(&self.turn),
        )
    }

    /// To be told when the leader's exit status was taken.
    pub(super) fn leader_is_reaped(&mut self) {
        self.leader_is_reaped = true;
    }

    pub(super) fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.leader, signal);
    }

    /// Whether the leader's group is empty. Zombies that came to us are taken away first.
    pub(super) fn group_is_gone(&self) -> bool {
        let _turn = self.turn.take();
        #[cfg(target_os = "linux")]
        reap_adopted();
        test_kill_process_group(self.leader).is_err()
    }

    /// Kills until nothing is left, or until it is clear that something cannot be killed.
    pub(super) async fn end(&mut self) {
        for pause in pauses(KILL_LIMIT) {
            if self.take_turn() == Round::Gone {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// The same without waiting for anybody, for the moment when a call is dropped. Holds up its thread for milliseconds.
    pub(super) fn end_now(&mut self) {
        for pause in pauses(DROP_LIMIT) {
            if self.take_turn() == Round::Gone {
                return;
            }
            std::thread::sleep(pause);
        }
    }

    fn take_turn(&mut self) -> Round {
        let turn = Arc::clone(&self.turn);
        let _turn = turn.take();
        self.kill_round()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.membership.marks.forget(self.membership.mark);
    }
}

/// How long a tree is looked after once it was sent the signal that cannot be ignored. A process that hangs in the kernel
/// would keep us for ever.
const KILL_LIMIT: Duration = Duration::from_secs(5);
const DROP_LIMIT: Duration = Duration::from_millis(250);

/// Short at first, as most trees are gone at once; together not longer than `limit`.
fn pauses(limit: Duration) -> impl Iterator<Item = Duration> {
    let steps = iter::successors(Some(Duration::from_millis(1)), |pause| {
        Some((*pause * 2).min(Duration::from_millis(20)))
    });
    let mut total = Duration::ZERO;
    steps.take_while(move |pause| {
        total += *pause;
        total <= limit
    })
}

#[cfg(target_os = "linux")]
impl Tree {
    /// Remembers everybody who belongs to the call now.
    pub(super) fn look(&mut self) {
        self.members();
    }

    /// Whether a call whose leader has ended left processes behind. Nearly free: it is checked after every call.
    pub(super) fn has_leftovers(&self) -> bool {
        let _turn = self.turn.take();
        let orphans = reap_adopted();
        let may_be_ours = |process: &Process| {
            let environment = process.environment();
            self.membership.has(process, &environment) || environment.is_changing()
        };
        orphans.iter().any(may_be_ours) || test_kill_process_group(self.leader).is_ok()
    }

    fn kill_round(&mut self) -> Round {
        let leader = self.unreaped_leader();
        let (members, mut left) = self.members();
        for process in members {
            // The leader's status is its call's to take.
            let is_gone = process.is_zombie && (Some(process.pid) == leader || is_reaped(&process));
            if !is_gone {
                process.kill();
                left = Round::Busy;
            }
        }
        left
    }

    /// All processes of the call, and whether there is one of which that cannot be said yet.
    fn members(&mut self) -> (Vec<Process>, Round) {
        let (leader, own) = (self.unreaped_leader(), procfs::own_pid());
        let group = self.leader.as_raw_nonzero().get();
        let mut doubt = Round::Gone;
        let members = with_descendants(&procfs::all(), |process| {
            let is_known = Some(process.pid) == leader
                || process.group == group
                || self.seen.contains(&(process.pid, process.start));
            if is_known {
                return true;
            }
            let environment = process.environment();
            if process.parent == own && is_unclear(process, &environment) {
                doubt = Round::Busy;
            }
            self.membership.has(process, &environment)
        });
        self.seen = members.iter().map(|process| (process.pid, process.start)).collect();
        (members, doubt)
    }

    fn unreaped_leader(&self) -> Option<procfs::Pid> {
        (!self.leader_is_reaped).then_some(self.leader.as_raw_nonzero().get())
    }
}

#[cfg(target_os = "linux")]
impl Membership {
    /// Whether a process carries the call's id, or its mark. One that carries the id of another call is that one's.
    pub(super) fn has(&self, process: &Process, environment: &ProcessEnvironment) -> bool {
        environment.has(&self.id)
            || (!environment.has_another(env::CALL_ID, &self.id)
                && process.mark() == Some(self.mark)
                && self.marks.is_proof(self.mark))
    }
}

#[cfg(not(target_os = "linux"))]
impl Tree {
    pub(super) fn look(&mut self) {}

    pub(super) fn has_leftovers(&self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    fn kill_round(&mut self) -> Round {
        // A zombie that waits for its status still counts as a member; it cannot be signalled and is not ours to wait for.
        match kill_process_group(self.leader, Signal::KILL) {
            Ok(()) if self.leader_is_reaped => Round::Busy,
            _ => Round::Gone,
        }
    }
}

/// Ends whatever carries this run's id, and orphans of ours that carry no id at all.
#[cfg(target_os = "linux")]
pub(super) fn end_run(run_id: &str, turn: &OrphanLock) {
    let id = entry(env::RUN_ID, run_id);
    for pause in pauses(KILL_LIMIT) {
        if run_round(&id, turn) == Round::Gone {
            return;
        }
        std::thread::sleep(pause);
    }
}

/// Whether nothing was left behind, as far as that can be said at a glance: all that a call leaves comes to a subreaper.
#[cfg(target_os = "linux")]
pub(super) fn is_clean() -> bool {
    matches!(rustix::process::child_subreaper(), Ok(Some(_))) && procfs::adopted().is_empty()
}

#[cfg(target_os = "linux")]
fn run_round(id: &[u8], turn: &OrphanLock) -> Round {
    let _turn = turn.take();
    let own = procfs::own_pid();
    let mut left = Round::Gone;
    let members = with_descendants(&procfs::all(), |process| {
        let environment = process.environment();
        let is_child = process.parent == own;
        if is_child && is_unclear(process, &environment) {
            left = Round::Busy;
            return false;
        }
        environment.has(id) || (is_child && !environment.has_another(env::RUN_ID, id))
    });
    for process in members {
        // A direct child's status is its call's to take, whether or not that still wants it.
        let is_gone = process.is_zombie && (may_be_leader(&process) || is_reaped(&process));
        if !is_gone {
            process.kill();
            left = Round::Busy;
        }
    }
    left
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_clean() -> bool {
    true
}

/// Without `/proc` there is no finding them; each call ended its own group.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_run(_run_id: &str, _turn: &OrphanLock) {}

#[cfg(target_os = "linux")]
fn entry(name: &str, value: &str) -> Vec<u8> {
    format!("{name}={value}").into_bytes()
}

/// The chosen ones and all that they started; never ourselves.
#[cfg(target_os = "linux")]
fn with_descendants(all: &[Process], mut is_root: impl FnMut(&Process) -> bool) -> Vec<Process> {
    let own = procfs::own_pid();
    let (mut found, mut rest): (Vec<Process>, Vec<Process>) =
        all.iter().filter(|process| process.pid != own).partition(|process| is_root(process));
    let mut new = 0..found.len();
    while !new.is_empty() {
        let parents = found[new].iter().map(|process| process.pid).collect::<Vec<_>>();
        let before = found.len();
        let children = rest.extract_if(.., |process| parents.contains(&process.parent));
        found.extend(children);
        new = before..found.len();
    }
    found
}

/// Whether it cannot be said yet to whom this child of ours belongs. If it is an orphan that has just ended, its own
/// children come to us only now, and the look at hand may have missed them.
#[cfg(target_os = "linux")]
fn is_unclear(child: &Process, environment: &ProcessEnvironment) -> bool {
    if child.is_zombie {
        return !may_be_leader(child) && child.reap();
    }
    environment.is_changing()
}

/// Takes the status of orphans that came to us and have ended; returns those that live.
#[cfg(target_os = "linux")]
fn reap_adopted() -> Vec<Process> {
    let mut living = Vec::new();
    // The children of one that has ended may have come to us after the list was made, so it is made again; a bound is only
    // for a stream of orphans that never stops.
    for _ in 0..100 {
        let adopted = procfs::adopted().into_iter();
        let (zombies, others): (Vec<_>, Vec<_>) = adopted.partition(|process| process.is_zombie);
        living = others;
        if zombies.iter().filter(|zombie| !may_be_leader(zombie) && zombie.reap()).count() == 0 {
            break;
        }
    }
    living
}

/// Whether a zombie does not keep its pid any longer, or is none of our children.
#[cfg(target_os = "linux")]
fn is_reaped(zombie: &Process) -> bool {
    zombie.parent != procfs::own_pid() || zombie.reap()
}

/// Whether this child of ours may be one that we started ourselves: those lead a group in our own session. No other
/// status is its call's to take.
#[cfg(target_os = "linux")]
fn may_be_leader(process: &Process) -> bool {
    process.pid == process.group && Some(process.session) == procfs::own_session()
}
