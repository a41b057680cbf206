//! The side of a run: sends jobs, brings results to the session, and answers the questions of workers.

mod inbox;
mod members;
mod services;

use crate::files::FileSender;
use crate::link::{ClusterError, ClusterLink, next_message};
use crate::names::queue_of;
use crate::protocol::{Control, Done, JobOrder, Report, RunNotice, RunReport, Update, VERSION};
use agentv_core::call::Waiting;
use agentv_core::{CallContext, Log, ProviderError, Request, Response, TargetName, WorkId, prompt};
use agentv_runtime::hash::sha256;
use agentv_runtime::load::Labels;
use agentv_runtime::run::{
    AnswerSource, Batch, EventSink, Executed, Executor, Job, SuiteOnTarget, Work, broken,
};
use agentv_runtime::session::{Environment, JobWriter, SentFile, Session};
use agentv_wire::RunSpec;
use async_trait::async_trait;
use inbox::{Inbox, Message};
use members::Members;
use services::Services;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What a coordinator is made of.
#[derive(Debug)]
pub struct CoordinatorOrder<'a> {
    pub session: &'a Session,
    pub environment: &'a Environment,
    /// Whether the run is continued: its jobs may still be on the server.
    pub is_resumed: bool,
    /// Whether the observer shows when cases are started, answered and graded.
    pub wants_updates: bool,
    /// The name of this machine, for people.
    pub host: String,
}

/// Has the work of a run done by workers.
#[derive(Debug)]
pub struct Coordinator {
    link: ClusterLink,
    run: String,
    /// Another one for each process that coordinates the run: a job that is sent again after a resume is not the same message.
    session_id: String,
    writer: JobWriter,
    sender: FileSender,
    inbox: Arc<Inbox>,
    members: Arc<Members>,
    services: Arc<Services>,
    /// Says that a worker refuses, once for each reason. A lock and not a message: it is held for a look-up.
    refusals: Mutex<BTreeSet<(String, String)>>,
    /// Where lines go that belong to no case; known once the first case is started.
    log: Arc<OnceLock<Arc<dyn Log>>>,
    done: Arc<AtomicUsize>,
    /// Ends the tasks below.
    stop: CancellationToken,
    /// Reads results and updates, answers questions, watches the members. They end with this.
    tasks: Mutex<JoinSet<()>>,
}

/// How long a job that a worker refused waits before it is offered again.
const AFTER_REFUSAL: Duration = Duration::from_millis(500);

impl Coordinator {
    /// Announces the run to the cluster.
    pub async fn open(
        link: ClusterLink,
        order: CoordinatorOrder<'_>,
    ) -> Result<Arc<Self>, ClusterError> {
        let CoordinatorOrder { session, environment, .. } = order;
        let run = session.run_id().to_owned();
        let queues: BTreeSet<Labels> = session.plan().lanes().map(SuiteOnTarget::needs).collect();
        for needs in &queues {
            link.queue(needs).await?;
        }
        let stop = CancellationToken::new();
        let inbox = Inbox::open(&link, &run, order.is_resumed).await?;
        let (limits, store) = (session.shared_limits(), session.answer_store());
        let notice = notice(&run, session.spec(), environment, order.wants_updates);
        // Written down before the first job is sent.
        link.keep(&link.names.notice(&run), &new_id(&run), &notice, &stop).await?;
        let workers = session.spec().workers;
        let members = Members::new(queues, workers);
        let services = Services::new(
            link.clone(),
            (Arc::clone(&inbox), Arc::clone(&members)),
            (limits, store),
            stop.clone(),
        );
        let coordinator = Arc::new(Self {
            writer: JobWriter::new(environment),
            sender: FileSender::default(),
            inbox,
            members: Arc::clone(&members),
            services: Arc::clone(&services),
            refusals: Mutex::default(),
            log: Arc::default(),
            done: Arc::new(AtomicUsize::new(session.totals().recorded())),
            stop: stop.clone(),
            tasks: Mutex::default(),
            link: link.clone(),
            session_id: new_id(&run),
            run: run.clone(),
        });
        let about =
            RunReport { run: run.clone(), total: session.plan().total, done: 0, host: order.host };
        coordinator.start(about).await?;
        // Workers that are there answer at once.
        link.order(&Control::Report).await;
        Ok(coordinator)
    }

