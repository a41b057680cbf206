//! The cli provider against real commands and a real, tiny HTTP server.

use super::*;
use crate::config::{Cost, Entry, Env, Kind, Node, Notes, Span};
use crate::process::{Processes, SecretPolicy};
use agentv_core::provider::ProviderErrorKind;
use agentv_core::{EvalId, Log, LogLevel};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

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

fn env() -> Env {
    let process = [("TOKEN".to_owned(), "t0p".to_owned()), ("BLANK".to_owned(), " ".to_owned())];
    Env::new(process).with_added([("FROM_FILE".to_owned(), "dotenv".to_owned())].into())
}

/// The settings, or the messages and helps of all that is wrong.
fn settings(value: Value) -> Result<CliSettings, Vec<String>> {
    let (node, env, mut notes) = (node(value), env(), Notes::new("targets.yaml"));
    let mut fields =
        Fields::of(&node, "target `t`", Cost::Command, &mut notes, &env).expect("a mapping");
    let settings = Cli::read(&mut fields);
    fields.finish(Cli::LEFTOVERS);
    let notes: Vec<_> = notes.finish().0.into_iter().filter(|it| it.cost > Cost::Info).collect();
    let say = |note: &crate::config::Note| {
        [Some(note.message.clone()), note.help.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" / ")
    };
    match settings {
        Some(settings) if notes.is_empty() => Ok(settings),
        _ => Err(notes.iter().map(say).collect()),
    }
}

/// A provider over a directory of its own.
struct Bench {
    dir: TempDir,
    cli: Cli,
    cx: CallContext,
    log: Arc<Said>,
}

impl Bench {
    fn new(value: Value) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let deps = Deps {
            target: "t".into(),
            eval_dir: dir.path().to_owned(),
            working_dir: dir.path().to_owned(),
            project_root: dir.path().to_owned(),
            env: env(),
            secrets: SecretPolicy::default(),
            processes: Processes::new(format!("cli-{}-{:p}", std::process::id(), &raw const dir)),
            health: Arc::default(),
            redactor: Arc::default(),
        };
        let cli = Cli::from_settings(settings(value).expect("good settings"), &deps);
        let log = Arc::new(Said::default());
        let cx = CallContext { log: Arc::clone(&log) as Arc<dyn Log>, ..CallContext::quiet() };
        Self { dir, cli, cx, log }
    }

    fn command(template: &str) -> Self {
        Self::new(json!({ "command_template": template }))
    }

    async fn ask(&self) -> Result<Response, ProviderError> {
        self.cli.invoke(&request("case-1"), &self.cx).await
    }

    async fn text(&self) -> String {
        self.ask().await.expect("an answer").text.expect("text")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).expect("a file");
    }

    fn lines(&self, name: &str) -> usize {
        std::fs::read_to_string(self.dir.path().join(name)).map_or(0, |text| text.lines().count())
    }
}

#[derive(Debug, Default)]
struct Said(Mutex<Vec<(LogLevel, String)>>);

impl Log for Said {
    fn wants(&self, _level: LogLevel) -> bool {
        true
    }

    fn say(&self, level: LogLevel, text: String) {
        self.0.lock().expect("no panic").push((level, text));
    }
}

impl Said {
    fn at(&self, level: LogLevel) -> Vec<String> {
        let said = self.0.lock().expect("no panic");
        said.iter().filter(|(at, _)| *at == level).map(|(_, text)| text.clone()).collect()
    }
}

fn request(id: &str) -> Request {
    Request::plain(&EvalId::from(id), "why?".to_owned())
}

// Settings

