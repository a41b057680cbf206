//! The suite's own keys: what is written at the head of an eval file, or in the file beside a dataset.

use super::defaults::TEXTS;
use super::unread::{GraderPlace, refuse_graders};
use crate::config::{Cost, Env, Fields, FromNode as _, Leftovers, Node, Notes};
use crate::evaluators::entry;
use crate::load::discover::paths::suite_id;
use crate::load::labels::{self, Labels};
use agentv_core::evaluator::OnError;
use agentv_core::metrics::EXPLORATION_TOOLS;
use agentv_core::{Score, Suite, Trials};
use std::path::{Path, PathBuf};

/// What is at the head of an eval file, or in the file beside a dataset.
#[derive(Debug)]
pub(super) struct Head {
    pub dataset: Option<String>,
    pub target: Option<String>,
    /// Whether answers are kept from run to run, if the suite says so.
    pub cache: Option<bool>,
    /// How often each case is asked, if the suite says so.
    pub trials: Option<Trials>,
    pub pass_score: Score,
    pub exploration_tools: Vec<String>,
    pub on_error: OnError,
    /// What a worker must have to get its cases.
    pub needs: Labels,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            dataset: None,
            target: None,
            cache: None,
            trials: None,
            pass_score: Score::ONE,
            exploration_tools: EXPLORATION_TOOLS.iter().map(|tool| (*tool).to_owned()).collect(),
            on_error: OnError::default(),
            needs: Labels::default(),
        }
    }
}

/// What a suite's own keys say, and those that can only be read once the suite is known.
pub(super) struct ReadHead<'t> {
    pub head: Head,
    pub evaluators: Option<&'t Node<'t>>,
    pub workspace: Option<&'t Node<'t>>,
    pub files: Option<&'t Node<'t>>,
}

/// Keys of the head that mean something to people or to other tools.
const SILENT: [&str; 5] = ["$schema", "description", "name", "version", "metadata"];

/// The names of the list of cases, the best first.
pub(in crate::load) const CASES: [&str; 3] = ["evalcases", "tests", "eval_cases"];

impl Head {
    /// Reads the suite's keys. `extra` are keys that the caller reads itself.
    pub(in crate::load) fn read<'t>(
        root: &'t Node<'t>,
        extra: &[&'static str],
        notes: &mut Notes,
        env: &Env,
    ) -> Option<ReadHead<'t>> {
        let mut fields = Fields::of(root, "the eval file", Cost::Command, notes, env)?;
        // The defaults of cases are read by `Defaults`.
        for key in SILENT.iter().chain(extra).chain(&["vars"]).chain(TEXTS.concat().iter()) {
            fields.node(key);
        }
        let mut head = Self { dataset: fields.take("dataset"), ..Self::default() };
        head.needs = labels::read(&mut fields);
        let legacy_target: Option<String> = fields.take("target");
        let execution = fields.node("execution");
        let mut workspace = fields.node("workspace");
        let files = fields.node("files");
        refuse_graders(&mut fields, GraderPlace::Suite);
        fields.finish(Leftovers::Warn);
        let mut list = None;
        if let Some(node) = execution {
            let mut fields =
                Fields::of(node, "`execution` of the eval file", Cost::Command, notes, env)?;
            head.target = fields.take("target");
            head.cache = fields.take("cache");
            head.trials = trials(&mut fields);
            list = fields.node("evaluators");
            workspace = fields.node("workspace").or(workspace);
            if let Some(score) = fields.take::<f64>("pass_score") {
                head.pass_score = Score::clamped(score);
                if !(0.0..=1.0).contains(&score) {
                    let message = format!("`pass_score` must be from 0 to 1, not `{score}`");
                    fields.error("suite::pass-score", "pass_score", message);
                }
            }
            if let Some(policy) = entry::on_error(&mut fields, OnError::default()) {
                head.on_error = policy;
            }
            if let Some(tools) = fields.take("exploration_tools") {
                head.exploration_tools = tools;
            }
            refuse_graders(&mut fields, GraderPlace::SuiteExecution);
            fields.finish(Leftovers::Warn);
        }
        head.target = head.target.or(legacy_target);
        Some(ReadHead { head, evaluators: list, workspace, files })
    }

    pub(super) fn into_suite(self, file: &Path, project_root: &Path) -> (Suite, Option<String>) {
        let stem =
            file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = if stem.is_empty() { "eval".to_owned() } else { stem };
        let suite = Suite {
            id: suite_id(file, project_root),
            file: file.to_owned(),
            dir: file.parent().map_or_else(PathBuf::new, Path::to_owned),
            dataset: self.dataset.filter(|dataset| !dataset.trim().is_empty()).unwrap_or(stem),
            pass_score: self.pass_score,
            exploration_tools: self.exploration_tools,
            cache: self.cache,
            trials: self.trials,
            needs: self.needs,
        };
        (suite, self.target)
    }
}

fn trials(fields: &mut Fields<'_, '_>) -> Option<Trials> {
    let node = fields.node("trials")?;
    let count = u64::from_node(node).ok().and_then(|count| u32::try_from(count).ok());
    let trials = count.and_then(Trials::new);
    if trials.is_none() {
        let (most, found) = (Trials::MOST, node.to_value());
        let message = format!("`trials` must be a whole number from 1 to {most}, not `{found}`");
        fields
            .error_at("suite::trials", node.span, message)
            .help("leave `trials` out to run each case once");
    }
    trials
}
