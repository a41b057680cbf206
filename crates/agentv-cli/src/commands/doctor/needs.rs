//! What targets and judges need of the machine: keys, programs, servers.

use super::Doctor;
use super::files::UsedTargets;
use super::finding::{Area, Finding, FindingState};
use agentv_core::call::Role;
use agentv_core::{CallContext, TargetName};
use agentv_runtime::config::Env;
use agentv_runtime::http;
use agentv_runtime::load::TargetSpec;
use agentv_runtime::process::{Command, EnvironmentRule, Gentle, SecretPolicy, Stdin, find};
use agentv_runtime::providers::{CommandNeed, Deps, Made, Need};
use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A program that takes longer to tell its version is asked no more.
const VERSION_LIMIT: Duration = Duration::from_secs(10);
/// A server that takes longer is not there.
const SERVER_LIMIT: Duration = Duration::from_secs(5);
/// A health check that takes longer has failed.
const READINESS_LIMIT: Duration = Duration::from_secs(20);
/// How much of a version is read.
const OUTPUT_CAP: usize = 4096;
/// Programs that run scripts. Others among the judges are the user's own, and may take `--version` for anything.
const INTERPRETERS: [&str; 9] =
    ["node", "python", "python3", "bun", "deno", "uv", "ruby", "npx", "bunx"];

/// Whether the name of a target is enough to know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    ByName,
    WithFile,
}

