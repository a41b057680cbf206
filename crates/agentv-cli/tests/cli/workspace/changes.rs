//! What counts as a change of the agent's, and how it is shown.

use super::{Bench, listed};
use serde_json::json;
use std::os::unix::fs::symlink;

#[test]
fn an_edit_is_a_diff_for_judges_and_a_line_in_the_record() {
    let bench = Bench::new();
    let changes = bench.changes("sed -i 's/a - b/a + b/' src/add.py");
    assert_eq!(changes, ["modified src/add.py +1 -1"]);
    let diff = bench.diff();
    assert!(diff.starts_with("diff --git a/src/add.py b/src/add.py\n"), "{diff}");
    assert!(diff.contains("-    return a - b\n+    return a + b\n"), "{diff}");
    let payload = bench.judge.payload();
    assert_eq!(payload["changed_files"][0]["path"], "src/add.py");
    assert_eq!(payload.get("file_changes_truncated"), None);
    // The template is not touched, and nothing is left.
    assert!(bench.cx.read("template/src/add.py").contains("a - b"));
    assert_eq!(bench.left(), 0);
}

#[test]
fn nothing_changed_is_not_the_same_as_no_workspace() {
    let bench = Bench::new();
    let ran = bench.run("true");
    assert_eq!(ran.record()["file_changes"], json!({ "files": [], "diff": "" }));
    assert_eq!(bench.diff(), "");

    let bench = Bench::new().with("    workers: 1");
    let ran = bench.run("true");
    let payload = bench.judge.payload();
    for key in ["file_changes", "changed_files", "workspace_path"] {
        assert_eq!((payload.get(key), ran.record().get(key)), (None, None), "{key}");
    }
}

#[test]
fn new_files_count_and_ignored_ones_do_not() {
    let bench = Bench::new();
    bench.cx.write("template/.gitignore", "node_modules/\n*.log\n");
    bench.cx.write("template/kept.txt", "one\n");
    let changes = bench.changes(
        "mkdir -p node_modules/x new/deep\necho 1 > node_modules/x/i.js\necho 1 > a.log\n\
         echo 1 > new/deep/file.txt\necho 'kept.txt' >> .gitignore\necho two >> kept.txt",
    );
    // A file of the template counts, whatever the agent writes into `.gitignore`.
    let expected =
        ["modified .gitignore +1 -0", "modified kept.txt +1 -0", "added new/deep/file.txt +1 -0"];
    assert_eq!(changes, expected);
}

#[test]
fn deleted_and_renamed_files_are_told_apart() {
    let bench = Bench::new();
    let changes = bench.changes("rm README.md\nmkdir lib\nmv src/add.py lib/plus.py");
    assert_eq!(changes, ["deleted README.md +0 -1", "renamed lib/plus.py from src/add.py +0 -0"]);
    assert!(bench.diff().contains("rename from src/add.py\nrename to lib/plus.py\n"));
}

/// As agents do it, with a name so that Git has no reason to refuse.
const COMMIT: &str = "git -c user.name=a -c user.email=a@example.com commit -q -m work";

#[test]
fn commits_of_the_agent_change_nothing() {
    // In a repository of its own making, and in one that it was given.
    let bench = Bench::new();
    let edit = "echo 1 > new.txt; rm README.md; git add -A";
    let changes = bench.changes(&format!("git init -q; {edit}; {COMMIT}"));
    assert_eq!(changes, ["deleted README.md +0 -1", "added new.txt +1 -0"]);

    let keys = format!(
        "    workspace:\n      template: template\n      setup: git init -q && git add -A && {COMMIT}"
    );
    let bench = Bench::new().with(&keys);
    let changes =
        bench.changes(&format!("git log -1 --format=%s | grep -q work; {edit}; {COMMIT}"));
    assert_eq!(changes, ["deleted README.md +0 -1", "added new.txt +1 -0"]);
}

#[test]
fn files_in_repositories_inside_of_the_workspace_are_seen() {
    // `known` was there before and becomes a repository, `empty` has no commit, `outer/inner` is nested twice.
    let bench = Bench::new();
    bench.cx.write("template/known/a.txt", "1\n");
    let changes = bench.changes(&format!(
        "(cd known; git init -q; echo 2 >> a.txt; git add -A; {COMMIT})\n\
         mkdir -p empty outer/inner\n(cd empty; git init -q; echo 1 > e.txt)\n\
         (cd outer; git init -q; echo 1 > o.txt; cd inner; git init -q; echo 1 > i.txt; git add -A; {COMMIT})"
    ));
    let expected = [
        "added empty/e.txt +1 -0",
        "modified known/a.txt +1 -0",
        "added outer/inner/i.txt +1 -0",
        "added outer/o.txt +1 -0",
    ];
    assert_eq!(changes, expected);
}

#[test]
fn a_repository_inside_of_the_template_is_compared_as_well() {
    let bench = Bench::new().with(
        "    workspace:\n      template: template\n      setup: mkdir dep && cd dep && git init -q && echo 1 > d.txt",
    );
    assert_eq!(bench.changes("echo 2 > dep/d.txt"), ["modified dep/d.txt +1 -1"]);
}

#[test]
fn binary_files_are_listed() {
    let bench = Bench::new();
    let changes = bench.changes("printf 'a\\000b' > image.png");
    assert_eq!(changes, ["added image.png binary +0 -0"]);
    assert!(bench.diff().contains("Binary files /dev/null and b/image.png differ\n"));
}

#[test]
fn an_agent_cannot_hide_text_behind_attributes_or_filters() {
    let bench = Bench::new();
    let changes = bench.changes(
        "git init -q\ngit config filter.x.clean 'touch ran; cat'\ngit config diff.x.textconv 'touch ran; echo'\n\
         echo '*.py binary filter=x diff=x working-tree-encoding=bogus' > .gitattributes\necho '# more' >> src/add.py",
    );
    assert_eq!(changes, ["added .gitattributes +1 -0", "modified src/add.py +1 -0"]);
    assert!(bench.diff().contains("+# more\n"));
}

