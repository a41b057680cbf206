//! What a run on workers comes to: the same as without them.

use crate::{Cluster, calls, suite};
use agentv_test_support::{cli_target, mock_target, targets};
use serde_json::Value;

const SUITE: &str = r#"
vars: { shop: Lamps }
execution: { trials: 2, pass_score: 0.5 }
evalcases:
  - id: mocked
    criteria: Says ok
    input: "Is {{ shop }} open?"
    tags: [fast]
    metadata: { owner: team-a }
    evaluators:
      - { name: ok, type: contains, value: ok }
      - { name: script, type: code_judge, script: [python3, judges/judge.py] }
  - id: with-file
    criteria: Reads the file
    input:
      - role: user
        content:
          - { type: file, value: policy.md }
          - { type: text, value: What is the rule? }
    execution: { target: command }
    evaluators:
      - name: both
        type: composite
        aggregator: { type: weighted_average }
        evaluators:
          - { name: ok, type: contains, value: ok }
          - { name: schema, type: is_json, schema: schema.json }
  - id: broken-judge
    criteria: Cannot be graded
    input: Hello
    evaluators: [{ name: broken, type: code_judge, script: [sh, -c, exit 3] }]
  - id: fails
    criteria: Has no answer
    input: break
    execution: { target: broken }
    evaluators: [{ name: ok, type: contains, value: ok }]
  - id: in-workspace
    criteria: Sees its template
    input: look
    workspace: template
    execution: { target: agent }
    evaluators: [{ name: sees, type: contains, value: from the template }]
"#;

const JUDGE: &str = "import helper, json, sys\njson.load(sys.stdin)\nprint(json.dumps({'score': helper.score()}))\n";

/// A project that needs files of every kind.
fn project() -> Cluster {
    let cluster = Cluster::new(&targets(&[
        mock_target("default", "ok then"),
        cli_target("command", "echo ok"),
        cli_target("broken", "echo nothing here >&2; exit 4"),
        cli_target("agent", "cat note.txt"),
    ]));
    let cx = &cluster.cx;
    let files = "files: [judges/helper.py]\n";
    cx.write("evals/suite.yaml", &format!("{files}{SUITE}"));
    cx.write("evals/policy.md", "Lamps can be returned for 30 days.");
    cx.write("evals/schema.json", r#"{"type": "object"}"#);
    cx.write("evals/judges/judge.py", JUDGE);
    cx.write("evals/judges/helper.py", "def score():\n    return 0.75\n");
    cx.write("evals/template/note.txt", "from the template\n");
    cx.write(
        "evals/rows.yaml",
        "execution: { evaluators: [{ name: ok, type: contains, value: ok }] }\n",
    );
    cx.write("evals/rows.jsonl", "{\"id\": \"a\", \"input\": \"one\", \"criteria\": \"x\"}\n{\"input\": \"two\", \"criteria\": \"x\"}\n");
    cx.write("evals/rows.csv", "id,input,criteria\nc,three,x\n,four,x\n");
    cluster
}

/// Records without what differs from run to run, in a fixed order.
fn comparable(mut records: Vec<Value>, dir: &str) -> Vec<Value> {
    for record in &mut records {
        *record = without_times(record.take(), dir);
    }
    records.sort_by_key(|record| {
        ["suite", "eval_id", "target", "trial"].map(|key| record[key].to_string())
    });
    records
}

fn without_times(value: Value, dir: &str) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(key, _)| {
                    !["timestamp", "duration_ms", "workspace", "sha256"].contains(&key.as_str())
                })
                .map(|(key, value)| (key, without_times(value, dir)))
                .collect(),
        ),
        Value::Array(items) => items.into_iter().map(|item| without_times(item, dir)).collect(),
        Value::String(text) => Value::String(without_paths(&text, dir)),
        other => other,
    }
}

/// Paths of the project, and of a worker's copy of it, from the project.
fn without_paths(text: &str, dir: &str) -> String {
    let words =
        text.split_inclusive(|letter: char| letter.is_whitespace() || "`'\"".contains(letter));
    let shorten = |word: &str| match word.find(dir) {
        None => word.to_owned(),
        Some(start) => {
            let end = word.rfind("/evals").map_or(word.len(), |end| end + 1);
            format!("{}{}", &word[..start], &word[end.max(start)..])
        }
    };
    words.map(shorten).collect()
}

#[test]
fn records_are_the_same_as_without_workers() {
    let mut cluster = project();
    let here = cluster.cx.agentv(["eval", "evals", "--out", "here.jsonl"]).run();
    here.code(3);
    cluster.worker("one", &["-j", "2"]);
    cluster.worker("two", &["-j", "2"]);
    let there = cluster.eval(&["evals"]).run();
    there.code(3);
    let dir = cluster.cx.dir().display().to_string();
    let (here, there) = (comparable(here.records(), &dir), comparable(there.records(), &dir));
    assert_eq!(here.len(), 14, "five cases twice, and four rows");
    for (here, there) in here.iter().zip(&there) {
        assert_eq!(here, there);
    }
    assert_eq!(here.len(), there.len());
    assert!(cluster.status()["runs"].as_array().unwrap().is_empty());
}

