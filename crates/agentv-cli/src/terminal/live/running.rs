//! A case that is under way, in one line.

use super::super::line::Line;
use super::super::style::{DIM, DOUBTFUL, Paint};
use super::super::text::{cut_middle, one_line};
use crate::format;
use agentv_core::WorkId;
use agentv_wire::event::{CaseWaiting, WaitReason};
use anstyle::Style;
use std::sync::Arc;
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr as _;

/// The id has at least this much room before anything else has some.
const ID_ROOM: usize = 24;

/// A case that a worker has begun with.
#[derive(Debug)]
pub(super) struct RunningCase {
    work: Arc<WorkId>,
    since: Instant,
    is_grading: bool,
    wait: Option<Wait>,
}

/// A call that is not made yet.
#[derive(Debug)]
struct Wait {
    called: String,
    reason: WaitReason,
    throttled: bool,
    attempt: u32,
    until: Instant,
}

impl RunningCase {
    pub(super) fn new(work: Arc<WorkId>, now: Instant) -> Self {
        Self { work, since: now, is_grading: false, wait: None }
    }

    pub(super) fn is_of(&self, work: &Arc<WorkId>) -> bool {
        self.work == *work
    }

    /// One of its calls has to wait.
    pub(super) fn wait(&mut self, wait: &CaseWaiting, now: Instant) {
        let delay = Duration::try_from_secs_f64(wait.delay_ms / 1000.0).unwrap_or_default();
        self.wait = now.checked_add(delay).map(|until| Wait {
            called: one_line(wait.called_target.as_str()),
            reason: wait.reason,
            throttled: wait.throttled,
            attempt: wait.attempt,
            until,
        });
    }

    /// It does not wait any more.
    pub(super) fn proceed(&mut self) {
        self.wait = None;
    }

    pub(super) fn grade(&mut self) {
        self.is_grading = true;
        self.wait = None;
    }

    pub(super) fn line(&self, now: Instant, width: usize, paint: Paint) -> Line {
        let time = format::clock(now.saturating_duration_since(self.since));
        let time = format!("{time:>7}  ");
        let room = width.saturating_sub(time.width());
        let target = one_line(self.work.target.as_str());
        let target = format!("  {target}");
        let (phase, style) = self.phase(now);
        let phase = if phase.is_empty() { phase } else { format!("  {phase}") };
        // The id is what one looks for; what it waits for comes next, and the target's name if all have room.
        let id = one_line(&self.id());
        let needed = id.width().min(ID_ROOM);
        let fits = |rest: usize| room >= needed + rest;
        let (target, phase) = if fits(target.width() + phase.width()) {
            (target, phase)
        } else if fits(phase.width()) {
            (String::new(), phase)
        } else if fits(target.width()) {
            (target, String::new())
        } else {
            (String::new(), String::new())
        };
        let id = cut_middle(&id, room - (target.width() + phase.width()).min(room));
        let [time, target] = [time, target].map(|text| paint.paint(DIM, text));
        time + &*id + target + paint.paint(style, phase)
    }

    /// The case's id, with its trial from the second one on. People count from 1.
    fn id(&self) -> String {
        let WorkId { eval_id, trial, .. } = &*self.work;
        match trial {
            0 => eval_id.to_string(),
            later => format!("{eval_id} (trial {})", u64::from(*later) + 1),
        }
    }

    /// What it is doing, if it is anything else than waiting for its answer.
    fn phase(&self, now: Instant) -> (String, Style) {
        let wait = self.wait.as_ref().map(|wait| (wait, wait.until.saturating_duration_since(now)));
        match wait.filter(|(_, left)| !left.is_zero()) {
            Some((wait, left)) => (wait.text(left), DOUBTFUL),
            None if self.is_grading => ("grading".to_owned(), DIM),
            None => (String::new(), DIM),
        }
    }
}

impl Wait {
    /// Why it waits and for how long, in whole seconds that count down to 1.
    fn text(&self, left: Duration) -> String {
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let Self { called, attempt, .. } = self;
        match self.reason {
            WaitReason::RateLimit => {
                format!("waiting {seconds} s for the rate limit of `{called}`")
            }
            WaitReason::Retry if self.throttled => {
                format!("rate limited by `{called}`, retrying in {seconds} s")
            }
            WaitReason::Retry => format!("retrying `{called}` in {seconds} s (attempt {attempt})"),
        }
    }
}
