//! Runs on more than one machine, over NATS `JetStream`.
//!
//! ```text
//!  agentv eval --cluster               NATS JetStream                     agentv worker
//!  Coordinator (an Executor) ── job ──► stream of jobs ── pull ──► Slots ─► LocalExecutor
//!        ▲                              stream of results ◄──────── record
//!        └── budget, rates, cache ◄──── requests ◄──────────────── SharedLimits
//! ```
//!
//! The queue, its acknowledgements and redeliveries are the server's. Plan, journal, results, budget and gates stay with the
//! coordinator; a worker has its own targets and secrets.

mod access;
mod control;
mod coordinator;
mod files;
mod link;
mod names;
mod protocol;
mod seal;
mod worker;

pub use access::{AccessError, ClusterAccess, DEFAULT_PREFIX, KEY_VARIABLE, without_login};
pub use control::{ClusterStatus, QueueStatus, cancel, drain, status};
pub use coordinator::{Coordinator, CoordinatorOrder};
pub use link::{ClusterError, ClusterLink};
pub use protocol::{RunReport, WorkerReport};
pub use seal::{ClusterKey, new_key};
pub use worker::{Worker, WorkerEvent, WorkerOrder};
