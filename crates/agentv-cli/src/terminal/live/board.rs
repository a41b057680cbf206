//! What a run looks like at a moment.

use super::super::counts::{Count, each, shown};
use super::super::line::Line;
use super::super::style::{BOLD, DIM, DOUBTFUL, Paint};
use super::super::text::cut_end;
use super::running::RunningCase;
use crate::format;
use agentv_core::WorkId;
use agentv_core::totals::{GroupTotals, Totals, usage};
use agentv_wire::RunEvent;
use agentv_wire::event::CaseFinished;
use anstyle::Style;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr as _;

/// No more running cases are shown than this, however high the screen is.
const ROWS: usize = 8;
/// No wider: a bar is no table.
const BAR: usize = 40;
/// A shorter bar says nothing.
const SHORTEST_BAR: usize = 8;
/// With fewer cases done, the remaining time cannot be estimated.
const ENOUGH: usize = 3;

/// The numbers of a run that goes on.
#[derive(Debug)]
pub(super) struct Board {
    began: Instant,
    total: usize,
    /// Cases that had their records when this run began: they say nothing of its speed.
    earlier: usize,
    done: GroupTotals,
    /// The longest first.
    running: VecDeque<RunningCase>,
    is_stopping: bool,
}

impl Board {
    /// `totals` has the cases that are done already.
    pub(super) fn new(totals: &Totals, total: usize, now: Instant) -> Self {
        Self {
            began: now,
            total,
            earlier: totals.recorded(),
            done: totals.all,
            running: VecDeque::new(),
            is_stopping: false,
        }
    }

    /// Takes in what happened at this moment.
    pub(super) fn event(&mut self, event: &RunEvent, now: Instant) {
        match event {
            RunEvent::Started(started) => {
                self.running.push_back(RunningCase::new(Arc::clone(&started.work), now));
            }
            RunEvent::Waiting(wait) => self.update(&wait.work, |case| case.wait(wait, now)),
            RunEvent::Answered(answered) => self.update(&answered.work, RunningCase::proceed),
            RunEvent::Grading(grading) => self.update(&grading.work, RunningCase::grade),
            RunEvent::Finished(finished) => self.finish(finished),
            RunEvent::Stopping => self.is_stopping = true,
            RunEvent::Planned(_) | RunEvent::Log(_) | RunEvent::Ended(_) => {}
        }
    }

    fn finish(&mut self, finished: &CaseFinished) {
        if let Some(at) = self.find(&finished.work) {
            self.running.remove(at);
        }
        self.done.add(&finished.record, finished.outcome, &usage(&finished.record));
    }

    fn update(&mut self, work: &Arc<WorkId>, change: impl FnOnce(&mut RunningCase)) {
        let at = self.find(work);
        if let Some(running) = at.and_then(|at| self.running.get_mut(at)) {
            change(running);
        }
    }

    /// The longest running is often the next to be done, so it is soon found.
    fn find(&self, work: &Arc<WorkId>) -> Option<usize> {
        self.running.iter().position(|running| running.is_of(work))
    }

    fn done(&self) -> usize {
        self.done.counts.recorded()
    }

    /// Lines that fit a screen of this many columns and rows.
    pub(super) fn frame(
        &self,
        now: Instant,
        (width, height): (usize, usize),
        paint: Paint,
    ) -> Vec<Line> {
        // A line as wide as the screen is broken by some terminals.
        let width = width.saturating_sub(1);
        let mut lines = vec![self.bar(now, width, paint), self.numbers(now, width, paint)];
        if self.is_stopping {
            lines.push(self.stopping(width, paint));
        }
        // The line before, which has the command, is left alone.
        let room = height.saturating_sub(lines.len() + 1).min(ROWS);
        lines.extend(self.rows(now, room, width, paint));
        lines
    }

    fn bar(&self, now: Instant, width: usize, paint: Paint) -> Line {
        let done = self.done();
        let count = format!("{done}/{}", self.total);
        let share = format::share(done, self.total);
        let left = self.left(now).map(|left| format!("{} left", format::clock(left)));
        let tails = [
            left.map(|left| format!("{count}  {share}  {left}")),
            Some(format!("{count}  {share}")),
            Some(count),
        ];
        for tail in tails.into_iter().flatten() {
            let room = width.saturating_sub(tail.width() + 2).min(BAR);
            if room >= SHORTEST_BAR {
                return self.stripes(room, paint) + "  " + &*tail;
            }
        }
        self.stripes(width.min(BAR), paint)
    }

    /// The bar itself: as much of each colour as there is of each outcome.
    fn stripes(&self, width: usize, paint: Paint) -> Line {
        let (mut sum, mut drawn) = (0, 0);
        let mut bar = Line::default();
        for Count { style, cases, .. } in each(self.done.counts) {
            sum += cases;
            let end = (sum * width).checked_div(self.total).unwrap_or(width).min(width);
            bar += paint.paint(style, "━".repeat(end - drawn));
            drawn = end;
        }
        bar + paint.paint(DIM, "┄".repeat(width - drawn))
    }

