//! What each format says.

use super::{printed, records, with_results};
use serde_json::Value;

#[test]
fn markdown_says_what_a_reviewer_wants_to_know() {
    let cx = with_results(&records());
    insta::assert_snapshot!(printed(&cx, "--markdown"), @r#"
    ## AgentV: ✗ 3 of 5 cases passed

    | Pass rate | Mean score | Passed | Failed | Ungraded | Errors | Grading errors | Cost | Tokens | Time |
    | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | 60.0 % (16.2 % to 92.5 %) | 0.875 (0.270 to 0.987, n=4) | 3 | 1 | 0 | 1 | 1 | $0.0125 | 1.2k in, 340 out | 1.2 s |

    ### Did not pass

    | | Case | Target | Score | Why |
    | --- | --- | --- | ---: | --- |
    | ! error | `slow` | `claude` |  | timed out after 2s |
    | ✗ fail | `greeting, "formal"` | `gpt` | 0.500 | says &lt;b&gt;hi&lt;/b&gt; \| not &#64;you |

    ### Targets

    | Target | Cases | Pass rate | Mean | Failed | Ungraded | Errors | Cost |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | `claude` | 3 | 66.7 % (20.8 % to 93.9 %) | 1.000 (0.342 to 1.000, n=2) | 0 | 0 | 1 |  |
    | `gpt` | 2 | 50.0 % (9.5 % to 90.5 %) | 0.750 (0.198 to 0.973) | 1 | 0 | 0 | $0.0125 |

    ### Evaluators

    | Evaluator | Type | Graded | Mean | Full score | Errors |
    | --- | --- | ---: | ---: | ---: | ---: |
    | `correct` | contains | 3 | 1.000 (0.297 to 1.000) | 3 | 0 |
    | `polite (contains)` | contains | 2 | 0.500 (0.095 to 0.905) | 1 | 0 |
    | `polite (llm_judge)` | llm\_judge | 0 | - | 0 | 1 |

    ### Trials

    | Suite | Target | Cases | k | pass@k | pass^k |
    | --- | --- | ---: | ---: | ---: | ---: |
    | `support` | `claude` | 3 | 1 | 0.667 (0.208 to 0.939) | 0.667 (0.208 to 0.939) |

    95 % intervals are in brackets.

    Results: `results.jsonl`
    "#);
}

#[test]
fn markdown_lists_no_thousands() {
    let many: Vec<Value> = (0..80).map(|_| records()[1].clone()).collect();
    let page = printed(&with_results(&many), "--markdown");
    assert_eq!(page.matches("✗ fail").count(), 50);
    assert!(page.contains("… and 30 more"), "{page}");
}

#[test]
fn csv_has_a_row_for_each_record_and_no_formulas() {
    let cx = with_results(&records());
    insta::assert_snapshot!(printed(&cx, "--csv"), @r#"
    eval_id,dataset,target,trial,outcome,simulated,score,why,duration_ms,cost_usd,grading_cost_usd,input_tokens,output_tokens,tool_calls,tags,evaluators,timestamp,answer
    refund,support,gpt,,pass,,1,,1234.5,0.0125,,1200,340,2,billing; smoke,correct=1.000; polite=1.000,2026-01-02T03:04:05.678Z,ok
    "greeting, ""formal""",support,gpt,,fail,,0.5,says <b>hi</b> | not @you,,,,,,,,correct=1.000; polite=0.000,2026-01-02T03:04:05.678Z,"'=HYPERLINK(""http://x"")
    second line"
    slow,support,claude,,error,,0,timed out after 2s,,,,,,,,,2026-01-02T03:04:05.678Z,Error occurred: timed out after 2s
    judged,support,claude,,pass,,1,,,,,,,,,correct=1.000; polite=error,2026-01-02T03:04:05.678Z,ok
    again,support,claude,1,pass,,1,,,,,,,,,,2026-01-02T03:04:05.678Z,ok
    "#);
}

#[test]
fn json_has_the_numbers_and_each_case_in_short() {
    let cx = with_results(&records());
    let report: agentv_wire::Report = serde_json::from_str(&printed(&cx, "--json")).unwrap();
    assert_eq!(report.cases.len(), report.summary.totals.all.recorded);
    insta::assert_snapshot!(printed(&cx, "--json"), @r#"
    {"results":"results.jsonl",
    "cases":[
    {"eval_id":"refund","dataset":"support","target":"gpt","outcome":"pass","score":1,"tags":["billing","smoke"],"duration_ms":1234.5,"cost_usd":0.0125,"token_usage":{"input":1200,"output":340},"tool_calls":2,"evaluators":[{"name":"correct","type":"contains","score":1},{"name":"polite","type":"contains","score":1}]},
    {"eval_id":"greeting, \"formal\"","dataset":"support","target":"gpt","outcome":"fail","score":0.5,"why":"says <b>hi</b> | not @you","evaluators":[{"name":"correct","type":"contains","score":1},{"name":"polite","type":"contains","score":0}]},
    {"eval_id":"slow","dataset":"support","target":"claude","outcome":"error","score":0,"why":"timed out after 2s","error":"timed out after 2s"},
    {"eval_id":"judged","dataset":"support","target":"claude","outcome":"pass","score":1,"evaluators":[{"name":"correct","type":"contains","score":1},{"name":"polite","type":"llm_judge","score":0,"error":"parse"}]},
    {"eval_id":"again","dataset":"support","target":"claude","trial":1,"outcome":"pass","score":1}],
    "summary":{"recorded":5,"passed":3,"failed":1,"ungraded":0,"errors":1,"graded":4,"mean_score":0.875,"mean_interval":{"low":0.27012384163448205,"high":0.9866613289955077},"pass_rate":0.6,"pass_interval":{"low":0.1624082427749209,"high":0.92529235087407},"duration_ms":1234.5,"timed":1,"cost_usd":0.0125,"token_usage":{"input":1200,"output":340},"grading_errors":1,"histogram":[0,0,0,0,0,1,0,0,0,3],"targets":{"claude":{"recorded":3,"passed":2,"failed":0,"ungraded":0,"errors":1,"graded":2,"mean_score":1,"mean_interval":{"low":0.34238022750665303,"high":1},"pass_rate":0.6666666666666666,"pass_interval":{"low":0.2076596008020477,"high":0.9385080552796037},"timed":0},"gpt":{"recorded":2,"passed":1,"failed":1,"ungraded":0,"errors":0,"graded":2,"mean_score":0.75,"mean_interval":{"low":0.19786745576231107,"high":0.9733226579910155},"pass_rate":0.5,"pass_interval":{"low":0.09453120573423074,"high":0.9054687942657693},"duration_ms":1234.5,"timed":1,"cost_usd":0.0125,"token_usage":{"input":1200,"output":340}}},"evaluators":{"correct":{"type":"contains","graded":3,"passed":3,"full":3,"errors":0,"mean_score":1,"mean_interval":{"low":0.2971032564635145,"high":1},"weights":[1,1]},"polite (contains)":{"type":"contains","graded":2,"passed":2,"full":1,"errors":0,"mean_score":0.5,"mean_interval":{"low":0.09453120573423074,"high":0.9054687942657693},"weights":[1,1]},"polite (llm_judge)":{"type":"llm_judge","graded":0,"passed":0,"full":0,"errors":1,"weights":[0,0]}},"trials":[{"dataset":"support","target":"claude","cases":3,"trials":1,"recorded":3,"passed":2,"ungraded":0,"errors":1,"mean_score":1,"interval":{"low":0.34238022750665303,"high":1},"pass":[{"k":1,"cases":3,"pass_at_k":0.6666666666666666,"pass_at_k_interval":{"low":0.2076596008020477,"high":0.9385080552796037},"pass_hat_k":0.6666666666666666,"pass_hat_k_interval":{"low":0.2076596008020477,"high":0.9385080552796037}}],"flaky":0,"flaky_cases":[]}]}}
    "#);
}

#[test]
fn junit_has_a_suite_for_each_dataset_and_target() {
    let cx = with_results(&records());
    insta::assert_snapshot!(printed(&cx, "--junit"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="agentv" tests="5" skipped="0" failures="1" errors="1" time="1.234">
        <testsuite name="support · claude" tests="3" skipped="0" errors="1" failures="0" time="0.000">
            <properties>
                <property name="target" value="claude"/>
                <property name="results" value="results.jsonl"/>
            </properties>
            <testcase name="slow" classname="support.claude" time="0.000">
                <error message="error: timed out after 2s" type="error">✗ Error: timed out

    Answer:
    Error occurred: timed out after 2s</error>
                <system-out>score 0.000</system-out>
            </testcase>
            <testcase name="judged" classname="support.claude" time="0.000">
                <system-out>score 1.000
    correct: 1.000
    polite: could not grade: no JSON in the reply</system-out>
            </testcase>
            <testcase name="again (trial 2)" classname="support.claude" time="0.000">
                <system-out>score 1.000</system-out>
            </testcase>
        </testsuite>
        <testsuite name="support · gpt" tests="2" skipped="0" errors="0" failures="1" time="1.234">
            <properties>
                <property name="target" value="gpt"/>
                <property name="results" value="results.jsonl"/>
            </properties>
            <testcase name="refund" classname="support.gpt" time="1.234">
                <system-out>score 1.000
    correct: 1.000
    polite: 1.000</system-out>
            </testcase>
            <testcase name="greeting, &quot;formal&quot;" classname="support.gpt" time="0.000">
                <failure message="score 0.500: says &lt;b&gt;hi&lt;/b&gt; | not @you" type="score">✗ says &lt;b&gt;hi&lt;/b&gt; | not @you
    polite: too short

    Answer:
    =HYPERLINK(&quot;http://x&quot;)
    second line</failure>
                <system-out>score 0.500
    correct: 1.000
    polite: 0.000</system-out>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

#[test]
fn junit_has_no_character_that_xml_forbids() {
    let mut record = records()[1].clone();
    record["candidate_answer"] = "a\u{0}b\u{1b}[31mred\u{1b}[0m ]]> & <x>".into();
    let xml = printed(&with_results(&[record]), "--junit");
    assert!(xml.contains(r"a\x00b\x1b[31mred"), "{xml}");
    let is_allowed = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    assert!(xml.chars().all(is_allowed), "{xml}");
    assert!(!xml.contains("<x>"), "{xml}");
}

#[test]
fn no_records_are_a_report_of_nothing() {
    let cx = with_results(&[]);
    cx.write("results.jsonl", "");
    let page = printed(&cx, "--markdown");
    assert!(page.starts_with("## AgentV: no results\n"), "{page}");
    assert_eq!(printed(&cx, "--csv").lines().count(), 1);
    let report: Value = serde_json::from_str(&printed(&cx, "--json")).unwrap();
    assert_eq!(report["cases"], Value::Array(Vec::new()));
    assert!(printed(&cx, "--junit").contains("tests=\"0\""));
}
