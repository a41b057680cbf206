//! The results of a run: from the server to the case that waits for them, and acknowledged once they are on file.

use crate::link::{ClusterError, ClusterLink};
use crate::protocol::{Done, JobOutcome, ServiceCall, Update};
use agentv_core::WorkId;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::message::Acker;
use futures_util::{StreamExt as _, TryStreamExt as _};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Where results arrive.
pub(crate) struct Inbox {
    link: ClusterLink,
    run: String,
    consumer: PullConsumer,
    /// A lock and not a message: it is held for look-ups, never over a wait.
    state: Mutex<State>,
    /// Results whose records are on file. Unbounded: who writes records must not wait, and there are no more than results.
    acks: mpsc::UnboundedSender<Receipt>,
    to_acknowledge: Mutex<Option<mpsc::UnboundedReceiver<Receipt>>>,
    idle: Notify,
}

#[derive(Default)]
struct State {
    /// Who waits for what.
    waiting: HashMap<String, mpsc::UnboundedSender<Message>>,
    /// Jobs of an earlier session of the run that the server still has.
    under_way: HashSet<String>,
    /// Results that came before the case that waits for them.
    early: HashMap<String, Vec<Message>>,
    /// Results whose records are not on file yet.
    held: HashMap<WorkId, Receipt>,
    /// Acknowledgements on their way.
    open_acks: usize,
}

/// Something that was heard of a job.
pub(crate) struct Message {
    pub worker: String,
    pub what: InboxItem,
    pub receipt: Option<Receipt>,
    /// What was to be heard before.
    pub notes: Vec<ServiceCall>,
}

pub(crate) enum InboxItem {
    Update(Update),
    Done(Done),
}

/// The server keeps a result until this is acknowledged.
pub(crate) struct Receipt {
    acker: Acker,
    /// Where the rest of a large message is.
    sealed: async_nats::Message,
}

/// What is heard of one job.
pub(crate) struct Messages {
    token: String,
    receiver: mpsc::UnboundedReceiver<Message>,
}

