//! One entry of a list of evaluators: the keys that all have, then its own.

use super::{Build, EVALUATORS, EvaluatorKind};
use crate::config::{Fields, Kind, Leftovers, Node, Owner, suggestion};
use agentv_core::evaluator::{OnError, Required};
use agentv_core::{EvaluatorEntry, EvaluatorName, Score, Weight};

/// Reads and builds an evaluator; `None` if something is wrong, which is then noted.
pub fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<EvaluatorEntry> {
    let type_name: Option<String> = fields.need("type");
    // An evaluator without a name goes by its type.
    let name: Option<String> = fields.take("name").or_else(|| type_name.clone());
    let weight = weight(fields);
    let kind = kind(&type_name?, fields);
    let evaluator = kind.and_then(|kind| kind.read(fields, build));
    // After the evaluator's own keys: 2.x did not know these, so a code judge gets them in its `config`.
    let required = required(fields);
    let on_error = on_error(fields, build.on_error);
    // The loader has found them.
    fields.node("files");
    // Of an unknown kind the keys are not known either.
    let kind = kind?;
    fields.finish(Leftovers::Warn);
    let evaluator = evaluator?;
    Some(EvaluatorEntry {
        name: EvaluatorName::from(name?),
        kind: kind.names[0],
        weight: weight?,
        required: required?,
        on_error: on_error?,
        evaluator,
    })
}

/// What an entry is called in messages.
pub fn owner<'n>(node: &'n Node<'_>) -> Owner<'n> {
    let name = node.get("name").or_else(|| node.get("type")).and_then(Node::as_text);
    Owner::Named("evaluator", name.unwrap_or("?"))
}

/// The policy written here, else the given one.
pub fn on_error(fields: &mut Fields<'_, '_>, otherwise: OnError) -> Option<OnError> {
    let Some(node) = fields.node("on_judge_error") else { return Some(otherwise) };
    let policy = node.as_text().and_then(OnError::of);
    if policy.is_none() {
        let names: Vec<String> = OnError::ALL.iter().map(|(_, name)| format!("`{name}`")).collect();
        let message =
            format!("`on_judge_error` of {} must be one of {}", fields.owner(), names.join(", "));
        fields.error_at("evaluator::on-judge-error", node.span, message);
    }
    policy
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
            .error("evaluator::type", "type", format!("unknown evaluator type `{name}`"))
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