#[test]
fn every_spelling_is_read() {
    let long = settings(json!({
        "command_template": "run {PROMPT}", "files_format": "-f {path}", "cwd": "sub", "timeout_seconds": 1.5,
        "healthcheck": {"type": "command", "command_template": "true", "cwd": "x", "timeout_seconds": 2},
        "verbose": true, "keep_temp_files": true,
    }))
    .unwrap();
    assert_eq!(long.timeout_seconds, Some(Duration::from_millis(1500)));
    let shown = format!("{long:?}");
    for (verbose, keep, files, command) in [
        ("verbose", "keepTempFiles", "filesFormat", "commandTemplate"),
        ("cliVerbose", "keepOutputFiles", "attachmentsFormat", "command"),
        ("cli_verbose", "keep_output_files", "attachments_format", "command"),
    ] {
        let other = settings(json!({
            command: "run {PROMPT}", files: "-f {path}", "cwd": "sub", "timeoutSeconds": 1.5,
            "healthcheck": {"type": "command", "commandTemplate": "true", "cwd": "x", "timeoutSeconds": 2},
            verbose: true, keep: true,
        }))
        .unwrap();
        assert_eq!(format!("{other:?}"), shown);
    }
}

#[test]
fn variables_stand_for_whole_values() {
    let settings = settings(json!({
        "command_template": "${{ TOKEN }}", "cwd": "${{ BLANK }}",
        "env": {"A": "${{ TOKEN }}", "B": "x-${{ TOKEN }}", "C": "", "PORT": 80, "ON": true},
        "healthcheck": {"type": "http", "url": "http://localhost/${{ TOKEN }}"},
    }))
    .unwrap();
    assert_eq!(settings.cwd, None);
    let values: Vec<&str> = settings.env.0.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["t0p", "x-${{ TOKEN }}", "", "80", "true"]);
    assert!(!format!("{:?}", settings.env).contains("t0p"));
}

#[track_caller]
fn check_refused(value: Value, expected: &[&str]) {
    let problems = settings(value).unwrap_err();
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, part) in problems.iter().zip(expected) {
        assert!(problem.contains(part), "{problem:?} has no {part:?}");
    }
}

#[test]
fn what_is_wrong_is_said_all_at_once() {
    check_refused(json!({}), &["target `t` needs `command_template`"]);
    check_refused(json!({"command_template": " "}), &["must not be empty"]);
    check_refused(
        json!({"command_template": "${{ NONE }}"}),
        &["`NONE`, required for `command_template`"],
    );
    check_refused(
        json!({"command_template": "x {EVAL_FILE}"}),
        &[
            "unsupported placeholder `{EVAL_FILE}` in `command_template` of target `t` / use one of `{PROMPT}`, `{GUIDELINES}`",
        ],
    );
    check_refused(
        json!({"command_template": "x", "timeout_seconds": 0, "keep_temp_files": "yes", "time_out": 1}),
        &["`timeout_seconds`", "`keep_temp_files`", "target `t` has no key `time_out`"],
    );
    check_refused(json!({"command_template": "x", "healthcheck": "http"}), &["must be a mapping"]);
    check_refused(
        json!({"command_template": "x", "healthcheck": {"type": "tcp"}}),
        &["`healthcheck` of target `t` has no type `tcp` / use `http` or `command`"],
    );
    check_refused(
        json!({"command_template": "x", "healthcheck": {"type": "http", "url": "ftp://x", "port": 1}}),
        &["must begin with `http://`", "has no key `port`"],
    );
    check_refused(
        json!({"command_template": "x", "env": {"A=B": "1", "L": [], "N": "${{ NONE }}", "E": "${{ BLANK }}"}}),
        &[
            "`A=B` cannot be",
            "`L` must be text, not a list",
            "`NONE`, for `N`, is not set",
            "`BLANK`, for `E`, is empty",
        ],
    );
    check_refused(
        json!({"command_template": "x", "env": ["A"]}),
        &["`env` of target `t` must be a mapping"],
    );
}

// One question

#[tokio::test]
async fn what_is_printed_is_the_answer() {
    assert_eq!(Bench::command("echo hello; echo; echo noise >&2").text().await, "hello");
}

#[tokio::test]
async fn the_output_file_is_the_answer_if_it_is_named() {
    let bench = Bench::command("echo noise; printf ' hello\n' > {OUTPUT_FILE}");
    assert_eq!(bench.text().await, " hello\n");
}

