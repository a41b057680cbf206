//! Where a sandbox is asked for, and what is wrong with how.

use super::{confined, failed, judged, message};
use crate::{context, eval, mocked};
use agentv_test_support::{Ran, TestContext, suite};
use serde_json::{Value, json};

const WRITE: &str = "echo x > made; echo '{\"score\": 1}'";

/// The result of a judge without a sandbox of its own, with more flags.
#[track_caller]
fn flagged(cx: &TestContext, evaluator: &Value, flags: &[&str]) -> Value {
    cx.write("suite.yaml", &suite(json!([evaluator])));
    let ran = eval(cx, &[&["--allow-errors"], flags].concat());
    ran.record()["evaluator_results"][0].clone()
}

#[test]
fn the_flag_puts_all_judges_into_a_sandbox() {
    let Some(cx) = confined() else { return };
    let script =
        json!({"type": "code_judge", "script": "set -e; echo x > made; echo '{\"score\": 1}'"});
    let free = flagged(&cx, &script, &[]);
    assert_eq!((free["score"].as_f64(), free.get("sandbox")), (Some(1.0), None));
    let result = flagged(&cx, &script, &["--sandbox"]);
    failed(&result, "Permission denied");
    assert_eq!(result["sandbox"]["fs"], "read_only");
    assert_eq!(result["sandbox"]["network"], "proxy");
    assert_eq!(result["sandbox"]["limits"], json!({"memory_mb": 2048, "processes": 256}));

    // A prompt that a script prints.
    cx.write("prompt.sh", "echo x > made; echo '{{ candidate_answer }}'");
    let prompt = json!({"type": "llm_judge", "prompt": {"script": ["sh", "-e", "prompt.sh"]}});
    let result = flagged(&cx, &prompt, &["--sandbox"]);
    failed(&result, "Permission denied; it ran in a sandbox");

    // A script that puts the verdicts of others together.
    let members = json!([{"name": "m", "type": "contains", "value": "ok"}]);
    let aggregator =
        json!({"type": "code_judge", "path": "set -e; echo x > made; echo '{\"score\": 1}'"});
    let composite = json!({"type": "composite", "evaluators": members, "aggregator": aggregator});
    assert_eq!(flagged(&cx, &composite, &[])["score"], 1);
    failed(&flagged(&cx, &composite, &["--sandbox"]), "Permission denied; it ran in a sandbox");
}

#[test]
fn answers_are_graded_again_in_a_sandbox() {
    let Some(cx) = confined() else { return };
    let script = "set -e; echo x > made; echo '{\"score\": 1}'";
    cx.write("suite.yaml", &suite(json!([{"type": "code_judge", "script": script}])));
    eval(&cx, &[]).success();
    let ran =
        cx.agentv(["grade", "out.jsonl", "suite.yaml", "--out", "again.jsonl", "--sandbox"]).run();
    ran.code(3);
    let record: Value = serde_json::from_str(cx.read("again.jsonl").trim()).unwrap();
    failed(&record["evaluator_results"][0], "Permission denied");
}

#[test]
fn a_configuration_file_asks_for_all_judges() {
    let Some(cx) = confined() else { return };
    cx.write(".agentv.yaml", "judges:\n  sandbox: {network: none, memory_mb: 500}\n");
    let script = json!({"type": "code_judge", "script": "touch made && echo '{\"score\": 1}'"});
    let result = flagged(&cx, &script, &[]);
    failed(&result, "Permission denied");
    assert_eq!(result["sandbox"]["network"], "none");
    assert_eq!(result["sandbox"]["limits"]["memory_mb"], 500);
    // The file says how, the flag only that.
    assert_eq!(flagged(&cx, &script, &["--sandbox"])["sandbox"]["network"], "none");
}

