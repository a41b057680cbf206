//! `agentv doctor`: each thing that will not work, with what fixes it.

use crate::{context, mocked};
use agentv_test_support::{FakeLlm, Ran, TestContext, cases, cli_target, mock_target, targets};
use serde_json::Value;

const KEY: &str = "sk-planted-and-never-to-be-seen";

#[track_caller]
fn doctor(cx: &TestContext, more: &[&str]) -> Ran {
    let ran = cx.agentv(["doctor"].iter().chain(more)).env("MODEL_KEY", KEY).run();
    ran.stdout_lacks(KEY).stderr_lacks(KEY);
    ran
}

/// A suite in `evals/` on these targets.
fn suite_on(list: &[String]) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(list));
    cx.write("evals/suite.yaml", &cases(&["a", "b"]));
    cx
}

fn model(name: &str, base_url: &str, variable: &str) -> String {
    format!(
        "  - name: {name}\n    provider: openai\n    base_url: {base_url}\n    model: m\n    api_key: ${{{{ {variable} }}}}\n"
    )
}

#[test]
fn a_healthy_project_is_well() {
    let cx = suite_on(&[mock_target("default", "ok")]);
    doctor(&cx, &[])
        .success()
        .stdout_has("✓ evals/suite.yaml: 2 cases")
        .stdout_has("✓ targets.yaml: 1 target")
        .stdout_has("✓ default (mock): ready")
        .stdout_has("✓ git: git version")
        .stdout_has("✓ .agentv/runs: can be written")
        .stdout_has("Everything is ready.");
    // A look leaves nothing behind.
    assert!(!cx.path(".agentv").exists());
}

#[test]
fn nothing_here_yet_leads_to_init() {
    let cx = context();
    doctor(&cx, &[]).code(1).stdout_has("✗ suites: no eval files found\n      fix: agentv init\n");
    doctor(&cx, &["no-such.yaml"]).code(2).stderr_has("No eval files matched");
}

#[test]
fn keys_and_servers_are_looked_at_but_no_key_is_told_or_sent() {
    let llm = FakeLlm::answering("ok");
    let here = format!("{}/v1", llm.url());
    let gone = "http://127.0.0.1:9/v1";
    let cx = suite_on(&[
        model("default", &here, "MODEL_KEY"),
        model("gone", gone, "MODEL_KEY"),
        model("keyless", &here, "NO_SUCH_KEY"),
    ]);
    let ran = doctor(&cx, &[]);
    ran.success()
        .stdout_has("✓ default (openai): MODEL_KEY is set")
        .stdout_has(&format!("✓ default (openai): {} answers", here_host(&here)))
        .stdout_has("! gone (openai): cannot connect to 127.0.0.1:9")
        .stdout_has("! keyless (openai): environment variable `NO_SUCH_KEY`")
        .stdout_has("fix: set `NO_SUCH_KEY` in the environment or in a `.env` file")
        .stdout_has("2 warnings; a run is possible.");
    let asked = llm.asked();
    assert!(asked.iter().all(|one| one.method == "HEAD" && one.header("authorization").is_empty()));
    doctor(&cx, &["--offline"]).success().stdout_lacks("answers").stdout_lacks("cannot connect");

    // What a suite asks for is a problem; what nobody asks for, above, is not.
    cx.write("evals/suite.yaml", &format!("target: keyless\n{}", cases(&["a"])));
    doctor(&cx, &[]).code(1).stdout_has("✗ keyless (openai): environment variable `NO_SUCH_KEY`");
}

fn here_host(url: &str) -> String {
    url.trim_start_matches("http://").trim_end_matches("/v1").to_owned()
}

#[test]
fn agents_tell_their_version_and_missing_ones_what_to_install() {
    let cx = suite_on(&[
        "  - name: default\n    provider: claude-code\n    executable: bin/claude\n".to_owned(),
        "  - name: codex\n    provider: codex\n    executable: no-such-codex\n".to_owned(),
        "  - name: slow\n    provider: opencode\n    executable: bin/mute\n".to_owned(),
    ]);
    cx.script("bin/claude", "#!/bin/sh\n[ \"$*\" = --version ] && echo '2.0.1 (Claude Code)'\n");
    cx.script("bin/mute", "#!/bin/sh\nexit 3\n");
    doctor(&cx, &[])
        .success()
        .stdout_has("✓ default (claude-code): bin/claude 2.0.1 (Claude Code)")
        .stdout_has("! codex: `no-such-codex` was not found in any directory of `PATH`")
        .stdout_has("fix: install `no-such-codex`, or name it with `executable` of the target")
        .stdout_has("✓ slow (opencode): `bin/mute` is installed, but does not report its version");
}

