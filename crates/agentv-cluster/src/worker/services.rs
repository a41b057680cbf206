//! Budget, rates, turns and known answers of a run, asked for at its coordinator.

use crate::link::ClusterLink;
use crate::protocol::{SentRate, Service, ServiceCall, ServiceReply};
use agentv_core::Response;
use agentv_runtime::cache::{AnswerKey, AnswerStore};
use agentv_runtime::targets::{
    CallSpend, JudgeLimit, JudgeTurn, Overrun, SettledCall, SharedLimits, TargetRate,
};
use agentv_wire::Budget;
use async_trait::async_trait;
use futures_util::StreamExt as _;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The way to the coordinator of a run.
#[derive(Debug)]
pub(super) struct RunServices {
    link: ClusterLink,
    subject: String,
    worker: String,
    /// Messages that need no answer; unbounded, as who sends one must not wait.
    notes: mpsc::UnboundedSender<Note>,
    /// Those that the coordinator has not got yet, by their ids. A lock and not a message: it is held for look-ups.
    open_notes: Arc<Mutex<BTreeMap<String, ServiceCall>>>,
    cancel: CancellationToken,
    /// Sends the notes; ends with this.
    _task: JoinSet<()>,
}

/// Without a word for this long, the question is asked again: the coordinator says every few seconds that it is to wait.
const SILENCE: Duration = Duration::from_secs(8);
/// How long a result waits for notes to be sent.
const FLUSH_WITHIN: Duration = Duration::from_millis(500);

impl RunServices {
    pub(super) fn start(
        link: &ClusterLink,
        run: &str,
        worker: &str,
        cancel: CancellationToken,
    ) -> Arc<Self> {
        let (notes, mut queue) = mpsc::unbounded_channel();
        let open_notes = Arc::<Mutex<BTreeMap<String, ServiceCall>>>::default();
        let open = Arc::clone(&open_notes);
        let subject = link.names.services(run);
        let (sender, place, over) = (link.clone(), subject.clone(), cancel.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Some(note) = queue.recv().await {
                match note {
                    Note::Call(call) => {
                        ask(&sender, &place, &call, &over).await;
                        open.lock().unwrap_or_else(PoisonError::into_inner).remove(&call.id);
                    }
                    Note::Flush(done) => drop(done.send(())),
                }
            }
        });
        Arc::new(Self {
            link: link.clone(),
            subject,
            worker: worker.to_owned(),
            notes,
            open_notes,
            cancel,
            _task: task,
        })
    }

    fn call(&self, what: Service) -> ServiceCall {
        let id = format!("{}.{:016x}", self.worker, getrandom::u64().unwrap_or_default());
        ServiceCall { id, worker: self.worker.clone(), what }
    }

    /// `None` if the run is over.
    async fn ask(&self, what: Service) -> Option<ServiceReply> {
        ask(&self.link, &self.subject, &self.call(what), &self.cancel).await
    }

    /// Whether the run still waits for a job. While another worker works on it, so does the caller. Without a coordinator,
    /// the run may be resumed, so it does wait.
    pub(super) async fn is_wanted(&self, token: &str) -> bool {
        loop {
            let call = self.call(Service::IsWanted { token: token.to_owned() });
            match ask_once(&self.link, &self.subject, &call).await {
                Some(ServiceReply::NotWanted) => return false,
                Some(ServiceReply::Busy) => tokio::time::sleep(Duration::from_millis(500)).await,
                _ => return true,
            }
        }
    }

    /// Sends something that needs no answer, until the coordinator has it.
    fn note(&self, what: Service) {
        let call = self.call(what);
        self.lock_notes().insert(call.id.clone(), call.clone());
        let _ = self.notes.send(Note::Call(call));
    }

    /// The notes that the coordinator has not got, after a short wait for it: it must know what a case has spent when it
    /// knows its result. One that is away reads them with the result when it is resumed.
    pub(super) async fn unsent_notes(&self) -> Vec<ServiceCall> {
        if self.lock_notes().is_empty() {
            return Vec::new();
        }
        let (done, flushed) = oneshot::channel();
        let _ = self.notes.send(Note::Flush(done));
        let _ = tokio::time::timeout(FLUSH_WITHIN, flushed).await;
        self.lock_notes().values().cloned().collect()
    }

    fn lock_notes(&self) -> MutexGuard<'_, BTreeMap<String, ServiceCall>> {
        self.open_notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something for the task that sends notes.
#[derive(Debug)]
enum Note {
    Call(ServiceCall),
    /// Says when everything before it was sent.
    Flush(oneshot::Sender<()>),
}

