//! Every view of a run shows the same numbers: terminal, JSON events, `run.json`, `runs`, and all reports.
//!
//! A scenario is a command line with the numbers that it comes to; each view says what it can of them.

use crate::context;
use crate::runs::{folder, info};
use agentv_test_support::{FakeLlm, Ran, TestContext, cli_target, openai_target};
use serde_json::{Value, json};

/// What a run comes to. A view leaves out what it does not show.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    passed: Option<usize>,
    failed: Option<usize>,
    ungraded: Option<usize>,
    errors: Option<usize>,
    not_run: Option<usize>,
    grading_errors: Option<usize>,
    mean: Option<f64>,
    /// The 95 % intervals of the mean and of the pass rate, of which two or three digits are shown to people.
    mean_interval: Option<(f64, f64)>,
    pass_interval: Option<(f64, f64)>,
    cost: Option<f64>,
    grading_cost: Option<f64>,
    tokens: Option<f64>,
}

/// Two targets of the same kind, and a judge at half a dollar a verdict. What they answer depends on a word in the question,
/// and what the judge says on a word in the answer; of `gamma` it says nothing that can be read.
fn targets() -> String {
    let reply = |when: &str, response: &str| {
        json!({
            "when": when, "response": response, "cost_usd": 0.01, "token_usage": { "input": 10, "output": 1 },
        })
    };
    let target = |name: &str| {
        json!({
            "name": name, "provider": "mock", "judge_target": "judge", "workers": 1,
            "replies": [
                reply("first", "alpha"), reply("second", "beta"), reply("third", "gamma"),
                { "when": "fourth", "error": "no connection" },
                { "when": "fifth", "responses": ["alpha", "beta"] },
            ],
        })
    };
    let verdict = |when: &str, response: &str| {
        json!({
            "when": when, "response": response, "cost_usd": 0.5, "token_usage": { "input": 100, "output": 10 },
        })
    };
    let judge = json!({
        "name": "judge", "provider": "mock",
        "replies": [
            verdict("alpha", r#"{"score": 1, "reasoning": "right"}"#),
            verdict("beta", r#"{"score": 0.25, "misses": ["half of it"], "reasoning": "thin"}"#),
            verdict("gamma", "I would rather not say."),
        ],
    });
    json!({ "targets": [target("one"), target("two"), judge] }).to_string()
}

fn case(id: &str, word: &str, evaluators: &Value) -> Value {
    json!({
        "id": id, "expected_outcome": "It is right", "evaluators": evaluators,
        "input_messages": [{ "role": "user", "content": format!("The {word} question") }],
    })
}

fn judge(name: &str) -> Value {
    json!({ "name": name, "type": "llm_judge", "max_asks": 1 })
}

fn both() -> Value {
    json!([{
        "name": "both", "type": "composite", "evaluators": [judge("strict"), judge("lenient")],
        "aggregator": { "type": "weighted_average" },
    }])
}

/// Every kind of outcome.
fn suite() -> Value {
    let alone = json!([judge("strict")]);
    let mut zero = judge("strict");
    zero["on_judge_error"] = json!("zero");
    json!({
        "execution": { "target": "one" },
        "evalcases": [
            case("pass", "first", &alone),
            case("fail", "second", &alone),
            case("pair", "first", &both()),
            case("ungraded", "third", &alone),
            case("members", "third", &both()),
            case("error", "fourth", &alone),
            case("zero", "third", &json!([zero])),
        ],
    })
}

#[track_caller]
fn repository(suite: &Value) -> TestContext {
    let cx = context();
    cx.write("targets.yaml", &targets());
    cx.write("suite.yaml", &suite.to_string());
    cx
}

#[track_caller]
fn eval(cx: &TestContext, more: &[&str]) -> Ran {
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--targets", "targets.yaml"];
    cx.agentv(args.iter().chain(more)).run()
}

/// Runs a scenario as people, scripts and programs see it, and looks at everything that it leaves.
#[track_caller]
fn check(suite: &Value, more: &[&str], expected: &Numbers) {
    check_run(
        &|more_still| {
            let cx = repository(suite);
            let ran = eval(&cx, &[more, more_still].concat());
            (cx, ran)
        },
        expected,
    );
}

/// The same for any way to run a scenario; `run` is given the flags of a view.
#[track_caller]
fn check_run(run: &dyn Fn(&[&str]) -> (TestContext, Ran), expected: &Numbers) {
    let (cx, ran) = run(&[]);
    let expected = &with_intervals(&cx, expected);
    same("the lines for scripts", &of_lines(&ran.stdout), expected);
    check_kept(&cx, expected);

    let (_cx, quiet) = run(&["--quiet"]);
    same("--quiet", &of_lines(&quiet.stdout), expected);

    let (_cx, events) = run(&["--format", "json"]);
    let events: Vec<Value> =
        events.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = events.last().unwrap();
    assert_eq!(summary["event"], "ended");
    same("the last event", &of_totals(&summary["totals"]), expected);
    let finished: Vec<Value> =
        events.iter().filter(|event| event["event"] == "finished").cloned().collect();
    same("the events of cases", &of_cases(&finished), expected);
}

/// With the intervals that the run itself has kept.
#[track_caller]
fn with_intervals(cx: &TestContext, expected: &Numbers) -> Numbers {
    let Numbers { mean_interval, pass_interval, .. } = of_totals(&info(&folder(cx))["totals"]);
    assert_eq!(mean_interval.is_some(), expected.mean.is_some());
    assert!(pass_interval.is_some());
    Numbers { mean_interval, pass_interval, ..*expected }
}

/// Everything that can be read once a run is over.
#[track_caller]
fn check_kept(cx: &TestContext, expected: &Numbers) {
    same("run.json", &of_totals(&info(&folder(cx))["totals"]), expected);
    let json = |args: &[&str]| -> Value {
        serde_json::from_str(&cx.agentv(args).run().success().stdout).unwrap()
    };
    let list = json(&["runs", "list", "--format", "json"]);
    same("runs list", &of_totals(&list["runs"][0]["totals"]), expected);
    let show = json(&["runs", "show", "--format", "json"]);
    same("runs show", &of_totals(&show["totals"]), expected);

    let report = json(&["report", "--json", "-"]);
    same("the JSON report", &of_totals(&report["summary"]), expected);
    same("its cases", &of_cases(report["cases"].as_array().unwrap()), expected);
    cx.agentv(["report", "--html", "page.html"]).run().success();
    same("the HTML page", &of_totals(&embedded(&cx.read("page.html"))["summary"]), expected);
    let print = |flag: &str| cx.agentv(["report", flag, "-"]).run().success().stdout.clone();
    same("CSV", &of_csv(&print("--csv")), expected);
    same("Markdown", &of_markdown(&print("--markdown")), expected);
    let (tests, failures, errors) = of_junit(&print("--junit"));
    let (failed, ungraded) = (expected.failed.unwrap(), expected.ungraded.unwrap());
    let not_graded = ungraded + expected.errors.unwrap();
    assert_eq!((failures, errors), (failed, not_graded), "JUnit");
    assert_eq!(tests, expected.passed.unwrap() + failed + not_graded, "JUnit");
}

/// Compares what a view shows.
#[track_caller]
fn same(view: &str, found: &Numbers, expected: &Numbers) {
    let counts = |numbers: &Numbers| {
        let Numbers { passed, failed, ungraded, errors, not_run, grading_errors, .. } = *numbers;
        [passed, failed, ungraded, errors, not_run, grading_errors]
    };
    for (found, expected) in counts(found).into_iter().zip(counts(expected)) {
        assert!(found.is_none() || found == expected, "{view}: {found:?} is not {expected:?}");
    }
    let amounts = |numbers: &Numbers| {
        let Numbers { mean, cost, grading_cost, tokens, mean_interval, pass_interval, .. } =
            *numbers;
        let ends = |interval: Option<(f64, f64)>| {
            [interval.map(|(low, _)| low), interval.map(|(_, high)| high)]
        };
        let (mean_ends, pass_ends) = (ends(mean_interval), ends(pass_interval));
        [&[mean, cost, grading_cost, tokens], &mean_ends[..], &pass_ends[..]].concat()
    };
    for (found, expected) in amounts(found).into_iter().zip(amounts(expected)) {
        // Views for people show three digits of a score and cents of a dollar.
        let is_near = |found: f64| (found - expected.unwrap_or(f64::NAN)).abs() < 0.006;
        assert!(found.is_none_or(is_near), "{view}: {found:?} is not {expected:?}");
    }
}

fn of_totals(totals: &Value) -> Numbers {
    let count = |key: &str| totals[key].as_u64().map(|count| usize::try_from(count).unwrap());
    let usage = &totals["token_usage"];
    let interval = |key: &str| Some((totals[key]["low"].as_f64()?, totals[key]["high"].as_f64()?));
    let all = ["passed", "failed", "ungraded", "errors"].map(|key| count(key).unwrap());
    assert_eq!(count("recorded"), Some(all.iter().sum()), "{totals}");
    assert_eq!(count("graded"), Some(all[0] + all[1]), "{totals}");
    Numbers {
        passed: Some(all[0]),
        failed: Some(all[1]),
        ungraded: Some(all[2]),
        errors: Some(all[3]),
        not_run: count("not_run"),
        grading_errors: count("grading_errors"),
        mean: totals["mean_score"].as_f64(),
        mean_interval: interval("mean_interval"),
        pass_interval: interval("pass_interval"),
        cost: totals["cost_usd"].as_f64(),
        grading_cost: totals["grading_cost_usd"].as_f64(),
        tokens: Some(
            usage["input"].as_f64().unwrap_or(0.0) + usage["output"].as_f64().unwrap_or(0.0),
        ),
    }
}

/// Adds up what events or reports say of each case.
fn of_cases(cases: &[Value]) -> Numbers {
    let count = |outcome| Some(cases.iter().filter(|case| case["outcome"] == outcome).count());
    let graded = cases.iter().filter(|case| case["outcome"] == "pass" || case["outcome"] == "fail");
    let scores: Vec<f64> = graded.map(|case| case["score"].as_f64().unwrap()).collect();
    Numbers {
        passed: count("pass"),
        failed: count("fail"),
        ungraded: count("ungraded"),
        errors: count("error"),
        mean: mean(&scores),
        cost: Some(cases.iter().filter_map(|case| case["cost_usd"].as_f64()).sum()),
        ..Numbers::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few cases")]
fn mean(scores: &[f64]) -> Option<f64> {
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

/// The interval in `50.0 % (15.0 % to 85.0 %)` or `0.650 (0.230 to 0.920, n=2)`.
fn interval_in(text: &str) -> Option<(f64, f64)> {
    let inner = text.split_once('(')?.1.split_once([',', ')'])?.0;
    let number = |text: &str| match text.strip_suffix(" %") {
        Some(percent) => percent.parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    };
    let (low, high) = inner.split_once(" to ")?;
    Some((number(low)?, number(high)?))
}

/// `✓ 2 passed  ✗ 1 failed  ? 1 ungraded  ! 1 error  3 not run  in 2 s`, and the lines after it.
fn of_lines(text: &str) -> Numbers {
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
    let counts = text.lines().find(|line| line.starts_with("✓ ") && line.contains(" passed  "));
    let count = |words: &[&str]| {
        let mut parts = counts.unwrap().split("  ").map(|part| part.trim_start_matches(MARKS));
        let found =
            parts.find_map(|part| part.split_once(' ').filter(|(_, word)| words.contains(word)));
        Some(found.map_or(0, |(count, _)| count.parse().unwrap()))
    };
    let first = |text: &str| text.split(' ').next().unwrap().to_owned();
    let mut grading_errors =
        text.lines().filter_map(|line| line.split_once(" grading error")?.0.parse().ok());
    Numbers {
        passed: count(&["passed"]),
        failed: count(&["failed"]),
        ungraded: count(&["ungraded"]),
        errors: count(&["error", "errors"]),
        not_run: count(&["not run"]),
        grading_errors: grading_errors.next_back().or(Some(0)),
        mean: line("mean score ").and_then(|text| first(text).parse().ok()),
        mean_interval: line("mean score ").and_then(interval_in),
        pass_interval: line("pass rate ").and_then(interval_in),
        ..Numbers::default()
    }
}

/// What is before the counts.
const MARKS: [char; 5] = ['✓', '✗', '?', '!', ' '];

fn of_csv(text: &str) -> Numbers {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let place = |name: &str| rows[0].iter().position(|title| *title == name).unwrap();
    let column = |name: &str| {
        let place = place(name);
        rows[1..].iter().map(move |row| row[place])
    };
    let count = |outcome| Some(column("outcome").filter(|cell| *cell == outcome).count());
    let sum = |name: &str| column(name).filter_map(|cell| cell.parse::<f64>().ok()).sum::<f64>();
    let graded = column("outcome").zip(column("score"));
    let graded = graded.filter(|(outcome, _)| matches!(*outcome, "pass" | "fail"));
    let scores: Vec<f64> = graded.map(|(_, score)| score.parse().unwrap()).collect();
    Numbers {
        passed: count("pass"),
        failed: count("fail"),
        ungraded: count("ungraded"),
        errors: count("error"),
        mean: mean(&scores),
        cost: Some(sum("cost_usd")),
        grading_cost: Some(sum("grading_cost_usd")),
        tokens: Some(sum("input_tokens") + sum("output_tokens")),
        ..Numbers::default()
    }
}

/// The first table: its titles, and the cells below them.
fn of_markdown(page: &str) -> Numbers {
    let mut rows = page.lines().filter(|line| line.starts_with('|'));
    let mut cells = || rows.next().unwrap().split('|').map(str::trim).collect::<Vec<_>>();
    let (titles, _, values) = (cells(), cells(), cells());
    let text = |title: &str| Some(values[titles.iter().position(|known| *known == title)?]);
    let cell = |title: &str| {
        let value = text(title)?.split(' ').next().unwrap();
        value.trim_start_matches('$').parse::<f64>().ok()
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    let count = |title| Some(cell(title).unwrap_or(0.0) as usize);
    Numbers {
        passed: count("Passed"),
        failed: count("Failed"),
        ungraded: count("Ungraded"),
        errors: count("Errors"),
        not_run: count("Not run"),
        grading_errors: count("Grading errors"),
        mean: cell("Mean score"),
        mean_interval: text("Mean score").and_then(interval_in),
        pass_interval: text("Pass rate").and_then(interval_in),
        cost: cell("Cost"),
        grading_cost: cell("Of which grading"),
        ..Numbers::default()
    }
}

/// Tests, failures and errors, by the attributes of the whole; the elements must be as many.
fn of_junit(xml: &str) -> (usize, usize, usize) {
    let head = xml.lines().find(|line| line.starts_with("<testsuites")).unwrap();
    let attribute = |name: &str| -> usize {
        let rest = head.split_once(&format!(" {name}=\"")).unwrap().1;
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let found = (attribute("tests"), attribute("failures"), attribute("errors"));
    let elements = |start: &str| xml.matches(start).count();
    assert_eq!(found, (elements("<testcase "), elements("<failure "), elements("<error ")));
    found
}

/// What the page has to show.
fn embedded(page: &str) -> Value {
    let start = r#"<script type="application/json" id="report">"#;
    let json = page.split_once(start).unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(json).unwrap()
}

/// A judge's verdict costs half a dollar and 110 tokens, an answer a cent and 11 tokens.
fn used(answers: u8, verdicts: u8) -> Numbers {
    let (answers, verdicts) = (f64::from(answers), f64::from(verdicts));
    Numbers {
        cost: Some(answers * 0.01 + verdicts * 0.5),
        grading_cost: Some(verdicts * 0.5),
        tokens: Some(answers * 11.0 + verdicts * 110.0),
        ..Numbers::default()
    }
}

/// Of one target: pass, pair (1), fail (0.25), zero (0); the others have no grade.
fn all() -> Numbers {
    Numbers {
        passed: Some(2),
        failed: Some(2),
        ungraded: Some(2),
        errors: Some(1),
        not_run: Some(0),
        grading_errors: Some(1 + 2 + 1),
        mean: Some(2.25 / 4.0),
        ..used(6, 8)
    }
}

#[test]
fn every_outcome_is_the_same_everywhere() {
    check(&suite(), &[], &all());
}

#[test]
fn several_targets_add_up() {
    let twice = |count: Option<usize>| count.map(|count| count * 2);
    let one = all();
    let expected = Numbers {
        passed: twice(one.passed),
        failed: twice(one.failed),
        ungraded: twice(one.ungraded),
        errors: twice(one.errors),
        grading_errors: twice(one.grading_errors),
        not_run: Some(0),
        mean: one.mean,
        ..used(12, 16)
    };
    check(&suite(), &["--target", "one", "--target", "two"], &expected);
}

#[test]
fn trials_are_records_of_their_own() {
    let mut suite = suite();
    let flaky = case("flaky", "fifth", &json!([judge("strict")]));
    let error = case("error", "fourth", &json!([judge("strict")]));
    suite["evalcases"] = json!([flaky, case("members", "third", &both()), error]);
    let expected = Numbers {
        passed: Some(2),
        failed: Some(1),
        ungraded: Some(3),
        errors: Some(3),
        not_run: Some(0),
        grading_errors: Some(6),
        mean: Some(2.25 / 3.0),
        // Answers of the flaky target have no cost.
        ..used(3, 9)
    };
    check(&suite, &["--trials", "3"], &expected);
}

#[test]
fn cases_that_were_not_run_are_counted_as_such() {
    let expected = Numbers {
        passed: Some(2),
        failed: Some(1),
        ungraded: Some(1),
        errors: Some(0),
        not_run: Some(3),
        grading_errors: Some(1),
        mean: Some(2.25 / 3.0),
        ..used(4, 5)
    };
    check(&suite(), &["--max-errors", "1"], &expected);
}

/// One pass after the other, without a judge.
fn passes(ids: &[&str]) -> Value {
    let evaluators = json!([{ "name": "alpha", "type": "contains", "value": "alpha" }]);
    let cases: Vec<Value> = ids.iter().map(|id| case(id, "first", &evaluators)).collect();
    json!({ "execution": { "target": "one" }, "evalcases": cases })
}

/// This many of the cases above, and the others without a record.
fn passed(passed: usize, not_run: usize, used: Numbers) -> Numbers {
    Numbers {
        passed: Some(passed),
        failed: Some(0),
        ungraded: Some(0),
        errors: Some(0),
        not_run: Some(not_run),
        grading_errors: Some(0),
        mean: Some(1.0),
        ..used
    }
}

#[test]
fn cases_that_a_budget_left_out_are_counted_as_such() {
    // An answer of the fake API is 101 + 23 tokens, and at this price 12.4 cents.
    let api = FakeLlm::answering("alpha");
    let target = openai_target("one", &api.url()) + "    pricing: {input: 1000, output: 1000}\n";
    let used = Numbers { cost: Some(0.248), tokens: Some(248.0), ..used(0, 0) };
    for budget in [["--max-cost", "0.2"], ["--max-tokens", "200"]] {
        let run = |more: &[&str]| {
            let cx = repository(&passes(&["a", "b", "c", "d", "e"]));
            cx.write("targets.yaml", &agentv_test_support::targets(std::slice::from_ref(&target)));
            let ran = eval(&cx, &[&budget, more].concat());
            ran.code(3).stderr_has("3 cases were not run");
            (cx, ran)
        };
        check_run(&run, &passed(2, 3, used));
    }
}

/// Runs `a`, `b` and `c` on a command, and sends Ctrl-C while `b` is under way and the record of `a` is written.
#[track_caller]
fn interrupted(more: &[&str]) -> (TestContext, Ran) {
    let cx = repository(&passes(&["a", "b", "c"]));
    let meeting = cx.meeting("meeting");
    let recorded = r#"until grep -q '"eval_id":"a"' out.jsonl; do sleep 0.01; done"#;
    let hold = format!("{recorded}; {}; exec sleep 600", meeting.tell("b"));
    let command = format!("case {{EVAL_ID}} in b) {hold};; esac; echo alpha");
    cx.write("targets.yaml", &agentv_test_support::targets(&[cli_target("one", &command)]));
    let args = ["eval", "suite.yaml", "--out", "out.jsonl", "--targets", "targets.yaml"];
    let running = cx.agentv(args.iter().chain(more)).start();
    meeting.next();
    running.signal("INT");
    let ran = running.finish();
    ran.code(130);
    (cx, ran)
}

#[test]
fn cases_that_an_interrupt_left_out_are_counted_as_such() {
    // A command does not report its cost.
    check_run(&interrupted, &passed(1, 2, used(0, 0)));
}

#[test]
fn a_run_that_is_resumed_comes_to_the_same() {
    let cx = repository(&suite());
    eval(&cx, &["--max-errors", "1"]).code(3);
    let resumed = eval(&cx, &["--resume"]);
    let all = with_intervals(&cx, &all());
    same("the lines of a resumed run", &of_lines(&resumed.code(3).stdout), &all);
    check_kept(&cx, &all);
    // What has no grade is tried again, to the same end.
    let retried = eval(&cx, &["--resume", "--retry-errors"]);
    same("the lines of a retried run", &of_lines(&retried.code(3).stdout), &all);
    check_kept(&cx, &all);
}

#[test]
fn people_see_the_same_counts() {
    let cx = repository(&suite());
    let args = ["eval", "suite.yaml", "--targets", "targets.yaml"];
    let shown = cx.agentv(args).on_terminal(60, 100).finish();
    shown.code(3).has("✓ 2 passed  ✗ 2 failed  ? 2 ungraded  ! 1 error  in ");
    shown.has("0.562 (0.183–0.880, n=4)  2/7 (8–64 %)");
    shown.has("pass rate 28.6 % (8.2 % to 64.1 %), 95 % interval in brackets\n");
    shown.has("mean score 0.562 (0.183 to 0.880, n=4)\n").has("1.000 (0.207–1.000)   1/1");
    // Where there is less room, the mean time is left out.
    let narrow = cx.agentv(args).on_terminal(60, 80).finish();
    narrow.code(3).has("0.562 (0.183–0.880, n=4)").lacks("Mean time").has("$4.06");
}

#[test]
fn the_demo_has_one_ungraded_case_in_every_view() {
    let cx = context();
    let ran = cx.agentv(["demo"]).run();
    ran.success().stdout_has("✓ 5 passed  ✗ 3 failed  ? 1 ungraded");
    let page = embedded(&cx.read("agentv-demo/report.html"));
    let counts = ["passed", "failed", "ungraded", "errors"].map(|key| page["summary"][key].clone());
    assert_eq!(counts, [5, 3, 1, 0]);
    let print = |flag| cx.agentv(["report", flag, "-"]).cwd("agentv-demo").run().stdout.clone();
    assert_eq!(of_junit(&print("--junit")), (9, 3, 1));
    let csv = print("--csv");
    assert!(
        csv.lines()
            .any(|line| line.starts_with("an-angry-customer,") && line.contains(",ungraded,"))
    );
    assert!(print("--markdown").contains("| ? ungraded | `an-angry-customer` |"));
}

#[test]
fn a_case_without_a_grade_makes_the_run_incomplete() {
    let cx = repository(&suite());
    let told = "1 error and 2 ungraded of 7";
    eval(&cx, &[]).code(3).stderr_lacks(told);
    eval(&cx, &["--allow-errors=2"]).code(3).stderr_has(told);
    for allowed in ["--allow-errors", "--allow-errors=3", "--allow-errors=43%"] {
        eval(&cx, &[allowed]).success();
    }
    // A gate takes what has no grade as 0: 2.25 of 7 cases.
    let gated = eval(&cx, &["--allow-errors", "--threshold", "0.5"]);
    gated.code(1).stderr_has("target `one` has a mean of 0.321, below --threshold 0.5");
    eval(&cx, &["--allow-errors=x"]).code(2).stderr_has("a number of cases, like 3");
}
