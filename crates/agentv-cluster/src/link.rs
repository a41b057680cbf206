//! A connection to a cluster: its streams and buckets, and messages that are signed.

use crate::access::{ClusterAccess, Login};
use crate::names::{Names, queue_of};
use crate::protocol::{Control, RunNotice};
use crate::seal::ClusterKey;
use agentv_runtime::load::Labels;
use async_nats::jetstream;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::object_store::{self, ObjectStore};
use async_nats::jetstream::stream::{self, LastRawMessageErrorKind, RetentionPolicy, Stream};
use async_nats::{Client, ConnectOptions, Event, HeaderMap, header};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

/// Why the cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("cannot reach the NATS server at `{url}`: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("the NATS server at `{url}` has no JetStream: {reason}")]
    NoJetStream { url: String, reason: String },
    #[error("{what}: {reason}")]
    Failed { what: &'static str, reason: String },
    #[error("{what}: what the server sent cannot be used: {reason}")]
    Invalid { what: &'static str, reason: String },
    #[error("`AGENTV_CLUSTER_KEY` is not the key of the cluster at `{url}`")]
    OtherKey { url: String },
    #[error("the run was stopped")]
    Stopped,
}

impl ClusterError {
    pub(crate) fn failed(what: &'static str) -> impl Fn(&dyn fmt::Display) -> Self {
        move |error| Self::Failed { what, reason: error.to_string() }
    }
}

/// A connection. Cheap to clone.
#[derive(Clone)]
pub struct ClusterLink {
    pub(crate) client: Client,
    pub(crate) context: jetstream::Context,
    pub(crate) names: Names,
    key: ClusterKey,
    /// When the connection was last made. A lock and not a message: it is held for a copy.
    connected: Arc<Mutex<SystemTime>>,
    pub(crate) ack_wait: Duration,
    pub(crate) jobs: Stream,
    pub(crate) results: Stream,
    /// What workers must know of each run.
    notices: Stream,
    /// Files of cases, by the hash of their contents.
    pub(crate) files: ObjectStore,
    /// Messages that are too large for one.
    payloads: ObjectStore,
}

impl fmt::Debug for ClusterLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterLink").field("names", &self.names).finish_non_exhaustive()
    }
}

/// How long the server may take to answer at first.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long several servers may take to agree on a leader.
const AGREED_WITHIN: Duration = Duration::from_secs(20);
/// How long it may take for anything else before we ask again.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// What is not used for this long is removed: jobs and results of runs that were given up, and files.
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
/// In this time the server notices a message that is sent twice.
const DUPLICATE_WINDOW: Duration = Duration::from_mins(10);
/// Room in a message for its headers and its signature.
const HEADROOM: usize = 4096;
/// The longest message that is read back from the store of large ones.
const LARGEST: usize = 1 << 30;
/// The name of the notice that shows the key; no run is called so.
const KEY_NOTICE: &str = "key";
/// The first bytes of a message whose body is in the store of large ones.
const ELSEWHERE: &[u8] = b"@";

impl ClusterLink {
    /// Connects, and makes what is not there yet.
    pub async fn connect(access: &ClusterAccess, name: &str) -> Result<Self, ClusterError> {
        let until = Instant::now() + AGREED_WITHIN;
        loop {
            match Box::pin(Self::connect_once(access, name)).await {
                // Several servers that have lost one of them, or were just started, agree on a leader first.
                Err(ClusterError::NoJetStream { reason, .. })
                    if reason.contains("timed out") && Instant::now() < until => {}
                done => return done,
            }
        }
    }

