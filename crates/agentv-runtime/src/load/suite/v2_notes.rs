//! What a file that was written for AgentV 2.x may expect to be otherwise, said where it is.
//!
//! Only files that name a format of 2.x (`$schema: agentv-eval-v2`) are looked at: whoever writes a file today means what
//! AgentV does today. Each thing is said once for a file, however many cases it concerns, and not at all where the file
//! itself decides it.

use super::head::CASES;
use crate::config::{Node, Note, Notes, Span};
use std::path::Path;

/// Where all of it is told.
const PAGE: &str = "docs/guide/moving-from-2.x.md";

/// Whether a file says that it was written for AgentV 2.x.
pub(in crate::load) fn is_of_2(root: &Node<'_>) -> bool {
    let schema = root.get("$schema").and_then(Node::as_text).unwrap_or_default();
    schema.starts_with("agentv-") && schema.contains("-v2")
}

/// Looks at an eval file of 2.x.
pub(super) fn look_at_suite(root: &Node<'_>, notes: &mut Notes) {
    let cases = CASES.iter().find_map(|key| root.get(key)?.as_list()).unwrap_or_default();
    let target = cases.iter().find_map(|case| case.get("execution")?.get("target"));
    if let Some(target) = target {
        let message = "this case runs on its own target; 2.x used the suite's";
        say("moved::case-target", target.span, message, "case-targets", notes);
    }
    let evaluators: Vec<&Node<'_>> =
        std::iter::once(root).chain(cases).flat_map(evaluators).collect();
    if let Some(script) = evaluators.iter().find_map(|entry| shell_script(entry)) {
        let message = "this script is run by `sh -c`; 2.x ran a login shell, which read profiles";
        say("moved::script", script.span, message, "scripts", notes);
    }
    if let Some(mode) = evaluators.iter().find_map(|entry| strict_mode(entry)) {
        let message =
            "the order of calls scores 1 or 0; 2.x gave a part of the score for a part of it";
        say("moved::trajectory", mode.span, message, "tool-trajectories", notes);
    }
}

/// Looks at a targets file of 2.x.
pub(in crate::load) fn look_at_targets(root: &Node<'_>, notes: &mut Notes) {
    let targets = root.get("targets").and_then(Node::as_list).unwrap_or_default();
    let is_claude = |target: &&Node<'_>| {
        let provider = target.get("provider").and_then(Node::as_text).unwrap_or_default();
        provider.eq_ignore_ascii_case("claude-code")
    };
    let chooses =
        |target: &&Node<'_>| ["cwd", "workspace"].iter().any(|key| target.get(key).is_some());
    let target = targets.iter().filter(is_claude).find(|target| !chooses(target));
    if let Some(provider) = target.and_then(|target| target.get("provider")) {
        let message =
            "each call runs in an empty directory of its own; 2.x ran where AgentV was started";
        say("moved::cwd", provider.span, message, "claude-code", notes);
    }
}

/// The note that the cases of a file of 2.x run one at a time, since nothing else is set.
pub(in crate::load) fn workers(file: &Path) -> Vec<Note> {
    let mut notes = Notes::new(file);
    let message = "one case runs at a time; 2.x ran three";
    notes
        .info("moved::workers", None, message)
        .help(format!("set `workers: 3` on the target, or use `--workers 3`; see {PAGE}#workers"));
    notes.finish().0
}

fn say(code: &'static str, at: Span, message: &str, section: &str, notes: &mut Notes) {
    notes.info(code, Some(at), message).help(format!("see {PAGE}#{section}"));
}

/// The evaluators that a suite or a case lists.
fn evaluators<'n, 't>(node: &'n Node<'t>) -> impl Iterator<Item = &'n Node<'t>> {
    let lists =
        [node.get("execution").and_then(|own| own.get("evaluators")), node.get("evaluators")];
    lists.into_iter().flatten().filter_map(Node::as_list).flatten()
}

fn is_type(entry: &Node<'_>, name: &str) -> bool {
    entry.get("type").and_then(Node::as_text) == Some(name)
}

fn shell_script<'n, 't>(entry: &'n Node<'t>) -> Option<&'n Node<'t>> {
    let script = entry.get("script").filter(|_| is_type(entry, "code_judge"))?;
    script.as_text().map(|_| script)
}

fn strict_mode<'n, 't>(entry: &'n Node<'t>) -> Option<&'n Node<'t>> {
    let mode = entry.get("mode").filter(|_| is_type(entry, "tool_trajectory"))?;
    mode.as_text().filter(|mode| ["in_order", "exact"].contains(mode)).map(|_| mode)
}
