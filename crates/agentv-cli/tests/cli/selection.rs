//! Which cases of the files are run.

use crate::{context, eval, ids, mocked};
use agentv_test_support::{GRADER, Ran, TestContext, cases, mock_target, targets};
use serde_json::json;
use std::collections::BTreeSet;

fn many(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("case-{number}")).collect()
}

#[track_caller]
fn with_cases(ids: &[String]) -> TestContext {
    mocked(&ids.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The same cases as a dataset.
#[track_caller]
fn dataset(cx: &TestContext, ids: &[String]) {
    let line = |id: &String| json!({ "id": id, "input": "q", "expected_outcome": "o" }).to_string();
    let lines: Vec<String> = ids.iter().map(line).collect();
    cx.write("data.jsonl", &lines.join("\n"));
    cx.write("data.yaml", &format!("execution:\n  evaluators:\n    - {GRADER}\n"));
}

#[track_caller]
fn eval_data(cx: &TestContext, more: &[&str]) -> Ran {
    cx.agentv(["eval", "data.jsonl", "--out", "out.jsonl"].iter().chain(more)).run()
}

#[test]
fn a_filter_is_a_part_of_the_id_or_a_pattern() {
    let cx = mocked(&["refund-1", "refund-2", "return-1"]);
    let ran = eval(&cx, &["--filter", "fund"]);
    assert_eq!(ids(&ran), ["refund-1", "refund-2"]);
    ran.stdout_has("Selected: 2 of 3 cases");
    assert_eq!(ids(&eval(&cx, &["--filter", "re*-1"])), ["refund-1", "return-1"]);
    let both = eval(&cx, &["--filter", "return", "--filter", "*-2"]);
    assert_eq!(ids(&both), ["refund-2", "return-1"]);
    let composed = eval(&cx, &["--filter", "refund", "--eval-id", "*-1"]);
    assert_eq!(ids(&composed), ["refund-1"]);
    eval(&cx, &[]).success().stdout_lacks("Selected:");
}

#[test]
fn no_case_at_all_is_a_mistake_that_is_explained() {
    let cx = mocked(&["a", "b"]);
    for flags in [&["--filter", "nothing"][..], &["--tag", "x"], &["--tag", "x", "--shard", "1/2"]]
    {
        let ran = eval(&cx, flags);
        ran.code(2).stderr_has("No eval cases matched the provided filters.");
        ran.stderr_has("the files have 2 cases").stderr_has(flags[0]);
        assert!(!cx.path("out.jsonl").exists());
    }
    eval(&cx, &["--filter", "[x"]).code(2).stderr_has("is not a valid pattern");
    eval(&cx, &["--shard", "3/2"])
        .code(2)
        .stderr_has("`3/2` is not a shard")
        .stderr_has("--shard 2/8");
    eval(&cx, &["--seed", "1"]).code(2).stderr_has("--sample");
}

#[test]
fn cases_are_chosen_by_tag() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    let case = |id: &str, tags: &str| {
        format!("  - {{id: {id}, input: q, expected_outcome: o, tags: {tags}}}\n")
    };
    let list = case("a", "[slow, billing]") + &case("b", "[billing]") + &case("c", "[]");
    let head = format!("execution:\n  evaluators:\n    - {GRADER}\nevalcases:\n");
    cx.write("suite.yaml", &format!("{head}{list}  - {{id: d, input: q, expected_outcome: o}}\n"));
    assert_eq!(ids(&eval(&cx, &["--tag", "billing"])), ["a", "b"]);
    assert_eq!(ids(&eval(&cx, &["--tag", "slow", "--tag", "billing"])), ["a", "b"]);
    let ran = eval(&cx, &["--tag", "billing", "--filter", "b"]);
    assert_eq!(ids(&ran), ["b"]);
    ran.stdout_has("Selected: 1 of 4 cases");
    let ran = eval(&cx, &["--tag", "biling"]);
    ran.code(2).stderr_has("no case has the tag `biling`; tags in use: `billing`, `slow`");
    let ran = eval(&cx, &["--tag", "billing", "--tag", "fast"]);
    assert_eq!(ids(&ran), ["a", "b"]);
    ran.stderr_has("warning: no case has the tag `fast`; tags in use: `billing`, `slow`");
}

#[test]
fn a_case_that_is_not_wanted_may_be_wrong() {
    let cx = mocked(&["good"]);
    let suite = cx.read("suite.yaml") + "  - {id: bad, tags: [later]}\n";
    cx.write("suite.yaml", &suite);
    eval(&cx, &[]).code(2);
    assert_eq!(ids(&eval(&cx, &["--filter", "good"])), ["good"]);
}

#[test]
fn every_case_is_in_exactly_one_shard() {
    let all = many(100);
    let cx = with_cases(&all);
    dataset(&cx, &all);
    let mut of_suites = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let from_suite = ids(&eval(&cx, &["--shard", shard]));
        // The same whatever the format, and whatever the order.
        assert_eq!(ids(&eval_data(&cx, &["--shard", shard])), from_suite);
        assert!(from_suite.len() > 15, "{shard} has {} cases", from_suite.len());
        of_suites.push(from_suite);
    }
    let mut union: Vec<String> = of_suites.concat();
    union.sort();
    let mut expected = all.clone();
    expected.sort();
    assert_eq!(union, expected);
    let mut reversed = all;
    reversed.reverse();
    let cx = with_cases(&reversed);
    assert_eq!(ids(&eval(&cx, &["--shard", "2/3"])), of_suites[1]);
    assert_eq!(ids(&eval(&cx, &["--shard", "1/1"])).len(), 100);
}