    async fn connect_once(access: &ClusterAccess, name: &str) -> Result<Self, ClusterError> {
        let connected = Arc::new(Mutex::new(SystemTime::now()));
        let client = connect(access, name, &connected).await?;
        let context = jetstream::context::ContextBuilder::new()
            .timeout(REQUEST_LIMIT)
            .ack_timeout(REQUEST_LIMIT)
            .build(client.clone());
        let names = Names::new(&access.prefix);
        let unusable = |error: &dyn fmt::Display| ClusterError::NoJetStream {
            url: access.url.clone(),
            reason: error.to_string(),
        };
        let servers = client.server_info().connect_urls.len();
        let replicas = access.replicas.unwrap_or(if servers >= 3 { 3 } else { 1 });
        let stream = |what: &str, subject: String| stream::Config {
            name: names.store(what),
            subjects: vec![subject],
            retention: RetentionPolicy::WorkQueue,
            max_age: KEPT_FOR,
            duplicate_window: DUPLICATE_WINDOW,
            num_replicas: replicas,
            ..Default::default()
        };
        let jobs = context.get_or_create_stream(stream("jobs", names.jobs())).await;
        let jobs = jobs.map_err(|error| unusable(&error))?;
        let results = context.get_or_create_stream(stream("results", names.results())).await;
        let results = results.map_err(|error| unusable(&error))?;
        // The last notice of each run. A key-value bucket would be the same, but servers before 2.10 cannot make one for us.
        let notices = stream::Config {
            retention: RetentionPolicy::Limits,
            max_messages_per_subject: 1,
            // The notice that shows the key must not go.
            max_age: Duration::ZERO,
            ..stream("notices", names.notices())
        };
        let notices = context.get_or_create_stream(notices).await;
        let notices = notices.map_err(|error| unusable(&error))?;
        let mut stores = Vec::new();
        for what in ["files", "payloads"] {
            let bucket = names.store(what);
            let store = match context.get_object_store(&bucket).await {
                Ok(store) => store,
                Err(_) => context
                    .create_object_store(object_store::Config {
                        bucket,
                        max_age: KEPT_FOR,
                        num_replicas: replicas,
                        ..Default::default()
                    })
                    .await
                    .map_err(|error| unusable(&error))?,
            };
            stores.push(store);
        }
        let (Some(payloads), Some(files)) = (stores.pop(), stores.pop()) else {
            return Err(ClusterError::Stopped);
        };
        let link = Self {
            client,
            context,
            names,
            key: access.key.clone(),
            connected,
            ack_wait: access.ack_wait,
            jobs,
            results,
            notices,
            files,
            payloads,
        };
        link.check_key(&access.url).await?;
        Ok(link)
    }

