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
//! `score` is needed, and logs to stderr. Whatever else it does is a failed grading with score 0 and a message.

mod failure;
mod verdict;

#[cfg(test)]
mod tests;

use super::script::Script;
use super::{Build, FromConfig, payload};
use crate::config::{Cost, Env, Fields, Kind};
use crate::process::{Command, Gentle, Output, Processes, Stdin};
use agentv_core::{EvalContext, Evaluator, EvaluatorError, Verdict};
use agentv_wire::Object;
use async_trait::async_trait;
use failure::Failure;
use schemars::JsonSchema;
use serde_json::{Value, json};
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
    env: Env,
    processes: Arc<Processes>,
}

/// `type: code_judge`
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
}

impl FromConfig for CodeJudge {
    const NAMES: &'static [&'static str] = &["code_judge"];
    const KEEPS_UNKNOWN_KEYS: bool = true;
    type Config = CodeJudgeConfig;

    fn read(fields: &mut Fields<'_, '_>, build: &mut Build<'_>) -> Option<Self> {
        let handed_on = handed_on(fields);
        refuse_proxy(fields);
        let cwd = cwd(fields, build);
        let timeout_seconds = fields.take("timeout_seconds");
        let script: Script = fields.need_of(&["script", "command"])?;
        for file in script.files(&cwd) {
            build.depends_on(&file);
        }
        Some(Self {
            config: CodeJudgeConfig { script, cwd, timeout_seconds },
            handed_on,
            env: fields.env().clone(),
            processes: Arc::clone(build.processes),
        })
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

fn refuse_proxy(fields: &mut Fields<'_, '_>) {
    for key in ["target", "judge", "use_judge_provider", "judge_provider"] {
        let Some(node) = fields.node(key) else { continue };
        match node.kind {
            Kind::Bool(false) => {}
            Kind::Bool(true) | Kind::Map(_) => {
                let message = format!(
                    "`{key}` of {} needs the target proxy, which this build does not have yet",
                    fields.owner()
                );
                let help = format!("remove `{key}` and let the script grade by itself");
                fields
                    .error_at("code_judge::proxy", node.span, message)
                    .costs(Cost::Evaluator)
                    .help(help);
            }
            _ => {
                let message = format!("`{key}` of {} is ignored: it is no mapping", fields.owner());
                fields
                    .warning_at("code_judge::proxy", node.span, message)
                    .help(format!("write `{key}: true`, or a mapping with `max_calls`"));
            }
        }
    }
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
    async fn evaluate(&self, cx: &EvalContext<'_>) -> Result<Verdict, EvaluatorError> {
        match self.grade(cx).await {
            Ok(verdict) => Ok(Verdict { request: Some(self.request()), ..verdict }),
            Err(failure) => {
                let mut request = self.request();
                request["error"] = json!(failure.to_string());
                Err(failure.into_error().with_request(request))
            }
        }
    }
}

impl CodeJudge {
    async fn grade(&self, cx: &EvalContext<'_>) -> Result<Verdict, Failure> {
        let stdin = payload::text(cx, self.handed_on.as_ref()).map_err(Failure::Payload)?;
        let output = self.run(stdin, cx).await?;
        if !output.ended.is_success() {
            return Err(Failure::exited(&output));
        }
        verdict::parse(&output.stdout)
    }

    async fn run(&self, stdin: String, cx: &EvalContext<'_>) -> Result<Output, Failure> {
        let added = self.env.added().iter().map(|(name, value)| (name.clone(), value.clone()));
        let command = Command {
            argv: self.config.script.argv(),
            cwd: self.config.cwd.clone(),
            env: added.collect(),
            unset: Vec::new(),
            stdin: Stdin::Bytes(stdin.into_bytes()),
            time_limit: self.config.timeout_seconds.or(cx.call.time_limit),
            output_cap: OUTPUT_CAP,
            // A grader has nothing to save.
            gentle: Gentle::Kill,
        };
        Ok(self.processes.run(command, &cx.call.cancel).await?)
    }

    /// What was run, for the record.
    fn request(&self) -> Value {
        json!({ "script": self.config.script.as_written(), "cwd": self.config.cwd })
    }
}
