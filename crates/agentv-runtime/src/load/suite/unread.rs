//! Graders that are written where AgentV does not read them. Left out with a warning, a check would pass every answer, so
//! such a key is an error.

use crate::config::{Entry, Fields, Kind, same_key};
use crate::evaluators::EvaluatorKind;

/// Where an eval file may have graders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GraderPlace {
    Suite,
    SuiteExecution,
    Case,
    CaseExecution,
}

/// The word of 2.x for a single grader: the name of a type.
const SINGLE: &str = "evaluator";

/// Words for graders: our own, each of which is read in some places only, and those of later versions of AgentV and of
/// other tools.
pub(in crate::load) const GRADER_KEYS: [&str; 10] = [
    "evaluators",
    "rubrics",
    SINGLE,
    "assert",
    "assertions",
    "graders",
    "rubric",
    "metrics",
    "checks",
    "default_test",
];

/// Refuses keys with graders that were not read. To be called when all other keys are.
pub(super) fn refuse_graders(fields: &mut Fields<'_, '_>, place: GraderPlace) {
    for entry in fields.unread(&GRADER_KEYS) {
        if let (SINGLE, Kind::Text(kind)) = (&*entry.key, &entry.value.kind) {
            warn_of_unknown_kind(kind, entry, fields);
            continue;
        }
        let (key, owner) = (&entry.key, fields.owner());
        let message = format!("`{key}` of {owner} is not read, so its checks would be left out");
        let help = instead(&entry.key, place);
        fields.error_at("evaluator::not-read", entry.key_span, message).help(help);
    }
}

/// Spec of 2.x: any type here means the default judge, and only where there is no list of evaluators.
fn warn_of_unknown_kind(kind: &str, entry: &Entry<'_>, fields: &mut Fields<'_, '_>) {
    if EvaluatorKind::find(kind).is_none() {
        let message = format!("`{kind}` is not an evaluator type, so the default judge grades");
        fields
            .warning_at("evaluator::type", entry.value.span, message)
            .help("list the evaluators under `evaluators`");
    }
}

/// What to write in the place of a key.
fn instead(key: &str, place: GraderPlace) -> &'static str {
    let is = |name: &str| same_key(key, name);
    match place {
        GraderPlace::Case if is("rubric") => "write `rubrics:` with a list of items",
        _ if is("rubric") || is("rubrics") => {
            "write `rubrics:` in each case, or an evaluator `{type: rubric, rubrics: […]}` under `execution.evaluators`"
        }
        _ if is("default_test") => {
            "list the evaluators of all cases under `execution.evaluators`, and put `vars` at the top of the file"
        }
        GraderPlace::Case => {
            "list the graders under `evaluators`, as in `evaluators: [{type: contains, value: Paris}]`"
        }
        GraderPlace::CaseExecution | GraderPlace::SuiteExecution => {
            "list the graders under `execution.evaluators`, as in `evaluators: [{type: contains, value: Paris}]`"
        }
        GraderPlace::Suite => {
            "list the graders of all cases under `execution.evaluators`, as in `execution: {evaluators: [{type: contains, value: Paris}]}`"
        }
    }
}
