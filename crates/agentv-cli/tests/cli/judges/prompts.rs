//! Prompts that users bring: a file, a text, or a script that prints one.

use super::{grade, judged, prompt, result};
use crate::eval;
use agentv_test_support::{FakeLlm, result_of, suite, targets};
use serde_json::{Value, json};

const GOOD: &str = r#"{"score": 1}"#;

/// What the judge is told if this is the prompt and the candidate says `42`.
#[track_caller]
fn told(prompt: &Value) -> String {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("42", &api);
    cx.write("prompts/file.md", "From a file: {{ candidate_answer }}\r\n");
    result(&cx, &json!({ "type": "llm_judge", "prompt": prompt }));
    self::prompt(&api)
}

#[test]
fn a_prompt_is_a_file_or_the_text_itself() {
    assert_eq!(told(&json!("prompts/file.md")), "From a file: 42");
    assert_eq!(told(&json!("Is {{candidate_answer}} so?\nSay it.")), "Is 42 so?\nSay it.");
    // Nobody knows these names, so they stay.
    assert_eq!(told(&json!("{{ candidate_answer }} {{ nobody }} {{")), "42 {{ nobody }} {{");
}

#[test]
fn a_path_that_leads_nowhere_is_told() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("x", &api);
    let ran = grade(&cx, &json!([{ "type": "llm_judge", "prompt": "prompts/missing.md" }]));
    ran.success().stderr_has("warning[").stderr_has("`prompts/missing.md` itself is the prompt");
}

#[test]
fn a_prompt_file_that_does_not_show_the_answer_is_refused() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("x", &api);
    cx.write("blind.md", "Is it good? {{ question }} candidate_answer");
    cx.write("suite.yaml", &suite("- name: blind\n  type: llm_judge\n  prompt: blind.md"));
    let ran = eval(&cx, &[]);
    ran.code(2).stderr_has("suite.yaml:8:17").stderr_has("does not show the answer");
    ran.stderr_has("`{{ candidate_answer }}`");
    assert_eq!(api.asked().len(), 0);
    cx.write("blind.md", "As good as {{expected_messages}}?");
    eval(&cx, &[]).success();
}

/// A case with all that a prompt may ask for.
const EVERYTHING: &str = "
evalcases:
  - id: one
    expected_outcome: ' Names it '
    input_messages:
      - {role: user, content: Which?}
      - {role: assistant, content: Which what?}
      - {role: user, content: Which file?}
    expected_messages:
      - {role: assistant, content: a.md}
    evaluators:
      - name: judge
        type: llm_judge
        prompt: all.md
";

/// An agent that used a tool.
fn agents_output() -> Value {
    json!({
        "output_messages": [
            { "role": "assistant", "content": " b.md ", "tool_calls": [{ "tool": "readFile", "input": { "filePath": 1.0 } }] },
        ],
        "duration_ms": 5,
    })
}

#[test]
fn a_template_can_show_everything() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("x", &api);
    let names = [
        "candidate_answer",
        "reference_answer",
        "expected_outcome",
        "question",
        "input_messages",
        "expected_messages",
        "output_messages",
        "trace_summary",
    ];
    let lines: Vec<String> =
        names.iter().map(|name| format!("{name}={{{{ {name} }}}};;")).collect();
    cx.write("all.md", &lines.concat());
    cx.write("suite.yaml", EVERYTHING);
    let agent = cx.cli_target_answering("agent", &agents_output().to_string());
    let usual = cx.read("targets.yaml");
    cx.write("targets.yaml", &(usual + &agent + "    judge_target: judge\n"));
    let record = eval(&cx, &["--target", "agent"]).success().record();
    assert_eq!(record["score"], 1);
    let prompt = prompt(&api);
    let value = |name: &str| {
        let (_, rest) = prompt.split_once(&format!("{name}=")).unwrap();
        rest.split_once(";;").unwrap().0.to_owned()
    };
    let parsed = |name: &str| serde_json::from_str::<Value>(&value(name)).unwrap();
    assert_eq!(value("candidate_answer"), "b.md");
    assert_eq!(value("reference_answer"), "a.md");
    assert_eq!(value("expected_outcome"), "Names it");
    // The question exactly as the candidate was asked.
    let question = "@[User]:\nWhich?\n\n@[Assistant]:\nWhich what?\n\n@[User]:\nWhich file?";
    assert_eq!(value("question"), question);
    let roles = json!(["user", "assistant", "user"]);
    let input = parsed("input_messages");
    assert_eq!(json!([input[0]["role"], input[1]["role"], input[2]["role"]]), roles);
    assert_eq!(input[2]["content"], "Which file?");
    assert_eq!(parsed("expected_messages"), json!([{ "role": "assistant", "content": "a.md" }]));
    assert!(value("expected_messages").starts_with("[\n  {\n    \""), "two spaces");
    let output = value("output_messages");
    assert!(output.contains("\"filePath\": 1\n"), "{output}");
    assert_eq!(parsed("output_messages")[0]["content"], " b.md ");
    assert_eq!(parsed("trace_summary")["tool_names"], json!(["readFile"]));
}