#[test]
fn a_shard_without_cases_is_no_mistake() {
    let cx = mocked(&["a"]);
    let mut records = 0;
    for shard in ["1/3", "2/3", "3/3"] {
        let ran = eval(&cx, &["--shard", shard]);
        records += ran.success().records().len();
        assert!(cx.path("out.jsonl").exists());
    }
    assert_eq!(records, 1);
}

#[test]
fn shards_merge_to_the_whole_whether_or_not_they_have_cases() {
    let cx = mocked(&["a", "b"]);
    for shard in 1..=4 {
        let args = ["eval", "suite.yaml", "--shard", &format!("{shard}/4"), "--out"];
        cx.agentv(args.iter().chain(&[format!("{shard}.jsonl").as_str()])).run().success();
    }
    let args = ["merge", "1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl", "--out", "out.jsonl"];
    cx.agentv(args).run().success();
    assert_eq!(cx.read("out.jsonl").lines().count(), 2);
}

#[test]
fn a_sample_depends_on_ids_and_seed_only() {
    let all = many(100);
    let cx = with_cases(&all);
    dataset(&cx, &all);
    let sample = |cx: &TestContext, seed: &str| {
        ids(&eval(cx, &["--sample", "20", "--seed", seed, "--workers", "4"]))
    };
    let first = sample(&cx, "1");
    assert_eq!(first.len(), 20);
    assert_eq!(sample(&cx, "1"), first);
    assert_eq!(ids(&eval_data(&cx, &["--sample", "20", "--seed", "1"])), first);
    assert_ne!(sample(&cx, "2"), first);
    assert_eq!(ids(&eval(&cx, &["--sample", "20"])), sample(&cx, "0"));
    // A larger one has the smaller one in it, and one that is too large has all.
    let larger: BTreeSet<String> =
        ids(&eval(&cx, &["--sample", "30", "--seed", "1"])).into_iter().collect();
    assert!(first.iter().all(|id| larger.contains(id)));
    assert_eq!(ids(&eval(&cx, &["--sample", "1000"])).len(), 100);
    let mut reversed = all;
    reversed.reverse();
    assert_eq!(sample(&with_cases(&reversed), "1"), first);
}

#[test]
fn a_sample_is_taken_of_all_files_and_shared_out_after() {
    let cx = with_cases(&many(30));
    cx.write("other.yaml", &cases(&["x", "y", "z"]));
    let run = |more: &[&str]| {
        let args = ["eval", "suite.yaml", "other.yaml", "--out", "out.jsonl", "--sample", "10"];
        cx.agentv(args.iter().chain(more)).run()
    };
    let whole = run(&[]);
    whole.stdout_has("Selected: 10 of 33 cases");
    let whole = ids(&whole);
    let mut union: Vec<String> =
        ["1/2", "2/2"].iter().flat_map(|shard| ids(&run(&["--shard", shard]))).collect();
    union.sort();
    assert_eq!(union, whole);
}

#[test]
fn equal_rows_can_be_drawn_apart() {
    let cx = mocked(&[]);
    dataset(&cx, &[]);
    cx.write("data.jsonl", &"{\"input\": \"q\", \"criteria\": \"c\"}\n".repeat(3));
    let drawn: BTreeSet<String> = ids(&eval_data(&cx, &["--sample", "2"])).into_iter().collect();
    assert_eq!(drawn.len(), 2, "{drawn:?}");
}

#[test]
fn a_shard_is_resumed_as_a_shard() {
    let cx = with_cases(&many(20));
    let before = ids(&eval(&cx, &["--shard", "1/2"]));
    let ran = cx.agentv(["eval", "--resume"]).run();
    ran.success().stdout_has("nothing is left to run");
    assert_eq!(cx.read("out.jsonl").lines().count(), before.len());
    let ran = cx.agentv(["eval", "--resume", "--shard", "2/2"]).run();
    ran.code(2).stderr_has("other cases or targets");
}

