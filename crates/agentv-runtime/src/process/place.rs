//! Room for programs: how many may run at a time, by the number of files that this process may have open.

use super::RunError;
use crate::open_files::{Room, RoomPermit, Share};
use agentv_core::CallContext;
use agentv_core::call::QueueTime;
use tokio_util::sync::CancellationToken;

/// For whom a program is run.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// Ends the program, or the wait for it.
    pub(super) cancel: &'a CancellationToken,
    /// Where a wait is noted that is not the program's.
    pub(super) queue_time: Option<&'a QueueTime>,
}

impl<'a> From<&'a CallContext> for Caller<'a> {
    fn from(call: &'a CallContext) -> Self {
        Self { cancel: &call.cancel, queue_time: Some(&call.queue_time) }
    }
}

impl<'a> From<&'a CancellationToken> for Caller<'a> {
    fn from(cancel: &'a CancellationToken) -> Self {
        Self { cancel, queue_time: None }
    }
}

/// All the room there is. Programs with a proxy have room of their own: their calls may be programs, which would otherwise
/// wait for the very programs that wait for them.
#[derive(Debug)]
pub(super) struct Places {
    programs: Room,
    with_proxy: Room,
    proxy_connections: Room,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            programs: Room::of(Share::Program),
            with_proxy: Room::of(Share::ProgramWithProxy),
            proxy_connections: Room::of(Share::ProxyConnection),
        }
    }
}

impl Places {
    /// Room for programs.
    pub(super) fn programs(&self) -> &Room {
        &self.programs
    }

    pub(super) fn with_proxy(&self) -> &Room {
        &self.with_proxy
    }

    pub(super) fn proxy_connections(&self) -> &Room {
        &self.proxy_connections
    }

    /// Whether at most one program runs.
    pub(super) fn is_alone(&self) -> bool {
        self.programs.taken() + self.with_proxy.taken() <= 1
    }
}

/// Waits for a place, unless the call is cancelled.
pub(super) async fn take<'a>(
    room: &'a Room,
    caller: Caller<'_>,
) -> Result<RoomPermit<'a>, RunError> {
    tokio::select! {
        biased;
        () = caller.cancel.cancelled() => Err(RunError::Cancelled),
        place = room.take(caller.queue_time) => place.ok_or(RunError::Cancelled),
    }
}
