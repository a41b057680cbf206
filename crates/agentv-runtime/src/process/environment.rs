//! Which variables a child gets. This is the only place that decides it: a [`Command`](super::Command) takes a
//! [`ChildEnvironment`], and only what is here makes one.

use crate::config::{Env, Scrub, names_a_secret};
use agentv_core::SecretAccess;
use agentv_core::call::Role;
use agentv_core::evaluator::JudgeChild;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Variables with the key and the logins of a cluster. Children never inherit them.
const OF_CLUSTER: &str = "AGENTV_CLUSTER_";

/// Which variables the children of one target or judge get: everything that is not a secret, and of the secrets what this
/// says. A variable is a secret if a target uses it as one, or if its name says so.
#[derive(Debug, Clone)]
pub struct EnvironmentRule {
    env: Env,
    access: SecretAccess,
    /// Secrets that children get in any case.
    passed: Vec<String>,
    /// Variables that the target sets itself, by name.
    set: Vec<String>,
}

impl EnvironmentRule {
    /// For the user's own programs: they inherit as in 2.x, unless the configuration says `env: scrub`.
    pub fn of_program(env: &Env, is_scrubbed: bool, passed: &[String]) -> Self {
        let access = if is_scrubbed { SecretAccess::Passed } else { SecretAccess::All };
        Self { env: env.clone(), access, passed: passed.to_owned(), set: Vec::new() }
    }

    /// For agents, which run what a model tells them to: they get the secrets that they are known to need and those that
    /// their target passes.
    pub fn of_agent(env: &Env, needed: Vec<String>, passed: &[String]) -> Self {
        let passed = [needed, passed.to_owned()].concat();
        Self { env: env.clone(), access: SecretAccess::Passed, passed, set: Vec::new() }
    }

    /// What holds for a program of an evaluator.
    pub fn of_judge(env: &Env, child: &JudgeChild<'_>) -> Self {
        let passed = child.passed.to_owned();
        Self { env: env.clone(), access: child.access, passed, set: Vec::new() }
    }

    /// The same of a target that sets variables of these names itself.
    #[must_use]
    pub fn setting(self, names: impl IntoIterator<Item = String>) -> Self {
        Self { set: names.into_iter().collect(), ..self }
    }

    /// The same, but without the secrets of targets: for a judge that can call them through a proxy.
    #[must_use]
    pub fn without_secrets_of_targets(self) -> Self {
        let access = match self.access {
            SecretAccess::All => SecretAccess::NotOfTargets,
            stricter => stricter,
        };
        Self { access, ..self }
    }

    /// The variables that children inherit, and those of `.env` files.
    pub fn env(&self) -> &Env {
        &self.env
    }

    pub fn access(&self) -> SecretAccess {
        self.access
    }

    pub fn passed(&self) -> &[String] {
        &self.passed
    }

    /// The rule for calls in a role. What a judge causes a target to start is a child of the judge, too.
    #[must_use]
    pub fn of_role(&self, scrub: Scrub, role: Role) -> Self {
        let access = match role {
            Role::Judge | Role::Proxy if scrub.judges => SecretAccess::Passed,
            _ => self.access,
        };
        Self { access, ..self.clone() }
    }

    /// The environment of a child that a target starts for a call.
    pub fn of_call(&self, policy: &SecretPolicy, role: Role) -> ChildEnvironment {
        let used = policy.used.iter().map(String::as_str);
        self.of_role(policy.scrub, role).environment(used)
    }

    /// The secrets that are there, by name: those that a child gets, and those that it does not.
    pub fn secrets(&self, used: &BTreeSet<String>) -> (Vec<String>, Vec<String>) {
        let child = self.environment(used.iter().map(String::as_str));
        let is_secret = |name: &&str| used.contains(*name) || names_a_secret(name);
        let own = self.set.iter().map(String::as_str);
        let given = self.env.names().filter(|name| !child.withheld.iter().any(|it| it == name));
        let given: BTreeSet<&str> = given.chain(own).filter(is_secret).collect();
        (given.into_iter().map(str::to_owned).collect(), child.withheld)
    }

    fn is_passed(&self, name: &str) -> bool {
        self.passed.iter().any(|passed| passed == name)
    }

