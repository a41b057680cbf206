//! `agentv judge test`: one code judge on one payload, so that its author has a loop of seconds.

use crate::args::{JudgeTestArgs, ReportFormat};
use crate::settings::Environment;
use crate::terminal::{self, Screen, show_notes};
use agentv_core::evaluator::{OnError, Required};
use agentv_core::record::{Graded, evaluator_result};
use agentv_core::{CallContext, EvaluatorEntry, EvaluatorName, NamedProvider, TargetName, Weight};
use agentv_runtime::config::Scrub;
use agentv_runtime::evaluators::code_judge::{CodeJudge, JudgeInput};
use agentv_runtime::file_input::{self, RECORD_CAP};
use agentv_runtime::load::{Loader, ProgramRules, TargetsFile};
use agentv_runtime::process::sandbox::GivenFiles;
use agentv_runtime::process::{EnvironmentRule, Processes, SecretPolicy};
use agentv_runtime::providers::Deps;
use agentv_runtime::providers::mock::Mock;
use agentv_runtime::session::sandbox_of_judges;
use agentv_runtime::targets::{Judge, JudgeTargets, TargetBook};
use agentv_wire::DryRunDelay;
use agentv_wire::{CodeJudgePayload, EvaluatorResult, Exit, Object, ResultRecord, number};
use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How many calls a script that is tried out may make.
const MAX_CALLS: u64 = 50;
/// The name under which the stand-in is served.
const MOCK: &str = "mock";

pub(crate) fn test(args: JudgeTestArgs, environment: &Environment) -> Exit {
    let processes = Processes::new(format!("judge-test-{}", std::process::id()));
    let input = match input(&args, environment, &processes) {
        Ok(input) => input,
        Err(problem) => return terminal::fail(&problem, None),
    };
    let judge_sandbox = match args.sandbox.then(sandbox_of_judges).transpose() {
        Ok(sandbox) => sandbox,
        Err(refused) => return terminal::fail(&refused.message, refused.help.as_deref()),
    };
    let loader = Loader { judge_sandbox, ..environment.loader(&processes) };
    let ProgramRules { scrub, judge_sandbox } = loader.program_rules(&environment.working_dir);
    let Some(targets) = targets(&args, scrub, environment, &processes) else { return Exit::Usage };
    let judge = CodeJudge::of_script(
        args.script,
        environment.working_dir.clone(),
        args.serve_proxy.is_some().then_some(MAX_CALLS),
        EnvironmentRule::of_program(&environment.env, scrub.judges, &[]),
        Arc::clone(&processes),
    );
    let judge = Arc::new(judge.in_sandbox(judge_sandbox));
    let time_limit =
        Duration::try_from_secs_f64(args.timeout).ok().filter(|limit| !limit.is_zero());
    let call = CallContext { time_limit, ..CallContext::quiet() };
    let outcome = match super::work(&processes, judge.judge(input, &targets, &call)) {
        Ok(outcome) => outcome,
        Err(exit) => return exit,
    };
    let result = evaluator_result(Graded { entry: &entry(judge), outcome });
    show(&result, args.format, &mut environment.screen());
    if result.error.is_some() { Exit::Incomplete } else { Exit::Success }
}

fn entry(judge: Arc<CodeJudge>) -> EvaluatorEntry {
    EvaluatorEntry {
        name: EvaluatorName::from("judge"),
        kind: "code_judge",
        weight: Weight::ONE,
        required: Required::No,
        on_error: OnError::Zero,
        evaluator: judge,
    }
}

/// The script's input: a payload as it is, or made of a record.
fn input(
    args: &JudgeTestArgs,
    environment: &Environment,
    processes: &Arc<Processes>,
) -> Result<JudgeInput, String> {
    let read = |path: &Path| {
        file_input::read_argument_to_string(&environment.working_dir.join(path), RECORD_CAP)
            .map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
    };
    match (&args.payload, &args.record) {
        (Some(path), _) => {
            let text = read(path)?;
            let checked: Result<serde_json::Value, _> = serde_json::from_str(&text);
            checked.map_err(|error| format!("`{}` is not JSON: {error}", path.display()))?;
            Ok(JudgeInput { stdin: text, ..JudgeInput::default() })
        }
        (None, Some(name)) => {
            let results = environment.results_of(name).map_err(|error| error.to_string())?;
            let record = find_record(&read(&results)?, args.eval_id.as_deref())?;
            let config = config_of(&record, &args.script, environment, processes);
            of_record(record, config)
        }
        (None, None) => {
            Err("name a payload with `--payload`, or results with `--record`".to_owned())
        }
    }
}

