//! Judges: scripts and models that grade.

use crate::context;
#[cfg(target_os = "linux")]
use agentv_test_support::is_alive;
use agentv_test_support::{TestContext, mock_target, result_of, suite, targets};
use serde_json::{Value, json};

/// A shell command as a judge.
fn shell(script: &str) -> Value {
    json!([{ "name": "judge", "type": "code_judge", "script": ["sh", "-c", script] }])
}

/// What came of a judge that prints this.
#[track_caller]
fn printed(stdout: &str) -> Value {
    let cx = context();
    let judge = cx.judge_dump("judge", stdout);
    let ran = cx.grade("text", json!([judge.evaluator()]));
    let record = ran.record();
    ran.code(if record["outcome"] == "ungraded" { 3 } else { 0 });
    result_of(&record, "judge").clone()
}

/// A failed grading costs the score and nothing else, and says why in all four places.
#[track_caller]
fn check_failed(result: &Value, kind: &str, why: &str) {
    let message = result["error"]["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty(), "{result:#}");
    assert!(message.contains(why), "`{why}` is not in: {message}");
    assert_eq!(result["error"]["kind"], kind);
    assert_eq!((&result["score"], &result["verdict"]), (&json!(0), &json!("fail")));
    assert_eq!(result["hits"], json!([]));
    assert_eq!(result["misses"], json!([format!("Code evaluator failed: {message}")]));
    assert_eq!(result["reasoning"], message);
    assert_eq!(result["evaluator_provider_request"]["error"], message);
    assert_eq!(result.get("details"), None);
}

/// The result of this judge script, which must fail.
#[track_caller]
fn check_script_failed(script: &str, kind: &str, why: &str) -> Value {
    let record = context().grade("text", shell(script)).code(3).record();
    let result = result_of(&record, "judge");
    check_failed(result, kind, why);
    result.clone()
}

const EVERYTHING: &str = r"
dataset: demo
evalcases:
  - id: one
    expected_outcome: The answer names a file
    input_messages:
      - role: system
        content: Be brief
      - role: user
        content:
          - {type: text, value: Which file?}
          - {type: file, value: notes.md}
          - {type: file, value: rules.instructions.md}
    expected_messages:
      - role: assistant
        content: {fileName: a.md}
        tool_calls: [{tool: readFile, input: {filePath: a.md}}]
    evaluators:
      - name: judge
        type: code_judge
        script: [SCRIPT]
        weight: 2
        maxWords: 5
        nested: {camelCase: [{innerKey: 1}], snake_case: 1.0}
        'Odd Key': null
";

/// An agent's answer with keys of its own in every place that is its own.
fn everything() -> Value {
    json!({
        "output_messages": [{
            "role": "assistant",
            "name": "Agent",
            "content": { "fileName": "a.md" },
            "tool_calls": [{
                "tool": "readFile",
                "input": { "filePath": "a.md", "maxLines": { "perPage": 2 } },
                "output": [{ "lineCount": 1 }],
                "id": "call_1",
                "timestamp": "2025-01-01T00:00:00Z",
                "duration_ms": 12,
            }],
            "timestamp": "2025-01-01T00:00:01Z",
            "duration_ms": 20,
            "metadata": { "latencyMs": 150 },
        }],
        "token_usage": { "input": 10, "output": 5, "cached": 3 },
        "cost_usd": 0.001,
        "duration_ms": 300,
    })
}

/// Runs the case with everything in it. `SCRIPT` in the suite becomes `script`.
#[track_caller]
fn grade_everything(cx: &TestContext, script: &str) -> Value {
    cx.write("notes.md", "some notes\n");
    cx.write("rules.instructions.md", "some rules\n");
    let target = cx.cli_target_answering("default", &everything().to_string());
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("suite.yaml", &EVERYTHING.replace("SCRIPT", script));
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success().record()
}

#[test]
fn s140_the_payload_has_exactly_these_keys() {
    let cx = context();
    let judge = cx.judge_dump("judge", r#"{"score":1}"#);
    let record = grade_everything(&cx, &json!(judge.script).to_string());
    assert_eq!(record["score"], 1);
    let call = &everything()["output_messages"][0]["tool_calls"][0];
    let mut messages = everything()["output_messages"].clone();
    let summary = json!({
        "event_count": 1,
        "tool_names": ["readFile"],
        "tool_calls_by_name": { "readFile": 1 },
        "error_count": 0,
        "token_usage": { "input": 10, "output": 5, "cached": 3 },
        "cost_usd": 0.001,
        "duration_ms": 300,
        "tool_durations": { "readFile": [12] },
    });
    assert_eq!(record["trace_summary"], summary);
    let payload = judge.payload();
    let expected = json!({
        "question": "Be brief Which file?",
        "expected_outcome": "The answer names a file",
        "expected_messages": [{
            "role": "assistant",
            "content": { "fileName": "a.md" },
            "tool_calls": [{ "tool": "readFile", "input": { "filePath": "a.md" } }],
        }],
        "reference_answer": "{\n  \"fileName\": \"a.md\"\n}",
        "candidate_answer": r#"{"fileName":"a.md"}"#,
        "output_messages": messages.take(),
        "guideline_files": [cx.path("rules.instructions.md")],
        "input_files": [cx.path("notes.md")],
        "input_messages": [
            { "role": "system", "content": "Be brief" },
            { "role": "user", "content": [
                { "type": "text", "value": "Which file?" },
                { "type": "file", "value": "notes.md" },
                { "type": "file", "value": "rules.instructions.md" },
            ] },
        ],
        "trace_summary": summary,
        "candidate_trace": [{
            "type": "tool_call",
            "timestamp": call["timestamp"],
            "id": "call_1",
            "name": "readFile",
            "input": call["input"],
            "output": call["output"],
        }],
        "candidate_trace_summary": summary,
        "execution_metrics": {
            "token_usage": { "input": 10, "output": 5, "cached": 3 },
            "cost_usd": 0.001,
            "duration_ms": 300,
            "tool_durations": { "readFile": [12] },
            "exploration_ratio": 0,
            "tokens_per_tool": 5,
            "avg_tool_duration_ms": 12,
        },
        "config": {
            "maxWords": 5,
            "nested": { "camelCase": [{ "innerKey": 1 }], "snake_case": 1 },
            "Odd Key": null,
        },
    });
    for key in expected.as_object().unwrap().keys() {
        assert_eq!(
            payload[key].to_string().replace("1.0", "1"),
            expected[key].to_string(),
            "`{key}`"
        );
    }
    assert_eq!(payload.as_object().unwrap().len(), expected.as_object().unwrap().len());
}

#[test]
fn s140_the_payload_is_two_space_json_and_what_is_not_known_is_null() {
    let cx = context();
    let judge = cx.judge_dump("judge", r#"{"score":1}"#);
    cx.grade("only text", json!([judge.evaluator()])).success();
    let stdin = judge.call().stdin;
    assert!(
        stdin.starts_with(
            "{\n  \"question\": \"Do it\",\n  \"expected_outcome\": \"It is done\",\n"
        ),
        "{stdin}"
    );
    assert!(stdin.trim_end().ends_with("\n}"), "{stdin}");
    let payload = judge.payload();
    for key in ["candidate_trace", "candidate_trace_summary", "config"] {
        assert_eq!(payload.get(key), Some(&Value::Null), "`{key}`");
    }
    for key in ["expected_messages", "guideline_files", "input_files"] {
        assert_eq!(payload[key], json!([]), "`{key}`");
    }
    assert_eq!(payload["reference_answer"], "");
    assert_eq!(payload["input_messages"], json!([{ "role": "user", "content": "Do it" }]));
    assert_eq!(
        payload["output_messages"],
        json!([{ "role": "assistant", "content": "only text" }])
    );
}

/// A judge as it was written for 2.x: every key that it could rely on, and nothing else.
const OLD_PYTHON_JUDGE: &str = r"
import json
import sys

data = json.load(sys.stdin)
checks = {
    'question': data['question'] == 'Be brief Which file?',
    'outcome': 'names a file' in data['expected_outcome'],
    'expected': data['expected_messages'][-1]['tool_calls'][0]['tool'] == 'readFile',
    'reference': json.loads(data['reference_answer']) == json.loads(data['candidate_answer']),
    'messages': [c['tool'] for m in data['output_messages'] for c in m.get('tool_calls', [])] == ['readFile'],
    'call': data['output_messages'][0]['tool_calls'][0]['duration_ms'] == 12,
    'guidelines': open(data['guideline_files'][0]).read() == 'some rules\n',
    'files': [open(path).read() for path in data['input_files']] == ['some notes\n'],
    'input': [m['role'] for m in data['input_messages']] == ['system', 'user'],
    'summary': data['trace_summary']['tool_calls_by_name'] == {'readFile': 1},
    'metrics': data['trace_summary']['token_usage']['input'] == 10,
    'config': data['config']['maxWords'] == 5,
}
print(json.dumps({
    'score': sum(checks.values()) / len(checks),
    'hits': [name for name, ok in checks.items() if ok],
    'misses': [name for name, ok in checks.items() if not ok],
    'reasoning': f'{sum(checks.values())} of {len(checks)}',
}))
";

/// Without a JSON library: one key per line is what a shell can look at.
const OLD_SHELL_JUDGE: &str = r#"
payload=$(cat)
has() {
  printf '%s\n' "$payload" | grep -q -- "^  \"$1\": $2" && return
  printf '{"score": 0, "misses": ["%s"]}\n' "$1"
  exit
}
has question '"Be brief Which file?",'
has expected_outcome '"The answer names a file",'
has expected_messages '\['
has reference_answer '"{\\n'
has candidate_answer '"{\\"fileName\\":\\"a.md\\"}",'
has output_messages '\['
has guideline_files '\['
has input_files '\['
has input_messages '\['
has trace_summary '{'
has config '{'
printf '{"score": 1, "hits": ["all keys"]}\n'
"#;

#[test]
fn s141_judges_of_old_need_no_change() {
    let cx = context();
    cx.write("old.py", OLD_PYTHON_JUDGE);
    let record = grade_everything(&cx, "python3, old.py");
    assert_eq!(record["misses"], json!([]));
    assert_eq!((&record["score"], &record["reasoning"]), (&json!(1), &json!("judge: 12 of 12")));

    let cx = context();
    cx.write("old.sh", OLD_SHELL_JUDGE);
    let record = grade_everything(&cx, "sh, old.sh");
    assert_eq!((&record["misses"], &record["hits"]), (&json!([]), &json!(["all keys"])));
    assert_eq!(record["score"], 1);
}

#[test]
fn s152_details_are_kept_byte_for_byte() {
    let details = r#"{"zeta":1,"camelCase":{"innerKey":[1,2.5,{"Deep Key":null}],"snake_case":true},"alpha":"é\n","":{}}"#;
    let cx = context();
    let judge = cx.judge_dump("judge", &format!(r#"{{"score":0.5,"details":{details}}}"#));
    let record = cx.grade("text", json!([judge.evaluator()])).success().record();
    assert_eq!(
        result_of(&record, "judge")["details"],
        serde_json::from_str::<Value>(details).unwrap()
    );
    let line = cx.read("out.jsonl");
    assert!(line.contains(&format!(r#""details":{details}"#)), "{line}");
}

#[test]
fn s153_without_details_there_is_no_such_key() {
    let result = printed(r#"{"score":1,"hits":["h"],"misses":[],"reasoning":"r"}"#);
    assert_eq!(result.get("details"), None);
    let keys: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "name",
            "type",
            "score",
            "weight",
            "verdict",
            "hits",
            "misses",
            "reasoning",
            "evaluator_provider_request"
        ]
    );
}

#[test]
fn s154_details_that_are_neither_object_nor_array_fail_the_grading() {
    check_failed(&printed(r#"{"score":1,"details":<garbage>}"#), "parse", "not JSON");
    check_failed(&printed(r#"{"score":1,"hits":["h"],"details":"text"}"#), "parse", "`details`");
    check_failed(
        &printed(r#"{"score":1,"details":7}"#),
        "parse",
        "must be a JSON object or array, not a number",
    );
}

#[test]
fn details_may_be_an_array_and_null_means_none() {
    let result = printed(r#"{"score":1,"details":[1,{"aB":null}]}"#);
    assert_eq!((&result["details"], result.get("error")), (&json!([1, {"aB": null}]), None));
    let result = printed(r#"{"score":1,"details":null}"#);
    assert_eq!((result.get("details"), result.get("error")), (None, None));
}

#[test]
fn a_score_out_of_range_is_a_grading_error() {
    for (score, shown) in [("95", "95"), ("1.7", "1.7"), ("-2", "-2"), ("1.00001", "1.00001")] {
        let why = format!("scores are between 0 and 1; got {shown}");
        check_failed(&printed(&format!(r#"{{"score":{score}}}"#)), "score_range", &why);
    }
}

#[test]
fn a_result_is_cleaned() {
    for (score, kept) in
        [("1.0000005", json!(1)), ("-1e-7", json!(0)), ("0.25", json!(0.25)), ("1", json!(1))]
    {
        assert_eq!(printed(&format!(r#"{{"score":{score}}}"#))["score"], kept, "{score}");
    }
    let result = printed(
        "\n  {\"score\": 1, \"verdict\": \"fail\", \"hits\": [\"a\", \"\", \" \", 7, null], \"misses\": \"no list\", \"reasoning\": 5}\n\n",
    );
    assert_eq!((&result["score"], &result["verdict"]), (&json!(1), &json!("pass")));
    assert_eq!((&result["hits"], &result["misses"]), (&json!(["a"]), &json!([])));
    assert_eq!((result.get("reasoning"), result.get("error")), (None, None));
}

#[test]
fn an_exit_code_fails_the_grading_and_shows_stderr() {
    let result = check_script_failed(
        "echo '{\"score\":1}'; echo 'no model' >&2; exit 3",
        "provider",
        "no model",
    );
    assert_eq!(result["error"]["message"], "Code evaluator exited with code 3: no model");
    let result = check_script_failed("exit 1", "provider", "");
    assert_eq!(result["error"]["message"], "Code evaluator exited with code 1");
}

#[test]
fn only_the_end_of_a_long_stderr_is_shown() {
    let result = check_script_failed("seq 100000 >&2; exit 1", "provider", "99999\n100000");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.chars().count() < 2100, "{}", message.len());
}

#[test]
fn stdout_that_is_no_result_fails_the_grading_and_is_named() {
    for (stdout, why) in [
        ("looks good to me", "not JSON"),
        ("", "printed nothing"),
        ("{\"score\": 1} and more", "not JSON"),
        ("{\"score\": NaN}", "not JSON"),
        ("[1]", "not a JSON object"),
        ("0.5", "not a JSON object"),
        ("{\"hits\": []}", "`score`"),
        ("{\"score\": \"0.5\"}", "`score`"),
        ("{\"score\": null}", "`score`"),
    ] {
        check_failed(&printed(stdout), "parse", why);
    }
}

#[test]
fn a_judge_that_takes_too_long_is_ended() {
    let cx = context();
    let mut evaluators = shell("echo started >&2; exec sleep 600");
    evaluators[0]["timeout_seconds"] = json!(0.25);
    let record = cx.grade("text", evaluators).code(3).record();
    let result = result_of(&record, "judge");
    check_failed(result, "timeout", "Process timed out after 250ms");
}

#[test]
fn the_limit_for_agents_holds_for_judges_and_zero_is_none() {
    let run = |script: &str, seconds: &str| {
        let cx = context();
        // It has an answer at once, so only the judge can be too slow.
        cx.write("targets.yaml", &targets(&[mock_target("default", "x")]));
        cx.write("suite.yaml", &suite(shell(script)));
        let ran = cx
            .agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--agent-timeout", seconds])
            .run();
        result_of(&ran.record(), "judge").clone()
    };
    check_failed(&run("exec sleep 600", "0.25"), "timeout", "Process timed out after 250ms");
    assert_eq!(run("echo '{\"score\":1}'", "0")["score"], 1);
}

#[test]
fn a_judge_that_never_stops_talking_is_ended() {
    for stream in ["yes >&2", "yes"] {
        let mut evaluators = shell(stream);
        evaluators[0]["timeout_seconds"] = json!(0.25);
        let record = context().grade("text", evaluators).code(3).record();
        check_failed(result_of(&record, "judge"), "timeout", "Process timed out after 250ms");
    }
}

#[test]
fn a_judge_that_cannot_be_started_says_so() {
    let cx = context();
    let evaluators =
        json!([{ "name": "judge", "type": "code_judge", "script": ["no-such-program", "x"] }]);
    let record = cx.grade("text", evaluators).code(3).record();
    check_failed(
        result_of(&record, "judge"),
        "provider",
        "`no-such-program`: No such file or directory",
    );

    let cx = context();
    cx.write("judge.sh", "#!/bin/sh\n");
    let evaluators = json!([{ "name": "judge", "type": "code_judge", "script": ["./judge.sh"] }]);
    let record = cx.grade("text", evaluators).code(3).record();
    check_failed(result_of(&record, "judge"), "provider", "Permission denied");
}

#[test]
fn a_judge_that_is_killed_has_no_say() {
    check_script_failed("echo '{\"score\":1}'; kill -KILL $$", "provider", "killed by signal 9");
}

#[test]
fn a_judge_need_not_read_what_it_is_given() {
    let long = "x".repeat(1 << 20);
    for script in ["exec 0<&-; echo '{\"score\":1}'", "echo '{\"score\":1}'"] {
        let record = context().grade(&long, shell(script)).success().record();
        assert_eq!(record["score"], 1, "{script}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_judge_leaves_nothing_running() {
    let cx = context();
    let script =
        "sleep 600 & echo $! > left; setsid sleep 600 & echo $! > far; echo '{\"score\":1}'";
    let record = cx.grade("text", shell(script)).success().record();
    assert_eq!(record["score"], 1);
    for file in ["left", "far"] {
        assert!(!is_alive(&cx.read(file)), "{file}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let cx = context();
    let mut evaluators = shell("echo '{\"score\":1}'");
    evaluators[0]["cwd"] = json!("nowhere");
    let ran = cx.grade("text", evaluators);
    ran.code(3).stderr_has("`nowhere`");
    check_failed(result_of(&ran.record(), "judge"), "provider", "nowhere");
}

#[test]
fn any_text_reaches_the_judge_and_the_record_as_it_is() {
    let answer =
        "é\u{0}\u{7f}\u{2028}😀 \"quoted\" \\ \t\r\n{{ question }} </script> $(exit 3)\n\n";
    let cx = context();
    let judge = cx.judge_dump("judge", r#"{"score":1}"#);
    let record = cx.grade(answer, json!([judge.evaluator()])).success().record();
    assert_eq!(judge.payload()["candidate_answer"], answer);
    assert_eq!(record["candidate_answer"], answer);
    assert_eq!(cx.read("out.jsonl").lines().count(), 1);
}

#[test]
fn fifty_megabytes_are_no_result() {
    let script = "head -c 52428800 /dev/zero | tr '\\0' 'x'";
    check_script_failed(script, "parse", "too many");
}

#[test]
fn what_a_judge_says_on_stderr_is_not_its_result() {
    let record = context()
        .grade("text", shell("echo thinking >&2; echo '{\"score\":1}'"))
        .success()
        .record();
    assert_eq!(record["score"], 1);
}

#[test]
fn numbers_in_details_are_printed_as_javascript_does() {
    let cx = context();
    let judge = cx.judge_dump(
        "judge",
        r#"{"score":1.0,"details":{"whole":1.0,"exp":1e3,"big":1e21,"small":1e-7,"third":0.3333333333333333,"minus":-0.5,"zero":-0.0}}"#,
    );
    cx.grade("text", json!([judge.evaluator()])).success();
    let line = cx.read("out.jsonl");
    let expected = r#""details":{"whole":1,"exp":1000,"big":1e+21,"small":1e-7,"third":0.3333333333333333,"minus":-0.5,"zero":0}"#;
    assert!(line.contains(expected), "{line}");
    assert!(line.contains(r#""score":1,"#), "{line}");
}

#[test]
fn keys_that_are_newer_than_the_judge_reach_it_all_the_same() {
    let cx = context();
    let judge = cx.judge_dump("judge", r#"{"score":1}"#);
    let mut entry = judge.evaluator();
    for (key, value) in
        [("timeout_seconds", json!(5)), ("required", json!(true)), ("maxWords", json!(3))]
    {
        entry[key] = value;
    }
    let ran = cx.grade("text", json!([entry]));
    ran.success().stderr_lacks("maxWords");
    assert_eq!(
        judge.payload()["config"],
        json!({ "timeout_seconds": 5, "required": true, "maxWords": 3 })
    );
}

#[test]
fn a_script_is_a_list_of_words_or_a_line_for_the_shell() {
    let cx = context();
    cx.script("judges/say.sh", "#!/bin/sh\nprintf '{\"score\":1,\"reasoning\":\"%s %s\"}' \"$1\" \"$(basename \"$PWD\")\"\n");
    let evaluators = json!([
        { "name": "words", "type": "code_judge", "script": ["./say.sh", "a; exit 1 $HOME"], "cwd": "judges" },
        { "name": "line", "type": "code_judge", "script": "x=b; ./judges/say.sh \"$x\" | sed 's/ .*/\"}/'" },
    ]);
    let record = cx.grade("text", evaluators).success().record();
    assert_eq!(result_of(&record, "words")["reasoning"], "a; exit 1 $HOME judges");
    assert_eq!(result_of(&record, "line")["reasoning"], "b");
    let request = &result_of(&record, "words")["evaluator_provider_request"];
    assert_eq!(request["script"], json!(["./say.sh", "a; exit 1 $HOME"]));
    assert_eq!(request["cwd"], json!(cx.path("judges")));
}

#[test]
fn a_script_that_is_none_is_refused_with_its_place() {
    for wrong in ["''", "[]", "[sh, '']", "[sh, 1]", "{a: b}", "7"] {
        let cx = context();
        let ran = cx.grade("text", format!("- name: judge\n  type: code_judge\n  script: {wrong}"));
        ran.code(2).stderr_has("suite.yaml:8:17").stderr_has("`script` of evaluator `judge`");
        assert!(!cx.path("out.jsonl").exists());
    }
}

#[test]
fn a_judge_has_the_environment_of_the_run() {
    let cx = context();
    let judge = cx.judge_dump("judge", r#"{"score":1}"#);
    cx.write(".env", "FROM_FILE=file\nFROM_BOTH=file\n");
    cx.write("targets.yaml", &targets(&[cx.cli_target_answering("default", "x")]));
    cx.write("suite.yaml", &suite(json!([judge.evaluator()])));
    let run = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]);
    run.env("FROM_SHELL", "shell").env("FROM_BOTH", "shell").run().success();
    let env = judge.call().env;
    let value = |name: &str| env.get(name).map(String::as_str);
    assert_eq!(value("FROM_SHELL"), Some("shell"));
    assert_eq!(value("FROM_FILE"), Some("file"));
    assert_eq!(value("FROM_BOTH"), Some("shell"));
    assert!(!env.keys().any(|name| name.contains("PROXY_TOKEN")), "{env:?}");
}