#[test]
fn commands_and_their_health_checks_are_tried() {
    let probe = "    healthcheck:\n      type: command\n      command_template: exit 4\n";
    let cx = suite_on(&[
        cli_target("default", "sh -c true"),
        cli_target("absent", "no-such-command {PROMPT}"),
        cli_target("sick", "sh -c true") + probe,
    ]);
    let ran = doctor(&cx, &[]);
    ran.success()
        .stdout_has("✓ default (cli): `sh` is there")
        .stdout_has("! absent (cli): `no-such-command` was not found in any directory of `PATH`")
        .stdout_has("! sick (cli): CLI healthcheck failed for 'sick'");
    doctor(&cx, &["--offline"]).stdout_lacks("healthcheck");
}

#[test]
fn judges_need_what_runs_them() {
    let cx = mocked(&[]);
    cx.script("own.sh", "#!/bin/sh\n");
    let judge = |name: &str, script: &str| {
        format!("      - {{ name: {name}, type: code_judge, script: {script} }}\n")
    };
    let judges =
        [judge("a", "[python3, j.py]"), judge("b", "[no-such-bun, j.ts]"), judge("c", "./own.sh")]
            .concat();
    cx.write(
        "suite.yaml",
        &format!("evalcases:\n  - id: a\n    criteria: c\n    input: i\n    evaluators:\n{judges}"),
    );
    doctor(&cx, &["suite.yaml"])
        .code(1)
        .stdout_has("✓ python3: Python 3")
        .stdout_has("✗ no-such-bun: `no-such-bun` was not found in any directory of `PATH`")
        .stdout_has("fix: install `no-such-bun`, or change the judge's `script`")
        .stdout_lacks("own.sh");
}

#[test]
fn a_judge_without_its_key_matters_only_where_it_is_asked() {
    let judged = mock_target("default", "ok") + "    judge_target: judge\n";
    let cx = suite_on(&[judged, model("judge", "http://127.0.0.1:9", "NONE")]);
    doctor(&cx, &["--offline"])
        .success()
        .stdout_has("! judge (openai): environment variable `NONE`");

    let graded_by = |evaluator: &str| {
        let case = "evalcases:\n  - { id: a, criteria: c, input: i, evaluators: [";
        cx.write("evals/suite.yaml", &format!("{case}{evaluator}] }}\n"));
        doctor(&cx, &["--offline"])
    };
    let problem = "✗ judge (openai): environment variable `NONE`";
    graded_by("{ name: j, type: llm_judge }").code(1).stdout_has(problem);
    graded_by("{ name: j, type: llm_judge, target: judge }").code(1).stdout_has(problem);
    graded_by("{ name: j, type: code_judge, script: [sh], target: true }")
        .code(1)
        .stdout_has(problem);
    let composite = "{ name: j, type: composite, aggregator: { type: weighted_average }, \
                     evaluators: [{ name: k, type: llm_judge }] }";
    graded_by(composite).code(1).stdout_has(problem);
    graded_by("{ name: j, type: llm_judge, target: nobody }")
        .code(1)
        .stdout_has("✗ nobody: `targets.yaml` has no such target");
}

#[test]
fn broken_files_lead_to_validate() {
    let cx = suite_on(&[mock_target("default", "ok")]);
    cx.write("evals/broken.yaml", "evalcases:\n  - id: a\n    criteria: c\n    input: i\n    evaluators: [{ type: containz }]\n");
    cx.write("evals/elsewhere.yaml", &format!("target: nobody\n{}", cases(&["a"])));
    doctor(&cx, &[])
        .code(1)
        .stdout_has("✗ evals/broken.yaml: 1 error: unknown evaluator type `containz` (line 5)")
        .stdout_has("fix: agentv validate evals/broken.yaml")
        .stdout_has("✗ nobody: `targets.yaml` has no such target")
        .stdout_has("✓ evals/suite.yaml: 2 cases");
}

#[test]
fn a_schema_of_another_version_is_told_with_the_command_that_renews_it() {
    let cx = context();
    cx.agentv(["init", "--yes"]).env("PATH", "/nowhere").run().success();
    doctor(&cx, &[]).success().stdout_lacks("schema");
    cx.write(".agentv/schema/eval.schema.json", "{}\n");
    doctor(&cx, &[])
        .success()
        .stdout_has("! .agentv/schema/eval.schema.json: is of another version of AgentV")
        .stdout_has("fix: agentv schema eval > .agentv/schema/eval.schema.json");
}

#[test]
fn the_report_is_also_for_machines() {
    let cx = suite_on(&[mock_target("default", "ok"), model("m", "http://127.0.0.1:9", "NONE")]);
    let ran = doctor(&cx, &["--format", "json", "--offline"]);
    let report: Value = serde_json::from_str(&ran.success().stdout).unwrap();
    assert_eq!(report["summary"]["problems"], 0);
    assert_eq!(report["summary"]["warnings"], 1);
    let warning =
        report["findings"].as_array().unwrap().iter().find(|one| one["state"] == "warning");
    let warning = warning.unwrap();
    assert_eq!(warning["area"], "targets");
    assert_eq!(warning["subject"], "m (openai)");
    assert_eq!(warning["fix"], "set `NONE` in the environment or in a `.env` file");
}
