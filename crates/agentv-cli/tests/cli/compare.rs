//! `agentv compare`: what it prints, and how it ends.

use crate::{context, eval, mocked};
use agentv_test_support::{Ran, TestContext};
use serde_json::{Value, json};

/// A results file with a score for each id, as 2.x wrote it: no more than a comparison needs.
fn results(scores: &[(&str, f64)]) -> String {
    let line = |(id, score): &(&str, f64)| json!({ "eval_id": id, "score": score }).to_string();
    scores.iter().map(|score| line(score) + "\n").collect()
}

/// `case-0`, `case-1`, … with these scores.
fn numbered(scores: &[f64]) -> String {
    let ids: Vec<String> = (0..scores.len()).map(|index| format!("case-{index}")).collect();
    let pairs: Vec<(&str, f64)> =
        ids.iter().map(String::as_str).zip(scores.iter().copied()).collect();
    results(&pairs)
}

/// Compares `a.jsonl` with `b.jsonl`.
#[track_caller]
fn compare(baseline: &str, candidate: &str, more: &[&str]) -> Ran {
    compare_in(&context(), baseline, candidate, more)
}

#[track_caller]
fn compare_in(cx: &TestContext, baseline: &str, candidate: &str, more: &[&str]) -> Ran {
    cx.write("a.jsonl", baseline);
    cx.write("b.jsonl", candidate);
    cx.agentv(["compare", "a.jsonl", "b.jsonl"].iter().chain(more)).run()
}

