//! Traces and metrics: taken from what a target says, summed up and recorded.

use crate::context;
use agentv_test_support::{JudgeDump, Ran, TestContext, mock_target, suite, targets};
use serde_json::{Value, json};

/// One case, and what a judge of it was given.
struct Seen {
    ran: Ran,
    record: Value,
    payload: Value,
}

/// Runs a case on a `cli` target that answers this.
#[track_caller]
fn see(answer: &Value) -> Seen {
    let cx = context();
    let judge = judge(&cx);
    Seen::of(cx.grade(answer, json!([judge.evaluator()])), &judge)
}

/// Runs a case on a target that says nothing but text.
#[track_caller]
fn see_mock() -> Seen {
    let cx = context();
    let judge = judge(&cx);
    cx.write("targets.yaml", &targets(&[mock_target("default", "only text")]));
    cx.write("suite.yaml", &suite(json!([judge.evaluator()])));
    Seen::of(cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run(), &judge)
}

fn judge(cx: &TestContext) -> JudgeDump {
    cx.judge_dump("judge", r#"{"score":1}"#)
}

impl Seen {
    #[track_caller]
    fn of(ran: Ran, judge: &JudgeDump) -> Self {
        let record = ran.success().record();
        assert_eq!(record["score"], 1, "{record:#}");
        Self { ran, record, payload: judge.payload() }
    }

    /// The four counts of the summary, which the record and the judge have got alike.
    #[track_caller]
    fn counts(&self) -> Value {
        let expected = counts(&self.record["trace_summary"]);
        assert_eq!(counts(&self.payload["trace_summary"]), expected);
        assert_eq!(counts(&self.payload["candidate_trace_summary"]), expected);
        expected
    }

    /// What the run cost, which the record and the judge have got alike.
    #[track_caller]
    fn metrics(&self) -> &Value {
        let metrics = &self.record["execution_metrics"];
        assert_eq!(self.payload["execution_metrics"], *metrics);
        metrics
    }
}

/// A summary without the metrics.
fn counts(summary: &Value) -> Value {
    let keys = ["event_count", "tool_names", "tool_calls_by_name", "error_count"];
    keys.iter().map(|key| ((*key).to_owned(), summary[key].clone())).collect()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// One message with these calls.
fn calling(calls: &Value) -> Value {
    json!([{ "role": "assistant", "content": "done", "tool_calls": calls }])
}

#[test]
fn s008_s065_a_trace_is_kept_however_it_is_given() {
    let events = json!([{ "type": "tool_call", "name": "A" }, { "type": "error", "text": "no" }]);
    let with_error = json!({ "event_count": 2, "tool_names": ["A"], "tool_calls_by_name": { "A": 1 }, "error_count": 1 });

    let inline = see(&json!({ "text": "t", "trace": events }));
    assert_eq!(inline.payload["candidate_trace"], events);
    assert_eq!(inline.counts(), with_error);

    for key in ["trace_ref", "traceRef"] {
        let cx = context();
        cx.write("traces/one.json", &events.to_string());
        let judge = judge(&cx);
        let answer = json!({ "text": "t", key: "traces/one.json" });
        let referred = Seen::of(cx.grade(answer, json!([judge.evaluator()])), &judge);
        assert_eq!(referred.payload["candidate_trace"], events, "{key}");
        assert_eq!(referred.counts(), with_error);
    }

    let told = see(&json!({ "output_messages": calling(&json!([{ "tool": "A" }])) }));
    assert_eq!(told.payload["candidate_trace"], json!([{ "type": "tool_call", "name": "A" }]));
    assert_eq!(
        told.counts(),
        json!({ "event_count": 1, "tool_names": ["A"], "tool_calls_by_name": { "A": 1 }, "error_count": 0 })
    );
}

#[test]
fn s009_without_a_trace_the_run_goes_on() {
    let seen = see_mock();
    assert_eq!(seen.payload["candidate_trace"], Value::Null);
    assert_eq!(seen.payload["candidate_trace_summary"], Value::Null);
    for key in ["candidate_trace", "candidate_trace_summary"] {
        assert!(keys(&seen.payload).contains(&key), "`{key}` is there, as null");
    }
    assert_eq!(seen.record["candidate_answer"], "only text");
    assert_eq!((&seen.record["score"], seen.record.get("error")), (&json!(1), None));
}

#[test]
fn s036_s092_an_event_needs_only_a_type() {
    let full = json!({ "type": "tool_result", "timestamp": "2025-01-01T00:00:00Z", "id": "e1", "name": "A",
        "input": { "q": 1 }, "output": [1], "text": "t", "metadata": { "camelCase": true } });
    let good = json!([
        { "type": "model_step" }, { "type": "tool_call" }, { "type": "tool_result" },
        { "type": "message" }, { "type": "error" }, full,
    ]);
    let mut given = good.as_array().unwrap().clone();
    given.insert(2, json!({ "type": "bogus", "name": "B" }));
    given.insert(0, json!({ "name": "no type" }));
    let seen = see(&json!({ "text": "t", "trace": given }));
    assert_eq!(seen.payload["candidate_trace"], good);
    assert_eq!(
        (&seen.counts()["event_count"], &seen.counts()["error_count"]),
        (&json!(6), &json!(1))
    );
    seen.ran.stderr_has("bogus");

    let reference = include_str!("../../../../docs/reference/providers.md");
    let reference = reference.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(reference.contains("deprecated: `trace`, a list of events"), "the reference says so");
}

#[test]
fn s037_s093_six_events_make_this_summary() {
    let seen = see(&json!({ "text": "t", "trace": [
        { "type": "tool_call", "name": "searchDocs" },
        { "type": "tool_result" },
        { "type": "tool_call", "name": "searchDocs" },
        { "type": "tool_result" },
        { "type": "tool_call", "name": "verify" },
        { "type": "tool_result" },
    ] }));
    assert_eq!(
        seen.counts(),
        json!({
            "event_count": 6,
            "tool_names": ["searchDocs", "verify"],
            "tool_calls_by_name": { "searchDocs": 2, "verify": 1 },
            "error_count": 0,
        })
    );
    assert_eq!(
        keys(&seen.record["trace_summary"]),
        ["event_count", "tool_names", "tool_calls_by_name", "error_count", "duration_ms"]
    );
}

#[test]
fn s038_s094_two_calls_in_messages_make_this_summary() {
    let calls = json!([{ "tool": "verify" }, { "tool": "searchDocs" }]);
    let seen = see(&json!({ "output_messages": [{ "role": "assistant", "tool_calls": calls }] }));
    assert_eq!(
        seen.counts(),
        json!({
            "event_count": 2,
            "tool_names": ["searchDocs", "verify"],
            "tool_calls_by_name": { "searchDocs": 1, "verify": 1 },
            "error_count": 0,
        })
    );
}

#[test]
fn s048_s104_calls_keep_their_id_and_time() {
    let messages = json!([{
        "role": "assistant",
        "tool_calls": [{
            "tool": "searchDocs",
            "input": { "query": "test" },
            "output": { "results": [] },
            "id": "call_123",
            "timestamp": "2025-01-01T00:00:00Z",
        }],
    }]);
    let seen = see(&json!({ "output_messages": messages }));
    assert_eq!(seen.payload["output_messages"], messages);
    assert_eq!(
        seen.payload["candidate_trace"],
        json!([{ "type": "tool_call", "timestamp": "2025-01-01T00:00:00Z", "id": "call_123", "name": "searchDocs",
            "input": { "query": "test" }, "output": { "results": [] } }])
    );
}

#[test]
fn s049_s105_messages_keep_their_time_and_metadata() {
    let messages = json!([{
        "role": "assistant",
        "content": "response",
        "timestamp": "2025-01-01T00:00:00Z",
        "metadata": { "latency_ms": 150 },
    }]);
    let seen = see(&json!({ "output_messages": messages }));
    assert_eq!(seen.payload["output_messages"], messages);
    assert_eq!(seen.payload["candidate_answer"], "response");
}

#[test]
fn s050_s106_evaluators_see_messages_and_their_calls() {
    let messages = json!([
        { "role": "assistant", "content": "looking", "tool_calls": [{ "tool": "A", "input": { "n": 1 }, "duration_ms": 7 }] },
        { "role": "tool", "name": "A", "content": { "found": [1, 2] } },
        { "role": "assistant", "content": "done", "tool_calls": [{ "tool": "B" }, { "tool": "C", "output": null }] },
    ]);
    let seen = see(&json!({ "output_messages": messages }));
    assert_eq!(seen.payload["output_messages"], messages);
    assert_eq!(seen.payload["output_messages"][2]["tool_calls"][1]["tool"], "C");
    assert_eq!(seen.record["candidate_answer"], "done");
}

#[test]
fn s051_s107_a_trace_alone_leaves_messages_undefined() {
    let trace = json!([{ "type": "tool_call", "name": "A" }]);
    let seen = see(&json!({ "text": "answer", "trace": trace }));
    assert_eq!(seen.payload["candidate_trace"], trace);
    assert_eq!(seen.payload["output_messages"], Value::Null);
    assert_eq!(seen.payload["candidate_answer"], "answer");
}

#[test]
fn s114_calls_in_messages_become_a_trace() {
    let messages = json!([
        { "role": "assistant", "tool_calls": [{ "tool": "A" }, { "tool": "B" }] },
        { "role": "assistant", "content": "done", "tool_calls": [{ "tool": "A" }] },
    ]);
    let seen = see(&json!({ "output_messages": messages }));
    let event = |name: &str| json!({ "type": "tool_call", "name": name });
    assert_eq!(seen.payload["candidate_trace"], json!([event("A"), event("B"), event("A")]));
    assert_eq!(
        seen.counts(),
        json!({ "event_count": 3, "tool_names": ["A", "B"], "tool_calls_by_name": { "A": 2, "B": 1 }, "error_count": 0 })
    );
}

#[test]
fn s115_messages_without_calls_are_an_empty_trace() {
    let seen = see(&json!({ "output_messages": [{ "role": "assistant", "content": "hi" }] }));
    assert_eq!(seen.payload["candidate_trace"], json!([]));
    assert_eq!(
        seen.counts(),
        json!({ "event_count": 0, "tool_names": [], "tool_calls_by_name": {}, "error_count": 0 })
    );
}

#[test]
fn s116_a_call_is_mapped_field_by_field() {
    let messages = json!([
        { "role": "assistant", "timestamp": "2025-01-02T00:00:00Z", "tool_calls": [
            { "tool": "second", "input": { "filePath": "a" }, "output": "o", "id": "c2" },
            { "tool": "own", "timestamp": "2025-01-03T00:00:00Z", "output": [1] },
        ] },
        { "role": "assistant", "content": "done", "tool_calls": [{ "tool": "first", "input": "text" }] },
    ]);
    let seen = see(&json!({ "output_messages": messages }));
    assert_eq!(
        seen.payload["candidate_trace"],
        json!([
            { "type": "tool_call", "timestamp": "2025-01-02T00:00:00Z", "id": "c2", "name": "second",
                "input": { "filePath": "a" }, "output": "o" },
            { "type": "tool_call", "timestamp": "2025-01-03T00:00:00Z", "name": "own", "output": [1] },
            { "type": "tool_call", "name": "first", "input": "text" },
        ])
    );
}

#[test]
fn s117_an_explicit_trace_wins() {
    let trace = json!([{ "type": "tool_call", "name": "fromTrace" }, { "type": "message" }]);
    let answer =
        json!({ "trace": trace, "output_messages": calling(&json!([{ "tool": "fromMessages" }])) });
    let seen = see(&answer);
    assert_eq!(seen.payload["candidate_trace"], trace);
    assert_eq!(
        seen.counts(),
        json!({ "event_count": 2, "tool_names": ["fromTrace"], "tool_calls_by_name": { "fromTrace": 1 }, "error_count": 0 })
    );
    // The messages are still there, and `tool_trajectory` prefers them.
    assert_eq!(seen.payload["output_messages"], answer["output_messages"]);
    let path = "- {type: tool_trajectory, mode: any_order, minimums: {fromMessages: 1}}";
    assert_eq!(context().grade(&answer, path).success().record()["score"], 1);
}

#[test]
fn s118_order_is_that_of_the_list_not_of_the_times() {
    let event =
        |name: &str, day: &str| json!({ "type": "tool_call", "name": name, "timestamp": day });
    let trace = json!([
        event("A", "2025-01-03T00:00:00Z"),
        { "type": "tool_call", "name": "B" },
        event("C", "2025-01-01T00:00:00Z"),
    ]);
    let answer = json!({ "text": "t", "trace": trace });
    assert_eq!(see(&answer).payload["candidate_trace"], trace);
    let path =
        "- {type: tool_trajectory, mode: in_order, expected: [{tool: A}, {tool: B}, {tool: C}]}";
    assert_eq!(context().grade(&answer, path).success().record()["score"], 1);
}

#[test]
fn s119_token_usage_reaches_record_and_judge() {
    let seen =
        see(&json!({ "text": "t", "token_usage": { "input": 100, "output": 20, "cached": 50 } }));
    let usage = json!({ "input": 100, "output": 20, "cached": 50 });
    assert_eq!(seen.metrics()["token_usage"], usage);
    assert_eq!(seen.record["trace_summary"]["token_usage"], usage);
}

#[test]
fn s120_the_cost_is_in_the_result() {
    let seen = see(&json!({ "text": "t", "cost_usd": 0.0125 }));
    assert_eq!(seen.metrics()["cost_usd"], 0.0125);
    assert_eq!(seen.record["trace_summary"]["cost_usd"], 0.0125);
}

#[test]
fn s121_the_duration_is_always_there_and_tools_have_theirs() {
    let measured = see(&json!("text"));
    assert!(measured.metrics()["duration_ms"].as_f64().is_some_and(|ms| ms >= 0.0));

    let calls = json!([{ "tool": "Read", "duration_ms": 12 }, { "tool": "Edit" }, { "tool": "Read", "duration_ms": 30 }]);
    let reported = see(&json!({ "output_messages": calling(&calls), "duration_ms": 300 }));
    assert_eq!(reported.metrics()["duration_ms"], 300);
    assert_eq!(reported.metrics()["tool_durations"], json!({ "Read": [12, 30] }));
    assert_eq!(reported.metrics()["avg_tool_duration_ms"], 21);
    assert_eq!(reported.record["trace_summary"]["tool_durations"], json!({ "Read": [12, 30] }));
}

#[test]
fn s122_without_metrics_nothing_is_made_up() {
    let seen = see_mock();
    assert_eq!(keys(seen.metrics()), ["duration_ms"]);
    assert_eq!(seen.record["status"], "pass");
}

/// The record of a case that used these tools, with this list of exploration tools in the suite.
#[track_caller]
fn explored(tools: &str, calls: &[&str]) -> Value {
    let cx = context();
    let calls: Vec<Value> = calls.iter().map(|tool| json!({ "tool": tool })).collect();
    let answer = json!({ "output_messages": calling(&json!(calls)), "token_usage": { "input": 1, "output": 60 } });
    let target = cx.cli_target_answering("default", &answer.to_string());
    cx.write("targets.yaml", &targets(&[target]));
    let suite = suite("- {type: contains, value: done}");
    cx.write("suite.yaml", &format!("execution:\n  {tools}\n{suite}"));
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success().record()
}

#[test]
fn s123_the_exploration_ratio_counts_the_listed_tools() {
    let ratio = |tools: &str, calls: &[&str]| {
        explored(tools, calls)["execution_metrics"]["exploration_ratio"].clone()
    };
    let listed = "exploration_tools: [look, grep]";
    assert_eq!(ratio(listed, &["look", "Read", "look", "edit"]), 0.5);
    assert_eq!(ratio(listed, &["look", "grep"]), 1);
    assert_eq!(ratio(listed, &["edit"]), 0);
    assert_eq!(ratio(listed, &[]), Value::Null);
    assert_eq!(ratio("target: default", &["Read", "grep", "WebFetch", "edit"]), 0.75);
}

#[test]
fn s124_tokens_per_tool_are_output_tokens_by_calls() {
    let metrics =
        |calls: &[&str]| explored("exploration_tools: [look]", calls)["execution_metrics"].clone();
    assert_eq!(metrics(&["a", "b", "a"])["tokens_per_tool"], 20);
    assert!(!keys(&metrics(&[])).contains(&"tokens_per_tool"));
}

#[test]
fn s125_a_judge_can_score_by_metrics() {
    let cx = context();
    cx.write(
        "judge.py",
        "import json, sys\n\
         metrics = json.load(sys.stdin)['execution_metrics']\n\
         print(json.dumps({'score': metrics['token_usage']['output'] / 100, 'details': metrics}))\n",
    );
    let answer = json!({ "text": "t", "token_usage": { "input": 9, "output": 25 }, "cost_usd": 0.5, "duration_ms": 300 });
    let record = cx
        .grade(answer, json!([{ "type": "code_judge", "script": ["python3", "judge.py"] }]))
        .success()
        .record();
    assert_eq!(record["score"], 0.25);
    let metrics =
        json!({ "token_usage": { "input": 9, "output": 25 }, "cost_usd": 0.5, "duration_ms": 300 });
    assert_eq!(record["evaluator_results"][0]["details"], metrics);
}

#[test]
fn s126_the_record_has_known_metrics_and_leaves_out_the_rest() {
    let seen = see(&json!({ "text": "t", "cost_usd": 0.5, "duration_ms": 300 }));
    assert_eq!(*seen.metrics(), json!({ "cost_usd": 0.5, "duration_ms": 300 }));
    let keys = keys(&seen.record);
    let at = |key| keys.iter().position(|one| *one == key).unwrap();
    assert_eq!(at("execution_metrics"), at("trace_summary") + 1);
    assert!(!seen.record.to_string().contains("null"));
}

#[test]
fn s127_token_usage_needs_input_and_output() {
    let usage = |usage: Value| {
        see(&json!({ "text": "t", "token_usage": usage })).metrics()["token_usage"].clone()
    };
    assert_eq!(usage(json!({ "input": 1, "output": 2 })), json!({ "input": 1, "output": 2 }));
    assert_eq!(
        usage(json!({ "input": 0, "output": 0, "cached": 0, "total": 9 })),
        json!({ "input": 0, "output": 0, "cached": 0 })
    );
    assert_eq!(usage(json!({ "input": 1, "cached": 2 })), Value::Null);
    assert_eq!(usage(json!({ "output": 2 })), Value::Null);
}

#[test]
fn s128_tool_durations_are_a_list_for_each_tool() {
    let calls = json!([
        { "tool": "searchDocs", "duration_ms": 5 }, { "tool": "verify", "duration_ms": 0 },
        { "tool": "searchDocs", "duration_ms": 1.5 },
    ]);
    let seen = see(&json!({ "output_messages": calling(&calls) }));
    assert_eq!(seen.metrics()["tool_durations"], json!({ "searchDocs": [5, 1.5], "verify": [0] }));
}

#[test]
fn s129_wrong_numbers_are_told_and_left_out() {
    let calls = json!([{ "tool": "A", "duration_ms": -5 }, { "tool": "A", "duration_ms": 5 }]);
    let seen = see(&json!({
        "output_messages": calling(&calls),
        "cost_usd": -1,
        "token_usage": { "input": "x", "output": 1 },
        "duration_ms": 300,
    }));
    assert_eq!(
        *seen.metrics(),
        json!({ "duration_ms": 300, "tool_durations": { "A": [5] }, "exploration_ratio": 0, "avg_tool_duration_ms": 5 })
    );
    assert_eq!(seen.record["candidate_answer"], "done");
    seen.ran.stderr_has("`cost_usd`").stderr_has("`token_usage`").stderr_has("`duration_ms`");

    let cached = see(
        &json!({ "text": "t", "token_usage": { "input": 1, "output": 2, "cached": -3 }, "cost_usd": "free" }),
    );
    assert_eq!(cached.metrics()["token_usage"], json!({ "input": 1, "output": 2 }));
    cached.ran.stderr_has("`token_usage.cached`").stderr_has("`cost_usd`");
}

#[test]
fn a_trace_file_that_cannot_be_read_is_a_warning() {
    for (file, contents) in [
        ("gone.json", None),
        ("bad.json", Some("[{\"type\":\"bogus\"}]")),
        ("cut.json", Some("[{")),
    ] {
        let cx = context();
        if let Some(contents) = contents {
            cx.write(file, contents);
        }
        let judge = judge(&cx);
        let answer =
            json!({ "trace_ref": file, "output_messages": calling(&json!([{ "tool": "A" }])) });
        let seen = Seen::of(cx.grade(answer, json!([judge.evaluator()])), &judge);
        assert_eq!(seen.counts()["tool_calls_by_name"], json!({ "A": 1 }), "{file}");
        seen.ran.stderr_has(&format!("one: the trace file `{file}` is ignored: "));
    }
}

#[test]
fn an_answer_may_have_its_keys_in_camel_case() {
    let call = json!({ "tool": "readFile", "input": { "filePath": "a" }, "durationMs": 5 });
    let seen = see(&json!({
        "outputMessages": [{ "role": "assistant", "content": "done", "toolCalls": [call] }],
        "tokenUsage": { "input": 10, "output": 2 }, "costUsd": 0.5, "durationMs": 300,
    }));
    assert_eq!(seen.record["candidate_answer"], "done");
    let call = json!({ "tool": "readFile", "input": { "filePath": "a" }, "duration_ms": 5 });
    assert_eq!(
        seen.payload["output_messages"],
        json!([{ "role": "assistant", "content": "done", "tool_calls": [call] }])
    );
    let metrics = seen.metrics();
    assert_eq!(metrics["token_usage"], json!({ "input": 10, "output": 2 }));
    assert_eq!((&metrics["cost_usd"], &metrics["duration_ms"]), (&json!(0.5), &json!(300)));

    // JSON that is not meant for AgentV is the answer itself.
    let answer = json!({ "answer": 42, "toolCall": "none" });
    assert_eq!(see(&answer).record["candidate_answer"], answer.to_string());
}

#[test]
fn a_bad_message_costs_only_itself() {
    let seen = see(&json!({ "output_messages": [
        { "content": "no role" },
        { "role": "assistant", "content": "good", "tool_calls": [{ "input": 1 }, { "tool": "A" }] },
        7,
    ], "cost_usd": 1 }));
    assert_eq!(
        seen.payload["output_messages"],
        json!([{ "role": "assistant", "content": "good", "tool_calls": [{ "tool": "A" }] }])
    );
    assert_eq!(
        (&seen.record["candidate_answer"], &seen.metrics()["cost_usd"]),
        (&json!("good"), &json!(1))
    );
}

#[test]
fn tools_that_differ_in_spelling_stay_apart() {
    let seen = see(&json!({ "output_messages": calling(&json!([
        { "tool": "searchDocs", "duration_ms": 1 }, { "tool": "search_docs", "duration_ms": 2 }, { "tool": "SearchDocs" },
    ])) }));
    assert_eq!(
        seen.counts()["tool_calls_by_name"],
        json!({ "SearchDocs": 1, "searchDocs": 1, "search_docs": 1 })
    );
    assert_eq!(seen.metrics()["tool_durations"], json!({ "searchDocs": [1], "search_docs": [2] }));
}
