//! The workers that a run sees, and how many cases may be under way.

use super::services::Services;
use crate::link::{ClusterLink, next_message};
use crate::protocol::{Control, Report, VERSION, WorkerReport};
use agentv_core::Log;
use agentv_runtime::load::Labels;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The workers of the cluster, as far as this run has heard of them.
#[derive(Debug)]
pub(super) struct Members {
    /// What the work of the run needs: a worker for each of these.
    needs: BTreeSet<Labels>,
    /// How many cases may be under way at most, if the user says so.
    most: Option<usize>,
    window: Arc<Semaphore>,
    /// A lock and not a message: it is held for look-ups.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    workers: BTreeMap<String, (WorkerReport, Instant)>,
    /// How many permits the window has been given, less those taken back.
    permits: usize,
    /// Needs for which no worker was there when last looked, and since when.
    unmet: BTreeMap<Labels, Instant>,
    /// Those that were told of.
    told: BTreeSet<Labels>,
    /// Workers of another version that were told of.
    told_versions: BTreeSet<String>,
}

/// Workers report every two seconds.
const GONE_AFTER: Duration = Duration::from_secs(8);
/// How long the run waits for workers before it says that there are none.
const TOLD_AFTER: Duration = Duration::from_secs(3);
/// Cases that are sent before any worker was heard of.
const FIRST_WINDOW: usize = 8;
/// Cases under way for each slot. More than one, so that a slot that is free finds the next job on the server; not many
/// more, so that the jobs of two runs take turns.
const PER_SLOT: usize = 2;
/// No more than this many.
const LARGEST_WINDOW: usize = 1024;

impl Members {
    pub(super) fn new(needs: BTreeSet<Labels>, most: Option<usize>) -> Arc<Self> {
        let members =
            Self { needs, most, window: Arc::new(Semaphore::new(0)), state: Mutex::default() };
        members.resize(&mut members.lock());
        Arc::new(members)
    }

    pub(super) fn window(&self) -> Arc<Semaphore> {
        Arc::clone(&self.window)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The workers that can do work with these needs.
    pub(super) fn able(&self, needs: &Labels) -> Vec<String> {
        let state = self.lock();
        let able = state.workers.values().filter(|(worker, _)| is_able(worker, needs));
        able.map(|(worker, _)| worker.name.clone()).collect()
    }

    /// Whether a worker other than this one says that it works on a job.
    pub(super) fn is_running_elsewhere(&self, token: &str, asker: &str) -> bool {
        let state = self.lock();
        let others = state.workers.values().filter(|(worker, _)| worker.name != asker);
        others.flat_map(|(worker, _)| &worker.running).any(|running| running == token)
    }

    /// Makes the window fit the workers.
    fn resize(&self, state: &mut State) {
        let slots: usize = state.workers.values().map(|(worker, _)| worker.slots).sum();
        let wanted = (PER_SLOT * slots).clamp(FIRST_WINDOW, LARGEST_WINDOW);
        let wanted = self.most.map_or(wanted, |most| wanted.min(most.max(1)));
        if wanted > state.permits {
            self.window.add_permits(wanted - state.permits);
            state.permits = wanted;
        } else {
            // Permits that are in use are taken back when they are free again: at the next report.
            state.permits -= self.window.forget_permits(state.permits - wanted);
        }
    }

    /// Listens to reports until it is stopped.
    pub(super) async fn serve(
        self: Arc<Self>,
        link: ClusterLink,
        mut reports: async_nats::Subscriber,
        (services, log): (Arc<Services>, Arc<OnceLock<Arc<dyn Log>>>),
        stop: CancellationToken,
    ) {
        let subject = link.names.reports();
        let mut ticks = tokio::time::interval(Duration::from_millis(500));
        let mut asked = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                message = next_message(&mut reports, &stop) => {
                    let Some(message) = message else { return };
                    let report = link.unpack::<Report>(&subject, &message.payload).await;
                    if let Ok(Report::Worker(report)) = report {
                        self.heard(report, &log);
                    }
                }
                _ = ticks.tick() => {
                    let gone = self.look(&log);
                    for worker in gone {
                        services.worker_gone(&worker);
                    }
                    // Who has come back after the server was away is asked, too.
                    if asked.elapsed() > GONE_AFTER / 2 {
                        asked = Instant::now();
                        link.order(&Control::Report).await;
                    }
                }
            }
        }
    }

    fn heard(&self, report: WorkerReport, log: &OnceLock<Arc<dyn Log>>) {
        let mut state = self.lock();
        if report.version != VERSION {
            if state.told_versions.insert(report.name.clone())
                && let Some(log) = log.get()
            {
                log.warn(format!(
                    "worker `{}` is of another version ({}) and gets no cases of this run",
                    report.name, report.version
                ));
            }
            return;
        }
        if report.is_draining {
            state.workers.remove(&report.name);
        } else {
            state.workers.insert(report.name.clone(), (report, Instant::now()));
        }
        self.resize(&mut state);
    }

    /// Forgets workers that are silent, and says what no worker can do. Returns who is gone.
    fn look(&self, log: &OnceLock<Arc<dyn Log>>) -> Vec<String> {
        let mut state = self.lock();
        let is_gone = |seen: &Instant| seen.elapsed() > GONE_AFTER;
        let gone: Vec<String> = state
            .workers
            .iter()
            .filter(|(_, (_, seen))| is_gone(seen))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            state.workers.remove(name);
            if let Some(log) = log.get() {
                log.warn(format!("worker `{name}` is gone; its cases are given to others"));
            }
        }
        self.resize(&mut state);
        for needs in &self.needs {
            if state.workers.values().any(|(worker, _)| is_able(worker, needs)) {
                state.unmet.remove(needs);
                state.told.remove(needs);
                continue;
            }
            let since = *state.unmet.entry(needs.clone()).or_insert_with(Instant::now);
            let Some(log) = log.get().filter(|_| since.elapsed() > TOLD_AFTER) else { continue };
            if state.told.insert(needs.clone()) {
                log.warn(unmet(needs));
            }
        }
        gone
    }
}