    async fn start(self: &Arc<Self>, about: RunReport) -> Result<(), ClusterError> {
        let (link, stop) = (&self.link, &self.stop);
        let subscribe = async |subject: String| {
            let subscriber = link.client.subscribe(subject).await;
            subscriber.map_err(|error| ClusterError::failed("cannot listen to the cluster")(&error))
        };
        let updates = subscribe(link.names.updates(&self.run)).await?;
        let reports = subscribe(link.names.reports()).await?;
        let control = subscribe(link.names.control()).await?;
        let calls = subscribe(link.names.services(&self.run)).await?;
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(Arc::clone(&self.inbox).serve(stop.clone()));
        tasks.spawn(updates_task(self.parts(), updates));
        tasks.spawn(Arc::clone(&self.services).serve(calls));
        let (members, services) = (Arc::clone(&self.members), Arc::clone(&self.services));
        tasks.spawn(members.serve(
            link.clone(),
            reports,
            (services, Arc::clone(&self.log)),
            stop.clone(),
        ));
        tasks.spawn(control_task(self.parts(), control, about));
        Ok(())
    }

    fn parts(&self) -> TaskParts {
        TaskParts {
            link: self.link.clone(),
            inbox: Arc::clone(&self.inbox),
            log: Arc::clone(&self.log),
            done: Arc::clone(&self.done),
            stop: self.stop.clone(),
        }
    }

    /// Tells the cluster that the run is over. Whatever is left of it is stopped and removed; what an interrupted run needs
    /// to be resumed is in its run folder.
    pub async fn close(&self) {
        // The last acknowledgements must not be lost: results that are not acknowledged would be read again.
        self.inbox.flush().await;
        self.link.order(&Control::Ended { run: self.run.clone() }).await;
        self.link.forget_run(&self.run).await;
        self.stop.cancel();
    }

    /// Sends a job and waits for what comes of it.
    async fn dispatch(
        &self,
        job: &SentJob<'_>,
        cancel: &CancellationToken,
    ) -> Result<Conversation<'_>, ClusterError> {
        self.sender.send(job.files, &self.link).await?;
        let conversation =
            Conversation { inbox: &self.inbox, messages: self.inbox.register(&job.token) };
        if !self.inbox.is_under_way(&job.token) {
            self.publish(job, 0, cancel).await?;
        }
        Ok(conversation)
    }

    async fn publish(
        &self,
        job: &SentJob<'_>,
        attempt: u32,
        cancel: &CancellationToken,
    ) -> Result<(), ClusterError> {
        let subject = self.link.names.job(&queue_of(&job.needs), &self.run, &job.token);
        let id = format!("{}.{}.{attempt}", self.session_id, job.token);
        self.link.keep(&subject, &id, &job.order, cancel).await
    }

    /// What to do about a worker that refuses: `Some` if no worker is left that might do it.
    fn refused(
        &self,
        worker: &str,
        reason: &str,
        job: &SentJob<'_>,
        log: &Arc<dyn Log>,
    ) -> Option<String> {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.insert((worker.to_owned(), reason.to_owned())) {
            log.warn(format!("worker `{worker}` refuses: {reason}"));
        }
        let has_refused = |name: &str| refusals.contains(&(name.to_owned(), reason.to_owned()));
        let others = self.members.able(&job.needs);
        let all_refuse = others.iter().all(|name| has_refused(name));
        all_refuse.then(|| format!("no worker can run this case: {reason} (worker `{worker}`)"))
    }

    fn hear(&self, log: &Arc<dyn Log>) {
        self.log.get_or_init(|| Arc::clone(log));
    }
}

/// A job on its way.
struct SentJob<'a> {
    order: JobOrder,
    token: String,
    needs: Labels,
    files: &'a [SentFile],
}

impl<'a> SentJob<'a> {
    /// The token is the same for the same work of an unchanged case, so that a resumed run finds its jobs again.
    fn new(
        run: &str,
        order: JobOrder,
        needs: Labels,
        files: &'a [SentFile],
    ) -> Result<Self, String> {
        let body = match &order {
            // An answer that is known by now does not make it another case.
            JobOrder::Case(job) if job.answered.is_some() => {
                serde_json::to_vec(&JobOrder::Case(Box::new(Job {
                    answered: None,
                    ..(**job).clone()
                })))
            }
            order => serde_json::to_vec(order),
        };
        let body = body.map_err(|error| error.to_string())?;
        let digest = sha256([run.as_bytes(), &body].concat());
        Ok(Self { order, token: hex::encode(&digest[..16]), needs, files })
    }
}

/// What is heard of one job.
struct Conversation<'a> {
    inbox: &'a Inbox,
    messages: inbox::Messages,
}

impl Drop for Conversation<'_> {
    fn drop(&mut self) {
        self.inbox.unregister(self.messages.token());
    }
}

