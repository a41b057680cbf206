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
    pub statistics: Statistics,
    pub verdict: ComparisonVerdict,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// The same comparison for each evaluator, by name. Gradings that went wrong are left out and counted.
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
    /// Only where the id stands in several datasets.
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
    /// How many of the trials ended in an error and count as 0.
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

/// Cases that are in one run only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Unmatched {
    pub file1: usize,
    pub file2: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases1: Vec<CaseName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases2: Vec<CaseName>,
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
    /// The share of records with `status: pass` among those of matched cases; absent where one has no status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_rate1: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_rate2: Option<f64>,
    /// Records with an error, in the whole file.
    pub errors1: usize,
    pub errors2: usize,
    /// Cases that are in both runs but were not compared, since one of them has only errors (`--exclude-errors`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excluded: usize,
}

/// What the differences tell, and could tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Statistics {
    pub test: PairedTest,
    /// Independent cases: one case on several targets, or in several trials, is one.
    pub cases: usize,
    /// How likely a mean at least as far from 0 would be if the runs did not differ.
    pub p_value: f64,
    /// A difference counts as shown from this p-value down.
    pub level: f64,
    /// The mean difference, with `confidence` = 1 − `level`. Absent with fewer than two cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<MeanInterval>,
    pub confidence: f64,
    /// The smallest true mean difference that these cases would show in four of five comparisons. Absent where the
    /// differences do not scatter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_effect: Option<f64>,
    /// Where the random numbers start.
    pub seed: u64,
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
    /// The exact test of McNemar: all scores are 0 or 1.
    Mcnemar,
    /// Every pattern of signs was tried.
    SignFlipExact,
    /// Random patterns of signs were tried.
    SignFlipSampled,
}

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The candidate is worse, and not by chance.
    Regression,
    /// The candidate is better, and not by chance.
    Improvement,
    /// The differences may be chance.
    NoEvidence,
    /// So few cases cannot show a difference, whatever they score.
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
    /// Of this part alone: among twenty parts one is below 0.05 by chance.
    pub p_value: f64,
    /// Gradings that went wrong.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors1: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors2: usize,
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