fn is_able(worker: &WorkerReport, needs: &Labels) -> bool {
    needs.is_subset(&worker.labels)
}

fn unmet(needs: &Labels) -> String {
    if needs.is_empty() {
        return "no worker is connected, so the cases wait; start one with `agentv worker --cluster URL`".to_owned();
    }
    let labels = needs.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    format!(
        "no worker has the labels `{labels}`, so these cases wait; start one with `agentv worker --cluster URL --labels {labels}`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str, slots: usize, labels: &[&str]) -> WorkerReport {
        WorkerReport {
            name: name.to_owned(),
            version: VERSION.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            slots,
            busy: 0,
            done: 0,
            forged: 0,
            is_draining: false,
            running: Vec::new(),
        }
    }

    #[test]
    fn the_window_follows_the_slots() {
        let members = Members::new(BTreeSet::from([Labels::new()]), None);
        let log = OnceLock::new();
        assert_eq!(members.window.available_permits(), FIRST_WINDOW);
        members.heard(worker("a", 16, &[]), &log);
        assert_eq!(members.window.available_permits(), 32);
        members.heard(worker("b", 16, &[]), &log);
        assert_eq!(members.window.available_permits(), 64);
        members.heard(WorkerReport { is_draining: true, ..worker("b", 16, &[]) }, &log);
        assert_eq!(members.window.available_permits(), 32);
        members.heard(worker("c", 100_000, &[]), &log);
        assert_eq!(members.window.available_permits(), LARGEST_WINDOW);
    }

    #[test]
    fn the_user_has_the_last_word_on_the_window() {
        let members = Members::new(BTreeSet::from([Labels::new()]), Some(3));
        members.heard(worker("a", 16, &[]), &OnceLock::new());
        assert_eq!(members.window.available_permits(), 3);
    }

    #[test]
    fn a_worker_needs_all_labels() {
        let gpu: Labels = ["gpu".to_owned()].into();
        let members = Members::new(BTreeSet::from([gpu.clone()]), None);
        members.heard(worker("a", 1, &["docker"]), &OnceLock::new());
        members.heard(worker("b", 1, &["docker", "gpu"]), &OnceLock::new());
        assert_eq!(members.able(&gpu), ["b"]);
        assert_eq!(members.able(&Labels::new()), ["a", "b"]);
    }
}
