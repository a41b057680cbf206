//! What judges, scripts that judge, and scripts that ask through the target proxy say.

use crate::scratch;
use agentv_core::evaluator::EvalContext;
use agentv_core::record::evaluator_result;
use agentv_core::{
    CallContext, Candidate, EvalCase, EvaluatorError, NamedProvider, Provider, ProviderError,
    ProviderInfo, Request, Response, Targets, Verdict,
};
use agentv_runtime::config::Notes;
use agentv_runtime::evaluators::{evaluate_all, fuzzing};
use agentv_runtime::generate;
use agentv_runtime::load::{unrated, with_rubrics, yaml_value};
use agentv_wire::FailureKind;
use async_trait::async_trait;
use futures_util::task::noop_waker_ref;
use std::cell::OnceCell;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A model that always says the same. Every name is one of its names.
#[derive(Debug, Default)]
pub(crate) struct Parrot {
    said: Mutex<String>,
}

impl Parrot {
    pub(crate) fn say(&self, text: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.clear();
        said.push_str(text);
    }
}

#[async_trait]
impl Provider for Parrot {
    async fn invoke(&self, _: &Request, _: &CallContext) -> Result<Response, ProviderError> {
        Ok(Response::text(self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }

    fn info(&self) -> ProviderInfo {
        ProviderInfo::simulated("mock")
    }
}

/// Gives every judge the same model, but for one name.
#[derive(Debug, Default, Clone)]
pub(crate) struct Parrots(pub Arc<Parrot>);

impl Targets for Parrots {
    fn judge(&self) -> Result<NamedProvider, EvaluatorError> {
        self.named("judge")
    }

    fn named(&self, name: &str) -> Result<NamedProvider, EvaluatorError> {
        if name == "nobody" {
            return Err(EvaluatorError::new(FailureKind::Provider, "there is no such target"));
        }
        let provider: Arc<dyn Provider> = Arc::<Parrot>::clone(&self.0);
        Ok(NamedProvider { name: name.into(), provider })
    }

    fn names(&self) -> Vec<&str> {
        vec!["judge", "other"]
    }
}

/// Runs what never really waits.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(noop_waker_ref())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("waits for something that never comes"),
    }
}

/// One case for each way to ask a judge.
const SUITE: &str = "
evalcases:
  - {id: plain, input: q, criteria: c}
  - {id: named, input: q, criteria: c, evaluators: [{type: llm_judge, prompt: 'Grade {{ candidate_answer }}', max_asks: 1}]}
  - {id: checklist, input: q, criteria: c, evaluators: [{type: rubric, rubrics: [short, {id: a, expected_outcome: b, weight: 2, required: true}]}]}
  - {id: ranges, input: q, criteria: c, evaluators: [{type: rubric, rubrics: [{id: a, weight: 3, score_ranges: [{score_range: [0, 4], expected_outcome: bad}, {score_range: [5, 10], expected_outcome: good}]}]}]}
  - {id: panel, input: q, criteria: c, evaluators: [{type: llm_judge, judges: [judge, other, nobody], vote: median}]}
  - {id: composite, input: q, criteria: c, evaluators: [{type: composite, evaluators: [{name: x, type: llm_judge}, {name: y, type: equals, value: z}], aggregator: {type: llm_judge, prompt: 'Sum up {{EVALUATOR_RESULTS_JSON}}'}}]}
";

thread_local! {
    static CASES: OnceCell<Vec<Arc<EvalCase>>> = const { OnceCell::new() };
    static PARROTS: Parrots = Parrots::default();
}

fn suite() -> Vec<Arc<EvalCase>> {
    scratch::with(|scratch| {
        let cases = scratch.load(&scratch.file("judged.yaml", SUITE.as_bytes()));
        assert_eq!(cases.len(), 6, "the suite of the judges does not load");
        cases
    })
}

/// The first byte says how the judge is asked; the rest is its reply.
pub(crate) fn reply(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    PARROTS.with(|parrots| {
        parrots.0.say(&text);
        CASES.with(|cases| {
            let cases = cases.get_or_init(suite);
            match cases.get(usize::from(*which) % (cases.len() + 1)) {
                Some(case) => grade(case, parrots),
                None => write_rubrics(&parrots.0),
            }
        });
    });
}

fn grade(case: &EvalCase, parrots: &Parrots) {
    let candidate = Candidate::new(Response::text("an answer"), Duration::ZERO, &[]);
    let context = EvalContext {
        case,
        candidate: &candidate,
        question: "q",
        targets: parrots,
        call: &CallContext::quiet(),
    };
    for graded in at_once(evaluate_all(&case.evaluators, &context)) {
        let result = evaluator_result(graded);
        assert!((0.0..=1.0).contains(&result.score), "a score of {}", result.score);
    }
}

fn write_rubrics(parrot: &Parrot) {
    const SUITE: &str = "evalcases:\n  - id: a\n    input: b\n    criteria: c\n";
    let (cases, _) = unrated(SUITE, &mut Notes::new("")).expect("a suite");
    let call = CallContext::quiet();
    let rubrics = at_once(generate::rubrics(&cases[0], parrot, None, &call)).unwrap_or_default();
    let written = with_rubrics(SUITE, &[(cases[0].clone(), rubrics.clone())]);
    let read = yaml_value(&written).expect("a suite with new rubrics is YAML");
    let count = read["evalcases"][0]["rubrics"].as_array().map_or(0, Vec::len);
    assert_eq!(count, rubrics.len(), "{written}");
}

pub(crate) fn script_output(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for verdict in [fuzzing::script_verdict(bytes), fuzzing::aggregator_verdict(&text)] {
        verdict.iter().for_each(is_sound);
    }
}

fn is_sound(verdict: &Verdict) {
    assert!((0.0..=1.0).contains(&verdict.score.value()));
}

/// Everything that a script sends over one connection.
pub(crate) fn proxy_request(bytes: &[u8]) {
    let mut sent = Vec::new();
    serve(bytes, &mut sent);
    assert!(sent.is_empty() || sent.starts_with(b"HTTP/1."), "a reply that is not HTTP");
}

fn serve(bytes: &[u8], sent: &mut Vec<u8>) {
    PARROTS.with(|parrots| {
        parrots.0.say("said");
        let stream = Wire { unread: bytes, sent };
        let (call, mut context) = (CallContext::quiet(), Context::from_waker(noop_waker_ref()));
        let mut serving = pin!(fuzzing::proxy_connection(stream, parrots, &call));
        // A request that is not whole is waited for; this one will never be.
        let _ = serving.as_mut().poll(&mut context);
    });
}

/// A connection on which these bytes come in.
struct Wire<'b> {
    unread: &'b [u8],
    sent: &'b mut Vec<u8>,
}

impl AsyncRead for Wire<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.unread.is_empty() {
            return Poll::Pending;
        }
        let (now, later) = self.unread.split_at(self.unread.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.unread = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.sent.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: &str, expected: &str) {
        let mut sent = Vec::new();
        serve(request.as_bytes(), &mut sent);
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.contains(expected), "{sent}");
    }

    #[test]
    fn requests_reach_the_proxy() {
        let info = "GET /info HTTP/1.1\r\nauthorization: Bearer token\r\n\r\n";
        check(info, "\"targetName\":\"judge\"");
        let head = "POST /invoke HTTP/1.1\r\nauthorization: Bearer token\r\ncontent-length: 17";
        check(&format!("{head}\r\n\r\n{{\"question\": \"q\"}}"), "\"rawText\":\"said\"");
        check("GET /info HTTP/1.1\r\n\r\n", "401 Unauthorized");
    }
}
