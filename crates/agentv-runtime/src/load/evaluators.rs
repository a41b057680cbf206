//! A list of evaluators as written → evaluators that are ready to grade.

use super::scope::Scope;
use crate::config::{Cost, Fields, Leftovers, Node, Notes, suggestion};
use crate::evaluators::{Build, EVALUATORS, EvaluatorKind};
use agentv_core::evaluator::Required;
use agentv_core::{EvaluatorEntry, EvaluatorName, Score, Weight};
use sha2::Sha256;

/// Builds every evaluator of a list. One that cannot be built is noted and left out.
pub(super) fn build(
    node: &Node<'_>,
    scope: &Scope,
    fingerprint: &mut Sha256,
    notes: &mut Notes,
) -> Vec<EvaluatorEntry> {
    let Some(items) = node.as_list() else {
        let message = format!("`evaluators` must be a list, not {}", node.describe());
        notes.error("evaluator::list", Some(node.span), message).costs(Cost::Case);
        return Vec::new();
    };
    let mut build = Build {
        eval_dir: &scope.suite.dir,
        search: scope.files.search(),
        processes: &scope.processes,
        fingerprint,
    };
    items.iter().filter_map(|item| entry(item, scope, &mut build, notes)).collect()
}

fn entry(
    node: &Node<'_>,
    scope: &Scope,
    build: &mut Build<'_>,
    notes: &mut Notes,
) -> Option<EvaluatorEntry> {
    let shown =
        node.get("name").or_else(|| node.get("type")).and_then(Node::as_text).unwrap_or("?");
    let mut fields =
        Fields::of(node, format!("evaluator `{shown}`"), Cost::Evaluator, notes, &scope.env)?;
    let type_name: Option<String> = fields.need("type");
    // An evaluator without a name goes by its type.
    let name: Option<String> = fields.take("name").or_else(|| type_name.clone());
    let weight = weight(&mut fields);
    let required = required(&mut fields);
    let kind = kind(&type_name?, &mut fields)?;
    let evaluator = kind.read(&mut fields, build);
    fields.finish(Leftovers::Warn);
    Some(EvaluatorEntry {
        name: EvaluatorName::from(name?),
        kind: kind.names[0],
        weight: weight?,
        required: required?,
        evaluator: evaluator?,
    })
}

fn kind(name: &str, fields: &mut Fields<'_, '_>) -> Option<&'static EvaluatorKind> {
    let kind = EvaluatorKind::find(name);
    if kind.is_none() {
        let known = || EVALUATORS.iter().flat_map(|kind| kind.names.iter().copied());
        let help = match suggestion(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "known types: {}",
                EVALUATORS.iter().map(|kind| kind.names[0]).collect::<Vec<_>>().join(", ")
            ),
        };
        fields
            .error("evaluator::type", "type", format!("there is no evaluator of type `{name}`"))
            .help(help);
    }
    kind
}

fn weight(fields: &mut Fields<'_, '_>) -> Option<Weight> {
    if fields.node("weight").is_none() {
        return Some(Weight::ONE);
    }
    let weight = fields.take::<f64>("weight")?;
    let checked = Weight::new(weight);
    if checked.is_none() {
        let message =
            format!("`weight` of {} must be a number from 0 up, not `{weight}`", fields.owner());
        fields.error("evaluator::weight", "weight", message);
    }
    checked
}

fn required(fields: &mut Fields<'_, '_>) -> Option<Required> {
    use crate::config::Kind;
    let Some(node) = fields.node("required") else { return Some(Required::No) };
    match &node.kind {
        Kind::Bool(true) => Some(Required::ToPass),
        Kind::Bool(false) => Some(Required::No),
        Kind::Number(number) if number.as_f64().is_some_and(|n| (0.0..=1.0).contains(&n)) => {
            Some(Required::AtLeast(Score::clamped(number.as_f64().unwrap_or_default())))
        }
        _ => {
            let message = format!(
                "`required` of {} must be `true`, `false` or a score from 0 to 1",
                fields.owner()
            );
            fields.error_at("evaluator::required", node.span, message);
            None
        }
    }
}