impl Doctor<'_> {
    /// All targets of a file, side by side.
    pub(super) async fn targets(&self, targets: &UsedTargets, telling: Telling) -> Vec<Finding> {
        let looks = targets.file.targets.iter().map(|spec| self.target(spec, targets));
        let mut findings: Vec<Finding> = join_all(looks).await.into_iter().flatten().collect();
        if telling == Telling::WithFile {
            let file = self.environment.shown(&targets.file.path);
            for finding in &mut findings {
                finding.subject = format!("{} in {file}", finding.subject);
            }
        }
        findings
    }

    async fn target(&self, spec: &TargetSpec, targets: &UsedTargets) -> Vec<Finding> {
        // A target that is not used stops no run.
        let worst = if targets.used.contains_key(&spec.name) {
            FindingState::Problem
        } else {
            FindingState::Warning
        };
        let subject = subject(spec);
        if !spec.obstacles.is_empty() {
            let notes = spec.obstacles.iter();
            return notes
                .map(|note| {
                    let fix = note.help.clone().unwrap_or_else(|| "edit the target".to_owned());
                    Finding::good(Area::Targets, &subject, &note.message).bad(worst, fix)
                })
                .collect();
        }
        // What is wrong with the file itself was said there.
        let Some(maker) = &spec.maker else { return Vec::new() };
        let made = maker(&self.deps(&spec.name, targets));
        let mut findings: Vec<Finding> = spec
            .secret_variables
            .iter()
            .map(|name| Finding::good(Area::Targets, &subject, format!("{name} is set")))
            .collect();
        let looks = spec.needs.iter().map(|need| self.need(need, &made, spec, targets));
        for found in join_all(looks).await.into_iter().flatten() {
            let finding = match found {
                Ok(seen) => Finding::good(Area::Targets, &subject, seen),
                Err((seen, fix)) => Finding::good(Area::Targets, &subject, seen).bad(worst, fix),
            };
            findings.push(finding);
        }
        if findings.is_empty() {
            findings.push(Finding::good(Area::Targets, &subject, "ready"));
        }
        findings
    }

    pub(super) fn deps(&self, name: &TargetName, targets: &UsedTargets) -> Deps {
        Deps {
            target: name.clone(),
            eval_dir: targets.eval_dir.clone(),
            working_dir: self.environment.working_dir.clone(),
            project_root: self.environment.project_root.clone(),
            env: targets.env.clone(),
            secrets: targets.secrets.clone(),
            processes: Arc::clone(&self.processes),
            health: Arc::default(),
            redactor: Arc::default(),
        }
    }

    /// What was seen, or what is wrong and how to put it right; `None` where nothing can be said.
    async fn need(
        &self,
        need: &Need,
        made: &Made,
        spec: &TargetSpec,
        targets: &UsedTargets,
    ) -> Option<Result<String, (String, String)>> {
        let UsedTargets { eval_dir, env, .. } = targets;
        match need {
            Need::Program { program, key } => Some(match self.find(program, eval_dir, env) {
                Ok(path) => Ok(match self.version(&path, env, &targets.secrets).await {
                    Some(version) if version.contains(program) => version,
                    Some(version) => format!("{program} {version}"),
                    None => format!("`{program}` is installed, but does not report its version"),
                }),
                Err(problem) => Err((
                    problem,
                    format!("install `{program}`, or name it with `{key}` of the target"),
                )),
            }),
            Need::Command(command) => self.command(command, spec, targets),
            Need::Server(_) | Need::Readiness if self.is_offline => None,
            Need::Server(url) => Some(match http::reach(url, SERVER_LIMIT).await {
                Ok(()) => Ok(format!("{} answers", http::host(url))),
                Err(error) => {
                    let fix = "check the network, `HTTPS_PROXY`, and the target's address";
                    Err((error.message, fix.to_owned()))
                }
            }),
            Need::Readiness => {
                let call = CallContext::quiet();
                let prepared = made.provider.prepare(&call);
                Some(match tokio::time::timeout(READINESS_LIMIT, prepared).await {
                    Ok(Ok(())) => Ok("passes its health check".to_owned()),
                    Ok(Err(error)) => Err((error.message, "fix what the message names".to_owned())),
                    Err(_) => {
                        let fix =
                            "set `timeout_seconds` of its `healthcheck`, or make the check faster";
                        Err(("its health check did not finish in time".to_owned(), fix.to_owned()))
                    }
                })
            }
        }
    }

    /// A command is looked for where it would run: from every directory with an eval file that uses the target.
    fn command(
        &self,
        command: &CommandNeed,
        spec: &TargetSpec,
        targets: &UsedTargets,
    ) -> Option<Result<String, (String, String)>> {
        let CommandNeed { program, script, .. } = command;
        let wrong = |problem: String, fix: &str| Some(Err((problem, fix.to_owned())));
        // In a workspace, files may be there or not.
        let is_known = spec.workspace.is_none() && !targets.has_workspaces;
        if program.contains('/') && !is_known {
            return None;
        }
        for eval_dir in targets.dirs_of(&spec.name) {
            let dir = command.dir(eval_dir);
            let shown = self.environment.shown(&dir);
            if is_known && !dir.is_dir() {
                let problem = format!("the directory `{shown}` does not exist");
                return wrong(problem, "correct `cwd` of the target");
            }
            if let Err(error) = find(program, &dir, &targets.env) {
                return wrong(error.to_string(), "correct `command_template` of the target");
            }
            let missing = script.as_ref().filter(|script| is_known && !dir.join(script).exists());
            if let Some(script) = missing {
                let problem = format!("the script `{script}` was not found in `{shown}`");
                return wrong(problem, "correct `command_template` or `cwd` of the target");
            }
        }
        Some(Ok(format!("`{program}` is there")))
    }

    /// As agents are looked for: whole, else by the first word.
    fn find(&self, program: &str, eval_dir: &Path, env: &Env) -> Result<PathBuf, String> {
        let here = |program: &str| {
            let started = find(program, &self.environment.working_dir, env);
            started.or_else(|error| find(program, eval_dir, env).map_err(|_| error))
        };
        let first = program.split_whitespace().next().unwrap_or(program);
        here(program).or_else(|error| here(first).map_err(|_| error.to_string()))
    }

    /// The first line that a program says of itself.
    async fn version(&self, path: &Path, env: &Env, secrets: &SecretPolicy) -> Option<String> {
        let command = Command {
            argv: vec![path.into(), "--version".into()],
            cwd: std::env::temp_dir(),
            // It needs no secret to tell its version.
            env: EnvironmentRule::of_agent(env, Vec::new(), &[]).of_call(secrets, Role::Candidate),
            stdin: Stdin::Nothing,
            time_limit: Some(VERSION_LIMIT),
            output_cap: OUTPUT_CAP,
            gentle: Gentle::Kill,
            sandbox: None,
        };
        let output = self.processes.run(command, &CallContext::quiet().cancel).await;
        let said = output.ok().filter(|output| output.ended.is_success());
        let said = said?.stdout.text_lossy().into_owned();
        let line = said.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().filter(|c| !c.is_control()).take(60).collect())
    }

    /// The programs of judges.
    pub(super) async fn judges(&self, programs: &BTreeSet<String>) -> Vec<Finding> {
        // A path is taken from the judge's own directory, which only the judge knows.
        let looks = programs.iter().filter(|program| !program.contains('/')).map(async |program| {
            let env = &self.environment.env;
            let finding = |message| Finding::good(Area::Judges, program, message);
            match find(program, &self.environment.working_dir, env) {
                Ok(path) if INTERPRETERS.contains(&program.as_str()) => {
                    let version = self.version(&path, env, &SecretPolicy::default()).await;
                    finding(version.unwrap_or_else(|| "does not tell its version".to_owned()))
                }
                Ok(_) => finding("is there".to_owned()),
                Err(error) => finding(error.to_string()).bad(
                    FindingState::Problem,
                    format!("install `{program}`, or change the judge's `script`"),
                ),
            }
        });
        join_all(looks).await
    }

    /// Git is needed only for some things, so it is no problem without it.
    pub(super) async fn git(&self) -> Finding {
        let env = &self.environment.env;
        let finding = |message| Finding::good(Area::Machine, "git", message);
        match find("git", &self.environment.working_dir, env) {
            Ok(path) => {
                let version = self.version(&path, env, &SecretPolicy::default()).await;
                finding(version.unwrap_or_else(|| "does not tell its version".to_owned()))
            }
            Err(_) => finding(
                "not found: `--changed-since` and diffs of workspaces do not work".to_owned(),
            )
            .bad(FindingState::Warning, "install Git"),
        }
    }

    /// Where results and run folders go.
    pub(super) fn run_folder(&self) -> Finding {
        let runs = self.environment.runs();
        let there = runs.dir().ancestors().find(|dir| dir.exists()).unwrap_or(runs.dir());
        let finding = |message| Finding::good(Area::Machine, ".agentv/runs", message);
        match tempfile::tempfile_in(there) {
            Ok(_) => finding("can be written".to_owned()),
            Err(error) => {
                let fix = format!("chmod u+rwx {}", self.environment.shown(there));
                finding(format!("cannot be written: {error}")).bad(FindingState::Problem, fix)
            }
        }
    }
}

/// `gpt (openai)`
pub(super) fn subject(spec: &TargetSpec) -> String {
    let kind = spec.kind.map_or("unknown", |kind| kind.names[0]);
    if spec.name.as_str() == kind { kind.to_owned() } else { format!("{} ({kind})", spec.name) }
}
