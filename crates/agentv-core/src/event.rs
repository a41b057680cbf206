//! All that a run has to say, to whoever shows it.

use crate::call::Waiting;
use crate::{LogLevel, Trials, WorkId};
use agentv_wire::{EvaluatorResult, ResultRecord, Status, TokenUsage, Usage, VerdictWord};
use std::sync::Arc;

/// Something happened.
#[derive(Debug)]
pub enum RunEvent {
    /// A piece of work has begun. The label is `<target> [provider=<kind>]`.
    Started { work: Arc<WorkId>, label: Arc<str> },
    /// A call has to wait before it is made.
    Waiting { work: Arc<WorkId>, wait: Waiting },
    /// There is an answer, or an error instead.
    Answered { work: Arc<WorkId> },
    /// The answer is being graded.
    Grading { work: Arc<WorkId> },
    /// A case is done, and its record is in the results file. Boxed, as it is much larger than the rest.
    Finished(Box<Finished>),
    /// A plug-in had something to say.
    Log { level: LogLevel, text: String },
    /// The user wants the run to end: no more cases are started, those under way are being ended.
    Stopping,
}

/// What displays and totals need of a record. The record itself is in the file; this is made of its parts, so that hardly
/// anything is copied for it.
#[derive(Debug)]
pub struct Finished {
    /// The place among all cases of the run, for displays that keep the order of the files.
    pub position: usize,
    pub eval_id: String,
    pub dataset: String,
    /// The target's name.
    pub target: String,
    /// `<target> [provider=<kind>]`
    pub label: Arc<str>,
    /// Which trial of its case this is, from 0, if there are several.
    pub trial: Option<u32>,
    /// How many records its case is to have on its target.
    pub trials: Trials,
    pub score: f64,
    pub status: Status,
    pub error: Option<String>,
    /// How long the target took.
    pub duration_ms: Option<f64>,
    pub used: Consumption,
    pub marks: Vec<Mark>,
    /// Gradings that went wrong, though the case has its record.
    pub judge_errors: Vec<JudgeError>,
    /// Where the workspace is, if it was kept.
    pub workspace: Option<String>,
    /// Why it did not pass; `None` where it did, or where `error` says it all.
    pub why: Option<Why>,
}

/// Where a record belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The place of its case among all cases of the run.
    pub position: usize,
    /// `<target> [provider=<kind>]`
    pub label: Arc<str>,
    /// How many records its case is to have on its target.
    pub trials: Trials,
}

/// What a case, or many, cost: the target and its judges together.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Consumption {
    /// `None` where nobody knows.
    pub cost_usd: Option<f64>,
    pub input_tokens: f64,
    pub output_tokens: f64,
}

/// What one evaluator gave.
#[derive(Debug)]
pub struct Mark {
    pub name: String,
    pub kind: String,
    pub score: f64,
    pub weight: f64,
    pub verdict: VerdictWord,
    /// Whether the grading itself went wrong.
    pub is_error: bool,
}

/// A grading that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeError {
    pub evaluator: String,
    pub message: String,
}

/// Why a case did not pass, in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Why {
    pub misses: Vec<String>,
    pub reasoning: Option<String>,
    /// The first lines of the answer.
    pub answer: String,
}

/// How much of the reasons anybody reads; the rest is in the record.
const MISSES: usize = 5;
const TEXT_BYTES: usize = 400;
const ANSWER_LINES: usize = 3;

impl Finished {
    /// Takes apart a record that is written already.
    pub fn new(Place { position, label, trials }: Place, record: Box<ResultRecord>) -> Self {
        let used = Consumption::of(&record);
        let ResultRecord { status, error, misses, reasoning, candidate_answer, .. } = *record;
        let mut judge_errors = Vec::new();
        let results = record.evaluator_results.unwrap_or_default();
        gather_errors(&results, &mut judge_errors);
        let marks = results.into_iter().map(Mark::of).collect();
        let needs_why = status == Status::Fail && error.is_none();
        let why = needs_why.then(|| Why::cut(misses, reasoning, candidate_answer));
        Self {
            position,
            eval_id: record.eval_id,
            dataset: record.dataset,
            target: record.target,
            label,
            trial: record.trial,
            trials,
            score: record.score,
            status,
            error,
            duration_ms: record.execution_metrics.duration_ms,
            used,
            marks,
            judge_errors,
            workspace: record.workspace,
            why,
        }
    }
}

