//! Evaluators, weights and the score of a case.

use crate::context;
use agentv_test_support::{TestContext, cli_target, mock_target, result_of, suite, targets};
use serde_json::{Value, json};

/// A code judge that always gives this score, with more keys.
fn judge(cx: &TestContext, name: &str, score: f64, keys: &Value) -> Value {
    let judge = cx.judge_dump(name, &json!({ "score": score }).to_string());
    let mut entry = judge.evaluator();
    let more = keys.as_object().unwrap();
    entry
        .as_object_mut()
        .unwrap()
        .extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    entry
}

/// The record of a case with two judges, `a` and `b`, which give these scores and have these keys.
#[track_caller]
fn two_judges(judges: [(f64, Value); 2]) -> Value {
    let cx = context();
    let [(a, a_keys), (b, b_keys)] = judges;
    let evaluators = json!([judge(&cx, "a", a, &a_keys), judge(&cx, "b", b, &b_keys)]);
    cx.grade("text", evaluators).success().record()
}

#[track_caller]
fn check_score(record: &Value, expected: f64) {
    let score = record["score"].as_f64().unwrap();
    assert!((score - expected).abs() < 1e-12, "{score} is not {expected}");
}

#[test]
fn s052_s108_without_weights_the_score_is_the_mean() {
    let record = two_judges([(0.8, json!({})), (0.4, json!({}))]);
    check_score(&record, 0.6);
    assert_eq!(result_of(&record, "a")["score"], 0.8);
    assert_eq!(result_of(&record, "b")["score"], 0.4);
}

#[test]
fn s053_s109_weights_shift_the_mean() {
    let record = two_judges([(0.8, json!({ "weight": 3 })), (0.4, json!({ "weight": 1 }))]);
    check_score(&record, 0.7);
}

#[test]
fn s054_s110_a_weight_of_zero_leaves_an_evaluator_out_of_the_mean() {
    let record = two_judges([(0.8, json!({})), (0.1, json!({ "weight": 0 }))]);
    assert_eq!(record["score"], 0.8);
    assert_eq!(
        (&result_of(&record, "b")["score"], &result_of(&record, "b")["weight"]),
        (&json!(0.1), &json!(0))
    );
}

#[test]
fn s055_s111_with_all_weights_zero_the_score_is_zero() {
    let record = two_judges([(1.0, json!({ "weight": 0 })), (1.0, json!({ "weight": 0 }))]);
    assert_eq!((&record["score"], &record["status"]), (&json!(0), &json!("fail")));
}

#[test]
fn s056_s112_the_weight_is_in_the_results() {
    let record = two_judges([(1.0, json!({ "weight": 2 })), (1.0, json!({}))]);
    assert_eq!(result_of(&record, "a")["weight"], 2);
    assert_eq!(result_of(&record, "b")["weight"], 1);
    let record = two_judges([(1.0, json!({ "weight": 0.5 })), (1.0, json!({}))]);
    assert_eq!(result_of(&record, "a")["weight"], 0.5);
}

#[test]
fn s057_s113_one_and_zero_are_a_half_which_fails() {
    let record = two_judges([(1.0, json!({})), (0.0, json!({}))]);
    assert_eq!((&record["score"], &record["status"]), (&json!(0.5), &json!("fail")));
    let record = two_judges([(1.0, json!({})), (1.0, json!({}))]);
    assert_eq!((&record["score"], &record["status"]), (&json!(1), &json!("pass")));
}

