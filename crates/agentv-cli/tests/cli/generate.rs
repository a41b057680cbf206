//! `agentv generate rubrics`: a model writes into the user's file, and touches nothing else in it.

use crate::context;
use agentv_test_support::{
    FakeLlm, FakeReply, Ran, TestContext, mock_target, openai_target, targets,
};
use std::fs;

/// One rubric, and how the file shows it at the indent of a case's keys.
const REPLY: &str = r#"Here: {"rubrics": [{"id": "a", "expected_outcome": "Says: hi", "weight": 2, "required": false}]}"#;

fn written(indent: usize) -> String {
    let pad = " ".repeat(indent);
    format!(
        "{pad}rubrics:\n{pad}  - id: a\n{pad}    expected_outcome: \"Says: hi\"\n{pad}    weight: 2\n{pad}    required: false\n"
    )
}

/// Runs the command on `suite.yaml` with a model that says this.
#[track_caller]
fn generate(cx: &TestContext, suite: &str, api: &FakeLlm) -> Ran {
    cx.write("targets.yaml", &targets(&[openai_target("default", &api.url())]));
    cx.write("suite.yaml", suite);
    cx.agentv(["generate", "rubrics", "suite.yaml"]).run()
}

/// In the file, `<RUBRICS n>` on a line of its own stands for where rubrics appear, at this indent. The rest must stay as it
/// is, and the result must be a sound file.
#[track_caller]
fn check(with_marks: &str) {
    let (mut before, mut after, mut cases) = (String::new(), String::new(), 0);
    for line in with_marks.split_inclusive('\n') {
        if let Some(mark) = line.trim().strip_prefix("<RUBRICS ") {
            after += &written(mark.trim_end_matches('>').parse().unwrap());
            cases += 1;
        } else {
            before += line;
            after += line;
        }
    }
    let cx = context();
    let api = FakeLlm::answering(REPLY);
    let ran = generate(&cx, &before, &api);
    ran.success().stdout_has(&format!("Updated {cases} cases with generated rubrics"));
    assert_eq!(cx.read("suite.yaml"), after);
    cx.agentv(["validate", "suite.yaml"]).run().success();
    // All have rubrics now, so there is nothing left to do.
    let ran = cx.agentv(["generate", "rubrics", "suite.yaml"]).run();
    ran.success().stdout_has("No cases updated").stdout_lacks("Generating rubrics for: one");
    assert_eq!((cx.read("suite.yaml"), api.asked().len()), (after, cases));
}

#[test]
fn comments_and_layout_are_kept_byte_for_byte() {
    check(
        "\
# What this is for.
dataset:   demo   # odd spaces
evalcases:

  # The first.
  - id: one
    expected_outcome: 'Says hi'   # politely
    input: |
      Two
      lines
    <RUBRICS 4>

  -   id: two
      outcome: \"x\"
      # About the input.
      input: q  # the end
      <RUBRICS 6>
# At the very end.
",
    );
}

#[test]
fn values_that_end_in_odd_ways_are_kept() {
    check(
        "\
evalcases:
- id: one
  expected_outcome: x
  input: q
  tags: [
    a,
    b,
  ]
  <RUBRICS 2>
- id: two
  expected_outcome: x
  input: >-
    folded
    text

    <RUBRICS 2>
- id: three
  expected_outcome: x
  input: 'in
    quotes'
  <RUBRICS 2>
- id: four
  expected_outcome: x
  input_messages:
    - {role: user, content: hi}
  <RUBRICS 2>
"
        .replace("    text\n\n    <RUBRICS 2>", "    text\n  <RUBRICS 2>\n")
        .as_str(),
    );
}

#[test]
fn anchors_and_merges_are_kept() {
    check(
        "\
shared: &graders
  - {type: contains, value: hi}
base: &base
  expected_outcome: x
evalcases:
  - id: one
    expected_outcome: x
    input: &question How?
    evaluators: *graders
    <RUBRICS 4>
  - id: two
    expected_outcome: x
    input: *question
    <RUBRICS 4>
  - <<: *base
    id: three
    input: q
    <RUBRICS 4>
",
    );
}

#[test]
fn text_that_keeps_its_blank_lines_keeps_them() {
    check(
        "\
evalcases:
  - id: one
    expected_outcome: x
    input: |+
      # A heading

    <RUBRICS 4>
  - id: two
    expected_outcome: x
    input: |
      # A heading

    # A remark on this case.
    <RUBRICS 4>

  # A remark on the next one.
",
    );
}

#[test]
fn a_case_that_has_no_place_for_rubrics_is_skipped() {
    // In braces, by an alias, and with an anchor: rubrics of the one would be those of the other.
    let text = "\
evalcases:
  - {id: brief, expected_outcome: x, input: q}
  - {
    id: braces,
    expected_outcome: x,
    input: q
  }
  - &anchor
    id: anchored
    expected_outcome: x
    input: q
  - <<: *anchor
    id: merged
  - id: one
    expected_outcome: x
    input: q
";
    let cx = context();
    let api = FakeLlm::answering(REPLY);
    let ran = generate(&cx, text, &api);
    ran.success().stdout_has("Updated 2 cases").stdout_has("Skipped 3 cases");
    let merged = text.replace("    id: merged\n", &format!("    id: merged\n{}", written(4)));
    assert_eq!(cx.read("suite.yaml"), merged + &written(4));
}

