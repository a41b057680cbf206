//! A script that grades. It reads one JSON object on stdin and prints one on stdout.
//!
//! ```yaml
//! - name: has-heading
//!   type: code_judge
//!   script: [python3, judges/heading.py]
//!   level: 2          # any other key reaches the script as `config`
//! ```
//!
//! The script prints `{"score": 0.5, "hits": ["…"], "misses": ["…"], "reasoning": "…", "details": {…}}`, of which only
//! `score`, from 0 to 1, is needed, and logs to stderr. Whatever else it does is a failed grading with score 0 and a message.

mod failure;
pub(super) mod proxy;
pub(super) mod verdict;

#[cfg(test)]
mod tests;

use super::confine::{confine, given_to_judges, record_of};
use super::script::Script;
use super::{Build, FromConfig, payload};
use crate::config::{Fields, FromNode, Kind, Node};
use crate::open_files::RoomPermit;
use crate::process::sandbox::{
    Confinement, GivenFiles, SandboxKeys, SandboxSettings, Surroundings,
};
use crate::process::{ChildEnvironment, Command, EnvironmentRule, Gentle, Processes, Stdin};
use agentv_core::evaluator::{AnswerDetail, JudgeChild, Needs};
use agentv_core::{CallContext, EvalContext, Evaluator, EvaluatorError, Targets, Verdict};
use agentv_wire::{FailureKind, Object, SandboxRecord};
use async_trait::async_trait;
use failure::ScriptFailure;
use proxy::{TargetProxy, Use};
use schemars::JsonSchema;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How much a script may print.
const OUTPUT_CAP: usize = 10 << 20;

/// Runs a script and believes it.
#[derive(Debug)]
pub struct CodeJudge {
    config: CodeJudgeConfig,
    /// The user's own keys, for the script.
    handed_on: Option<Object>,
    rule: EnvironmentRule,
    /// The directory of the eval file.
    eval_dir: PathBuf,
    processes: Arc<Processes>,
}

/// `type: code_judge`: a script of yours grades. It reads a JSON object on stdin and prints one with a `score`.
#[derive(Debug, Clone, JsonSchema)]
pub struct CodeJudgeConfig {
    /// The program and its arguments as a list, or a text for `sh -c`. Also called `command`.
    pub script: Script,
    /// Where the script runs: looked up like a file that the eval refers to. Without it: the eval file's directory.
    #[schemars(with = "Option<String>")]
    pub cwd: PathBuf,
    /// After this many seconds the script and all that it started are ended. Without it: the limit for agents.
    #[schemars(with = "Option<f64>")]
    pub timeout_seconds: Option<Duration>,
    /// `true`, or `{max_calls: 50}`: the script may ask the judge through a proxy on loopback. Also `judge: {…}`, or
    /// `use_judge_provider: true` with `judge_provider: {max_calls}`.
    #[schemars(with = "Option<serde_json::Value>")]
    pub target: Option<u64>,
    /// Secrets that the script gets although it has a proxy, or the configuration says `env: scrub`: names of variables.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// What the script may do: `true`, `best_effort`, or a mapping. With `proxy` for its network it reaches the target proxy
    /// and nothing else.
    #[schemars(with = "Option<SandboxKeys>")]
    pub sandbox: Option<SandboxSettings>,
}

/// How many calls a script may make, unless it says otherwise.
const DEFAULT_MAX_CALLS: u64 = 50;

