//! Watches what a program and all that it started use.

use super::ExceededLimit;
#[cfg(target_os = "linux")]
use super::tree_use::{Pid, ProcessId, proportional_bytes, survey};
#[cfg(target_os = "linux")]
use crate::process::procfs::Process;
#[cfg(target_os = "linux")]
use crate::process::tree::{Membership, OrphanLock};
use agentv_wire::SandboxLimits;
#[cfg(target_os = "linux")]
use std::collections::HashSet;
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often the tree is looked at. A look costs microseconds for each process of the tree. In between, a program that
/// forks as fast as it can starts some hundred processes.
#[cfg(target_os = "linux")]
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Sooner at first: a program whose children fork, too, doubles every few milliseconds.
#[cfg(target_os = "linux")]
const FIRST_LOOK: Duration = Duration::from_millis(5);

/// Knows the limits of one call and looks after its tree.
#[derive(Debug)]
pub(in crate::process) struct Guard {
    limits: SandboxLimits,
    #[cfg(target_os = "linux")]
    leader: Pid,
    #[cfg(target_os = "linux")]
    membership: Membership,
    #[cfg(target_os = "linux")]
    turn: Arc<OrphanLock>,
    /// What belonged to the call at the last look. It still does when its parent has ended, whatever its environment.
    #[cfg(target_os = "linux")]
    seen: HashSet<ProcessId>,
}

impl Guard {
    #[cfg(target_os = "linux")]
    pub(in crate::process) fn new(
        limits: SandboxLimits,
        (leader, membership): (Pid, Membership),
        turn: Arc<OrphanLock>,
    ) -> Self {
        Self { limits, leader, membership, turn, seen: HashSet::new() }
    }

    /// Without `/proc`, only the time is watched.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::process) fn new(limits: SandboxLimits) -> Self {
        Self { limits }
    }

    /// Returns when a limit is exceeded, and which.
    pub(in crate::process) async fn exceeded(&mut self) -> ExceededLimit {
        let limit = self.limits.seconds.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
        let Some(limit) = limit else { return self.watch().await };
        tokio::select! {
            exceeded = self.watch() => exceeded,
            () = sleep(limit) => ExceededLimit::Seconds(limit),
        }
    }

    #[cfg(not(target_os = "linux"))]
    async fn watch(&mut self) -> ExceededLimit {
        std::future::pending().await
    }
}

#[cfg(target_os = "linux")]
impl Guard {
    async fn watch(&mut self) -> ExceededLimit {
        let mut pause = FIRST_LOOK;
        loop {
            sleep(pause).await;
            pause = (pause * 2).min(LOOK_EVERY);
            if let Some(exceeded) = self.look() {
                return exceeded;
            }
        }
    }

    fn look(&mut self) -> Option<ExceededLimit> {
        let SandboxLimits { memory_mb, cpu_seconds, processes, .. } = self.limits;
        let most = processes.unwrap_or(u64::MAX);
        let orphans = self.turn.living_orphans().into_iter();
        // Lazily, so that a look at thousands of processes is over when there are too many: a program that forks as fast
        // as it can takes the processor from us, too.
        let ours = orphans.filter(|orphan| self.is_ours(orphan)).map(|orphan| orphan.pid);
        let (tree, used) = survey([self.leader].into_iter().chain(ours), most);
        if used.processes > most {
            return Some(ExceededLimit::Processes(most));
        }
        self.seen = tree.iter().copied().collect();
        if let Some(limit) = cpu_seconds.filter(|limit| used.cpu_seconds > *limit) {
            return Some(ExceededLimit::CpuSeconds(limit));
        }
        let limit = memory_mb?;
        let bytes = limit.saturating_mul(1 << 20);
        // Pages that processes share count once. To find that out takes longer, so it is asked last.
        let is_over = used.resident_bytes > bytes && proportional_bytes(&tree) > bytes;
        is_over.then_some(ExceededLimit::MemoryMb(limit))
    }

    /// Whether a child that came to us when its parent ended is of this call.
    fn is_ours(&self, orphan: &Process) -> bool {
        self.seen.contains(&(orphan.pid, orphan.start))
            || self.membership.has(orphan, &orphan.environment())
    }
}
