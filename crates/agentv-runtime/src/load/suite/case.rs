//! One case as written → one case that can be run.

use super::criteria::Criteria;
use super::defaults::{completed, wrong_vars};
use super::evaluators::{SharedEvaluators, named, warn_of_empty_list, warn_of_second_name};
use super::messages::MessageReader;
use super::scope::CaseScope;
use super::unread::{GraderPlace, refuse_graders};
use super::{portable, workspace};
use crate::config::{Cost, Fields, Leftovers, Node, Notes, Owner};
use crate::evaluators::CaseDigest;
use agentv_core::suite::Fingerprint;
use agentv_core::{EvalCase, EvalId, EvaluatorEntry, TargetName};
use agentv_wire::Object;
use serde_json::Value;
use std::sync::Arc;

/// Keys that say something to people only, or that other versions of AgentV read; and `vars`, which are put in by then.
const PASSED_OVER: [&str; 4] = ["description", "note", "reference_answer", "vars"];

/// The id of a case, if it has one.
pub(in crate::load) fn id<'n>(node: &'n Node<'_>) -> Option<&'n str> {
    node.get("id").and_then(Node::as_text).filter(|id| !id.trim().is_empty())
}

/// What a case is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) enum LoadPurpose {
    /// To be looked at and dropped: its fingerprint says nothing.
    Check,
    Run,
}

/// Checks one case. What is wrong with it is noted, and then there is no case; nor is there one that is not wanted because
/// nothing of it was changed.
pub(in crate::load) fn check(
    node: &Node<'_>,
    ordinal: usize,
    scope: &CaseScope,
    purpose: LoadPurpose,
    notes: &mut Notes,
) -> Option<EvalCase> {
    let owner = id(node).map_or_else(
        || Owner::from(format!("case number {}", ordinal + 1)),
        |id| Owner::Named("case", id),
    );
    let mut fingerprint = fingerprint(node, scope, purpose);
    let written = node;
    let completed = completed(node, &owner, &scope.given.defaults, notes);
    let node = completed.as_ref();
    let mut fields = Fields::of(node, owner, Cost::Case, notes, &scope.env)?;
    fields.pass_over(&PASSED_OVER);
    let wrong = |vars: &&Node<'_>| vars.as_map().is_none() && !vars.is_null();
    if let Some(vars) = node.get("vars").filter(wrong) {
        let message = wrong_vars(fields.owner(), vars);
        fields.error_at("vars::type", vars.span, message);
    }
    let id = required_text(&mut fields, &["id"], "give it a short, unique `id`");
    let criteria = Criteria::read(&mut fields);
    let conversation_id = fields.take("conversation_id");
    let tags = fields.take("tags").unwrap_or_default();
    let metadata = metadata(&mut fields, purpose);
    let mut reader = MessageReader { files: &scope.files, fingerprint: &mut fingerprint };
    let input = reader.input(&mut fields);
    let expected_messages = reader.expected(&mut fields);
    let own_list = fields.node("evaluators");
    let rubrics = fields.node("rubrics");
    let Execution { target, evaluators: execution_list, workspace } = execution(&mut fields);
    let workspace = fields.node("workspace").or(workspace);
    let workspace =
        workspace.and_then(|node| workspace::read(node, &mut fields, &scope.given.suite.dir));
    refuse_graders(&mut fields, GraderPlace::Case);
    fields.finish(Leftovers::Warn);
    let failed = fields.failed();

    let list = execution_list.or(own_list);
    let mut graders = graders(list, scope, &mut fingerprint, notes)?;
    if let Some(rubrics) = rubrics {
        let rubric = scope.builder.rubric(rubrics, &mut fingerprint, notes)?;
        if graders.given && graders.entries.iter().any(|entry| entry.name == rubric.name) {
            let first = list.and_then(|list| named(list, rubric.name.as_str()));
            warn_of_second_name(rubric.name.as_str(), (first, rubrics.span), notes);
        }
        graders = graders.after(rubric);
    }
    let expected_outcome = criteria.for_evaluators(&graders.entries, notes);
    if failed {
        return None;
    }
    let workspace = scope.given.workspace_with(workspace);
    let is_hashed = scope.filter.needs_files() || purpose == LoadPurpose::Run;
    if let Some(spec) = workspace.as_ref().filter(|_| is_hashed) {
        scope.builder.context(&mut fingerprint).depends_on_tree(spec.template.as_deref());
    }
    if !scope.filter.wants_changed(&fingerprint) {
        return None;
    }
    let written = portable::written(written, id.as_deref(), &fingerprint, scope, notes)?;
    Some(EvalCase {
        suite: Arc::clone(&scope.given.suite),
        id: EvalId::from(id?),
        ordinal,
        conversation_id,
        expected_outcome: expected_outcome?,
        input: input?,
        expected_messages,
        evaluators: graders.entries,
        evaluators_given: graders.given,
        target: target.map(TargetName::from),
        tags,
        metadata,
        workspace,
        fingerprint: Fingerprint(fingerprint.finish()),
        written,
    })
}

