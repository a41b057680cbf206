//! Graders that are written where AgentV does not read them. Left out with a warning, a check would pass every answer, so
//! such a key is an error, and so is a misspelt one.

use crate::config::{Entry, Fields, Kind, same_key, suggestion, typos_between};
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
const GRADER_KEYS: [&str; 10] = [
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

/// Keys from this length on are recognized with more than one typo.
const LONG_KEY: usize = 8;

/// Refuses keys with graders that were not read. To be called when all other keys are.
pub(super) fn refuse_graders(fields: &mut Fields<'_, '_>, place: GraderPlace) {
    let is_grader = |key: &str, known: &[&'static str]| meant_grader(key, known).is_some();
    for entry in fields.unread(is_grader) {
        if let (SINGLE, Kind::Text(kind)) = (&*entry.key, &entry.value.kind) {
            warn_of_unknown_kind(kind, entry, fields);
            continue;
        }
        let (key, owner) = (&entry.key, fields.owner());
        let message = format!("`{key}` of {owner} is not read, so its checks would be left out");
        let help = match meant_grader(key, fields.known()) {
            Some(meant) if fields.known().contains(&meant) => format!("did you mean `{meant}`?"),
            meant => instead(meant.unwrap_or(key), place).to_owned(),
        };
        fields.error_at("evaluator::not-read", entry.key_span, message).help(help);
    }
}

/// The word for graders that an unread key is, or a misspelling of. A key that is nearer to another known one is not.
pub(in crate::load) fn meant_grader(written: &str, known: &[&'static str]) -> Option<&'static str> {
    if let Some(key) = GRADER_KEYS.into_iter().find(|key| same_key(written, key)) {
        return Some(key);
    }
    // In this order, so that of two equally near keys the one that can be written here is suggested.
    let key = suggestion(written, known.iter().copied().chain(GRADER_KEYS))?;
    // `headers` is not a misspelling of `graders`, nor `assets` of `assert`.
    let is_near = key.len() >= LONG_KEY || typos_between(written, key) <= 1;
    (is_near && GRADER_KEYS.contains(&key)).then_some(key)
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