#[tokio::test]
async fn values_reach_the_command_as_they_are() {
    let bench = Bench::new(json!({
        "command_template": "printf '%s\\n' {PROMPT} {GUIDELINES} {EVAL_ID} {ATTEMPT} {FILES} {lower} ${HOME:+home}",
        "files_format": "{basename}={path}",
    }));
    let nasty = "it's \"x\" $(touch mark) `id` \\ {EVAL_ID}\nline 2";
    let request = Request {
        question: nasty.to_owned(),
        guidelines: "be 'good'".to_owned(),
        attempt: 2,
        guideline_paths: vec!["/g/a b.md".into()],
        file_paths: vec!["/f/c.txt".into()],
        ..request("id with 'quotes'")
    };
    let answer = bench.cli.invoke(&request, &bench.cx).await.unwrap();
    let files = "a b.md=/g/a b.md\nc.txt=/f/c.txt";
    assert_eq!(
        answer.text.unwrap(),
        format!("{nasty}\nbe 'good'\nid with 'quotes'\n2\n{files}\n{{lower}}\nhome")
    );
    assert!(!bench.dir.path().join("mark").exists());
}

#[tokio::test]
async fn a_graders_rules_come_before_its_question() {
    let bench = Bench::command("printf %s {PROMPT}; printf '|%s' {FILES} {GUIDELINES}");
    let request = Request { system_prompt: Some("Answer in JSON.".to_owned()), ..request("c") };
    let answer = bench.cli.invoke(&request, &bench.cx).await.unwrap();
    assert_eq!(answer.text.unwrap(), "Answer in JSON.\n\nwhy?|");
}

#[tokio::test]
async fn the_command_has_its_place_and_its_variables() {
    let bench = Bench::new(json!({
        "command_template": "pwd; echo $A $FROM_FILE ${AGENTV_CALL_ID:+tagged}", "cwd": "sub", "env": {"A": "one"},
    }));
    std::fs::create_dir(bench.dir.path().join("sub")).unwrap();
    let dir = bench.dir.path().canonicalize().unwrap();
    assert_eq!(bench.text().await, format!("{}/sub\none dotenv tagged", dir.display()));
}

#[tokio::test]
async fn json_output_is_understood_and_oddities_are_told() {
    let bench = Bench::command("cp out.json {OUTPUT_FILE}");
    bench.write("trace.json", r#"[{"type": "message", "text": "m"}]"#);
    let output = json!({"output_messages": [{"role": "assistant", "content": "hi"}, 7], "cost_usd": -1,
        "duration_ms": 5, "traceRef": "trace.json"});
    bench.write("out.json", &output.to_string());
    let answer = bench.ask().await.unwrap();
    assert_eq!(answer.messages.unwrap().len(), 1);
    assert_eq!(answer.trace.unwrap().len(), 1);
    assert_eq!((answer.reported.cost_usd, answer.reported.duration_ms), (None, Some(5.0)));
    let warnings = bench.log.at(LogLevel::Warning);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].starts_with("[cli-provider:t] case-1: `cost_usd` is left out"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn plain_text_leaves_the_duration_to_the_caller() {
    let answer = Bench::command("echo hi").ask().await.unwrap();
    assert_eq!(answer, Response::text("hi"));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    assert_eq!(Bench::command(r"printf 'a\377b'").text().await, "a\u{fffd}b");
    assert_eq!(Bench::command(r"printf 'a\377b' > {OUTPUT_FILE}").text().await, "a\u{fffd}b");
}

#[tokio::test]
async fn the_command_is_echoed_to_those_who_ask() {
    let bench = Bench::command("echo {EVAL_ID}");
    bench.ask().await.unwrap();
    let expected =
        format!("[cli-provider:t] cwd={} command=echo 'case-1'", bench.dir.path().display());
    assert_eq!(bench.log.at(LogLevel::Verbose), [expected]);
}

// The output file

/// Runs a command that prints the path of its output file to `path`.
async fn output_path(bench: &Bench, id: &str) -> PathBuf {
    let _ = bench.cli.invoke(&request(id), &bench.cx).await;
    std::fs::read_to_string(bench.dir.path().join("path")).unwrap().trim().into()
}

#[tokio::test]
async fn the_output_file_is_new_and_is_removed() {
    let script =
        "printf %s {OUTPUT_FILE} > path; [ ! -e {OUTPUT_FILE} ] || exit 9; echo x > {OUTPUT_FILE}";
    for end in ["", "; exit 3"] {
        let bench = Bench::command(&format!("{script}{end}"));
        let path = output_path(&bench, "../a b/é").await;
        assert!(!path.exists());
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("agentv-.._a_b__-") && name.ends_with("json"), "{name}");
        assert_eq!(path.parent(), Some(std::env::temp_dir().as_path()));
    }
}

#[tokio::test]
async fn the_output_file_can_be_kept() {
    let bench = Bench::new(json!({
        "command_template": "printf %s {OUTPUT_FILE} > path; echo x > {OUTPUT_FILE}", "keep_temp_files": true,
    }));
    let path = output_path(&bench, "c").await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "x\n");
    std::fs::remove_file(path).unwrap();
}

