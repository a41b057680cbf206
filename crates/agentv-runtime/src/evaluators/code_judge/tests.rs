//! Code judges against real scripts.

use super::*;
use crate::config::{Cost, Entry, Env, FileSearch, Node, Note, Notes, Span};
use crate::evaluators::CaseDigest;
use agentv_core::suite::{Attachment, Content, Fingerprint, InputMessage, Part, Role};
use agentv_core::{
    CallContext, Candidate, EvalCase, NamedProvider, Response, Score, Suite, Targets,
};
use agentv_wire::FailureKind;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

fn node(value: Value) -> Node<'static> {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(truth) => Kind::Bool(truth),
        Value::Number(number) => Kind::Number(number),
        Value::String(text) => Kind::Text(text.into()),
        Value::Array(items) => Kind::List(items.into_iter().map(node).collect()),
        Value::Object(map) => {
            let entry = |(key, value)| Entry {
                key: String::into(key),
                key_span: Span::default(),
                value: node(value),
            };
            Kind::Map(map.into_iter().map(entry).collect())
        }
    };
    Node::new(kind, Span::default())
}

/// A directory with judges in it.
struct Bench {
    dir: TempDir,
    cx: CallContext,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory"), cx: CallContext::quiet() }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).expect("a file");
    }

    /// The judge, if nothing is wrong with it, what is, and what the case depends on.
    fn read(&self, config: Value) -> (Option<CodeJudge>, Vec<Note>, [u8; 32]) {
        let added = [("FROM_FILE".to_owned(), "dotenv".to_owned())].into();
        let (node, env) = (node(config), Env::default().with_added(added));
        let mut notes = Notes::new("suite.yaml");
        let dir = self.dir.path();
        let search = FileSearch::new(dir, dir, dir);
        let mut fingerprint = CaseDigest::default();
        let processes = Processes::new(format!("judge-{}-{:p}", std::process::id(), self));
        let mut build = Build {
            on_error: agentv_core::evaluator::OnError::Zero,
            scrub_judges: false,
            sandbox: None,
            digests: &crate::evaluators::FileDigests::default(),
            eval_dir: dir,
            search: &search,
            processes: &processes,
            fingerprint: &mut fingerprint,
        };
        let mut fields = Fields::of(&node, "evaluator `e`", Cost::Evaluator, &mut notes, &env)
            .expect("a mapping");
        let judge = CodeJudge::read(&mut fields, &mut build);
        let is_good = !fields.failed();
        (judge.filter(|_| is_good), notes.finish().0, fingerprint.finish())
    }

    #[track_caller]
    fn judge(&self, config: Value) -> CodeJudge {
        let (judge, notes, _) = self.read(config);
        assert!(notes.is_empty(), "{notes:?}");
        judge.expect("nothing is wrong with it")
    }

    async fn grade(&self, config: Value) -> Result<Verdict, EvaluatorError> {
        let (case, candidate) = (case(self.dir.path()), candidate());
        let look = EvalContext {
            case: &case,
            candidate: &candidate,
            question: "@[User]:\nwhy?",
            targets: &Nobody,
            call: &self.cx,
        };
        self.judge(config).evaluate(&look).await
    }

    async fn shell(&self, script: &str) -> Result<Verdict, EvaluatorError> {
        self.grade(json!({ "script": script })).await
    }
}

#[derive(Debug)]
struct Nobody;

impl Targets for Nobody {
    fn judge(&self) -> Result<NamedProvider, EvaluatorError> {
        Err(EvaluatorError::new(FailureKind::Provider, "nobody"))
    }

