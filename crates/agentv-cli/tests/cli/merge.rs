//! `agentv merge`: shards become one file, or nothing changes.

use crate::context;
use agentv_test_support::TestContext;
use serde_json::{Value, json};

/// A record with a key that nobody knows, which must survive.
fn record(id: &str, score: f64) -> String {
    format!(
        "{{\"eval_id\":\"{id}\",\"score\":{score:.1},\"target\":\"t\",\"own\":{{\"b\":1,\"a\":2.50}}}}\n"
    )
}

fn ids(cx: &TestContext, file: &str) -> Vec<String> {
    let id = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["eval_id"].as_str().unwrap().to_owned()
    };
    cx.read(file).lines().map(id).collect()
}

/// The directory holds what the test wrote and nothing else.
#[track_caller]
fn leaves_nothing_behind(cx: &TestContext) {
    let names = std::fs::read_dir(cx.dir()).unwrap();
    let names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains("agentv-merge")), "{names:?}");
}

#[test]
fn shards_are_joined_in_order_and_byte_for_byte() {
    let cx = context();
    cx.write("b.jsonl", &(record("b1", 1.0) + &record("b2", 0.0)));
    cx.write("a.jsonl", &record("a1", 0.5));
    let ran = cx.agentv(["merge", "b.jsonl", "a.jsonl", "--out", "new/all.jsonl"]).run();
    ran.success().stdout_has("Merged 3 records of 2 files: new/all.jsonl");
    assert_eq!(
        cx.read("new/all.jsonl"),
        record("b1", 1.0) + &record("b2", 0.0) + &record("a1", 0.5)
    );
}

#[test]
fn identical_records_are_dropped_and_different_ones_refused() {
    let cx = context();
    cx.write("a.jsonl", &(record("x", 1.0) + &record("y", 1.0)));
    cx.write("b.jsonl", &(record("x", 1.0) + &record("z", 1.0)));
    let ran = cx.agentv(["merge", "a.jsonl", "b.jsonl", "-o", "all.jsonl"]).run();
    ran.success().stdout_has("Merged 3 records of 2 files (1 repeated left out)");
    assert_eq!(ids(&cx, "all.jsonl"), ["x", "y", "z"]);

    cx.write("c.jsonl", &(record("z", 1.0) + &record("x", 0.5)));
    cx.write("all.jsonl", "as before");
    let ran = cx.agentv(["merge", "a.jsonl", "c.jsonl", "-o", "all.jsonl"]).run();
    ran.code(2)
        .stderr_has("`x` on `t` has two records that differ: a.jsonl:1 and c.jsonl:2")
        .stderr_has("nothing was written");
    assert_eq!(cx.read("all.jsonl"), "as before");
    leaves_nothing_behind(&cx);
}

#[test]
fn trials_of_one_file_are_no_contradiction() {
    let cx = context();
    cx.write("a.jsonl", &(record("x", 1.0) + &record("x", 0.0) + &record("x", 1.0)));
    cx.agentv(["merge", "a.jsonl", "-o", "all.jsonl"]).run().success();
    assert_eq!(ids(&cx, "all.jsonl"), ["x", "x", "x"]);
    // Where records say which trial they are, shards may split a case.
    let trial = |trial: u64, score: f64| {
        json!({ "eval_id": "x", "score": score, "trial": trial }).to_string() + "\n"
    };
    cx.write("b.jsonl", &trial(0, 1.0));
    cx.write("c.jsonl", &trial(1, 0.0));
    cx.agentv(["merge", "b.jsonl", "c.jsonl", "-o", "all.jsonl"]).run().success();
    assert_eq!(ids(&cx, "all.jsonl").len(), 2);
}

#[test]
fn a_torn_tail_is_cut_and_told() {
    let cx = context();
    cx.write("a.jsonl", &(record("x", 1.0) + "{\"eval_id\":\"y"));
    cx.write("b.jsonl", &record("y", 1.0));
    let ran = cx.agentv(["merge", "a.jsonl", "b.jsonl", "-o", "all.jsonl"]).run();
    ran.success().stderr_has("warning: a.jsonl:2: the last record was cut off and is left out");
    assert_eq!(ids(&cx, "all.jsonl"), ["x", "y"]);
}

#[test]
fn an_input_may_be_the_output() {
    let cx = context();
    cx.write("a.jsonl", &record("x", 1.0));
    cx.write("b.jsonl", &record("y", 1.0));
    cx.agentv(["merge", "a.jsonl", "b.jsonl", "-o", "a.jsonl"]).run().success();
    assert_eq!(ids(&cx, "a.jsonl"), ["x", "y"]);
    leaves_nothing_behind(&cx);
}

#[test]
fn formats_can_be_mixed() {
    let cx = context();
    cx.write("a.jsonl", &record("x", 1.0));
    cx.write("b.yaml", "---\neval_id: y\nscore: 0.5\ntarget: t\n\n---\neval_id: x\nscore: 1\ntarget: t\nown:\n  b: 1\n  a: 2.5\n");
    let ran = cx.agentv(["merge", "a.jsonl", "b.yaml", "-o", "all.jsonl"]).run();
    ran.success().stdout_has("(1 repeated left out)");
    assert_eq!(ids(&cx, "all.jsonl"), ["x", "y"]);
    cx.agentv(["merge", "all.jsonl", "-o", "all.yaml"]).run().success();
    let ran = cx.agentv(["compare", "all.yaml", "all.jsonl"]).run();
    ran.success().stdout_has("Summary: 0 wins, 0 losses, 2 ties");
}

#[test]
fn what_cannot_be_read_or_written_is_told() {
    let cx = context();
    cx.write("a.jsonl", &record("x", 1.0));
    cx.write("bad.jsonl", "{}\n");
    cx.agentv(["merge", "a.jsonl", "bad.jsonl", "-o", "all.jsonl"])
        .run()
        .code(2)
        .stderr_has("bad.jsonl:1: not a result: missing field `eval_id`");
    cx.agentv(["merge", "a.jsonl"]).run().code(2);
    std::fs::create_dir(cx.path("folder")).unwrap();
    cx.agentv(["merge", "a.jsonl", "-o", "folder"])
        .run()
        .code(3)
        .stderr_has("`folder` cannot be written");
    assert!(!cx.path("all.jsonl").exists());
    leaves_nothing_behind(&cx);
}
