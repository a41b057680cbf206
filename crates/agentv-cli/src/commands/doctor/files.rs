//! Suites, configuration, targets files and schemas: whether they can be read, and what they ask for.

use super::children::{ChildSecrets, of_judges};
use super::finding::{Area, Finding, FindingState};
use crate::commands::schema;
use crate::format::count;
use crate::settings::Environment;
use crate::setup_args::SchemaKind;
use agentv_core::TargetName;
use agentv_runtime::config::{Env, Note, Secrets};
use agentv_runtime::file_input;
use agentv_runtime::load::{LoadedSuite, Loader, Report, TargetsFile, validate};
use agentv_runtime::process::SecretPolicy;
use agentv_runtime::run::targets_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A targets file, and which of its targets are used.
#[derive(Debug)]
pub(super) struct UsedTargets {
    pub file: TargetsFile,
    /// The targets that some suite uses, and their judges, with the directories of these suites.
    pub used: BTreeMap<TargetName, BTreeSet<PathBuf>>,
    /// Those that judge in some suite.
    pub judging: BTreeSet<TargetName>,
    /// The directory of the first suite that uses it, and that suite's environment.
    pub eval_dir: PathBuf,
    pub env: Env,
    /// Whether some case has a workspace, so that its target runs there.
    pub has_workspaces: bool,
    /// Which secrets children get.
    pub secrets: SecretPolicy,
}

/// Which targets a suite uses.
#[derive(Debug)]
struct Wanted {
    targets: Vec<TargetName>,
    /// Those that its evaluators use: by name, or `None` for the judge of the target.
    judges: BTreeSet<Option<TargetName>>,
    has_workspaces: bool,
}

impl UsedTargets {
    /// Where an eval file uses the target; for one that is not used, where it might.
    pub(super) fn dirs_of(&self, name: &TargetName) -> Vec<&Path> {
        let used = self.used.get(name).into_iter().flatten().map(PathBuf::as_path);
        let dirs: Vec<&Path> = used.collect();
        if dirs.is_empty() { vec![&self.eval_dir] } else { dirs }
    }

    /// Records which targets are used by a suite in this directory, and returns the names that do not exist.
    fn use_for(&mut self, wanted: &Wanted, dir: &Path) -> BTreeSet<TargetName> {
        let mut judges: BTreeSet<TargetName> = wanted.judges.iter().flatten().cloned().collect();
        if wanted.judges.contains(&None) {
            let targets = wanted.targets.iter().filter_map(|name| self.file.find(name.as_str()));
            // A target that names no judge judges itself.
            judges.extend(targets.map(|it| it.judge_target.clone().unwrap_or(it.name.clone())));
        }
        self.judging.extend(judges.iter().cloned());
        let names: BTreeSet<TargetName> = wanted.targets.iter().cloned().chain(judges).collect();
        let (known, missing): (BTreeSet<TargetName>, _) =
            names.into_iter().partition(|name| self.file.find(name.as_str()).is_some());
        for name in known {
            self.used.entry(name).or_default().insert(dir.to_owned());
        }
        self.has_workspaces |= wanted.has_workspaces;
        missing
    }
}

/// What the files ask for.
#[derive(Debug, Default)]
pub(super) struct UsedByCases {
    pub targets: Vec<UsedTargets>,
    /// Programs of judges.
    pub programs: BTreeSet<String>,
    /// The same with the secrets that they get, each once.
    pub children: Vec<ChildSecrets>,
    /// What is masked: programs that are run to be checked may print the secrets of all files.
    pub secrets: Secrets,
}

/// Reads everything as a run would.
pub(super) struct FileCheck<'a> {
    pub loader: &'a Loader,
    pub environment: &'a Environment,
    pub given_targets: Option<&'a Path>,
    /// Whether to list what judges start.
    pub lists_children: bool,
}

