//! The run: lanes of cases are asked and graded by a fixed pool of workers; one dispatcher owns the results file, the
//! display and the signals.

mod answer;
mod budget;
mod case;
mod dispatcher;
mod executor;
mod grade;
mod job;
mod limit;
mod outputs;
mod plan;
mod pool;
mod redact;
mod regrade;
mod resume;
mod self_judging;
mod suite_on_target;
mod workspace;

pub use answer::{Answer, AnswerSource, Batch, LiveTarget};
pub use budget::{Unmetered, unmetered};
pub use case::Work;
pub use dispatcher::{Ended, Run, RunOutcome, run};
pub use executor::{EventSink, Executed, Executor, LocalExecutor, broken};
pub(crate) use job::fingerprints;
pub use job::{BatchJob, Job, JobFile};
pub use limit::{Limit, Stop};
pub use outputs::{Outputs, Reporter};
pub use plan::{Plan, PlanChoice, plan, targets_of};
pub use pool::Pool;
pub use regrade::{RegradeError, Regraded, regrade};
pub use resume::{ResumeError, Resumed, resume};
pub use suite_on_target::{CaseFilter, PlannedTarget, PriorWork, SuiteOnTarget};

use std::time::Duration;

/// What holds for every case of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings {
    /// How long one attempt, or one program that grades, may take.
    pub agent_timeout: Option<Duration>,
    /// How often a timed-out case is asked again.
    pub max_retries: u32,
    /// Whether anybody wants to hear details.
    pub verbose: bool,
}
