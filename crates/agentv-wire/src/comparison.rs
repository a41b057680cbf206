//! What `agentv compare --format json` prints. `1` is the baseline and `2` the candidate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One candidate against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Comparison {
    /// Where the results of the baseline are, as it was named.
    pub baseline: String,
    pub candidate: String,
    /// Cases that are in both runs, in the order of the baseline.
    pub matched: Vec<MatchedCase>,
    pub unmatched: Unmatched,
    pub summary: ComparisonSummary,
    /// Of the mean score.
    pub statistics: Statistics,
    /// Of the pass rate; absent where a record does not say whether it passed, as in results of 2.x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_statistics: Option<Statistics>,
    pub verdict: ComparisonVerdict,
    /// What `--margin` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub non_inferiority: Option<NonInferiority>,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// The same comparison for each evaluator, by name. Failed gradings are left out and counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evaluators: Vec<ComparedGroup>,
    /// The same for the cases of each tag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<ComparedGroup>,
    /// The same for each target, where a run has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<ComparedGroup>,
}

/// Several candidates, each against the same baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Comparisons {
    pub comparisons: Vec<Comparison>,
}

/// Which case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct CaseName {
    pub eval_id: String,
    /// Only where several suites use the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Only where a run has several targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A case that is in both runs. With several trials a score is their mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct MatchedCase {
    #[serde(flatten)]
    pub case: CaseName,
    pub score1: f64,
    pub score2: f64,
    /// `score2 - score1`.
    pub delta: f64,
    pub outcome: PairOutcome,
    /// How many trials, where there is not just one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub trials1: usize,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub trials2: usize,
    /// How many more trials ended in an error or are ungraded. They are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors1: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors2: usize,
}

/// What a difference counts as, by `--threshold`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairOutcome {
    Win,
    Loss,
    Tie,
}

/// Cases that are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Unmatched {
    /// Cases that are in one run only.
    pub file1: usize,
    pub file2: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases1: Vec<CaseName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases2: Vec<CaseName>,
    /// Cases that are in both runs, but without a graded record in one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ungraded: Vec<CaseName>,
}

/// The plain numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ComparisonSummary {
    /// Records in both files together.
    pub total: usize,
    pub matched: usize,
    pub wins: usize,
    pub losses: usize,
    pub ties: usize,
    /// Rounded to 3 decimals, half up; 0 when nothing matched.
    pub mean_delta: f64,
    /// The mean score of the matched cases.
    pub mean1: f64,
    pub mean2: f64,
    /// The share of passed records among those that are compared; absent where one has no status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_rate1: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_rate2: Option<f64>,
    /// Records with an error, in the whole file.
    pub errors1: usize,
    pub errors2: usize,
    /// Ungraded records, in the whole file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ungraded1: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ungraded2: usize,
    /// How many cases of the baseline are not compared: the candidate lacks them, or a run has no graded record of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: usize,
}

/// Whether one of the two measures changed, and how much it may have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Statistics {
    pub test: PairedTest,
    /// Independent cases: one case on several targets, or in several trials, is one, and so are all cases of a cluster.
    pub cases: usize,
    /// Candidate minus baseline.
    pub difference: f64,
    /// How likely a difference at least as far from 0 would be if the runs did not differ.
    pub p_value: f64,
    /// The same, adjusted by Holm's method for all tests that decide the verdicts. A difference is significant if this is
    /// not above `level`.
    pub p_adjusted: f64,
    pub level: f64,
    /// What this measure alone comes to.
    pub verdict: ComparisonVerdict,
    /// Where the true difference may lie, with `confidence` = 1 − `level`. Absent where no honest interval can be given, or
    /// where it would contradict the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<MeanInterval>,
    pub confidence: f64,
    /// The minimum detectable effect: the true difference that the test would find in four of five comparisons of this many
    /// cases. Absent where even the largest possible one would be missed more often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_effect: Option<f64>,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// Whether the candidate is at most a margin worse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct NonInferiority {
    /// The largest loss of the mean score that is acceptable.
    pub margin: f64,
    /// Whether the lower end of the interval is above `-margin`. Absent where there is no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
}

/// The two ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct MeanInterval {
    pub low: f64,
    pub high: f64,
}

/// How the p-value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairedTest {
    /// McNemar's exact test: all scores are 0 or 1, and there is one trial.
    Mcnemar,
    /// Every pattern of signs was tried.
    SignFlipExact,
    /// Random patterns of signs were tried.
    SignFlipSampled,
    /// The runs have different numbers of trials: signs were flipped, trials were permuted within their cases, and the larger
    /// p-value counts.
    TrialPermutation,
}

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The mean score or the pass rate is worse; unlikely to be chance.
    Regression,
    /// The mean score or the pass rate is better, neither is worse; unlikely to be chance.
    Improvement,
    /// The differences may be chance.
    NoEvidence,
    /// This few cases cannot show a difference, whatever their scores are.
    TooFewCases,
}

/// A part of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ComparedGroup {
    pub name: String,
    /// Cases that have it in both runs.
    pub cases: usize,
    pub mean1: f64,
    pub mean2: f64,
    pub mean_delta: f64,
    /// Of this part alone, not adjusted: among twenty parts one is below 0.05 by chance.
    pub p_value: f64,
    /// Adjusted by Holm's method for all parts of the table.
    pub p_adjusted: f64,
    /// Failed gradings.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors1: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors2: usize,
    /// The only run that has it, if it is in one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_in: Option<ComparisonSide>,
}

/// One of the two sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonSide {
    Baseline,
    Candidate,
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_one(count: &usize) -> bool {
    *count == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