impl FromConfig for CodeJudge {
    const NAMES: &'static [&'static str] = &["code_judge"];
    const KEEPS_UNKNOWN_KEYS: bool = true;
    type Config = CodeJudgeConfig;

    fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Self> {
        let handed_on = handed_on(fields);
        let max_calls = max_calls(fields);
        let pass_env = fields.passed_variables().unwrap_or_default();
        let cwd = cwd(fields, build);
        let timeout_seconds = fields.take("timeout_seconds");
        let sandbox = build.sandbox(fields);
        let script: Script = fields.need_of(&["script", "command"])?;
        script.check_files("script", &cwd, fields);
        for file in script.files(&cwd) {
            build.depends_on(&file);
        }
        let rule = EnvironmentRule::of_program(fields.env(), build.scrub_judges, &pass_env);
        let target = max_calls;
        let config = CodeJudgeConfig { script, cwd, timeout_seconds, target, pass_env, sandbox };
        let processes = Arc::clone(build.processes);
        let eval_dir = build.eval_dir.to_owned();
        Some(Self { handed_on, eval_dir, ..Self::new(config, rule, processes) })
    }
}

/// The keys that 2.x did not know: they are the script's, even those that we have come to read since.
fn handed_on(fields: &mut Fields<'_, '_>) -> Option<Object> {
    let has_script = fields.node("script").is_some();
    let is_ours = |key: &str| match key {
        "script" | "cwd" | "target" | "judge" => true,
        "use_judge_provider" | "useJudgeProvider" | "judge_provider" | "judgeProvider" => true,
        "command" => !has_script,
        _ => false,
    };
    let mut entries = fields.rest();
    entries.retain(|entry| !is_ours(&entry.key));
    (!entries.is_empty()).then(|| super::as_object(&entries))
}

/// Whether the script may ask models, and how often. Three generations of keys mean the same.
fn max_calls(fields: &mut Fields<'_, '_>) -> Option<u64> {
    let mut allowed = None;
    for (key, limits) in
        [("target", "target"), ("judge", "judge"), ("use_judge_provider", "judge_provider")]
    {
        let (switch, limit) = (fields.node(key), fields.node(limits));
        let is_on = match switch.map(|node| &node.kind) {
            None | Some(Kind::Bool(false)) => false,
            Some(Kind::Bool(true) | Kind::Map(_)) => true,
            Some(_) => {
                warn_of_switch(key, switch, fields);
                false
            }
        };
        if is_on {
            allowed = allowed.or(limit_of(limit, fields));
        }
    }
    allowed
}

fn warn_of_switch(key: &str, node: Option<&Node<'_>>, fields: &mut Fields<'_, '_>) {
    let span = node.map_or_else(|| fields.head(), |node| node.span);
    let message = format!("`{key}` of {} is ignored: it is not a mapping", fields.owner());
    fields
        .warning_at("code_judge::proxy", span, message)
        .help(format!("write `{key}: true`, or a mapping with `max_calls`"));
}

/// The limit in a mapping, else the default one. A limit that is none turns the proxy off.
fn limit_of(node: Option<&Node<'_>>, fields: &mut Fields<'_, '_>) -> Option<u64> {
    let written = node.and_then(|node| node.get("max_calls").or_else(|| node.get("maxCalls")));
    let Some(written) = written.filter(|node| !node.is_null()) else {
        return Some(DEFAULT_MAX_CALLS);
    };
    let limit = u64::from_node(written).ok();
    if limit.is_none() {
        let message = format!(
            "`max_calls` of {} must be a whole number from 0 up, so the proxy is off",
            fields.owner()
        );
        fields.warning_at("code_judge::proxy", written.span, message);
    }
    limit
}

fn cwd(fields: &mut Fields<'_, '_>, build: &Build<'_>) -> PathBuf {
    let Some(written) = fields.take::<String>("cwd").filter(|cwd| !cwd.trim().is_empty()) else {
        return build.eval_dir.to_owned();
    };
    match build.search.find(&written) {
        Ok(found) => found.path,
        Err(tried) => {
            let message = format!("`cwd` of {} was not found: `{written}`", fields.owner());
            let tried: Vec<String> =
                tried.iter().map(|path| format!("`{}`", path.display())).collect();
            fields
                .warning_at("code_judge::cwd", fields.span_of("cwd"), message)
                .help(format!("create one of {}", tried.join(", ")));
            written.into()
        }
    }
}

