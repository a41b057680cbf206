//! One job, from the server's message to its acknowledgement.

use super::runs::{JoinedRun, NotJoined};
use super::sink::{JobLog, JobSink};
use super::{Shared, WorkerEvent, lock};
use crate::link::Unreadable;
use crate::protocol::{Done, JobOrder, JobOutcome, ServiceCall};
use agentv_core::{CallContext, Log, Request, prompt};
use agentv_runtime::run::{Batch, BatchJob, Executed, Executor as _, Job};
use agentv_runtime::session::ReadBatch;
use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::{AckKind, Message};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// How often a job is started before its case counts as one that kills its workers.
const MOST_STARTS: i64 = 3;
/// How long a worker that has refused a job leaves the next ones to others.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// A job as the server gave it to us.
struct ReceivedJob<'a> {
    shared: &'a Arc<Shared>,
    message: &'a Message,
    run: &'a str,
    token: &'a str,
    /// The number of its message: the same when it is delivered again, another one when it is sent again.
    sequence: u64,
    /// How often it was delivered.
    starts: i64,
}

/// How a job ended here.
enum Ended {
    /// With what the coordinator must hear besides.
    Done(Done, Vec<ServiceCall>),
    /// The run does not wait for it any more.
    NotWanted,
    /// This worker was stopped: another one is to do it.
    Stopped,
}

/// Does a job. Whatever it comes to, the message is acknowledged when the result is on the server, and not before.
pub(super) async fn perform(shared: &Arc<Shared>, message: Message, slot: OwnedSemaphorePermit) {
    let subject = message.subject.to_string();
    let mut parts = subject.rsplit('.');
    let (Some(token), Some(run), Ok(info)) = (parts.next(), parts.next(), message.info()) else {
        let _ = message.ack_with(AckKind::Term).await;
        return;
    };
    let (sequence, starts) = (info.stream_sequence, info.delivered);
    let job = ReceivedJob { shared, message: &message, run, token, sequence, starts };
    let ended = tokio::select! {
        ended = job.carry_out(slot) => ended,
        never = job.keep_alive() => match never {},
    };
    match ended {
        Ended::Done(done, notes) => {
            let refusal = match &done {
                Done::Refused { reason } => Some(reason.clone()),
                _ => None,
            };
            job.send(done, notes).await;
            if let Some(reason) = refusal {
                shared.tell(WorkerEvent::Refused { reason });
                tokio::time::sleep(AFTER_REFUSAL).await;
            }
        }
        Ended::NotWanted => drop(message.ack_with(AckKind::Term).await),
        Ended::Stopped => job.give_back().await,
    }
}

