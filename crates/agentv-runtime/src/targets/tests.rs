//! Retries and limits around a provider that does as it is told, and around a real one that asks a fake server.

use super::limits::LimitBook;
use super::*;
use crate::providers::{Billing, CallPolicy, Made, RateLimits};
use agentv_core::provider::ProviderErrorKind;
use agentv_core::{
    BatchProvider, CallContext, EvalId, Log, LogLevel, Provider, ProviderError, ProviderInfo,
    Request, Response, RetryPolicy, TargetName,
};
use agentv_wire::TokenUsage;
use async_trait::async_trait;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

type Play = dyn Fn(usize) -> Result<Response, ProviderError> + Send + Sync;

/// Answers its calls as a function of their number, after a while.
struct Player {
    play: Box<Play>,
    takes: Duration,
    calls: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    times: Mutex<Vec<Instant>>,
}

impl std::fmt::Debug for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Player")
    }
}

#[async_trait]
impl Provider for Player {
    async fn invoke(&self, _: &Request, _: &CallContext) -> Result<Response, ProviderError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        self.times.lock().unwrap().push(Instant::now());
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(self.takes).await;
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        (self.play)(number)
    }

    fn info(&self) -> ProviderInfo {
        ProviderInfo::agent("player")
    }

    async fn prepare(&self, _: &CallContext) -> Result<(), ProviderError> {
        Err(ProviderError::failed("prepared"))
    }

    fn batch(&self) -> Option<&dyn BatchProvider> {
        Some(self)
    }
}

#[async_trait]
impl BatchProvider for Player {
    async fn invoke_batch(
        &self,
        _: &[Request],
        _: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        Ok(vec![])
    }
}

fn player(
    takes: Duration,
    play: impl Fn(usize) -> Result<Response, ProviderError> + Send + Sync + 'static,
) -> Arc<Player> {
    Arc::new(Player {
        play: Box::new(play),
        takes,
        calls: AtomicUsize::new(0),
        in_flight: AtomicUsize::new(0),
        most_in_flight: AtomicUsize::new(0),
        times: Mutex::default(),
    })
}

fn retrying() -> CallPolicy {
    CallPolicy { retry: Some(RetryPolicy::default()), ..CallPolicy::default() }
}

fn limited(rpm: u32, tpm: u32) -> CallPolicy {
    let rate = RateLimits { rpm: rpm.try_into().ok(), tpm: tpm.try_into().ok() };
    CallPolicy { rate, max_output_tokens: Some(1000), ..CallPolicy::default() }
}

fn around(player: &Arc<Player>, policy: CallPolicy, book: &LimitBook) -> Arc<dyn Provider> {
    let name = TargetName::from("t");
    let made = Made {
        provider: Arc::clone(player) as Arc<dyn Provider>,
        policy,
        billing: Billing::default(),
        environment: None,
    };
    Target::around(&name, made, |policy| book.of(Path::new("targets.yaml"), &name, policy))
}

fn target(player: &Arc<Player>, policy: CallPolicy) -> Arc<dyn Provider> {
    around(player, policy, &LimitBook::default())
}

fn request() -> Request {
    Request::plain(&EvalId::from("case-1"), "Why?".to_owned())
}

async fn ask(target: &Arc<dyn Provider>) -> Result<Response, ProviderError> {
    target.invoke(&request(), &CallContext::quiet()).await
}

/// Asks this many times at once.
async fn ask_all(target: &Arc<dyn Provider>, count: usize) -> Vec<Result<Response, ProviderError>> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..count {
        let target = Arc::clone(target);
        tasks.spawn(async move { ask(&target).await });
    }
    tasks.join_all().await
}

fn status(status: u16) -> Result<Response, ProviderError> {
    Err(ProviderError::http(status, None, format!("HTTP {status}")))
}

