//! What editors and shells are given: schemas, completion and hover by the real YAML language server, completions.

mod language_server;

use crate::context;
use agentv_test_support::{GRADER, TestContext, mock_target, targets};
use language_server::{LanguageServer, Position};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

const SUITE: &str = "evals/help-desk.eval.yaml";
const TARGETS: &str = ".agentv/targets.yaml";

/// A project as `agentv init` leaves it, and a server that has looked at its files.
fn project() -> (TestContext, LanguageServer) {
    let cx = context();
    let init = cx.agentv(["init", "--yes"]).env("PATH", "/nowhere").env("OPENAI_API_KEY", "k");
    init.run().success();
    let mut server = LanguageServer::start(cx.dir());
    for path in [SUITE, TARGETS] {
        assert_eq!(server.show(path, &cx.read(path)), Vec::<String>::new(), "{path}");
    }
    (cx, server)
}

/// What is offered when this is typed behind a text of the file, which has to be there.
#[track_caller]
fn complete(
    (cx, server): &mut (TestContext, LanguageServer),
    path: &str,
    behind: &str,
    typed: &str,
) -> HashMap<String, String> {
    let text = cx.read(path);
    assert!(text.contains(behind), "no `{behind}` in {path}");
    let at = text.find(behind).unwrap() + behind.len();
    let text = [&text[..at], typed, &text[at..]].concat();
    server.show(path, &text);
    server.complete(path, Position::at(&text, at + typed.len()))
}

/// What is said of the first place where this stands.
#[track_caller]
fn hover((cx, server): &mut (TestContext, LanguageServer), path: &str, on: &str) -> String {
    let text = cx.read(path);
    assert!(text.contains(on), "no `{on}` in {path}");
    let at = text.find(on).unwrap();
    let at = at + on.len() - on.trim_start().len();
    server.show(path, &text);
    server.hover(path, Position::at(&text, at + 1))
}

#[track_caller]
fn offers(offered: &HashMap<String, String>, label: &str, told: &str) {
    assert!(offered.contains_key(label), "no `{label}` in {offered:#?}");
    let said = &offered[label];
    assert!(said.contains(told), "`{label}` is said to be: {said}");
}

#[test]
fn types_of_evaluators_are_offered_and_explained() {
    let mut project = project();
    let typed = "\n      - name: another\n        type: ";
    let offered = complete(&mut project, SUITE, "        value: 30 days", typed);
    offers(&offered, "regex", "the answer matches a regular expression");
    offers(&offered, "llm_judge", "a model reads the answer and grades it");
    offers(&offered, "code_judge", "a script of yours grades");
}

#[test]
fn each_type_of_evaluator_has_its_own_keys() {
    let mut project = project();
    let offered = complete(&mut project, SUITE, "        value: 30 days", "\n        i");
    offers(&offered, "ignore_case", "upper and lower case");
    offers(&offered, "weight", "Its share in the mean of the case");
    offers(&offered, "required", "Whether the case fails");
    assert!(!offered.contains_key("pattern"), "{offered:#?}");
}

#[test]
fn keys_of_suites_and_cases_are_offered() {
    let mut project = project();
    let offered = complete(&mut project, SUITE, "description: The help desk of a lamp shop", "\ne");
    offers(&offered, "execution", "What all cases share.");
    let typed = "\nexecution:\n  p";
    let offered = complete(&mut project, SUITE, "description: The help desk of a lamp shop", typed);
    offers(&offered, "pass_score", "From which score on a case passes");
    let offered = complete(&mut project, SUITE, "  - id: return-window", "\n    t");
    offers(&offered, "tags", "Copied to the result.");
}

#[test]
fn targets_are_offered_by_provider() {
    let mut project = project();
    let typed = "\n  - name: another\n    provider: ";
    let offered = complete(&mut project, TARGETS, "\ntargets:", typed);
    offers(&offered, "claude-code", "the answer is what `claude` calls its result");
    offers(&offered, "openai", "a model of OpenAI");
    let offered = complete(&mut project, TARGETS, "    provider: openai", "\n    t");
    offers(&offered, "temperature", "");
    offers(&offered, "base_url", "Where the API is");
    offers(&offered, "judge_target", "The target that grades the answers of this one");
    assert!(!offered.contains_key("command_template"), "{offered:#?}");
}