#[test]
fn what_the_candidate_says_is_never_a_template() {
    let api = FakeLlm::answering(GOOD);
    let answer = "{{ expected_outcome }} {{question}} {{ candidate_answer }}";
    let cx = judged(answer, &api);
    let template = "{{ candidate_answer }}|{{ expected_outcome }}";
    for evaluator in
        [json!({ "type": "llm_judge", "prompt": template }), json!({ "type": "llm_judge" })]
    {
        result(&cx, &evaluator);
    }
    let prompts = super::prompts(&api);
    assert_eq!(prompts[0], format!("{answer}|It is done"));
    assert!(prompts[1].ends_with(answer), "{}", prompts[1]);
}

/// Prints a template that tells what it was given.
const SCRIPT: &str = r#"
import json, os, sys

given = json.load(sys.stdin)
print(f"{os.path.basename(os.getcwd())} {given['expected_outcome']} {json.dumps(given['config'], sort_keys=True)}")
print("{{ candidate_answer }}\n\n")
"#;

#[test]
fn a_prompt_may_come_from_a_script_with_its_config() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("42", &api);
    cx.write("prompts/make.py", SCRIPT);
    let script = json!({ "script": ["python3", "prompts/make.py"] });
    let evaluator =
        json!({ "type": "llm_judge", "prompt": script, "config": { "a": 1 }, "tone": "b" });
    let result = result(&cx, &evaluator);
    assert_eq!(prompt(&api), "prompts It is done {\"a\": 1, \"tone\": \"b\"}\n42");
    assert_eq!(result["evaluator_provider_request"]["user_prompt"], prompt(&api));
}

#[test]
fn the_config_of_the_script_itself_wins() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("42", &api);
    cx.write("make.py", SCRIPT);
    let prompt =
        json!({ "script": ["python3", "make.py"], "config": { "camelCase": { "x_y": 2 } } });
    result(&cx, &json!({ "type": "llm_judge", "prompt": prompt, "config": { "a": 1 } }));
    let told = super::prompt(&api);
    assert!(told.contains("It is done {\"camelCase\": {\"x_y\": 2}}\n"), "{told}");
}

/// A prompt script that fails is a failed grading, and no judge is asked.
#[track_caller]
fn check_script_fails(script: &str, why: &str) {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("x", &api);
    cx.write("make.sh", script);
    let prompt = json!({ "script": ["sh", "make.sh"] });
    let record = grade(&cx, &json!([{ "name": "judge", "type": "llm_judge", "prompt": prompt }]));
    let record = record.code(3).record();
    let result = result_of(&record, "judge");
    assert_eq!((&result["score"], &result["error"]["kind"]), (&json!(0), &json!("provider")));
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("Prompt template execution failed: "), "{message}");
    assert!(message.contains(why), "{message}");
    assert_eq!(result["misses"], json!([format!("Evaluator 'judge' failed: {message}")]));
    assert_eq!(api.asked().len(), 0);
}

#[test]
fn a_script_that_fails_is_a_failed_grading() {
    check_script_fails("echo '{{ candidate_answer }}'; echo oops >&2; exit 3", "oops");
    check_script_fails("echo '  '", "printed nothing");
}

#[test]
fn a_script_that_takes_too_long_is_ended() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("x", &api);
    cx.write("make.sh", "sleep 600");
    let prompt = json!({ "script": ["sh", "make.sh"] });
    let evaluators = json!([{ "name": "judge", "type": "llm_judge", "prompt": prompt }]);
    cx.write("suite.yaml", &suite(evaluators));
    let record = eval(&cx, &["--agent-timeout", "0.3"]).code(3).record();
    assert_eq!(result_of(&record, "judge")["error"]["kind"], "timeout");
    assert_eq!(api.asked().len(), 0);
}

#[test]
fn a_prompt_that_cannot_be_is_refused_with_its_place() {
    for (prompt, place, why) in [
        ("7", "suite.yaml:8:17", "must be text or `{script: […]}`"),
        ("{script: [python3, none.py]}", "suite.yaml:8:17", "`none.py`"),
        ("{script: python3 make.py}", "suite.yaml:8:17", "must be a list"),
        ("{file: a.md}", "suite.yaml:8:18", "`prompt` needs `script`"),
    ] {
        let api = FakeLlm::answering(GOOD);
        let cx = judged("x", &api);
        let evaluator = format!("- name: judge\n  type: llm_judge\n  prompt: {prompt}");
        cx.write("suite.yaml", &suite(evaluator));
        eval(&cx, &[]).code(2).stderr_has(place).stderr_has(why);
        assert_eq!(api.asked().len(), 0);
    }
}

#[test]
fn a_judge_that_is_a_command_is_told_the_rules_too() {
    let api = FakeLlm::answering(GOOD);
    let cx = judged("42", &api);
    let judge = agentv_test_support::cli_target(
        "script",
        "printf %s {PROMPT} > told; echo '{\"score\": 1}'",
    );
    let candidate =
        agentv_test_support::mock_target("default", "42") + "    judge_target: script\n";
    cx.write("targets.yaml", &targets(&[candidate, judge]));
    assert_eq!(result(&cx, &json!({ "type": "llm_judge" }))["score"], 1);
    let told = cx.read("told");
    let rules = told.find("single JSON object").unwrap();
    assert!(told.find("[[ ## candidate_answer ## ]]\n42").is_some_and(|at| at > rules), "{told}");
}