fn find_record(results: &str, eval_id: Option<&str>) -> Result<ResultRecord, String> {
    let records =
        results.lines().filter_map(|line| serde_json::from_str::<ResultRecord>(line).ok());
    let mut wanted = records.filter(|record| eval_id.is_none_or(|id| record.eval_id == id));
    wanted.next().ok_or_else(|| match eval_id {
        Some(id) => format!("the results have no record of `{id}`"),
        None => "the results have no record".to_owned(),
    })
}

/// The `config` of the judge in the record's eval file: the one with this script, or the only one of the case. Without it
/// the judge would see something else than in a run, so it is said where it cannot be found.
fn config_of(
    record: &ResultRecord,
    script: &[String],
    environment: &Environment,
    processes: &Arc<Processes>,
) -> Option<Object> {
    let is_judged = |result: &EvaluatorResult| result.kind == "code_judge";
    let judged = record.evaluator_results.iter().flatten().any(is_judged);
    let without = |why: String| {
        if judged {
            terminal::warn(&format!("the payload has no `config`: {why}"));
        }
        None
    };
    let Some(suite) = &record.suite else {
        return without("the record does not name its eval file".to_owned());
    };
    let path = environment.project_root.join(suite.as_str());
    let loaded = environment.loader(processes).suite(&path).0;
    let mut cases = loaded.iter().filter_map(|suite| suite.cases.open().ok()).flatten().flatten();
    let Some(case) = cases.find(|case| case.id.as_str() == record.eval_id) else {
        return without(format!("`{suite}` cannot be read, or has no case `{}`", record.eval_id));
    };
    let of_entry = |entry: &EvaluatorEntry| -> Option<(bool, Option<Object>)> {
        let judge = (&*entry.evaluator as &dyn Any).downcast_ref::<CodeJudge>()?;
        Some((judge.runs(script), judge.handed_on().cloned()))
    };
    let mut judges: Vec<_> = case.evaluators.iter().filter_map(of_entry).collect();
    let chosen = judges.iter().position(|(is_same, _)| *is_same);
    match chosen.or((judges.len() == 1).then_some(0)) {
        Some(index) => judges.swap_remove(index).1,
        None => without(format!(
            "no code judge of case `{}` in `{suite}` runs `{}`",
            record.eval_id,
            script.join(" ")
        )),
    }
}

/// What a record knows of its case. Messages and expectations are not in it.
fn of_record(record: ResultRecord, config: Option<Object>) -> Result<JudgeInput, String> {
    let request = *record.lm_provider_request.or(record.agent_provider_request).unwrap_or_default();
    let question = request.question.unwrap_or_else(|| {
        let said = request.chat_prompt.unwrap_or_default().into_iter();
        said.map(|message| message.content).collect::<Vec<_>>().join("\n")
    });
    let changes = record.file_changes;
    let guidelines = request.guideline_paths.unwrap_or_default();
    let files = GivenFiles {
        named: guidelines.iter().map(PathBuf::from).collect(),
        own: record.workspace.iter().map(PathBuf::from).collect(),
        output: None,
    };
    let payload = CodeJudgePayload {
        question,
        expected_outcome: String::new(),
        expected_messages: Vec::new(),
        reference_answer: String::new(),
        candidate_answer: record.candidate_answer,
        output_messages: None,
        guideline_files: guidelines,
        input_files: Vec::new(),
        input_messages: Vec::new(),
        candidate_trace: None,
        candidate_trace_summary: record.trace_summary.clone(),
        trace_summary: record.trace_summary,
        execution_metrics: record.execution_metrics,
        provider_metadata: record.provider_metadata,
        file_changes_truncated: changes.as_ref().is_some_and(|changes| changes.diff_truncated),
        changed_files: changes.as_ref().map(|changes| changes.files.clone()),
        file_changes: changes.map(|changes| changes.diff),
        workspace_path: record.workspace,
        config,
    };
    let stdin = number::to_string_pretty(&payload).map_err(|error| error.to_string())?;
    Ok(JudgeInput { stdin, files })
}

