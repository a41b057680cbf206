//! A target that would judge its own answers.

use crate::{context, eval};
use agentv_test_support::{FakeLlm, cli_target, mock_target, openai_target, suite, targets};
use serde_json::json;

const JUDGED: &str = "- {name: good, type: llm_judge}";
const LINE: &str = "judges its own answers";

/// A suite without evaluators, which the default judge grades.
const PLAIN: &str = "evalcases:\n  - {id: one, input: q, expected_outcome: x}\n";

#[test]
fn an_agent_may_not() {
    let rubrics =
        "evalcases:\n  - {id: one, input: q, expected_outcome: x, rubrics: [Is polite]}\n";
    let by_model = "- {type: composite, evaluators: [{type: contains, value: ok}], aggregator: {type: llm_judge}}";
    for (provider, text) in [
        ("claude-code", suite(JUDGED)),
        ("claude-code", PLAIN.to_owned()),
        ("claude-code", rubrics.to_owned()),
        ("codex", suite(by_model)),
        ("vscode", suite(JUDGED)),
    ] {
        let cx = context();
        let agent = cx.fake_agent("agent", "exit 1");
        let target = match provider {
            "vscode" => "  - {name: default, provider: vscode}\n".to_owned(),
            _ => agent.target("default", provider, &json!({})),
        };
        cx.write("targets.yaml", &targets(&[target]));
        cx.write("suite.yaml", &text);
        let ran = eval(&cx, &[]);
        ran.code(2).stderr_has("error[targets::judge]").stderr_has(&format!("`{provider}`"));
        ran.stderr_has("set `judge_target`");
        assert_eq!(agent.calls().len(), 0);
    }
}

#[test]
fn an_agent_with_a_judge_or_without_a_need_for_one_may_be_run() {
    let answer = r#"echo '{"type":"result","subtype":"success","result":"ok"}'"#;
    let judge = mock_target("judge", r#"{"score": 1}"#);
    let own = "- {name: good, type: llm_judge, target: judge}";
    let proxy =
        "- {name: asks, type: code_judge, script: \"echo '{\\\"score\\\": 1}'\", target: true}";
    for (text, more) in [
        (suite(JUDGED), json!({ "judge_target": "judge" })),
        (suite(own), json!({})),
        (suite(proxy), json!({})),
        (suite("- {type: contains, value: ok}"), json!({})),
    ] {
        let cx = context();
        let agent = cx.fake_agent("agent", answer);
        let target = agent.target("default", "claude-code", &more);
        cx.write("targets.yaml", &targets(&[target, judge.clone()]));
        cx.write("suite.yaml", &text);
        eval(&cx, &[]).success().stderr_lacks(LINE);
    }
}

#[test]
fn others_may_and_the_run_says_so_once() {
    let verdict = r#"{"score": 1}"#;
    let api = FakeLlm::answering(verdict);
    for target in [
        mock_target("default", verdict),
        openai_target("default", &api.url()),
        cli_target("default", &format!("echo '{verdict}'")),
    ] {
        let cx = context();
        cx.write("targets.yaml", &targets(&[target]));
        cx.write("suite.yaml", &suite(JUDGED));
        cx.write("other.yaml", PLAIN);
        let ran = cx.agentv(["eval", "suite.yaml", "other.yaml", "--out", "out.jsonl"]).run();
        ran.success().stderr_has(&format!("target `default` {LINE}"));
        assert_eq!(ran.stderr.matches(LINE).count(), 1, "{}", ran.stderr);
        cx.write("suite.yaml", &suite("- {type: contains, value: score}"));
        eval(&cx, &[]).success().stderr_lacks(LINE);
    }
}

#[test]
fn in_a_dry_run_no_target_is_asked() {
    let cx = context();
    let agent = cx.fake_agent("agent", "exit 1");
    cx.write("targets.yaml", &targets(&[agent.target("default", "claude-code", &json!({}))]));
    cx.write("suite.yaml", &suite(JUDGED));
    eval(&cx, &["--dry-run"]).success().stderr_lacks(LINE);
}
