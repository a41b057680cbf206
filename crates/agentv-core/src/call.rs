//! What every call of a provider or grader is given besides its question.

use crate::{EvaluatorName, LogLevel, Request, TargetName, WorkId};
use agentv_wire::event::WaitReason;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The context of one call.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Cancelled when the user stops the run or the attempt's time is over. Whoever waits, waits for this too.
    pub cancel: CancellationToken,
    /// How long a program that grades may take, unless its own configuration says otherwise.
    pub time_limit: Option<Duration>,
    /// Where to say what is neither an answer nor an error.
    pub log: Arc<dyn Log>,
    /// What of the call's time is not the target's.
    pub queue_time: Arc<QueueTime>,
    /// Who asks, and for the how many-th time.
    pub purpose: Purpose,
    /// Set by a reader who may find the answer unusable.
    pub on_accepted: Option<Arc<OnAccepted>>,
    /// Shared by all calls of the same case.
    pub case: Arc<CaseCalls>,
}

/// What all calls of a case share.
#[derive(Debug, Default)]
pub struct CaseCalls {
    was_refused: AtomicBool,
    /// A lock and not a message: counting is quick, and a script may ask many things at once.
    asks: Mutex<HashMap<Ask, u32>>,
}

/// Who asks whom, the system prompt, and what is asked.
type Ask = (Option<EvaluatorName>, TargetName, Option<String>, String);

impl CaseCalls {
    /// A call is not made, since the run may spend no more.
    pub fn refuse(&self) {
        self.was_refused.store(true, Ordering::Release);
    }

    /// Whether a call was not made. The case has no result then, whatever else came of it.
    pub fn was_refused(&self) -> bool {
        self.was_refused.load(Ordering::Acquire)
    }

    /// The how many-th time this is asked.
    fn count(&self, ask: Ask) -> u32 {
        let mut asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asks.entry(ask).or_default();
        *count += 1;
        *count
    }
}

/// What a call is for. Whoever remembers answers tells calls apart by it.
#[derive(Debug, Clone)]
pub struct Purpose {
    pub role: Role,
    /// The work that it is done for; `None` outside of a run. In a batch call, each request has an id of its own.
    pub work: Option<Arc<WorkId>>,
    /// Who grades; a member of a composite is `composite/member`.
    pub evaluator: Option<EvaluatorName>,
    /// The how many-th time that this grader asks the same target the same, from 1.
    pub repetition: u32,
}

impl Default for Purpose {
    fn default() -> Self {
        Self { role: Role::Candidate, work: None, evaluator: None, repetition: 1 }
    }
}

impl Purpose {
    /// Which trial of its case, from 0.
    pub fn trial(&self) -> u32 {
        self.work.as_ref().map_or(0, |work| work.trial)
    }

    /// The trial, as it tells kept answers apart: the first trial is the one of a case that is run once.
    pub fn later_trial(&self) -> Option<u32> {
        Some(self.trial()).filter(|trial| *trial > 0)
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The run, for the answer that is graded.
    Candidate,
    /// A model that grades.
    Judge,
    /// A script that grades, through the target proxy.
    Proxy,
}

/// Lets an answer be remembered only once its reader could make something of it. A lock and not a message: it is taken by
/// one call and its one reader, after each other.
#[derive(Default)]
pub struct OnAccepted(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl OnAccepted {
    /// Does this when the answer is accepted, or never.
    pub fn then(&self, remember: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(remember));
    }

    /// The answer is good.
    pub fn accept(&self) {
        let remember = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(remember) = remember {
            remember();
        }
    }
}

impl fmt::Debug for OnAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAccepted")
    }
}

/// How long a call has stood in line, for its target's rate limit or for a place among the calls in flight. A time limit
/// is meant for the target, so it does not count this. Whoever waits has a clock and tells; there is none here.
#[derive(Debug, Default)]
pub struct QueueTime {
    standing: AtomicUsize,
    microseconds: AtomicU64,
}

impl QueueTime {
    /// The wait begins.
    pub fn enter(&self) {
        self.standing.fetch_add(1, Ordering::SeqCst);
    }

    /// It is over, after this long.
    pub fn leave(&self, waited: Duration) {
        let microseconds = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::SeqCst);
        self.standing.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether the call waits right now.
    pub fn is_waiting(&self) -> bool {
        self.standing.load(Ordering::SeqCst) > 0
    }

    /// How long all waits took that are over.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.microseconds.load(Ordering::SeqCst))
    }
}