    /// The first member of a cluster leaves a signed notice. A member with another key would take jobs away from those that
    /// can do them, so it is not let in.
    async fn check_key(&self, url: &str) -> Result<(), ClusterError> {
        let subject = self.names.notice(KEY_NOTICE);
        let found = self.notices.get_last_raw_message_by_subject(&subject).await;
        match found {
            Ok(message) => match self.key.open(&subject, &message.payload) {
                Ok(_) => Ok(()),
                Err(_) => Err(ClusterError::OtherKey { url: url.to_owned() }),
            },
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                self.keep(&subject, KEY_NOTICE, &KEY_NOTICE, &CancellationToken::new()).await
            }
            Err(error) => Err(ClusterError::failed("cannot check the cluster key")(&error)),
        }
    }

    /// Whether the connection was made after a message was sent: the server may have been killed meanwhile. The clocks of
    /// two machines may differ; a message that is wrongly taken for an old one costs a question.
    pub(crate) fn was_away_since(&self, info: &async_nats::jetstream::message::Info<'_>) -> bool {
        let connected = *self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        let connected = connected.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let sent = info.published.unix_timestamp_nanos();
        i128::try_from(connected.as_nanos()).is_ok_and(|connected| sent < connected)
    }

    /// The queue of work that needs these labels.
    pub(crate) async fn queue(&self, needs: &Labels) -> Result<PullConsumer, ClusterError> {
        let name = queue_of(needs);
        let config = pull::Config {
            durable_name: Some(name.clone()),
            filter_subject: self.names.jobs_for(&name),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.ack_wait,
            max_deliver: -1,
            max_ack_pending: -1,
            // Each free slot of each worker waits with a request of its own.
            max_waiting: 65_536,
            ..Default::default()
        };
        let consumer = self.jobs.get_or_create_consumer(&name, config).await;
        consumer.map_err(|error| ClusterError::failed("cannot open the queue")(&error))
    }

    /// The names of all queues.
    pub(crate) async fn queues(&self) -> Result<Vec<String>, ClusterError> {
        let names = self.jobs.consumer_names().try_collect().await;
        names.map_err(|error| ClusterError::failed("cannot list the queues")(&error))
    }

    /// Signs a message for a place. What is too large for a message goes into a store, and the message says where.
    pub(crate) async fn pack(
        &self,
        place: &str,
        message: &impl Serialize,
    ) -> Result<Vec<u8>, ClusterError> {
        let body = serde_json::to_vec(message)
            .map_err(|error| ClusterError::failed("cannot write a message")(&error))?;
        if body.len() + HEADROOM <= self.client.max_payload() {
            return Ok(self.key.seal(place, &body));
        }
        let sha256 = hex::encode(agentv_runtime::hash::sha256(&body));
        let stored = self.payloads.put(sha256.as_str(), &mut body.as_slice()).await;
        stored.map_err(|error| ClusterError::failed("cannot store a large message")(&error))?;
        Ok(self.key.seal(place, &[ELSEWHERE, sha256.as_bytes()].concat()))
    }

    /// Reads a message that was signed for a place.
    pub(crate) async fn unpack<T: DeserializeOwned>(
        &self,
        place: &str,
        sealed: &[u8],
    ) -> Result<T, Unreadable> {
        let body = self.key.open(place, sealed).map_err(|_| Unreadable::Forged)?;
        let Some(sha256) = body.strip_prefix(ELSEWHERE) else { return parse(body) };
        let sha256 =
            std::str::from_utf8(sha256).map_err(|error| Unreadable::Other(error.to_string()))?;
        let body = read_object(&self.payloads, sha256, LARGEST).await.map_err(Unreadable::Other)?;
        parse(&body)
    }

    /// Removes what a large message left in the store.
    pub(crate) async fn forget(&self, place: &str, sealed: &[u8]) {
        let body = self.key.open(place, sealed).ok().and_then(|body| body.strip_prefix(ELSEWHERE));
        if let Some(Ok(sha256)) = body.map(std::str::from_utf8) {
            let _ = self.payloads.delete(sha256).await;
        }
    }

    /// A message that the server keeps. It is sent until the server has it; with the same id, it is kept once.
    pub(crate) async fn keep(
        &self,
        subject: &str,
        id: &str,
        message: &impl Serialize,
        cancel: &CancellationToken,
    ) -> Result<(), ClusterError> {
        let sending = async {
            let mut pause = Duration::from_millis(100);
            loop {
                let mut headers = HeaderMap::new();
                headers.insert(header::NATS_MESSAGE_ID, id);
                // A server that was away may have lost the large part.
                if let Ok(sealed) = self.pack(subject, message).await {
                    let sent = self
                        .context
                        .publish_with_headers(subject.to_owned(), headers, sealed.into())
                        .await;
                    if let Ok(kept) = sent
                        && kept.await.is_ok()
                    {
                        return;
                    }
                }
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(Duration::from_secs(2));
            }
        };
        tokio::select! {
            () = sending => Ok(()),
            () = cancel.cancelled() => Err(ClusterError::Stopped),
        }
    }

    /// A message that may be lost.
    pub(crate) async fn tell(&self, subject: &str, message: &impl Serialize) {
        if let Ok(sealed) = self.pack(subject, message).await {
            let _ = self.client.publish(subject.to_owned(), sealed.into()).await;
        }
    }

    pub(crate) async fn order(&self, control: &Control) {
        self.tell(&self.names.control(), control).await;
        let _ = self.client.flush().await;
    }

    /// What workers must know of a run; `None` if it is over.
    pub(crate) async fn notice(&self, run: &str) -> Result<Option<RunNotice>, ClusterError> {
        let what = "cannot read what is known of a run";
        let subject = self.names.notice(run);
        let message = match self.notices.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => message,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Ok(None);
            }
            Err(error) => return Err(ClusterError::failed(what)(&error)),
        };
        let notice = self.unpack(&subject, &message.payload).await;
        notice.map(Some).map_err(|error| ClusterError::Invalid { what, reason: error.to_string() })
    }

    /// The ids of all runs that something is known of.
    pub(crate) async fn noticed_runs(&self) -> Result<Vec<String>, ClusterError> {
        let failed = ClusterError::failed("cannot list the runs");
        let subjects = self.notices.info_with_subjects(self.names.notices()).await;
        let subjects: Vec<(String, usize)> = subjects
            .map_err(|error| failed(&error))?
            .try_collect()
            .await
            .map_err(|error| failed(&error))?;
        let runs = subjects.iter().filter_map(|(subject, _)| subject.rsplit('.').next());
        Ok(runs.filter(|run| *run != KEY_NOTICE).map(str::to_owned).collect())
    }

    /// Removes all that the server keeps of a run.
    pub(crate) async fn forget_run(&self, run: &str) {
        let _ = self.jobs.purge().filter(self.names.jobs_of_run(run)).await;
        let _ = self.results.purge().filter(self.names.results_of_run(run)).await;
        let _ = self.results.delete_consumer(run).await;
        let _ = self.notices.purge().filter(self.names.notice(run)).await;
    }
}