#[track_caller]
fn as_json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_table_of_2x_is_that_of_the_contract() {
    let baseline = results(&[("first", 0.5), ("a-longer-id", 0.75), ("third", 1.0), ("gone", 1.0)]);
    let candidate = results(&[("first", 1.0), ("a-longer-id", 0.7), ("third", 0.0), ("new", 1.0)]);
    let ran = compare(&baseline, &candidate, &["--compat", "2x"]);
    ran.code(1);
    insta::assert_snapshot!(ran.stdout, @r"

    Comparing: a.jsonl → b.jsonl

    Eval ID      Baseline  Candidate     Delta  Result
    ───────────  ────────  ─────────  ────────  ──────
    first            0.50       1.00     +0.50  ✓ win
    a-longer-id      0.75       0.70     -0.05  = tie
    third            1.00       0.00     -1.00  ✗ loss

    ⚠ Unmatched: 1 in baseline, 1 in candidate
      only in baseline: gone
      only in candidate: new

    Summary: 1 win, 1 loss, 1 tie | Mean Δ: -0.183 | Status: regressed
    ");
}

#[test]
fn the_table_is_followed_by_the_verdict() {
    let baseline = results(&[("first", 0.5), ("a-longer-id", 0.75), ("third", 1.0), ("gone", 1.0)]);
    let candidate = results(&[("first", 1.0), ("a-longer-id", 0.7), ("third", 0.0), ("new", 1.0)]);
    let ran = compare(&baseline, &candidate, &["--all"]);
    insta::assert_snapshot!(ran.success().stdout, @r"

    Comparing: a.jsonl → b.jsonl

    Eval ID      Baseline  Candidate     Delta  Result
    ───────────  ────────  ─────────  ────────  ──────
    first            0.50       1.00     +0.50  ✓ win
    a-longer-id      0.75       0.70     -0.05  = tie
    third            1.00       0.00     -1.00  ✗ loss

    ⚠ Unmatched: 1 in baseline, 1 in candidate
      only in baseline: gone
      only in candidate: new

    Summary: 1 win, 1 loss, 1 tie

    Mean score  0.750 → 0.567   Δ -0.183   95 % interval -1.000 to +1.000
                p = 0.750   exact sign-flip test, 3 cases

    Verdict: too few cases
      3 cases cannot show a difference at the level 0.05; it takes at least 6
      1 of 4 cases of the baseline could not be compared
    ");
}

#[test]
fn only_changed_cases_are_listed() {
    let baseline = results(&[("first", 0.5), ("a-longer-id", 0.75), ("third", 1.0)]);
    let candidate = results(&[("first", 1.0), ("a-longer-id", 0.7), ("third", 0.0)]);
    let ran = compare(&baseline, &candidate, &[]);
    ran.success().stdout_has(
        "Eval ID  Baseline  Candidate     Delta  Result\n\
         ───────  ────────  ─────────  ────────  ──────\n\
         first        0.50       1.00     +0.50  ✓ win\n\
         third        1.00       0.00     -1.00  ✗ loss\n\
         1 tie not shown (--all shows them)\n",
    );
    let ran = compare(&baseline, &baseline, &[]);
    ran.success().stdout_has("Comparing: a.jsonl → b.jsonl\n\n3 ties not shown");
    assert!(!ran.stdout.contains("Eval ID"), "{}", ran.stdout);
    // Programs get all of them.
    let json = as_json(compare(&baseline, &baseline, &["--json"]).success());
    assert_eq!(json["matched"].as_array().unwrap().len(), 3);
}

#[test]
fn json_has_the_contracts_keys_and_more() {
    let ran = compare(
        &results(&[("a", 0.5), ("b", 1.0)]),
        &results(&[("a", 1.0), ("c", 1.0)]),
        &["--json"],
    );
    ran.success();
    insta::assert_snapshot!(ran.stdout, @r#"
    {
      "baseline": "a.jsonl",
      "candidate": "b.jsonl",
      "matched": [
        {
          "eval_id": "a",
          "score1": 0.5,
          "score2": 1,
          "delta": 0.5,
          "outcome": "win"
        }
      ],
      "unmatched": {
        "file1": 1,
        "file2": 1,
        "cases1": [
          {
            "eval_id": "b"
          }
        ],
        "cases2": [
          {
            "eval_id": "c"
          }
        ]
      },
      "summary": {
        "total": 4,
        "matched": 1,
        "wins": 1,
        "losses": 0,
        "ties": 0,
        "mean_delta": 0.5,
        "mean1": 0.5,
        "mean2": 1,
        "errors1": 0,
        "errors2": 0,
        "missing": 1
      },
      "statistics": {
        "test": "sign_flip_exact",
        "cases": 1,
        "difference": 0.5,
        "p_value": 1,
        "p_adjusted": 1,
        "level": 0.05,
        "verdict": "too_few_cases",
        "confidence": 0.95,
        "seed": 0
      },
      "verdict": "too_few_cases",
      "reasons": [
        "1 case cannot show a difference at the level 0.05; it takes at least 6",
        "1 of 2 cases of the baseline could not be compared"
      ]
    }
    "#);
}

#[test]
fn json_wins_over_another_format() {
    let same = numbered(&[1.0, 0.0]);
    let long = compare(&same, &same, &["--format", "json"]);
    let short = compare(&same, &same, &["-f", "table", "--json"]);
    assert_eq!(as_json(&long), as_json(&short));
}

#[test]
fn markdown_is_fit_for_a_pull_request() {
    let ran =
        compare(&numbered(&[0.0, 0.5, 1.0]), &numbered(&[1.0, 0.5, 0.5]), &["-f", "markdown"]);
    ran.success();
    insta::assert_snapshot!(ran.stdout, @r"
    ### `a.jsonl` → `b.jsonl`

    **Verdict: too few cases**

    * 3 cases cannot show a difference at the level 0.05; it takes at least 6

    | | Baseline | Candidate | Delta | Interval | p | p (Holm) |
    | --- | ---: | ---: | ---: | --- | ---: | ---: |
    | Mean score | 0.500 | 0.667 | +0.167 | 95 % interval -1.000 to +1.000 | 1.000 | 1.000 |

    1 win, 1 loss, 1 tie; exact sign-flip test, 3 cases

    <details><summary>2 cases changed</summary>

    | Case | Baseline | Candidate | Delta | |
    | --- | ---: | ---: | ---: | --- |
    | `case-2` | 1.00 | 0.50 | -0.50 | ✗ loss |
    | `case-0` | 0.00 | 1.00 | +1.00 | ✓ win |

    </details>
    ");
}

#[test]
fn q39_rounding_turns_no_win_into_a_tie() {
    let ran = compare(&results(&[("a", 0.8)]), &results(&[("a", 0.9)]), &["--json"]);
    assert_eq!(as_json(&ran)["matched"][0]["outcome"], "win");
    let ran = compare(&results(&[("a", 0.9)]), &results(&[("a", 0.8)]), &["-t", "0.1", "--json"]);
    assert_eq!(as_json(&ran)["matched"][0]["outcome"], "loss");
}

#[test]
fn q39_ids_of_several_datasets_do_not_collapse() {
    let line = |dataset: &str, score: f64| {
        json!({ "eval_id": "same", "dataset": dataset, "score": score }).to_string() + "\n"
    };
    let ran = compare(
        &(line("x", 0.0) + &line("y", 1.0)),
        &(line("y", 1.0) + &line("x", 1.0)),
        &["--json"],
    );
    let json = as_json(&ran);
    assert_eq!(json["summary"]["matched"], 2);
    assert_eq!(json["matched"][0]["dataset"], "x");
    assert_eq!(json["matched"][0]["delta"], 1);
    assert_eq!(json["matched"][1]["delta"], 0);
}

#[test]
fn the_rule_of_2x_is_the_sign_of_the_mean() {
    let compare = |one: &str, other: &str| compare(one, other, &["--compat", "2x"]);
    compare(&numbered(&[0.5; 3]), &numbered(&[0.5; 3])).success().stdout_has("Status: neutral");
    compare(&numbered(&[0.5; 3]), &numbered(&[0.6; 3])).success().stdout_has("Status: improved");
    compare(&numbered(&[0.5; 3]), &numbered(&[0.4; 3])).code(1).stdout_has("Status: regressed");
    // Rounded to three decimals, this is zero.
    compare(&numbered(&[0.5]), &numbered(&[0.4996])).success().stdout_has("Mean Δ: +0.000");
    compare(&results(&[("a", 1.0)]), &results(&[("b", 0.0)]))
        .success()
        .stdout_has("No matching cases");
}

#[test]
fn the_verdict_decides() {
    // A little worse on average, but half of the cases got better: noise.
    let noise: Vec<f64> = (0..20).map(|index| if index % 2 == 0 { 0.65 } else { 0.3 }).collect();
    let baseline = numbered(&[0.5; 20]);
    compare(&baseline, &numbered(&noise), &["--compat", "2x"]).code(1);
    for more in [&[][..], &["--strict"]] {
        compare(&baseline, &numbered(&noise), more)
            .success()
            .stdout_has("Verdict: no evidence of a difference");
        compare(&baseline, &numbered(&[0.4; 20]), more).code(1).stdout_has("Verdict: regression");
        compare(&baseline, &numbered(&[0.6; 20]), more)
            .success()
            .stdout_has("Verdict: improvement");
    }
}

#[test]
fn strict_does_not_pass_what_it_could_not_see() {
    let (baseline, candidate) = (numbered(&[1.0; 5]), numbered(&[0.0; 5]));
    compare(&baseline, &candidate, &[]).success().stdout_has("Verdict: too few cases");
    compare(&baseline, &candidate, &["--strict"])
        .code(3)
        .stderr_has("too few cases for a verdict on `b.jsonl`");
    // Half of the cases failed in the baseline; the candidate lacks them.
    let half: Vec<f64> = (0..40).map(|index| f64::from(index < 20)).collect();
    let (baseline, candidate) = (numbered(&half), numbered(&[1.0; 20]));
    compare(&baseline, &candidate, &[])
        .success()
        .stdout_has("20 of 40 cases of the baseline could not be compared");
    compare(&baseline, &candidate, &["--strict"])
        .code(3)
        .stderr_has("20 of 40 cases of the baseline cannot be compared with `b.jsonl`");
    for (limit, code) in [("19", 3), ("20", 0), ("49%", 3), ("50%", 0)] {
        compare(&baseline, &candidate, &["--strict", "--max-missing", limit]).code(code);
    }
    for more in [&[][..], &["--strict"]] {
        compare(&results(&[("a", 1.0)]), &results(&[("b", 0.0)]), more)
            .code(3)
            .stdout_has("No matching cases")
            .stderr_has("no case of `b.jsonl` can be compared with the baseline");
    }
}

#[test]
fn a_margin_must_be_shown_to_hold() {
    let same = |cases: usize| numbered(&vec![1.0; cases]);
    compare(&same(200), &same(200), &["--margin", "0.05"])
        .success()
        .stdout_has("not worse by more than the margin 0.05");
    // Nothing differs, but so few cases could have missed a lot.
    compare(&same(10), &same(10), &["--margin", "0.05"])
        .code(1)
        .stdout_has("may be worse by more than the margin 0.05");
    compare(&same(2), &same(2), &["--margin", "0.05"])
        .code(3)
        .stderr_has("`--margin` cannot be checked for `b.jsonl`: too few cases for an interval");
    let json = as_json(&compare(&same(200), &same(200), &["--margin", "0.05", "--json"]));
    assert_eq!(json["non_inferiority"], json!({ "margin": 0.05, "holds": true }));
}

#[test]
fn cases_of_one_document_are_one_cluster() {
    let lines = |score: f64| -> String {
        let line = |at: usize| {
            let metadata = json!({ "document": at / 4 });
            json!({ "eval_id": format!("c{at}"), "score": score, "metadata": metadata }).to_string()
        };
        (0..20).map(|at| line(at) + "\n").collect()
    };
    let (baseline, candidate) = (lines(1.0), lines(0.0));
    compare(&baseline, &candidate, &[]).code(1).stdout_has("exact McNemar test, 20 cases");
    compare(&baseline, &candidate, &["--cluster", "document"])
        .success()
        .stdout_has("5 cases cannot show a difference");
    compare(&baseline, &candidate, &["--cluster", "page"])
        .code(2)
        .stderr_has("no record has `page` in its `metadata`");
    let partly = candidate + &results(&[("x", 1.0)]);
    compare(&baseline, &partly, &["--cluster", "document"])
        .stderr_has("1 record does not have `document` in `metadata`");
}

#[test]
fn equal_runs_with_unequal_trials_are_equal() {
    let once = numbered(&[0.7; 6]);
    let thrice = once.repeat(3);
    compare(&once, &thrice, &[]).success().stdout_has("p = 1.000");
}

#[test]
fn a_pass_rate_that_doubles_is_an_improvement() {
    let lines = |scores: [f64; 2]| -> String {
        let line = |at: usize| {
            let score = scores[at % 2];
            let status = if score >= 1.0 { "pass" } else { "fail" };
            json!({ "eval_id": format!("c{at}"), "score": score, "status": status }).to_string()
        };
        (0..40).map(|at| line(at) + "\n").collect()
    };
    // The mean stays at 0.9.
    let ran = compare(&lines([0.9, 0.9]), &lines([1.0, 0.8]), &[]);
    ran.success().stdout_has("Verdict: improvement\n  pass rate is better; unlikely to be chance");
    ran.stdout_has("Pass rate   0.0 % → 50.0 %   Δ +50.0   95 % interval");
}

#[test]
fn all_or_nothing_scores_have_mcnemars_p_value() {
    let mut baseline = [0.0; 9];
    let mut candidate = [1.0; 9];
    (baseline[8], candidate[8]) = (1.0, 0.0);
    let json = as_json(&compare(&numbered(&baseline), &numbered(&candidate), &["--json"]));
    assert_eq!(json["statistics"]["test"], "mcnemar");
    assert_eq!(json["statistics"]["p_value"], 0.039_062_5);
    assert_eq!(json["verdict"], "improvement");
    let level = ["--json", "--level", "0.01"];
    let json = as_json(&compare(&numbered(&baseline), &numbered(&candidate), &level));
    assert_eq!(json["verdict"], "no_evidence");
    assert_eq!(json["statistics"]["confidence"], 0.99);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let baseline: Vec<f64> = (0..40).map(|index| f64::from(index % 5) / 5.0).collect();
    let candidate: Vec<f64> = (0..40).map(|index| f64::from(index % 7) / 7.0).collect();
    let of = |seed: &str| {
        compare(&numbered(&baseline), &numbered(&candidate), &["--json", "--seed", seed]).stdout
    };
    assert_eq!(of("1"), of("1"));
    assert_ne!(of("1"), of("2"));
    let json: Value = serde_json::from_str(&of("1")).unwrap();
    assert_eq!(json["statistics"]["test"], "sign_flip_sampled");
}

#[test]
fn several_candidates_share_a_baseline() {
    let cx = context();
    cx.write("c.jsonl", &numbered(&[0.1; 8]));
    let ran = compare_in(&cx, &numbered(&[0.5; 8]), &numbered(&[0.9; 8]), &["c.jsonl", "--json"]);
    // One of them is worse.
    ran.code(1);
    let json = as_json(&ran);
    let verdicts: Vec<&Value> =
        json["comparisons"].as_array().unwrap().iter().map(|one| &one["verdict"]).collect();
    assert_eq!(verdicts, ["improvement", "regression"]);
    let ran = cx.agentv(["compare", "a.jsonl", "b.jsonl", "c.jsonl"]).run();
    ran.stdout_has("Comparing: a.jsonl → b.jsonl").stdout_has("Comparing: a.jsonl → c.jsonl");
    ran.stdout_has("\nCandidate  Cases  Baseline      Mean     Delta  p (Holm)  Verdict\n");
}

#[test]
fn an_evaluator_without_common_cases_has_no_row() {
    let graded = |name: &str| {
        let grades = |id: &str| {
            let grade = |name: &str| json!({ "name": name, "type": "contains", "score": 1 });
            let grades = [grade("both"), grade(name)];
            json!({ "eval_id": id, "score": 1, "evaluator_results": grades }).to_string()
        };
        ["a", "b", "c"].map(grades).join("\n") + "\n"
    };
    let (old, new) = (graded("old"), graded("new"));
    let ran = compare(&old, &new, &[]);
    ran.success()
        .stdout_has("\nEvaluator only in baseline: old\nEvaluator only in candidate: new\n")
        .stdout_lacks("\nold ")
        .stdout_lacks("\nnew ");
    let ran = compare(&old, &new, &["--format", "markdown"]);
    ran.success().stdout_has("| `both` | 3 |").stdout_has("Evaluator only in baseline: old");
    let groups = as_json(&compare(&old, &new, &["--json"]))["evaluators"].clone();
    assert_eq!(groups[2]["only_in"], "baseline", "{groups}");
}

#[test]
fn two_targets_are_kept_apart() {
    let line = |target: &str, score: f64| {
        json!({ "eval_id": "a", "target": target, "score": score }).to_string() + "\n"
    };
    let ran = compare(
        &(line("x", 0.0) + &line("y", 1.0)),
        &(line("x", 0.5) + &line("y", 1.0)),
        &["--all"],
    );
    ran.success().stdout_has("a @ x        0.00       0.50     +0.50  ✓ win");
    ran.stdout_has("a @ y        1.00       1.00     +0.00  = tie");
    ran.stdout_has("\nTarget   Cases  Baseline  Candidate     Delta       p  p (Holm)\n");
    // With one target each, their names do not matter.
    compare(&line("x", 0.0), &line("y", 1.0), &[]).success().stdout_has("Summary: 1 win");
}

#[test]
fn trials_of_a_case_are_averaged() {
    let baseline = results(&[("a", 0.0), ("a", 1.0), ("a", 0.5)]);
    let ran = compare(&baseline, &results(&[("a", 1.0), ("a", 1.0)]), &[]);
    ran.success().stdout_has("a            0.50       1.00     +0.50  ✓ win   3 → 2 trials");
}

#[test]
fn errors_are_named_and_left_out() {
    let failed = json!({ "eval_id": "a", "score": 0, "error": "timed out" }).to_string() + "\n";
    let baseline = results(&[("a", 1.0), ("b", 0.5)]);
    let candidate = failed + &results(&[("b", 0.5)]);
    compare(&baseline, &candidate, &[])
        .success()
        .stdout_has("without a graded record in one of the runs: a")
        .stdout_has("Summary: 0 wins, 0 losses, 1 tie")
        .stdout_has("records with an error are left out: 0 in the baseline, 1 in the candidate");
    compare(&baseline, &candidate, &["--strict"]).code(3);
    compare(&baseline, &candidate, &["--compat", "2x"])
        .code(1)
        .stdout_has("a            1.00       0.00     -1.00  ✗ loss");
    compare(&baseline, &candidate, &["--compat", "2x", "--exclude-errors"]).success();
}

#[test]
fn a_torn_tail_is_left_out_with_a_warning() {
    let whole = numbered(&[1.0, 1.0]);
    let torn = whole.clone() + "{\"eval_id\":\"case-2\",\"sco";
    let ran = compare(&whole, &torn, &[]);
    ran.success().stderr_has("warning: b.jsonl:3: the last record was cut off and is left out");
    ran.stdout_has("Summary: 0 wins, 0 losses, 2 ties");
}

#[test]
fn a_bad_line_is_refused_with_its_place() {
    let good = numbered(&[1.0]);
    for (bad, message) in [
        ("{\"eval_id\":\"x\"}\n", "b.jsonl:2: not a result: missing field `score`"),
        ("{\"score\":1}\n", "b.jsonl:2: not a result: missing field `eval_id`"),
        ("{\"eval_id\":\"x\",\"score\":\"high\"}\n", "b.jsonl:2: not a result: invalid type"),
        ("{\"eval_id\":\"x\",\"score\":1e999}\n", "b.jsonl:2: not a result: number out of range"),
        ("hello\n", "b.jsonl:2: not a result: expected value"),
    ] {
        let ran = compare(&good, &(good.clone() + bad), &[]);
        ran.code(2).stderr_has(message);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn flags_and_names_that_make_no_sense_are_refused() {
    let same = numbered(&[1.0]);
    compare(&same, &same, &["--threshold", "nan"]).code(2).stderr_has("must not be below 0");
    compare(&same, &same, &["--level", "0"]).code(2).stderr_has("between 0.001 and 0.5");
    compare(&same, &same, &["--margin", "0"]).code(2).stderr_has("above 0 and at most 1");
    compare(&same, &same, &["--max-missing", "x"]).code(2);
    compare(&same, &same, &["--compat", "1x"]).code(2);
    compare(&same, &same, &["--format", "xml"]).code(2);
    let cx = context();
    cx.agentv(["compare", "a.jsonl"]).run().code(2);
    cx.write("a.jsonl", &same);
    cx.agentv(["compare", "a.jsonl", "nowhere"])
        .run()
        .code(2)
        .stderr_has("`nowhere`: no such file, folder or run");
}

#[test]
fn colours_can_be_had_and_be_refused() {
    let cx = context();
    let (baseline, candidate) = (numbered(&[0.0]), numbered(&[1.0]));
    let plain = compare_in(&cx, &baseline, &candidate, &[]).stdout;
    assert!(!plain.contains('\u{1b}'));
    let forced = |more: &[&str]| {
        let args = ["compare", "a.jsonl", "b.jsonl"];
        cx.agentv(args.iter().chain(more)).env("CLICOLOR_FORCE", "1")
    };
    forced(&[]).run().success().stdout_has("\u{1b}[32m✓ win\u{1b}[0m");
    assert_eq!(forced(&["--no-color"]).run().stdout, plain);
    // Any value counts, even an empty one.
    assert_eq!(forced(&[]).env("NO_COLOR", "").run().stdout, plain);
}

#[test]
fn runs_are_found_by_folder_and_id() {
    let cx = context();
    cx.write(".agentv/runs/r1/results.jsonl", &numbered(&[0.0]));
    cx.write("elsewhere/results.jsonl", &numbered(&[1.0]));
    cx.agentv(["compare", "r1", "elsewhere"])
        .run()
        .success()
        .stdout_has("Comparing: r1 → elsewhere");
    // From below the repository's root, too.
    cx.agentv(["compare", "r1", "."]).cwd("elsewhere").run().success();
}

#[test]
fn what_eval_wrote_can_be_compared_in_both_formats() {
    let cx = mocked(&["one", "two"]);
    eval(&cx, &[]).success();
    cx.agentv(["eval", "suite.yaml", "--out", "out.yaml", "--output-format", "yaml"])
        .run()
        .success();
    let ran = cx.agentv(["compare", "out.jsonl", "out.yaml", "--json"]).run();
    ran.success();
    let json = as_json(&ran);
    assert_eq!(json["summary"]["matched"], 2);
    assert_eq!(json["summary"]["ties"], 2);
    assert!(json["summary"]["pass_rate1"].is_number());
    assert_eq!(json["evaluators"].as_array().unwrap().len(), 1);
}
