//! The runs that a worker takes part in.

use super::WorkerOrder;
use super::services::{RemoteAnswers, RemoteLimits, RunServices};
use crate::files::RepositoryCopy;
use crate::link::ClusterLink;
use crate::protocol::{RunNotice, Update, VERSION};
use agentv_runtime::load::overlaid_env;
use agentv_runtime::run::LocalExecutor;
use agentv_runtime::session::{Environment, JobReader};
use agentv_wire::RunSpec;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// All runs of a worker, as long as they last.
#[derive(Debug)]
pub(super) struct JoinedRuns {
    /// A directory of this process alone.
    dir: PathBuf,
    /// A lock that is held while a run is set up, so that its first jobs set it up once.
    known: tokio::sync::Mutex<HashMap<String, Arc<JoinedRun>>>,
    /// Tokens of runs, to end them without waiting for the lock above.
    cancels: Mutex<HashMap<String, CancellationToken>>,
}

/// A run that this worker takes part in.
#[derive(Debug)]
pub(super) struct JoinedRun {
    pub notice: RunNotice,
    pub reader: JobReader,
    pub executor: LocalExecutor,
    pub tree: RepositoryCopy,
    pub services: Arc<RunServices>,
    /// The run is over.
    pub cancel: CancellationToken,
    /// To the task that sends updates; unbounded, as who speaks must not wait.
    updates: mpsc::UnboundedSender<Update>,
    /// Sends updates; ends with this.
    _sender: JoinSet<()>,
}

impl JoinedRun {
    /// Sends something that is only shown.
    pub(super) fn update(&self, update: Update) {
        let _ = self.updates.send(update);
    }
}

/// Why a worker does not take part in a run.
#[derive(Debug)]
pub(super) enum NotJoined {
    /// It is over: its jobs are dropped.
    Over,
    Refused(String),
}

impl JoinedRuns {
    pub(super) fn open(order: &WorkerOrder) -> io::Result<Self> {
        let dir = order.cache_dir.join("runs").join(&order.name);
        fs::create_dir_all(&dir)?;
        Ok(Self { dir, known: tokio::sync::Mutex::default(), cancels: Mutex::default() })
    }

    /// The run of a job. Returns whether this is its first one here.
    pub(super) async fn join(
        &self,
        run: &str,
        order: &WorkerOrder,
        link: &ClusterLink,
    ) -> Result<(Arc<JoinedRun>, bool), NotJoined> {
        let mut known = self.known.lock().await;
        if let Some(run) = known.get(run).filter(|run| !run.cancel.is_cancelled()) {
            return Ok((Arc::clone(run), false));
        }
        let refused = |reason: &dyn std::fmt::Display| NotJoined::Refused(reason.to_string());
        let notice = link.notice(run).await.map_err(|error| refused(&error))?;
        let notice = notice.ok_or(NotJoined::Over)?;
        if notice.version != VERSION {
            let reason =
                format!("the run is of version {}, this worker of {VERSION}", notice.version);
            return Err(NotJoined::Refused(reason));
        }
        let joined = Arc::new(self.set_up(notice, order, link).map_err(|error| refused(&error))?);
        let cancel = joined.cancel.clone();
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner).insert(run.to_owned(), cancel);
        known.insert(run.to_owned(), Arc::clone(&joined));
        Ok((joined, true))
    }

    fn set_up(
        &self,
        notice: RunNotice,
        order: &WorkerOrder,
        link: &ClusterLink,
    ) -> Result<JoinedRun, String> {
        let tree =
            RepositoryCopy::new(&self.dir.join(&notice.run)).map_err(|error| error.to_string())?;
        let root = tree.root().to_owned();
        let own = &order.environment;
        let environment = Environment {
            working_dir: root.join(&notice.working_dir),
            project_root: root.join(&notice.project_root),
            repo_root: root,
            env: overlaid_env(&own.working_dir, &own.repo_root, &own.env),
        };
        for dir in [&environment.working_dir, &environment.project_root] {
            fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        }
        let spec = RunSpec {
            targets_file: Some(order.targets_file.clone()),
            run_folder: false,
            record: None,
            replay: None,
            ..notice.spec.clone()
        };
        let cancel = CancellationToken::new();
        let budget = spec.budget;
        // Not the run's own id: a run that is resumed on this machine ends what its earlier process has left, not our work.
        let processes = format!("{}.{}", notice.run, order.name);
        let reader = JobReader::new(&environment, spec, &processes)
            .map_err(|refused| refused.to_string())?;
        let services = RunServices::start(link, &notice.run, &order.name, cancel.clone());
        let limits = Arc::new(RemoteLimits::new(Arc::clone(&services), budget));
        let answers = Arc::new(RemoteAnswers::new(Arc::clone(&services)));
        let reader = reader.sharing(limits, answers);
        let executor = reader.executor();
        let (updates, mut queue) = mpsc::unbounded_channel();
        let (sender_link, subject) = (link.clone(), link.names.updates(&notice.run));
        let mut sender = JoinSet::new();
        sender.spawn(async move {
            while let Some(update) = queue.recv().await {
                sender_link.tell(&subject, &update).await;
            }
        });
        Ok(JoinedRun { notice, reader, executor, tree, services, cancel, updates, _sender: sender })
    }

    /// Stops what is under way of a run, and forgets it.
    pub(super) fn end(&self, run: &str) {
        let cancel = self.cancels.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
        let Some(cancel) = cancel else { return };
        cancel.cancel();
        if let Ok(mut known) = self.known.try_lock() {
            known.remove(run);
        }
        let _ = fs::remove_dir_all(self.dir.join(run));
    }

    pub(super) fn remove_all(&self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