#[test]
fn totals_gates_and_the_run_folder_are_those_of_a_local_run() {
    let mut cluster = Cluster::new(&targets(&[mock_target("default", "ok")]));
    cluster.cx.write("suite.yaml", &suite(&["a", "b", "c"]));
    cluster.worker("one", &[]);
    let ran = cluster.eval(&["suite.yaml", "--threshold", "1"]).run();
    ran.success().stdout_has("3/3").stdout_has("✓ 3 passed");
    let shown = cluster.cx.agentv(["runs", "show", "latest"]).run();
    shown.success().stdout_has("3");
    cluster.cx.agentv(["verify"]).run().success();
    let missed = cluster.eval(&["suite.yaml", "--threshold", "1", "--eval-id", "nothing-*"]).run();
    assert_ne!(missed.code, 0);
}

#[test]
fn events_of_a_case_come_in_their_order() {
    let mut cluster = Cluster::new(&targets(&[cli_target("default", "echo ok")]));
    cluster.cx.write("suite.yaml", &suite(&["a", "b"]));
    cluster.worker("one", &[]);
    let ran = cluster.eval(&["suite.yaml", "--format", "json"]).run();
    let events: Vec<Value> =
        ran.success().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for case in ["a", "b"] {
        let of_case = events.iter().filter(|event| event["eval_id"] == case);
        let names: Vec<&str> = of_case.filter_map(|event| event["event"].as_str()).collect();
        assert_eq!(names.first(), Some(&"started"), "{names:?}");
        assert_eq!(names.last(), Some(&"finished"), "{names:?}");
        assert!(names.contains(&"answered"), "{names:?}");
    }
}

#[test]
fn two_runs_share_the_workers() {
    let cluster_targets = targets(&[cli_target("default", "echo ok")]);
    let mut cluster = Cluster::new(&cluster_targets);
    let ids: Vec<String> = (0..20).map(|number| format!("case-{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    cluster.cx.write("suite.yaml", &suite(&ids));
    cluster.worker("one", &["-j", "2"]);
    let first = cluster.eval(&["suite.yaml"]).start();
    let url = cluster.server.url();
    let second =
        cluster.agentv(&["eval", "suite.yaml", "--cluster", &url, "--out", "second.jsonl"]).start();
    for ran in [first.finish(), second.finish()] {
        assert_eq!(ran.success().records().len(), 20);
    }
}

#[test]
fn a_batch_is_one_call_of_one_worker() {
    let batch = "  - name: default\n    provider: cli\n    provider_batching: true\n    command_template: 'echo called >> [DIR]/batches; while read -r line; do :; done < /dev/null; python3 [DIR]/batch.py {OUTPUT_FILE} {PROMPT}'\n";
    let mut cluster = Cluster::new("targets: []\n");
    let dir = cluster.cx.dir().display().to_string();
    let file = format!("targets:\n{}", batch.replace("[DIR]", &dir));
    cluster.cx.write("targets.yaml", &file);
    cluster.cx.write("worker/targets.yaml", &file);
    // Answers in the format of batches: a line for each case.
    cluster.cx.write(
        "batch.py",
        "import json, re, sys\nids = ['a', 'b', 'c']\nopen(sys.argv[1], 'w').write(''.join(json.dumps({'id': i, 'text': 'ok ' + i}) + '\\n' for i in ids))\n",
    );
    cluster.cx.write("suite.yaml", &suite(&["a", "b", "c"]));
    cluster.worker("one", &["-j", "2"]);
    cluster.worker("two", &["-j", "2"]);
    let ran = cluster.eval(&["suite.yaml"]).run();
    assert_eq!(ran.success().records().len(), 3);
    assert_eq!(calls(&cluster.cx.path("batches")), ["called"]);
}

#[test]
fn large_prompts_and_answers_travel_beside_the_messages() {
    let mut cluster = Cluster::new(&targets(&[cli_target("default", "cat large.txt; echo ok")]));
    cluster.cx.write("large.txt", &"All work and no play. ".repeat(150_000));
    cluster.cx.write(
        "suite.yaml",
        "evalcases:\n  - id: large\n    criteria: x\n    input:\n      - role: user\n        content: [{ type: file, value: large.txt }]\n    evaluators: [{ name: ok, type: contains, value: ok }]\n",
    );
    cluster.worker("one", &[]);
    let record = cluster.eval(&["suite.yaml"]).run().success().record();
    assert!(record["candidate_answer"].as_str().unwrap().len() > 3_000_000);
}
