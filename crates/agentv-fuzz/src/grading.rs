//! A suite and answers → records.

use crate::choices::Choices;
use crate::judges::{Parrots, at_once};
use crate::scratch;
use agentv_core::outcome::outcome;
use agentv_core::provider::{RecordedAs, Reported};
use agentv_core::record::{self, Asked};
use agentv_core::{
    Answered, CallContext, Candidate, EvalCase, EvalContext, PromptMode, ProviderError,
    ProviderInfo, Response, Trial, prompt,
};
use agentv_runtime::evaluators::evaluate_all;
use agentv_wire::{
    EvaluatorResult, Outcome, OutputMessage, RecordSummary, ResultRecord, Skipped, Status,
    TokenUsage, ToolCall, TraceEvent, TraceEventType, number,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Loads a suite, answers each of its cases and grades the answers.
pub(crate) fn grade(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let parrots = Parrots::default();
    for case in cases(&mut choices) {
        parrots.0.say(&judge_reply(&mut choices));
        let record = graded(&case, &mut choices, &parrots);
        check(&record);
    }
}

/// The cases of a suite that is made here, as far as they can be used.
pub(crate) fn cases(choices: &mut Choices<'_>) -> Vec<Arc<EvalCase>> {
    let document = suite(choices);
    scratch::with(|scratch| {
        let path = scratch.dir().join("made.yaml");
        let (loaded, report) = scratch.loader.suite_of_document(&path, &document);
        scratch.show(&report);
        let cases = loaded.and_then(|loaded| loaded.cases.open().ok());
        cases.into_iter().flatten().filter_map(Result::ok).collect()
    })
}

fn suite(choices: &mut Choices<'_>) -> Value {
    let mut number = 0;
    let cases = choices.list(2, |choices| {
        number += 1;
        case(choices, number)
    });
    let mut suite = json!({ "evalcases": cases });
    choices.sometimes(
        &mut suite,
        &[
            ("pass_score", |choices| json!(choices.share())),
            ("evaluators", |choices| evaluators(choices, 1)),
            ("execution", |choices| json!({ "on_judge_error": policy(choices) })),
            ("vars", |choices| Value::Object(choices.object(0))),
            ("criteria", |choices| json!(choices.text())),
        ],
    );
    if cases_are_missing(&suite) {
        suite["evalcases"] = json!([case(choices, 0)]);
    }
    suite
}

fn cases_are_missing(suite: &Value) -> bool {
    suite["evalcases"].as_array().is_none_or(Vec::is_empty)
}

fn policy(choices: &mut Choices<'_>) -> Value {
    json!(choices.one(&["zero", "exclude", "fail"]))
}

fn case(choices: &mut Choices<'_>, number: usize) -> Value {
    let mut case = json!({
        "id": format!("{}-{number}", choices.name()),
        "criteria": choices.text(),
        "evaluators": evaluators(choices, 1),
    });
    if choices.is() {
        case["input"] = json!(choices.text());
    } else {
        case["input_messages"] = Value::Array(choices.list(3, message));
    }
    choices.sometimes(
        &mut case,
        &[
            ("expected_output", |choices| choices.json(2)),
            ("tags", |choices| json!(choices.list(2, Choices::text))),
            ("metadata", |choices| Value::Object(choices.object(1))),
            ("vars", |choices| Value::Object(choices.object(0))),
            ("conversation_id", |choices| json!(choices.text())),
        ],
    );
    case
}

fn message(choices: &mut Choices<'_>) -> Value {
    let role = choices.one(&["user", "assistant", "system", "tool"]);
    let content = match choices.below(3) {
        0 => json!(choices.text()),
        1 => json!([{ "type": "text", "value": choices.text() }, choices.json(1)]),
        _ => choices.json(1),
    };
    json!({ "role": role, "content": content })
}

fn evaluators(choices: &mut Choices<'_>, depth: usize) -> Value {
    Value::Array(choices.list(3, |choices| evaluator(choices, depth)))
}

fn evaluator(choices: &mut Choices<'_>, depth: usize) -> Value {
    let mut evaluator = match choices.below(if depth == 0 { 12 } else { 14 }) {
        0 => {
            json!({ "type": "contains", "value": choices.list(3, Choices::text), "mode": choices.one(&["all", "any"]) })
        }
        1 => json!({ "type": "contains", "value": choices.text() }),
        2 => json!({ "type": "equals", "value": choices.text(), "trim": choices.is() }),
        3 => json!({ "type": "regex", "pattern": choices.text(), "multi_line": choices.is() }),
        4 => json!({ "type": "is_json", "schema": schema(choices) }),
        5 => fields(choices),
        6 => trajectory(choices),
        7 => json!({ "type": "latency", "threshold": choices.number() }),
        8 => json!({ "type": "cost", "budget": choices.number() }),
        9 => {
            json!({ "type": "token_usage", "max_total": choices.number(), "max_input": choices.small() })
        }
        10 => {
            json!({ "type": "llm_judge", "prompt": choices.text(), "include_trace": choices.is() })
        }
        11 => json!({ "type": "rubric", "rubrics": choices.list(3, rubric) }),
        12 => {
            json!({ "type": "llm_judge", "judges": ["judge", choices.one(&["other", "nobody"])], "vote": choices.one(&["mean", "median", "majority"]) })
        }
        _ => composite(choices, depth),
    };
    choices.sometimes(
        &mut evaluator,
        &[
            ("name", |choices| json!(choices.name())),
            ("weight", |choices| json!(choices.number())),
            ("required", |choices| if choices.is() { json!(true) } else { json!(choices.share()) }),
            ("on_judge_error", policy),
            ("ignore_case", |choices| json!(choices.is())),
            ("negate", |choices| json!(choices.is())),
        ],
    );
    evaluator
}

fn schema(choices: &mut Choices<'_>) -> Value {
    match choices.below(4) {
        0 => json!({ "type": choices.one(&["object", "array", "string", "number"]) }),
        1 => json!({ "properties": { "a": { "minimum": choices.small() } }, "required": ["a"] }),
        2 => json!({ "$ref": "#/$defs/a", "$defs": { "a": { "items": { "$ref": "#/$defs/a" } } } }),
        _ => choices.json(2),
    }
}

fn fields(choices: &mut Choices<'_>) -> Value {
    let fields = choices.list(3, |choices| {
        let mut field = json!({
            "path": choices.one(&["a", "a.b", "[0]", "alpha[0].beta", "Read", "", "a..b", "[99999999999]"]),
            "match": choices.one(&["exact", "numeric_tolerance", "date"]),
        });
        choices.sometimes(&mut field, &[
            ("weight", |choices| json!(choices.number())),
            ("required", |choices| json!(choices.is())),
            ("tolerance", |choices| json!(choices.number())),
            ("relative", |choices| json!(choices.is())),
            ("formats", |choices| json!([choices.one(&["YYYY-MM-DD", "D.M.YYYY", "MMM D, YYYY", "DD/MM/YY", "HH:mm", "x"])])),
        ]);
        field
    });
    let how = choices.one(&["weighted_average", "all_or_nothing"]);
    json!({ "type": "field_accuracy", "fields": fields, "aggregation": how })
}

fn trajectory(choices: &mut Choices<'_>) -> Value {
    let mode = choices.one(&["any_order", "in_order", "exact"]);
    let mut evaluator = json!({ "type": "tool_trajectory", "mode": mode });
    if *mode == "any_order" {
        evaluator["minimums"] =
            json!({ "Read": choices.below(3), choices.name(): choices.number() });
    }
    if *mode != "any_order" || choices.is() {
        let expected = choices.list(3, |choices| {
            let mut call = json!({ "tool": choices.name() });
            choices.sometimes(
                &mut call,
                &[
                    ("args", |choices| {
                        if choices.is() { json!("any") } else { Value::Object(choices.object(1)) }
                    }),
                    ("max_duration_ms", |choices| json!(choices.number())),
                ],
            );
            call
        });
        evaluator["expected"] = Value::Array(expected);
    }
    evaluator
}

fn rubric(choices: &mut Choices<'_>) -> Value {
    if choices.is() {
        return json!(choices.text());
    }
    let mut rubric =
        json!({ "id": choices.one(&["a", "b", "short"]), "expected_outcome": choices.text() });
    choices.sometimes(
        &mut rubric,
        &[
            ("weight", |choices| json!(choices.number())),
            ("required", |choices| json!(choices.is())),
            ("score_ranges", |choices| {
                let middle = choices.below(11);
                json!([
                    { "score_range": [0, middle], "expected_outcome": "bad" },
                    { "score_range": [middle + 1, 10], "expected_outcome": choices.text() },
                ])
            }),
        ],
    );
    rubric
}

fn composite(choices: &mut Choices<'_>, depth: usize) -> Value {
    let aggregator = match choices.below(3) {
        0 => json!({ "type": "weighted_average" }),
        1 => {
            json!({ "type": "weighted_average", "weights": { choices.name(): choices.number(), "x": 1 } })
        }
        _ => json!({ "type": "llm_judge", "prompt": "{{EVALUATOR_RESULTS_JSON}}" }),
    };
    let members = evaluators(choices, depth - 1);
    json!({ "type": "composite", "evaluators": members, "aggregator": aggregator })
}

fn judge_reply(choices: &mut Choices<'_>) -> String {
    match choices.below(4) {
        0 => choices.text(),
        1 => json!({ "score": choices.number(), "hits": choices.list(6, Choices::text), "misses": choices.json(1), "reasoning": choices.json(0) })
            .to_string(),
        2 => {
            let checks = choices.list(4, |choices| {
                let mut check = json!({ "id": choices.one(&["a", "b", "short", "rubric-1"]) });
                choices.sometimes(&mut check, &[
                    ("satisfied", |choices| choices.json(0)),
                    ("score", |choices| json!(choices.number())),
                    ("reasoning", |choices| choices.json(0)),
                ]);
                check
            });
            json!({ "checks": checks, "overall_reasoning": choices.text() }).to_string()
        }
        _ => format!("{} {}", choices.text(), json!({ "score": choices.share() })),
    }
}

/// An answer as a provider could give it.
pub(crate) fn response(choices: &mut Choices<'_>) -> Response {
    Response {
        text: choices.some(answer_text),
        messages: choices.some(|choices| choices.list(3, output_message)),
        trace: if choices.once_in(3) { Some(choices.list(3, event)) } else { None },
        reported: Reported {
            token_usage: choices.some(usage),
            cost_usd: choices.some(|choices| choices.number().abs()),
            duration_ms: choices.some(|choices| choices.number().abs()),
        },
        metadata: if choices.once_in(4) { choices.object(1) } else { agentv_wire::Object::new() },
        error: if choices.once_in(6) { Some(choices.text()) } else { None },
        is_masked: false,
    }
}

fn answer_text(choices: &mut Choices<'_>) -> String {
    if choices.is() { choices.text() } else { choices.json(2).to_string() }
}

pub(crate) fn usage(choices: &mut Choices<'_>) -> TokenUsage {
    TokenUsage {
        input: choices.number().abs(),
        output: choices.small(),
        cached: choices.some(Choices::small),
    }
}

fn output_message(choices: &mut Choices<'_>) -> OutputMessage {
    OutputMessage {
        role: (*choices.one(&["assistant", "tool", "user", "x"])).to_owned(),
        content: choices.some(|choices| choices.json(1)),
        tool_calls: choices.some(|choices| choices.list(3, tool_call)),
        duration_ms: choices.some(|choices| choices.number().abs()),
        ..OutputMessage::default()
    }
}

fn tool_call(choices: &mut Choices<'_>) -> ToolCall {
    ToolCall {
        tool: choices.name(),
        input: choices.some(|choices| choices.json(2)),
        output: choices.some(|choices| choices.json(1)),
        duration_ms: choices.some(|choices| choices.number().abs()),
        ..ToolCall::default()
    }
}

fn event(choices: &mut Choices<'_>) -> TraceEvent {
    let kind = [TraceEventType::ToolCall, TraceEventType::Message, TraceEventType::Error];
    TraceEvent {
        name: choices.some(Choices::name),
        input: choices.some(|choices| choices.json(1)),
        ..TraceEvent::of(*choices.one(&kind))
    }
}

/// The record of one case, as a run makes it.
pub(crate) fn graded(
    case: &EvalCase,
    choices: &mut Choices<'_>,
    parrots: &Parrots,
) -> Box<ResultRecord> {
    let mode = *choices.one(&[PromptMode::Model, PromptMode::Agent]);
    let request = prompt::build(case, mode);
    let outcome = if choices.once_in(10) {
        Err(ProviderError::failed(choices.text()))
    } else {
        Ok(response(choices))
    };
    let answered = Answered::whole(outcome, Duration::from_millis(41), 0);
    let question = request.question.clone();
    let recorded_as = *choices.one(&[RecordedAs::Model, RecordedAs::Agent]);
    let provider = ProviderInfo { recorded_as, ..ProviderInfo::simulated("mock") };
    let asked = Asked { request, provider, target: "t", trial: Trial::ONLY, simulated: false };
    let now = "2026-01-01T00:00:00.000Z".to_owned();
    match Candidate::observe(answered, &case.suite.exploration_tools) {
        Err(missing) => record::failed(case, asked, &missing.error, now),
        Ok(candidate) => {
            let context = EvalContext {
                case,
                candidate: &candidate,
                question: &question,
                targets: parrots,
                call: &CallContext::quiet(),
            };
            let verdicts = at_once(evaluate_all(&case.evaluators, &context));
            record::graded(case, asked, candidate, verdicts, now)
        }
    }
}

/// What holds for every record, and for what is read of it later.
pub(crate) fn check(record: &ResultRecord) {
    assert!((0.0..=1.0).contains(&record.score), "a score of {}", record.score);
    record.evaluator_results.iter().flatten().for_each(check_result);
    assert_eq!(record.status == Status::Pass, record.outcome == Some(Outcome::Pass));

    let line = number::to_string(record).expect("a record is JSON");
    assert!(!line.contains('\n'), "a record is one line");
    let whole: ResultRecord = serde_json::from_str(&line).expect("a record can be read");
    let again = number::to_string(&whole).expect("a record is JSON");
    assert_eq!(again, line, "a record is read as what it was");
    let summary: RecordSummary = serde_json::from_str(&line).expect("a record has a summary");
    let brief: RecordSummary<Skipped> =
        serde_json::from_str(&line).expect("a record has a summary");
    let excerpt = RecordSummary::excerpt(whole, None);
    let outcomes = [outcome(&summary), outcome(&brief), outcome(&excerpt)];
    assert_eq!(outcomes.map(Some), [record.outcome; 3], "views differ on the outcome");
}

fn check_result(result: &EvaluatorResult) {
    assert!((0.0..=1.0).contains(&result.score), "a score of {}", result.score);
    assert!(result.weight.is_finite() && result.weight >= 0.0, "a weight of {}", result.weight);
    result.evaluator_results.iter().flatten().for_each(check_result);
}