#[test]
fn hits_misses_and_reasons_are_put_together_in_order() {
    let cx = context();
    let first = cx
        .judge_dump("first", r#"{"score":0.5,"hits":["h1"],"misses":["m1"],"reasoning":"so so"}"#);
    let second = cx.judge_dump(
        "second",
        r#"{"score":1,"hits":["h2"," ","h3"],"misses":["",7],"reasoning":"fine"}"#,
    );
    let record =
        cx.grade("text", json!([first.evaluator(), second.evaluator()])).success().record();
    assert_eq!(record["hits"], json!(["h1", "h2", "h3"]));
    assert_eq!(record["misses"], json!(["m1"]));
    assert_eq!(record["reasoning"], "first: so so | second: fine");
    let request = json!({ "script": [second.script] });
    assert_eq!(
        result_of(&record, "second")["evaluator_provider_request"]["script"],
        request["script"]
    );
}

#[test]
fn a_record_has_its_keys_in_this_order() {
    let cx = context();
    let judge =
        cx.judge_dump("judge", r#"{"score":0.7,"hits":["h"],"reasoning":"r","details":{"d":1}}"#);
    let suite = suite(json!([judge.evaluator()]))
        .replace("    input:", "    conversation_id: talk\n    input:");
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo hi")]));
    cx.write("demo.yaml", &suite);
    let record = cx.agentv(["eval", "demo.yaml", "--out", "out.jsonl"]).run().success().record();
    let keys =
        |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&record),
        "timestamp eval_id dataset suite conversation_id score status outcome hits misses candidate_answer target reasoning \
         lm_provider_request evaluator_results trace_summary execution_metrics"
    );
    assert_eq!(
        keys(&record["evaluator_results"][0]),
        "name type score weight verdict hits misses reasoning evaluator_provider_request details"
    );
    assert_eq!((&record["eval_id"], &record["dataset"]), (&json!("one"), &json!("demo")));
    assert_eq!(
        (&record["conversation_id"], &record["target"]),
        (&json!("talk"), &json!("default"))
    );
    assert_eq!(record["candidate_answer"], "hi");
    assert_eq!(record["lm_provider_request"], json!({ "question": "Do it", "guidelines": "" }));
    let time = record["timestamp"].as_str().unwrap();
    assert!(time.len() == "2026-02-01T09:00:00.000Z".len() && time.ends_with('Z'), "{time}");
    let line = cx.read("out.jsonl");
    assert!(line.contains(r#""weight":1,"verdict":"borderline","#), "{line}");
}

#[test]
fn a_verdict_is_a_word_for_the_score() {
    for (score, word) in
        [(1.0, "pass"), (0.8, "pass"), (0.79, "borderline"), (0.6, "borderline"), (0.59, "fail")]
    {
        let cx = context();
        let record =
            cx.grade("text", json!([judge(&cx, "j", score, &json!({}))])).success().record();
        assert_eq!(record["evaluator_results"][0]["verdict"], word, "{score}");
        assert_eq!(record["status"], if score < 1.0 { "fail" } else { "pass" });
    }
}

#[track_caller]
fn check_refused(evaluators: &str, place: &str, text: &str) {
    let cx = context();
    cx.grade("text", evaluators).code(2).stderr_has(place).stderr_has(text);
    assert!(!cx.path("out.jsonl").exists(), "no output file is touched");
}

#[test]
fn a_weight_that_is_none_is_refused_with_its_place() {
    for wrong in ["-1", "-0.5", "heavy", "true", "[1]", "1e999"] {
        let evaluators = format!("- type: contains\n  value: x\n  weight: {wrong}");
        check_refused(&evaluators, "suite.yaml:8:17", "`weight` of evaluator `contains`");
    }
    check_refused("- type: contains\n  value: x\n  weight: .nan", "suite.yaml:8:17", ".nan");
}

#[test]
fn a_bar_that_is_none_is_refused_with_its_place() {
    for wrong in ["1.5", "-1", "maybe"] {
        let evaluators = format!("- type: contains\n  value: x\n  required: {wrong}");
        check_refused(&evaluators, "suite.yaml:8:19", "`required` of evaluator `contains`");
    }
}

/// The status and the unmet evaluators, of a case whose only weight is on a judge that is content.
#[track_caller]
fn gated(head: &str, score: f64, required: &Value) -> (Value, Value) {
    let cx = context();
    let gate = judge(&cx, "gate", score, &json!({ "required": required, "weight": 0 }));
    let evaluators = json!([judge(&cx, "free", 1.0, &json!({})), gate]);
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo hi")]));
    cx.write("suite.yaml", &format!("{head}{}", suite(evaluators)));
    let record = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success().record();
    assert_eq!(record["score"], 1);
    (record["status"].clone(), record["failed_required"].clone())
}

#[test]
fn a_required_evaluator_must_reach_the_pass_score() {
    let unmet = (json!("fail"), json!(["gate"]));
    let met = (json!("pass"), Value::Null);
    assert_eq!(gated("", 0.99, &json!(true)), unmet);
    assert_eq!(gated("", 1.0, &json!(true)), met);
    assert_eq!(gated("", 0.0, &json!(false)), met);
    let head = "execution:\n  pass_score: 0.7\n";
    assert_eq!(gated(head, 0.7, &json!(true)), met);
    assert_eq!(gated(head, 0.69, &json!(true)), unmet);
}

#[test]
fn a_required_evaluator_may_have_a_bar_of_its_own() {
    assert_eq!(gated("", 0.5, &json!(0.5)), (json!("pass"), Value::Null));
    assert_eq!(gated("", 0.49, &json!(0.5)), (json!("fail"), json!(["gate"])));
}

#[test]
fn a_required_evaluator_that_breaks_is_not_met() {
    let cx = context();
    let evaluators = json!([
        { "name": "gate", "type": "code_judge", "script": ["false"], "required": 0, "weight": 0 },
        { "name": "text", "type": "contains", "value": "hi", "required": true },
        { "name": "other", "type": "contains", "value": "ho", "required": true },
    ]);
    let record = cx.grade("hi", evaluators).code(3).record();
    assert_eq!(record["failed_required"], json!(["gate", "other"]));
    assert_eq!((&record["score"], &record["status"]), (&json!(0.5), &json!("fail")));
    let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
    assert_eq!(keys.last().unwrap().as_str(), "failed_required");
}

#[test]
fn the_pass_score_sets_the_bar_for_the_status() {
    let status = |pass_score: &str, score: f64| {
        let cx = context();
        let evaluators = json!([judge(&cx, "j", score, &json!({}))]);
        cx.write("targets.yaml", &targets(&[cli_target("default", "echo hi")]));
        cx.write(
            "suite.yaml",
            &format!("execution:\n  pass_score: {pass_score}\n{}", suite(evaluators)),
        );
        let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
        (ran.code, (ran.code == 0).then(|| ran.record()["status"].clone()))
    };
    assert_eq!(status("0.8", 0.8), (0, Some(json!("pass"))));
    assert_eq!(status("0.8", 0.79), (0, Some(json!("fail"))));
    assert_eq!(status("0", 0.0), (0, Some(json!("pass"))));
    assert_eq!(status("1.1", 1.0), (2, None));
    assert_eq!(status("high", 1.0), (2, None));
}

#[test]
fn an_evaluator_that_fails_does_not_stop_the_others() {
    let cx = context();
    let after = cx.judge_dump("after", r#"{"score":1}"#);
    let evaluators = json!([
        { "name": "before", "type": "contains", "value": "hi" },
        { "name": "broken", "type": "code_judge", "script": ["sh", "-c", "echo oops >&2; exit 3"], "weight": 2 },
        after.evaluator(),
    ]);
    let ran = cx.grade("hi", evaluators);
    let record = ran.code(3).record();
    assert_eq!(record["score"], 0.5);
    assert_eq!(record.get("error"), None);
    assert_eq!(after.calls().len(), 1);
    let broken = result_of(&record, "broken");
    assert_eq!(
        (&broken["score"], &broken["weight"], &broken["verdict"]),
        (&json!(0), &json!(2), &json!("fail"))
    );
    assert_eq!(broken["error"]["kind"], "provider");
    ran.stdout_has("1 grading error");
}

/// One evaluator on an answer that tells what it cost: its score and all that it said.
#[track_caller]
fn check_limit(answer: &Value, keys: &str, score: i64, said: &[&str], reasoning: Option<&str>) {
    let record = context().grade(answer, format!("- {{{keys}}}")).success().record();
    let result = &record["evaluator_results"][0];
    assert_eq!(result["score"], score, "{result:#}");
    let told = if score == 1 { "hits" } else { "misses" };
    assert_eq!(result[told], json!(said));
    assert_eq!(result["reasoning"].as_str(), reasoning);
    assert_eq!(result["verdict"], if score == 1 { "pass" } else { "fail" });
    assert_eq!(result.get("evaluator_provider_request"), None);
}

#[test]
fn a_latency_has_a_threshold() {
    let answer = json!({ "text": "t", "duration_ms": 1500 });
    let reasoning = Some("Execution took 1500ms (threshold: 1500ms)");
    check_limit(
        &answer,
        "type: latency, threshold: 1500",
        1,
        &["Duration 1500ms <= 1500ms threshold"],
        reasoning,
    );
    let reasoning = Some("Execution took 1500ms (threshold: 1499.5ms)");
    check_limit(
        &answer,
        "type: latency, threshold: 1499.5",
        0,
        &["Duration 1500ms > 1499.5ms threshold"],
        reasoning,
    );
}

#[test]
fn a_cost_has_a_budget() {
    let answer = json!({ "text": "t", "cost_usd": 0.0312 });
    check_limit(&answer, "type: cost, budget: 0.05", 1, &["Cost $0.0312 <= $0.0500 budget"], None);
    check_limit(&answer, "type: cost, budget: 0.03", 0, &["Cost $0.0312 > $0.0300 budget"], None);
    check_limit(
        &json!("text"),
        "type: cost, budget: 1",
        0,
        &["No cost data available in trace"],
        None,
    );
}

#[test]
fn token_usage_has_three_limits() {
    let answer = json!({ "text": "t", "token_usage": { "input": 100, "output": 20 } });
    let reasoning = Some("token_usage input=100, output=20, cached=0, total=120");
    check_limit(
        &answer,
        "type: token_usage, max_total: 120, maxInput: 100, max_output: 20",
        1,
        &["Input tokens 100 <= 100", "Output tokens 20 <= 20", "Total tokens 120 <= 120"],
        reasoning,
    );
    check_limit(
        &answer,
        "type: token_usage, max_total: 119, max_input: 100",
        0,
        &["Total tokens 120 > 119"],
        reasoning,
    );
    let miss = ["No token usage data available in trace"];
    check_limit(&json!("text"), "type: token_usage, max_total: 1", 0, &miss, None);
    check_refused("- {type: token_usage}", "suite.yaml:6:", "`max_total`");
    check_refused("- {type: latency, threshold: -1}", "suite.yaml:6:", "`threshold`");
}

#[test]
fn fields_of_an_invoice_are_compared() {
    let cx = context();
    let answer = r#"Here you are: {"number":"A-1","total":"100.5 EUR","date":"03/02/2026","lines":[{"price":60}]}"#;
    cx.write("targets.yaml", &targets(&[cx.cli_target_answering("default", answer)]));
    cx.write(
        "suite.yaml",
        "
evalcases:
  - id: one
    expected_outcome: The invoice is read
    input: Read it
    expected_output:
      number: A-2
      total: 100
      date: 2026-02-03
      lines: [{price: 60}]
    evaluators:
      - type: field_accuracy
        fields:
          - {path: number, match: exact}
          - {path: total, match: numeric_tolerance, tolerance: 0.01, relative: true, weight: 3}
          - {path: date, match: date, formats: [YYYY-MM-DD, DD/MM/YYYY]}
          - {path: 'lines[0].price', match: exact, weight: 5}
          - {path: lines, match: exact, required: false, weight: 0}
",
    );
    let record = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success().record();
    assert_eq!(record["score"], 0.9);
    assert_eq!(
        record["hits"],
        json!(["total (within tolerance: diff=0.01)", "date", "lines[0].price", "lines"])
    );
    assert_eq!(record["misses"], json!(["number (value mismatch)"]));
    assert_eq!(record["reasoning"], "field_accuracy: 4/5 fields matched");
}

#[test]
fn fields_that_are_missing_or_wrong_are_told() {
    let fields = |answer: &str, aggregation: &str| {
        let cx = context();
        cx.write("targets.yaml", &targets(&[cx.cli_target_answering("default", answer)]));
        cx.write(
            "suite.yaml",
            &format!(
                "
evalcases:
  - id: one
    expected_outcome: The order is read
    input: Read it
    expected_output: '{{\"a\": 1, \"b\": 2, \"c\": \"x\", \"d\": \"2026-01-31\"}}'
    evaluators:
      - type: field_accuracy
        aggregation: {aggregation}
        fields:
          - {{path: a, match: exact}}
          - {{path: b, match: exact, required: false}}
          - {{path: c, match: numeric_tolerance}}
          - {{path: d, match: date}}
          - {{path: e, match: exact}}
"
            ),
        );
        cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run().success().record()
    };
    let record = fields(r#"{"c":"y","d":"2026-02-01","e":9}"#, "weighted_average");
    assert_eq!(record["score"], 0.25);
    assert_eq!(record["hits"], json!(["b: optional field missing", "e: no expected value"]));
    assert_eq!(
        record["misses"],
        json!([
            "a (required, missing)",
            "c (non-numeric value)",
            "d (date mismatch: got 2026-02-01, expected 2026-01-31)",
        ])
    );
    assert_eq!(fields(r#"{"a":1,"b":"2","c":1,"d":"2026-01-31"}"#, "all_or_nothing")["score"], 0);
    assert_eq!(
        fields("sorry", "all_or_nothing")["misses"],
        json!(["Failed to parse candidate answer as JSON"])
    );
    let cx = context();
    let missing = cx.grade("{}", "- {type: field_accuracy, fields: [{path: a, match: exact}]}");
    assert_eq!(
        missing.success().record()["misses"],
        json!(["No expected data found in expected_messages"])
    );
}

#[track_caller]
fn check_text(answer: &str, keys: &str, score: i64, said: &str) {
    let record = context().grade(answer, format!("- {{{keys}}}")).success().record();
    assert_eq!(record["score"], score, "{record:#}");
    let (told, other) = if score == 1 { ("hits", "misses") } else { ("misses", "hits") };
    assert_eq!((&record[told], &record[other]), (&json!([said]), &json!([])));
}

#[test]
fn an_answer_contains_a_text() {
    check_text("all good", "type: contains, value: good", 1, r#"Contains "good""#);
    check_text("all good", "type: contains, value: Good", 0, r#"Does not contain "Good""#);
    check_text(
        "all good",
        "type: contains, value: GOOD, ignore_case: true",
        1,
        r#"Contains "GOOD""#,
    );
    check_text(
        "sorry",
        "type: contains, value: sorry, negate: true",
        0,
        r#"Contains "sorry", which it must not"#,
    );
    check_refused("- {type: contains, value: 7}", "suite.yaml:6:", "`value`");
}

#[test]
fn an_answer_equals_a_text() {
    check_text(" 42\n", "type: equals, value: '42'", 1, r#"Equals "42""#);
    check_text("43", "type: equals, value: '42'", 0, r#"Expected "42", got "43""#);
    check_text(" 42", "type: equals, value: '42', trim: false", 0, r#"Expected "42", got " 42""#);
}

#[test]
fn an_answer_matches_a_pattern() {
    check_text("on 42nd", r"type: regex, pattern: '\d+'", 1, r"Matches /\d+/");
    check_text("on 42nd", r"type: regex, pattern: '^\d+$'", 0, r"Does not match /^\d+$/");
    check_refused("- {type: regex, pattern: 'a(b'}", "suite.yaml:6:", "unclosed group");
}

#[test]
fn an_answer_is_json_of_a_shape() {
    check_text("[1, 2]", "type: is_json", 1, "The answer is JSON");
    let around = "Not JSON as a whole: there is other text around the JSON";
    check_text(r#"It is {"a": 1}."#, "type: is_json", 0, around);
    let schema =
        "type: is_json, schema: {type: object, required: [n], properties: {n: {type: integer}}}";
    check_text(r#"{"answer":1,"n":3}"#, schema, 1, "The answer is JSON and fulfils the schema");
    check_text(r#"{"n":"3"}"#, schema, 0, r#"/n: "3" is not of type "integer""#);
    let cx = context();
    cx.write("schema.json", r#"{"maxItems":1}"#);
    let record = cx.grade("[1,2]", "- {type: is_json, schema: schema.json}").success().record();
    assert_eq!(record["score"], 0);
}

/// The names of the evaluators that graded each case of a suite with evaluators of its own.
#[track_caller]
fn inherited(file: &str, text: &str) -> Vec<(String, Vec<String>)> {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "x"), mock_target("other", "x")]));
    cx.write("suite.yaml", SUITE_LIST);
    let text = if file.ends_with("yaml") { format!("{SUITE_LIST}{text}") } else { text.to_owned() };
    cx.write(file, text.trim_start());
    let ran = cx.agentv(["eval", file, "--out", "out.jsonl"]).run();
    let mut graded: Vec<_> = ran.success().records().iter().map(graders).collect();
    graded.sort();
    graded
}

const SUITE_LIST: &str = "execution: {evaluators: [{name: suite, type: contains, value: x}]}\n";

fn graders(record: &Value) -> (String, Vec<String>) {
    let names = record["evaluator_results"].as_array().unwrap().iter();
    let names = names.map(|result| result["name"].as_str().unwrap().to_owned()).collect();
    (record["eval_id"].as_str().unwrap().to_owned(), names)
}

#[track_caller]
fn check_graders(graded: &[(String, Vec<String>)], expected: &[(&str, &[&str])]) {
    let graded: Vec<(&str, Vec<&str>)> = graded
        .iter()
        .map(|(id, names)| (id.as_str(), names.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<(&str, Vec<&str>)> =
        expected.iter().map(|(id, names)| (*id, names.to_vec())).collect();
    assert_eq!(graded, expected);
}

const EXPECTED_GRADERS: &[(&str, &[&str])] = &[
    ("a", &["suite"]),
    ("b", &["suite"]),
    ("c", &["case"]),
    ("d", &["first", "second"]),
    ("e", &["case"]),
];

#[test]
fn a_case_without_evaluators_inherits_those_of_the_suite() {
    let cases = "
evalcases:
  - {id: a, expected_outcome: o, input: i}
  - {id: b, expected_outcome: o, input: i, execution: {target: other}}
  - {id: c, expected_outcome: o, input: i, evaluators: [{name: case, type: contains, value: x}]}
  - id: d
    expected_outcome: o
    input: i
    execution: {evaluators: [{name: first, type: contains, value: x}, {name: second, type: contains, value: y}]}
    evaluators: [{name: hidden, type: contains, value: x}]
  - id: e
    expected_outcome: o
    input: i
    execution: {target: other}
    evaluators: [{name: case, type: contains, value: x}]
";
    check_graders(&inherited("suite.yaml", cases), EXPECTED_GRADERS);
}

#[test]
fn a_line_of_a_dataset_inherits_like_a_case() {
    let lines = r#"
{"id":"a","expected_outcome":"o","input":"i"}
{"id":"b","expected_outcome":"o","input":"i","execution":{"target":"other"}}
{"id":"c","expected_outcome":"o","input":"i","evaluators":[{"name":"case","type":"contains","value":"x"}]}
{"id":"d","expected_outcome":"o","input":"i","execution":{"evaluators":[{"name":"first","type":"contains","value":"x"},{"name":"second","type":"contains","value":"y"}]},"evaluators":[{"name":"hidden","type":"contains","value":"x"}]}
{"id":"e","expected_outcome":"o","input":"i","execution":{"target":"other"},"evaluators":[{"name":"case","type":"contains","value":"x"}]}
"#;
    check_graders(&inherited("suite.jsonl", lines), EXPECTED_GRADERS);
}