    fn named(&self, _name: &str) -> Result<NamedProvider, EvaluatorError> {
        self.judge()
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

fn case(dir: &Path) -> EvalCase {
    let file = |name: &str| Attachment {
        display: name.to_owned(),
        path: Path::new("/files").join(name),
        text: "text".into(),
    };
    let parts = vec![
        Part::Text("why?".to_owned()),
        Part::Guideline(file("g.md")),
        Part::File(file("a.txt")),
    ];
    EvalCase {
        suite: Arc::new(Suite {
            id: "suite.yaml".into(),
            file: dir.join("suite.yaml"),
            dir: dir.to_owned(),
            dataset: "d".to_owned(),
            pass_score: Score::ONE,
            exploration_tools: Vec::new(),
            needs: std::collections::BTreeSet::new(),
            cache: None,
            trials: None,
        }),
        id: "c".into(),
        ordinal: 0,
        conversation_id: None,
        expected_outcome: "an answer".to_owned(),
        input: vec![InputMessage {
            role: Role::User,
            content: Content::Parts { parts, written: json!(["as written"]) },
            name: None,
            tool_calls: None,
        }],
        expected_messages: vec![json!({"role": "assistant", "content": "42"})],
        evaluators: Arc::new([]),
        evaluators_given: true,
        target: None,
        tags: Vec::new(),
        metadata: None,
        workspace: None,
        fingerprint: Fingerprint([0; 32]),
        written: None,
    }
}

fn candidate() -> Candidate {
    let response = json!({
        "messages": [{"role": "assistant", "content": "it's 42", "tool_calls": [{"tool": "readFile", "input": {"filePath": 1}}]}],
        "reported": {"cost_usd": 0.5}, "metadata": {"model": "m"},
    });
    let response: Response = serde_json::from_value(response).unwrap();
    Candidate::new(response, Duration::from_millis(41), &[])
}

// What goes in

#[tokio::test]
async fn the_script_reads_the_whole_case() {
    let bench = Bench::new();
    let script = "cat > payload.json; echo '{\"score\": 1}'";
    bench
        .grade(json!({"script": script, "myKey": {"aB": 1}, "timeout_seconds": 60}))
        .await
        .unwrap();
    let text = std::fs::read_to_string(bench.dir.path().join("payload.json")).unwrap();
    assert!(text.starts_with("{\n  \"question\": \"why?\",\n"), "{text}");
    let summary = json!({"event_count": 1, "tool_names": ["readFile"], "tool_calls_by_name": {"readFile": 1},
        "error_count": 0, "cost_usd": 0.5, "duration_ms": 41});
    let expected = json!({
        "question": "why?",
        "expected_outcome": "an answer",
        "expected_messages": [{"role": "assistant", "content": "42"}],
        "reference_answer": "42",
        "candidate_answer": "it's 42",
        "output_messages": [{"role": "assistant", "content": "it's 42",
            "tool_calls": [{"tool": "readFile", "input": {"filePath": 1}}]}],
        "guideline_files": ["/files/g.md"],
        "input_files": ["/files/a.txt"],
        "input_messages": [{"role": "user", "content": ["as written"]}],
        "trace_summary": summary,
        "candidate_trace": [{"type": "tool_call", "name": "readFile", "input": {"filePath": 1}}],
        "candidate_trace_summary": summary,
        "execution_metrics": {"cost_usd": 0.5, "duration_ms": 41, "exploration_ratio": 0},
        "provider_metadata": {"model": "m"},
        "config": {"myKey": {"aB": 1}, "timeout_seconds": 60},
    });
    let expected = agentv_wire::number::to_string_pretty(&expected).unwrap();
    assert_eq!(text, expected);
}

#[tokio::test]
async fn without_keys_of_its_own_the_config_is_null() {
    let bench = Bench::new();
    bench.shell("cat > payload.json; echo '{\"score\": 1}'").await.unwrap();
    let text = std::fs::read_to_string(bench.dir.path().join("payload.json")).unwrap();
    assert!(text.ends_with("  \"config\": null\n}"), "{text}");
}

#[tokio::test]
async fn arguments_are_taken_as_they_are() {
    let bench = Bench::new();
    bench.write(
        "judge.py",
        "import json, sys\nprint(json.dumps({'score': 1, 'hits': sys.argv[1:]}))",
    );
    let script = json!(["python3", "judge.py", "a b", "$HOME", "'q'"]);
    let verdict = bench.grade(json!({ "script": script })).await.unwrap();
    assert_eq!(verdict.hits, ["a b", "$HOME", "'q'"]);
    let request = json!({"script": script, "cwd": bench.dir.path()});
    assert_eq!(verdict.request, Some(request));
}

#[tokio::test]
async fn a_text_is_run_by_a_shell_that_reads_no_profile() {
    let bench = Bench::new();
    bench.write(".profile", "exit 9");
    let script = "case $- in *l*) exit 8;; esac; printf '{\"score\": 1, \"reasoning\": \"%s %s\"}' \
        \"$FROM_FILE\" \"${AGENTV_CALL_ID:+tagged}\"";
    let verdict = bench.shell(script).await.unwrap();
    assert_eq!(verdict.reasoning.as_deref(), Some("dotenv tagged"));
    assert_eq!(verdict.request.unwrap()["script"], json!(script));
    let renamed = bench.grade(json!({ "command": "echo '{\"score\": 1}'" })).await.unwrap();
    assert_eq!(renamed.score, Score::ONE);
}

#[tokio::test]
async fn the_script_runs_in_its_directory() {
    let bench = Bench::new();
    std::fs::create_dir(bench.dir.path().join("judges")).unwrap();
    let script = "printf '{\"score\": 1, \"reasoning\": \"%s\"}' \"$(basename \"$PWD\")\"";
    let verdict = bench.grade(json!({"script": script, "cwd": "/judges"})).await.unwrap();
    assert_eq!(verdict.reasoning.as_deref(), Some("judges"));
    assert_eq!(verdict.request.unwrap()["cwd"], json!(bench.dir.path().join("judges")));
}

#[tokio::test]
async fn a_script_that_reads_nothing_is_fine() {
    let bench = Bench::new();
    assert_eq!(bench.shell("exec <&-; echo '{\"score\": 1}'").await.unwrap().score, Score::ONE);
}

// What comes out

#[tokio::test]
async fn a_result_is_cleaned_and_kept() {
    let bench = Bench::new();
    bench.write(
        "out.json",
        "\n {\"score\": 1.0000001, \"hits\": [\"a\", \" \", 3, \"b\"], \"misses\": \"no\", \"reasoning\": \"r\", \"verdict\": \"fail\",\
         \"details\": {\"someKey\": [1.0, {\"B\": null}], \"a\": 1}} \n",
    );
    let verdict = bench.shell("cat out.json; echo noise >&2").await.unwrap();
    assert_eq!((verdict.score, verdict.word), (Score::ONE, None));
    assert_eq!(
        (verdict.hits.as_slice(), verdict.misses.len()),
        (&["a".to_owned(), "b".to_owned()][..], 0)
    );
    let details = verdict.details.unwrap().to_string();
    assert_eq!(details, r#"{"someKey":[1.0,{"B":null}],"a":1}"#);
}

#[tokio::test]
async fn details_are_optional() {
    let bench = Bench::new();
    for output in ["{\"score\": 0.25}", "{\"score\": 0.25, \"details\": null}"] {
        let verdict = bench.shell(&format!("echo '{output}'")).await.unwrap();
        assert_eq!((verdict.score, verdict.details), (Score::clamped(0.25), None));
    }
}

#[tokio::test]
async fn details_may_be_an_array() {
    let bench = Bench::new();
    let verdict = bench.shell("echo '{\"score\": 1, \"details\": [1, {\"a\": 2}]}'").await;
    assert_eq!(verdict.unwrap().details, Some(json!([1, {"a": 2}])));
}

// What goes wrong

#[track_caller]
fn check_failure(
    outcome: Result<Verdict, EvaluatorError>,
    kind: FailureKind,
    start: &str,
) -> String {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.starts_with(start), "{error}");
    assert_eq!(error.misses, Some(vec![format!("Code evaluator failed: {}", error.message)]));
    let request = error.request.unwrap();
    assert_eq!(request["error"], json!(error.message));
    assert!(request["script"].is_string() || request["script"].is_array());
    error.message
}

async fn check(script: &str, kind: FailureKind, start: &str) -> String {
    check_failure(Bench::new().shell(script).await, kind, start)
}

#[tokio::test]
async fn output_that_is_no_result_is_named() {
    let message =
        check("echo all good", FailureKind::Parse, "the script's stdout is not JSON (").await;
    assert!(message.contains("print one JSON object such as `{\"score\": 0.5}`"), "{message}");
    assert!(message.ends_with("it printed: all good"), "{message}");
    check("true", FailureKind::Parse, "the script printed nothing; print one").await;
    check(
        "echo '{\"score\": 1} {\"score\": 1}'",
        FailureKind::Parse,
        "the script's stdout is not JSON",
    )
    .await;
    check("echo log; echo '{\"score\": 1}'", FailureKind::Parse, "the script's stdout is not JSON")
        .await;
    check("echo '{\"score\": NaN}'", FailureKind::Parse, "the script's stdout is not JSON").await;
    check("echo '[1]'", FailureKind::Parse, "the script's result is not a JSON object").await;
    for result in ["{}", "{\"score\": \"1\"}", "{\"score\": null}", "{\"score\": true}"] {
        let start = "the script's result has no `score` that is a number";
        check(&format!("echo '{result}'"), FailureKind::Parse, start).await;
    }
}

#[tokio::test]
async fn a_score_out_of_range_fails_the_grading() {
    for (score, shown) in [("95", "95"), ("-3", "-3"), ("1.00001", "1.00001"), ("1e300", "1000")] {
        let script = format!("echo '{{\"score\": {score}}}'");
        let start = format!("scores are between 0 and 1; got {shown}");
        check(&script, FailureKind::ScoreRange, &start).await;
    }
}

#[tokio::test]
async fn details_that_are_neither_object_nor_array_fail_the_grading() {
    for (details, found) in [("\"x\"", "text"), ("1", "a number"), ("true", "true or false")] {
        let start =
            format!("`details` in the script's result must be a JSON object or array, not {found}");
        let script = format!("echo '{{\"score\": 1, \"details\": {details}}}'");
        check(&script, FailureKind::Parse, &start).await;
    }
}

#[tokio::test]
async fn output_may_be_anything() {
    check(r"printf '\377\000'", FailureKind::Parse, "the script's stdout is not JSON").await;
    check(
        "head -c 11000000 /dev/zero",
        FailureKind::Parse,
        "the script printed 514240 bytes too many",
    )
    .await;
}

#[tokio::test]
async fn an_exit_code_beats_whatever_was_printed() {
    let script = "echo '{\"score\": 1}'; echo 'no module' >&2; exit 3";
    let message = check(script, FailureKind::Provider, "Code evaluator exited with code 3").await;
    assert_eq!(message, "Code evaluator exited with code 3: no module");
    let message = check("exit 4", FailureKind::Provider, "").await;
    assert_eq!(message, "Code evaluator exited with code 4");
    let script = "head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1";
    let message =
        check(script, FailureKind::Provider, "Code evaluator exited with code 1: xxx").await;
    assert_eq!(message.chars().filter(|c| *c == 'x').count(), 2000 + "exited".matches('x').count());
}

#[tokio::test]
async fn a_killed_script_is_a_failure() {
    let message = check("echo '{\"score\": 1}'; kill -9 $$", FailureKind::Provider, "").await;
    assert_eq!(message, "Code evaluator was killed by signal 9");
}

#[tokio::test]
async fn a_python_error_reaches_the_record() {
    let bench = Bench::new();
    bench
        .write("judge.py", "import json, sys\ndata = json.load(sys.stdin)\nprint(data['nothing'])");
    let outcome = bench.grade(json!({"script": ["python3", "judge.py"]})).await;
    let message = check_failure(
        outcome,
        FailureKind::Provider,
        "Code evaluator exited with code 1: Traceback",
    );
    assert!(message.ends_with("KeyError: 'nothing'"), "{message}");
}

#[tokio::test]
async fn a_script_that_takes_too_long_is_ended_with_its_children() {
    let bench = Bench::new();
    let script = "setsid sleep 300 & echo $! > pid; wait";
    let outcome = bench.grade(json!({"script": script, "timeout_seconds": 0.8})).await;
    let message = check_failure(outcome, FailureKind::Timeout, "Process timed out");
    assert_eq!(message, "Process timed out after 800ms");
    let pid = std::fs::read_to_string(bench.dir.path().join("pid")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[tokio::test]
async fn the_callers_time_limit_holds_where_there_is_no_own() {
    let mut bench = Bench::new();
    bench.cx.time_limit = Some(Duration::from_millis(300));
    let outcome = bench.shell("exec sleep 300").await;
    check_failure(outcome, FailureKind::Timeout, "Process timed out after 300ms");
    let own = json!({"script": "sleep 0.4; echo '{\"score\": 1}'", "timeout_seconds": 60});
    assert!(bench.grade(own).await.is_ok());
}

#[tokio::test]
async fn a_stopped_run_stops_the_script() {
    let bench = Bench::new();
    let (outcome, ()) = tokio::join!(bench.shell("touch mark; exec sleep 300"), async {
        while !bench.dir.path().join("mark").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bench.cx.cancel.cancel();
    });
    check_failure(outcome, FailureKind::Provider, "the run was stopped");
}

#[tokio::test]
async fn a_script_that_cannot_be_started_says_what_to_do() {
    let bench = Bench::new();
    let outcome = bench.grade(json!({"script": ["agentv-no-such-judge"]})).await;
    let message = check_failure(
        outcome,
        FailureKind::Provider,
        "cannot run `agentv-no-such-judge`: No such file",
    );
    assert!(
        message.ends_with("; install it, or correct `script`, which is run from `cwd`"),
        "{message}"
    );
    bench.write("judge.py", "");
    let outcome = bench.grade(json!({"script": ["./judge.py"]})).await;
    let message =
        check_failure(outcome, FailureKind::Provider, "cannot run `./judge.py`: Permission denied");
    assert!(message.contains("name its interpreter first"), "{message}");
}

// What is written down

#[track_caller]
fn check_refused(config: Value, expected: &str) {
    let (judge, notes, _) = Bench::new().read(config);
    assert!(judge.is_none());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].cost, Cost::Evaluator);
    assert!(notes[0].message.contains(expected), "{notes:?}");
}

#[test]
fn a_script_must_be_runnable() {
    check_refused(json!({}), "evaluator `e` needs `script`");
    for script in
        [json!([]), json!(""), json!(["a", ""]), json!(["a", 1]), json!(7), json!({"a": 1})]
    {
        check_refused(
            json!({ "script": script }),
            "`script` of evaluator `e` must be a list of texts",
        );
    }
    check_refused(json!({"script": "true", "timeout_seconds": -1}), "`timeout_seconds`");
}

#[test]
fn three_generations_of_keys_open_the_proxy() {
    let bench = Bench::new();
    let check = |mut config: Value, expected: Option<u64>| {
        config["script"] = json!("true");
        assert_eq!(bench.judge(config.clone()).config.target, expected, "{config}");
    };
    check(json!({"target": true}), Some(50));
    check(json!({"target": {"max_calls": 3}}), Some(3));
    check(json!({"target": {"maxCalls": 0}}), Some(0));
    check(json!({"judge": {}}), Some(50));
    check(json!({"use_judge_provider": true}), Some(50));
    check(json!({"useJudgeProvider": true, "judgeProvider": {"max_calls": 10}}), Some(10));
    check(json!({"target": false, "use_judge_provider": false}), None);
    check(json!({"judge_provider": {"max_calls": 10}}), None);
    check(json!({}), None);
}

#[test]
fn a_proxy_that_cannot_be_meant_stays_closed_with_a_warning() {
    for config in [
        json!({"target": "gpt"}),
        json!({"target": {"max_calls": -1}}),
        json!({"judge": {"max_calls": "x"}}),
    ] {
        let mut config = config;
        config["script"] = json!("true");
        let (judge, notes, _) = Bench::new().read(config);
        assert_eq!(judge.unwrap().config.target, None);
        assert!(!notes[0].is_error(), "{notes:?}");
    }
}

#[test]
fn a_command_beside_a_script_is_the_scripts() {
    let judge = Bench::new().judge(json!({"script": "true", "command": "mine"}));
    assert_eq!(judge.handed_on, json!({"command": "mine"}).as_object().cloned());
}

#[test]
fn a_directory_that_is_not_there_is_warned_of() {
    let (judge, notes, _) = Bench::new().read(json!({"script": "true", "cwd": "none"}));
    assert_eq!(judge.unwrap().config.cwd, Path::new("none"));
    assert!(!notes[0].is_error() && notes[0].message.contains("`none`"), "{notes:?}");
}

#[test]
fn a_case_depends_on_its_judges_scripts() {
    let bench = Bench::new();
    for script in [json!(["python3", "judge.py"]), json!("python3 judge.py --x")] {
        bench.write("judge.py", "one");
        let before = bench.read(json!({ "script": script })).2;
        bench.write("judge.py", "two");
        assert_ne!(bench.read(json!({ "script": script })).2, before);
        bench.write("other.py", "three");
        bench.write("judge.py", "one");
        assert_eq!(bench.read(json!({ "script": script })).2, before);
    }
}
