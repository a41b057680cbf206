//! What happens to a job on a worker, on its way to the coordinator.

use super::Shared;
use super::runs::JoinedRun;
use crate::protocol::{AnsweredCase, Done, JobOutcome, Update, Wait};
use agentv_core::call::Waiting;
use agentv_core::{Answered, Log, LogLevel, Request, WorkId};
use agentv_runtime::run::{EventSink, Work};
use async_trait::async_trait;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedSemaphorePermit;

/// Sends what it hears.
pub(super) struct JobSink {
    shared: Arc<Shared>,
    run: Arc<JoinedRun>,
    token: String,
    /// The number of the job's message on the server.
    sequence: u64,
    log: Arc<dyn Log>,
    /// The slot, or the permit of a case that is graded without one. A lock and not a message: it is held for an exchange.
    held: Mutex<Option<OwnedSemaphorePermit>>,
    /// The answer, until it was sent.
    answer: Mutex<Option<AnsweredCase>>,
}

impl fmt::Debug for JobSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobSink").field("token", &self.token).finish_non_exhaustive()
    }
}

impl JobSink {
    pub(super) fn new(
        shared: &Arc<Shared>,
        joined: &Arc<JoinedRun>,
        (token, sequence): (&str, u64),
        slot: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            run: Arc::clone(joined),
            token: token.to_owned(),
            sequence,
            log: Arc::new(JobLog::new(joined, token)),
            held: Mutex::new(Some(slot)),
            answer: Mutex::default(),
        }
    }

    /// The answer, if the coordinator has not got it yet.
    pub(super) fn unsent_answer(&self) -> Option<AnsweredCase> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn update(&self, update: Update) {
        if self.run.notice.wants_updates {
            self.run.update(update);
        }
    }
}

#[async_trait]
impl EventSink for JobSink {
    async fn started(&self, _work: &Work) {
        self.update(Update::Started { token: self.token.clone() });
    }

    /// Where a program or a model grades, the answer is sent before: it was paid for, and grading may end this process.
    async fn answered(&self, work: &Work, request: &Request, answered: &Answered) {
        let is_free = work.on.target.provider.is_free();
        let is_kept = answered.is_kept || answered.outcome.is_err();
        let is_worth_keeping = !is_kept
            && answered.outcome.as_ref().is_ok_and(|response| !is_free || response.tells_steps());
        let case =
            AnsweredCase { answered: answered.clone(), has_workspace: request.workspace.is_some() };
        let is_graded_in_place =
            work.case.evaluators.iter().all(|entry| entry.evaluator.needs().is_in_place());
        if is_worth_keeping && !is_graded_in_place {
            let subject = self.shared.link.names.results_of_run(&self.run.notice.run);
            let outcome = JobOutcome {
                token: self.token.clone(),
                worker: self.shared.order.name.clone(),
                what: Done::Answered(Box::new(case)),
                notes: Vec::new(),
            };
            let id = format!("{}.{}.answered", self.token, self.sequence);
            let _ = self.shared.link.keep(&subject, &id, &outcome, &self.shared.stop).await;
        } else {
            *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(case);
        }
    }

    async fn grading(&self, _work: &Work) {
        self.update(Update::Grading { token: self.token.clone() });
    }

    async fn free_worker(&self) {
        let permit = Arc::clone(&self.shared.grading).acquire_owned().await.ok();
        let slot = std::mem::replace(
            &mut *self.held.lock().unwrap_or_else(PoisonError::into_inner),
            permit,
        );
        drop(slot);
    }

    fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }
}

/// Lines of plug-ins, in the order in which they were said.
#[derive(Debug)]
pub(super) struct JobLog {
    run: Arc<JoinedRun>,
    token: String,
}

impl JobLog {
    pub(super) fn new(run: &Arc<JoinedRun>, token: &str) -> Self {
        Self { run: Arc::clone(run), token: token.to_owned() }
    }
}

impl Log for JobLog {
    fn wants(&self, level: LogLevel) -> bool {
        level == LogLevel::Warning || self.run.notice.spec.verbose
    }

    fn say(&self, level: LogLevel, text: String) {
        if self.wants(level) {
            self.run.update(Update::Log { level, text });
        }
    }

    fn waiting(&self, work: &Arc<WorkId>, wait: Waiting) {
        if !self.run.notice.wants_updates {
            return;
        }
        let wait = Wait {
            work: (**work).clone(),
            target: wait.target.to_string(),
            reason: wait.reason,
            is_throttled: wait.is_throttled,
            attempt: wait.attempt,
            delay_ms: wait.delay.as_secs_f64() * 1000.0,
        };
        self.run.update(Update::Waiting { token: self.token.clone(), wait });
    }
}