#[async_trait]
impl Evaluator for CodeJudge {
    /// Whom its script asks by name is seen only when it does.
    fn needs(&self) -> Needs<'_> {
        let proxy = self.config.target.is_some();
        let programs = self.config.script.program().into_iter().collect();
        Needs {
            proxy,
            programs,
            runs_program: true,
            detail: AnswerDetail::Messages,
            ..Needs::default()
        }
    }

    fn children(&self) -> Vec<JudgeChild<'_>> {
        let (access, passed) = (self.rule.access(), self.rule.passed());
        vec![JudgeChild { name: "script".to_owned(), access, passed }]
    }

    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        let stdin = payload::text(cx, self.handed_on.as_ref());
        let stdin = stdin.map_err(|error| ScriptFailure::Payload(error).into_error())?;
        let input = JudgeInput { stdin, files: given_to_judges(cx) };
        self.judge(input, cx.targets, cx.call).await
    }
}

/// What a script is to grade.
#[derive(Debug, Default, Clone)]
pub struct JudgeInput {
    pub stdin: String,
    /// What it may look at, in a sandbox.
    pub files: GivenFiles,
}

/// Where a script is run: in a place that was taken before, with a proxy at this port.
#[derive(Debug, Default)]
struct RunPlace<'a> {
    permit: Option<RoomPermit<'a>>,
    proxy_port: Option<u16>,
}

/// What came of a script, and the sandbox that it ran in.
struct Ran {
    outcome: Result<Verdict, ScriptFailure>,
    sandbox: Option<Box<SandboxRecord>>,
}

impl Ran {
    fn failed(failure: ScriptFailure) -> Self {
        Self { outcome: Err(failure), sandbox: None }
    }
}

impl CodeJudge {
    /// With a proxy a script can ask the models without their keys, so it does not get those.
    /// The keys of the eval file that reach the script as `config`.
    pub fn handed_on(&self) -> Option<&Object> {
        self.handed_on.as_ref()
    }

    /// Whether its script has these words.
    pub fn runs(&self, words: &[String]) -> bool {
        self.config.script.plain_words() == words
    }

    fn new(config: CodeJudgeConfig, rule: EnvironmentRule, processes: Arc<Processes>) -> Self {
        let rule = match config.target {
            Some(_) => rule.without_secrets_of_targets(),
            None => rule,
        };
        let eval_dir = config.cwd.clone();
        Self { config, handed_on: None, rule, eval_dir, processes }
    }

    /// A script of no eval file, for trying it out.
    pub fn of_script(
        argv: Vec<String>,
        cwd: PathBuf,
        max_calls: Option<u64>,
        rule: EnvironmentRule,
        processes: Arc<Processes>,
    ) -> Self {
        let config = CodeJudgeConfig {
            script: Script::Argv(argv),
            cwd,
            timeout_seconds: None,
            target: max_calls,
            pass_env: Vec::new(),
            sandbox: None,
        };
        Self::new(config, rule, processes)
    }

    /// The same in a sandbox, if there is one.
    #[must_use]
    pub fn in_sandbox(mut self, sandbox: Option<SandboxSettings>) -> Self {
        self.config.sandbox = sandbox;
        self
    }

    /// Runs the script on this input.
    pub async fn judge(
        &self,
        input: JudgeInput,
        targets: &dyn Targets,
        call: &CallContext,
    ) -> Result<Verdict, EvaluatorError> {
        let mut request =
            json!({ "script": self.config.script.as_written(), "cwd": self.config.cwd });
        let (Ran { outcome, sandbox }, used) = self.grade(input, targets, call).await?;
        let usage = used.as_ref().and_then(|used| used.usage);
        if let Some(used) = &used {
            request["target_proxy"] = used.shown();
        }
        match outcome {
            Ok(verdict) => Ok(Verdict { request: Some(request), usage, sandbox, ..verdict }),
            Err(failure) => {
                request["error"] = json!(failure.to_string());
                let error = failure.into_error().with_request(request);
                Err(EvaluatorError { usage: usage.map(Box::new), sandbox, ..error })
            }
        }
    }

