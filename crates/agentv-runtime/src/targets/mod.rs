//! Targets: providers by name, built when they are first needed, with retries and limits around them.

mod book;
mod calls;
mod gate;
mod judge_calls;
mod limits;
mod metered;
mod rate;
mod redacted;
mod shared;
mod spending;
#[cfg(test)]
mod tests;

pub use book::{CallServices, Judge, JudgeTargets, TargetBook, TargetError};
pub use calls::Target;
pub use limits::LimitBook;
pub use shared::{JudgeLimit, JudgeTurn, LocalLimits, SharedLimits, TargetRate};
pub use spending::{CallSpend, Overrun, SettledCall, Spending};