/// The members of a composite count, unless the composite itself failed, most likely by one of them.
fn gather_errors(results: &[EvaluatorResult], errors: &mut Vec<JudgeError>) {
    for result in results {
        if let Some(error) = &result.error {
            let message = cut(error.message.clone(), TEXT_BYTES);
            errors.push(JudgeError { evaluator: result.name.clone(), message });
        } else if let Some(members) = &result.evaluator_results {
            gather_errors(members, errors);
        }
    }
}

impl Consumption {
    fn of(record: &ResultRecord) -> Self {
        let metrics = &record.execution_metrics;
        let mut used = Self::default();
        used.add_usage(metrics.token_usage, metrics.cost_usd);
        used.add_judge(record.evaluator_usage);
        used.add_judges(record.evaluator_results.as_deref());
        used
    }

    /// A composite's own usage does not hold that of its members.
    fn add_judges(&mut self, results: Option<&[EvaluatorResult]>) {
        for result in results.unwrap_or_default() {
            self.add_judge(result.usage);
            self.add_judges(result.evaluator_results.as_deref());
        }
    }

    fn add_judge(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.add_usage(usage.token_usage, usage.cost_usd);
        }
    }

    fn add_usage(&mut self, tokens: Option<TokenUsage>, cost_usd: Option<f64>) {
        let tokens = tokens.unwrap_or_default();
        self.add(Self { cost_usd, input_tokens: tokens.input, output_tokens: tokens.output });
    }

    pub fn add(&mut self, other: Self) {
        if let Some(cost) = other.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }

    pub fn tokens(&self) -> f64 {
        self.input_tokens + self.output_tokens
    }
}

impl Mark {
    fn of(result: EvaluatorResult) -> Self {
        let is_error = result.error.is_some();
        let EvaluatorResult { name, kind, score, weight, verdict, .. } = result;
        Self { name, kind, score, weight, verdict, is_error }
    }
}

impl Why {
    fn cut(misses: Vec<String>, reasoning: Option<String>, answer: String) -> Self {
        let end =
            answer.match_indices('\n').nth(ANSWER_LINES - 1).map_or(answer.len(), |(at, _)| at);
        Self {
            misses: misses.into_iter().take(MISSES).map(|miss| cut(miss, TEXT_BYTES)).collect(),
            reasoning: reasoning.map(|reasoning| cut(reasoning, TEXT_BYTES)),
            answer: cut(answer, end.min(TEXT_BYTES)),
        }
    }
}

/// No more than so many bytes, in which an `…` says that there was more.
fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.truncate(text.trim_end().len());
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_cut_to_its_first_lines() {
        let check = |answer: &str, expected: &str| {
            assert_eq!(Why::cut(Vec::new(), None, answer.to_owned()).answer, expected);
        };
        check("one", "one");
        check("1\n2\n3", "1\n2\n3");
        check("1\n2\n3\n4", "1\n2\n3…");
        check(&"ä".repeat(300), &format!("{}…", "ä".repeat(200)));
    }

    #[test]
    fn what_is_not_known_adds_nothing() {
        let mut used = Consumption::default();
        used.add(Consumption { cost_usd: None, input_tokens: 3.0, output_tokens: 4.0 });
        assert_eq!(used.cost_usd, None);
        used.add(Consumption { cost_usd: Some(0.5), ..Consumption::default() });
        assert_eq!((used.cost_usd, used.tokens()), (Some(0.5), 7.0));
    }
}