    /// As long again for each case as for those that are done. Cases side by side are in it, as they were before.
    fn left(&self, now: Instant) -> Option<Duration> {
        let done = self.done() - self.earlier;
        let left = self.total.checked_sub(self.done()).filter(|left| *left > 0)?;
        if done < ENOUGH {
            return None;
        }
        let (done, left) = (u32::try_from(done).ok()?, u32::try_from(left).ok()?);
        Some(now.saturating_duration_since(self.began) / done * left)
    }

    fn numbers(&self, now: Instant, width: usize, paint: Paint) -> Line {
        let long = self.counts(true);
        let is_long = long.iter().map(|(text, _)| text.width() + 2).sum::<usize>() <= width + 2;
        let counts = if is_long { long } else { self.counts(false) };
        let mut line = Line::default();
        let mut used = 0;
        let mut add = |text: &str, style: Style| {
            let gap = if used == 0 { 0 } else { 2 };
            if used + gap + text.width() <= width {
                line += &*" ".repeat(gap);
                line += paint.paint(style, text);
                used += gap + text.width();
            }
        };
        for (text, style) in &counts {
            add(text, *style);
        }
        let used_up = self.done.usage.total();
        if let Some(cost) = used_up.cost_usd {
            add(&format::money(cost), BOLD);
        }
        add(&format::clock(now.saturating_duration_since(self.began)), DIM);
        if used_up.tokens() > 0.0 {
            add(&format!("{} tokens", format::amount(whole(used_up.tokens()))), DIM);
        }
        line
    }

    /// With words where there is room for them.
    fn counts(&self, with_words: bool) -> Vec<(String, Style)> {
        let text = |count: &Count| format!("{} {}", count.mark, count.cases);
        let told = shown(self.done.counts).map(|count| {
            let text = text(&count);
            (if with_words { format!("{text} {}", count.word) } else { text }, count.style)
        });
        told.collect()
    }

    fn stopping(&self, width: usize, paint: Paint) -> Line {
        let cases = format::count(self.running.len(), "case", "cases");
        let text = format!("Stopping: {cases} under way. Ctrl-C again ends them now.");
        paint.paint(DOUBTFUL, cut_end(&text, width))
    }

    fn rows(&self, now: Instant, room: usize, width: usize, paint: Paint) -> Vec<Line> {
        if room == 0 {
            return Vec::new();
        }
        let all = self.running.len();
        let shown = if all > room { room - 1 } else { all };
        let mut lines: Vec<Line> = self
            .running
            .iter()
            .take(shown)
            .map(|running| running.line(now, width, paint))
            .collect();
        if all > shown {
            let more = cut_end(&format!("         … and {} more", all - shown), width);
            lines.push(paint.paint(DIM, more));
        }
        lines
    }
}

