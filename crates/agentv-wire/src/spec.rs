//! A run as it was ordered. Flags become one, `run.json` keeps it, and a resume starts from it again.

use crate::{EvalId, SuiteId, TargetName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// All that decides what a run does. Relative paths count from the directory that the run was started in. There is no
/// secret in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct RunSpec {
    /// The eval files.
    pub suites: Vec<PathBuf>,
    /// The targets file, or a directory that holds it. Absent: it is looked for from each eval file upwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets_file: Option<PathBuf>,
    /// Where the answers come from.
    #[serde(skip_serializing_if = "AnswerOrigin::is_targets")]
    pub answers: AnswerOrigin,
    #[serde(skip_serializing_if = "CaseSelection::is_all")]
    pub cases: CaseSelection,
    /// Targets by name. They win over what files and cases ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetName>,
    /// How often each case is run on each target; absent: as its suite says, else once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    /// Cases at a time; absent: as each target says, else one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// The cluster whose workers run the cases; absent: this process runs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSpec>,
    /// Ask a stand-in instead of the targets and judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<DryRunDelay>,
    /// Seconds that one attempt, or one judge program, may take; 0 means no limit.
    pub agent_timeout: f64,
    /// How often a case that timed out is asked again.
    pub max_retries: u32,
    #[serde(skip_serializing_if = "RunGates::is_default")]
    pub gates: RunGates,
    #[serde(skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    /// Whether answers of models are kept in the cache; absent: as the files say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// A cassette to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
    /// A cassette to be answered from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<PathBuf>,
    /// Where the results go; absent: a new file in `.agentv/results`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
    pub output_format: OutputFormat,
    /// Reports to be written when the run is over, as `FORMAT=PATH`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
    /// Whether there is a run folder.
    pub run_folder: bool,
    /// The file with the private key that signs the run folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign: Option<PathBuf>,
    /// Leave out cases and evaluators that cannot be used, instead of refusing to run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_invalid: bool,
    /// Treat warnings in files as errors.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Keep secrets in answers, logs and records as they are, instead of masking them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_redact: bool,
    /// Whether all judges that are programs run in a sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
    /// Whether plug-ins say more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verbose: bool,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            suites: Vec::new(),
            targets_file: None,
            answers: AnswerOrigin::Targets,
            cases: CaseSelection::default(),
            targets: Vec::new(),
            trials: None,
            workers: None,
            cluster: None,
            dry_run: None,
            agent_timeout: 120.0,
            max_retries: 2,
            gates: RunGates::default(),
            budget: Budget::default(),
            cache: None,
            record: None,
            replay: None,
            out: None,
            output_format: OutputFormat::Jsonl,
            reports: Vec::new(),
            run_folder: true,
            sign: None,
            skip_invalid: false,
            strict: false,
            no_redact: false,
            sandbox: false,
            verbose: false,
        }
    }
}

/// A NATS server and what is ours on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct ClusterSpec {
    /// The address of the server, or several with commas between them. There is no password in it.
    pub url: String,
    /// What all names on the server begin with.
    pub prefix: String,
}

/// Where the answers of a run come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOrigin {
    /// The targets are asked.
    #[default]
    Targets,
    /// Another run has them: its results, which may lie in its run folder.
    Recorded(PathBuf),
}

impl AnswerOrigin {
    fn is_targets(&self) -> bool {
        *self == Self::Targets
    }
}

/// Which cases of the suites are run. A case must be wanted by each of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct CaseSelection {
    /// A pattern of the whole id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eval_id: Option<String>,
    /// Parts or patterns of the id; one is enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    /// One of these tags is enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Only these cases of these suites, as of `--last-failed`. Empty: all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<SuiteId, BTreeSet<EvalId>>,
    /// Only cases that depend on one of these files, as of `--watch`. Empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<PathBuf>,
    /// Only cases that changed since this Git revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
    /// A random sample of this many cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<usize>,
    /// The seed of the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// `i/n`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

impl CaseSelection {
    /// Whether no case is left out.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// How long a dry run pretends to think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct DryRunDelay {
    pub fixed_ms: u64,
    pub min_ms: u64,
    pub max_ms: u64,
}

/// What a run must reach, and when it gives up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct RunGates {
    /// The mean score that each target must reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The score that each case must reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_threshold: Option<f64>,
    /// No more cases are started after this many errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<usize>,
    /// No more cases are started after one that did not pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// How many errors and ungraded cases do not fail the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_errors: Option<CaseLimit>,
}

impl RunGates {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How many cases may be without a grade: a number, or a share of all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaseLimit {
    Cases(usize),
    Percent(f64),
}

/// How much a run may spend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

impl Budget {
    pub fn is_unlimited(&self) -> bool {
        self.max_cost_usd.is_none() && self.max_tokens.is_none()
    }
}

/// The format of a results file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    #[default]
    Jsonl,
    Yaml,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plain_run_is_a_short_spec_and_comes_back_as_it_was() {
        let spec = RunSpec { suites: vec!["/p/a.yaml".into()], ..RunSpec::default() };
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(
            written,
            json!({
                "suites": ["/p/a.yaml"],
                "agent_timeout": 120.0,
                "max_retries": 2,
                "output_format": "jsonl",
                "run_folder": true,
            })
        );
        assert_eq!(serde_json::from_value::<RunSpec>(written).unwrap(), spec);
        assert_eq!(serde_json::from_value::<RunSpec>(json!({})).unwrap(), RunSpec::default());
    }
}
