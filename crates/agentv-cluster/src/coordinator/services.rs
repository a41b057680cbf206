//! What workers ask the coordinator for: their part of the budget and of the rates, turns with judges, and known answers. It
//! hands these out itself instead of keeping them on the server: one round trip for each call, no retries between workers,
//! and the same code as in a run without a cluster.

use super::inbox::Inbox;
use super::members::Members;
use crate::link::{ClusterLink, next_message};
use crate::protocol::{Control, SentRate, Service, ServiceCall, ServiceReply};
use agentv_core::TargetName;
use agentv_runtime::cache::{AnswerKey, AnswerStore};
use agentv_runtime::providers::RateLimits;
use agentv_runtime::targets::{
    CallSpend, JudgeLimit, JudgeTurn, SettledCall, SharedLimits, TargetRate,
};
use agentv_wire::RunSpend;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The budget and the rates of the run, and the answers that are known.
type RunShared = (Arc<dyn SharedLimits>, Option<Arc<dyn AnswerStore>>);

/// Answers the questions of workers.
#[derive(Debug)]
pub(super) struct Services {
    link: ClusterLink,
    subject: String,
    shared: RunShared,
    inbox: Arc<Inbox>,
    members: Arc<Members>,
    /// A lock and not a message: it is held for look-ups.
    state: Mutex<State>,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that were asked for, with the answer once there is one: a worker that hears nothing asks again.
    calls: HashMap<String, Option<ServiceReply>>,
    /// The ids of answered calls, the oldest first.
    answered: VecDeque<String>,
    /// What workers have set apart for calls under way, in their order.
    reserved: HashMap<String, Vec<CallSpend>>,
    /// The turns that workers have with judges.
    turns: HashMap<String, (String, JudgeTurn)>,
}

/// How many answers are remembered.
const REMEMBERED: usize = 10_000;
/// How long workers may take to say what they work on.
const REPORTS_WITHIN: Duration = Duration::from_millis(300);
/// How often a worker hears that it still has to wait.
const STILL_WAITING: Duration = Duration::from_secs(3);

