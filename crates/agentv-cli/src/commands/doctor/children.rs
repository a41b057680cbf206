//! `agentv doctor --env`: which secrets the programs of targets and judges get, by name.

use super::Doctor;
use super::files::UsedTargets;
use agentv_core::SecretAccess;
use agentv_core::call::Role;
use agentv_runtime::load::{LoadedSuite, TargetSpec};
use agentv_runtime::process::{EnvironmentRule, SecretPolicy};
use serde::Serialize;
use std::collections::BTreeSet;

/// A target or a program of a judge, and the secrets that it gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChildSecrets {
    /// The targets file, or the eval file of the judge.
    pub file: String,
    /// `claude (claude-code)`, or `quality: script`.
    pub child: String,
    pub access: Access,
    /// The secrets that it gets, by name.
    pub given: Vec<String>,
    /// The secrets that are there, and that it does not get.
    pub withheld: Vec<String>,
}

/// Which variables a child gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Access {
    /// All that AgentV has.
    Inherits,
    /// All but some secrets.
    InheritsWithoutSecrets,
    /// None, as it is not a program.
    StartsNoProgram,
    /// It cannot be used as it is.
    Unusable,
}

impl ChildSecrets {
    fn new(file: &str, child: String, rule: &EnvironmentRule, used: &BTreeSet<String>) -> Self {
        let access = match rule.access() {
            SecretAccess::All => Access::Inherits,
            SecretAccess::NotOfTargets | SecretAccess::Passed => Access::InheritsWithoutSecrets,
        };
        let (given, withheld) = rule.secrets(used);
        Self { file: file.to_owned(), child, access, given, withheld }
    }

    fn without_program(file: &str, child: String, access: Access) -> Self {
        Self { file: file.to_owned(), child, access, given: Vec::new(), withheld: Vec::new() }
    }
}

impl Doctor<'_> {
    /// The children of all targets of a file.
    pub(super) fn children_of_targets(&self, targets: &UsedTargets) -> Vec<ChildSecrets> {
        let specs = targets.file.targets.iter();
        specs.flat_map(|spec| self.children_of_target(spec, targets)).collect()
    }

    fn children_of_target(&self, spec: &TargetSpec, targets: &UsedTargets) -> Vec<ChildSecrets> {
        let file = self.environment.shown(&targets.file.path);
        let subject = super::needs::subject(spec);
        let Some(maker) = &spec.maker else {
            return vec![ChildSecrets::without_program(&file, subject, Access::Unusable)];
        };
        let Some(rule) = maker(&self.deps(&spec.name, targets)).environment else {
            return vec![ChildSecrets::without_program(&file, subject, Access::StartsNoProgram)];
        };
        let SecretPolicy { used, scrub } = &targets.secrets;
        let judging = rule.of_role(*scrub, Role::Judge);
        let as_judge = format!("{subject}, as a judge");
        let mut children = vec![ChildSecrets::new(&file, subject, &rule, used)];
        if targets.judging.contains(&spec.name) && judging.access() != rule.access() {
            children.push(ChildSecrets::new(&file, as_judge, &judging, used));
        }
        children
    }
}

/// The programs of all evaluators of a suite, each once: most cases are graded alike.
pub(super) fn of_judges(
    file: &str,
    suite: &LoadedSuite,
    used: &BTreeSet<String>,
    children: &mut Vec<ChildSecrets>,
) {
    for case in suite.cases.open().into_iter().flatten().flatten() {
        for entry in case.evaluators.iter() {
            for child in entry.evaluator.children() {
                let name = format!("{}: {}", entry.name, child.name);
                let rule = EnvironmentRule::of_judge(&suite.env, &child);
                let child = ChildSecrets::new(file, name, &rule, used);
                if !children.contains(&child) {
                    children.push(child);
                }
            }
        }
    }
}
