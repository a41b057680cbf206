//! The messages of a cluster. Both sides are the same version of AgentV: the version is part of what is compared.

use agentv_core::{Answered, LogLevel, Response, WorkId};
use agentv_runtime::load::Labels;
use agentv_runtime::run::{BatchJob, Job};
use agentv_runtime::targets::{CallSpend, Overrun, SettledCall};
use agentv_wire::event::WaitReason;
use agentv_wire::{ResultRecord, RunSpec};
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

/// The version of all messages.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/1");

/// What workers must know of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunNotice {
    pub version: String,
    pub run: String,
    pub spec: RunSpec,
    /// The directory of the run and of its project, from the repository's root.
    pub working_dir: PathBuf,
    pub project_root: PathBuf,
    /// Whether the run shows when cases are started, answered and graded.
    pub wants_updates: bool,
}

/// What a worker is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobOrder {
    Case(Box<Job>),
    Batch(Box<BatchJob>),
}

/// What a worker did, kept by the server until the coordinator has it on file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobOutcome {
    /// Names the job.
    pub token: String,
    pub worker: String,
    pub what: Done,
    /// What the coordinator was to be told before, and has not heard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ServiceCall>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    /// There is an answer, and grading takes a while.
    Answered(Box<AnsweredCase>),
    /// The record, with the answer if that was not sent before.
    Recorded {
        record: Box<ResultRecord>,
        answered: Option<Box<AnsweredCase>>,
    },
    Batch(Result<Vec<Response>, String>),
    /// There is no record: the run may spend no more.
    Stopped,
    /// The job cannot be done by this worker.
    Refused {
        reason: String,
    },
    /// The job was started so often, and each time its worker was gone before the end.
    Deadly {
        starts: i64,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AnsweredCase {
    pub answered: Answered,
    pub has_workspace: bool,
}

/// What is only shown: it may be lost.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Update {
    Started { token: String },
    Grading { token: String },
    Waiting { token: String, wait: Wait },
    Log { level: LogLevel, text: String },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Wait {
    pub work: WorkId,
    pub target: String,
    pub reason: WaitReason,
    pub is_throttled: bool,
    pub attempt: u32,
    pub delay_ms: f64,
}

/// A question to the coordinator of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServiceCall {
    /// The same when it is sent again.
    pub id: String,
    pub worker: String,
    pub what: Service,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Service {
    Reserve(CallSpend),
    Settle(SettledCall),
    Stop(Overrun),
    Acquire {
        rate: SentRate,
        tokens: f64,
    },
    Correct {
        rate: SentRate,
        estimated: f64,
        used: f64,
    },
    JudgeTurn {
        target: String,
        workers: NonZeroUsize,
    },
    /// Gives a turn back, named by the call that got it.
    EndTurn {
        turn: String,
    },
    /// Whether the run still waits for a job: a server that was killed may hand out what is done.
    IsWanted {
        token: String,
    },
    Find {
        key: String,
    },
    Keep {
        key: String,
        response: Box<Response>,
    },
}

/// The rate of a target, as the worker's file has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SentRate {
    pub target: String,
    pub rpm: Option<NonZeroU32>,
    pub tpm: Option<NonZeroU32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServiceReply {
    /// It takes a while; another reply follows.
    Wait {
        seconds: f64,
    },
    Done,
    NotWanted,
    /// Another worker works on it, as far as is known.
    Busy,
    Refused(Overrun),
    Found(Option<Box<Response>>),
}

/// An order for members of the cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Control {
    /// Everyone says how they are.
    Report,
    /// This worker finishes what it does and takes no more.
    Drain { worker: String },
    /// This run is stopped by its coordinator, as by Ctrl-C.
    Cancel { run: String },
    /// This run is over: nothing of it is worked on any more.
    Ended { run: String },
}

/// How a member is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Worker(WorkerReport),
    Run(RunReport),
}

/// How a worker is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    pub name: String,
    pub version: String,
    pub labels: Labels,
    /// How many cases it runs at a time.
    pub slots: usize,
    pub busy: usize,
    /// Cases that it has done since it was started.
    pub done: u64,
    /// Jobs whose signature was wrong.
    pub forged: u64,
    pub is_draining: bool,
    /// The tokens of the jobs that it works on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<String>,
}

/// How a run is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    pub run: String,
    pub total: usize,
    pub done: usize,
    pub host: String,
}
