//! What a judge is told.

use crate::config::{Fields, Kind, Node};
use crate::evaluators::confine::{confine, given_to_judges, record_of, unconfined};
use crate::evaluators::script::Script;
use crate::evaluators::{Build, payload, template};
use crate::process::sandbox::{Confinement, SandboxSettings, Surroundings};
use crate::process::{Command, EnvironmentRule, Gentle, Processes, RunError, Stdin};
use agentv_core::evaluator::JudgeChild;
use agentv_core::prompt::fill;
use agentv_core::{EvalContext, EvaluatorError};
use agentv_wire::{FailureKind, Object, SandboxRecord, number};
use serde::Serialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The prompt of judges that bring none.
const DEFAULT: &str = "\
You are an expert evaluator. Compare the candidate answer with the expected outcome and say how well it meets it. The
reference answer, if there is one, shows one good answer; others may be as good. Judge what is said, not how long it is.

[[ ## expected_outcome ## ]]
{{ expected_outcome }}

[[ ## question ## ]]
{{ question }}

[[ ## reference_answer ## ]]
{{ reference_answer }}

[[ ## candidate_answer ## ]]
{{ candidate_answer }}";

/// Where the prompt comes from.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    pub source: PromptSource,
    /// Whether it ends with what the candidate did.
    pub include_trace: bool,
}

#[derive(Debug, Default)]
pub(super) enum PromptSource {
    #[default]
    Default,
    Template(String),
    /// A program that prints the template.
    Script(Box<PromptScript>),
}

#[derive(Debug)]
pub(super) struct PromptScript {
    script: Script,
    cwd: PathBuf,
    eval_dir: PathBuf,
    config: Option<Object>,
    rule: EnvironmentRule,
    sandbox: Option<SandboxSettings>,
}

/// A prompt, and the sandbox of the program that printed it.
#[derive(Debug)]
pub(super) struct RenderedPrompt {
    pub text: String,
    pub sandbox: Option<Box<SandboxRecord>>,
}

impl Prompt {
    /// Whether it shows more than the answer. A script gets everything.
    pub(super) fn shows_messages(&self) -> bool {
        let in_source = match &self.source {
            PromptSource::Default => false,
            PromptSource::Template(text) => {
                ["output_messages", "trace_summary"].iter().any(|name| text.contains(name))
            }
            PromptSource::Script(_) => true,
        };
        in_source || self.include_trace
    }
}

/// How much a script may print.
const OUTPUT_CAP: usize = 10 << 20;

/// Reads `prompt`.
pub(super) fn read(
    node: &Node<'_>,
    (config, passed): (Option<Object>, &[String]),
    fields: &mut Fields<'_, '_>,
    build: &mut Build<'_>,
) -> Option<Prompt> {
    let source = match &node.kind {
        Kind::Text(text) => from_text(text, node, fields, build)?,
        Kind::Map(_) => from_script(node, (config, passed), fields, build)?,
        _ => {
            let message = format!(
                "`prompt` of {} must be text or `{{script: […]}}`, not {}",
                fields.owner(),
                node.describe()
            );
            fields.error_at("llm_judge::prompt", node.span, message);
            return None;
        }
    };
    Some(Prompt { source, include_trace: false })
}

/// A template that does not show the answer cannot be graded by.
fn from_text(
    text: &str,
    node: &Node<'_>,
    fields: &mut Fields<'_, '_>,
    build: &mut Build<'_>,
) -> Option<PromptSource> {
    let template = template::read(text, node, fields, build)?;
    let shows_answer =
        ["candidate_answer", "expected_messages"].iter().any(|name| template.asks_for(name));
    if template.file.is_some() && !shows_answer {
        let file = template.file.unwrap_or_default();
        let message = format!(
            "the prompt `{file}` of {} does not show the answer to the judge",
            fields.owner()
        );
        let note = fields.error_at("llm_judge::prompt", node.span, message);
        note.help("put `{{ candidate_answer }}` or `{{ expected_messages }}` into the template");
        return None;
    }
    Some(PromptSource::Template(template.text))
}

/// `{script: [program, …, file]}`: the last word is looked up like a file, and the program runs beside it.
fn from_script(
    node: &Node<'_>,
    (config, passed): (Option<Object>, &[String]),
    fields: &mut Fields<'_, '_>,
    build: &mut Build<'_>,
) -> Option<PromptSource> {
    let own_config = node.get("config").and_then(|config| config.to_value().as_object().cloned());
    let mut own = fields.inside(node, "`prompt`")?;
    own.node("config");
    let script: Script = own.need_of(&["script", "command"])?;
    own.finish(crate::config::Leftovers::Warn);
    let Script::Argv(mut argv) = script else {
        fields.error_at(
            "llm_judge::prompt",
            node.span,
            "`script` of `prompt` must be a list: a program and its arguments",
        );
        return None;
    };
    let last = argv.last_mut()?;
    let Ok(found) = build.search.find(last) else {
        let message = format!("the prompt script `{last}` of {} was not found", fields.owner());
        fields
            .error_at("llm_judge::prompt", node.span, message)
            .help("correct the path; it is looked up from the eval file");
        return None;
    };
    build.depends_on(&found.path);
    *last = found.path.to_string_lossy().into_owned();
    let cwd = found.path.parent().map_or_else(|| build.eval_dir.to_owned(), Path::to_owned);
    Some(PromptSource::Script(Box::new(PromptScript {
        script: Script::Argv(argv),
        cwd,
        eval_dir: build.eval_dir.to_owned(),
        config: own_config.or(config),
        rule: EnvironmentRule::of_program(fields.env(), build.scrub_judges, passed),
        sandbox: build.sandbox.cloned(),
    })))
}

impl Prompt {
    /// The program that prints it, if one does.
    pub(super) fn program(&self) -> Option<&str> {
        match &self.source {
            PromptSource::Script(script) => script.script.program(),
            PromptSource::Default | PromptSource::Template(_) => None,
        }
    }

    /// The same with the secrets that it gets.
    pub(super) fn child(&self) -> Option<JudgeChild<'_>> {
        let PromptSource::Script(script) = &self.source else { return None };
        let rule = &script.rule;
        let (access, passed) = (rule.access(), rule.passed());
        Some(JudgeChild { name: "prompt".to_owned(), access, passed })
    }

    /// Whether a program prints it.
    pub(super) fn is_script(&self) -> bool {
        matches!(self.source, PromptSource::Script(_))
    }

    /// The prompt for this case and answer.
    pub(super) async fn render(
        &self,
        cx: &EvalContext<'_>,
        processes: &Processes,
    ) -> Result<RenderedPrompt, EvaluatorError> {
        let mut sandbox = None;
        let template: Cow<'_, str> = match &self.source {
            PromptSource::Default => DEFAULT.into(),
            PromptSource::Template(template) => template.as_str().into(),
            PromptSource::Script(script) => {
                let printed = script.run(cx, processes).await?;
                sandbox = printed.sandbox;
                printed.text.into()
            }
        };
        let mut prompt = fill(&template, |name| variable(name, cx));
        // Whoever brings a prompt decides what is in it; the default one shows all there is to judge.
        if matches!(self.source, PromptSource::Default) && cx.candidate.file_changes.is_some() {
            prompt.push_str("\n\n[[ ## file_changes ## ]]\n");
            prompt.push_str(&file_changes(cx));
        }
        if self.include_trace && !template::asks_for(&template, "trace_summary") {
            prompt.push_str("\n\n[[ ## trace_summary ## ]]\n");
            prompt.push_str(&trace_summary(cx));
        }
        Ok(RenderedPrompt { text: prompt, sandbox })
    }
}

impl PromptScript {
    /// What it prints, in its sandbox if it has one.
    async fn run(
        &self,
        cx: &EvalContext<'_>,
        processes: &Processes,
    ) -> Result<RenderedPrompt, EvaluatorError> {
        let argv = self.script.argv();
        let env = self.rule.environment(cx.targets.secret_variables());
        let program = Surroundings {
            argv: &argv,
            cwd: &self.cwd,
            eval_dir: &self.eval_dir,
            env: self.rule.env(),
            child: &env,
            processes,
            proxy_port: None,
        };
        let sandbox = confine(self.sandbox.as_ref(), &program, given_to_judges(cx));
        let sandbox = sandbox.map_err(|error| unconfined(&error))?;
        let record = record_of(sandbox.as_ref());
        let stdin = payload::text(cx, self.config.as_ref());
        let command = Command {
            argv,
            cwd: self.cwd.clone(),
            env,
            stdin: Stdin::Bytes(stdin.map_err(|error| failed(&error.to_string()))?.into_bytes()),
            time_limit: cx.call.time_limit,
            output_cap: OUTPUT_CAP,
            gentle: Gentle::Kill,
            sandbox,
        };
        match run(command, cx, processes).await {
            Ok(text) => Ok(RenderedPrompt { text, sandbox: record }),
            Err(error) => Err(EvaluatorError { sandbox: record, ..error }),
        }
    }
}

async fn run(
    command: Command,
    cx: &EvalContext<'_>,
    processes: &Processes,
) -> Result<String, EvaluatorError> {
    let hint = command.sandbox.as_ref().map(Confinement::hint);
    let output = processes.run(command, cx.call).await.map_err(|error| match error {
        RunError::TimedOut { after, .. } => {
            let message = format!(
                "Prompt template execution failed: timed out after {}ms",
                after.as_millis()
            );
            EvaluatorError::new(FailureKind::Timeout, message)
        }
        RunError::Spawn { program, source } => failed(&format!("cannot run `{program}`: {source}")),
        RunError::Cancelled => failed("the run was stopped"),
        RunError::Sandbox(_) | RunError::OverLimit { .. } => failed(&error.to_string()),
    })?;
    if !output.ended.is_success() {
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        return Err(failed(&format!("the script failed: {}{hint}", output.stderr.tail(2000))));
    }
    let text = output.stdout.text_lossy().trim().to_owned();
    if text.is_empty() { Err(failed("the script printed nothing")) } else { Ok(text) }
}

fn failed(reason: &str) -> EvaluatorError {
    EvaluatorError::new(
        FailureKind::Provider,
        format!("Prompt template execution failed: {reason}"),
    )
}

/// The values that templates may ask for.
pub(super) fn variable<'c>(name: &str, cx: &EvalContext<'c>) -> Option<Cow<'c, str>> {
    let EvalContext { case, candidate, question, .. } = *cx;
    Some(match name {
        "candidate_answer" => candidate.answer.trim().into(),
        "expected_outcome" => case.expected_outcome.trim().into(),
        "question" if question.trim().is_empty() => case.question().into(),
        "question" => question.trim().into(),
        "reference_answer" => case.reference_answer().trim().to_owned().into(),
        "input_messages" => pretty(&case.input_messages()),
        "expected_messages" => pretty(&case.expected_messages),
        "output_messages" => pretty(candidate.messages.as_deref().unwrap_or_default()),
        "trace_summary" => trace_summary(cx).into(),
        "file_changes" => file_changes(cx),
        _ => return None,
    })
}

/// What the candidate changed in its workspace. It stays a valid prompt when there is none.
fn file_changes<'c>(cx: &EvalContext<'c>) -> Cow<'c, str> {
    let Some(changes) = &cx.candidate.file_changes else { return "No workspace.".into() };
    let diff = changes.diff.trim_end();
    match (diff.is_empty(), changes.diff_truncated) {
        (true, false) => "No file was changed.".into(),
        (false, false) => diff.into(),
        (_, true) => {
            let files = changes.files.len() as u64 + changes.files_omitted;
            format!("{diff}\n… the diff of {files} files is cut off here").into()
        }
    }
}

/// What the candidate did. It stays a valid prompt when nothing is known.
fn trace_summary(cx: &EvalContext<'_>) -> String {
    match cx.candidate.trace_summary() {
        Some(summary) => pretty(summary).into_owned(),
        None => "No trace available.".to_owned(),
    }
}

fn pretty<T: Serialize + ?Sized>(value: &T) -> Cow<'static, str> {
    number::to_string_pretty(value).unwrap_or_default().into()
}
