//! The page as a file; `tests/browser` looks at it in a browser.

use super::{printed, records, with_results};
use crate::{context, eval};
use agentv_test_support::{TestContext, cases, cli_target, targets};
use serde_json::{Value, json};

/// What an element of data holds.
#[track_caller]
fn data(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page.split_once(&start).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// A run of one case on a target that answers this, and its page.
#[track_caller]
fn page_of(answer: &Value) -> (TestContext, String) {
    let cx = context();
    cx.write("answer.json", &answer.to_string());
    cx.write("targets.yaml", &targets(&[cli_target("default", "cat answer.json # {PROMPT}")]));
    cx.write("suite.yaml", &cases(&["a"]));
    eval(&cx, &["--report", "html=report.html"]).success();
    let page = cx.read("report.html");
    (cx, page)
}

#[test]
fn nothing_in_a_record_can_end_its_element() {
    let mut record = records()[1].clone();
    for key in ["eval_id", "dataset", "target", "candidate_answer"] {
        record[key] = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>".into();
    }
    let page = printed(&with_results(&[record]), "--html");
    assert_eq!(page.matches("alert(1)</script>").count(), 0);
    assert_eq!(page.matches("</script>").count(), 3);
    assert_eq!(page.matches("<script").count(), 3);
}

#[test]
fn the_page_names_its_script_by_its_hash_and_allows_no_other() {
    let page = printed(&with_results(&records()), "--html");
    let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert!(!page.contains("src=\"") && !page.contains("href=\""));
}

#[test]
fn the_conversation_and_what_was_expected_are_there() {
    let answer = json!({ "text": "ok", "output_messages": [
        { "role": "assistant", "tool_calls": [{ "tool": "search", "input": { "q": "<x>" }, "output": "found", "duration_ms": 12 }] },
        { "role": "assistant", "content": "ok" },
    ] });
    let (_cx, page) = page_of(&answer);
    let case = data(&page, "case-0");
    assert_eq!(case["steps"]["messages"][0]["tool_calls"][0]["input"]["q"], "<x>");
    assert_eq!(case["expected"]["outcome"], "Says ok");
    assert_eq!(case["place"], json!({ "file": "suite.yaml", "line": 5 }));
    assert_eq!(case["rerun"], "agentv eval suite.yaml --eval-id a --target default");
    assert_eq!(data(&page, "report")["columns"]["id"], json!(["a"]));
}

#[test]
fn a_mock_with_tools_shows_them_too() {
    let cx = context();
    cx.write(
        "targets.yaml",
        "targets:\n  - {name: default, provider: mock, response: ok, trace: [{type: tool_call, name: search}]}\n",
    );
    cx.write("suite.yaml", &cases(&["a"]));
    eval(&cx, &["--report", "html=report.html"]).success();
    let case = data(&cx.read("report.html"), "case-0");
    assert_eq!(case["steps"]["trace"][0]["name"], "search");
}

#[test]
fn an_eval_file_that_was_edited_since_says_nothing_of_the_run() {
    let (cx, _) = page_of(&json!({ "text": "ok" }));
    cx.write("suite.yaml", &cases(&["other", "a"]));
    cx.agentv(["report", "--html", "again.html"]).run().success();
    let case = data(&cx.read("again.html"), "case-0");
    assert!(case.get("expected").is_none());
    assert_eq!(case["place"], json!({ "file": "suite.yaml", "line": null }));
}