    /// The environment of one child. `used` are the variables that targets use as secrets.
    pub fn environment<'v>(&self, used: impl IntoIterator<Item = &'v str>) -> ChildEnvironment {
        let used: BTreeSet<&str> = used.into_iter().collect();
        let is_withheld = |name: &&str| {
            let is_secret = match self.access {
                SecretAccess::All => false,
                SecretAccess::NotOfTargets => used.contains(name),
                SecretAccess::Passed => used.contains(name) || names_a_secret(name),
            };
            is_secret && !self.is_passed(name)
        };
        // Whoever has the key of a cluster can make all its workers run anything.
        let is_removed = |name: &&str| name.starts_with(OF_CLUSTER) && !self.is_passed(name);
        let removed: Vec<String> = self.env.names().filter(is_removed).map(str::to_owned).collect();
        let mut withheld: Vec<String> =
            self.env.names().filter(is_withheld).map(str::to_owned).collect();
        withheld.sort_unstable();
        let is_given = |name: &String| !withheld.contains(name) && !removed.contains(name);
        let added = self.env.added().iter().filter(|(name, _)| is_given(name));
        let set = added.map(|(name, value)| (name.clone(), value.clone())).collect();
        ChildEnvironment { start: Start::Inherited, withheld, removed, set }
    }
}

/// What an eval file and its targets say of secrets.
#[derive(Debug, Clone, Default)]
pub struct SecretPolicy {
    /// The variables that targets use as secrets.
    pub used: Arc<BTreeSet<String>>,
    pub scrub: Scrub,
}

/// The variables of one child.
#[derive(Clone)]
pub struct ChildEnvironment {
    start: Start,
    /// Secrets that the child would inherit, and does not.
    withheld: Vec<String>,
    /// What else it does not inherit.
    removed: Vec<String>,
    /// Set on top of that.
    set: Vec<(String, String)>,
}

/// What a child starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// What AgentV itself has.
    Inherited,
    Nothing,
}

impl ChildEnvironment {
    /// Only these variables of AgentV's own: for tools whose work must not depend on the user's settings.
    pub fn only(env: &Env, names: &[&str]) -> Self {
        let found = names.iter().filter_map(|name| Some((*name, env.get(name)?)));
        let set = found.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { start: Start::Nothing, withheld: Vec::new(), removed: Vec::new(), set }
    }

    /// The same with these variables, whose values win over what is inherited.
    #[must_use]
    pub fn with(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.set.extend(variables);
        self
    }

    /// The same without variables of these names. What is set stays.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        self.removed.extend(names.iter().copied().map(str::to_owned));
        self
    }

    /// The secrets that the child does not get, by name.
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// The child's own `PATH`, if it gets another one than ours.
    pub(super) fn path(&self) -> Option<&str> {
        self.own("PATH")
    }

    /// A variable as the child sees it, where `env` is what it inherits.
    pub(super) fn get<'a>(&'a self, name: &str, env: &'a Env) -> Option<&'a str> {
        let inherited = env.get(name).filter(|_| self.start == Start::Inherited);
        self.own(name).or(inherited)
    }

    fn own(&self, name: &str) -> Option<&str> {
        let values = self.set.iter().rev().find(|(known, _)| known == name);
        values.map(|(_, value)| value.as_str())
    }

    pub(super) fn apply(&self, command: &mut std::process::Command) {
        if self.start == Start::Nothing {
            command.env_clear();
        }
        for name in self.withheld.iter().chain(&self.removed) {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
    }
}

/// Values may be secrets, so only names are shown.
impl fmt::Debug for ChildEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<&String> = self.set.iter().map(|(name, _)| name).collect();
        f.debug_struct("ChildEnvironment")
            .field("start", &self.start)
            .field("withheld", &self.withheld)
            .field("removed", &self.removed)
            .field("set", &set)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &EnvironmentRule, withheld: &[&str]) {
        let environment = rule.environment(["TEAM"]);
        assert_eq!(environment.withheld(), withheld);
        assert!(!format!("{environment:?}").contains("value"), "{environment:?}");
    }

    #[test]
    fn a_child_gets_what_its_rule_says() {
        let pair = |name: &str| (name.to_owned(), "value".to_owned());
        let env = Env::new(["GH_TOKEN", "PATH", "TEAM"].map(pair));
        let env = env.with_added(["FILE_KEY"].map(pair).into());
        let passed = ["TEAM".to_owned()];
        let inherits = EnvironmentRule::of_program(&env, false, &[]);
        check(&inherits, &[]);
        check(&inherits.clone().without_secrets_of_targets(), &["TEAM"]);
        let scrub = Scrub { judges: true, targets: false };
        check(&inherits.of_role(scrub, Role::Candidate), &[]);
        check(&inherits.of_role(scrub, Role::Proxy), &["FILE_KEY", "GH_TOKEN", "TEAM"]);
        let scrubbed = EnvironmentRule::of_program(&env, true, &passed);
        check(&scrubbed, &["FILE_KEY", "GH_TOKEN"]);
        check(&scrubbed.without_secrets_of_targets(), &["FILE_KEY", "GH_TOKEN"]);
        check(
            &EnvironmentRule::of_agent(&env, vec!["GH_TOKEN".to_owned()], &passed),
            &["FILE_KEY"],
        );
    }
}