/// Tokens are counted, though as numbers of JSON.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no more tokens than fit, and never fewer than none"
)]
pub(in crate::terminal) fn whole(tokens: f64) -> u64 {
    tokens as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_core::totals::Counts;
    use agentv_wire::event::{CaseAnswered, CaseGrading, CaseStarted, CaseWaiting, WaitReason};
    use agentv_wire::{TokenUsage, Usage};

    fn work(eval_id: &str, trial: u32) -> Arc<WorkId> {
        let (suite, target) = ("evals/a.yaml".into(), "gpt".into());
        Arc::new(WorkId { suite, eval_id: eval_id.into(), target, trial })
    }

    fn started(eval_id: &str, trial: u32) -> RunEvent {
        RunEvent::Started(CaseStarted { work: work(eval_id, trial), label: Arc::default() })
    }

    fn waiting(trial: u32, reason: WaitReason, throttled: bool) -> RunEvent {
        RunEvent::Waiting(Box::new(CaseWaiting {
            work: work("refund", trial),
            called_target: "judge".into(),
            reason,
            throttled,
            attempt: 3,
            delay_ms: 6_500.0,
            until: String::new(),
        }))
    }

    /// A run of 40 cases after 30 seconds: 12 are done, of which 2 failed, and 5 are running.
    fn board() -> (Board, Instant) {
        let began = Instant::now();
        let mut board = Board::new(&Totals::default(), 40, began);
        board.done.counts = Counts { passed: 10, failed: 2, errors: 0, ungraded: 0 };
        for number in 0..5_u32 {
            let since = began + Duration::from_secs((10 + number).into());
            board.event(&started(&format!("billing-of-a-long-name-{number}"), 0), since);
        }
        let tokens = TokenUsage { input: 1e4, output: 2e3, cached: None };
        board.done.usage.target = Usage { cost_usd: Some(0.0123), token_usage: Some(tokens) };
        (board, began + Duration::from_secs(30))
    }

    fn frame(board: &Board, now: Instant, size: (usize, usize)) -> Vec<String> {
        let lines = board.frame(now, size, Paint::Plain);
        lines.iter().map(|line| line.as_str().to_owned()).collect()
    }

    fn check(size: (usize, usize), expected: &str) {
        let (board, now) = board();
        let frame = frame(&board, now, size);
        assert_eq!(frame.join("\n"), expected);
        assert!(frame.iter().all(|line| line.width() < size.0), "{frame:#?}");
        assert!(frame.len() < size.1);
    }

    #[test]
    fn a_usual_screen_shows_everything() {
        check(
            (80, 24),
            "\
━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  12/40  30 %  1:10 left
✓ 10 passed  ✗ 2 failed  $0.0123  0:30  12.0k tokens
   0:20  billing-of-a-long-name-0  gpt
   0:19  billing-of-a-long-name-1  gpt
   0:18  billing-of-a-long-name-2  gpt
   0:17  billing-of-a-long-name-3  gpt
   0:16  billing-of-a-long-name-4  gpt",
        );
    }

    #[test]
    fn a_low_screen_shows_fewer_cases() {
        check(
            (80, 6),
            "\
━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  12/40  30 %  1:10 left
✓ 10 passed  ✗ 2 failed  $0.0123  0:30  12.0k tokens
   0:20  billing-of-a-long-name-0  gpt
   0:19  billing-of-a-long-name-1  gpt
         … and 3 more",
        );
        check(
            (80, 3),
            "\
━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  12/40  30 %  1:10 left
✓ 10 passed  ✗ 2 failed  $0.0123  0:30  12.0k tokens",
        );
    }

    #[test]
    fn a_narrow_screen_shows_what_matters_most() {
        check(
            (30, 5),
            "\
━━━━┄┄┄┄┄┄┄┄┄┄┄┄  12/40  30 %
✓ 10 passed  ✗ 2 failed  0:30
   0:20  billing-of…ng-name-0
         … and 4 more",
        );
        check(
            (12, 4),
            "\
━━━┄┄┄┄┄┄┄┄
✓ 10  ✗ 2
…",
        );
    }

    #[test]
    fn nobody_knows_how_long_it_takes_before_some_cases_are_done() {
        let (mut board, now) = board();
        board.done.counts = Counts { passed: 2, ..Counts::default() };
        assert_eq!(board.left(now), None);
        board.done.counts.passed = 40;
        assert_eq!(board.left(now), None);
        // Records of an earlier session do not count towards this one's speed.
        board.done.counts.passed = 20;
        board.earlier = 10;
        assert_eq!(board.left(now), Some(Duration::from_mins(1)));
    }

    #[test]
    fn a_run_that_stops_says_so() {
        let (mut board, now) = board();
        board.event(&RunEvent::Stopping, now);
        let frame = frame(&board, now, (80, 24));
        assert_eq!(frame[2], "Stopping: 5 cases under way. Ctrl-C again ends them now.");
    }

    #[test]
    fn a_running_case_shows_its_phase_and_what_it_waits_for() {
        let began = Instant::now();
        let mut board = Board::new(&Totals::default(), 3, began);
        for trial in 0..3 {
            board.event(&started("refund", trial), began);
        }
        let rows = |board: &Board, seconds: u64, width: usize| {
            let now = began + Duration::from_secs(seconds);
            frame(board, now, (width, 24))[2..].to_vec()
        };
        board.event(&waiting(0, WaitReason::Retry, true), began);
        board.event(&waiting(1, WaitReason::Retry, false), began);
        board.event(&waiting(2, WaitReason::RateLimit, false), began);
        let expected = [
            "   0:01  refund  gpt  rate limited by `judge`, retrying in 6 s",
            "   0:01  refund (trial 2)  gpt  retrying `judge` in 6 s (attempt 3)",
            "   0:01  refund (trial 3)  gpt  waiting 6 s for the rate limit of `judge`",
        ];
        assert_eq!(rows(&board, 1, 100), expected);
        // With less room, the target's name goes first.
        let narrow = "   0:04  refund (trial 3)  waiting 3 s for the rate limit of `judge`";
        assert_eq!(rows(&board, 4, 70)[2], narrow);
        assert_eq!(rows(&board, 4, 60)[2], "   0:04  refund (trial 3)  gpt");
        // A wait that is over is not shown any more, whatever comes next.
        assert!(rows(&board, 7, 100).iter().all(|row| row.ends_with("  gpt")));
        let grading = RunEvent::Grading(CaseGrading { work: work("refund", 1) });
        board.event(&grading, began + Duration::from_secs(1));
        let answered = CaseAnswered { work: work("refund", 2), duration_ms: 1.0, error: None };
        board.event(&RunEvent::Answered(answered), began + Duration::from_secs(1));
        let expected = [
            "   0:02  refund  gpt  rate limited by `judge`, retrying in 5 s",
            "   0:02  refund (trial 2)  gpt  grading",
            "   0:02  refund (trial 3)  gpt",
        ];
        assert_eq!(rows(&board, 2, 100), expected);
        // A judge may have to wait, too; then the case is graded again.
        board.event(&waiting(1, WaitReason::Retry, true), began);
        assert!(rows(&board, 2, 100)[1].contains("gpt  rate limited by `judge`"));
        assert!(rows(&board, 8, 100)[1].ends_with("gpt  grading"));
    }
}
