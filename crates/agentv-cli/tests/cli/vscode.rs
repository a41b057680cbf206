//! VS Code targets beyond the specification: locks, time-outs, odd paths, and `agentv provision vscode`.

use crate::{context, eval, kill};
use agentv_test_support::{FakeCode, TestContext, cases, is_alive, targets};
use serde_json::{Value, json};

/// An empty repository with a `vscode` target that has these keys and its subagents in `subagents`.
fn repository(ids: &[&str], more: &Value) -> (TestContext, FakeCode) {
    let cx = context();
    let fake = cx.fake_code("code");
    cx.write("targets.yaml", &targets(&[target("default", &fake, more)]));
    cx.write("suite.yaml", &cases(ids));
    (cx, fake)
}

fn target(name: &str, fake: &FakeCode, more: &Value) -> String {
    let mut entry = json!({
        "name": name, "provider": "vscode", "vscode_cmd": fake.program(), "subagent_root": "subagents",
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    format!("  - {entry}\n")
}

#[track_caller]
fn provision(cx: &TestContext, count: &str) {
    cx.agentv(["provision", "vscode", "--root", "subagents", "--count", count]).run().success();
}

fn lock(cx: &TestContext, number: usize) -> bool {
    cx.path(format!("subagents/subagent-{number}/subagent.lock")).exists()
}

#[test]
fn cases_use_the_same_window_one_after_the_other() {
    let (cx, fake) = repository(&["a", "b"], &json!({ "workers": 3 }));
    // A window whose name only begins the same is another one.
    provision(&cx, "1");
    cx.write("code.state/windows", "subagent-10\n");
    let ran = eval(&cx, &[]);
    ran.success().stderr_has("target `default` has 1 worker instead of 3");
    assert_eq!(ran.record_of("b")["candidate_answer"], "ok: Question b");
    let wakeups = fake.calls().iter().filter(|call| call.contains(&"wakeup".to_owned())).count();
    assert_eq!(wakeups, 1, "{:?}", fake.calls());
    assert!(!lock(&cx, 1) && !cx.path("subagents/subagent-2").exists());
}

#[test]
fn the_workers_of_the_command_line_are_cut_down_too() {
    let (cx, _) = repository(&["a"], &json!({ "dry_run": true }));
    eval(&cx, &["--workers", "4"]).stderr_has("target `default` has 1 worker instead of 4");
    eval(&cx, &["--workers", "1"]).stderr_lacks("worker");
    eval(&cx, &["--workers", "4", "--dry-run"]).stderr_lacks("worker");
}

#[test]
fn an_answer_may_come_after_the_call_and_the_window_stays() {
    let (cx, fake) = repository(&["a"], &json!({}));
    fake.set_mode("background");
    let ran = eval(&cx, &[]);
    assert!(is_alive(&fake.pid()), "the window was closed");
    kill(&fake.pid());
    assert_eq!(ran.success().record()["candidate_answer"], "ok: Question a");
}

#[test]
fn a_time_out_ends_the_command_and_frees_the_subagent() {
    let (cx, fake) = repository(&["a"], &json!({ "timeout_seconds": 5 }));
    fake.set_mode("hang");
    cx.write("code.state/windows", "subagent-1\n");
    let record = eval(&cx, &["--max-retries", "0"]).code(3).record();
    let error = cx.redact(record["error"].as_str().unwrap());
    let head = "VS Code timed out after 5s; `[DIR]/subagents/subagent-1/messages/";
    assert!(error.starts_with(head) && error.ends_with("_res.md` does not exist"), "{error}");
    assert!(!lock(&cx, 1));
    assert!(!is_alive(&fake.pid()));
}

#[test]
fn a_stopped_run_ends_the_command_and_frees_the_subagent() {
    let (cx, fake) = repository(&["a"], &json!({}));
    let meeting = fake.meet();
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    assert_eq!(meeting.next(), "subagent-1");
    assert!(lock(&cx, 1));
    running.signal("INT");
    running.finish().code(130);
    assert!(!lock(&cx, 1));
}

#[test]
fn a_killed_run_does_not_keep_its_subagent_locked() {
    let (cx, fake) = repository(&["a"], &json!({}));
    let mut meeting = fake.meet();
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    assert_eq!(meeting.next(), "subagent-1");
    running.signal("KILL");
    running.finish().code(137);
    assert!(lock(&cx, 1));
    // Nobody is left to end the command, so it is let go.
    meeting.let_go(1);
    fake.set_mode("ok");
    let record = eval(&cx, &[]).success().record();
    assert_eq!(record["provider_metadata"]["subagent"], "subagent-1");
    assert!(!lock(&cx, 1));
}

#[test]
fn an_error_of_the_command_is_shown_and_frees_the_subagent() {
    let (cx, fake) = repository(&["a"], &json!({}));
    fake.set_mode("fail");
    let record = eval(&cx, &[]).code(3).record();
    let error = cx.redact(record["error"].as_str().unwrap());
    assert_eq!(error, "`[DIR]/code` failed with exit code 1: the display is on strike");
    assert!(!lock(&cx, 1));
}

#[test]
fn locks_of_other_tools_are_respected() {
    let (cx, fake) = repository(&["a"], &json!({}));
    provision(&cx, "2");
    for number in [1, 2] {
        cx.write(format!("subagents/subagent-{number}/subagent.lock"), "");
    }
    let record = eval(&cx, &[]).code(3).record();
    assert_eq!(
        cx.redact(record["error"].as_str().unwrap()),
        "No unlocked subagents available: all 2 are locked in `[DIR]/subagents`. Provision another with: agentv \
         provision vscode --count 1 --root '[DIR]/subagents'; or delete the `subagent.lock` of one that is not in use"
    );
    assert!(fake.calls().is_empty() && lock(&cx, 1) && lock(&cx, 2));
    // And the advice can be obeyed.
    let ran = cx.agentv(["provision", "vscode", "--count", "1", "--root", "subagents"]).run();
    ran.success().stdout_has(
        "subagent-1: locked, skipped\n  subagent-2: locked, skipped\n  subagent-3: made",
    );
    let record = eval(&cx, &[]).success().record();
    assert_eq!(record["provider_metadata"]["subagent"], "subagent-3");
}

#[test]
fn runs_side_by_side_take_a_subagent_each() {
    let (cx, fake) = repository(&["a"], &json!({}));
    provision(&cx, "2");
    let mut meeting = fake.meet();
    let start = |out: &str| cx.agentv(["eval", "suite.yaml", "--out", out]).start();
    let runs = [start("one.jsonl"), start("two.jsonl")];
    let mut taken = [meeting.next(), meeting.next()];
    taken.sort();
    assert_eq!(taken, ["subagent-1", "subagent-2"]);
    meeting.let_go(2);
    for run in runs {
        assert_eq!(run.finish().success().record()["candidate_answer"], "ok: Question a");
    }
}

#[test]
fn a_run_waits_for_the_subagent_of_another() {
    let (cx, fake) = repository(&["a"], &json!({}));
    provision(&cx, "1");
    let mut meeting = fake.meet();
    let args = |out: &'static str| ["eval", "suite.yaml", "--out", out, "--verbose"];
    let first = cx.agentv(args("one.jsonl")).start();
    assert_eq!(meeting.next(), "subagent-1");
    let mut second = cx.agentv(args("two.jsonl")).start();
    loop {
        let line = second.read_line();
        assert_ne!(line, "", "it has ended: {:?}", second.finish());
        if line.contains("waits for a free subagent") {
            break;
        }
    }
    assert_eq!(meeting.rest(), Vec::<String>::new());
    meeting.let_go(2);
    first.finish().success();
    assert_eq!(second.finish().success().record()["candidate_answer"], "ok: Question a");
}

#[test]
fn two_targets_of_one_run_share_what_there_is() {
    let (cx, fake) = repository(&["a", "b", "c"], &json!({}));
    let entries = ["one", "two"].map(|name| target(name, &fake, &json!({})));
    cx.write("targets.yaml", &targets(&entries));
    let ran = eval(&cx, &["--target", "one", "--target", "two"]);
    assert_eq!(ran.success().records().len(), 6);
}

#[test]
fn a_batch_that_is_not_answered_whole_is_asked_case_by_case() {
    // Long enough for a single case on a busy machine; a batch has as much for each of its cases.
    let more = json!({ "provider_batching": true, "timeout_seconds": 8 });
    let (cx, fake) = repository(&["a", "b"], &more);
    fake.set_mode("partial");
    let ran = eval(&cx, &["--verbose"]);
    ran.success().stdout_has("the batch failed (VS Code timed out after 16s; `");
    ran.stdout_has("_1_res.md` does not exist); asking case by case");
    assert_eq!(ran.record_of("b")["candidate_answer"], "ok: Question b");
    assert!(!lock(&cx, 1));
}

#[test]
fn no_path_is_too_odd() {
    let cx = context();
    let odd = "it's $(touch pwned) `touch pwned` \"q\" & é 漢; *";
    let fake = cx.fake_code(&format!("{odd}/co de"));
    let entry = target("default", &fake, &json!({ "subagent_root": format!("{odd}/roots") }));
    cx.write("targets.yaml", &targets(&[entry]));
    let file = cx.write(format!("{odd}/$(touch pwned).py"), "print(1)\n");
    cx.write("suite.yaml", &cases(&["one"]));
    let name = json!(format!("{odd}/$(touch pwned).py"));
    let text = cx.read("suite.yaml").replace(
        "input: \"Question one\"",
        &format!("input:\n      - role: user\n        content: [{{type: text, value: \"$(touch pwned)\"}}, {{type: file, value: {name}}}]"),
    );
    cx.write("suite.yaml", &text);
    let record = eval(&cx, &[]).success().record();
    assert!(record["candidate_answer"].as_str().unwrap().starts_with("ok: $(touch pwned)"));
    let calls = fake.calls();
    let chat = calls.last().unwrap();
    assert_eq!(chat[5], file.display().to_string());
    // The question is in the file alone.
    assert!(!chat.iter().any(|argument| argument.contains("Question")), "{chat:?}");
    let mut folders = vec![cx.dir().to_owned(), cx.path(odd), cx.path(".home")];
    folders.push(cx.path(format!("{odd}/roots/subagent-1")));
    assert!(folders.iter().all(|folder| !folder.join("pwned").exists()));
}

#[test]
fn a_template_brings_its_folders() {
    let more = json!({ "workspace_template": "${{ TEMPLATE }}", "subagentRoot": "~/mine" });
    let (cx, fake) = repository(&["a"], &more);
    // `subagent_root`, which `repository` wrote, wins over the other spelling.
    cx.write(
        "targets.yaml",
        &cx.read("targets.yaml").replace(r#""subagent_root":"subagents","#, ""),
    );
    cx.write(
        "project/my.code-workspace",
        r#"{"folders": [{"path": "../lib"}], "settings": {"x": 1}}"#,
    );
    let run = |template: &str| {
        let invocation = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]);
        invocation.env("TEMPLATE", template).run()
    };
    run("project/my.code-workspace").success();
    let written = cx.read(".home/mine/subagent-1/subagent-1.code-workspace");
    let expected = json!({
        "folders": [{"path": "."}, {"path": cx.path("lib")}], "settings": {"x": 1},
    });
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);

    let calls = fake.calls().len();
    cx.write("bad.code-workspace", "{\n  // mine\n}\n");
    let error = run("bad.code-workspace").code(3).record()["error"].as_str().unwrap().to_owned();
    assert_eq!(
        cx.redact(&error),
        "the workspace template `[DIR]/bad.code-workspace` is not JSON: key must be a string at line 2 column 3; \
         remove comments and trailing commas"
    );
    assert_eq!(fake.calls().len(), calls);
}

