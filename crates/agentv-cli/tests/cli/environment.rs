//! Who gets which variables: real children that tell what they see.

use crate::context;
use agentv_test_support::{
    Invocation, Ran, TestContext, cli_target, openai_target, suite, targets,
};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

/// What every run here has in its environment: secrets by their names, one that only a target uses as a secret (`TEAM`), and
/// one that is none. `FILE_TOKEN` is in a `.env` file.
const VARIABLES: [&str; 9] = [
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "FILE_TOKEN",
    "GEMINI_API_KEY",
    "GH_TOKEN",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "PLAIN",
    "TEAM",
];
/// No child sees less.
const NO_SECRET: [&str; 1] = ["PLAIN"];

/// A repository whose children tell what they see.
struct Bench {
    cx: TestContext,
}

impl Bench {
    #[track_caller]
    fn new() -> Self {
        let cx = context();
        fs::create_dir(cx.path("seen")).unwrap();
        cx.write(".env", "FILE_TOKEN=value-of-a-file\n");
        Self { cx }
    }

    /// A piece of a shell script that keeps what it sees.
    fn tell(&self, name: &str) -> String {
        format!("env -0 > '{}'", self.cx.path("seen").join(name).display())
    }

    /// These targets, and one that is not called.
    fn targets(&self, list: &[String]) {
        let unused = openai_target("unused", "http://127.0.0.1:9") + "    api_key: ${{ TEAM }}\n";
        self.cx.write("targets.yaml", &targets(&[list, &[unused]].concat()));
    }

    fn agentv(&self, args: &[&str]) -> Invocation {
        let run = self.cx.agentv(args);
        let own = VARIABLES.iter().filter(|name| **name != "FILE_TOKEN");
        own.fold(run, |run, name| run.env(name, format!("value-of-{name}")))
    }

    #[track_caller]
    fn eval(&self) -> Ran {
        let ran = self.agentv(&["eval", "suite.yaml", "--out", "out.jsonl"]).run();
        ran.success();
        ran
    }

    /// What a child saw of the variables; it forgets that.
    #[track_caller]
    fn seen(&self, name: &str) -> Vec<&'static str> {
        let path = self.cx.path("seen").join(name);
        let printed = fs::read(&path).map_err(|error| format!("{name}: {error}")).unwrap();
        fs::remove_file(path).unwrap();
        let names: Vec<String> = printed
            .split(|byte| *byte == 0)
            .filter_map(|pair| Some(String::from_utf8_lossy(pair).split_once('=')?.0.to_owned()))
            .collect();
        VARIABLES.into_iter().filter(|known| names.iter().any(|name| name == known)).collect()
    }

    #[track_caller]
    fn check(&self, children: &[&str], expected: &[&str]) {
        for child in children {
            assert_eq!(self.seen(child), expected, "{child}");
        }
    }
}

/// All that judges can start.
const JUDGES: [&str; 4] = ["script", "aggregator", "prompt", "judge"];