#[test]
fn lines_may_end_as_on_windows() {
    let text = "evalcases:\r\n  - id: one\r\n    expected_outcome: x\r\n    input: q\r\n\r\n  - id: two\r\n    input: q\r\n    expected_outcome: y\r\n    rubrics: [z]\r\n";
    let cx = context();
    let api = FakeLlm::answering(REPLY);
    generate(&cx, text, &api).success();
    let rubrics = written(4).replace('\n', "\r\n");
    let expected = text.replace("    input: q\r\n\r\n", &format!("    input: q\r\n{rubrics}\r\n"));
    assert_eq!(cx.read("suite.yaml"), expected);
}

#[test]
fn the_model_is_told_the_case_and_the_rules() {
    let cx = context();
    let api = FakeLlm::answering(REPLY);
    let case = "evalcases:\n  - id: one\n    expected_outcome: Says hi\n    reference_answer: Hi!\n    input_messages:\n      - {role: system, content: Be brief}\n      - {role: user, content: Hello?}\n";
    generate(&cx, case, &api).success();
    let messages = &api.only().body["messages"];
    let told = messages[1]["content"].as_str().unwrap();
    assert_eq!(
        told,
        "[[ ## expected_outcome ## ]]\nSays hi\n\n[[ ## question ## ]]\nHello?\n\n[[ ## reference_answer ## ]]\nHi!"
    );
    let rules = messages[0]["content"].as_str().unwrap();
    assert!(rules.contains("single JSON object") && rules.contains("3 to 7"), "{rules}");
}

const MIXED: &str = "\
evalcases:
  - id: done
    expected_outcome: x
    input: q
    rubrics: [y]
  - id: aimless
    input: q
  - id: one
    expected_outcome: x
    input: q
";

#[test]
fn what_is_done_and_what_is_skipped_is_told() {
    let cx = context();
    let api = FakeLlm::answering(REPLY);
    let ran = generate(&cx, MIXED, &api);
    assert_eq!(
        ran.success().stdout,
        "Generating rubrics for: suite.yaml\n  Generating rubrics for: one\n\
         Updated 1 case with generated rubrics\nSkipped 2 cases\n"
    );
    assert_eq!((cx.read("suite.yaml"), ran.stderr.as_str()), (MIXED.to_owned() + &written(4), ""));
}

#[test]
fn a_model_that_fails_leaves_the_file_alone() {
    for (api, asks, why) in [
        (FakeLlm::start(|_| FakeReply::error(401, "wrong key")), 1, "401"),
        (FakeLlm::answering("no JSON"), 3, "no readable rubrics in 3 attempts"),
    ] {
        let cx = context();
        let ran = generate(&cx, MIXED, &api);
        ran.code(3).stderr_has("case `one`: ").stderr_has(why).stdout_has("No cases updated");
        assert_eq!(cx.read("suite.yaml"), MIXED);
        assert_eq!(api.asked().len(), asks);
    }
}

#[test]
fn a_case_that_fails_does_not_stop_the_others() {
    let cx = context();
    let api = FakeLlm::after([FakeReply::error(400, "too long")], REPLY);
    let text = MIXED.replace("  - id: aimless\n", "  - id: long\n    outcome: x\n");
    let ran = generate(&cx, &text, &api);
    ran.code(3).stderr_has("case `long`: ").stdout_has("Updated 1 case");
    assert_eq!(cx.read("suite.yaml"), text + &written(4));
}

#[test]
fn what_cannot_be_used_is_a_usage_error() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[mock_target("default", REPLY)]));
    let run = |args: &[&str]| cx.agentv(["generate", "rubrics"].iter().chain(args)).run();
    run(&["none.yaml"]).code(2).stderr_has("none.yaml");
    cx.write("broken.yaml", "evalcases: [\n");
    run(&["broken.yaml"]).code(2).stderr_has("broken.yaml:");
    cx.write("list.yaml", "- a\n");
    run(&["list.yaml"]).code(2).stderr_has("`evalcases`");
    cx.write("suite.yaml", MIXED);
    run(&["suite.yaml", "--target", "nobody"]).code(2).stderr_has("`nobody`");
    assert_eq!(cx.read("suite.yaml"), MIXED);
}

#[test]
fn the_target_is_chosen_as_for_a_run() {
    let cx = context();
    let api = FakeLlm::answering(REPLY);
    let entries = [mock_target("default", "no JSON"), openai_target("writer", &api.url())];
    cx.write("targets.yaml", &targets(&entries));
    cx.write("suite.yaml", MIXED);
    cx.agentv(["generate", "rubrics", "suite.yaml", "--target", "writer"]).run().success();
    cx.write("suite.yaml", &format!("execution:\n  target: writer\n{MIXED}"));
    cx.agentv(["generate", "rubrics", "suite.yaml"]).run().success();
    assert_eq!(api.asked().len(), 2);
}

#[test]
fn the_file_stays_the_file_that_it_was() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let cx = context();
    let api = FakeLlm::answering(REPLY);
    let real = cx.write("real/suite.yaml", MIXED);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    cx.write("targets.yaml", &targets(&[openai_target("default", &api.url())]));
    symlink("real/suite.yaml", cx.path("suite.yaml")).unwrap();
    cx.agentv(["generate", "rubrics", "suite.yaml"]).run().success();
    assert!(cx.path("suite.yaml").is_symlink());
    assert_eq!(cx.read("real/suite.yaml"), MIXED.to_owned() + &written(4));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(cx.path("real")).unwrap().count(), 1);
}
