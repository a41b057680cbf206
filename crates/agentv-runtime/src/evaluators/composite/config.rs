//! The keys of `composite`.

use super::Composite;
use super::aggregate::{Aggregator, Code};
use crate::config::{Fields, Kind, Leftovers, Node, suggestion};
use crate::evaluators::script::Script;
use crate::evaluators::{Build, entry, template};
use crate::process::EnvironmentRule;
use agentv_core::{EvaluatorEntry, Weight};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// `type: composite`: several evaluators grade, and an aggregator makes one score of theirs.
#[derive(Debug, Clone, JsonSchema)]
pub struct CompositeConfig {
    /// The members: evaluators of any type, composites too. Their own `weight` does not count here.
    pub evaluators: Vec<serde_json::Value>,
    /// `{type: weighted_average, weights: {member: n}}`, `{type: code_judge, path: <shell command>, cwd, timeout_seconds, pass_env}` or
    /// `{type: llm_judge, prompt: <file or template with {{EVALUATOR_RESULTS_JSON}}>, target}`.
    pub aggregator: serde_json::Value,
}

pub(super) fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Composite> {
    let members = members(fields, build);
    let aggregator = aggregator(fields, build);
    if let (Some(members), Some(Aggregator::WeightedAverage { weights })) = (&members, &aggregator)
    {
        warn_of_strangers(weights, members, fields);
    }
    Some(Composite { members: members?, aggregator: aggregator? })
}

fn members(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Vec<EvaluatorEntry>> {
    let node = fields.node("evaluators");
    let Some(items) = node.and_then(Node::as_list).filter(|items| !items.is_empty()) else {
        let message = format!("{} needs `evaluators`, a list of its members", fields.owner());
        fields.error("composite::members", "evaluators", message);
        return None;
    };
    let mut members: Vec<EvaluatorEntry> = Vec::with_capacity(items.len());
    for item in items {
        if let Some(weight) = item.get("weight") {
            let message = "the `weight` of a composite's member does not count";
            fields
                .warning_at("composite::weight", weight.span, message)
                .help("put it into `aggregator.weights`");
        }
        let member = fields
            .inside(item, entry::owner(item))
            .and_then(|mut own| entry::read(&mut own, build))?;
        if members.iter().any(|known| known.name == member.name) {
            let message = format!("{} has two members named `{}`", fields.owner(), member.name);
            fields
                .error_at("composite::twin", item.span, message)
                .help("give each member a `name` of its own");
        }
        members.push(member);
    }
    Some(members)
}

fn aggregator(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Aggregator> {
    let env = fields.env();
    let Some(node) = fields.node("aggregator") else {
        let message = format!("{} needs an `aggregator`", fields.owner());
        fields
            .error("composite::aggregator", "aggregator", message)
            .help("add `aggregator: {type: weighted_average}`");
        return None;
    };
    let mut own = fields.inside(node, "`aggregator`")?;
    let kind: String = own.need("type")?;
    let aggregator = match kind.as_str() {
        "weighted_average" => Some(Aggregator::WeightedAverage { weights: weights(&mut own) }),
        "code_judge" => {
            let cwd = own
                .take::<String>("cwd")
                .map_or_else(|| build.eval_dir.to_owned(), |cwd| build.eval_dir.join(cwd));
            let time_limit = own.take("timeout_seconds");
            let passed = own.passed_variables().unwrap_or_default();
            let script: String = own.need_of(&["path", "script", "command"])?;
            Script::Shell(script.clone()).check_files("path", &cwd, &mut own);
            depends_on_words(&script, &cwd, build);
            Some(Aggregator::Code(Box::new(Code {
                script,
                cwd,
                time_limit,
                rule: EnvironmentRule::of_program(env, build.scrub_judges, &passed),
                eval_dir: build.eval_dir.to_owned(),
                sandbox: build.sandbox.cloned(),
                processes: Arc::clone(build.processes),
            })))
        }
        "llm_judge" => {
            let target = own.take("target");
            let prompt = match own.node("prompt") {
                Some(node) => {
                    let Some(text) = node.as_text() else {
                        let message = format!("`prompt` must be text, not {}", node.describe());
                        own.error("composite::prompt", "prompt", message);
                        return None;
                    };
                    Some(template::read(text, node, &mut own, build)?.text)
                }
                None => None,
            };
            Some(Aggregator::Model { prompt, target })
        }
        other => {
            let message = format!("unknown aggregator type `{other}`");
            own.error("composite::aggregator", "type", message)
                .help("use weighted_average, code_judge or llm_judge");
            return None;
        }
    };
    own.finish(Leftovers::Warn);
    aggregator
}

fn weights(fields: &mut Fields<'_, '_>) -> BTreeMap<String, Weight> {
    let Some(node) = fields.node("weights") else { return BTreeMap::new() };
    let mut weights = BTreeMap::new();
    let entries = node.as_map().map(Vec::as_slice).unwrap_or_default();
    for entry in entries {
        let weight = match &entry.value.kind {
            Kind::Number(number) => number.as_f64().and_then(Weight::new),
            _ => None,
        };
        if let Some(weight) = weight {
            weights.insert(entry.key.clone().into_owned(), weight);
        } else {
            let message = format!("the weight of `{}` must be a number from 0 up", entry.key);
            fields.error_at("composite::weight", entry.value.span, message);
        }
    }
    if node.as_map().is_none() {
        let message =
            format!("`weights` must be a mapping of members to numbers, not {}", node.describe());
        fields.error_at("composite::weight", node.span, message);
    }
    weights
}

/// A weight without a member is most likely that of one whose name is spelt otherwise.
fn warn_of_strangers(
    weights: &BTreeMap<String, Weight>,
    members: &[EvaluatorEntry],
    fields: &mut Fields<'_, '_>,
) {
    let names = || members.iter().map(|member| member.name.as_str());
    let node = fields.node("aggregator").and_then(|node| node.get("weights"));
    for name in weights.keys().filter(|name| !names().any(|known| known == name.as_str())) {
        let entries = node.and_then(Node::as_map).map(Vec::as_slice).unwrap_or_default();
        let Some(entry) = entries.iter().find(|entry| entry.key == name.as_str()) else { continue };
        let message = format!("{} has no member `{name}` to weigh", fields.owner());
        let help = match suggestion(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("name one of its members: {}", names().collect::<Vec<_>>().join(", ")),
        };
        fields.warning_at("composite::weight", entry.key_span, message).help(help);
    }
}

/// The files that a command names belong to what the case is.
fn depends_on_words(script: &str, cwd: &std::path::Path, build: &mut Build<'_>) {
    let files: Vec<PathBuf> = script
        .split_whitespace()
        .map(|word| cwd.join(word))
        .filter(|path| path.is_file())
        .collect();
    for file in files {
        build.depends_on(&file);
    }
}