/// A case on a command, graded by all that judges can start. Each gets `more` where `pass_env` belongs.
#[track_caller]
fn judged(more: &Value) -> Bench {
    let bench = Bench::new();
    let verdict = r#"{"score": 1, "hits": [], "misses": [], "reasoning": ""}"#;
    bench.cx.write("verdict", verdict);
    let verdict = format!("cat '{}'", bench.cx.path("verdict").display());
    let mut judge = cli_target("judge", &format!("{}; {verdict}", bench.tell("judge")));
    judge += &more
        .as_object()
        .unwrap()
        .iter()
        .fold(String::new(), |keys, (key, value)| keys + &format!("    {key}: {value}\n"));
    let default = cli_target("default", &format!("{}; echo ok", bench.tell("target")));
    bench.targets(&[default, judge]);
    bench.cx.write(
        "prompt.sh",
        &format!("{}; echo 'Grade {{{{ candidate_answer }}}}'", bench.tell("prompt")),
    );
    let with_more = |mut object: Value| {
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let script = |name: &str| format!("cat > /dev/null; {}; {verdict}", bench.tell(name));
    let aggregator = with_more(json!({"type": "code_judge", "path": script("aggregator")}));
    let evaluators = json!([
        with_more(json!({"name": "s", "type": "code_judge", "script": script("script")})),
        {"name": "c", "type": "composite", "aggregator": aggregator,
         "evaluators": [{"name": "m", "type": "contains", "value": "ok"}]},
        with_more(json!({"name": "l", "type": "llm_judge", "target": "judge",
            "prompt": {"script": ["sh", "prompt.sh"]}})),
    ]);
    bench.cx.write("suite.yaml", &suite(evaluators));
    bench
}

#[test]
fn children_of_judges_and_commands_inherit_unless_they_are_scrubbed() {
    let bench = judged(&json!({}));
    bench.eval();
    bench.check(&JUDGES, &VARIABLES);
    bench.check(&["target"], &VARIABLES);
}

#[test]
fn scrub_reaches_everything_that_a_judge_starts() {
    let bench = judged(&json!({}));
    for file in [".agentv/config.yaml", ".agentv.yaml"] {
        bench.cx.write(file, "judges: {env: scrub}\n");
        bench.eval();
        bench.check(&JUDGES, &NO_SECRET);
        bench.check(&["target"], &VARIABLES);
    }
    // The nearest file decides.
    bench.cx.write(".agentv.yaml", "judges: {env: inherit}\n");
    bench.eval();
    bench.check(&JUDGES, &VARIABLES);
}

#[test]
fn what_is_passed_reaches_a_scrubbed_judge() {
    let bench = judged(&json!({"pass_env": ["TEAM", "FILE_TOKEN"]}));
    bench.cx.write(".agentv/config.yaml", "judges: {env: scrub}\n");
    bench.eval();
    bench.check(&JUDGES, &["FILE_TOKEN", "PLAIN", "TEAM"]);
}

#[test]
fn one_line_scrubs_every_child() {
    let bench = judged(&json!({}));
    bench.cx.write(".agentv/config.yaml", "env: scrub\n");
    bench.eval();
    bench.check(&JUDGES, &NO_SECRET);
    bench.check(&["target"], &NO_SECRET);
    bench.cx.write(".agentv/config.yaml", "env: scrub\ntargets: {env: inherit}\n");
    bench.eval();
    bench.check(&["target"], &VARIABLES);
}

#[test]
fn a_wrong_choice_stops_the_run() {
    let bench = judged(&json!({}));
    bench.cx.write(".agentv/config.yaml", "targets: {env: scrubbed}\n");
    let ran = bench.agentv(&["eval", "suite.yaml"]).run();
    ran.code(2).stderr_has("`env` of `targets` of the configuration must be `scrub` or `inherit`");
}

#[test]
fn only_names_can_be_passed() {
    let bench = judged(&json!({"pass_env": ["${{ GH_TOKEN }}"]}));
    let ran = bench.agentv(&["eval", "suite.yaml"]).run();
    ran.code(2)
        .stderr_has("`pass_env` of target `judge` must be a list of names of variables")
        .stderr_has("write the names alone, as in `pass_env: [GH_TOKEN]`")
        .stderr_lacks("value-of");
}

#[test]
fn scrub_reaches_all_commands_of_a_target() {
    let bench = Bench::new();
    let check = format!("{{type: command, command_template: {}}}", json!(bench.tell("health")));
    let workspace = json!({"setup": [["sh", "-c", bench.tell("setup")]]});
    let keys = format!("    healthcheck: {check}\n    workspace: {workspace}\n");
    let target = |more: &str| {
        cli_target("default", &format!("{}; echo ok", bench.tell("target"))) + &keys + more
    };
    let grader = json!([{"name": "g", "type": "contains", "value": "ok"}]);
    bench.cx.write("suite.yaml", &suite(grader));
    bench.cx.write(".agentv/config.yaml", "targets: {env: scrub}\n");
    bench.targets(&[target("")]);
    bench.eval();
    bench.check(&["target", "health", "setup"], &NO_SECRET);

    let more = "    pass_env: [GH_TOKEN]\n    env: {SERVICE_TOKEN: '${{ TEAM }}'}\n";
    let with_setup = workspace.as_object().unwrap().clone();
    let passed: Value =
        with_setup.into_iter().chain([("pass_env".to_owned(), json!(["TEAM"]))]).collect();
    let file = target(more).replace(&workspace.to_string(), &passed.to_string());
    bench.targets(&[file]);
    bench.eval();
    let env = fs::read_to_string(bench.cx.path("seen/target")).unwrap();
    assert!(env.contains("SERVICE_TOKEN=value-of-TEAM\0"), "{env}");
    bench.check(&["target", "health"], &["GH_TOKEN", "PLAIN"]);
    bench.check(&["setup"], &["PLAIN", "TEAM"]);
}

#[test]
fn scrub_reaches_a_batch() {
    let bench = Bench::new();
    let command = format!(
        r#"{}; printf '{{"id": "one", "text": "ok"}}\n' > {{OUTPUT_FILE}}"#,
        bench.tell("batch")
    );
    bench.targets(&[cli_target("default", &command) + "    provider_batching: true\n"]);
    bench.cx.write("suite.yaml", &suite(json!([{"name": "g", "type": "contains", "value": "ok"}])));
    bench.eval();
    bench.check(&["batch"], &VARIABLES);
    bench.cx.write(".agentv/config.yaml", "targets: {env: scrub}\n");
    bench.eval();
    bench.check(&["batch"], &NO_SECRET);
}

/// What an agent of this kind sees.
#[track_caller]
fn seen_by(provider: &str, more: &Value) -> Vec<&'static str> {
    let bench = Bench::new();
    let agent = bench.cx.fake_agent("agent", &format!("{}; exit 3", bench.tell("agent")));
    bench.targets(&[agent.target("default", provider, more)]);
    bench.cx.write("suite.yaml", &suite(json!([{"name": "g", "type": "contains", "value": "ok"}])));
    bench.agentv(&["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]).run().code(3);
    bench.seen("agent")
}

#[test]
fn an_agent_gets_only_the_secrets_that_it_needs() {
    let claude = ["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "PLAIN"];
    assert_eq!(seen_by("claude-code", &json!({})), claude);
    assert_eq!(seen_by("codex", &json!({})), ["OPENAI_API_KEY", "PLAIN"]);
    assert_eq!(seen_by("copilot", &json!({})), ["GH_TOKEN", "PLAIN"]);
    assert_eq!(seen_by("gemini-cli", &json!({})), ["GEMINI_API_KEY", "PLAIN"]);
    let several = ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "PLAIN"];
    assert_eq!(seen_by("opencode", &json!({})), several);
    let model = json!({"model": "openai/gpt-5"});
    assert_eq!(seen_by("opencode", &model), ["OPENAI_API_KEY", "PLAIN"]);
    assert_eq!(seen_by("pi-coding-agent", &json!({})), ["GEMINI_API_KEY", "PLAIN"]);
    let provider = json!({"pi_provider": "anthropic"});
    assert_eq!(seen_by("pi-coding-agent", &provider), ["ANTHROPIC_API_KEY", "PLAIN"]);
}

#[test]
fn an_agent_gets_the_secrets_that_its_target_names() {
    let passed = json!({"pass_env": ["PGPASSWORD", "TEAM", "NOT_SET"]});
    assert_eq!(seen_by("codex", &passed), ["OPENAI_API_KEY", "PGPASSWORD", "PLAIN", "TEAM"]);
    let set = json!({"env": {"GH_TOKEN": "${{ TEAM }}"}});
    assert_eq!(seen_by("codex", &set), ["GH_TOKEN", "OPENAI_API_KEY", "PLAIN"]);
    let key = json!({"pi_provider": "anthropic", "api_key": "${{ TEAM }}"});
    assert_eq!(seen_by("pi-coding-agent", &key), ["ANTHROPIC_API_KEY", "PLAIN"]);
}

#[test]
fn an_agent_that_lacks_a_key_is_told_how_to_get_it() {
    let bench = Bench::new();
    let agent = bench.cx.fake_agent("agent", "echo 'no API key found' >&2; exit 1");
    bench.targets(&[agent.target("default", "codex", &json!({}))]);
    bench.cx.write("suite.yaml", &suite(json!([{"name": "g", "type": "contains", "value": "ok"}])));
    let ran =
        bench.agentv(&["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]).run();
    let error = ran.code(3).record()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("no API key found"), "{error}");
    assert!(
        error.ends_with("PGPASSWORD, TEAM: name what it needs in `pass_env` of the target"),
        "{error}"
    );
    assert!(!error.contains("value-of"), "{error}");
}

#[test]
fn the_chat_of_an_editor_gets_no_secret_that_is_not_passed() {
    for (more, expected) in
        [("", &["PLAIN"][..]), ("    pass_env: [GH_TOKEN]\n", &["GH_TOKEN", "PLAIN"])]
    {
        let bench = Bench::new();
        bench.cx.script("code", &format!("#!/bin/sh\n{}\nexit 1\n", bench.tell("code")));
        let keys = "    provider: vscode\n    vscode_cmd: ./code\n    subagent_root: subagents\n";
        bench.targets(&[format!("  - name: default\n{keys}{more}")]);
        bench
            .cx
            .write("suite.yaml", &suite(json!([{"name": "g", "type": "contains", "value": "ok"}])));
        bench.agentv(&["eval", "suite.yaml", "--out", "out.jsonl"]).run().code(3);
        bench.check(&["code"], expected);
    }
}

#[test]
fn a_secret_that_is_not_text_is_kept_from_agents_too() {
    let bench = Bench::new();
    let agent = bench.cx.fake_agent("agent", &format!("{}; exit 3", bench.tell("agent")));
    bench.targets(&[agent.target("default", "codex", &json!({}))]);
    bench.cx.write("suite.yaml", &suite(json!([{"name": "g", "type": "contains", "value": "ok"}])));
    let run = bench.agentv(&["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"]);
    run.env("PGPASSWORD", OsStr::from_bytes(b"\xff\xfe")).run().code(3);
    bench.check(&["agent"], &["OPENAI_API_KEY", "PLAIN"]);
}

#[test]
fn git_sees_nothing_of_the_user() {
    let bench = Bench::new();
    // Real Git, after keeping what it sees. The first call is enough.
    let real = fs::read_dir("/usr/bin").unwrap().any(|file| file.unwrap().file_name() == "git");
    assert!(real, "these tests need Git in /usr/bin");
    let script = format!("#!/bin/sh\n{}\nexec /usr/bin/git \"$@\"\n", bench.tell("git"));
    bench.cx.script("bin/git", &script);
    let keys = "    workspace: {setup: [[touch, a-file]]}\n";
    bench.targets(&[cli_target("default", "echo made > made; echo ok") + keys]);
    bench.cx.write("suite.yaml", &suite(json!([{"name": "g", "type": "contains", "value": "ok"}])));
    let path = format!("{}:/usr/bin:/bin", bench.cx.path("bin").display());
    let run = bench.agentv(&["eval", "suite.yaml", "--out", "out.jsonl"]).env("PATH", path);
    let hostile = [
        ("GIT_DIR", "/nowhere"),
        ("GIT_INDEX_FILE", "/nowhere"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.quotePath"),
        ("GIT_CONFIG_VALUE_0", "maybe"),
        ("GIT_TRACE", "1"),
        ("GIT_EXTERNAL_DIFF", "false"),
    ];
    let ran = hostile.iter().fold(run, |run, (name, value)| run.env(name, value)).run();
    let changed = &ran.success().record()["file_changes"]["files"][0]["path"];
    assert_eq!(changed, "made");
    let seen = fs::read_to_string(bench.cx.path("seen/git")).unwrap();
    let mut names: Vec<&str> =
        seen.split_terminator('\0').filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
    names.sort_unstable();
    let expected = [
        "AGENTV_CALL_ID",
        "AGENTV_RUN_ID",
        "GIT_ATTR_NOSYSTEM",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_LITERAL_PATHSPECS",
        "GIT_TERMINAL_PROMPT",
        "HOME",
        "LC_ALL",
        "PATH",
        "PWD",
        "TMPDIR",
        "XDG_CONFIG_HOME",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_doctor_shows_who_gets_which_secrets() {
    let bench = judged(&json!({}));
    let agent = "  - name: claude\n    provider: claude-code\n    executable: ./no-such-program\n    \
                 env: {SERVICE_TOKEN: '${{ TEAM }}'}\n";
    let file = bench.cx.read("targets.yaml") + agent;
    bench.cx.write("targets.yaml", &file);
    bench.cx.write(".agentv/config.yaml", "judges: {env: scrub}\n");
    let ran = bench.agentv(&["doctor", "--env", "suite.yaml"]).run();
    ran.success().stdout_lacks("value-of").stderr_lacks("value-of");
    insta::assert_snapshot!(ran.stdout, @r#"
    targets.yaml
    Child                    Secrets given          Secrets withheld
    ───────────────────────  ─────────────────────  ────────────────
    default (cli)            all (inherits)
    judge (cli)              all (inherits)
    judge (cli), as a judge  none                   all
    unused (openai)          starts no program
    claude (claude-code)     ANTHROPIC_API_KEY      FILE_TOKEN
                             AWS_SECRET_ACCESS_KEY  GEMINI_API_KEY
                             SERVICE_TOKEN          GH_TOKEN
                                                    OPENAI_API_KEY
                                                    PGPASSWORD
                                                    TEAM

    suite.yaml
    Child                 Secrets given  Secrets withheld
    ────────────────────  ─────────────  ────────────────
    s: script             none           all
    c: aggregator         none           all
    l: prompt             none           all

    Secrets: ANTHROPIC_API_KEY, AWS_SECRET_ACCESS_KEY, FILE_TOKEN, GEMINI_API_KEY,
    GH_TOKEN, OPENAI_API_KEY, PGPASSWORD, SERVICE_TOKEN, TEAM.
    Variables that are not secrets reach every child. Git gets only what it needs to
    run.
    "#);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80));
    // Nothing was started.
    assert_eq!(fs::read_dir(bench.cx.path("seen")).unwrap().count(), 0);

    let ran = bench.agentv(&["doctor", "--env", "suite.yaml", "--format", "json"]).run();
    let report: Value = serde_json::from_str(&ran.success().stdout).unwrap();
    let children = report["children"].as_array().unwrap();
    let claude = children.iter().find(|child| child["child"] == "claude (claude-code)").unwrap();
    assert_eq!(claude["access"], "inherits_without_secrets");
    let given = json!(["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "SERVICE_TOKEN"]);
    assert_eq!(claude["given"], given);
}

#[test]
fn a_configuration_that_only_scrubs_is_validated() {
    let cx = context();
    cx.write("evals/.agentv.yaml", "judges: {env: scrubbed}\n");
    cx.agentv(["validate", "evals"])
        .run()
        .code(2)
        .stderr_has("must be `scrub` or `inherit`, not `scrubbed`");
}