#[test]
fn keys_that_make_no_sense_are_noted() {
    let (cx, _) = repository(&["a"], &json!({ "wait": false, "vscode_comand": "x" }));
    let ran = cx.agentv(["validate", "targets.yaml"]).run();
    ran.stderr_has("`wait: false` of target `default` is ignored");
    ran.stderr_has("did you mean `vscode_cmd`?");
    let record = eval(&cx, &[]).success().record();
    assert_eq!(record["candidate_answer"], "ok: Question a");
}

#[test]
fn editions_have_their_own_command_and_place() {
    let cx = context();
    let fake = cx.fake_code("bin/code-insiders");
    cx.write("targets.yaml", "targets: [{name: default, provider: vscode-insiders}]\n");
    cx.write("suite.yaml", &cases(&["a"]));
    let run = |path: String| {
        cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).env("PATH", path).run()
    };
    let error = run("/nowhere".to_owned()).code(3).record()["error"].clone();
    assert_eq!(
        error,
        "`code-insiders` was not found in any directory of `PATH`; name the command of VS Code with `vscode_cmd`, or \
         install it from the command palette (`Shell Command: Install 'code-insiders' command in PATH`)"
    );
    let path = std::env::join_paths([cx.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
    let ran = run(path.into_string().unwrap());
    ran.success().stdout_has("Using target: default [provider=vscode-insiders]");
    assert!(cx.path(".home/.subagent/vscode-insiders-agents/subagent-1/messages").is_dir());
    assert!(!fake.calls().is_empty());
}

#[test]
fn provisioning_says_what_it_made_and_can_be_repeated() {
    let cx = context();
    let run = |args: &[&str]| cx.agentv(["provision", "vscode"].iter().chain(args)).run();
    let ran = run(&["--count", "2", "--dry-run"]);
    assert_eq!(
        cx.redact(&ran.success().stdout),
        "Subagents in: [DIR]/.home/.subagent/vscode-agents\n  subagent-1: would be made\n  subagent-2: would be made\n"
    );
    assert!(!cx.path(".home/.subagent").exists());
    run(&[]).success().stdout_has("  subagent-1: made\n");
    let ran = run(&["--count", "11"]);
    ran.success().stdout_has("  subagent-1: there already\n  subagent-2: made\n");
    ran.stdout_has("  subagent-9: made\n  subagent-10: made\n  subagent-11: made\n");
    let made = cx.path(".home/.subagent/vscode-agents/subagent-11");
    assert!(made.join("subagent-11.code-workspace").is_file());
    assert!(made.join(".github/agents/wakeup.md").is_file());
    run(&["--insiders"])
        .success()
        .stdout_has(".subagent/vscode-insiders-agents\n  subagent-1: made\n");

    cx.write("file", "");
    run(&["--root", "file"])
        .code(3)
        .stderr_has("no subagents could be made in")
        .stderr_has("--root");
    run(&["--count", "0"]).code(2);
    run(&["--help"]).success().stdout_has("agentv provision vscode --count 3 --insiders");
}
