//! The files that a run leaves: names that no other run has, modes, and what is said when somebody removes or cuts them
//! while the run goes on.

use crate::runs::folder;
use crate::{context, eval, mocked, waiting};
use agentv_test_support::{Ran, TestContext, cli_target, targets};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The ids of the records, each of which is a whole line.
#[track_caller]
fn ids(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    records.map(|record| record["eval_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_of_one_moment_have_names_of_their_own() {
    for flags in [&["--dry-run"][..], &["--no-run-folder"], &["--output-format", "yaml"], &[]] {
        let cx = mocked(&["a", "b", "c"]);
        let running: Vec<_> = (0..12)
            .map(|_| cx.agentv(["eval", "suite.yaml"].iter().chain(flags)).start())
            .collect();
        let ran: Vec<Ran> = running.into_iter().map(|running| running.finish()).collect();
        let mut outs: Vec<String> = ran
            .iter()
            .map(|ran| {
                let out = ran
                    .success()
                    .stdout
                    .lines()
                    .find_map(|line| line.strip_prefix("Output path: "));
                out.unwrap().to_owned()
            })
            .collect();
        outs.sort();
        outs.dedup();
        assert_eq!(outs.len(), 12, "{flags:?}: {outs:#?}");
        for out in outs.iter().filter(|_| !flags.contains(&"yaml")) {
            assert_eq!(ids(Path::new(out)).len(), 3, "{out}");
        }
    }
}

#[test]
fn runs_with_one_output_do_not_write_into_each_other() {
    for flags in [&["--dry-run"][..], &["--no-run-folder"], &[]] {
        let cx = mocked(&["a", "b", "c"]);
        let args = ["eval", "suite.yaml", "--out", "out.jsonl"];
        let running: Vec<_> =
            (0..12).map(|_| cx.agentv(args.iter().chain(flags)).start()).collect();
        for ran in running.into_iter().map(|running| running.finish()) {
            // Whose file was replaced before its end says so.
            assert!(ran.code == 0 || (ran.code == 3 && ran.stderr.contains("replaced")), "{ran:?}");
        }
        assert_eq!(ids(&cx.path("out.jsonl")).len(), 3, "{flags:?}");
    }
}

#[test]
fn folders_with_answers_are_for_their_owner_and_the_output_is_as_the_mask_says() {
    for (mask, expected) in [("022", 0o644), ("027", 0o640), ("002", 0o664)] {
        let cx = mocked(&["a"]);
        let sh = TestContext::new("sh");
        let script = format!(
            "umask {mask}; cd '{}' && '{}' eval suite.yaml --cache --out out/out.jsonl && '{}' eval suite.yaml",
            cx.dir().display(),
            env!("CARGO_BIN_EXE_agentv"),
            env!("CARGO_BIN_EXE_agentv")
        );
        sh.agentv(["-c", &script]).run().success();
        assert_eq!(mode(&cx.path("out/out.jsonl")), expected);
        assert_eq!(mode(&cx.path(".agentv/results")), 0o700);
        let runs: Vec<_> =
            fs::read_dir(cx.path(".agentv/runs")).unwrap().map(|run| run.unwrap().path()).collect();
        assert_eq!(runs.len(), 2);
        for run in &runs {
            assert_eq!(mode(run), 0o700);
        }
        let is_out = |run: &Path| {
            fs::metadata(run.join("results.jsonl")).unwrap().ino()
                == fs::metadata(cx.path("out/out.jsonl")).unwrap().ino()
        };
        assert!(runs.iter().any(|run| is_out(run)), "the output is not the results");
    }
}

/// A run of two cases that is stopped between them; `meanwhile` is a line of shell in the context's directory.
#[track_caller]
fn disturbed(meanwhile: &str, flags: &[&str]) -> (TestContext, Ran) {
    let cx = mocked(&["a", "b"]);
    let mut meeting = waiting(&cx, "{EVAL_ID}");
    let args = ["eval", "suite.yaml", "--out", "out.jsonl"];
    let running = cx.agentv(args.iter().chain(flags)).start();
    meeting.next();
    meeting.let_go(1);
    // The second case starts when the record of the first is on file, or a moment before that.
    meeting.next();
    let journal_has_record = || {
        let runs = fs::read_dir(cx.path(".agentv/runs")).into_iter().flatten().flatten();
        let has = |name: &str| {
            runs.map(|run| run.path().join(name))
                .any(|file| fs::metadata(file).is_ok_and(|file| file.len() > 0))
        };
        has("results.jsonl")
    };
    let has_output = || fs::metadata(cx.path("out.jsonl")).is_ok_and(|file| file.len() > 0);
    while !journal_has_record() && !has_output() {
        std::thread::yield_now();
    }
    let sh = TestContext::new("sh");
    sh.agentv(["-c", &format!("cd '{}' && {meanwhile}", cx.dir().display())]).run().success();
    meeting.let_go(1);
    let ran = running.finish();
    (cx, ran)
}

#[test]
fn what_was_removed_is_written_again_from_the_open_files() {
    let (cx, ran) = disturbed("rm -rf .agentv out.jsonl", &[]);
    ran.code(3).stderr_has("`out.jsonl` was removed").stderr_has("results.jsonl` was removed");
    ran.stderr_has("journal.jsonl` was removed")
        .stderr_has("run.json` was removed")
        .stderr_has("written again");
    assert_eq!(ids(&cx.path("out.jsonl")), ["a", "b"]);
    assert_eq!(ids(&folder(&cx).join("results.jsonl")), ["a", "b"]);
    assert_eq!(mode(&folder(&cx)), 0o700);
    cx.agentv(["runs", "list"]).run().success().stdout_has("2/2");
    // The journal knows both records, so nothing is run again.
    cx.agentv(["eval", "--resume"]).run().success().stdout_has("2 of 2 cases are done");
}

#[test]
fn an_output_alone_that_was_removed_is_there_again() {
    let (cx, ran) = disturbed("rm out.jsonl", &[]);
    ran.code(3).stderr_has("`out.jsonl` was removed during the run").stderr_lacks("journal.jsonl");
    assert_eq!(ids(&cx.path("out.jsonl")), ["a", "b"]);
    let (cx, ran) = disturbed("rm out.jsonl", &["--no-run-folder"]);
    ran.code(3).stderr_has("`out.jsonl` was removed during the run");
    assert_eq!(ids(&cx.path("out.jsonl")), ["a", "b"]);
    let (cx, ran) = disturbed("rm -r .agentv/runs/*/run.json", &[]);
    ran.code(3).stderr_has("run.json` was removed or damaged during the run; it was written again");
    assert!(folder(&cx).join("run.json").is_file());
}

#[test]
fn a_file_that_was_cut_is_named_with_what_is_left() {
    let (cx, ran) = disturbed(": > out.jsonl", &[]);
    ran.code(3).stderr_has("is shorter than what was written to it").stderr_has("--resume");
    assert_eq!(ids(&cx.path("out.jsonl")), ["b"]);
    // The answer is in the journal, and is only graded again.
    let run = folder(&cx).file_name().unwrap().to_string_lossy().into_owned();
    cx.write("targets.yaml", &targets(&[cli_target("default", "exit 1")]));
    cx.agentv(["eval", "--resume", &run])
        .run()
        .success()
        .stdout_has("1 answered before, and only graded now");
    assert_eq!(ids(&cx.path("out.jsonl")).len(), 2);
    let (_, ran) = disturbed(": > out.jsonl", &["--no-run-folder"]);
    ran.code(3)
        .stderr_has("`out.jsonl` is shorter than what was written to it")
        .stderr_lacks("--resume");
    let (_, ran) = disturbed("for f in .agentv/runs/*/journal.jsonl; do : > $f; done", &[]);
    ran.code(3).stderr_has("journal.jsonl` is shorter than what was written to it");
}

#[test]
fn an_output_that_was_replaced_is_left_alone() {
    let (cx, ran) = disturbed("echo theirs > new && mv new out.jsonl", &[]);
    ran.code(3)
        .stderr_has("`out.jsonl` was replaced by another file during the run")
        .stderr_has("results.jsonl`");
    assert_eq!(cx.read("out.jsonl"), "theirs\n");
    let (cx, ran) = disturbed("echo theirs > new && mv new out.jsonl", &["--no-run-folder"]);
    ran.code(3)
        .stderr_has("`out.jsonl` was replaced by another file during the run")
        .stderr_has("out-2.jsonl");
    assert_eq!(cx.read("out.jsonl"), "theirs\n");
    assert_eq!(ids(&cx.path("out-2.jsonl")), ["a", "b"]);
}

#[test]
fn a_run_that_nobody_disturbs_says_nothing_of_its_files() {
    let cx = context();
    cx.write("targets.yaml", &targets(&[agentv_test_support::mock_target("default", "ok")]));
    cx.write("suite.yaml", &agentv_test_support::cases(&["a"]));
    assert_eq!(eval(&cx, &[]).success().stderr, "");
    let yaml = cx.agentv(["eval", "suite.yaml", "--out", "/dev/null"]).run();
    assert_eq!(yaml.success().stderr, "");
    fs::write(cx.path("there.jsonl"), "before").unwrap();
    std::os::unix::fs::symlink("there.jsonl", cx.path("link.jsonl")).unwrap();
    assert_eq!(cx.agentv(["eval", "suite.yaml", "--out", "link.jsonl"]).run().success().stderr, "");
    assert_eq!(ids(&cx.path("there.jsonl")), ["a"]);
}