impl ReceivedJob<'_> {
    /// Tells the server that the job is being worked on. It never returns.
    async fn keep_alive(&self) -> Infallible {
        let every = (self.shared.link.ack_wait / 3).max(Duration::from_millis(200));
        loop {
            tokio::time::sleep(every).await;
            let _ = self.message.ack_with(AckKind::Progress).await;
        }
    }

    async fn carry_out(&self, slot: OwnedSemaphorePermit) -> Ended {
        let shared = self.shared;
        let order = match shared.link.unpack(&self.message.subject, &self.message.payload).await {
            Ok(order) => order,
            Err(Unreadable::Forged) => {
                shared.forged.fetch_add(1, Ordering::Relaxed);
                let reason = format!("a job of run `{}`: {}", self.run, Unreadable::Forged);
                shared.tell(WorkerEvent::Refused { reason });
                return Ended::NotWanted;
            }
            Err(error) => return refused(format!("the job cannot be read: {error}")),
        };
        if self.starts > MOST_STARTS {
            return Ended::Done(Done::Deadly { starts: MOST_STARTS }, Vec::new());
        }
        let joined = match shared.runs.join(self.run, &shared.order, &shared.link).await {
            Ok((joined, is_first)) => {
                if is_first {
                    shared.tell(WorkerEvent::Joined { run: self.run.to_owned() });
                }
                joined
            }
            Err(NotJoined::Over) => return Ended::NotWanted,
            Err(NotJoined::Refused(reason)) => return refused(reason),
        };
        if self.is_doubtful() && !joined.services.is_wanted(self.token).await {
            return Ended::NotWanted;
        }
        lock(&shared.running).insert(self.token.to_owned());
        let ended = self.work(&joined, order, slot).await;
        lock(&shared.running).remove(self.token);
        ended
    }

    /// Whether the job may be done already, or be under way elsewhere: it was delivered before, or the server may have been
    /// killed since it was sent, and has forgotten what it knew last.
    fn is_doubtful(&self) -> bool {
        self.starts > 1
            || self.message.info().is_ok_and(|info| self.shared.link.was_away_since(&info))
    }

    async fn work(
        &self,
        joined: &Arc<JoinedRun>,
        order: JobOrder,
        slot: OwnedSemaphorePermit,
    ) -> Ended {
        let cancel = joined.cancel.child_token();
        let doing = async {
            match order {
                JobOrder::Case(job) => self.case(joined, *job, slot, &cancel).await,
                JobOrder::Batch(job) => self.batch(joined, *job, &cancel).await,
            }
        };
        tokio::pin!(doing);
        let done = tokio::select! {
            done = &mut doing => done,
            () = self.shared.stop.cancelled() => {
                // Its programs are ended with it.
                cancel.cancel();
                doing.await;
                return Ended::Stopped;
            }
        };
        match done {
            Some(done) => Ended::Done(done, joined.services.unsent_notes().await),
            None if joined.cancel.is_cancelled() => Ended::NotWanted,
            None => Ended::Done(Done::Stopped, joined.services.unsent_notes().await),
        }
    }

    /// `None` if there is no record: it was stopped, or may spend no more.
    async fn case(
        &self,
        joined: &Arc<JoinedRun>,
        job: Job,
        slot: OwnedSemaphorePermit,
        cancel: &CancellationToken,
    ) -> Option<Done> {
        let shared = self.shared;
        if let Err(reason) = joined.tree.place(&job.files, (&shared.cache, &shared.link)).await {
            return Some(Done::Refused { reason });
        }
        let (work, source) = match joined.reader.work(job) {
            Ok(read) => read,
            Err(error) => return Some(Done::Refused { reason: error.to_string() }),
        };
        let sink = JobSink::new(shared, joined, (self.token, self.sequence), slot);
        let executed = joined.executor.execute(&work, source, &sink, cancel).await;
        let Executed::Recorded(record) = executed else { return None };
        shared.done.fetch_add(1, Ordering::Relaxed);
        shared.tell(WorkerEvent::Finished {
            case: work.id.to_string(),
            outcome: record.outcome.map_or("", agentv_wire::Outcome::name).to_owned(),
        });
        Some(Done::Recorded { record, answered: sink.unsent_answer().map(Box::new) })
    }

    async fn batch(
        &self,
        joined: &Arc<JoinedRun>,
        job: BatchJob,
        cancel: &CancellationToken,
    ) -> Option<Done> {
        let shared = self.shared;
        if let Err(reason) = joined.tree.place(&job.files, (&shared.cache, &shared.link)).await {
            return Some(Done::Refused { reason });
        }
        let ReadBatch { lane, cases, trial } = match joined.reader.batch(job) {
            Ok(read) => read,
            Err(error) => return Some(Done::Refused { reason: error.to_string() }),
        };
        let mode = lane.target.provider.info().prompt_mode;
        let requests: Vec<Request> = cases.iter().map(|case| prompt::build(case, mode)).collect();
        let batch = Batch { lane: &lane, trial, cases: &cases, requests: &requests };
        let log: Arc<dyn Log> = Arc::new(JobLog::new(joined, ""));
        let answers = batch.ask(&CallContext::new(cancel.clone(), None, log)).await;
        if cancel.is_cancelled() {
            return None;
        }
        Some(Done::Batch(answers.map_err(|error| error.to_string())))
    }

    /// Puts the result on the server, then acknowledges the job. A job that is done twice has one result there.
    async fn send(&self, what: Done, notes: Vec<ServiceCall>) {
        let Self { shared, message, token, sequence, .. } = self;
        let subject = shared.link.names.results_of_run(self.run);
        let worker = shared.order.name.clone();
        let outcome = JobOutcome { token: (*token).to_owned(), worker, what, notes };
        let id = format!("{token}.{sequence}.done");
        let sent = tokio::select! {
            sent = shared.link.keep(&subject, &id, &outcome, &shared.stop) => sent,
            never = self.keep_alive() => match never {},
        };
        if sent.is_ok() {
            let _ = message.double_ack().await;
            shared.link.forget(&message.subject, &message.payload).await;
        }
    }

    /// Offers the job again as a new one: a worker that is stopped has not been killed by it.
    async fn give_back(&self) {
        let Self { shared, message, .. } = self;
        let id = format!("{}.{}.again", self.token, self.sequence);
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, id.as_str());
        let (subject, payload) = (message.subject.clone(), message.payload.clone());
        let sent = shared.link.context.publish_with_headers(subject, headers, payload).await;
        if let Ok(kept) = sent
            && kept.await.is_ok()
        {
            let _ = message.double_ack().await;
        }
    }
}

fn refused(reason: String) -> Ended {
    Ended::Done(Done::Refused { reason }, Vec::new())
}
