//! Where a piece of work is done: here, or on another machine.

use super::RunSettings;
use super::answer::{AnswerSource, Batch};
use super::case::{CaseContext, Work, asked, run_case, timestamp};
use agentv_core::record;
use agentv_core::{Answered, CallContext, Log, ProviderError, Request, Response, WorkId, prompt};
use agentv_wire::ResultRecord;
use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Does one piece of work after the other. Plan, budget, journal, results, resume and gates stay with the run.
#[async_trait]
pub trait Executor: fmt::Debug + Send + Sync {
    /// Answers and grades. The sink hears of the answer before it is graded. A failure of the target or of a grader is in
    /// the record.
    async fn execute(
        &self,
        work: &Work,
        source: Box<dyn AnswerSource>,
        sink: &dyn EventSink,
        cancel: &CancellationToken,
    ) -> Executed;

    /// Asks for the answers of a batch, in the order of its requests.
    async fn ask_batch(
        &self,
        batch: Batch<'_>,
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError>;

    /// The record of a piece of work is on file. Whatever was kept for it elsewhere is not needed any more.
    fn recorded(&self, _work: &WorkId) {}

    /// Limits how many pieces of work are under way; `None` where the workers of the targets are the only limit.
    fn permits(&self) -> Option<Arc<Semaphore>> {
        None
    }
}

/// What came of a piece of work.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executed {
    Recorded(Box<ResultRecord>),
    /// The run was stopped before there was a record.
    Stopped,
}

/// Hears how a piece of work comes along.
#[async_trait]
pub trait EventSink: fmt::Debug + Send + Sync {
    /// The work has begun.
    async fn started(&self, work: &Work);

    /// There is an answer, or an error instead. When this returns, it is kept.
    async fn answered(&self, work: &Work, request: &Request, answered: &Answered);

    /// Grading begins.
    async fn grading(&self, work: &Work);

    /// The target's worker is not needed any more. Returns once there is room for one more case that is only graded.
    async fn free_worker(&self);

    /// Takes down what is said meanwhile.
    fn log(&self) -> &Arc<dyn Log>;
}

/// Does the work in this process.
#[derive(Debug)]
pub struct LocalExecutor {
    pub settings: RunSettings,
}

#[async_trait]
impl Executor for LocalExecutor {
    async fn execute(
        &self,
        work: &Work,
        source: Box<dyn AnswerSource>,
        sink: &dyn EventSink,
        cancel: &CancellationToken,
    ) -> Executed {
        sink.started(work).await;
        let cx = CaseContext {
            work,
            settings: self.settings,
            cancel,
            log: sink.log(),
            sink,
            calls: Arc::default(),
        };
        // A bug in a case becomes its record instead of the end of the run.
        match AssertUnwindSafe(run_case(source, &cx)).catch_unwind().await {
            Ok(Some(record)) => Executed::Recorded(record),
            Ok(None) => Executed::Stopped,
            Err(panic) => Executed::Recorded(of_panic(work, &*panic)),
        }
    }

    async fn ask_batch(
        &self,
        batch: Batch<'_>,
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        batch.ask(cx).await
    }
}

fn of_panic(work: &Work, panic: &(dyn std::any::Any + Send)) -> Box<ResultRecord> {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let reason = text.unwrap_or("no reason given");
    broken(work, format!("AgentV has a bug: it panicked on this case: {reason}"))
}

/// The record of a case that failed in a way that is not the target's.
pub fn broken(work: &Work, message: String) -> Box<ResultRecord> {
    let error = ProviderError::failed(message);
    let request = prompt::build(&work.case, work.on.target.provider.info().prompt_mode);
    record::failed(&work.case, asked(request, work), &error, timestamp())
}