impl Services {
    pub(super) fn new(
        link: ClusterLink,
        (inbox, members): (Arc<Inbox>, Arc<Members>),
        shared: RunShared,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let subject = link.names.services(inbox.run());
        Arc::new(Self { link, subject, shared, inbox, members, state: Mutex::default(), stop })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers until it is stopped. Each question has a task, as many have to wait.
    pub(super) async fn serve(self: Arc<Self>, mut calls: async_nats::Subscriber) {
        let mut tasks = JoinSet::new();
        while let Some(message) = next_message(&mut calls, &self.stop).await {
            while tasks.try_join_next().is_some() {}
            let Some(reply) = message.reply else { continue };
            let call = self.link.unpack::<ServiceCall>(&self.subject, &message.payload).await;
            let Ok(call) = call else { continue };
            if let Some(answer) = self.known(&call.id) {
                if let Some(answer) = answer {
                    self.reply(&reply, &answer).await;
                }
                continue;
            }
            tasks.spawn(Arc::clone(&self).answer(call, reply));
        }
    }

    /// Takes in what came with a result.
    pub(super) async fn take(&self, notes: Vec<ServiceCall>) {
        for note in notes {
            if self.known(&note.id).is_none() {
                let answer = self.work(&note).await;
                self.remember(&note.id, &answer);
            }
        }
    }

    /// Whether the call was asked before, and its answer if there is one.
    #[expect(clippy::option_option, reason = "new, under way, and answered are three things")]
    fn known(&self, id: &str) -> Option<Option<ServiceReply>> {
        let mut state = self.lock();
        if let Some(known) = state.calls.get(id) {
            return Some(known.clone());
        }
        state.calls.insert(id.to_owned(), None);
        None
    }

    async fn answer(self: Arc<Self>, call: ServiceCall, reply: async_nats::Subject) {
        let working = self.work(&call);
        let still_waiting = async {
            loop {
                tokio::time::sleep(STILL_WAITING).await;
                self.reply(&reply, &ServiceReply::Wait { seconds: 0.0 }).await;
            }
        };
        let answer = tokio::select! {
            answer = working => answer,
            () = still_waiting => return,
            () = self.stop.cancelled() => return,
        };
        self.remember(&call.id, &answer);
        self.reply(&reply, &answer).await;
    }

    fn remember(&self, id: &str, answer: &ServiceReply) {
        let mut state = self.lock();
        state.calls.insert(id.to_owned(), Some(answer.clone()));
        state.answered.push_back(id.to_owned());
        if state.answered.len() > REMEMBERED
            && let Some(oldest) = state.answered.pop_front()
        {
            state.calls.remove(&oldest);
        }
    }

    async fn reply(&self, to: &async_nats::Subject, answer: &ServiceReply) {
        if let Ok(sealed) = self.link.pack(&self.subject, answer).await {
            let _ = self.link.client.publish(to.clone(), sealed.into()).await;
        }
    }

    async fn work(&self, call: &ServiceCall) -> ServiceReply {
        let (limits, store) = &self.shared;
        match &call.what {
            Service::Reserve(amount) => match limits.reserve(*amount).await {
                Ok(()) => {
                    self.lock().reserved.entry(call.worker.clone()).or_default().push(*amount);
                    ServiceReply::Done
                }
                Err(overrun) => ServiceReply::Refused(overrun),
            },
            Service::Settle(settled) => {
                self.settled(&call.worker, settled.reserved);
                limits.settle(settled);
                ServiceReply::Done
            }
            Service::Stop(overrun) => ServiceReply::Refused(limits.stop(overrun.clone())),
            Service::Acquire { rate, tokens } => {
                limits.acquire(&target_rate(rate), *tokens, &|_| {}).await;
                ServiceReply::Done
            }
            Service::Correct { rate, estimated, used } => {
                limits.correct(&target_rate(rate), *estimated, *used);
                ServiceReply::Done
            }
            Service::JudgeTurn { target, workers } => {
                let (file, target) = (PathBuf::new(), TargetName::from(target.as_str()));
                let turn = limits.judge_turn(&JudgeLimit { file, target, workers: *workers }).await;
                self.lock().turns.insert(call.id.clone(), (call.worker.clone(), turn));
                ServiceReply::Done
            }
            Service::EndTurn { turn } => {
                let ended = self.lock().turns.remove(turn);
                drop(ended);
                ServiceReply::Done
            }
            Service::IsWanted { token } => self.wanted(token, &call.worker).await,
            Service::Find { key } => {
                let found = match (store, AnswerKey::parse(key)) {
                    (Some(store), Some(key)) => store.find(&key).await,
                    _ => None,
                };
                ServiceReply::Found(found.map(Box::new))
            }
            Service::Keep { key, response } => {
                if let (Some(store), Some(key)) = (store, AnswerKey::parse(key)) {
                    let _ = store.keep(&key, response);
                }
                ServiceReply::Done
            }
        }
    }

    /// Whether a job is to be done that may have been done, or that another worker may be doing.
    async fn wanted(&self, token: &str, worker: &str) -> ServiceReply {
        self.link.order(&Control::Report).await;
        tokio::time::sleep(REPORTS_WITHIN).await;
        if !self.inbox.is_waiting_for(token) {
            ServiceReply::NotWanted
        } else if self.members.is_running_elsewhere(token, worker) {
            ServiceReply::Busy
        } else {
            ServiceReply::Done
        }
    }

    fn settled(&self, worker: &str, amount: CallSpend) {
        let mut state = self.lock();
        let Some(reserved) = state.reserved.get_mut(worker) else { return };
        if let Some(index) = reserved.iter().position(|reserved| *reserved == amount) {
            reserved.swap_remove(index);
        }
    }

    /// Takes back what a worker has that is gone. What its calls used is not known, so what was set apart for them stays so.
    pub(super) fn worker_gone(&self, worker: &str) {
        let (reserved, turns) = {
            let mut state = self.lock();
            let reserved = state.reserved.remove(worker).unwrap_or_default();
            let is_theirs = |_: &String, held: &mut (String, JudgeTurn)| held.0 == worker;
            let turns: Vec<_> = state.turns.extract_if(is_theirs).collect();
            (reserved, turns)
        };
        drop(turns);
        for amount in reserved {
            let used = RunSpend::default();
            self.shared.0.settle(&SettledCall {
                reserved: amount,
                used,
                held: amount,
                unknown: None,
            });
        }
    }
}

/// Keyed by its name and limits: the targets files of workers are in other places.
fn target_rate(rate: &SentRate) -> TargetRate {
    TargetRate {
        file: PathBuf::from(format!("{:?}/{:?}", rate.rpm, rate.tpm)),
        target: TargetName::from(rate.target.as_str()),
        limits: RateLimits { rpm: rate.rpm, tpm: rate.tpm },
    }
}