#[async_trait]
impl Executor for Coordinator {
    async fn execute(
        &self,
        work: &Work,
        source: Box<dyn AnswerSource>,
        sink: &dyn EventSink,
        cancel: &CancellationToken,
    ) -> Executed {
        self.hear(sink.log());
        let written = match self.writer.job(work, source) {
            Ok(written) => written,
            Err(error) => return Executed::Recorded(broken(work, error.to_string())),
        };
        let order = JobOrder::Case(Box::new(written.job));
        let job = match SentJob::new(&self.run, order, work.on.needs(), &written.files) {
            Ok(job) => job,
            Err(error) => return Executed::Recorded(broken(work, error)),
        };
        match self.follow(&job, work, sink, cancel).await {
            Ok(executed) => executed,
            Err(ClusterError::Stopped) => Executed::Stopped,
            Err(error) => Executed::Recorded(broken(work, error.to_string())),
        }
    }

    async fn ask_batch(
        &self,
        batch: Batch<'_>,
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        self.hear(&cx.log);
        let failed = |message: String| ProviderError::failed(message);
        let written = self.writer.batch_job(batch).map_err(|error| failed(error.to_string()))?;
        let order = JobOrder::Batch(Box::new(written.job));
        let needs = batch.lane.needs();
        let job = SentJob::new(&self.run, order, needs, &written.files).map_err(failed)?;
        let dispatched = self.dispatch(&job, &cx.cancel).await;
        let mut conversation = dispatched.map_err(|error| failed(error.to_string()))?;
        let mut attempt = 0;
        loop {
            let mut message = conversation.messages.next(&cx.cancel).await;
            if let Some(message) = &mut message {
                self.services.take(std::mem::take(&mut message.notes)).await;
            }
            match message.map(|message| (message.worker, message.what, message.receipt)) {
                None => return Err(ProviderError::cancelled()),
                Some((_, inbox::InboxItem::Done(Done::Batch(answers)), receipt)) => {
                    self.inbox.acknowledge(receipt);
                    return answers.map_err(failed);
                }
                Some((worker, inbox::InboxItem::Done(Done::Refused { reason }), receipt)) => {
                    self.inbox.acknowledge(receipt);
                    if let Some(message) = self.refused(&worker, &reason, &job, &cx.log) {
                        return Err(failed(message));
                    }
                    tokio::time::sleep(AFTER_REFUSAL).await;
                    attempt += 1;
                    let sent = self.publish(&job, attempt, &cx.cancel).await;
                    sent.map_err(|error| failed(error.to_string()))?;
                }
                Some((_, inbox::InboxItem::Done(Done::Deadly { starts }), receipt)) => {
                    self.inbox.acknowledge(receipt);
                    return Err(failed(deadly(starts)));
                }
                Some(_) => {}
            }
        }
    }

    fn recorded(&self, work: &WorkId) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.inbox.recorded(work);
    }

    fn permits(&self) -> Option<Arc<Semaphore>> {
        Some(self.members.window())
    }
}

impl Coordinator {
    /// Brings what is heard of a case to the sink, until there is a record.
    async fn follow(
        &self,
        job: &SentJob<'_>,
        work: &Work,
        sink: &dyn EventSink,
        cancel: &CancellationToken,
    ) -> Result<Executed, ClusterError> {
        let mut conversation = self.dispatch(job, cancel).await?;
        let mut case = FollowedCase { work, sink, is_started: false, is_answered: false };
        let mut attempt = 0;
        while let Some(message) = conversation.messages.next(cancel).await {
            let Message { worker, what, receipt, notes } = message;
            self.services.take(notes).await;
            match what {
                inbox::InboxItem::Update(update) => case.update(update).await,
                inbox::InboxItem::Done(Done::Answered(answered)) => {
                    case.answered(&answered.answered, answered.has_workspace).await;
                    self.inbox.acknowledge(receipt);
                }
                inbox::InboxItem::Done(Done::Recorded { record, answered }) => {
                    case.started().await;
                    if let Some(answered) = answered {
                        case.answered(&answered.answered, answered.has_workspace).await;
                    }
                    // Acknowledged once the record is on file.
                    self.inbox.hold(&work.id, receipt);
                    return Ok(Executed::Recorded(record));
                }
                inbox::InboxItem::Done(Done::Refused { reason }) => {
                    self.inbox.acknowledge(receipt);
                    if let Some(message) = self.refused(&worker, &reason, job, sink.log()) {
                        return Ok(Executed::Recorded(broken(work, message)));
                    }
                    tokio::time::sleep(AFTER_REFUSAL).await;
                    attempt += 1;
                    self.publish(job, attempt, cancel).await?;
                }
                inbox::InboxItem::Done(Done::Deadly { starts }) => {
                    self.inbox.hold(&work.id, receipt);
                    return Ok(Executed::Recorded(broken(work, deadly(starts))));
                }
                inbox::InboxItem::Done(Done::Stopped) => {
                    self.inbox.acknowledge(receipt);
                    return Ok(Executed::Stopped);
                }
                inbox::InboxItem::Done(Done::Batch(_)) => self.inbox.acknowledge(receipt),
            }
        }
        Err(ClusterError::Stopped)
    }
}

