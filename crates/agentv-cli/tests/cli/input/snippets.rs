//! What is shown of a file that is wrong: its lines, but no key that somebody wrote into it.

use crate::mocked;

const KEY: &str = "sk-live-0123456789";

/// Checks that this targets file is complained about and its key not shown.
#[track_caller]
fn check(file: &str) {
    let cx = mocked(&["a"]);
    cx.write("targets.yaml", &file.replace("KEY", KEY));
    for args in [
        &["eval", "suite.yaml"][..],
        &["validate", "targets.yaml"],
        &["validate", ".", "--format", "json"],
    ] {
        let ran = cx.agentv(args).run();
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("targets.yaml"), "nothing was said of `{file}`: {said}");
        for piece in [KEY, "sk-live", "0123456789"] {
            assert!(!said.contains(piece), "a key is shown for `{file}`: {said}");
        }
    }
}

#[test]
fn a_syntax_error_beside_a_key_does_not_show_it() {
    for broken in [
        "api_key: KEY: x",
        "api_key: KEY\n     model: x",
        "api_key: \"KEY",
        "api_key: [KEY",
        "apiKey: {KEY",
        "api_key: @KEY",
        "api_key: KEY\n    api_key: KEY",
        "token:\n      - KEY: [",
        "password: |\n   KEY\n  x",
        "\tauthorization: KEY",
        "headers:\n      X-Custom: KEY: x",
        "headers:\n      - KEY: [",
        "headers: {X-Custom: KEY",
        "env:\n      SOME_TOKEN: 'KEY",
    ] {
        check(&format!(
            "targets:\n  - name: default\n    provider: openai\n    model: m\n    {broken}\n"
        ));
    }
    check("targets:\n  - {name: default, provider: openai, model: m, api_key: KEY, x: [}\n");
    check("{\"targets\": [{\"name\": \"default\", \"api_key\": \"KEY\" \"model\": 1}]}\n");
}

#[test]
fn a_note_on_a_key_does_not_show_it() {
    for odd in [
        "api_key: KEY",
        "headers: {Authorization: Bearer KEY, X-Custom: KEY}",
        "headers:\n      X-Custom: KEY",
        "apikey: KEY",
        "access_token: KEY\n    tokens: 5",
    ] {
        check(&format!(
            "targets:\n  - name: default\n    provider: openai\n    model: m\n    {odd}\n"
        ));
        let odd = odd.replace("\n    ", "\n  ");
        check(&format!("targets:\n  - {{name: default, provider: mock}}\n{odd}\n"));
    }
    check("targets:\n  - {name: default, provider: openai, model: m, api_key: KEY, workers: 0}\n");
}

#[test]
fn what_names_a_variable_is_shown() {
    let cx = mocked(&["a"]);
    cx.write(
        "targets.yaml",
        "targets:\n  - {name: default, provider: openai, api_key: \"${{ KEY }}\", workers: 0}\n",
    );
    let ran = cx.agentv(["eval", "suite.yaml"]).run();
    ran.code(2).stderr_has("api_key: \"${{ KEY }}\", workers: 0}");
}
