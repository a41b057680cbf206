//! Datasets in CSV and JSON, and `vars`.

use crate::{context, mocked};
use agentv_test_support::{GRADER, Ran, TestContext, cli_target, mock_target, targets};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;

/// An empty repository whose target repeats what it is asked.
#[track_caller]
fn echoing() -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets(&[cli_target("default", "printf %s {PROMPT}")]));
    cx
}

#[track_caller]
fn run(cx: &TestContext, file: &str, more: &[&str]) -> Ran {
    cx.agentv(["eval", file, "--out", "out.jsonl", "--allow-errors"].iter().chain(more)).run()
}

/// What each case was asked, in order.
#[track_caller]
fn asked(ran: &Ran) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let one = |record: Value| {
        (text(&record["eval_id"]), text(&record["lm_provider_request"]["question"]))
    };
    ran.success().records().into_iter().map(one).collect()
}

/// Runs one file without a warning and compares ids and questions.
#[track_caller]
fn check(file: &str, text: &[u8], expected: &[(&str, &str)]) {
    let cx = echoing();
    fs::write(cx.path(file), text).unwrap();
    let ran = run(&cx, file, &["--strict"]);
    let asked = asked(&ran);
    let asked: Vec<(&str, &str)> = asked.iter().map(|(id, text)| (&**id, &**text)).collect();
    assert_eq!(asked, expected);
}

#[test]
fn a_table_is_a_dataset() {
    let cx = echoing();
    cx.write(
        "cases.csv",
        "id,input,expected_outcome,expected_output,tags,conversation_id\n\
         a,Say hi,Greets,Say hi,\"smoke; fast\",c-1\n\
         b,\"Two\nlines, and a \"\"quote\"\"\",Repeats,no,,\n",
    );
    cx.write("cases.yaml", "dataset: greetings\nexecution: {evaluators: [{type: equals}]}\n");
    let ran = run(&cx, "cases.csv", &["--strict"]);
    let (a, b) = (ran.success().record_of("a"), ran.record_of("b"));
    assert_eq!((&a["score"], &b["score"]), (&json!(1), &json!(0)));
    assert_eq!(a["tags"], json!(["smoke", "fast"]));
    assert_eq!((&a["conversation_id"], &a["dataset"]), (&json!("c-1"), &json!("greetings")));
    assert_eq!(b["candidate_answer"], "Two\nlines, and a \"quote\"");
    assert_eq!(b.get("tags"), None);
    let ran = run(&cx, "cases.csv", &["--tag", "fast"]);
    assert_eq!(asked(&ran), [("a".to_owned(), "Say hi".to_owned())]);
}

