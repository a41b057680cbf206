//! The keys of `llm_judge`.

use super::prompt::{self, Prompt};
use super::rubric;
use super::{LlmJudge, Task};
use crate::config::{Fields, FromNode, Node, Wrong};
use crate::evaluators::{Build, as_object};
use agentv_wire::Object;
use schemars::JsonSchema;
use std::sync::Arc;

/// How often a judge is asked for a reply that can be read.
pub(super) const MAX_ASKS: u64 = 3;

/// `type: llm_judge`, or `type: rubric` with `rubrics`: a model reads the answer and grades it. Keys that are not listed
/// reach a prompt script as `config`.
#[derive(Debug, Clone, JsonSchema)]
pub struct LlmJudgeConfig {
    /// A file with the template, the template itself, or `{script: [program, …], config: {…}}` whose output is the template.
    /// `{{ file_changes }}` in it is what an agent changed in its workspace.
    pub prompt: Option<serde_json::Value>,
    /// Items to check one by one, instead of a prompt: texts, or `{id, expected_outcome, weight, required}`; with
    /// `score_ranges: [{score_range: [0, 3], expected_outcome}, …]` an item is scored from 0 to 10.
    pub rubrics: Option<Vec<serde_json::Value>>,
    /// The target that judges, instead of the candidate's `judge_target`.
    pub target: Option<String>,
    /// Several targets that judge; their votes are put together by `vote`.
    pub judges: Option<Vec<String>>,
    /// How the votes of a panel are put together.
    #[serde(default)]
    pub vote: VoteRule,
    /// How often a judge is asked if its reply cannot be read. Without it: 3.
    pub max_asks: Option<u64>,
    /// Whether the default prompt, or a template that does not place `{{ trace_summary }}` itself, ends with what the
    /// candidate did.
    pub include_trace: Option<bool>,
    /// For prompt scripts.
    pub config: Option<Object>,
    /// Secrets that a prompt script gets although the configuration says `env: scrub`: names of variables.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// Accepted and ignored, as in 2.x.
    pub model: Option<String>,
}

/// How the votes of a panel become one score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema)]
#[serde(rename = "Vote", rename_all = "snake_case")]
pub enum VoteRule {
    /// Their mean.
    #[default]
    Mean,
    /// The middle one, or the mean of the two in the middle.
    Median,
    /// 1 if more than half of them pass (0.8 or more), else 0.
    Majority,
}

impl FromNode for VoteRule {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match node.as_text() {
            Some("mean") => Ok(Self::Mean),
            Some("median") => Ok(Self::Median),
            Some("majority") => Ok(Self::Majority),
            _ => Err(Wrong { expected: "`mean`, `median` or `majority`" }),
        }
    }
}

/// Who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judges {
    /// The candidate's `judge_target`, else the candidate itself.
    Default,
    One(String),
    Panel {
        names: Vec<String>,
        vote: VoteRule,
    },
}

pub(super) fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<LlmJudge> {
    let is_rubric = fields.node("type").and_then(Node::as_text) == Some("rubric");
    let explicit: Option<Object> =
        fields.node("config").and_then(|node| node.to_value().as_object().cloned());
    let rubrics = fields.node("rubrics").map(|node| rubric::read(node, fields));
    let prompt_node = fields.node("prompt");
    fields.node("model");
    let include_trace = fields.take("include_trace").unwrap_or(false);
    let max_asks = fields.take::<u64>("max_asks").unwrap_or(MAX_ASKS);
    if max_asks == 0 {
        fields.error(
            "llm_judge::max-asks",
            "max_asks",
            format!("`max_asks` of {} must be from 1 up", fields.owner()),
        );
    }
    let judges = judges(fields);
    let passed = fields.passed_variables().unwrap_or_default();
    let handed_on = handed_on(fields, explicit);
    let prompt =
        prompt_node.map(|node| prompt::read(node, (handed_on.clone(), &passed), fields, build));

    let task = match (rubrics, prompt) {
        (Some(rubrics), _) => Task::Check(rubrics?),
        (None, _) if is_rubric => {
            let message = format!("{} needs `rubrics`", fields.owner());
            fields
                .error("llm_judge::rubrics", "type", message)
                .help("list what a good answer does, an item each");
            return None;
        }
        (None, Some(prompt)) => Task::Grade(Prompt { include_trace, ..prompt? }),
        (None, None) => Task::Grade(Prompt { include_trace, ..Prompt::default() }),
    };
    Some(LlmJudge { task, judges: judges?, max_asks, processes: Arc::clone(build.processes) })
}

fn judges(fields: &mut Fields<'_, '_>) -> Option<Judges> {
    let one = fields.take::<String>("target");
    let vote = fields.take("vote");
    let Some(node) = fields.node("judges") else {
        return Some(one.map_or(Judges::Default, Judges::One));
    };
    let names: Option<Vec<String>> = fields.take("judges");
    let names = names?;
    if names.is_empty() {
        fields.error_at(
            "llm_judge::judges",
            node.span,
            format!("`judges` of {} is empty", fields.owner()),
        );
        return None;
    }
    if one.is_some() {
        let message = format!("`target` of {} is ignored, since it has `judges`", fields.owner());
        fields.warning_at("llm_judge::judges", node.span, message).help("remove one of the two");
    }
    Some(Judges::Panel { names, vote: vote.unwrap_or_default() })
}

/// What a prompt script gets: all keys that 2.x did not know, under those of an explicit `config`.
fn handed_on(fields: &mut Fields<'_, '_>, explicit: Option<Object>) -> Option<Object> {
    let known = ["prompt", "rubrics", "config", "model"];
    let mut entries = fields.rest();
    entries.retain(|entry| !known.contains(&&*entry.key));
    let mut object = as_object(&entries);
    object.extend(explicit.unwrap_or_default());
    (!object.is_empty()).then_some(object)
}