#[test]
fn keys_are_explained_where_they_stand() {
    let mut project = project();
    let check = |project: &mut _, path, on, told: &str| {
        let said = hover(project, path, on);
        assert!(said.contains(told), "`{on}` is said to be: {said}");
    };
    check(&mut project, SUITE, "    evaluators:", "Who grades.");
    check(
        &mut project,
        SUITE,
        "        required: true",
        "Whether the case fails when this evaluator is not met",
    );
    check(&mut project, SUITE, "        pattern:", "regular expression");
    check(&mut project, TARGETS, "    response:", "The answer.");
    check(&mut project, TARGETS, "    api_key:", "never the key itself");
}

#[test]
fn what_is_wrong_is_marked() {
    let (cx, mut server) = project();
    let text = cx.read(SUITE).replace("type: contains", "type: containz");
    let found = server.show(SUITE, &text).join("\n");
    assert!(found.contains("contains"), "{found}");
    let text = cx.read(TARGETS).replace("provider: openai", "provider: 7");
    assert!(!server.show(TARGETS, &text).is_empty());
}

/// Every example of the repository, with the schemas beside it.
#[test]
fn no_example_is_marked() {
    let (cx, mut server) = project();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let (mut looked_at, mut marked) = (0, Vec::new());
    let mut waiting = vec![examples];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "node_modules" {
                waiting.push(path);
                continue;
            }
            let kind = match name.as_str() {
                "targets.yaml" => "targets",
                name if name.ends_with(".eval.yaml") => "eval",
                _ => continue,
            };
            let schema = cx.path(format!(".agentv/schema/{kind}.schema.json"));
            let text = std::fs::read_to_string(&path).unwrap();
            let text = format!("# yaml-language-server: $schema={}\n{text}", schema.display());
            looked_at += 1;
            let found = server.show(&format!("example-{looked_at}.yaml"), &text);
            marked
                .extend(found.into_iter().map(|message| format!("{}: {message}", path.display())));
        }
    }
    assert_eq!(marked, Vec::<String>::new());
    assert!(looked_at > 20, "only {looked_at} examples were found");
}

#[test]
fn schemas_are_printed_as_they_are_in_the_repository() {
    let cx = context();
    for kind in ["eval", "targets", "config", "result", "code-judge-payload"] {
        let ran = cx.agentv(["schema", kind]).run();
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{kind}.schema.json"));
        assert_eq!(ran.success().stdout, std::fs::read_to_string(file).unwrap());
        let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(schema["title"].is_string());
    }
    cx.agentv(["schema", "nothing"]).run().code(2).stderr_has("eval, targets, config, result");
}

#[test]
fn shells_complete_commands_flags_and_values() {
    let cx = context();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        cx.agentv(["completions", shell]).run().success().stdout_has("AGENTV_COMPLETE");
    }
    let more = [mock_target("default", "ok"), mock_target("gpt-mini", "ok")];
    cx.write("targets.yaml", &targets(&more));
    let case = "  - {id: refund-1, input: q, expected_outcome: o, tags: [billing]}\n";
    let evaluators = format!("execution:\n  evaluators:\n    - {GRADER}\n");
    cx.write("evals/a.yaml", &format!("{evaluators}evalcases:\n{case}"));
    cx.write("evals/broken.yaml", "evalcases: [\n");
    cx.agentv(["eval", "evals/a.yaml"]).run().success();
    let run = crate::runs::folder(&cx);
    let run = run.file_name().unwrap().to_str().unwrap();
    // The real bash, with its own idea of what is being completed.
    cx.write("agentv.bash", &cx.agentv(["completions", "bash"]).run().stdout);
    let script = r#"
        source agentv.bash
        complete_words() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _clap_complete_agentv agentv "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[*]}"
        }
        complete_words agentv doc
        complete_words agentv eval --thr
        complete_words agentv schema t
        complete_words agentv eval -t gp
        complete_words agentv eval --target ''
        complete_words agentv eval --eval-id ref
        complete_words agentv grade latest --tag b
        complete_words agentv report pre
        complete_words agentv runs show 2
        complete_words agentv eval evals/a
        complete_words agentv eval --targets tar
    "#;
    let program = Path::new(env!("CARGO_BIN_EXE_agentv")).parent().unwrap();
    #[expect(clippy::disallowed_methods, reason = "tests run programs from outside")]
    let output = std::process::Command::new("bash")
        .args(["--norc", "-c", script])
        .current_dir(cx.dir())
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = format!(
        "doctor\n--threshold\ntargets\ngpt-mini\ndefault gpt-mini\nrefund-1\nbilling\nprevious\n{run}\nevals/a.yaml\ntargets.yaml\n"
    );
    assert_eq!(said.replace('\u{b}', " "), expected);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