// Failures

async fn failure(template: &str) -> ProviderError {
    Bench::command(template).ask().await.unwrap_err()
}

#[tokio::test]
async fn a_failed_command_says_what_it_said() {
    let error = failure("echo out; echo ' no key ' >&2; exit 3").await;
    assert_eq!(error.message, "no key (exit code 3)");
    assert_eq!((error.kind, &error.metadata["exit_code"]), (ProviderErrorKind::Failed, &json!(3)));
    assert_eq!(failure("echo out; exit 4").await.message, "out (exit code 4)");
    assert_eq!(failure("exit 5").await.message, "CLI exited with code 5");
}

#[tokio::test]
async fn a_killed_command_says_so() {
    let error = failure("kill -9 $$").await;
    assert_eq!(error.message, "CLI was killed by signal 9");
    assert_eq!(error.metadata["signal"], json!(9));
    assert_eq!(failure("echo oh >&2; kill -9 $$").await.message, "oh (killed by signal 9)");
}

#[tokio::test]
async fn an_output_file_that_was_not_written_is_named() {
    let message = failure("echo hi; : {OUTPUT_FILE}").await.message;
    assert!(message.starts_with("Failed to read output file '/"), "{message}");
    assert!(message.contains("No such file") && message.contains("`{OUTPUT_FILE}`"), "{message}");
}

#[tokio::test]
async fn too_much_output_is_an_error_of_its_own() {
    let error = failure("head -c 11000000 /dev/zero").await;
    assert_eq!(error.kind, ProviderErrorKind::Failed);
    assert!(error.message.starts_with("the command printed 11000000 bytes"), "{}", error.message);
    let noisy = Bench::command("head -c 11000000 /dev/zero; echo hi > {OUTPUT_FILE}");
    assert_eq!(noisy.text().await, "hi\n");
}

#[tokio::test]
async fn a_time_out_is_a_kind_of_its_own_and_ends_the_children() {
    let bench = Bench::new(json!({
        "command_template": "setsid sleep 300 & echo $! > pid; echo x > {OUTPUT_FILE}; printf %s {OUTPUT_FILE} > path; wait",
        "timeout_seconds": 0.8,
    }));
    let error = bench.ask().await.unwrap_err();
    assert!(error.is_timeout());
    assert_eq!(error.message, "CLI provider timed out after 800ms");
    let read =
        |name| std::fs::read_to_string(bench.dir.path().join(name)).unwrap().trim().to_owned();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", read("pid"))).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    assert!(!Path::new(&read("path")).exists());
}

