//! What `agentv plan --format json` prints.

use crate::comparison::MeanInterval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many cases and trials it takes to see a difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ComparisonPlan {
    /// The true difference of the means that is to be seen.
    pub difference: f64,
    /// How often it is to be seen.
    pub power: f64,
    /// The significance level of the comparison.
    pub level: f64,
    /// How many tests share the level: the mean score, and the pass rate where it is not the same.
    pub tests: usize,
    pub noise: PlanNoise,
    /// One for each number of trials.
    pub options: Vec<PlanOption>,
    /// What the cases of the earlier run can show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<PlanOption>,
}

/// What is known, or assumed, about how much scores scatter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct PlanNoise {
    pub source: NoiseSource,
    pub mean: f64,
    /// The standard deviation of the trials of one case.
    pub within_case: f64,
    /// The standard deviation of the true effect between cases, besides what the difference itself implies.
    pub between_cases: f64,
    /// Whether all scores are 0 or 1.
    pub binary: bool,
}

/// Where the noise is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoiseSource {
    /// `--rate`: every case passes with this probability.
    AssumedRate,
    /// The trials of one run.
    Trials,
    /// One run without trials. How cases differ from each other is an upper bound of how their trials would.
    SingleTrials,
    /// Two runs of the same cases.
    TwoRuns,
}

/// One way to see the difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct PlanOption {
    /// Trials of each case in the candidate run.
    pub trials: usize,
    /// Trials of each case in the baseline.
    pub baseline_trials: usize,
    /// How many cases it takes. Absent if no number of cases would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<usize>,
    /// How often this many cases show the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<f64>,
    /// Records of the candidate run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<usize>,
    /// What the candidate run costs, judges included, by what the earlier run cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Forecast>,
    /// How long it takes with `--workers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Forecast>,
}

/// An expected amount with its 95 % bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct Forecast {
    pub expected: f64,
    pub interval: MeanInterval,
}