fn deadly(starts: i64) -> String {
    format!(
        "no result: the case was started {starts} times, and each time its worker was gone before it had one"
    )
}

/// A case that is worked on elsewhere, as the session sees it.
struct FollowedCase<'a> {
    work: &'a Work,
    sink: &'a dyn EventSink,
    is_started: bool,
    is_answered: bool,
}

impl FollowedCase<'_> {
    async fn started(&mut self) {
        if !std::mem::replace(&mut self.is_started, true) {
            self.sink.started(self.work).await;
        }
    }

    async fn answered(&mut self, answered: &agentv_core::Answered, has_workspace: bool) {
        self.started().await;
        if std::mem::replace(&mut self.is_answered, true) {
            return;
        }
        let request = self.request(answered.attempt, has_workspace);
        self.sink.answered(self.work, &request, answered).await;
    }

    /// The request as the worker made it, as far as the journal wants to know.
    fn request(&self, attempt: u32, has_workspace: bool) -> Request {
        let mode = self.work.on.target.provider.info().prompt_mode;
        let mut request = prompt::build(&self.work.case, mode);
        request.attempt = attempt;
        request.workspace = has_workspace.then(PathBuf::new);
        request
    }

    async fn update(&mut self, update: Update) {
        match update {
            Update::Started { .. } => self.started().await,
            Update::Grading { .. } => self.sink.grading(self.work).await,
            Update::Waiting { wait, .. } => {
                let waiting = Waiting {
                    target: TargetName::from(wait.target),
                    reason: wait.reason,
                    is_throttled: wait.is_throttled,
                    attempt: wait.attempt,
                    delay: Duration::try_from_secs_f64(wait.delay_ms / 1000.0).unwrap_or_default(),
                };
                self.sink.log().waiting(&self.work.id, waiting);
            }
            Update::Log { .. } => {}
        }
    }
}

/// What the tasks of a coordinator share with it.
struct TaskParts {
    link: ClusterLink,
    inbox: Arc<Inbox>,
    log: Arc<OnceLock<Arc<dyn Log>>>,
    done: Arc<AtomicUsize>,
    stop: CancellationToken,
}

/// Reads what workers say while they work.
async fn updates_task(parts: TaskParts, mut updates: async_nats::Subscriber) {
    let subject = parts.link.names.updates(parts.inbox.run());
    while let Some(message) = next_message(&mut updates, &parts.stop).await {
        let Ok(update) = parts.link.unpack::<Update>(&subject, &message.payload).await else {
            continue;
        };
        match update {
            Update::Log { level, text } => {
                if let Some(log) = parts.log.get() {
                    log.say(level, text);
                }
            }
            update => parts.inbox.update(update),
        }
    }
}

/// Says how the run is when asked, and stops it when told.
async fn control_task(parts: TaskParts, mut control: async_nats::Subscriber, about: RunReport) {
    let (orders, reports) = (parts.link.names.control(), parts.link.names.reports());
    while let Some(message) = next_message(&mut control, &parts.stop).await {
        let Ok(order) = parts.link.unpack::<Control>(&orders, &message.payload).await else {
            continue;
        };
        match order {
            Control::Report => {
                let done = parts.done.load(Ordering::Relaxed);
                let report = Report::Run(RunReport { done, ..about.clone() });
                parts.link.tell(&reports, &report).await;
            }
            Control::Cancel { run } if run == about.run => interrupt_ourselves(),
            _ => {}
        }
    }
}

/// The run ends as with Ctrl-C: nothing is started, what is done is on file.
fn interrupt_ourselves() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
}

fn notice(run: &str, spec: &RunSpec, environment: &Environment, wants_updates: bool) -> RunNotice {
    let below =
        |path: &Path| path.strip_prefix(&environment.repo_root).unwrap_or(Path::new("")).to_owned();
    RunNotice {
        version: VERSION.to_owned(),
        run: run.to_owned(),
        spec: RunSpec {
            suites: Vec::new(),
            cases: agentv_wire::CaseSelection::default(),
            ..spec.clone()
        },
        working_dir: below(&environment.working_dir),
        project_root: below(&environment.project_root),
        wants_updates,
    }
}

/// An id for a message that must not be taken for an earlier one.
fn new_id(run: &str) -> String {
    format!("{run}.{:016x}", getrandom::u64().unwrap_or_default())
}
