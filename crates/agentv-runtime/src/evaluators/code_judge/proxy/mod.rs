//! The target proxy: through it a script asks models without ever seeing a key. It listens on loopback for one run of one
//! script, behind a token of its own, and answers no more calls than it may.
//!
//! It is a future that is polled beside the script and no task: when the script ends, or the case is dropped, the listener,
//! its connections and the calls they wait for are gone with it.

mod meter;
mod routes;

pub(super) use meter::Use;

use crate::open_files::{Room, RoomPermit, is_shortage};
use agentv_core::{CallContext, EvaluatorError, NamedProvider, Targets};
use agentv_wire::{FailureKind, env};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use meter::Meter;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Between two tries, where there are too many open files.
const PAUSE: Duration = Duration::from_millis(20);

/// A proxy that listens, for one run of one script.
pub(super) struct TargetProxy<'a> {
    listener: TcpListener,
    proxy: ProxyState<'a>,
}

/// What every request is answered from.
struct ProxyState<'a> {
    /// 64 hexadecimal digits, new each time.
    token: String,
    /// The target of requests that name none.
    judge: NamedProvider,
    meter: Meter,
    targets: &'a dyn Targets,
    call: &'a CallContext,
}

impl<'a> TargetProxy<'a> {
    /// Binds a port. Without a judge to offer there is no proxy, and the script must not be started.
    pub(super) async fn start(
        max_calls: u64,
        targets: &'a dyn Targets,
        call: &'a CallContext,
    ) -> Result<Self, EvaluatorError> {
        let judge = targets.judge().map_err(|error| {
            let message = format!(
                "the script may call a judge, but no judge is configured: {}",
                error.message
            );
            EvaluatorError::new(FailureKind::Provider, message)
        })?;
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            EvaluatorError::new(FailureKind::Provider, format!("the target proxy {what}: {error}"))
        };
        let token = token().map_err(|error| failed("has no random token", &error))?;
        let listener = listen(call).await;
        let listener = listener.map_err(|error| failed("cannot listen on 127.0.0.1", &error))?;
        Ok(Self {
            listener,
            proxy: ProxyState { token, judge, meter: Meter::new(max_calls), targets, call },
        })
    }

    /// Where it listens.
    pub(super) fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// What the script needs to find its way, under both generations of names.
    pub(super) fn env(&self) -> io::Result<Vec<(String, String)>> {
        let url = format!("http://{}", self.listener.local_addr()?);
        let urls = env::PROXY_URL.map(|name| (name.to_owned(), url.clone()));
        let tokens = env::PROXY_TOKEN.map(|name| (name.to_owned(), self.proxy.token.clone()));
        Ok(urls.into_iter().chain(tokens).collect())
    }

    /// Answers requests for as long as it is polled. Where there is no room for more connections, the next ones wait to be
    /// accepted.
    pub(super) async fn serve(&self, room: &Room) {
        let mut connections = FuturesUnordered::new();
        loop {
            let accepting = async {
                let place = room.take(None).await;
                self.listener.accept().await.map(|(stream, _)| (stream, place))
            };
            tokio::select! {
                accepted = accepting => match accepted {
                    Ok((stream, place)) => connections.push(self.connection(stream, place)),
                    // A client that has gone, or too many open files, of which some will be closed soon.
                    Err(_) => wait_while(&mut connections).await,
                },
                Some(()) = connections.next(), if !connections.is_empty() => {}
            }
        }
    }

    async fn connection(&self, stream: TcpStream, _place: Option<RoomPermit<'_>>) {
        self.proxy.connection(stream).await;
    }

    /// What the script made of it.
    pub(super) fn used(&self) -> Use {
        self.proxy.meter.used(self.proxy.judge.name.as_str())
    }
}

impl ProxyState<'_> {
    async fn connection(&self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let answer = service_fn(|request| routes::answer(request, self));
        // One request for each connection: one that is kept open for later would take the place of another. A client that
        // goes away in the middle is its own business.
        let mut server = http1::Builder::new();
        let _ = server.keep_alive(false).serve_connection(TokioIo::new(stream), answer).await;
    }
}

/// One connection, without a port; the token is `token`.
#[cfg(feature = "fuzzing")]
pub(in crate::evaluators) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    targets: &dyn Targets,
    call: &CallContext,
) -> Result<(), EvaluatorError> {
    let (token, judge, meter) = ("token".to_owned(), targets.judge()?, Meter::new(8));
    ProxyState { token, judge, meter, targets, call }.connection(stream).await;
    Ok(())
}

/// Binds a port, and waits if there are too many open files.
async fn listen(call: &CallContext) -> io::Result<TcpListener> {
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await {
            Err(error) if is_shortage(&error) && !call.cancel.is_cancelled() => sleep(PAUSE).await,
            bound => return bound,
        }
    }
}

/// Pauses, while the connections that there are go on.
async fn wait_while(connections: &mut FuturesUnordered<impl Future<Output = ()>>) {
    let answering = async {
        while connections.next().await.is_some() {}
        std::future::pending::<()>().await;
    };
    let _ = timeout(PAUSE, answering).await;
}

/// 256 random bits.
fn token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}
