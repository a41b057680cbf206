//! Work that is done elsewhere: every job and every result goes through JSON, and the records are the same.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test fails by a panic, and reads its own files"
)]

use agentv_core::{Answered, CallContext, Log, ProviderError, Request, Response, prompt};
use agentv_runtime::config::Env;
use agentv_runtime::run::{
    AnswerSource, Batch, EventSink, Executed, Executor, LocalExecutor, Reporter, Work,
};
use agentv_runtime::session::{
    Environment, JobReader, JobWriter, Order, ReadBatch, Session, Summary,
};
use agentv_wire::{ClusterSpec, Exit, RunSpec};
use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Says nothing.
#[derive(Debug)]
struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _event: &agentv_wire::RunEvent) {}
}

/// Does the work in this process, but hands it over as another machine would get it.
#[derive(Debug)]
struct ThroughJson {
    writer: JobWriter,
    reader: JobReader,
    local: LocalExecutor,
}

#[async_trait]
impl Executor for ThroughJson {
    async fn execute(
        &self,
        work: &Work,
        source: Box<dyn AnswerSource>,
        sink: &dyn EventSink,
        cancel: &CancellationToken,
    ) -> Executed {
        let job = through_json(&self.writer.job(work, source).unwrap().job);
        let (there, source) = self.reader.work(job).unwrap();
        let sink = SinkThroughJson { work, sink };
        through_json(&self.local.execute(&there, source, &sink, cancel).await)
    }

    async fn ask_batch(
        &self,
        batch: Batch<'_>,
        cx: &CallContext,
    ) -> Result<Vec<Response>, ProviderError> {
        let job = through_json(&self.writer.batch_job(batch).unwrap().job);
        let ReadBatch { lane, cases, trial } = self.reader.batch(job).unwrap();
        let mode = lane.target.provider.info().prompt_mode;
        let requests: Vec<Request> = cases.iter().map(|case| prompt::build(case, mode)).collect();
        let there = Batch { lane: &lane, trial, cases: &cases, requests: &requests };
        there.ask(cx).await.map(|responses| through_json(&responses))
    }
}

/// Brings what it hears back to the run that ordered the work.
#[derive(Debug)]
struct SinkThroughJson<'a> {
    work: &'a Work,
    sink: &'a dyn EventSink,
}

#[async_trait]
impl EventSink for SinkThroughJson<'_> {
    async fn started(&self, _work: &Work) {
        self.sink.started(self.work).await;
    }

    async fn answered(&self, _work: &Work, request: &Request, answered: &Answered) {
        self.sink.answered(self.work, request, &through_json(answered)).await;
    }

    async fn grading(&self, _work: &Work) {
        self.sink.grading(self.work).await;
    }

    async fn free_worker(&self) {
        self.sink.free_worker().await;
    }

    fn log(&self) -> &Arc<dyn Log> {
        self.sink.log()
    }
}

fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

const SUITE: &str = r#"
description: Two targets, several kinds of evaluators
vars: { shop: Lamps }
execution:
  pass_score: 0.5
  trials: 2
evalcases:
  - id: says-ok
    criteria: Says ok
    input: "Is {{ shop }} open?"
    tags: [fast]
    metadata: { owner: team-a }
    evaluators:
      - { name: ok, type: contains, value: ok }
      - { name: script, type: code_judge, script: [sh, -c, 'cat > /dev/null; echo "{\"score\": 0.75}"'] }
  - id: with-file
    criteria: Reads the file
    input:
      - role: user
        content:
          - { type: file, value: policy.md }
          - { type: text, value: What is the rule? }
    evaluators:
      - name: both
        type: composite
        aggregator: { type: weighted_average }
        evaluators:
          - { name: ok, type: contains, value: ok }
          - { name: never, type: contains, value: never }
  - id: judged-by-a-broken-judge
    criteria: Cannot be graded
    input: Hello
    evaluators:
      - { name: broken, type: code_judge, script: [sh, -c, 'exit 3'] }
  - id: fails
    criteria: Has no answer
    input: break
    execution: { target: command }
    evaluators:
      - { name: ok, type: contains, value: ok }
"#;

const TARGETS: &str = r"
targets:
  - { name: default, provider: mock, response: ok then }
  - name: command
    provider: cli
    command_template: 'echo nothing here >&2; exit 4'
";

fn project(dir: &Path) -> Vec<PathBuf> {
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    write(".git/HEAD", "ref: refs/heads/main\n");
    write("targets.yaml", TARGETS);
    write("evals/policy.md", "Lamps can be returned for 30 days.");
    write("rows.yaml", "execution: { evaluators: [{ name: ok, type: contains, value: ok }] }\n");
    let rows = write(
        "rows.jsonl",
        "{\"id\": \"a\", \"input\": \"one\", \"criteria\": \"x\"}\n{\"input\": \"two\", \"criteria\": \"x\"}\n",
    );
    vec![write("evals/suite.yaml", SUITE), rows]
}

async fn run(suites: Vec<PathBuf>, dir: &Path, out: &str, is_elsewhere: bool) -> (Summary, Value) {
    let environment = Environment::at(dir.to_owned(), Env::default());
    let cluster = is_elsewhere.then(|| ClusterSpec { url: String::new(), prefix: String::new() });
    let spec = RunSpec { suites, out: Some(dir.join(out)), cluster, ..RunSpec::default() };
    let order = Order { spec: spec.clone(), ..Order::default() };
    let opened = Session::open(order, &environment).await.expect("the run can be opened");
    let mut session = opened.session;
    if is_elsewhere {
        let reader = JobReader::new(&environment, spec, session.run_id()).unwrap();
        let local = reader.executor();
        let writer = JobWriter::new(&environment);
        session = session.with_executor(Arc::new(ThroughJson { writer, reader, local }));
    }
    let summary = session.run(Box::new(Silent)).await;
    let records = fs::read_to_string(dir.join(out)).unwrap();
    let mut records: Vec<Value> =
        records.lines().map(|line| timeless(serde_json::from_str(line).unwrap())).collect();
    records.sort_by_key(|record| {
        let word = |key: &str| record[key].to_string();
        [word("suite"), word("eval_id"), word("trial")]
    });
    (summary, Value::Array(records))
}

/// A record without what differs from run to run.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for key in ["timestamp", "duration_ms"] {
                fields.shift_remove(key);
            }
            for field in fields.values_mut() {
                *field = timeless(field.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = timeless(item.take());
            }
        }
        _ => {}
    }
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_and_results_that_go_through_json_give_the_same_records() {
    let dir = tempfile::tempdir().unwrap();
    let suites = project(dir.path());
    let (here, expected) = Box::pin(run(suites.clone(), dir.path(), "here.jsonl", false)).await;
    let (there, found) = Box::pin(run(suites, dir.path(), "there.jsonl", true)).await;
    assert_eq!(expected.as_array().unwrap().len(), 10, "four cases twice, and two rows");
    assert_eq!(found, expected);
    assert_eq!(here.conclusion.exit, Exit::Incomplete);
    assert_eq!(there.conclusion.exit, Exit::Incomplete);
    assert_eq!(there.outcome.totals.all.counts, here.outcome.totals.all.counts);
}
