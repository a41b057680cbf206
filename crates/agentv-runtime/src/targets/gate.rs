//! How many calls to a target are in flight. As many as there are workers, until the server says that this is too much.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Shrinks when a server refuses calls for their number, grows back while it answers.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// A lock and not a message: it is held for a few instructions, never over a wait.
    state: Mutex<State>,
    /// Tells one waiter that there may be room.
    room: Notify,
}

#[derive(Debug, Default)]
struct State {
    in_flight: usize,
    /// `None` while no server has complained.
    narrowed: Option<Narrowed>,
    /// Counts the times that it narrowed. Calls that started before the last time say nothing about the new width.
    round: u64,
}

#[derive(Debug, Clone, Copy)]
struct Narrowed {
    /// Calls that may be in flight.
    allowed: usize,
    /// Answers since the last change; a round is as many as may be in flight.
    answered: usize,
    /// The width from which on there was no need to narrow.
    full: usize,
}

/// What a finished call did to the gate, for people who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Narrowed {
        allowed: usize,
    },
    /// As wide again as before the first complaint.
    Restored,
}

/// The right to have one call in flight. Dropped without a word, it only makes room.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    gate: &'a Gate,
    round: u64,
}

impl Gate {
    /// Waits for room. Dropping the future leaves nothing behind.
    pub(super) async fn enter(&self) -> Pass<'_> {
        loop {
            let room = self.room.notified();
            if let Some(pass) = self.try_enter() {
                return pass;
            }
            room.await;
        }
    }

    fn try_enter(&self) -> Option<Pass<'_>> {
        let mut state = self.lock();
        if !state.has_room() {
            return None;
        }
        state.in_flight += 1;
        // One call that leaves wakes one waiter, but growth makes room for two.
        if state.narrowed.is_some() && state.has_room() {
            self.room.notify_one();
        }
        Some(Pass { gate: self, round: state.round })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.narrowed.is_none_or(|narrowed| self.in_flight < narrowed.allowed)
    }
}

impl Pass<'_> {
    /// The server refused the call because there are too many: half of them from now on, but at least one. A burst of
    /// refusals counts once.
    pub(super) fn throttled(self) -> Option<Change> {
        let mut state = self.gate.lock();
        if state.round != self.round {
            return None;
        }
        state.round += 1;
        let full = state.narrowed.map_or(state.in_flight, |narrowed| narrowed.full);
        let width = state.narrowed.map_or(state.in_flight, |narrowed| narrowed.allowed);
        let allowed = (width / 2).max(1);
        state.narrowed = Some(Narrowed { allowed, answered: 0, full });
        (allowed < width).then_some(Change::Narrowed { allowed })
    }

    /// The server answered: one more call after each round of answers.
    pub(super) fn answered(self) -> Option<Change> {
        let mut state = self.gate.lock();
        let narrowed = state.narrowed.as_mut()?;
        narrowed.answered += 1;
        if narrowed.answered < narrowed.allowed {
            return None;
        }
        narrowed.answered = 0;
        narrowed.allowed += 1;
        if narrowed.allowed < narrowed.full {
            return None;
        }
        state.narrowed = None;
        // Whoever waits may come in now, all of them.
        self.gate.room.notify_waiters();
        Some(Change::Restored)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.in_flight -= 1;
        if state.narrowed.is_some() {
            self.gate.room.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(gate: &Gate, count: usize) -> Vec<Pass<'_>> {
        (0..count).map(|_| gate.try_enter().expect("room")).collect()
    }

    #[test]
    fn nobody_waits_before_a_server_complains() {
        let gate = Gate::default();
        enter(&gate, 1000);
    }

    #[test]
    fn a_burst_of_refusals_halves_once() {
        let gate = Gate::default();
        let changes: Vec<_> = enter(&gate, 8).into_iter().map(Pass::throttled).collect();
        assert_eq!(changes[0], Some(Change::Narrowed { allowed: 4 }));
        assert!(changes[1..].iter().all(Option::is_none));
        let passes = enter(&gate, 4);
        assert!(gate.try_enter().is_none());
        drop(passes);
    }

    #[test]
    fn it_never_closes() {
        let gate = Gate::default();
        for _ in 0..5 {
            let pass = gate.try_enter().expect("room for one");
            pass.throttled();
        }
        let last = gate.try_enter();
        assert!(last.is_some() && gate.try_enter().is_none());
    }

    #[test]
    fn a_round_of_answers_makes_room_for_one_more_until_all_is_as_before() {
        let gate = Gate::default();
        let mut passes = enter(&gate, 4);
        assert_eq!(passes.remove(0).throttled(), Some(Change::Narrowed { allowed: 2 }));
        drop(passes);
        let answers = |count| -> Vec<_> {
            (0..count).map(|_| enter(&gate, 1).remove(0).answered()).collect()
        };
        assert_eq!(answers(2), [None, None]);
        assert_eq!(gate.lock().narrowed.expect("still narrow").allowed, 3);
        assert_eq!(answers(3), [None, None, Some(Change::Restored)]);
        enter(&gate, 100);
    }

    #[tokio::test]
    async fn a_waiter_comes_in_when_another_leaves() {
        let gate = Gate::default();
        gate.try_enter().expect("room").throttled();
        let first = gate.enter().await;
        let ((), second) = tokio::join!(async move { drop(first) }, gate.enter());
        assert!(gate.try_enter().is_none());
        drop(second);
    }
}