impl Messages {
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// `None` if the run is stopped.
    pub(crate) async fn next(&mut self, cancel: &CancellationToken) -> Option<Message> {
        tokio::select! {
            biased;
            message = self.receiver.recv() => message,
            () = cancel.cancelled() => None,
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("run", &self.run).finish_non_exhaustive()
    }
}

/// How long the coordinator may take until a record is on file. After that the server sends the result again, which is
/// noticed.
const ON_FILE_WITHIN: Duration = Duration::from_mins(10);

impl Inbox {
    /// Begins to read. For a resumed run, finds out what its jobs have come to meanwhile.
    pub(crate) async fn open(
        link: &ClusterLink,
        run: &str,
        is_resumed: bool,
    ) -> Result<Arc<Self>, ClusterError> {
        let failed = ClusterError::failed("cannot read the results");
        if is_resumed {
            // Results that were delivered and not acknowledged are delivered again at once.
            let _ = link.results.delete_consumer(run).await;
        }
        let config = pull::Config {
            durable_name: Some(run.to_owned()),
            filter_subject: link.names.results_of_run(run),
            ack_policy: AckPolicy::Explicit,
            deliver_policy: DeliverPolicy::All,
            ack_wait: ON_FILE_WITHIN,
            max_deliver: -1,
            max_ack_pending: -1,
            ..Default::default()
        };
        let consumer = link.results.get_or_create_consumer(run, config).await;
        let consumer = consumer.map_err(|error| failed(&error))?;
        let (acks, to_acknowledge) = mpsc::unbounded_channel();
        let inbox = Arc::new(Self {
            link: link.clone(),
            run: run.to_owned(),
            consumer,
            state: Mutex::default(),
            acks,
            to_acknowledge: Mutex::new(Some(to_acknowledge)),
            idle: Notify::new(),
        });
        if is_resumed {
            inbox.find_jobs().await?;
            inbox.catch_up().await?;
        }
        Ok(inbox)
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Notes the jobs that are still on the server: they wait for a worker, or one works on them.
    async fn find_jobs(&self) -> Result<(), ClusterError> {
        let failed = ClusterError::failed("cannot list the jobs of the run");
        let filter = self.link.names.jobs_of_run(&self.run);
        let mut subjects =
            self.link.jobs.info_with_subjects(filter).await.map_err(|error| failed(&error))?;
        while let Some((subject, _)) = subjects.try_next().await.map_err(|error| failed(&error))? {
            if let Some(token) = subject.rsplit('.').next() {
                self.lock().under_way.insert(token.to_owned());
            }
        }
        Ok(())
    }

    /// Reads the results that are there. A job that is not on the server any more has its result among them, or was never
    /// sent.
    async fn catch_up(&self) -> Result<(), ClusterError> {
        let failed = ClusterError::failed("cannot read the results");
        loop {
            let batch = self.consumer.fetch().max_messages(256).messages().await;
            let mut batch = batch.map_err(|error| failed(&error))?;
            let mut count = 0;
            while let Some(message) = batch.next().await {
                count += 1;
                self.take(message.map_err(|error| failed(&error))?, Unknown::Keep).await;
            }
            if count == 0 {
                return Ok(());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a job was sent by an earlier session of the run and will have a result.
    pub(crate) fn is_under_way(&self, token: &str) -> bool {
        self.lock().under_way.remove(token)
    }

    /// From now on, what is heard of a job is brought to the caller.
    pub(crate) fn register(&self, token: &str) -> Messages {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.lock();
        if let Some(early) = state.early.remove(token) {
            // It has its result, so it must not be sent again.
            state.under_way.insert(token.to_owned());
            for message in early {
                let _ = sender.send(message);
            }
        }
        state.waiting.insert(token.to_owned(), sender);
        Messages { token: token.to_owned(), receiver }
    }

    /// Whether a case waits for the result of a job, or will.
    pub(crate) fn is_waiting_for(&self, token: &str) -> bool {
        let state = self.lock();
        state.waiting.contains_key(token) || state.under_way.contains(token)
    }

    pub(crate) fn unregister(&self, token: &str) {
        self.lock().waiting.remove(token);
    }

    /// Brings results to those who wait for them, until it is stopped.
    pub(crate) async fn serve(self: Arc<Self>, stop: CancellationToken) {
        let acks = self.to_acknowledge.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reading = async {
            loop {
                // The stream ends with an error when the server was away for long; then it is opened again.
                if let Ok(mut messages) = self
                    .consumer
                    .stream()
                    .max_messages_per_batch(500)
                    .expires(Duration::from_secs(20))
                    .heartbeat(Duration::from_secs(2))
                    .messages()
                    .await
                {
                    while let Some(Ok(message)) = messages.next().await {
                        self.take(message, Unknown::Drop).await;
                    }
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        let acknowledging = async {
            let Some(mut acks) = acks else { return };
            while let Some(receipt) = acks.recv().await {
                self.send_ack(receipt).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = async { tokio::join!(reading, acknowledging); } => {}
        }
    }

    async fn send_ack(&self, receipt: Receipt) {
        let place = self.link.names.results_of_run(&self.run);
        let _ = receipt.acker.ack().await;
        self.link.forget(&place, &receipt.sealed.payload).await;
        let mut state = self.lock();
        state.open_acks -= 1;
        if state.open_acks == 0 {
            self.idle.notify_waiters();
        }
    }

    /// Brings a result to the case that waits for it.
    async fn take(&self, message: async_nats::jetstream::Message, unknown: Unknown) {
        let place = self.link.names.results_of_run(&self.run);
        let outcome = self.link.unpack::<JobOutcome>(&place, &message.payload).await;
        let (sealed, acker) = message.split();
        let receipt = Some(Receipt { acker, sealed });
        let Ok(JobOutcome { token, worker, what, notes }) = outcome else {
            // Forged, or of another version: it is removed, and never believed.
            self.acknowledge(receipt);
            return;
        };
        let message = Message { worker, what: InboxItem::Done(what), receipt, notes };
        let mut state = self.lock();
        if let Some(waiting) = state.waiting.get(&token) {
            let undelivered = waiting.send(message).err();
            drop(state);
            if let Some(message) = undelivered {
                self.acknowledge(message.0.receipt);
            }
        } else if unknown == Unknown::Keep
            || state.under_way.contains(&token)
            || state.early.contains_key(&token)
        {
            state.early.entry(token).or_default().push(message);
        } else {
            drop(state);
            // A second result: the case ran twice, since its worker was thought dead.
            self.acknowledge(message.receipt);
        }
    }

    /// Brings an update to the case that it is about.
    pub(crate) fn update(&self, update: Update) {
        let token = match &update {
            Update::Started { token }
            | Update::Grading { token }
            | Update::Waiting { token, .. } => token.clone(),
            Update::Log { .. } => return,
        };
        if let Some(waiting) = self.lock().waiting.get(&token) {
            let worker = String::new();
            drop(waiting.send(Message {
                worker,
                what: InboxItem::Update(update),
                receipt: None,
                notes: Vec::new(),
            }));
        }
    }

    /// The server need not keep a result any more.
    pub(crate) fn acknowledge(&self, receipt: Option<Receipt>) {
        let Some(receipt) = receipt else { return };
        self.lock().open_acks += 1;
        let _ = self.acks.send(receipt);
    }

    /// Keeps the receipt of a result until its record is on file.
    pub(crate) fn hold(&self, work: &WorkId, receipt: Option<Receipt>) {
        if let Some(receipt) = receipt {
            self.lock().held.insert(work.clone(), receipt);
        }
    }

    /// The record of a piece of work is on file.
    pub(crate) fn recorded(&self, work: &WorkId) {
        let receipt = self.lock().held.remove(work);
        self.acknowledge(receipt);
    }

    /// Waits until all acknowledgements are sent, but not for ever.
    pub(crate) async fn flush(&self) {
        let flushed = async {
            loop {
                let idle = self.idle.notified();
                if self.lock().open_acks == 0 {
                    return;
                }
                idle.await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), flushed).await;
        let _ = self.link.client.flush().await;
    }
}

/// What becomes of a result that no case waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Keep,
    Drop,
}