#[tokio::test(start_paused = true)]
async fn a_call_is_repeated_until_it_is_answered() {
    let player = player(Duration::ZERO, |number| match number {
        0 => status(503),
        1 => Err(ProviderError::network("reset")),
        2 => status(429),
        _ => Ok(Response::text("ok")),
    });
    let response = ask(&target(&player, retrying())).await.unwrap();
    assert_eq!((response.text.as_deref(), &response.metadata["tries"]), (Some("ok"), &4.into()));
    assert_eq!(response.reported.duration_ms, Some(0.0), "waits are not the model's time");
    let times = player.times.lock().unwrap();
    let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
    for (gap, expected) in gaps.zip([1.0, 2.0, 4.0]) {
        assert!((gap / expected - 1.0).abs() < 0.27, "{gap} s instead of {expected} s");
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_last_try_the_error_says_how_often_it_was_tried() {
    let player = player(Duration::ZERO, |_| status(500));
    let error = ask(&target(&player, retrying())).await.unwrap_err();
    assert_eq!(error.message, "HTTP 500 (after 4 tries)");
    assert_eq!((error.http_status(), &error.metadata["tries"]), (Some(500), &4.into()));
    assert_eq!(player.calls.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_and_a_timeout_are_not_repeated() {
    let refused = player(Duration::ZERO, |_| status(401));
    let error = ask(&target(&refused, retrying())).await.unwrap_err();
    assert_eq!((error.message.as_str(), error.metadata.get("tries")), ("HTTP 401", None));
    let late = player(Duration::ZERO, |_| Err(ProviderError::timed_out("it", Duration::ZERO)));
    assert!(ask(&target(&late, retrying())).await.unwrap_err().is_timeout());
    assert_eq!((refused.calls.load(Ordering::SeqCst), late.calls.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_wait_at_once() {
    let failing = player(Duration::ZERO, |_| status(503));
    let throttled = player(Duration::ZERO, |_| Ok(Response::text("ok")));
    let slow = target(&throttled, limited(1, 0));
    ask(&slow).await.unwrap();
    for waiting in [target(&failing, retrying()), slow] {
        let cx = CallContext::quiet();
        let (started, asked) = (Instant::now(), request());
        let stop = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cx.cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(waiting.invoke(&asked, &cx), stop);
        assert_eq!(outcome.unwrap_err().kind, ProviderErrorKind::Cancelled);
        assert!(started.elapsed() < Duration::from_millis(200));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_keep_to_their_rate_whoever_makes_them() {
    let player = player(Duration::ZERO, |_| Ok(Response::text("ok")));
    let book = LimitBook::default();
    let targets = [(); 2].map(|()| around(&player, limited(60, 0), &book));
    let started = Instant::now();
    let (first, second) = tokio::join!(ask_all(&targets[0], 10), ask_all(&targets[1], 10));
    assert!(first.iter().chain(&second).all(Result::is_ok));
    // Ten at once, then one in a second.
    let took = started.elapsed().as_secs_f64();
    assert!((9.9..10.5).contains(&took), "{took} s");
}

#[tokio::test(start_paused = true)]
async fn standing_in_line_is_not_the_targets_time() {
    let player = player(Duration::from_secs(1), |_| Ok(Response::text("ok")));
    let target = target(&player, limited(1, 0));
    ask(&target).await.unwrap();
    let cx = CallContext::quiet();
    let asked = request();
    let answering = target.invoke(&asked, &cx);
    let limit = Some(Duration::from_secs(2));
    let response = crate::deadline::within(limit, answering, &cx, "it").await.unwrap();
    assert_eq!(response.reported.duration_ms, Some(1000.0));
    assert!(cx.queue_time.waited() > Duration::from_secs(50));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_reserved_by_estimate_and_settled_by_use() {
    let used = |input: f64| {
        let mut response = Response::text("ok");
        response.reported.token_usage = Some(TokenUsage { input, output: 0.0, cached: None });
        Ok(response)
    };
    let run = async |play: Box<Play>| {
        let target = target(&player(Duration::ZERO, play), limited(0, 6000));
        let started = Instant::now();
        for _ in 0..4 {
            let _ = ask(&target).await;
        }
        started.elapsed().as_secs_f64()
    };
    // Each is estimated at 1001 tokens; a burst has 1000 and a second brings 100.
    let frugal = run(Box::new(move |_| used(10.0))).await;
    assert!(frugal < 0.1, "{frugal} s");
    let lavish = run(Box::new(move |_| used(2000.0))).await;
    assert!((49.0..52.0).contains(&lavish), "{lavish} s");
    let silent = run(Box::new(|_| Ok(Response::text("ok")))).await;
    assert!((19.0..22.0).contains(&silent), "{silent} s");
    let failing = run(Box::new(|_| status(500))).await;
    assert!(failing < 0.1, "{failing} s");
}

#[tokio::test(start_paused = true)]
async fn tokens_that_were_not_used_let_the_next_go_at_once() {
    let player = player(Duration::from_millis(100), |_| {
        let mut response = Response::text("ok");
        response.reported.token_usage = Some(TokenUsage { input: 1.0, output: 1.0, cached: None });
        Ok(response)
    });
    let started = Instant::now();
    ask_all(&target(&player, limited(0, 6000)), 50).await;
    // By their estimates alone, fifty calls would take more than eight minutes.
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

#[derive(Debug, Default)]
struct Said(Mutex<Vec<String>>);

impl Log for Said {
    fn wants(&self, _: LogLevel) -> bool {
        true
    }

    fn say(&self, _: LogLevel, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_calls_for_their_number_gets_fewer_until_it_answers() {
    // Twenty calls at once are refused once; from then on everything is answered.
    let player = player(Duration::from_millis(10), |number| {
        if number < 20 { status(429) } else { Ok(Response::text("ok")) }
    });
    let target = target(&player, retrying());
    let log = Arc::new(Said::default());
    let cx = CallContext { log: Arc::clone(&log) as Arc<dyn Log>, ..CallContext::quiet() };
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (target, cx) = (Arc::clone(&target), cx.clone());
        tasks.spawn(async move { target.invoke(&request(), &cx).await });
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(player.most_in_flight.swap(0, Ordering::SeqCst), 20);
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert!(player.most_in_flight.load(Ordering::SeqCst) <= 12);
    let said = log.0.lock().unwrap().clone();
    let narrowed = "t: too many requests; at most 10 at once from now on";
    assert_eq!(said.iter().filter(|line| *line == narrowed).count(), 1, "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("t: case-1 retries in ")), "{said:?}");

    for _ in 0..10 {
        ask_all(&target, 20).await;
    }
    assert_eq!(player.most_in_flight.load(Ordering::SeqCst), 20, "all is as before");
}

#[tokio::test(start_paused = true)]
async fn a_broken_server_is_asked_by_as_many_as_before() {
    let player = player(Duration::from_millis(10), |number| {
        if number < 20 { status(503) } else { Ok(Response::text("ok")) }
    });
    let policy = CallPolicy {
        retry: Some(RetryPolicy { initial_delay: Duration::ZERO, ..RetryPolicy::default() }),
        ..CallPolicy::default()
    };
    let target = target(&player, policy);
    assert!(ask_all(&target, 20).await.iter().all(Result::is_ok));
    player.most_in_flight.store(0, Ordering::SeqCst);
    ask_all(&target, 20).await;
    assert_eq!(player.most_in_flight.load(Ordering::SeqCst), 20);
}

#[tokio::test]
async fn everything_else_is_the_providers_own() {
    let player = player(Duration::ZERO, |_| Ok(Response::text("ok")));
    let wrapped = target(&player, retrying());
    assert_eq!(wrapped.info(), player.info());
    assert_eq!(wrapped.prepare(&CallContext::quiet()).await.unwrap_err().message, "prepared");
    assert!(wrapped.batch().is_some());
    let bare = target(&player, CallPolicy::default());
    assert_eq!(format!("{bare:?}"), "Player", "nothing is put around it without need");
}
