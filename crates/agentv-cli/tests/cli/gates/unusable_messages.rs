//! A case is not asked without one of its files or messages.

use crate::{eval, mocked};
use agentv_test_support::{GRADER, TestContext};

/// A suite whose first case of two has these messages.
#[track_caller]
fn with_messages(messages: &str) -> TestContext {
    let cx = mocked(&[]);
    cx.write("notes.md", "some notes\n");
    cx.write("folder/inside.md", "x\n");
    cx.write(
        "suite.yaml",
        &format!(
            "execution:\n  evaluators:\n    - {GRADER}\nevalcases:\n  - id: a\n    expected_outcome: x\n{messages}  \
             - id: b\n    expected_outcome: x\n    input: Hello\n"
        ),
    );
    cx
}

#[track_caller]
fn check_refused(messages: &str, code: &str, why: &str) {
    let cx = with_messages(messages);
    eval(&cx, &[]).code(2).stderr_has(&format!("error[{code}]")).stderr_has(why);
    assert!(!cx.path("out.jsonl").exists());
    let records = eval(&cx, &["--skip-invalid"]).success().records();
    assert_eq!(records.len(), 1, "{messages}");
    assert_eq!(records[0]["eval_id"], "b");
}

#[test]
fn a_file_that_is_missing_costs_the_case() {
    let file = |key: &str, role: &str, path: &str| {
        format!(
            "    {key}:\n      - {{role: {role}, content: [{{type: text, value: q}}, {{type: file, value: {path}}}]}}\n"
        )
    };
    let missing = "`none.md` of case `a` was not found";
    check_refused(&file("input", "user", "none.md"), "case::file", missing);
    check_refused(&file("input_messages", "user", "none.md"), "case::file", missing);
    let expected = file("expected_messages", "assistant", "none.md");
    check_refused(&format!("    input: q\n{expected}"), "case::file", missing);
    check_refused(&file("input", "user", "folder"), "case::file", "folder` of case `a`");
    let cx = with_messages(&file("input", "user", "notes.md"));
    assert_eq!(eval(&cx, &[]).success().records().len(), 2);
}

#[test]
fn an_unknown_role_costs_the_case() {
    let role = |role: &str| {
        format!(
            "    input:\n      - {{{role}content: Be brief}}\n      - {{role: user, content: q}}\n"
        )
    };
    check_refused(&role("role: sytem, "), "case::role", "did you mean `system`?");
    check_refused(&role("role: narrator, "), "case::role", "has the unknown role `narrator`");
    check_refused(&role(""), "case::role", "a message of case `a` has no `role`");
}
