//! Code judges written with the TypeScript SDKs, run by real Node and real bun. They need the built packages, which
//! `./test.sh` makes: `npm ci && npm run build`.

use crate::context;
use agentv_test_support::{TestContext, mock_target, targets};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What runs a judge. Node 20 only runs what the compiler made of it, bun runs the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runtime {
    Node,
    Bun,
}

const RUNTIMES: [Runtime; 2] = [Runtime::Node, Runtime::Bun];

impl Runtime {
    fn program(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Bun => "bun",
        }
    }

    /// A fixture of a package's tests.
    fn fixture(self, package: &str, name: &str) -> PathBuf {
        let package = repository().join("packages").join(package);
        match self {
            Self::Node => package.join(format!("dist-test/fixtures/{name}.js")),
            Self::Bun => package.join(format!("test/fixtures/{name}.ts")),
        }
    }

    /// A script of an example, from the example's folder.
    fn script(self, name: &str) -> String {
        match self {
            Self::Node => format!("dist/{name}.js"),
            Self::Bun => format!("scripts/{name}.ts"),
        }
    }
}

fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let built = root.join("packages/eval/dist-test").is_dir();
    assert!(built, "the packages are not built: run `npm ci && npm run build`");
    root
}

/// Ours, with the project's own bun in front.
fn path() -> OsString {
    #[expect(clippy::disallowed_methods, reason = "the one variable that tests inherit")]
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let own = repository().join("node_modules/.bin");
    std::env::join_paths([own].into_iter().chain(std::env::split_paths(&inherited))).unwrap()
}

/// A program of its own, without AgentV around it.
fn alone(program: &str, args: &[&str], cwd: &Path, stdin: &Path) -> Output {
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let mut command = Command::new(program);
    // Node's test runner would otherwise report to one that is not there.
    command.args(args).current_dir(cwd).env("PATH", path()).env_remove("NODE_TEST_CONTEXT");
    command.stdin(File::open(stdin).unwrap()).output().unwrap()
}

/// The evaluator's result of a case with this judge.
fn grade(cx: &TestContext, runtime: Runtime, script: &Path, keys: &Value) -> Value {
    let main = format!("{}    judge_target: judge\n", mock_target("default", "It is Paris."));
    let others = [mock_target("judge", "from the judge"), mock_target("other", "from another")];
    cx.write("targets.yaml", &targets(&[vec![main], others.to_vec()].concat()));
    let mut judge =
        json!({"name": "j", "type": "code_judge", "script": [runtime.program(), script]});
    for (key, value) in keys.as_object().unwrap() {
        judge[key] = value.clone();
    }
    let case = json!({
        "id": "c", "expected_outcome": "Names it", "input": "q", "expected_output": "Paris",
        "evaluators": [judge],
    });
    cx.write("suite.yaml", &json!({ "evalcases": [case] }).to_string());
    let ran = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).env("PATH", path()).run();
    ran.record()["evaluator_results"][0].clone()
}

fn asking(keys: &Value) -> Vec<Value> {
    let one = |runtime: Runtime| {
        grade(&context(), runtime, &runtime.fixture("eval", "asking-judge"), keys)
    };
    RUNTIMES.map(one).to_vec()
}

/// A copy of an example that finds the packages as the original does, and whose judges are run by this.
fn example(name: &str, runtime: Runtime) -> TestContext {
    let (cx, root) = (context(), repository());
    copy(&root.join("examples/features").join(name), cx.dir());
    std::os::unix::fs::symlink(root.join("node_modules"), cx.path("node_modules")).unwrap();
    if runtime == Runtime::Node {
        for suite in suites(&cx) {
            let text = cx.read(&suite).replace("[bun, scripts/", "[node, dist/");
            cx.write(&suite, &text.replace(".ts]", ".js]"));
        }
    }
    cx
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

fn suites(cx: &TestContext) -> Vec<String> {
    let names = fs::read_dir(cx.dir()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".eval.yaml")).collect()
}

/// That an example gives what its `expected.json` says, and has a README.
#[track_caller]
fn check_example(name: &str, runtime: Runtime) -> Vec<Value> {
    let cx = example(name, runtime);
    let args = ["eval", "--out", "out.jsonl"].map(str::to_owned).into_iter().chain(suites(&cx));
    let ran = cx.agentv(args).env("PATH", path()).run();
    ran.success().stderr_lacks("error[").stderr_lacks("warning[");
    let expected: Value = serde_json::from_str(&cx.read("expected.json")).unwrap();
    let outcome = |record: &Value| {
        let id = record["eval_id"].as_str().unwrap().to_owned();
        (id, json!({ "score": record["score"], "status": record["status"] }))
    };
    let records = ran.records();
    assert_eq!(Value::Object(records.iter().map(outcome).collect()), expected, "{runtime:?}");
    assert!(cx.path("README.md").is_file());
    records
}

