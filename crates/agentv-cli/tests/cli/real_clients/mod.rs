//! The real `claude` and `codex`, of one version each, against a stub of their APIs. They run in a namespace whose network is
//! loopback, with dummy keys and a fresh home: see `tests/clients/sandbox.py`.

mod claude;
mod codex;
mod sandbox;

use crate::redaction::{FILE_SECRET, LEAK, SECRET, check_clean_but};
use crate::sandbox::confined;
use agentv_test_support::{JudgeDump, Ran, suite, targets};
use sandbox::{Client, Sandbox};
use serde_json::{Value, json};
use std::path::Path;

/// What cases ask: see [`suite`].
const PROMPT: &str = "Do it";
/// Where the stub listens, in a network of its own.
const STUB_PORT: u16 = 8080;
/// A result that is not only ASCII.
const ANSWER: &str = "I see hello.txt. ✓ 日本語";

/// How a client is called.
#[derive(Default)]
struct Call<'a> {
    /// Keys of its target.
    more: &'a str,
    /// Without the script that keeps the client's arguments.
    is_direct: bool,
    /// Arguments and variables of `agentv`.
    args: &'a [&'a str],
    env: &'a [(&'a str, &'a str)],
}

/// A run of one case on a client.
struct Asked {
    sandbox: Sandbox,
    ran: Ran,
    judge: JudgeDump,
}

impl Asked {
    /// Asks a client for whom the stub answers with these steps, one for each request. `more` are keys of the target.
    #[track_caller]
    fn new(client: Client, steps: &Value, more: &str) -> Option<Self> {
        Self::with(client, steps, &Call { more, ..Call::default() })
    }

