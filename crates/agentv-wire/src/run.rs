//! `run.json`: what is known of one run, in its folder `.agentv/runs/<run id>/`. No key and no answer is in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run: who ran what, when, where, and what came of it. Written when it starts and again when it ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunInfo {
    /// The name of the folder. Later runs come later in the alphabet.
    pub run: String,
    /// The version of AgentV.
    pub version: String,
    /// The command line after the program's name. No flag takes a key, so there is none in it.
    pub command: Vec<String>,
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
    /// Where the results were asked for.
    pub out: String,
    /// The eval files and targets files as they were when the run started.
    pub files: Vec<RunFile>,
    pub targets: Vec<RunTarget>,
    pub choice: RunChoice,
    /// How many records there are to be.
    pub cases: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<RunTotals>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every case has its record.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// A gate (`--max-errors`, `--fail-fast`) stopped it.
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
    /// As it stands in the targets file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What was asked for on the command line. A run is taken up again only with the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunChoice {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// `i/n`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

/// The numbers of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunTotals {
    pub recorded: usize,
    pub passed: usize,
    pub errors: usize,
    /// Gradings that went wrong.
    pub judge_errors: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_score: Option<f64>,
    pub targets: BTreeMap<String, RunTargetTotals>,
}

/// The numbers of one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunTargetTotals {
    pub recorded: usize,
    pub passed: usize,
    pub errors: usize,
    pub mean_score: f64,
}