impl FileCheck<'_> {
    pub(super) fn look(&self, suites: &[PathBuf], findings: &mut Vec<Finding>) -> UsedByCases {
        let mut asked = UsedByCases::default();
        if suites.is_empty() {
            let none = Finding::good(Area::Files, "suites", "no eval files found");
            findings.push(none.bad(FindingState::Problem, "agentv init"));
        }
        for path in suites {
            self.suite(path, &mut asked, findings);
        }
        self.configuration(findings);
        self.schemas(findings);
        asked
    }

    fn suite(&self, path: &Path, asked: &mut UsedByCases, findings: &mut Vec<Finding>) {
        let (suite, report) = self.loader.suite(path);
        let shown = self.environment.shown(path);
        let cases = suite.as_ref().map_or(0, |suite| suite.cases.total());
        let fine = count(cases, "case", "cases");
        findings.push(judged(&shown, &report, fine));
        let Some(suite) = suite else { return };
        let (main, own) = targets_of(&suite);
        let mut wanted = Wanted { targets: own, judges: BTreeSet::new(), has_workspaces: false };
        wanted.targets.push(main);
        for case in suite.cases.open().into_iter().flatten().flatten() {
            wanted.has_workspaces |= case.workspace.is_some();
            for entry in case.evaluators.iter() {
                let needs = entry.evaluator.needs();
                wanted.judges.extend(needs.calls_judge().then_some(None));
                asked.programs.extend(needs.programs.into_iter().map(str::to_owned));
                let named = needs.targets.into_iter();
                wanted.judges.extend(named.map(|name| Some(TargetName::from(name))));
            }
        }
        let index = self.targets(&suite, &wanted, asked, findings);
        if self.lists_children {
            let used = index.map(|index| Arc::clone(&asked.targets[index].secrets.used));
            of_judges(&shown, &suite, &used.unwrap_or_default(), &mut asked.children);
        }
    }

    fn targets(
        &self,
        suite: &LoadedSuite,
        wanted: &Wanted,
        asked: &mut UsedByCases,
        findings: &mut Vec<Finding>,
    ) -> Option<usize> {
        let (dir, env) = (&suite.suite.dir, &suite.env);
        let path = match self.loader.find_targets(dir, self.given_targets) {
            Ok(path) => path,
            Err(problem) => {
                let none = Finding::good(Area::Files, "targets.yaml", problem);
                findings.push(none.bad(FindingState::Problem, "agentv init"));
                return None;
            }
        };
        let known = asked.targets.iter().position(|targets| targets.file.path == path);
        let index = known.or_else(|| {
            let (file, report) = self.loader.targets(&path, env);
            let number = file.as_ref().map_or(0, |file| file.targets.len());
            let fine = count(number, "target", "targets");
            findings.push(judged(&self.environment.shown(&path), &report, fine));
            let file = file?;
            let used = Arc::new(file.secret_variables.clone());
            asked.targets.push(UsedTargets {
                file,
                used: BTreeMap::new(),
                has_workspaces: false,
                judging: BTreeSet::new(),
                eval_dir: dir.to_owned(),
                env: env.clone(),
                secrets: SecretPolicy { used, scrub: suite.scrub },
            });
            Some(asked.targets.len() - 1)
        });
        let index = index?;
        asked.secrets.merge(suite.secrets(&asked.targets[index].file));
        let targets = &mut asked.targets[index];
        let missing = targets.use_for(wanted, dir);
        for name in missing {
            let names = targets.file.names().collect::<Vec<_>>().join(", ");
            let message = format!("`{}` has no such target", self.environment.shown(&path));
            let fix = format!("add it there, or name one of {names} in the eval file");
            let missing = Finding::good(Area::Targets, name.as_str(), message);
            findings.push(missing.bad(FindingState::Problem, fix));
        }
        Some(index)
    }

    /// The files that hold for the whole project.
    fn configuration(&self, findings: &mut Vec<Finding>) {
        let mut bases = vec![&self.environment.working_dir, &self.environment.repo_root];
        bases.dedup();
        let paths = bases.into_iter().map(|dir| dir.join(".agentv/config.yaml"));
        for path in paths.filter(|path| path.is_file()) {
            let (_, report) = validate(&path, self.loader);
            findings.push(judged(&self.environment.shown(&path), &report, "read".to_owned()));
        }
    }

    /// Schemas that `init` has written are of the AgentV that wrote them.
    fn schemas(&self, findings: &mut Vec<Finding>) {
        let kinds = [
            (SchemaKind::Eval, "eval"),
            (SchemaKind::Targets, "targets"),
            (SchemaKind::Config, "config"),
        ];
        for (kind, name) in kinds {
            let path = format!(".agentv/schema/{name}.schema.json");
            let there = file_input::read_to_string(&self.environment.working_dir.join(&path));
            let Ok(text) = there else { continue };
            if text != schema::text(kind) {
                let stale = Finding::good(Area::Files, &path, "is of another version of AgentV");
                findings.push(
                    stale.bad(FindingState::Warning, format!("agentv schema {name} > {path}")),
                );
            }
        }
    }
}

/// A file with what was noticed in it.
fn judged(shown: &str, report: &Report, fine: String) -> Finding {
    let finding = |message| Finding::good(Area::Files, shown, message);
    let errors = report.errors().count() + report.dropped.errors;
    let first: Option<&Note> = report.errors().next().or_else(|| report.warnings().next());
    let Some(first) = first else { return finding(fine) };
    let place = match first.place.line {
        0 => String::new(),
        line => format!(" (line {line})"),
    };
    let state = if errors > 0 { FindingState::Problem } else { FindingState::Warning };
    let number = if errors > 0 {
        count(errors, "error", "errors")
    } else {
        count(report.warnings().count(), "warning", "warnings")
    };
    finding(format!("{number}: {}{place}", first.message))
        .bad(state, format!("agentv validate {shown}"))
}