    #[track_caller]
    fn with(client: Client, steps: &Value, call: &Call<'_>) -> Option<Self> {
        // Only requests that bring tools are questions of the agent itself.
        let main = if client == Client::Claude { "tools" } else { "any" };
        let scenario = json!({ "main": main, "steps": steps, "port": STUB_PORT });
        let sandbox = Sandbox::new(client, &scenario)?;
        let cx = &sandbox.cx;
        cx.write("place/hello.txt", "hello from the workspace\n");
        // One more try each, so that a failure is not a matter of minutes.
        cx.write("codex.toml", "request_max_retries = 1\nstream_max_retries = 1\n");
        let executable =
            if call.is_direct { sandbox.binary.as_path() } else { Path::new("./client") };
        let target = format!(
            "  - name: default\n    provider: {}\n    executable: {}\n    cwd: place\n{}",
            client.provider(),
            executable.display(),
            call.more,
        );
        cx.write("targets.yaml", &targets(&[target]));
        let judge = cx.judge_dump("judge", r#"{"score": 1}"#);
        cx.write("suite.yaml", &suite(json!([judge.evaluator()])));
        let eval = ["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"];
        let env = [&[("CLAUDE_CODE_MAX_RETRIES", "1")], call.env].concat();
        let ran = sandbox.run(&[&eval[..], call.args].concat(), &env);
        Some(Self { sandbox, ran, judge })
    }

    /// The record of a case that was answered.
    #[track_caller]
    fn record(&self) -> Value {
        self.ran.success().record()
    }

    /// The error of a case that was not.
    #[track_caller]
    fn error(&self) -> String {
        let record = self.ran.code(3).record();
        record["error"].as_str().unwrap().to_owned()
    }

    /// All tool calls, as judges see them, without what differs from run to run.
    #[track_caller]
    fn calls(&self) -> Vec<Value> {
        calls(&self.judge.payload())
    }

    /// Imports what the client kept in its home, replays it, and checks that judges see what they saw of the run itself.
    #[track_caller]
    fn check_replay(&self, sessions: &str) {
        let cx = &self.sandbox.cx;
        let sessions = cx.path(".home").join(sessions);
        let imported =
            self.sandbox.run(&["import", sessions.to_str().unwrap(), "--out", "past"], &[]);
        imported.success().stdout_has("Imported 1 case: past/imported.jsonl");
        assert_eq!(imported.stderr, "");
        let judge = cx.judge_dump("second", r#"{"score": 1}"#);
        let sidecar = json!({"execution": {"target": "replay", "evaluators": [judge.evaluator()]}});
        cx.write("past/imported.yaml", &sidecar.to_string());
        let ran = self.sandbox.run(&["eval", "past/imported.jsonl", "--out", "past.jsonl"], &[]);
        let (live, past) = (self.record(), ran.success().record());
        assert_eq!(live["candidate_answer"], past["candidate_answer"]);
        assert_eq!(
            live["execution_metrics"]["token_usage"],
            past["execution_metrics"]["token_usage"]
        );
        let tools = "tool_calls_by_name";
        assert_eq!(live["trace_summary"][tools], past["trace_summary"][tools]);
        assert_eq!(self.calls(), calls(&judge.payload()));
        assert_eq!(judge.payload()["question"].as_str().map(|q| q.contains(PROMPT)), Some(true));
    }

    /// The answer and what the tool printed have had secrets, and nothing that AgentV wrote has any. What the client itself
    /// keeps is not AgentV's.
    #[track_caller]
    fn check_masked(&self) {
        let record = self.record();
        assert!(record["candidate_answer"].to_string().contains("say [redacted] or"), "{record}");
        let calls = Value::from(self.calls()).to_string();
        assert!(calls.matches("[redacted]").count() > 5, "{calls}");
        let others = ["scenario.json", "requests.jsonl", ".home", "env"];
        check_clean_but(&self.sandbox.cx, &self.ran, &others);
        assert!(self.sandbox.cx.path(".agentv/logs").is_dir());
    }

    /// The agent made `made.txt` in its copy of `place`, judges saw the diff, and the original is as it was.
    #[track_caller]
    fn check_edit(&self) {
        let record = self.record();
        let file = &record["file_changes"]["files"][0];
        assert_eq!((&file["path"], &file["status"]), (&"made.txt".into(), &"added".into()));
        let payload = self.judge.payload();
        let diff = payload["file_changes"].as_str().unwrap();
        assert!(diff.contains("+++ b/made.txt\n@@ -0,0 +1 @@\n+made by the agent"), "{diff}");
        assert!(!self.sandbox.cx.path("place/made.txt").exists());
    }

    /// The prompt reached the model, and neither it nor a key was on the client's command line.
    #[track_caller]
    fn check_prompt(&self) {
        let requests = self.sandbox.requests();
        assert!(requests[0]["body"].to_string().contains(PROMPT), "{}", requests[0]);
        let arguments = self.sandbox.arguments();
        assert!(arguments.len() > 3, "{arguments:?}");
        for secret in [PROMPT, "dummy-"] {
            assert!(!arguments.iter().any(|argument| argument.contains(secret)), "{arguments:?}");
        }
    }
}

/// A client whose tool prints the secrets of its environment, and whose model repeats them. `tool` makes a call of its shell.
#[track_caller]
fn check_secrets(client: Client, tool: fn(&str) -> Value, more: &str) {
    let tool = tool("printenv TEAM_TOKEN; echo \"$LEAK\"; echo \"$LEAK\" >&2");
    let steps = json!([{"text": LEAK, "tools": [tool]}, {"text": LEAK}]);
    for format in ["summary", "json"] {
        let more = format!("{more}    log_format: {format}\n    pass_env: [TEAM_TOKEN]\n");
        let call = Call {
            more: &more,
            args: &["--report", "html=out.html", "--record", "tape.jsonl", "--verbose"],
            env: &[("TEAM_TOKEN", SECRET), ("SERVICE_TOKEN", FILE_SECRET), ("LEAK", LEAK)],
            ..Call::default()
        };
        let Some(asked) = Asked::with(client, &steps, &call) else { return };
        asked.check_masked();
    }
}

fn calls(payload: &Value) -> Vec<Value> {
    let messages = payload["output_messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let without = |call: &Value| {
        let mut call = call.clone();
        for key in ["timestamp", "duration_ms", "id"] {
            call.as_object_mut().unwrap().shift_remove(key);
        }
        call
    };
    calls.map(without).collect()
}

/// Asks with a limit during which the client reaches the tool that never ends. How long a client takes to get there is up to
/// the machine, so a limit that was too short is raised.
#[track_caller]
fn timed_out_in_a_tool(client: Client, steps: &Value, more: &str) -> Option<Asked> {
    let mut asked = None;
    for seconds in [5, 20, 80] {
        let limit = format!("    timeout_seconds: {seconds}\n{more}");
        let one = Asked::new(client, steps, &limit)?;
        let has_started = one.sandbox.cx.path("place/started").exists();
        asked = Some(one);
        if has_started {
            break;
        }
    }
    let asked = asked?;
    assert!(asked.sandbox.cx.path("place/started").exists(), "the tool was not reached");
    Some(asked)
}

/// A shell's try to read the eval file, to write outside of the workspace, and to call another port than the stub's.
const ESCAPES: &str =
    "cat $PWD/../../../suite.yaml; touch /tmp/outside; (echo > /dev/tcp/127.0.0.1/1)";

/// A client that edits its workspace in a sandbox, in which it also writes to `home`, and whose last tool tries [`ESCAPES`].
#[track_caller]
fn check_sandbox(client: Client, steps: &Value, home: &[&str], more: &str) {
    if confined().is_none() {
        return;
    }
    let sandbox = json!({"fs": "workspace", "network": [STUB_PORT], "write": home});
    let more = format!("{more}    workspace: place\n    sandbox: {sandbox}\n");
    let call = Call { more: &more, is_direct: true, ..Call::default() };
    let Some(asked) = Asked::with(client, steps, &call) else { return };
    asked.check_edit();
    let record = asked.record();
    assert_eq!(record["candidate_answer"], ANSWER);
    assert_eq!(record["provider_metadata"]["sandbox"]["network"], json!([STUB_PORT]));
    let calls = asked.calls();
    let said = calls.last().unwrap()["output"].as_str().unwrap();
    for what in ["suite.yaml", "outside'", "127.0.0.1/1"] {
        assert!(said.contains(&format!("{what}: Permission denied")), "{said}");
    }
}
