//! What people ask of a cluster: how it is, to drain a worker, to stop a run.

use crate::link::{ClusterError, ClusterLink};
use crate::names::needs_of;
use crate::protocol::{Control, Report, RunReport, WorkerReport};
use agentv_runtime::load::Labels;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How a cluster is.
#[derive(Debug, Clone, Serialize)]
pub struct ClusterStatus {
    pub workers: Vec<WorkerReport>,
    pub runs: Vec<RunReport>,
    /// Runs that left something on the server and whose coordinator does not answer.
    pub abandoned_runs: Vec<String>,
    pub queues: Vec<QueueStatus>,
    /// Of several servers, the one that decides on jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Cases that all workers finished per second, while the status was taken.
    pub cases_per_second: f64,
}

/// The jobs for workers with certain labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueStatus {
    pub needs: Labels,
    /// Jobs that no worker has yet.
    pub pending: u64,
    /// Jobs that are worked on.
    pub running: u64,
    /// Jobs that were given to another worker, since the first one was silent.
    pub redelivered: u64,
}

/// How long members may take to answer. Twice, to see how fast work is done.
const LISTEN: Duration = Duration::from_millis(700);

/// Asks everyone.
pub async fn status(link: &ClusterLink) -> Result<ClusterStatus, ClusterError> {
    let failed = ClusterError::failed("cannot read the state of the cluster");
    let started = Instant::now();
    let (first, _) = reports(link).await?;
    let (workers, runs) = reports(link).await?;
    let done = |workers: &BTreeMap<String, WorkerReport>| {
        workers.values().map(|worker| worker.done).sum::<u64>()
    };
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let finished = done(&workers).saturating_sub(done(&first)) as f64;
    let cases_per_second = finished / (started.elapsed().as_secs_f64() / 2.0);
    let mut queues = Vec::new();
    let mut consumers = link.jobs.consumers();
    while let Some(info) = consumers.try_next().await.map_err(|error| failed(&error))? {
        queues.push(QueueStatus {
            needs: needs_of(&info.name),
            pending: info.num_pending,
            running: info.num_ack_pending as u64,
            redelivered: info.num_redelivered as u64,
        });
    }
    let about_jobs = link.jobs.get_info().await.map_err(|error| failed(&error))?;
    let leader =
        about_jobs.cluster.and_then(|cluster| cluster.leader).filter(|name| !name.is_empty());
    let known = link.noticed_runs().await?;
    let abandoned_runs = known.into_iter().filter(|run| !runs.contains_key(run)).collect();
    Ok(ClusterStatus {
        workers: workers.into_values().collect(),
        runs: runs.into_values().collect(),
        abandoned_runs,
        queues,
        leader,
        cases_per_second,
    })
}

type Reports = (BTreeMap<String, WorkerReport>, BTreeMap<String, RunReport>);

async fn reports(link: &ClusterLink) -> Result<Reports, ClusterError> {
    let subject = link.names.reports();
    let subscriber = link.client.subscribe(subject.clone()).await;
    let mut subscriber =
        subscriber.map_err(|error| ClusterError::failed("cannot listen to the cluster")(&error))?;
    link.order(&Control::Report).await;
    let (mut workers, mut runs) = (BTreeMap::new(), BTreeMap::new());
    let until = tokio::time::Instant::now() + LISTEN;
    while let Ok(Some(message)) = tokio::time::timeout_at(until, subscriber.next()).await {
        match link.unpack::<Report>(&subject, &message.payload).await {
            Ok(Report::Worker(worker)) => drop(workers.insert(worker.name.clone(), worker)),
            Ok(Report::Run(run)) => drop(runs.insert(run.run.clone(), run)),
            Err(_) => {}
        }
    }
    Ok((workers, runs))
}

/// Has a worker take no more jobs. Returns whether it is there.
pub async fn drain(link: &ClusterLink, worker: &str) -> Result<bool, ClusterError> {
    let is_there = reports(link).await?.0.contains_key(worker);
    if is_there {
        link.order(&Control::Drain { worker: worker.to_owned() }).await;
    }
    Ok(is_there)
}

/// Stops a run: its coordinator ends as with Ctrl-C; what an abandoned run left is removed. Returns whether there was
/// anything of it.
pub async fn cancel(link: &ClusterLink, run: &str) -> Result<bool, ClusterError> {
    if reports(link).await?.1.contains_key(run) {
        link.order(&Control::Cancel { run: run.to_owned() }).await;
        return Ok(true);
    }
    if !link.noticed_runs().await?.iter().any(|known| known == run) {
        return Ok(false);
    }
    link.order(&Control::Ended { run: run.to_owned() }).await;
    link.forget_run(run).await;
    Ok(true)
}
