//! A record as far as reports need it. Everything but the id and the score may be absent, as in results of 2.x.

use super::one_line;
use crate::format::score;
use agentv_core::Score;
use agentv_wire::{
    EvaluatorFailure, ExecutionMetrics, ReportCase, ReportGrade, Standing, Status, TraceSummary,
    Usage,
};
use serde::Deserialize;

/// How long `why` gets.
const WHY: usize = 160;

#[derive(Debug, Deserialize)]
pub(super) struct Record {
    pub eval_id: String,
    pub score: f64,
    #[serde(default)]
    pub timestamp: Option<String>,
    #[serde(default)]
    pub dataset: String,
    #[serde(default)]
    pub target: String,
    #[serde(default)]
    pub trial: Option<u64>,
    #[serde(default)]
    status: Option<Status>,
    #[serde(default)]
    pub misses: Vec<String>,
    #[serde(default)]
    pub candidate_answer: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub reasoning: Option<String>,
    #[serde(default)]
    pub evaluator_results: Option<Vec<Grade>>,
    #[serde(default)]
    pub evaluator_usage: Option<Usage>,
    #[serde(default)]
    trace_summary: Option<TraceSummary>,
    #[serde(default)]
    pub execution_metrics: ExecutionMetrics,
    #[serde(default)]
    pub error: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Grade {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: String,
    pub score: f64,
    #[serde(default)]
    pub error: Option<EvaluatorFailure>,
    #[serde(default)]
    pub usage: Option<Usage>,
}

impl Record {
    pub(super) fn standing(&self) -> Standing {
        // 2.x had no status; its bar is what ours is unless a suite says otherwise.
        let reaches = || Score::clamped(self.score).reaches(Score::ONE);
        let passed = self.status.map_or_else(reaches, |status| status == Status::Pass);
        match &self.error {
            Some(_) => Standing::Error,
            None if passed => Standing::Pass,
            None => Standing::Fail,
        }
    }

    pub(super) fn grades(&self) -> &[Grade] {
        self.evaluator_results.as_deref().unwrap_or_default()
    }

    /// Gradings that went wrong.
    pub(super) fn grading_errors(&self) -> impl Iterator<Item = (&str, &EvaluatorFailure)> {
        self.grades().iter().filter_map(|grade| Some((grade.name.as_str(), grade.error.as_ref()?)))
    }

    /// Why it did not pass, in one line.
    pub(super) fn why(&self) -> Option<String> {
        if self.standing() == Standing::Pass {
            return None;
        }
        let grading = || {
            let (name, failure) = self.grading_errors().next()?;
            Some(format!("{name} could not grade: {}", failure.message))
        };
        let why = self.error.clone().or_else(grading);
        let why = why.or_else(|| self.misses.first().cloned()).or_else(|| self.reasoning.clone());
        let why = why.or_else(|| {
            self.lowest().map(|grade| format!("{} scored {}", grade.name, score(grade.score)))
        });
        why.map(|why| one_line(&why, WHY)).filter(|why| !why.is_empty())
    }

    fn lowest(&self) -> Option<&Grade> {
        self.grades().iter().min_by(|one, other| one.score.total_cmp(&other.score))
    }

    pub(super) fn tool_calls(&self) -> Option<usize> {
        self.trace_summary.as_ref().map(|summary| summary.tool_calls_by_name.values().sum())
    }

    /// The id, with the trial where there are several. Records count from 0, people from 1.
    pub(super) fn label(&self) -> String {
        match self.trial {
            Some(trial) => format!("{} (trial {})", self.eval_id, trial + 1),
            None => self.eval_id.clone(),
        }
    }

    pub(super) fn brief(&self, file: Option<String>, line: Option<usize>) -> ReportCase {
        ReportCase {
            eval_id: self.eval_id.clone(),
            dataset: self.dataset.clone(),
            target: self.target.clone(),
            trial: self.trial,
            standing: self.standing(),
            score: self.score,
            why: self.why(),
            error: self.error.clone(),
            file,
            line,
            tags: self.tags.clone(),
            duration_ms: self.execution_metrics.duration_ms,
            cost_usd: self.execution_metrics.cost_usd,
            token_usage: self.execution_metrics.token_usage,
            tool_calls: self.tool_calls(),
            evaluators: self.grades().iter().map(Grade::brief).collect(),
        }
    }
}

impl Grade {
    fn brief(&self) -> ReportGrade {
        ReportGrade {
            name: self.name.clone(),
            kind: self.kind.clone(),
            score: self.score,
            error: self.error.as_ref().map(|failure| failure.kind),
        }
    }
}
