//! What files may look like: encodings, aliases, datasets, variables.

use crate::{context, eval, mocked};
use agentv_test_support::{GRADER, Ran, TestContext, cases, cli_target, mock_target, targets};
use serde_json::{Value, json};

#[track_caller]
fn one_good_case(cx: &TestContext) -> Value {
    let ran = eval(cx, &["--strict"]);
    let record = ran.success().record();
    assert_eq!(record["score"], 1, "{record:#}");
    record
}

#[test]
fn line_ends_and_byte_order_marks_of_other_systems_are_read() {
    let cx = mocked(&["a"]);
    let (suite, target) = (cx.read("suite.yaml"), cx.read("targets.yaml"));
    for (mark, newline) in [("\u{feff}", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n")] {
        let foreign = |text: &str| format!("{mark}{}", text.replace('\n', newline));
        cx.write("suite.yaml", &foreign(&suite));
        cx.write("targets.yaml", &foreign(&target));
        one_good_case(&cx);
        let input = "    input: |\r\n      two\r\n      lines\r\n";
        let folded = foreign(&suite).replace(&format!("    input: \"Question a\"{newline}"), input);
        cx.write("suite.yaml", &folded);
        let record = one_good_case(&cx);
        assert_eq!(record["lm_provider_request"]["question"], "two\nlines");
        let line = json!({"id": "a", "input": "q", "expected_outcome": "x", "evaluators": [{"type": "contains", "value": "ok"}]});
        cx.write("data.jsonl", &format!("{mark}{line}{newline}{newline}"));
        cx.agentv(["eval", "data.jsonl", "--strict", "--out", "out.jsonl"]).run().success();
    }
}

#[test]
fn anchors_and_merges_are_followed() {
    let cx = mocked(&[]);
    cx.write(
        "suite.yaml",
        &format!(
            "execution: {{evaluators: [{GRADER}]}}\n\
             evalcases:\n  \
             - &base {{id: base, input: &question What is it?, expected_outcome: x}}\n  \
             - {{<<: *base, id: merged, expected_outcome: y}}\n  \
             - {{id: alias, input: *question, expected_outcome: x}}\n"
        ),
    );
    let ran = eval(&cx, &["--strict"]);
    ran.success();
    for id in ["base", "merged", "alias"] {
        assert_eq!(ran.record_of(id)["lm_provider_request"]["question"], "What is it?");
    }
}

#[test]
fn every_name_of_a_thing_is_known() {
    let lists = ["evalcases", "tests", "eval_cases"];
    for (list, outcome) in lists.iter().zip(["expected_outcome", "criteria", "outcome"]) {
        let cx = mocked(&["a"]);
        let suite = cases(&["a"]).replace("evalcases:", &format!("{list}:"));
        cx.write("suite.yaml", &suite.replace("expected_outcome:", &format!("{outcome}:")));
        cx.write(
            "targets.yaml",
            "targets:\n  - {name: default, provider: CLI, command: 'echo ok'}\n",
        );
        one_good_case(&cx);
    }
}

#[test]
fn settings_may_be_nested_and_flat_ones_win() {
    let cx = mocked(&["a"]);
    cx.write(
        "targets.yaml",
        "targets:\n  - name: default\n    provider: mock\n    response: ok\n    \
         settings: {response: nested, delay_ms: 40}\n",
    );
    let record = one_good_case(&cx);
    assert!(record["execution_metrics"]["duration_ms"].as_f64().unwrap() >= 40.0, "{record}");
}

/// A dataset of two lines, of which the second has an `execution` of its own.
#[track_caller]
fn dataset(second: &Value, sidecar: Option<&str>) -> (TestContext, Ran) {
    let cx = context();
    let entries =
        [mock_target("default", "no"), mock_target("beside", "ok"), mock_target("own", "ok!")];
    cx.write("targets.yaml", &targets(&entries));
    let first = json!({"id": "first", "input": "q", "expected_outcome": "x"});
    let mut other = first.clone();
    other["id"] = "second".into();
    other["execution"] = second.clone();
    cx.write("data.jsonl", &format!("{first}\n\n{other}\n"));
    if let Some(text) = sidecar {
        cx.write("data.yaml", text);
    }
    let ran = cx.agentv(["eval", "data.jsonl", "--out", "out.jsonl"]).run();
    (cx, ran)
}

#[test]
fn a_dataset_takes_name_target_and_evaluators_from_the_file_beside_it() {
    let sidecar = format!(
        "description: for people\ndataset: nightly\nexecution:\n  target: beside\n  evaluators:\n    - {GRADER}\n"
    );
    let (_cx, ran) = dataset(&json!({"target": "own"}), Some(&sidecar));
    ran.success();
    let (first, second) = (ran.record_of("first"), ran.record_of("second"));
    assert_eq!((&first["target"], &second["target"]), (&"beside".into(), &"own".into()));
    for record in [first, second] {
        assert_eq!(record["dataset"], "nightly");
        // A case with an `execution` of its own keeps the evaluators of all.
        assert_eq!(record["evaluator_results"][0]["name"], "says-ok");
        assert_eq!(record["score"], 1);
    }
}

#[test]
fn a_case_of_a_dataset_may_have_its_own_evaluators() {
    let sidecar = format!("execution: {{target: beside, evaluators: [{GRADER}]}}\n");
    let own = json!({"evaluators": [{"name": "own", "type": "equals", "value": "else"}]});
    let (_cx, ran) = dataset(&own, Some(&sidecar));
    ran.success();
    assert_eq!(ran.record_of("first")["evaluator_results"][0]["name"], "says-ok");
    let second = ran.record_of("second");
    assert_eq!(second["evaluator_results"][0]["name"], "own");
    assert_eq!(second["evaluator_results"].as_array().unwrap().len(), 1);
    assert_eq!((&second["score"], &second["dataset"]), (&0.into(), &"data".into()));
}

#[test]
fn what_is_wrong_beside_a_dataset_is_shown_there() {
    let (_, ran) =
        dataset(&json!({}), Some("execution: {evaluators: [{type: contain, value: ok}]}\n"));
    ran.code(2).stderr_has("data.yaml:1:").stderr_has("did you mean `contains`?");
}

#[test]
fn the_nearest_env_file_wins_and_the_process_over_all() {
    let cx = context();
    cx.write(".env", "NEAR=root\nBOTH=root\nROOT=root\n");
    cx.write("evals/deep/.env", "export NEAR='deep'\r\nBOTH=\"deep\"\r\n# NEAR=comment\n");
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok $NEAR $BOTH $ROOT")]));
    cx.write("evals/deep/suite.yaml", &cases(&["a"]));
    let args = ["eval", "evals/deep/suite.yaml", "--out", "out.jsonl"];
    let answer =
        |ran: &Ran| ran.success().record()["candidate_answer"].as_str().unwrap().to_owned();
    assert_eq!(answer(&cx.agentv(args).run()), "ok deep deep root");
    let ran = cx.agentv(args).env("BOTH", "process").run();
    assert_eq!(answer(&ran), "ok deep process root");
}

#[test]
fn each_file_has_the_variables_of_its_own_place() {
    let cx = context();
    cx.write(
        "targets.yaml",
        "targets:\n  - {name: default, provider: cli, command: '${{ ASK }}'}\n",
    );
    for place in ["one", "two"] {
        cx.write(format!("{place}/.env"), &format!("ASK=echo ok {place}\nWHERE={place}\n"));
        cx.write(format!("{place}/suite.yaml"), &cases(&[place]));
    }
    let ran = cx.agentv(["eval", "*/suite.yaml", "--out", "out.jsonl"]).run();
    ran.success();
    for place in ["one", "two"] {
        assert_eq!(ran.record_of(place)["candidate_answer"], format!("ok {place}"));
    }
}

#[test]
fn a_variable_that_is_not_set_matters_only_where_it_is_used() {
    let cx = mocked(&["a"]);
    let entry = "  - name: keyed\n    provider: cli\n    command_template: ' ${{ ASK }} '\n";
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok"), entry.to_owned()]));
    eval(&cx, &["--strict"]).success();
    let refused = eval(&cx, &["--target", "keyed"]);
    refused.code(2).stderr_has("environment variable `ASK`").stderr_has("targets.yaml:7:23");
    refused.stderr_has("set `ASK` in the environment or in a `.env` file");
    let blank = cx.agentv(["eval", "suite.yaml", "--target", "keyed"]).env("ASK", " ").run();
    blank.code(2).stderr_has("environment variable `ASK`");
    let set = cx
        .agentv(["eval", "suite.yaml", "--target", "keyed", "--out", "out.jsonl"])
        .env("ASK", "echo ok")
        .run();
    assert_eq!(set.success().record()["candidate_answer"], "ok");
}

#[test]
fn the_targets_file_is_looked_for_upwards_and_may_be_named() {
    let cx = context();
    let file = |answer: &str| targets(&[mock_target("default", answer)]);
    cx.write(".agentv/targets.yaml", &file("ok root"));
    cx.write("evals/suite.yaml", &cases(&["a"]));
    let answer = |more: &[&str]| {
        let args = ["eval", "evals/suite.yaml", "--out", "out.jsonl"];
        let ran = cx.agentv(args.iter().chain(more)).run();
        ran.success().record()["candidate_answer"].as_str().unwrap().to_owned()
    };
    assert_eq!(answer(&[]), "ok root");
    cx.write("evals/targets.yml", &file("ok beside"));
    assert_eq!(answer(&[]), "ok beside");
    cx.write("other/.agentv/targets.yaml", &file("ok other"));
    assert_eq!(answer(&["--targets", "other"]), "ok other");
    cx.write("my.yaml", &file("ok named"));
    assert_eq!(answer(&["--targets", "my.yaml"]), "ok named");
}