/// Who answers through the proxy: a stand-in, or a target by name. What is wrong with it is shown.
fn targets(
    args: &JudgeTestArgs,
    scrub: Scrub,
    environment: &Environment,
    processes: &Arc<Processes>,
) -> Option<JudgeTargets> {
    let name = args.serve_proxy.as_deref().unwrap_or(MOCK);
    let file = if name == MOCK {
        Some(TargetsFile {
            path: environment.working_dir.clone(),
            targets: Vec::new(),
            secret_variables: BTreeSet::new(),
            literal_secrets: Vec::new(),
        })
    } else {
        targets_file(args, environment, processes)
    }?;
    let mut secrets = environment.secrets();
    secrets.merge(file.secrets(&environment.env));
    let redactor = secrets.redactor();
    processes.redact_with(&redactor);
    let deps = Deps {
        target: TargetName::from(MOCK),
        eval_dir: environment.working_dir.clone(),
        working_dir: environment.working_dir.clone(),
        project_root: environment.project_root.clone(),
        env: environment.env.clone(),
        secrets: SecretPolicy { scrub, ..SecretPolicy::default() },
        processes: Arc::clone(processes),
        health: Arc::default(),
        redactor,
    };
    let (book, name) = (TargetBook::new(file, deps), TargetName::from(name));
    if name.as_str() == MOCK {
        let provider = Arc::new(Mock::dry_run(DryRunDelay::default()));
        return Some(JudgeTargets { book, judge: Judge::Own(NamedProvider { name, provider }) });
    }
    book.provider(&name).map_err(|error| terminal::complain(&error.to_string(), None)).ok()?;
    Some(JudgeTargets { book, judge: Judge::Named(name) })
}

fn targets_file(
    args: &JudgeTestArgs,
    environment: &Environment,
    processes: &Arc<Processes>,
) -> Option<TargetsFile> {
    let loader = environment.loader(processes);
    let found = loader.find_targets(&environment.working_dir, args.targets.as_deref());
    let path = found
        .map_err(|problem| terminal::complain(&problem, Some("name one with `--targets`")))
        .ok()?;
    let (file, report) = loader.targets(&path, &environment.env);
    show_notes(&report, &environment.working_dir);
    file
}

fn show(result: &EvaluatorResult, format: ReportFormat, screen: &mut Screen) {
    if format == ReportFormat::Json {
        screen.data(&number::to_string_pretty(result).unwrap_or_default());
        return;
    }
    let word = number::to_string(&result.verdict).unwrap_or_default();
    screen.line(format!("Score: {:.3} ({})", result.score, word.trim_matches('"')));
    for hit in &result.hits {
        screen.line(format!("  ✓ {hit}"));
    }
    for miss in &result.misses {
        screen.line(format!("  ✗ {miss}"));
    }
    if let Some(reasoning) = result.reasoning.as_ref().filter(|_| result.error.is_none()) {
        screen.line(format!("Reasoning: {reasoning}"));
    }
    if let Some(details) = &result.details {
        screen.data(&format!("Details: {}", number::to_string_pretty(details).unwrap_or_default()));
    }
    if let Some(sandbox) = &result.sandbox {
        let parts = number::to_string(&sandbox.held).unwrap_or_default();
        screen.line(format!("Sandbox: {}", parts.trim_matches(['[', ']']).replace(['"'], "")));
    }
    let proxy =
        result.evaluator_provider_request.as_ref().and_then(|request| request.get("target_proxy"));
    if let Some(proxy) = proxy {
        let (calls, max) = (&proxy["call_count"], &proxy["max_calls"]);
        screen.line(format!("Proxy: {calls} of {max} calls to {}", proxy["target_name"]));
    }
}
