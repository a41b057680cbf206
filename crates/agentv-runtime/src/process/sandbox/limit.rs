//! Limits that a program ran into.

use std::fmt;
use std::time::Duration;

/// The limit of its sandbox for which a program was ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExceededLimit {
    MemoryMb(u64),
    CpuSeconds(f64),
    Processes(u64),
    Seconds(Duration),
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MemoryMb(limit) => {
                write!(f, "it used more than {limit} MB of memory (`memory_mb`)")
            }
            Self::CpuSeconds(limit) => {
                write!(f, "it used more than {limit} seconds of processor time (`cpu_seconds`)")
            }
            Self::Processes(limit) => write!(f, "it had more than {limit} processes (`processes`)"),
            Self::Seconds(limit) => {
                write!(f, "it ran for more than {} seconds (`seconds`)", limit.as_secs_f64())
            }
        }
    }
}