#[tokio::test]
async fn a_cancelled_call_is_neither_failed_nor_timed_out() {
    let bench = Bench::command("touch mark; exec sleep 300");
    let (outcome, ()) = tokio::join!(bench.ask(), async {
        while !bench.dir.path().join("mark").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bench.cx.cancel.cancel();
    });
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Cancelled);
    assert_eq!(error.message, "CLI provider request was aborted");
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    let bench = Bench::new(json!({"command_template": "true", "cwd": "none"}));
    let message = bench.ask().await.unwrap_err().message;
    assert!(message.contains("none` does not exist"), "{message}");
    let huge = Request { question: "x".repeat(3_000_000), ..request("c") };
    let bench = Bench::command("echo {PROMPT}");
    let message = bench.cli.invoke(&huge, &bench.cx).await.unwrap_err().message;
    assert!(message.contains("too long for a command line"), "{message}");
}

// Health

fn with_check(check: &Value) -> Bench {
    Bench::new(json!({"command_template": "echo x >> asked; echo hi", "healthcheck": check}))
}

fn by_command(template: &str) -> Bench {
    with_check(&json!({"type": "command", "command_template": template}))
}

#[tokio::test]
async fn the_health_check_runs_once() {
    let bench = by_command("echo {EVAL_ID}{ATTEMPT}{PROMPT}{FILES} >> checked");
    let (first, second) = tokio::join!(bench.ask(), bench.ask());
    assert!(first.is_ok() && second.is_ok());
    bench.cli.prepare(&bench.cx).await.unwrap();
    assert_eq!((bench.lines("checked"), bench.lines("asked")), (1, 2));
    let checked = std::fs::read_to_string(bench.dir.path().join("checked")).unwrap();
    assert_eq!(checked, "healthcheck0\n");
    let echo = &bench.log.at(LogLevel::Verbose)[0];
    assert!(echo.starts_with("[cli-provider:t] (healthcheck) cwd="), "{echo}");
}

#[tokio::test]
async fn a_failed_health_check_is_remembered_and_nothing_is_asked() {
    let bench = by_command("echo x >> checked; echo 'no gpu' >&2; exit 2");
    for _ in 0..2 {
        let error = bench.ask().await.unwrap_err();
        assert_eq!(error.message, "CLI healthcheck failed for 't': no gpu (exit code 2)");
    }
    assert!(bench.cli.invoke_batch(&[request("a")], &bench.cx).await.is_err());
    assert_eq!((bench.lines("checked"), bench.lines("asked")), (1, 0));
}

#[tokio::test]
async fn a_health_check_has_a_time_limit() {
    let bench = with_check(
        &json!({"type": "command", "command_template": "exec sleep 300", "timeout_seconds": 0.3}),
    );
    let message = bench.ask().await.unwrap_err().message;
    assert_eq!(message, "CLI healthcheck failed for 't': CLI provider timed out after 300ms");
}

#[tokio::test]
async fn a_stopped_health_check_is_not_remembered() {
    let bench = by_command("[ -e go ] || exec sleep 300");
    let stopped = CallContext { cancel: CancellationToken::new(), ..bench.cx.clone() };
    stopped.cancel.cancel();
    let error = bench.cli.prepare(&stopped).await.unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Cancelled);
    bench.write("go", "");
    assert!(bench.ask().await.is_ok());
}

/// Answers every connection with this status line, and counts them.
fn server(status: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/health?key=hidden", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let read = stream.read(&mut [0; 4096]).unwrap_or(0);
            seen.fetch_add(usize::from(read > 0), Ordering::SeqCst);
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
        }
    });
    (url, count)
}

