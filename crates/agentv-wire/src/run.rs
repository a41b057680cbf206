//! `run.json`: what is known of one run, in its folder `.agentv/runs/<run id>/`. No key and no answer is in it.

use crate::RunSpec;
use crate::TokenUsage;
use crate::comparison::MeanInterval;
use crate::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run: who ran what, when, where, and what came of it. Written when it starts and again when it ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunInfo {
    /// The format of the run folder; 1 where it is not named.
    #[serde(default = "first_format")]
    pub format: u32,
    /// The name of the folder. Later runs come later in the alphabet.
    pub run: String,
    /// The version of AgentV.
    pub version: String,
    /// The command line after the program's name. No flag takes a key, so there is none in it.
    pub command: Vec<String>,
    /// The run as it was ordered. Absent in run folders of format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<RunSpec>,
    pub working_dir: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitHead>,
    /// ISO 8601, UTC, milliseconds.
    pub started: String,
    /// When it was taken up again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<String>,
    /// Absent while it runs, and when it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The run, or the results file, whose answers were graded again. Absent where the targets were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graded: Option<String>,
    /// Where the results were asked for.
    pub out: String,
    /// The eval files and targets files as they were when the run started.
    pub files: Vec<RunFile>,
    pub targets: Vec<RunTarget>,
    /// How many records there are to be.
    pub cases: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<RunTotals>,
}

/// Run folders did not name their format at first.
fn first_format() -> u32 {
    1
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every case has its record.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// A gate (`--max-errors`, `--fail-fast`) or a budget (`--max-cost`, `--max-tokens`) stopped it.
    Stopped,
    /// Results could not be written, or cases could not be read any more.
    Failed,
}

/// Where a repository was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct GitHead {
    pub commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// A file that the run was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunFile {
    /// From the working directory, where it lies below that.
    pub path: String,
    pub kind: RunFileKind,
    pub sha256: String,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunFileKind {
    Eval,
    Targets,
}

/// A target that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunTarget {
    pub name: String,
    pub provider: String,
    /// As it is in the targets file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The numbers of a run. Every view of a run shows these: terminal, JSON events, `run.json`, `runs` and all reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunTotals {
    #[serde(flatten)]
    pub all: OutcomeTotals,
    /// Cases without a record: the run was interrupted or stopped before them. Absent where the number of planned cases is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<usize>,
    /// Gradings that failed, members of composites included.
    #[serde(default)]
    pub grading_errors: usize,
    /// How many graded cases have a score in each tenth from 0 to 1. A score of 1 is in the last.
    #[serde(default)]
    pub histogram: [usize; 10],
    /// Records whose answers were made up, by a mock target or a dry run.
    #[serde(default, skip_serializing_if = "is_no_count")]
    pub simulated: usize,
    /// Attempts that followed a failed one, of targets and judges. Of the last session only, where a run was resumed.
    #[serde(default, skip_serializing_if = "is_no_count")]
    pub retries: usize,
    /// By name.
    #[serde(default)]
    pub targets: BTreeMap<String, OutcomeTotals>,
    /// By name: those of the cases, not the members of composites. The first hundred that were met.
    #[serde(default)]
    pub evaluators: BTreeMap<String, EvaluatorTotals>,
    /// Of each suite on each target, where cases have several trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<TrialTotals>,
    /// What the calls of the run used, those of earlier sessions included. Absent where nothing was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<RunSpend>,
}

/// Some records in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct OutcomeTotals {
    /// `passed` + `failed` + `ungraded` + `errors`.
    pub recorded: usize,
    pub passed: usize,
    #[serde(default)]
    pub failed: usize,
    #[serde(default)]
    pub ungraded: usize,
    pub errors: usize,
    /// `passed` + `failed`: what the mean score is over.
    #[serde(default)]
    pub graded: usize,
    /// Of graded cases. Absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// The 95 % interval of the mean score: Wilson's, wider where there are few cases or the mean is near 0 or 1. Trials
    /// of a case, and one case on several targets, do not count as more cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_interval: Option<MeanInterval>,
    /// `passed` over `recorded`. Absent without records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<f64>,
    /// The 95 % interval of the pass rate, like that of the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_interval: Option<MeanInterval>,
    /// The time of all answers together, and how many of them say how long they took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    #[serde(default)]
    pub timed: usize,
    /// What targets and judges cost together, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The part of `cost_usd` that is for grading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading_cost_usd: Option<f64>,
    /// Tokens of targets and judges together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// The part of `token_usage` that is for grading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading_token_usage: Option<TokenUsage>,
}