/// Asks until there is an answer, however often the coordinator or the server are away meanwhile.
async fn ask(
    link: &ClusterLink,
    subject: &str,
    call: &ServiceCall,
    cancel: &CancellationToken,
) -> Option<ServiceReply> {
    let asking = async {
        loop {
            if let Some(reply) = ask_once(link, subject, call).await {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        () = cancel.cancelled() => None,
        reply = asking => Some(reply),
    }
}

async fn ask_once(link: &ClusterLink, subject: &str, call: &ServiceCall) -> Option<ServiceReply> {
    let inbox = link.client.new_inbox();
    let mut replies = link.client.subscribe(inbox.clone()).await.ok()?;
    let sealed = link.pack(subject, call).await.ok()?;
    link.client.publish_with_reply(subject.to_owned(), inbox, sealed.into()).await.ok()?;
    loop {
        let message = tokio::time::timeout(SILENCE, replies.next()).await.ok()??;
        // Without a coordinator the server says so at once.
        if message.status.is_some() {
            tokio::time::sleep(Duration::from_millis(500)).await;
            return None;
        }
        match link.unpack(subject, &message.payload).await {
            Ok(ServiceReply::Wait { .. }) => {}
            Ok(reply) => return Some(reply),
            Err(_) => return None,
        }
    }
}

/// The limits of a run that is coordinated elsewhere.
#[derive(Debug)]
pub(super) struct RemoteLimits {
    services: Arc<RunServices>,
    budget: Budget,
}

impl RemoteLimits {
    pub(super) fn new(services: Arc<RunServices>, budget: Budget) -> Self {
        Self { services, budget }
    }

    fn is_unlimited(&self) -> bool {
        self.budget == Budget::default()
    }
}

#[async_trait]
impl SharedLimits for RemoteLimits {
    fn budget(&self) -> Budget {
        self.budget
    }

    /// Without a budget nothing has to be waited for; what was used is told afterwards.
    async fn reserve(&self, amount: CallSpend) -> Result<(), Overrun> {
        if self.is_unlimited() {
            return Ok(());
        }
        match self.services.ask(Service::Reserve(amount)).await {
            Some(ServiceReply::Refused(overrun)) => Err(overrun),
            // Where the run is over, the call is cancelled anyway.
            _ => Ok(()),
        }
    }

    fn settle(&self, call: &SettledCall) {
        self.services.note(Service::Settle(call.clone()));
    }

    fn stop(&self, overrun: Overrun) -> Overrun {
        self.services.note(Service::Stop(overrun.clone()));
        overrun
    }

    async fn acquire(
        &self,
        rate: &TargetRate,
        tokens: f64,
        waits: &(dyn Fn(Duration) + Send + Sync),
    ) {
        let _ = waits;
        self.services.ask(Service::Acquire { rate: sent(rate), tokens }).await;
    }

    fn correct(&self, rate: &TargetRate, estimated: f64, used: f64) {
        self.services.note(Service::Correct { rate: sent(rate), estimated, used });
    }

    async fn judge_turn(&self, judge: &JudgeLimit) -> JudgeTurn {
        let what = Service::JudgeTurn { target: judge.target.to_string(), workers: judge.workers };
        let call = self.services.call(what);
        let turn = Turn { services: Arc::clone(&self.services), id: call.id.clone() };
        let RunServices { link, subject, cancel, .. } = &*self.services;
        ask(link, subject, &call, cancel).await;
        JudgeTurn::holding(turn)
    }
}

/// A turn with a judge. It is given back even if the wait for it was cut off: the coordinator may have granted it.
struct Turn {
    services: Arc<RunServices>,
    id: String,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.services.note(Service::EndTurn { turn: self.id.clone() });
    }
}

fn sent(rate: &TargetRate) -> SentRate {
    SentRate { target: rate.target.to_string(), rpm: rate.limits.rpm, tpm: rate.limits.tpm }
}

/// The answers that the coordinator knows from earlier runs.
#[derive(Debug)]
pub(super) struct RemoteAnswers(Arc<RunServices>);

impl RemoteAnswers {
    pub(super) fn new(services: Arc<RunServices>) -> Self {
        Self(services)
    }
}

#[async_trait]
impl AnswerStore for RemoteAnswers {
    async fn find(&self, key: &AnswerKey) -> Option<Response> {
        match self.0.ask(Service::Find { key: key.to_string() }).await {
            Some(ServiceReply::Found(found)) => found.map(|response| *response),
            _ => None,
        }
    }

    fn keep(&self, key: &AnswerKey, response: &Response) -> io::Result<()> {
        self.0.note(Service::Keep { key: key.to_string(), response: Box::new(response.clone()) });
        Ok(())
    }

    fn place(&self) -> String {
        "the cache of the run".to_owned()
    }
}