#[tokio::test]
async fn a_web_address_can_be_the_health_check() {
    for status in ["200 OK", "204 No Content"] {
        let (url, count) = server(status);
        let bench = with_check(&json!({"type": "http", "url": url}));
        assert!(bench.ask().await.is_ok() && bench.ask().await.is_ok());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
    let (url, count) = server("503 Service Unavailable");
    let bench = with_check(&json!({"type": "http", "url": url}));
    for _ in 0..2 {
        let message = bench.ask().await.unwrap_err().message;
        assert_eq!(message, "CLI healthcheck failed for 't': HTTP 503 Service Unavailable");
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_web_address_that_does_not_answer_fails_the_check() {
    // Bound and never accepted from, so a connection waits for ever.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/?key=hidden", silent.local_addr().unwrap());
    let bench = with_check(&json!({"type": "http", "url": url, "timeout_seconds": 0.3}));
    let message = bench.ask().await.unwrap_err().message;
    assert_eq!(message, "CLI healthcheck failed for 't': timed out after 300ms");

    drop(silent);
    let bench = with_check(&json!({"type": "http", "url": url}));
    let message = bench.ask().await.unwrap_err().message;
    assert!(message.contains("refused") && !message.contains("hidden"), "{message}");
}

// Batches

async fn batch(bench: &Bench, ids: &[&str]) -> Result<Vec<Response>, ProviderError> {
    let requests: Vec<Request> = ids.iter().map(|id| request(id)).collect();
    bench.cli.batch().unwrap().invoke_batch(&requests, &bench.cx).await
}

#[tokio::test]
async fn a_batch_is_answered_in_the_order_of_its_requests() {
    let bench = Bench::command(
        "cp out.jsonl {OUTPUT_FILE}; echo {EVAL_ID}{PROMPT}{ATTEMPT} {OUTPUT_FILE} > seen",
    );
    bench.write(
        "out.jsonl",
        "{\"id\":\"b\",\"text\":{\"n\":1},\"duration_ms\":7}\n\n{\"id\":\"x\"}\n\
         {\"id\":\"a\",\"text\":\"t\",\"output_messages\":[{\"role\":\"assistant\",\"content\":\"hi\"}],\"cost_usd\":-1}\n\
         {\"id\":\"d\"}\n",
    );
    let answers = batch(&bench, &["a", "b", "c", "d"]).await.unwrap();
    assert_eq!(answers[0].messages.as_ref().unwrap().len(), 1);
    assert!(answers[0].reported.duration_ms.is_some());
    assert_eq!(answers[1].text.as_deref(), Some(r#"{"n":1}"#));
    assert_eq!(answers[1].reported.duration_ms, Some(7.0));
    assert_eq!(answers[2].text.as_deref(), Some("Error: Batch output missing id 'c'"));
    assert_eq!(answers[2].error.as_deref(), Some("Batch output missing id 'c'"));
    assert_eq!((&answers[3].text, &answers[3].messages), (&None, &None));

    let seen = std::fs::read_to_string(bench.dir.path().join("seen")).unwrap();
    assert!(seen.starts_with("batch0 /") && seen.ends_with(".jsonl\n"), "{seen}");
    assert!(bench.log.at(LogLevel::Verbose)[0].starts_with("[cli-provider:t] (batch size=4) cwd="));
    assert_eq!(bench.log.at(LogLevel::Warning).len(), 1);
}

#[tokio::test]
async fn a_batch_names_every_file_once() {
    let bench = Bench::command("printf '%s\\n' {FILES} > files");
    let with_files = |id: &str, files: &[&str]| Request {
        guideline_paths: vec!["/g.md".into()],
        file_paths: files.iter().map(PathBuf::from).collect(),
        ..request(id)
    };
    let requests = [with_files("a", &["/1", "/2"]), with_files("b", &["/2", "/3"])];
    bench.cli.invoke_batch(&requests, &bench.cx).await.unwrap();
    let files = std::fs::read_to_string(bench.dir.path().join("files")).unwrap();
    assert_eq!(files, "/g.md\n/1\n/2\n/3\n");
}

#[tokio::test]
async fn a_batch_that_cannot_be_assigned_fails_as_a_whole() {
    for (script, expected) in [
        (
            r#"echo '{"id":"a"}'; echo '{"id":"a"}'"#,
            "Batch output line 2: id 'a' was on a line before",
        ),
        ("echo no", "Batch output line 1: not JSON"),
        ("echo broken >&2; exit 3", "broken (exit code 3)"),
    ] {
        let message = batch(&Bench::command(script), &["a"]).await.unwrap_err().message;
        assert!(message.starts_with(expected), "{message}");
    }
}
