//! VS Code as a target, with a stand-in for `code`.

use crate::context;
use agentv_test_support::{FakeCode, Ran, TestContext, cases, targets};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A `vscode` target, as an entry for [`targets`].
fn target(fake: &FakeCode, more: &Value) -> String {
    let mut entry =
        json!({ "name": "default", "provider": "vscode", "vscode_cmd": fake.program() });
    for (key, value) in more.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    format!("  - {entry}\n")
}

fn eval(cx: &TestContext) -> Ran {
    cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).run()
}

/// Where the program makes subagents when nobody says otherwise.
fn subagent(cx: &TestContext, number: usize) -> PathBuf {
    cx.path(format!(".home/.subagent/vscode-agents/subagent-{number}"))
}

#[test]
fn s016_s072_a_request_is_dispatched_and_answered_by_files() {
    let cx = context();
    let fake = cx.fake_code("code");
    cx.write("targets.yaml", &targets(&[target(&fake, &json!({}))]));
    let code = cx.write("src/a.py", "print(1)\n");
    let rules = cx.write("rules/style.instructions.md", "Be brief.\n");
    cx.write(
        "suite.yaml",
        "execution: {evaluators: [{name: says-ok, type: contains, value: ok}]}\n\
         evalcases:\n  - id: one\n    expected_outcome: Says ok\n    input_messages:\n      - role: user\n        \
         content:\n          - {type: text, value: Review it}\n          - {type: file, value: src/a.py}\n          \
         - {type: file, value: rules/style.instructions.md}\n",
    );
    let ran = eval(&cx);
    let record = ran.success().record();
    let shown = "Review it <file: path=\"src/a.py\"> <Attached: rules/style.instructions.md>";
    assert_eq!(record["candidate_answer"], format!("ok: {shown}"));
    assert_eq!(record["provider_metadata"]["subagent"], "subagent-1");

    // The mandatory preread block, then the query, then where the response goes.
    let request = cx.redact(&fake.requests()[0]);
    let (task, instructions) = request.split_once("[[ ## system_instructions ## ]]").unwrap();
    assert_eq!(
        task,
        "[[ ## task ## ]]\n\n\
         Read all guideline files first:\n\
         * [style.instructions.md](file://[DIR]/rules/style.instructions.md).\n\n\
         Read all attachment files first:\n* [a.py](file://[DIR]/src/a.py).\n\n\
         If a file is missing, reply with `ERROR: missing-file <filename>` and stop.\n\
         Then apply system_instructions to the user query below.\n\n\
         [[ ## user_query ## ]]\n\nReview it\n\n<file: path=\"src/a.py\">\n\n\
         <Attached: rules/style.instructions.md>\n\n"
    );
    let home = "[DIR]/.home/.subagent/vscode-agents/subagent-1";
    let line = format!("\n1. Create and write your complete response to: {home}/messages/");
    assert!(instructions.contains(&line), "{instructions}");

    // Asks whether the window is open, opens it, wakes it up, and hands over the request with its files.
    let calls = fake.calls();
    let workspace = subagent(&cx, 1).join("subagent-1.code-workspace").display().to_string();
    assert_eq!(calls[0], ["--status"]);
    assert_eq!(calls[1], [workspace]);
    let order = "create a file named .alive in the subagent-1 folder";
    assert_eq!(calls[2], ["-r", "chat", "-m", "wakeup", order]);
    let chat = &calls[3];
    let (rules, code) = (rules.display().to_string(), code.display().to_string());
    assert_eq!(chat[..3], ["-r", "chat", "-m"]);
    assert!(chat[3].len() == 8 && u32::from_str_radix(&chat[3], 16).is_ok(), "{chat:?}");
    assert_eq!(chat[4..9], ["-a", &rules, "-a", &code, "-a"]);
    let name = chat[9].rsplit('/').next().unwrap();
    assert_eq!(chat[10..], [format!("Follow instructions in [{name}](file://{})", chat[9])]);
    assert_eq!((calls.len(), name.len()), (4, "20260131235959_req.md".len()));
    assert!(!subagent(&cx, 1).join("subagent.lock").exists());
}

#[test]
fn s016_s072_a_batch_is_one_chat() {
    let cx = context();
    let fake = cx.fake_code("code");
    cx.write("targets.yaml", &targets(&[target(&fake, &json!({ "provider_batching": true }))]));
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    cx.write("suite.yaml", &cases(&ids));
    let ran = eval(&cx);
    ran.success();
    for id in ids {
        assert_eq!(ran.record_of(id)["candidate_answer"], format!("ok: Question {id}"));
    }
    let calls = fake.calls();
    let chats = calls.iter().filter(|call| call.get(3).is_some_and(|chat| chat != "wakeup"));
    let chats: Vec<_> = chats.collect();
    assert_eq!(chats.len(), 1, "{calls:?}");
    assert!(chats[0][5].ends_with("_orchestrator.md"), "{chats:?}");
    assert!(chats[0][6].ends_with("_orchestrator.md). Use #runSubagent tool."), "{chats:?}");
    assert_eq!(fake.requests().len(), ids.len());
}

#[test]
fn s016_s072_a_dry_run_has_metadata_and_no_text() {
    let cx = context();
    let fake = cx.fake_code("code");
    cx.write("targets.yaml", &targets(&[target(&fake, &json!({ "dryRun": true }))]));
    cx.write("suite.yaml", &cases(&["one"]));
    let record = eval(&cx).success().record();
    assert_eq!(record["candidate_answer"], "");
    let metadata = &record["provider_metadata"];
    assert_eq!(metadata["dry_run"], true);
    assert_eq!(metadata["vscode_cmd"], json!(fake.program()));
    assert_eq!(metadata["input_files"], json!([]));
    // Nothing was launched and nothing written.
    assert!(fake.calls().is_empty());
    assert!(!cx.path(".home/.subagent").exists());
}