    /// With a proxy, if there is to be one, that lives exactly as long as the script. Spec: asking for more calls than allowed
    /// fails the evaluator, whatever the script makes of it.
    async fn grade(
        &self,
        input: JudgeInput,
        targets: &dyn Targets,
        call: &CallContext,
    ) -> Result<(Ran, Option<Use>), EvaluatorError> {
        let environment = self.rule.environment(targets.secret_variables());
        let Some(max_calls) = self.config.target else {
            return Ok((self.run(RunPlace::default(), input, environment, call).await, None));
        };
        // Before the proxy listens, which takes an open file, too.
        let permit = match self.processes.place_with_proxy(call).await {
            Ok(place) => Some(place),
            Err(error) => return Ok((Ran::failed(error.into()), None)),
        };
        let proxy = TargetProxy::start(max_calls, targets, call).await?;
        let no_address = |error| {
            let message = format!("the target proxy has no address: {error}");
            EvaluatorError::new(FailureKind::Provider, message)
        };
        let place = RunPlace { permit, proxy_port: Some(proxy.port().map_err(no_address)?) };
        let environment = environment.with(proxy.env().map_err(no_address)?);
        let mut ran = tokio::select! {
            ran = self.run(place, input, environment, call) => ran,
            () = proxy.serve(self.processes.proxy_connections()) => Ran::failed(ScriptFailure::Cancelled),
        };
        let used = proxy.used();
        if used.refused {
            ran.outcome = Err(ScriptFailure::TooManyCalls { max: used.max() });
        }
        Ok((ran, Some(used)))
    }

    /// In its sandbox, if it has one.
    async fn run(
        &self,
        place: RunPlace<'_>,
        input: JudgeInput,
        env: ChildEnvironment,
        call: &CallContext,
    ) -> Ran {
        let argv = self.config.script.argv();
        let program = Surroundings {
            argv: &argv,
            cwd: &self.config.cwd,
            eval_dir: &self.eval_dir,
            env: self.rule.env(),
            child: &env,
            processes: &self.processes,
            proxy_port: place.proxy_port,
        };
        let sandbox = match confine(self.config.sandbox.as_ref(), &program, input.files) {
            Ok(sandbox) => sandbox,
            Err(error) => return Ran::failed(ScriptFailure::NotConfined(error.to_string())),
        };
        let record = record_of(sandbox.as_ref());
        let command = self.command(input.stdin, env, sandbox, call);
        Ran { outcome: self.verdict(place.permit, command, call).await, sandbox: record }
    }

    fn command(
        &self,
        stdin: String,
        env: ChildEnvironment,
        sandbox: Option<Confinement>,
        call: &CallContext,
    ) -> Command {
        Command {
            argv: self.config.script.argv(),
            cwd: self.config.cwd.clone(),
            env,
            stdin: Stdin::Bytes(stdin.into_bytes()),
            time_limit: self.config.timeout_seconds.or(call.time_limit),
            output_cap: OUTPUT_CAP,
            // A grader has nothing to save.
            gentle: Gentle::Kill,
            sandbox,
        }
    }

    async fn verdict(
        &self,
        place: Option<RoomPermit<'_>>,
        command: Command,
        call: &CallContext,
    ) -> Result<Verdict, ScriptFailure> {
        let withheld = command.env.withheld().to_owned();
        let hint = command.sandbox.as_ref().map(Confinement::hint);
        let output = match place {
            Some(place) => self.processes.run_in(place, command, call).await?,
            None => self.processes.run(command, call).await?,
        };
        if output.ended.is_success() {
            return verdict::parse(&output.stdout);
        }
        let failure = ScriptFailure::exited(&output).in_sandbox(hint);
        if withheld.is_empty() {
            return Err(failure);
        }
        Err(ScriptFailure::Withheld { failure: Box::new(failure), names: withheld })
    }
}