/// What the case and its suite say. Files that the case depends on are added as they are found.
fn fingerprint(node: &Node<'_>, scope: &CaseScope, purpose: LoadPurpose) -> CaseDigest {
    let mut fingerprint = scope.filter.new_digest();
    if let Some(files) = &scope.given.files {
        fingerprint.depends_on_shared(files);
    }
    if purpose == LoadPurpose::Check {
        return fingerprint;
    }
    fingerprint.node(node);
    if let Some(digest) = &scope.given.defaults.digest {
        fingerprint.update(digest);
    }
    // The suite's pass score and tools are part of what its cases are.
    let suite = &scope.given.suite;
    fingerprint.update(suite.pass_score.value().to_le_bytes());
    for tool in &suite.exploration_tools {
        fingerprint.update(tool.as_bytes());
        fingerprint.update(b"\n");
    }
    fingerprint.update([scope.builder.on_error as u8]);
    fingerprint
}

fn required_text(fields: &mut Fields<'_, '_>, keys: &[&'static str], help: &str) -> Option<String> {
    let Some(node) = fields.node_of(keys) else {
        let message = format!("{} has no `{}`", fields.owner(), keys[0]);
        fields.error("case::missing", "id", message).help(help);
        return None;
    };
    text_of(node, keys, help, fields)
}

/// The text of a value that was found under one of these keys. If it is something else, or blank, that is noted.
pub(super) fn text_of(
    node: &Node<'_>,
    keys: &[&str],
    help: &str,
    fields: &mut Fields<'_, '_>,
) -> Option<String> {
    match node.as_text() {
        Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
        _ => {
            let found = if node.as_text().is_some() { "empty text" } else { node.describe() };
            let is_written = |key: &&&str| fields.span_of(key) == node.span;
            let key = keys.iter().find(is_written).unwrap_or(&keys[0]);
            let message = format!("`{key}` of {} must be text, not {found}", fields.owner());
            let note = fields.error_at("case::type", node.span, message);
            if matches!(node.kind, crate::config::Kind::Number(_) | crate::config::Kind::Bool(_)) {
                note.help("put quotes around it");
            } else {
                note.help(help);
            }
            None
        }
    }
}

/// The case's `metadata`, unless the case is only looked at.
fn metadata(fields: &mut Fields<'_, '_>, purpose: LoadPurpose) -> Option<Arc<Object>> {
    let node = fields.node("metadata").filter(|node| !node.is_null())?;
    if node.as_map().is_none() {
        let message = format!(
            "`metadata` of {} is left out: it must be a mapping, not {}",
            fields.owner(),
            node.describe()
        );
        fields.warning_at("case::metadata", node.span, message);
        return None;
    }
    match node.to_value() {
        Value::Object(metadata) if purpose == LoadPurpose::Run => Some(Arc::new(metadata)),
        _ => None,
    }
}

/// What is special about a case.
#[derive(Default)]
struct Execution<'t> {
    target: Option<String>,
    evaluators: Option<&'t Node<'t>>,
    workspace: Option<&'t Node<'t>>,
}

/// The case's own target, and its evaluators and workspace if they stand here.
fn execution<'t>(fields: &mut Fields<'_, 't>) -> Execution<'t> {
    let Some(node) = fields.node("execution") else { return Execution::default() };
    let owner = format!("`execution` of {}", fields.owner());
    let Some(mut execution) = fields.inside(node, owner) else { return Execution::default() };
    let target = execution.take("target");
    execution.node("evaluators");
    execution.node("workspace");
    refuse_graders(&mut execution, GraderPlace::CaseExecution);
    execution.finish(Leftovers::Warn);
    let given = |key| node.get(key).filter(|node| !node.is_null());
    Execution { target, evaluators: given("evaluators"), workspace: given("workspace") }
}

struct Graders {
    entries: Arc<[EvaluatorEntry]>,
    /// Whether the file lists them.
    given: bool,
}

impl Graders {
    /// With another one before them; the default judge steps aside for it.
    fn after(self, first: EvaluatorEntry) -> Self {
        let others = if self.given { &*self.entries } else { &[] };
        Self {
            entries: std::iter::once(first).chain(others.iter().cloned()).collect(),
            given: true,
        }
    }
}

/// The case's own evaluators, else the suite's, else the default judge. `None` if one cannot be built.
fn graders(
    list: Option<&Node<'_>>,
    scope: &CaseScope,
    fingerprint: &mut CaseDigest,
    notes: &mut Notes,
) -> Option<Graders> {
    if let Some(list) = list {
        if list.as_list().is_some_and(<[Node<'_>]>::is_empty) {
            warn_of_empty_list(list, notes);
        } else {
            let entries = scope.builder.of_case(list, fingerprint, notes);
            // With every evaluator left out there is nothing to grade by; the notes say why.
            return (!entries.is_empty()).then_some(Graders { entries, given: true });
        }
    } else if let Some(SharedEvaluators { entries, digest }) = &scope.given.evaluators {
        fingerprint.depends_on_shared(digest);
        return (!entries.is_empty())
            .then(|| Graders { entries: Arc::clone(entries), given: true });
    }
    Some(Graders { entries: Arc::clone(&scope.given.default_judge), given: false })
}