/// A call that has to wait before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The target that is called.
    pub target: TargetName,
    pub reason: WaitReason,
    /// Whether the server refused the attempt before because there were too many requests.
    pub is_throttled: bool,
    /// Which attempt it waits for, from 1.
    pub attempt: u32,
    /// For how long, as far as is known.
    pub delay: Duration,
}

/// Takes what a plug-in has to say to the user. It must not block.
pub trait Log: fmt::Debug + Send + Sync {
    /// Whether anybody wants to hear this; asked before a costly text is made.
    fn wants(&self, level: LogLevel) -> bool;
    fn say(&self, level: LogLevel, text: String);

    /// A call for this work has to wait.
    fn waiting(&self, _work: &Arc<WorkId>, _wait: Waiting) {}
}

impl dyn Log {
    /// Something is odd, though the work goes on.
    pub fn warn(&self, text: impl Into<String>) {
        self.say(LogLevel::Warning, text.into());
    }

    /// For people who asked for details.
    pub fn verbose(&self, text: impl FnOnce() -> String) {
        if self.wants(LogLevel::Verbose) {
            self.say(LogLevel::Verbose, text());
        }
    }
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLog;

impl Log for NoLog {
    fn wants(&self, _level: LogLevel) -> bool {
        false
    }

    fn say(&self, _level: LogLevel, _text: String) {}
}

impl CallContext {
    /// Tells whoever watches that this call has to wait.
    pub fn waits(&self, wait: Waiting) {
        if let Some(work) = &self.purpose.work {
            self.log.waiting(work, wait);
        }
    }

    /// A context that is never cancelled and whose events are dropped, for tests and probes.
    pub fn quiet() -> Self {
        Self::new(CancellationToken::new(), None, Arc::new(NoLog))
    }

    /// The first call of a case, or one that belongs to none.
    pub fn new(cancel: CancellationToken, time_limit: Option<Duration>, log: Arc<dyn Log>) -> Self {
        Self {
            cancel,
            time_limit,
            log,
            queue_time: Arc::default(),
            purpose: Purpose::default(),
            on_accepted: None,
            case: Arc::default(),
        }
    }

    /// The same for a piece of work.
    #[must_use]
    pub fn for_work(mut self, work: Arc<WorkId>) -> Self {
        self.purpose.work = Some(work);
        self
    }

    /// The context of a call inside this one, which can be stopped on its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            cancel: self.cancel.child_token(),
            queue_time: Arc::default(),
            on_accepted: None,
            ..self.clone()
        }
    }

    /// The context of an evaluator's work on a case.
    #[must_use]
    pub fn graded_by(&self, evaluator: &EvaluatorName) -> Self {
        let evaluator = Some(match &self.purpose.evaluator {
            Some(outer) => EvaluatorName::from(format!("{outer}/{evaluator}")),
            None => evaluator.clone(),
        });
        let purpose = Purpose { role: Role::Judge, evaluator, ..self.purpose.clone() };
        Self { purpose, ..self.clone() }
    }

    /// The context of one question that a grader asks a target.
    #[must_use]
    pub fn asking(&self, role: Role, target: &TargetName, request: &Request) -> Self {
        let repetition = self.case.count((
            self.purpose.evaluator.clone(),
            target.clone(),
            request.system_prompt.clone(),
            request.question.clone(),
        ));
        Self { purpose: Purpose { role, repetition, ..self.purpose.clone() }, ..self.child() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvalId;

    fn request(question: &str) -> Request {
        Request::plain(&EvalId::from("one"), question.to_owned())
    }

    #[test]
    fn asks_are_counted_by_evaluator_target_and_question() {
        let (judge, other) = (TargetName::from("judge"), TargetName::from("other"));
        let call = CallContext::quiet().graded_by(&EvaluatorName::from("good"));
        let ask = |call: &CallContext, target: &TargetName, question: &str| {
            call.child().asking(Role::Judge, target, &request(question)).purpose.repetition
        };
        assert_eq!([ask(&call, &judge, "a"), ask(&call, &judge, "a")], [1, 2]);
        assert_eq!([ask(&call, &judge, "b"), ask(&call, &other, "a")], [1, 1]);
        let member = call.graded_by(&EvaluatorName::from("inner"));
        assert_eq!(ask(&member, &judge, "a"), 1);
        assert_eq!(member.purpose.evaluator, Some(EvaluatorName::from("good/inner")));
    }

    #[test]
    fn what_is_not_accepted_is_not_done() {
        let done = Arc::new(AtomicUsize::new(0));
        let on_accepted = OnAccepted::default();
        let count = Arc::clone(&done);
        on_accepted.then(move || {
            count.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(done.load(Ordering::SeqCst), 0);
        on_accepted.accept();
        on_accepted.accept();
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }
}