#[test]
fn git_settings_of_the_user_make_no_difference() {
    let bench = Bench::new();
    bench.write("echo 1 > hidden.txt; echo '# more' >> src/add.py");
    bench.cx.write("hide", "*.txt\n");
    let settings = "[core]\n excludesFile = ../hide\n quotePath = true\n[diff]\n external = false\n mnemonicPrefix = true\n";
    bench.cx.write(".home/.gitconfig", settings);
    let ran = bench.cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]);
    let ran = ran.env("GIT_DIR", "/nowhere").env("GIT_INDEX_FILE", "/nowhere/index");
    let ran = ran.env("GIT_EXTERNAL_DIFF", "false").env("GIT_CONFIG_COUNT", "x").run();
    assert_eq!(listed(&ran.record()), ["added hidden.txt +1 -0", "modified src/add.py +1 -0"]);
    assert!(bench.diff().contains("--- a/src/add.py\n"));
}

#[test]
fn links_are_shown_and_not_followed() {
    let bench = Bench::new();
    bench.cx.write("outside/secret.txt", "secret\n");
    symlink("../outside/secret.txt", bench.cx.path("template/link")).unwrap();
    let outside = bench.cx.path("outside");
    let changes = bench.changes(&format!(
        "ln -s '{0}/secret.txt' out\nln -s '{0}' dir\nrm -r src\nln -s '{0}' src",
        outside.display()
    ));
    let expected =
        ["added dir +1 -0", "added out +1 -0", "added src +1 -0", "deleted src/add.py +0 -2"];
    assert_eq!(changes, expected);
    let diff = bench.diff();
    assert!(diff.contains("new file mode 120000") && !diff.contains("+secret\n"), "{diff}");
    assert_eq!(bench.cx.read("outside/secret.txt"), "secret\n");
}

#[test]
fn a_large_diff_is_cut_after_a_whole_line() {
    let bench = Bench::new();
    // 2 MiB of lines.
    let ran = bench.run("yes 0123456789012345678901234567890 | head -65536 > large.txt");
    let payload = bench.judge.payload();
    assert_eq!(payload["file_changes_truncated"], true);
    let diff = bench.diff();
    assert!(diff.len() <= 1 << 20 && diff.len() > (1 << 20) - 100, "{}", diff.len());
    assert!(diff.ends_with("+0123456789012345678901234567890\n"));
    // The record has less of it, and the whole list.
    let record = ran.record();
    assert_eq!(listed(&record), ["added large.txt +65536 -0"]);
    let kept = record["file_changes"]["diff"].as_str().unwrap();
    assert!(kept.len() <= 64 << 10 && kept.ends_with("0\n"), "{}", kept.len());
    assert_eq!(record["file_changes"]["diff_truncated"], true);
}

#[test]
fn an_agent_that_removes_or_replaces_its_workspace_is_still_compared() {
    for agent in ["rm -r \"$PWD\"", "cd ..; rm -r workspace; ln -s \"$AGENTV_EVAL_DIR\" workspace"]
    {
        let bench = Bench::new();
        let ran = bench.run(agent);
        ran.success().stderr_has("no longer a directory");
        assert_eq!(listed(&ran.record()), ["deleted README.md +0 -1", "deleted src/add.py +0 -2"]);
        assert_eq!(bench.judge.payload().get("workspace_path"), None);
        assert_eq!(bench.left(), 0);
        assert!(bench.cx.path("template").exists(), "the link was followed");
    }
}

#[test]
fn large_files_are_compared_by_what_they_hold() {
    let bench = Bench::new();
    let template = |name: &str, fill: u8| {
        let bytes = vec![fill; 17 << 20];
        std::fs::write(bench.cx.path("template").join(name), bytes).unwrap();
    };
    for (name, fill) in [("same", 1), ("touched", 2), ("edited", 3), ("moved", 4), ("gone", 5)] {
        template(name, fill);
    }
    let changes = bench.changes(
        "touch touched\nprintf x | dd of=edited conv=notrunc 2> /dev/null\nmv moved elsewhere\nrm gone\n\
         truncate -s 20M README.md\nmkdir deep\ntruncate -s 18M deep/new",
    );
    let expected = [
        "modified README.md binary +0 -0",
        "added deep/new binary +0 -0",
        "modified edited binary +0 -0",
        "renamed elsewhere from moved binary +0 -0",
        "deleted gone binary +0 -0",
    ];
    let mut changes = changes;
    changes.sort_by_key(|line| line.split(' ').nth(1).unwrap().to_owned());
    assert_eq!(changes, expected);
    assert!(bench.diff().contains("Binary files /dev/null and b/deep/new differ"));
}

/// Git would need as much memory as the file has bytes. None of the programs gets that much.
#[test]
#[cfg(target_os = "linux")]
fn an_enormous_file_takes_neither_memory_nor_time() {
    let outside = crate::context();
    let binary = env!("CARGO_BIN_EXE_agentv");
    let wrapper = format!("#!/bin/sh\nulimit -v 2500000 || exit 70\nexec '{binary}' \"$@\"\n");
    let limited = outside.script("limited", &wrapper);
    let bench = Bench::new();
    bench.write("truncate -s 3G enormous");
    let args = ["eval", "suite.yaml", "--agent-timeout", "60", "--out", "out.jsonl"];
    let ran = bench.cx.agentv_at(&limited, args).run();
    assert_eq!(listed(&ran.success().record()), ["added enormous binary +0 -0"]);
}