/// Why a message is not acted on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("its signature does not match `AGENTV_CLUSTER_KEY`")]
    Forged,
    #[error("{0}")]
    Other(String),
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Unreadable> {
    serde_json::from_slice(body).map_err(|error| Unreadable::Other(error.to_string()))
}

/// The contents of an object, up to a length.
pub(crate) async fn read_object(
    store: &ObjectStore,
    name: &str,
    longest: usize,
) -> Result<Vec<u8>, String> {
    let object = store.get(name).await.map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let limit = longest as u64 + 1;
    object.take(limit).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
    if bytes.len() > longest {
        return Err(format!("it has more than {longest} bytes"));
    }
    Ok(bytes)
}

async fn connect(
    access: &ClusterAccess,
    name: &str,
    connected: &Arc<Mutex<SystemTime>>,
) -> Result<Client, ClusterError> {
    let unreachable =
        |reason: String| ClusterError::Unreachable { url: access.url.clone(), reason };
    let connected = Arc::clone(connected);
    let mut options = ConnectOptions::new()
        .event_callback(move |event| {
            let connected = Arc::clone(&connected);
            async move {
                if matches!(event, Event::Connected) {
                    *connected.lock().unwrap_or_else(PoisonError::into_inner) = SystemTime::now();
                }
            }
        })
        .name(format!("agentv {name}"))
        .connection_timeout(CONNECT_LIMIT)
        .request_timeout(Some(REQUEST_LIMIT))
        .ping_interval(Duration::from_secs(5))
        .subscription_capacity(1 << 16);
    options = match &access.login {
        Login::None => options,
        Login::Password { user, password } => {
            options.user_and_password(user.clone(), password.clone())
        }
        Login::Token(token) => options.token(token.clone()),
        Login::CredentialsFile(path) => options
            .credentials_file(path)
            .await
            .map_err(|error| unreachable(format!("`{}`: {error}", path.display())))?,
        Login::NkeyFile(path) => {
            let seed = agentv_runtime::file_input::read_to_string(path)
                .map_err(|error| unreachable(format!("`{}`: {error}", path.display())))?;
            options.nkey(seed.trim().to_owned())
        }
    };
    if let Some(ca) = &access.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &access.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    if access.url.starts_with("tls://") {
        options = options.require_tls(true);
    }
    let addresses: Vec<&str> = access.url.split(',').collect();
    options.connect(addresses).await.map_err(|error| unreachable(error.to_string()))
}

/// The next message of a subscription, until it is cancelled.
pub(crate) async fn next_message(
    subscriber: &mut async_nats::Subscriber,
    cancel: &CancellationToken,
) -> Option<async_nats::Message> {
    tokio::select! {
        () = cancel.cancelled() => None,
        message = subscriber.next() => message,
    }
}
