//! Commands and agents in a sandbox.

use super::confined;
use crate::eval;
use agentv_test_support::{TestContext, cases, cli_target, targets};
use serde_json::{Value, json};
use std::net::TcpListener;

/// The record of one case on a command in this sandbox. It runs beside the home, not above it.
#[track_caller]
fn answered(cx: &TestContext, command: &str, sandbox: &Value) -> Value {
    let target =
        cli_target("default", command) + &format!("    cwd: work\n    sandbox: {sandbox}\n");
    cx.write("targets.yaml", &targets(&[target]));
    cx.write("work/seen.txt", "seen");
    cx.write("suite.yaml", &cases(&["a"]));
    let record = eval(cx, &["--allow-errors"]).record();
    assert_eq!(std::fs::read_dir(cx.temp()).unwrap().count(), 0, "temporary files are left");
    record
}

#[track_caller]
fn fails(record: &Value, words: &str) {
    let error = record["error"].as_str().unwrap_or_default();
    assert!(error.contains(words), "expected `{words}`: {error}");
    assert_eq!(record["outcome"], "error");
    assert!(record["provider_metadata"]["sandbox"]["held"].is_array(), "{record}");
}

#[test]
fn a_command_works_in_its_own_directory() {
    let Some(cx) = confined() else { return };
    cx.write(".home/.ssh/id_ed25519", "planted");
    let works = "cat seen.txt && echo x > made && echo ok > {OUTPUT_FILE}";
    let record = answered(&cx, works, &json!(true));
    assert_eq!(record["outcome"], "pass", "{record}");
    let sandbox = &record["provider_metadata"]["sandbox"];
    assert_eq!((&sandbox["fs"], &sandbox["network"]), (&json!("workspace"), &json!("none")));
    assert_eq!(sandbox["held"], json!(["files", "signals", "system_calls", "limits"]));
    fails(
        &answered(&cx, "cat ~/.ssh/id_ed25519", &json!(true)),
        "Permission denied (exit code 1); it ran in a sandbox",
    );
    fails(
        &answered(&cx, "echo x > ../made", &json!(true)),
        "it ran in a sandbox (fs: workspace, network: none",
    );
    fails(
        &answered(&cx, "set -e; echo x > more", &json!({"fs": "read_only"})),
        "it ran in a sandbox (fs: read_only",
    );
    fails(
        &answered(&cx, "sleep 600", &json!({"seconds": 1})),
        "the command was ended by the sandbox: it ran for more than 1 seconds",
    );
}

#[test]
fn a_command_reaches_only_its_ports() {
    let Some(cx) = confined() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port})); print('ok')\""
    );
    fails(&answered(&cx, &connect, &json!(true)), "PermissionError");
    let open = answered(&cx, &connect, &json!({ "network": [port] }));
    assert_eq!(open["outcome"], "pass", "{open}");
}

#[test]
fn an_agent_works_in_its_workspace_and_nowhere_else() {
    let Some(cx) = confined() else { return };
    cx.write(".home/.ssh/id_ed25519", "planted");
    cx.write("template/file.txt", "old");
    let said = r#"echo '{"type":"result","subtype":"success","result":"ok"}'"#;
    let agent = |then: &str| {
        let agent = cx.fake_agent("claude", then);
        let calls = agent.executable.parent().unwrap().join("calls");
        // The stand-in keeps what it was given beside itself.
        let sandbox = json!({"fs": "workspace", "write": [calls]});
        let target = agent.target(
            "default",
            "claude-code",
            &json!({"sandbox": sandbox, "workspace": "template"}),
        );
        cx.write("targets.yaml", &targets(&[target]));
        cx.write("suite.yaml", &cases(&["a"]));
        eval(&cx, &["--allow-errors"]).record()
    };
    let record = agent(&format!("echo new > file.txt; {said}"));
    assert_eq!(record["outcome"], "pass", "{record}");
    assert_eq!(record["file_changes"]["files"][0]["path"], "file.txt");
    assert_eq!(record["provider_metadata"]["sandbox"]["fs"], "workspace");
    // Neither the keys, nor the eval file with its expectations.
    for secret in [
        "$HOME/.ssh/id_ed25519",
        "$OLDPWD/../suite.yaml",
        &cx.path("suite.yaml").display().to_string(),
    ] {
        let record = agent(&format!("cat {secret} >&2 || exit 1; {said}"));
        fails(&record, "it ran in a sandbox (fs: workspace, network: none");
    }
}