#[test]
fn tables_of_all_programs_are_read() {
    let graded = "\"[{\"\"type\"\":\"\"contains\"\",\"\"value\"\":\"\"q\"\"}]\"";
    let table = |separator: &str, newline: &str| {
        let head = ["id", "Question", "Expected Outcome", "evaluators", ""].join(separator);
        let row = ["a", "q, r; s", "x", graded].join(separator);
        let quoted = row.replace("q, r; s", "\"q, r; s\"");
        let head = head.trim_end_matches(separator);
        format!("{head}{newline}{newline}{quoted}{newline}{}{newline}", separator.repeat(3))
    };
    let expected = [("a", "q, r; s")];
    for newline in ["\n", "\r\n", "\r"] {
        for (file, separator) in
            [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t"), ("A.CSV", ",")]
        {
            let text = table(separator, newline);
            check(file, text.as_bytes(), &expected);
            check(file, format!("\u{feff}{text}").as_bytes(), &expected);
            check(file, text.trim_end().as_bytes(), &expected);
        }
    }
    check("a.csv", format!("sep=|\r\n{}", table("|", "\r\n")).as_bytes(), &expected);
}

#[test]
fn what_is_wrong_in_a_table_is_shown_where_it_stands() {
    let cx = echoing();
    let mut text = b"id,input,expected_outcome,evaluators\n\
        a,\"first\nline\",x,\n\
        b,too,many,,cells\n\
        c,too few\n\
        d,q,x,no json\n\
        ,q,x,\n\
        f,,x,\n\
        g, \"q, r\",x,\n\
        h,q,\"x\"y,\n\
        i,caf\xe9,x,\n\
        j,q,x,\"[{\"\"type\"\":\"\"contians\"\",\"\"value\"\":1}]\"\n"
        .to_vec();
    text.extend_from_slice(b"k,q,\"never closed,\n");
    fs::write(cx.path("bad.csv"), &text).unwrap();
    let ran = run(&cx, "bad.csv", &[]);
    ran.code(2);
    for (text, place) in [
        ("this row has 5 cells, but the header has 4", "bad.csv:4:"),
        ("this row has 2 cells, but the header has 4", "bad.csv:5:3"),
        ("the cell under `evaluators` must be JSON: expected ident", "bad.csv:6:7"),
        ("1 row has no `id`, so it gets one from a hash of its input", "bad.csv"),
        ("case `f` has no input", "bad.csv:8:1"),
        ("remove the space before the quote", "bad.csv:9:"),
        ("there is text after the closing quote of this cell", "bad.csv:10:5"),
        ("byte 6 of this row is not UTF-8", "bad.csv:11:6"),
        ("did you mean `contains`?", "bad.csv:12:7"),
        ("the quote that opens this cell is never closed", "bad.csv:13:5"),
    ] {
        ran.stderr_has(text).stderr_has(place);
    }
    assert!(!cx.path("out.jsonl").exists());
    let kept = run(&cx, "bad.csv", &["--skip-invalid"]);
    let questions: Vec<String> = asked(&kept).into_iter().map(|(_, question)| question).collect();
    assert_eq!(questions, ["first\nline", "q"]);
    let ran = cx.agentv(["validate", "bad.csv", "--format", "json"]).run();
    let report: Value = serde_json::from_str(&ran.code(2).stdout).unwrap();
    assert_eq!(report["files"][0]["notes"].as_array().unwrap().len(), 10);
}

#[test]
fn lines_are_counted_however_they_end() {
    for newline in ["\n", "\r\n", "\r"] {
        let cx = echoing();
        let rows = ["id,input,criteria", "a,q,x", "", "b,\"q", "q\",x", "c,q"];
        cx.write("t.csv", &rows.join(newline));
        run(&cx, "t.csv", &[]).code(2).stderr_has("t.csv:6:3").stderr_has("c,q");
    }
}

/// Checks that a table is refused with this message at this place.
#[track_caller]
fn refused(text: &str, message: &str, place: &str) {
    let cx = echoing();
    cx.write("t.csv", text);
    run(&cx, "t.csv", &[]).code(2).stderr_has(message).stderr_has(place);
}

#[test]
fn what_is_wrong_with_a_header_is_said_once() {
    refused("", "the table is empty", "t.csv");
    refused("id,input,ID\n", "duplicate column `ID` (first used as column 1)", "t.csv:1:10");
    refused("id,a,criteria,a,input\n", "duplicate column `a`", "t.csv:1:15");
    let many = format!("id,inptu,criteria\n{}", "a,b,c\n".repeat(50));
    refused(&many, "did you mean `input` by `inptu`?", "error[csv::header]");
    refused("id,input\na,b\n", "missing column `criteria`", "t.csv:1:1");
    refused("\"id,input\n", "the quote that opens this cell is never closed", "t.csv:1:1");
    refused("\u{feff}id\n", "missing column `input`", "t.csv:1:1");
    let cx = echoing();
    fs::write(cx.path("t.csv"), b"\xff\xfei\0d\0").unwrap();
    run(&cx, "t.csv", &[]).code(2).stderr_has("the file is UTF-16");
    cx.write("t.csv", "input,criteria,,__metric\nq,x,note,equals\n");
    let ran = run(&cx, "t.csv", &[]);
    ran.success().stderr_has("column 3 has no name").stderr_has("`__metric` is not read");
    ran.stderr_has("no column `id`");
    assert_eq!(asked(&ran), [("row-4b48e26e21".to_owned(), "q".to_owned())]);
}

#[test]
fn other_columns_are_vars_for_texts_of_the_suite() {
    let cx = echoing();
    cx.write("capitals.csv", "id,country,Capital city\nfr,France,Paris\nes,Spain,Madrid\n");
    cx.write(
        "capitals.yaml",
        "input: Is {{Capital city}} the capital of {{ country }}?\n\
         expected_outcome: Says yes to {{ Capital city }}\n\
         expected_output: Is Paris the capital of {{ country }}?\n\
         execution: {evaluators: [{type: equals}]}\n",
    );
    let ran = run(&cx, "capitals.csv", &["--strict", "--workers", "2"]);
    let (fr, es) = (ran.success().record_of("fr"), ran.record_of("es"));
    assert_eq!(fr["candidate_answer"], "Is Paris the capital of France?");
    assert_eq!((&fr["score"], &es["score"]), (&json!(1), &json!(0)));
}

#[test]
fn a_question_is_a_var_where_the_suite_asks() {
    let cx = echoing();
    cx.write("q.csv", "id,question,criteria\na,Why?,x\n");
    assert_eq!(asked(&run(&cx, "q.csv", &[]))[0].1, "Why?");
    cx.write("q.yaml", "input: 'Briefly: {{ question }}'\n");
    assert_eq!(asked(&run(&cx, "q.csv", &["--strict"]))[0].1, "Briefly: Why?");
}

#[test]
fn json_is_a_list_of_cases_or_a_suite() {
    let case = json!({"id": "a", "input": "q", "expected_outcome": "x", "evaluators": [{"type": "contains", "value": "q"}]});
    check("a.json", json!([case]).to_string().as_bytes(), &[("a", "q")]);
    for key in ["evalcases", "tests"] {
        let suite = json!({"dataset": "d", key: [case]});
        check("a.json", format!("\u{feff}{suite:#}\r\n").as_bytes(), &[("a", "q")]);
    }
    let cx = echoing();
    cx.write("a.json", &json!([{"id": "a", "input": "q", "expected_outcome": "x"}]).to_string());
    cx.write("a.yaml", "dataset: beside\nexecution: {evaluators: [{type: equals, value: q}]}\n");
    let record = run(&cx, "a.json", &["--strict"]).success().record();
    assert_eq!((&record["dataset"], &record["score"]), (&json!("beside"), &json!(1)));
    cx.write("a.json", &json!({"evalcases": [case]}).to_string());
    run(&cx, "a.json", &[]).success().stderr_has("`a.yaml` is not read");
}

#[test]
fn what_is_wrong_in_json_is_shown_where_it_stands() {
    let cx = echoing();
    let cases = "[\n  {\"id\": \"a\", \"input\": 5},\n  7\n]\n";
    for (text, message, place) in [
        ("[\n  {\"id\": }\n]", "not valid JSON: expected value", "a.json:2:10"),
        ("", "not valid JSON: EOF while parsing a value", "a.json:1:1"),
        ("7", "the eval file must be a mapping", "a.json:1:1"),
        ("{\n\"cases\": []}", "the file has no `evalcases`", "a.json:1:1"),
        ("{\n\"evalcases\": 5}", "must be a list of cases, not a number", "a.json:2:14"),
        (cases, "`input` of case `a` must be text or a list of messages", "a.json:2:24"),
        (cases, "case number 2 must be a mapping", "a.json:3:3"),
    ] {
        cx.write("a.json", text);
        run(&cx, "a.json", &[]).code(2).stderr_has(message).stderr_has(place);
    }
    cx.write("a.json", &"[".repeat(100_000));
    run(&cx, "a.json", &[]).code(2).stderr_has("not valid JSON: recursion limit exceeded");
}

#[test]
fn a_suite_beside_a_dataset_is_not_about_it() {
    let cx = mocked(&["suite"]);
    let line = json!({"id": "a", "input": "q", "expected_outcome": "x", "evaluators": [{"type": "contains", "value": "ok"}]});
    cx.write("suite.jsonl", &format!("{line}\n"));
    let ran = cx.agentv(["eval", "suite.jsonl", "--out", "out.jsonl"]).run();
    ran.success().stderr_has("`suite.yaml` has cases or records of its own");
    assert_eq!(ran.record()["eval_id"], "a");
    // Both are eval files, whoever looks for them, and results are none.
    let both = cx.agentv(["eval", "suite.*", "--out", "out.jsonl"]).run();
    assert_eq!(both.success().records().len(), 2);
    cx.agentv(["validate", "."]).run().success().stdout_has("Total files: 3");
}

#[test]
fn a_pattern_means_datasets_and_leaves_other_files_alone() {
    let cx = mocked(&[]);
    fs::remove_file(cx.path("suite.yaml")).unwrap();
    let case = |id: &str| json!({"id": id, "input": "q", "expected_outcome": "x", "evaluators": [{"type": "contains", "value": "ok"}]});
    cx.write("evals/a.jsonl", &case("jsonl").to_string());
    cx.write("evals/b.json", &json!([case("json")]).to_string());
    cx.write("evals/c.csv", "id,input,criteria\ncsv,q,x\n");
    cx.write("evals/c.yaml", &format!("execution: {{evaluators: [{GRADER}]}}\n"));
    cx.write("evals/package.json", r#"{"name": "x"}"#);
    cx.write("evals/list.json", "[1, 2]");
    cx.write("evals/prices.csv", "product,price\nlamp,5\n");
    cx.write("evals/broken.json", "{");
    let ran = cx.agentv(["eval", "evals/*", "--strict", "--out", "out.jsonl"]).run();
    let ids: Vec<String> = asked(&ran).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["jsonl", "json", "csv"]);
    cx.agentv(["validate", "evals"]).run().success().stdout_has("Total files: 3");
    run(&cx, "evals/c.yaml", &[]).code(2).stderr_has("name the dataset that this file belongs to");
    let named = run(&cx, "evals/prices.csv", &[]);
    named.code(2).stderr_has("missing column `input`");
    run(&cx, "notes.txt", &[])
        .code(2)
        .stderr_has("eval files end in .yaml, .yml, .jsonl, .json, .csv or .tsv");
}

#[test]
fn a_table_that_changes_while_it_is_run_ends_the_run() {
    let cx = context();
    let ask = "echo 'z,q,x' >> t.csv; echo ok";
    cx.write("targets.yaml", &targets(&[cli_target("default", ask)]));
    cx.write("t.yaml", &format!("execution: {{evaluators: [{GRADER}]}}\n"));
    // A small one would be held in memory.
    let (mut table, question) = ("id,input,criteria\n".to_owned(), "q".repeat(16 << 10));
    (0..20).for_each(|number| writeln!(table, "c{number},{question},x").unwrap());
    cx.write("t.csv", &table);
    run(&cx, "t.csv", &[]).code(3).stderr_has("changed while it was being run");
}

#[test]
fn a_table_is_resumed_and_sampled_as_every_dataset() {
    let cx = echoing();
    cx.write("t.yaml", "execution: {evaluators: [{type: contains, value: q}]}\n");
    cx.write("t.csv", "id,input,criteria\na,q,x\nb,q,x\nc,r,x\n");
    assert_eq!(run(&cx, "t.csv", &["--sample", "2"]).success().records().len(), 2);
    run(&cx, "t.csv", &[]).success();
    cx.write("t.csv", "id,input,criteria\nb,q,x\nc,s,x\na,q,x\n");
    let resumed = cx.agentv(["eval", "t.csv", "--resume", "--out", "out.jsonl"]).run();
    // Only `c` is another case now; it alone is asked.
    resumed.success().stdout_has("c  default").stdout_lacks("a  default");
    assert_eq!(resumed.record_of("c")["candidate_answer"], "s");
}

/// A case of `vars.yaml`, run without a warning, with what was asked and expected.
#[track_caller]
fn with_vars(head: &str, case: &str) -> Value {
    let cx = echoing();
    let text = format!(
        "{head}evalcases:\n  - id: a\n    expected_outcome: x\n    evaluators: [{{type: regex, pattern: ''}}]\n{case}"
    );
    cx.write("vars.yaml", &text);
    run(&cx, "vars.yaml", &["--strict"]).success().record()
}

#[test]
fn vars_are_put_into_inputs_once() {
    let record = with_vars(
        "vars: {name: Ada, city: Rome, unused: x}\n",
        "    vars: {city: '{{ name }}', n: 1.50, yes: true, list: [1, {a: b}], none: null}\n    \
             input: '{{ name }} {{city}} {{  n  }} {{ yes }} {{ list }} [{{ none }}] {{ other }} {% if name %} {{ name'\n",
    );
    assert_eq!(
        record["lm_provider_request"]["question"],
        "Ada {{ name }} 1.5 true [1,{\"a\":\"b\"}] [] {{ other }} {% if name %} {{ name"
    );
}

#[test]
fn vars_are_put_into_every_text_of_a_case() {
    let cx = context();
    let judge = cx.judge_dump("judge", r#"{"score": 1}"#);
    cx.write("targets.yaml", &targets(&[mock_target("default", "ok")]));
    cx.write("docs/Rome.md", "All about Rome.");
    let case = json!({
        "id": "a",
        "vars": {"city": "Rome"},
        "criteria": "Praises {{ city }}",
        "input_messages": [
            {"role": "system", "content": "You know {{ city }}."},
            {"role": "user", "content": [{"type": "text", "value": "Go to {{ city }}"}, {"type": "file", "value": "docs/{{ city }}.md"}]},
        ],
        "expected_output": [{"role": "assistant", "content": {"to": "{{ city }}"}, "tool_calls": [{"tool": "book", "input": {"to": "{{ city }}"}}]}],
        "evaluators": [judge.evaluator()],
    });
    cx.write("s.json", &json!([case]).to_string());
    let ran = run(&cx, "s.json", &["--strict"]);
    ran.success();
    let payload = judge.payload();
    assert_eq!(payload["question"], "You know Rome. Go to Rome");
    assert_eq!(payload["expected_outcome"], "Praises Rome");
    assert_eq!(payload["expected_messages"][0]["content"]["to"], "Rome");
    assert_eq!(payload["expected_messages"][0]["tool_calls"][0]["input"]["to"], "Rome");
    assert!(payload["input_files"][0].as_str().unwrap().ends_with("docs/Rome.md"));
    assert!(!payload.to_string().contains("{{"), "{payload:#}");
    // Nothing is new in the payload: what judges see is what was asked.
    assert_eq!(payload.get("vars"), None);
}

#[test]
fn files_without_vars_are_as_they_were() {
    let record = with_vars("", "    input: 'Explain {{ name }} and {{ city }}'\n");
    assert_eq!(record["lm_provider_request"]["question"], "Explain {{ name }} and {{ city }}");
}

#[test]
fn a_name_that_is_nearly_a_var_is_warned_of() {
    let cx = echoing();
    cx.write(
        "v.jsonl",
        "{\"id\":\"a\",\"criteria\":\"x\",\"vars\":{\"country\":\"France\"},\"input\":\"Where is {{ contry }}, {{ x }}?\"}\n",
    );
    let ran = cx.agentv(["validate", "v.jsonl"]).run();
    ran.success().stderr_has("`{{ contry }}` in case `a` stays as it is: no such var");
    ran.stderr_has("help: did you mean `{{ country }}`?").stderr_has("v.jsonl:1:62");
    ran.stderr_lacks("{{ x }}` in");
    // A text of the suite is told of once, and not for each row.
    cx.write("v.csv", "id,country\na,France\nb,Spain\n");
    cx.write("v.yaml", "input: 'Where is {{ contry }}?'\nexpected_outcome: x\n");
    let ran = cx.agentv(["validate", "v.csv"]).run();
    ran.success()
        .stderr_has("`{{ contry }}` in `input` of the suite stays")
        .stderr_has("v.csv:2:1");
    ran.stderr_lacks("v.csv:3:");
}

#[test]
fn vars_must_be_a_mapping() {
    let cx = echoing();
    cx.write("v.yaml", "vars: [a]\nevalcases:\n  - {id: a, criteria: x, input: q, vars: text}\n");
    let ran = run(&cx, "v.yaml", &[]);
    ran.code(2)
        .stderr_has("`vars` of the eval file must be a mapping of names to values, not a list");
    ran.stderr_has("`vars` of case `a` must be").stderr_has("v.yaml:1:7").stderr_has("v.yaml:3:");
}

#[test]
fn another_value_of_a_var_is_another_case() {
    let cx = echoing();
    let suite = |own: &str, shared: &str| {
        cx.write(
            "v.yaml",
            &format!(
                "vars: {{city: {shared}}}\nevalcases:\n  - {{id: a, criteria: x, input: 'q {{{{ city }}}} {{{{ own }}}}', vars: {{own: {own}}}, evaluators: [{{type: contains, value: q}}]}}\n"
            ),
        );
    };
    suite("one", "Rome");
    run(&cx, "v.yaml", &[]).success();
    for (own, shared) in [("two", "Rome"), ("two", "Oslo")] {
        suite(own, shared);
        let ran = cx.agentv(["eval", "v.yaml", "--resume", "--out", "out.jsonl"]).run();
        assert_eq!(ran.success().record()["candidate_answer"], format!("q {shared} {own}"));
    }
}
