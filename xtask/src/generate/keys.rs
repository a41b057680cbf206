//! Keys that belong to no single kind, so that no plug-in documents them. Only the schemas of these types are used.
#![expect(dead_code, reason = "read by the schema generator, never built")]

use schemars::JsonSchema;
use serde_json::Value;

/// Keys of every target.
#[derive(JsonSchema)]
pub(super) struct TargetKeys {
    /// What `--target`, `judge_target` and records call it.
    name: String,
    /// Which kind of provider answers.
    provider: String,
    /// The target that grades the answers of this one, where a grader asks a model.
    judge_target: Option<String>,
    /// How many cases run at once when `--workers` is not given; 1 if absent.
    #[schemars(range(min = 1, max = 1024))]
    workers: Option<u32>,
    /// Send all cases in one call, if the provider can; else they go one by one.
    provider_batching: Option<bool>,
    /// Keep its answers in `.agentv/cache` and do not ask again what is known. With `--cache`, models are kept without
    /// it; commands and agents never are, since their answers depend on more than what AgentV can see.
    cache: Option<bool>,
    /// The directory that an agent works in, copied for each attempt: what it changes there is a diff for judges. A text
    /// is short for `template`. What a case or its suite says wins, key by key.
    workspace: Option<TextOrWorkspace>,
    /// Labels that a worker must have to get its cases, in a run with `--cluster`.
    needs: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
pub(super) enum TextOrWorkspace {
    Template(String),
    Keys(WorkspaceKeys),
}

/// The directory that an agent works in.
#[derive(JsonSchema)]
#[schemars(rename = "Workspace")]
pub(super) struct WorkspaceKeys {
    /// The directory that is copied, relative to the file that names it. May be `${{ VARIABLE }}` as a whole. Without it the
    /// workspace is empty.
    template: Option<String>,
    /// Commands that run in the copy before the agent sees it: a list of commands, each a list of its words; one such
    /// command; or a text for the shell. What they change is not the agent's.
    setup: Option<Setup>,
    /// Secrets that these commands get although the configuration says `env: scrub`: names of variables.
    pass_env: Option<Vec<String>>,
    /// Which workspaces stay for people to look at; `on_failure` if absent.
    keep: Option<KeepKey>,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
pub(super) enum Setup {
    Commands(Vec<Vec<String>>),
    Command(Vec<String>),
    Shell(String),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub(super) enum KeepKey {
    OnFailure,
    Always,
    Never,
}

/// Keys of every evaluator.
#[derive(JsonSchema)]
pub(super) struct EvaluatorKeys {
    /// What results call it.
    name: Option<String>,
    /// Which kind of evaluator grades.
    r#type: String,
    /// Its share in the mean of the case; 1 if absent, and 0 takes it out.
    #[schemars(range(min = 0))]
    weight: Option<f64>,
    /// Whether the case fails when this evaluator is not met, even with a high mean. `true`: it must reach `pass_score`. A
    /// number from 0 to 1: it must reach that score.
    required: Option<RequiredKey>,
    /// What a failed grading does to its case; if absent, what `execution` says. If that says nothing either, it counts as 0
    /// in the score and the case is ungraded.
    on_judge_error: Option<OnJudgeError>,
    /// Files that it depends on and that no other key names, as paths or patterns from the eval file: modules that a script
    /// imports. Workers of a cluster get them, and a change of one makes its cases other cases.
    files: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub(super) enum OnJudgeError {
    /// It counts as 0.
    Zero,
    /// It does not count.
    Exclude,
    /// The case ends in an error.
    Fail,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
pub(super) enum RequiredKey {
    PassScore(bool),
    Score(#[schemars(range(min = 0, max = 1))] f64),
}

/// A suite: cases, and what they have in common.
#[derive(JsonSchema)]
pub(super) struct SuiteKeys {
    /// For editors and for `agentv validate`.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// What the suite is about.
    description: Option<String>,
    /// For people and other tools; AgentV does not look at it.
    name: Option<String>,
    /// For people and other tools; AgentV does not look at it.
    version: Option<Value>,
    /// For people and other tools; AgentV does not look at it.
    metadata: Option<Value>,
    /// The name in results; the file's name if absent.
    dataset: Option<String>,
    /// What all cases share.
    execution: Option<SuiteExecution>,
    /// The older place of `execution.target`.
    target: Option<String>,
    /// The kind of evaluator for cases without a list.
    evaluator: Option<String>,
    /// Another place of `execution.workspace`.
    workspace: Option<TextOrWorkspace>,
    /// Labels that a worker must have to get its cases, in a run with `--cluster`.
    needs: Option<Vec<String>>,
    /// Files that its cases depend on and that no other key names, as paths or patterns from the eval file: modules that a
    /// judge's script imports, data that a command reads. Workers of a cluster get them.
    files: Option<Vec<String>>,
    /// Values for `{{ name }}` in the input and the expected texts of all cases. A case's own `vars` win.
    vars: Option<agentv_wire::Object>,
    /// What is asked in cases that say nothing of it.
    input: Option<TextOrMessages>,
    /// The same, as messages.
    input_messages: Option<Vec<MessageKeys>>,
    /// What a good answer does, for cases without `criteria`. Also called `expected_outcome`.
    criteria: Option<String>,
    /// Another name of `criteria`.
    expected_outcome: Option<String>,
    /// A good answer, for cases that say nothing of it: text, a message, messages, or any structure.
    expected_output: Option<Value>,
}

/// What all cases of a suite share.
#[derive(JsonSchema)]
pub(super) struct SuiteExecution {
    /// The target that is asked, unless `--target` names another.
    target: Option<String>,
    /// Evaluators of cases that have none of their own.
    evaluators: Option<Vec<EvaluatorReference>>,
    /// From which score on a case passes; 1 if absent.
    #[schemars(range(min = 0, max = 1))]
    pass_score: Option<f64>,
    /// What a grading that fails does to the score of its case, for evaluators that say nothing; `zero` if absent.
    on_judge_error: Option<OnJudgeError>,
    /// Tools that count as exploring in `exploration_ratio`.
    exploration_tools: Option<Vec<String>>,
    /// Keep the answers of models in `.agentv/cache`, as with `--cache`; `false`: keep none of any target.
    cache: Option<bool>,
    /// How often each case is asked on each target, unless `--trials` says otherwise; 1 if absent.
    #[schemars(range(min = 1, max = 1000))]
    trials: Option<u32>,
    /// The directory that an agent works in, copied for each attempt: what it changes there is a diff for judges. A text
    /// is short for `template`. It wins over the target's, key by key.
    workspace: Option<TextOrWorkspace>,
}

/// One case.
#[derive(JsonSchema)]
pub(super) struct CaseKeys {
    /// Its name, once per suite: a duplicate is an error.
    #[schemars(length(min = 1))]
    id: String,
    /// What a good answer does, for people and for judges. It may be left out where all evaluators are deterministic.
    #[schemars(length(min = 1))]
    criteria: Option<String>,
    /// Another name of `criteria`.
    #[schemars(length(min = 1))]
    expected_outcome: Option<String>,
    /// Another name of `criteria`.
    outcome: Option<String>,
    /// What is asked.
    #[schemars(length(min = 1))]
    input_messages: Option<Vec<MessageKeys>>,
    /// Short for `input_messages`: text is one user message.
    input: Option<TextOrMessages>,
    /// A good answer, as messages.
    expected_messages: Option<Vec<MessageKeys>>,
    /// Short for `expected_messages`: text, a message, messages, or any structure.
    expected_output: Option<Value>,
    /// For people; AgentV does not look at it.
    description: Option<String>,
    /// For people; AgentV does not look at it.
    note: Option<String>,
    /// For people and other tools; AgentV keeps it with the case and does not read it.
    metadata: Option<agentv_wire::Object>,
    /// Copied to the result.
    conversation_id: Option<String>,
    /// Copied to the result.
    tags: Option<Vec<String>>,
    /// Values for `{{ name }}` in its input and its expected texts, over those of the suite. Names that nobody declared
    /// stay as they are. What is no text is put in as JSON.
    vars: Option<agentv_wire::Object>,
    /// What is special about this case.
    execution: Option<CaseExecution>,
    /// Who grades. `execution.evaluators` wins over it.
    evaluators: Option<Vec<EvaluatorReference>>,
    /// The kind of evaluator, where there is no list.
    evaluator: Option<String>,
    /// What an LLM judge checks one by one: texts or mappings.
    rubrics: Option<Vec<Value>>,
    /// The directory that an agent works in, copied for each attempt: what it changes there is a diff for judges. A text
    /// is short for `template`. It wins over the suite's and the target's, key by key.
    workspace: Option<TextOrWorkspace>,
}

/// What is special about a case.
#[derive(JsonSchema)]
pub(super) struct CaseExecution {
    /// The target that is asked instead of the suite's.
    target: Option<String>,
    /// Who grades, instead of the suite's evaluators.
    evaluators: Option<Vec<EvaluatorReference>>,
    /// Another place of the case's `workspace`.
    workspace: Option<TextOrWorkspace>,
}

/// One message.
#[derive(JsonSchema)]
#[schemars(title = "Message")]
pub(super) struct MessageKeys {
    /// Who speaks.
    role: RoleKey,
    /// Text, parts, or any structure.
    content: Option<ContentKey>,
    /// The name of the speaker, if there are several.
    name: Option<String>,
    /// What an assistant did.
    tool_calls: Option<Vec<ToolCallKeys>>,
}

/// Who speaks.
#[derive(JsonSchema)]
#[schemars(rename = "Role", rename_all = "snake_case")]
pub(super) enum RoleKey {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(JsonSchema)]
#[schemars(rename = "Content", untagged)]
pub(super) enum ContentKey {
    Text(String),
    Parts(Vec<PartKeys>),
    Structure(agentv_wire::Object),
}

/// A part of a message.
#[derive(JsonSchema)]
#[schemars(title = "Part of a message")]
pub(super) struct PartKeys {
    /// `text` or `file`; others are handed on as they are.
    r#type: String,
    /// The text, or the path of the file.
    value: Option<Value>,
}

/// One use of a tool.
#[derive(JsonSchema)]
#[schemars(title = "Tool call")]
pub(super) struct ToolCallKeys {
    /// The name of the tool.
    tool: String,
    /// What it was given.
    input: Option<Value>,
    /// What it gave back.
    output: Option<Value>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum TextOrMessages {
    Text(String),
    Messages(Vec<MessageKeys>),
}

/// `.agentv/config.yaml`, and `.agentv.yaml` beside an eval file.
#[derive(JsonSchema)]
#[schemars(title = "Configuration")]
pub(super) struct ConfigKeys {
    /// For editors and for `agentv validate`.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// Files whose path from the repository's root fits one of these globs are guidelines. An empty list: none are.
    guideline_patterns: Option<Vec<String>>,
    /// Regular expressions of texts that are masked in all that a run keeps and shows, besides secrets. Those of all
    /// configuration files add up.
    redact: Option<Vec<String>>,
    /// Which variables the programs of judges and targets get, unless `judges` or `targets` says otherwise.
    env: Option<EnvKey>,
    /// What holds for all programs that judges start: scripts, prompt scripts, aggregators, commands that judge.
    judges: Option<JudgesKeys>,
    /// What holds for all commands of targets: those of `cli` targets, health checks, the setup of workspaces. Agents get
    /// only the secrets that they need in any case.
    targets: Option<ChildrenKeys>,
}

/// What holds for programs that AgentV starts.
#[derive(JsonSchema)]
#[schemars(title = "Judges")]
pub(super) struct JudgesKeys {
    /// As `env` of `targets`.
    env: Option<EnvKey>,
    /// The sandbox of scripts that have none of their own: `true`, `best_effort`, or a mapping.
    sandbox: Option<agentv_runtime::process::sandbox::SandboxKeys>,
}

/// What holds for all children of targets.
#[derive(JsonSchema)]
#[schemars(title = "Children")]
pub(super) struct ChildrenKeys {
    /// `scrub`: they do not see secrets, which are the variables that a target uses as a key or whose names say so
    /// (`GH_TOKEN`), but for those in `pass_env`. `inherit`, as if absent: they do, unless they ask models through the
    /// proxy.
    env: Option<EnvKey>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub(super) enum EnvKey {
    Scrub,
    Inherit,
}

/// An evaluator's schema is put together from the registry, so here it is only a reference to that.
pub(super) struct EvaluatorReference;

impl JsonSchema for EvaluatorReference {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Evaluator".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}
