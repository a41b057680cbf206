//! The real `claude` and `codex`, of one version each, against a stub of their APIs. They run in a namespace whose network is
//! loopback, with dummy keys and a fresh home: see `tests/clients/sandbox.py`.

mod claude;
mod codex;
mod sandbox;

use agentv_test_support::{JudgeDump, Ran, suite, targets};
use sandbox::{Client, Sandbox};
use serde_json::{Value, json};

/// What cases ask: see [`suite`].
const PROMPT: &str = "Do it";
/// A result that is not only ASCII.
const ANSWER: &str = "I see hello.txt. ✓ 日本語";

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
        // Only requests that bring tools are questions of the agent itself.
        let main = if client == Client::Claude { "tools" } else { "any" };
        let sandbox = Sandbox::new(client, &json!({ "main": main, "steps": steps }))?;
        let cx = &sandbox.cx;
        cx.write("place/hello.txt", "hello from the workspace\n");
        // One more try each, so that a failure is not a matter of minutes.
        cx.write("codex.toml", "request_max_retries = 1\nstream_max_retries = 1\n");
        let target = format!(
            "  - name: default\n    provider: {}\n    executable: ./client\n    cwd: place\n{more}",
            client.provider()
        );
        cx.write("targets.yaml", &targets(&[target]));
        let judge = cx.judge_dump("judge", r#"{"score": 1}"#);
        cx.write("suite.yaml", &suite(json!([judge.evaluator()])));
        let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--max-retries", "0"];
        let ran = sandbox.run(&args, &[("CLAUDE_CODE_MAX_RETRIES", "1")]);
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