#[test]
fn tool_chains_and_projects_are_found() {
    let Some(cx) = confined() else { return };
    // A tool in the home, as version managers install them, with a library beside its `bin`.
    cx.script(
        ".home/.tools/v1/bin/tool",
        "#!/bin/sh\n. \"$(dirname \"$(readlink -f \"$0\")\")/../lib/tool.sh\"\n",
    );
    cx.write(".home/.tools/v1/lib/tool.sh", "echo '{\"score\": 1}'\n");
    std::os::unix::fs::symlink(cx.path(".home/.tools/v1/bin/tool"), cx.path("tool")).unwrap();
    let result = judged(&cx, &json!(["./tool"]), &json!(true));
    assert_eq!(result["score"], 1, "{result}");
    // A package of the project above the judge.
    cx.write("node_modules/scorer/package.json", r#"{"main": "index.js"}"#);
    cx.write("node_modules/scorer/index.js", "module.exports = 1;");
    cx.write("evals/judges/judge.js", "console.log(JSON.stringify({score: require('scorer')}))");
    cx.write("evals/deep/suite.yaml", &suite(json!([
        {"name": "judge", "type": "code_judge", "script": ["node", "../judges/judge.js"], "sandbox": true}
    ])));
    let ran = cx.agentv(["eval", "evals/deep/suite.yaml", "--out", "deep.jsonl"]).run();
    ran.success();
}

#[test]
fn a_program_that_cannot_be_run_is_told_as_ever() {
    let Some(cx) = confined() else { return };
    let result = judged(&cx, &json!(["agentv-no-such-program"]), &json!(true));
    let expected =
        "cannot run `agentv-no-such-program`: No such file or directory (os error 2); install it";
    assert!(message(&result).starts_with(expected), "{result}");
    // What only looks like the launcher's own words is the program's.
    let forged =
        json!("echo 'agentv-sandbox:0000000000000000:{\"setup\":\"forged\"}' >&2; exit 126");
    failed(&judged(&cx, &forged, &json!(true)), "exited with code 126: agentv-sandbox:");
}

#[test]
fn the_home_itself_is_never_opened() {
    let Some(cx) = confined() else { return };
    cx.write(".home/targets.yaml", &cx.read("targets.yaml"));
    cx.write(
        ".home/suite.yaml",
        &suite(json!([{"type": "code_judge", "script": WRITE, "sandbox": true}])),
    );
    let ran = cx.agentv(["eval", ".home/suite.yaml", "--out", "out.jsonl", "--allow-errors"]).run();
    let result = &ran.record()["evaluator_results"][0];
    assert!(
        message(result).contains("since that is the home directory or above it; put the eval file"),
        "{result}"
    );
    assert!(!cx.path(".home/made").exists());
}

#[test]
fn what_is_wrong_with_a_sandbox_is_an_error() {
    let check = |sandbox: &str, expected: &str| {
        let cx = mocked(&[]);
        let evaluators = format!("- {{type: code_judge, script: 'true', sandbox: {sandbox}}}");
        cx.write("suite.yaml", &suite(evaluators));
        cx.agentv(["validate", "suite.yaml"]).run().code(2).stderr_has(expected);
    };
    check("{memory: 5}", "has no key `memory`");
    check(
        "{fs: open}",
        "`fs` of `sandbox` of evaluator `code_judge` must be `workspace` or `read_only`",
    );
    check("{network: [70000]}", "must be `none`, `proxy` or a list of TCP ports");
    check("{processes: 0}", "must be at least 1");
    check("{seconds: -1}", "must be a number of seconds above 0");
    check("strict", "must be `true`, `best_effort` or a mapping");
    let cx = context();
    cx.write("targets.yaml", "targets:\n  - {name: default, provider: cli, command: 'true', sandbox: {network: proxy}}\n");
    cx.agentv(["validate", "targets.yaml"]).run().code(2).stderr_has("only judges have");
}

/// Runs a program for which the kernel has no Landlock.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# if the call is landlock_create_ruleset: "no such call", else allow
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
program = b"".join(struct.pack("HBBI", *one) for one in code)
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
shown = Program(len(code), ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(shown), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn a_kernel_without_landlock_is_refused_unless_best_effort() {
    let Some(cx) = confined() else { return };
    cx.write("without.py", WITHOUT_LANDLOCK);
    let run = |sandbox: &str, flags: &[&str]| {
        let evaluators = format!(
            "- {{type: code_judge, script: \"echo x > made; echo '{{\\\"score\\\": 1}}'\", sandbox: {sandbox}}}"
        );
        cx.write("suite.yaml", &suite(evaluators));
        let eval = ["eval", "suite.yaml", "--out", "out.jsonl"];
        cx.program(
            "python3",
            ["without.py", env!("CARGO_BIN_EXE_agentv")].iter().chain(&eval).chain(flags),
        )
        .run()
    };
    run("true", &[])
        .code(2)
        .stderr_has("the kernel has no file rules (Landlock ABI 3), no port rules (Landlock ABI 4), no signal rules")
        .stderr_has("best_effort: true");
    run("false", &["--sandbox"])
        .code(2)
        .stderr_has("`--sandbox` cannot be used here: the kernel has no file rules");
    for sandbox in ["best_effort", "{best_effort: true}"] {
        let ran = run(sandbox, &[]);
        let result = &ran.success().record()["evaluator_results"][0];
        assert_eq!(result["sandbox"]["held"], json!(["system_calls", "limits"]));
        assert_eq!(result["sandbox"]["missing"], json!(["files", "tcp_ports", "signals"]));
    }
    let doctor = cx
        .program("python3", ["without.py", env!("CARGO_BIN_EXE_agentv"), "doctor", "--offline"])
        .run();
    doctor.stdout_has("sandbox: only with `best_effort`: system call filters (seccomp), limits (/proc); missing: file rules");
}

/// `judge test` on a judge that writes a file beside itself.
#[track_caller]
fn tested(cx: &TestContext, more: &[&str]) -> Ran {
    cx.write("judges/payload.json", r#"{"candidate_answer": "ok"}"#);
    let script = "cat > /dev/null; echo kept > kept.txt || exit 1; echo '{\"score\": 1}'";
    let args = ["judge", "test", "--payload", "payload.json"];
    cx.agentv(args.iter().chain(more).chain(&["--", "/bin/sh", "-c", script])).cwd("judges").run()
}

#[test]
fn a_judge_is_tried_out_in_the_sandbox_that_it_has_in_a_run() {
    let Some(cx) = confined() else { return };
    tested(&cx, &[]).success().stdout_has("Score: 1.000").stdout_lacks("Sandbox:");
    std::fs::remove_file(cx.path("judges/kept.txt")).unwrap();
    let refused = "cannot create kept.txt: Permission denied; it ran in a sandbox (fs: read_only";
    tested(&cx, &["--sandbox"])
        .code(3)
        .stdout_has(refused)
        .stdout_has("Sandbox: files,tcp_ports,signals,system_calls,limits");
    cx.write("judges/.agentv.yaml", "judges: {sandbox: true}\n");
    tested(&cx, &[]).code(3).stdout_has(refused);
    cx.write("judges/.agentv.yaml", "judges: {sandbox: {fs: workspace}}\n");
    tested(&cx, &["--sandbox"]).success();
    assert!(cx.path("judges/kept.txt").exists());
}