#[test]
fn s006_s150_the_client_tells_who_is_asked_and_who_else_could_be() {
    for result in asking(&json!({"target": {"max_calls": 7}})) {
        let info = json!({
            "targetName": "judge", "maxCalls": 7, "callCount": 3,
            "availableTargets": ["judge", "default", "other"],
        });
        assert_eq!(result["details"]["info"], info, "{result}");
        assert_eq!(result["details"]["legacy"], info);
    }
    for result in asking(&json!({})) {
        assert_eq!(result["misses"], json!(["there is no proxy"]));
    }
}

#[test]
fn s007_s151_the_client_hands_the_chosen_target_on() {
    for result in asking(&json!({"target": true})) {
        assert_eq!(result["details"]["answer"], "from another", "{result}");
        assert_eq!(result["details"]["batch"], json!(["from the judge", "from another"]));
    }
}

#[test]
fn s142_a_typescript_judge_reads_camel_case() {
    for runtime in RUNTIMES {
        let script = runtime.fixture("core", "test-sdk-judge");
        let keys = json!({"my_key": {"inner_key": 1}});
        let result = grade(&context(), runtime, &script, &keys);
        assert_eq!((&result["score"], &result["reasoning"]), (&json!(1), &json!("Names it")));
        let seen = result["details"]["keys"].as_array().unwrap();
        for key in ["candidateAnswer", "expectedOutcome", "traceSummary", "outputMessages"] {
            assert!(seen.contains(&json!(key)), "{seen:?}");
        }
        assert!(!seen.iter().any(|key| key.as_str().unwrap().contains('_')), "{seen:?}");
        assert_eq!(result["details"]["config"], keys);
    }
}

/// The keys of the payload as `agentv schema` prints them, in camelCase.
fn payload_keys(cx: &TestContext) -> Vec<String> {
    let printed = cx.agentv(["schema", "code-judge-payload"]).run().success().stdout.clone();
    let schema: Value = serde_json::from_str(&printed).unwrap();
    let required = schema["required"].as_array().unwrap().iter();
    let words = required.map(|key| key.as_str().unwrap().split('_').collect::<Vec<_>>());
    let camel = |words: Vec<&str>| {
        let rest = words[1..].iter().map(|word| word[..1].to_uppercase() + &word[1..]);
        std::iter::once(words[0].to_owned()).chain(rest).collect::<String>()
    };
    words.map(camel).collect()
}

#[test]
fn a_judge_of_the_sdk_gets_every_key_of_the_payload() {
    for runtime in RUNTIMES {
        let cx = context();
        let result = grade(&cx, runtime, &runtime.fixture("eval", "judge"), &json!({}));
        let input = result["details"]["input"].as_object().unwrap();
        for key in payload_keys(&cx) {
            assert!(input.contains_key(&key), "{key} is not in {input:?}");
        }
    }
}

#[test]
fn a_score_out_of_100_is_not_cut_off_by_the_sdk() {
    for runtime in RUNTIMES {
        let keys = json!({ "verdict": { "score": 95 } });
        let script = runtime.fixture("eval", "judge");
        let result = grade(&context(), runtime, &script, &keys);
        assert_eq!(result["error"]["kind"], "score_range", "{result}");
        assert_eq!(result["error"]["message"], "scores are between 0 and 1; got 95");
    }
}

#[test]
fn s143_judges_written_with_the_sdk_are_tested() {
    let package = repository().join("packages/core");
    let args = ["--test", "dist-test/evaluation/evaluators.test.js"];
    let ran = alone("node", &args, &package, Path::new("/dev/null"));
    let report = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{report}");
    assert!(report.contains("works with TypeScript SDK-based code judge"), "{report}");
    let fixture = fs::read_to_string(package.join("test/fixtures/test-sdk-judge.ts")).unwrap();
    assert!(fixture.contains("readCodeJudgePayload()"));
}

#[test]
fn s144_the_example_runs_and_its_judge_can_be_tried_alone() {
    for runtime in RUNTIMES {
        check_example("code-judge-sdk", runtime);
        let (cx, script) =
            (example("code-judge-sdk", runtime), runtime.script("verify-attachments"));
        let ran = alone(runtime.program(), &[&script], cx.dir(), &cx.path("payload.json"));
        let text = String::from_utf8(ran.stdout).unwrap();
        let verdict: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(verdict["score"], 0.5);
        let readme = cx.read("README.md");
        assert!(readme.contains(&format!("{} {script} < payload.json", runtime.program())));
        assert!(readme.contains(text.trim()), "the README shows another verdict than {text}");
    }
}

#[test]
fn measures_for_retrieval_ask_once_per_item_or_once_for_all() {
    for runtime in RUNTIMES {
        let records = check_example("code-judge-with-llm-calls", runtime);
        let calls = |result: &Value| {
            result["evaluator_provider_request"]["target_proxy"]["call_count"].clone()
        };
        let results = records[0]["evaluator_results"].as_array().unwrap();
        assert_eq!(results.iter().map(calls).collect::<Vec<_>>(), [3, 1, 2, 1]);
    }
}