#[track_caller]
fn git(cx: &TestContext, args: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "a test has no runtime to ask")]
    let done = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(args)
        .current_dir(cx.dir())
        .env("HOME", cx.path(".home"))
        .output()
        .unwrap();
    assert!(done.status.success(), "git {args:?}: {done:?}");
}

/// A real repository, with a target and a judge's script.
fn repository() -> TestContext {
    let cx = context();
    std::fs::remove_dir(cx.path(".git")).unwrap();
    git(&cx, &["init", "-q", "-b", "main"]);
    cx.write(".gitignore", ".agentv\n.home\n.tmp\nout.jsonl\n");
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.script("judge.sh", "#!/bin/sh\necho '{\"score\": 1}'\n");
    cx
}

#[test]
fn only_what_changed_since_a_revision_is_run() {
    let cx = repository();
    cx.write("one.txt", "1");
    cx.write("two.txt", "2");
    let with_file = |id: &str, file: &str| {
        format!(
            "  - id: {id}\n    expected_outcome: o\n    \
             input: [{{role: user, content: [{{type: file, value: {file}}}]}}]\n    \
             evaluators: [{GRADER}]\n"
        )
    };
    let judged = "  - {id: judged, input: q, expected_outcome: o, \
         evaluators: [{name: j, type: code_judge, script: [./judge.sh]}]}\n";
    let list = with_file("one", "one.txt") + &with_file("two", "two.txt") + judged;
    cx.write("suite.yaml", &format!("evalcases:\n{list}"));
    dataset(&cx, &["d".to_owned()]);
    git(&cx, &["add", "."]);
    git(&cx, &["commit", "-qm", "first"]);
    let since = |revision: &str| {
        let args = ["eval", "suite.yaml", "data.jsonl", "--out", "out.jsonl"];
        // In a hook these name another repository.
        let run = cx.agentv(args.iter().chain(&["--changed-since", revision]));
        run.env("GIT_DIR", "/nowhere").env("GIT_INDEX_FILE", "/nowhere").run()
    };
    since("HEAD").code(2).stderr_has("the files have 4 cases").stderr_has("--changed-since");
    // In the working tree, in a commit, and a judge's script.
    cx.write("one.txt", "new");
    let ran = since("HEAD");
    assert_eq!(ids(&ran), ["one"]);
    ran.stdout_has("Selected: 1 of 4 cases");
    git(&cx, &["commit", "-qam", "second"]);
    cx.script("judge.sh", "#!/bin/sh\necho '{\"score\": 0.5}'\n");
    assert_eq!(ids(&since("HEAD")), ["judged"]);
    assert_eq!(ids(&since("HEAD~1")), ["judged", "one"]);
    // All cases of a file that was changed itself, or by the file beside it.
    cx.write("data.yaml", &(cx.read("data.yaml") + "# new\n"));
    assert_eq!(ids(&since("main")), ["d", "judged"]);
    cx.write("suite.yaml", &(cx.read("suite.yaml") + "# new\n"));
    assert_eq!(ids(&since("main")), ["d", "judged", "one", "two"]);
    since("no-such-thing").code(2).stderr_has("Git does not know the revision `no-such-thing`");
    since("--help").code(2);
}

/// Equal lists are built once, but what they depend on, and what is wrong with them, is every case's own.
#[test]
fn cases_that_are_graded_alike_depend_on_the_same_script() {
    let cx = repository();
    let case = |id: &str, grader: &str| {
        format!("  - {{id: {id}, input: q, expected_outcome: o, evaluators: [{grader}]}}\n")
    };
    let script = "{name: j, type: code_judge, script: [./judge.sh]}";
    let odd = "{type: contains, value: ok, colour: blue}";
    let list = case("a", script) + &case("b", script) + &case("c", odd) + &case("d", odd);
    cx.write("suite.yaml", &format!("evalcases:\n{list}"));
    git(&cx, &["add", "."]);
    git(&cx, &["commit", "-qm", "first"]);
    cx.script("judge.sh", "#!/bin/sh\necho '{\"score\": 0.5}'\n");
    let ran = eval(&cx, &["--changed-since", "HEAD"]);
    assert_eq!(ids(&ran), ["a", "b"]);
    let ran = eval(&cx, &[]);
    assert_eq!(ran.stderr.matches("has no key `colour`").count(), 2, "{}", ran.stderr);
}

#[test]
fn nothing_can_have_changed_outside_of_a_repository() {
    // The empty `.git` of a test's directory is none.
    let cx = mocked(&["a"]);
    let ran = eval(&cx, &["--changed-since", "HEAD"]);
    ran.code(2).stderr_has("needs a Git repository");
}