/// The numbers of one evaluator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct EvaluatorTotals {
    #[serde(rename = "type")]
    pub kind: String,
    /// Gradings that succeeded: what the mean score is over.
    pub graded: usize,
    /// Verdicts that are `pass`.
    pub passed: usize,
    /// Gradings with the full score.
    #[serde(default)]
    pub full: usize,
    /// Records that it could not grade. A composite could not if a member failed that has no policy for it.
    pub errors: usize,
    /// Absent if it graded nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// The 95 % interval of the mean score, like that of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_interval: Option<MeanInterval>,
    /// The lowest and the highest weight, since cases may differ.
    pub weights: (f64, f64),
    /// What its gradings cost, members of a composite included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What the trials of one suite on one target came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct TrialTotals {
    pub dataset: String,
    pub target: String,
    pub cases: usize,
    /// How many trials a case has at most; in a run that ended early some have fewer.
    pub trials: u32,
    /// Records, which are trials.
    pub recorded: usize,
    pub passed: usize,
    #[serde(default)]
    pub ungraded: usize,
    pub errors: usize,
    /// Of graded trials. Absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// The 95 % interval of the mean score: trials of a case do not count as more cases. Absent without a graded trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<MeanInterval>,
    /// By `status`, each the mean over the cases with at least `k` trials. With many trials, for a few `k`.
    pub pass: Vec<PassOfK>,
    /// How many cases pass in some trials and not in others.
    pub flaky: usize,
    /// The first of them, the ones that pass least often first.
    pub flaky_cases: Vec<FlakyCase>,
}

/// How often `k` trials pass, estimated without bias.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct PassOfK {
    pub k: u32,
    /// The cases with at least `k` trials, which the estimates are over. 0 in files of earlier versions.
    #[serde(default)]
    pub cases: usize,
    /// pass@k, the chance that at least one of `k` trials passes: `1 − C(n−c, k) / C(n, k)`.
    pub pass_at_k: f64,
    /// The 95 % interval of pass@k.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_at_k_interval: Option<MeanInterval>,
    /// pass^k, the chance that all of `k` trials pass: `C(c, k) / C(n, k)`.
    pub pass_hat_k: f64,
    /// The 95 % interval of pass^k.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_hat_k_interval: Option<MeanInterval>,
}

/// A case that passes in some trials and not in others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct FlakyCase {
    pub eval_id: String,
    pub trials: u32,
    pub passed: u32,
    pub mean_score: f64,
}

/// The trials of one case on one target, as `agentv runs show --format json` has them under `case_trials`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseTrialTotals {
    pub dataset: String,
    pub target: String,
    pub eval_id: String,
    pub trials: u32,
    pub passed: u32,
    #[serde(default)]
    pub ungraded: u32,
    pub errors: u32,
    /// Of graded trials. Absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    /// The 95 % interval of the mean score of more trials of this case. Absent without a graded trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<MeanInterval>,
    /// The 95 % interval of the share of trials that pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_interval: Option<MeanInterval>,
}

/// What the calls of a run used. Answers from a cache or a cassette are no calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunSpend {
    /// For the answers that are graded.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub targets: Spent,
    /// For the grading: judges, and scripts that ask a target.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub judges: Spent,
}

impl RunSpend {
    /// Whether nothing was called.
    pub fn is_nothing(&self) -> bool {
        self.targets.is_nothing() && self.judges.is_nothing()
    }

    /// Adds what more calls used.
    pub fn add(&mut self, more: &Self) {
        for (sum, more) in [(&mut self.targets, &more.targets), (&mut self.judges, &more.judges)] {
            sum.calls = sum.calls.saturating_add(more.calls);
            sum.cost_usd = number::sum(sum.cost_usd, more.cost_usd);
            sum.tokens = sum.tokens.saturating_add(more.tokens);
            sum.unpriced = sum.unpriced.saturating_add(more.unpriced);
            sum.unreported = sum.unreported.saturating_add(more.unreported);
        }
    }
}

/// What some calls used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Spent {
    pub calls: u64,
    /// US dollars, as far as they are known.
    pub cost_usd: f64,
    /// Tokens of prompts and answers, as far as they are known.
    pub tokens: u64,
    /// Calls that were answered without a word on their cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// Calls that failed, or were cut off, before they reported what they used. Nothing is counted for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreported: u64,
}

impl Spent {
    fn is_nothing(&self) -> bool {
        self.calls == 0
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_no_count(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_ends_at_the_largest_numbers() {
        let most =
            Spent { calls: u64::MAX, cost_usd: f64::MAX, tokens: u64::MAX, ..Spent::default() };
        let mut spent = RunSpend { targets: most, judges: Spent::default() };
        spent.add(&spent.clone());
        assert_eq!(spent.targets, most);
    }
}
