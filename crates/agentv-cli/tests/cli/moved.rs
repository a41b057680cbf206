//! A file of AgentV 2.x is told once what is otherwise now, and a file of today is not.

use crate::context;
use agentv_test_support::{TestContext, mock_target, targets};

/// Two cases, with all that has changed its meaning.
const CASES: &str = r#"
evalcases:
  - id: one
    expected_outcome: Works
    input: Hello
    execution: { target: other }
    evaluators:
      - { type: code_judge, script: "cat > /dev/null; echo '{\"score\": 1}'" }
      - { type: code_judge, name: again, script: "cat > /dev/null; echo '{\"score\": 1}'" }
  - id: two
    expected_outcome: Works
    input: Hello
    evaluators: [{ type: tool_trajectory, mode: exact, expected: [] }]
  - id: three
    expected_outcome: Works
    input: Hello
    evaluators: [{ type: tool_trajectory, mode: in_order, expected: [{ tool: search }] }]
"#;

fn prepared(schema: &str) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok"), mock_target("other", "ok")]));
    cx.write("suite.yaml", &format!("{schema}{CASES}"));
    cx
}

const CODES: [&str; 4] =
    ["moved::workers", "moved::case-target", "moved::script", "moved::trajectory"];

#[test]
fn a_file_of_2_is_told_each_change_once() {
    let cx = prepared("$schema: agentv-eval-v2\n");
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    ran.success();
    for code in CODES {
        assert_eq!(ran.stderr.matches(&format!("note[{code}]")).count(), 1, "{}", ran.stderr);
    }
    ran.stderr_has("suite.yaml:7:26").stderr_has("docs/guide/moving-from-2.x.md#case-targets");
    // Nothing is wrong: neither a warning, nor too much for `--strict`.
    ran.stderr_lacks("warning").stdout_lacks("in files");
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--strict"]).run().success();
    cx.agentv(["validate", "suite.yaml", "--strict"]).run().success().stdout_lacks("warnings");
}

#[test]
fn several_files_of_2_are_told_once() {
    let cx = prepared("$schema: agentv-eval-v2\n");
    let text = cx.read("suite.yaml");
    cx.write("more.yaml", &text.replace("id: ", "id: more-"));
    let ran = cx.agentv(["eval", "suite.yaml", "more.yaml", "--out", "out.jsonl"]).run();
    for code in CODES {
        assert_eq!(ran.stderr.matches(&format!("note[{code}]")).count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_file_of_today_is_told_nothing() {
    for schema in ["", "$schema: https://example.com/eval.schema.json\n"] {
        let cx = prepared(schema);
        cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"])
            .run()
            .success()
            .stderr_lacks("note[");
    }
}

#[test]
fn whoever_chooses_the_workers_is_not_told_of_them() {
    let cx = prepared("$schema: agentv-eval-v2\n");
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl", "--workers", "1"]).run();
    ran.success().stderr_lacks("moved::workers");
    let text = cx.read("targets.yaml");
    cx.write("targets.yaml", &text.replace("provider:", "workers: 2\n    provider:"));
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run();
    ran.success().stderr_lacks("moved::workers").stderr_has("moved::script");
}

#[test]
fn claude_code_of_2_is_told_of_its_directory_unless_it_has_one() {
    let cx = context();
    let schema = "$schema: agentv-targets-v2.2\n";
    let claude = "targets:\n  - name: default\n    provider: claude-code\n";
    cx.write("targets.yaml", &format!("{schema}{claude}"));
    let ran = cx.agentv(["validate", "targets.yaml"]).run();
    ran.success().stderr_has("note[moved::cwd]").stderr_has("moving-from-2.x.md#claude-code");
    for chosen in ["    cwd: .\n", "    workspace: .\n"] {
        cx.write("targets.yaml", &format!("{schema}{claude}{chosen}"));
        cx.agentv(["validate", "targets.yaml"]).run().success().stderr_lacks("note[");
    }
    cx.write("targets.yaml", claude);
    cx.agentv(["validate", "targets.yaml"]).run().success().stderr_lacks("note[");
}
