//! `agentv verify`: what was changed in a run folder since its run is found and named.

use crate::runs::folder;
use crate::{eval, mocked, waiting};
use agentv_test_support::{Ran, TestContext, cases, cli_target, targets};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A finished run of three paid answers, so that the journal has them, with a log of some kind.
fn finished() -> TestContext {
    let cx = mocked(&[]);
    cx.write("targets.yaml", &targets(&[cli_target("default", "echo ok > {OUTPUT_FILE}")]));
    cx.write("suite.yaml", &cases(&["a", "b", "c"]));
    eval(&cx, &[]).success();
    cx
}

#[track_caller]
fn found(cx: &TestContext) -> Value {
    let ran = cx.agentv(["verify", "--format", "json"]).run();
    assert!(ran.code == 0 || ran.code == 1, "{ran:?}");
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["whole"], ran.code == 0, "{ran:?}");
    found
}

/// Checks that exactly this file differs, at this line if there is one, and says all that was found.
#[track_caller]
fn differs(cx: &TestContext, file: &str, line: Option<u64>) -> Value {
    let found = found(cx);
    let all = found["differences"].as_array().unwrap();
    assert!(!all.is_empty() && all.iter().all(|one| one["file"] == file), "{file}: {found:#}");
    if let Some(line) = line {
        assert_eq!(all[0]["line"], line, "{file}: {found:#}");
    }
    found
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().split_inclusive('\n').map(str::to_owned).collect()
}

fn openssl(cx: &TestContext, args: &[&str]) -> Ran {
    let sh = TestContext::new("sh");
    sh.agentv(["-c", &format!("cd '{}' && openssl {}", cx.dir().display(), args.join(" "))]).run()
}

#[test]
fn a_run_that_nobody_touched_is_whole() {
    let cx = finished();
    let run = folder(&cx).file_name().unwrap().to_str().unwrap().to_owned();
    for name in [
        "latest",
        &run,
        &format!(".agentv/runs/{run}"),
        &format!(".agentv/runs/{run}/results.jsonl"),
    ] {
        let ran = cx.agentv(["verify", name]).run();
        ran.success().stdout_has(": whole").stdout_has("3 records").stdout_has("not signed");
    }
    // Looking at a run does not change it; the page of a report is not of the run.
    cx.agentv(["runs", "show"]).run().success();
    cx.agentv(["report"]).run().success();
    cx.agentv(["eval", "--resume", &run, "--target", "nobody"]).run().code(2);
    let ran = cx.agentv(["verify"]).run();
    ran.success().stdout_has("report.html is not of the run, and is not checked");
    cx.agentv(["verify", "nothing"]).run().code(2).stderr_has("no run folder");
    cx.agentv(["verify", "."]).run().code(2);
    // A copy elsewhere is as good.
    let sh = TestContext::new("sh");
    sh.agentv([
        "-c",
        &format!("cp -r '{}' '{}'", folder(&cx).display(), cx.path("copy").display()),
    ])
    .run()
    .success();
    cx.agentv(["verify", "copy"]).run().success().stdout_has("Run copy: whole");
}

/// The property: whichever byte is changed, its file is named, and of the journal and the results the line.
#[test]
fn every_changed_byte_is_found_and_named() {
    let cx = finished();
    fs::write(cx.path("key.pem"), "").unwrap();
    openssl(&cx, &["genpkey -algorithm ed25519 -out key.pem"]).success();
    fs::remove_dir_all(cx.path(".agentv")).unwrap();
    eval(&cx, &["--sign", "key.pem"]).success();
    let dir = folder(&cx);
    let names = ["run.json", "results.jsonl", "journal.jsonl", "manifest.json", "manifest.sig"];
    for (at, name) in names.iter().enumerate() {
        let path = dir.join(name);
        let bytes = fs::read(&path).unwrap();
        let step = (bytes.len() / 12).max(1);
        // The first and the last byte, and some between them; a different bit each time.
        let places = (at % step..bytes.len()).step_by(step).chain([0, bytes.len() - 1]);
        for (number, place) in places.enumerate() {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (number % 8);
            fs::write(&path, &changed).unwrap();
            let is_lines = name.ends_with('l');
            let line = bytes[..place].split(|byte| *byte == b'\n').count() as u64;
            differs(&cx, name, is_lines.then_some(line));
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(found(&cx)["whole"], true);
}

#[test]
fn lines_that_were_removed_moved_or_added_are_found() {
    let cx = finished();
    let dir = folder(&cx);
    for name in ["results.jsonl", "journal.jsonl"] {
        let path = dir.join(name);
        let whole = lines(&path);
        let check = |changed: &[String], line: u64| {
            fs::write(&path, changed.concat()).unwrap();
            differs(&cx, name, Some(line));
            fs::write(&path, whole.concat()).unwrap();
        };
        let last = whole.len();
        check(&whole[..last - 1], last as u64);
        check(&[&whole[..1], &whole[2..]].concat(), 2);
        check(&whole[1..], 1);
        let mut swapped = whole.clone();
        swapped.swap(1, 2);
        check(&swapped, 2);
        check(&[&whole[..], &whole[1..2]].concat(), last as u64 + 1);
        check(&[&whole[..], &["{}\n".to_owned()]].concat(), last as u64 + 1);
        check(&[&whole[..], &["{\"to".to_owned()]].concat(), last as u64 + 1);
        fs::write(&path, whole.concat().trim_end()).unwrap();
        differs(&cx, name, Some(last as u64));
        fs::write(&path, "").unwrap();
        differs(&cx, name, Some(1));
        fs::remove_file(&path).unwrap();
        differs(&cx, name, None);
        fs::write(&path, whole.concat()).unwrap();
        assert_eq!(found(&cx)["whole"], true);
    }
}

#[test]
fn files_that_were_removed_or_added_are_found() {
    let cx = finished();
    let dir = folder(&cx);
    for name in ["extra.txt", "logs/extra.log", "removed.jsonl", "manifest.sig"] {
        fs::write(dir.join(name), "x").unwrap();
        differs(&cx, name, None);
        fs::remove_file(dir.join(name)).unwrap();
    }
    for name in ["run.json", "results.jsonl", "manifest.json"] {
        let text = fs::read(dir.join(name)).unwrap();
        fs::remove_file(dir.join(name)).unwrap();
        differs(&cx, name, None);
        fs::write(dir.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("run.json", dir.join("link")).unwrap();
    differs(&cx, "link", None);
}

#[test]
fn a_resumed_run_goes_on_with_the_chain() {
    let cx = finished();
    cx.write("suite.yaml", &cases(&["a", "b", "c", "d"]));
    let before = lines(&folder(&cx).join("journal.jsonl"));
    cx.agentv(["eval", "suite.yaml", "--resume"]).run().success();
    let after = lines(&folder(&cx).join("journal.jsonl"));
    assert_eq!(after[..before.len()], before);
    assert!(after.len() > before.len());
    cx.agentv(["verify"]).run().success().stdout_has("4 records");
    // A case that is gone is moved to removed.jsonl, which is checked, too.
    cx.write("suite.yaml", &cases(&["a", "b", "d"]));
    cx.agentv(["eval", "suite.yaml", "--resume"]).run().success();
    cx.agentv(["verify"]).run().success().stdout_has("3 records");
    let removed = folder(&cx).join("removed.jsonl");
    fs::write(&removed, fs::read_to_string(&removed).unwrap().replace("ok", "no")).unwrap();
    differs(&cx, "removed.jsonl", None);
}

#[test]
fn a_killed_run_is_checked_as_far_as_its_chain_goes() {
    let cx = mocked(&["a", "b"]);
    let mut meeting = waiting(&cx, "{EVAL_ID}");
    let running = cx.agentv(["eval", "suite.yaml", "--out", "out.jsonl"]).start();
    meeting.next();
    meeting.let_go(1);
    meeting.next();
    while !fs::metadata(cx.path("out.jsonl")).is_ok_and(|file| file.len() > 0) {
        std::thread::yield_now();
    }
    running.signal("KILL");
    running.finish().code(137);
    cx.agentv(["verify"])
        .run()
        .success()
        .stdout_has("not finished; whole as far as it goes")
        .stdout_has("1 record");
    let journal = folder(&cx).join("journal.jsonl");
    let whole = lines(&journal);
    // Half a line is what a kill leaves; a changed one is not.
    fs::write(&journal, whole.concat() + "{\"answ").unwrap();
    cx.agentv(["verify"]).run().success().stdout_has("not finished");
    fs::write(&journal, whole.concat().replacen("\"eval_id\":\"a\"", "\"eval_id\":\"x\"", 1))
        .unwrap();
    let ran = cx.agentv(["verify"]).run();
    ran.code(1).stdout_has("journal.jsonl:3: it was changed").stdout_has("not finished");
    fs::write(&journal, whole.concat()).unwrap();
    let results = folder(&cx).join("results.jsonl");
    fs::write(
        &results,
        fs::read_to_string(&results).unwrap().replace("\"score\":1", "\"score\":0.9"),
    )
    .unwrap();
    cx.agentv(["verify"]).run().code(1).stdout_has("results.jsonl:1: it was changed or added");
}

#[test]
fn a_signature_says_who_made_the_folder() {
    let cx = finished();
    fs::remove_dir_all(cx.path(".agentv")).unwrap();
    for name in ["mine", "theirs"] {
        openssl(&cx, &[&format!("genpkey -algorithm ed25519 -out {name}.pem")]).success();
        openssl(&cx, &[&format!("pkey -in {name}.pem -pubout -out {name}.pub")]).success();
    }
    eval(&cx, &["--sign", "mine.pem"]).success();
    let verify = |key: &str| cx.agentv(["verify", "--key", key]).run();
    verify("mine.pub").success().stdout_has(": whole").stdout_has("signed with the given key");
    cx.agentv(["verify"]).run().success().stdout_has("`--key PUBLIC` checks that it is yours");
    verify("theirs.pub").code(1).stdout_has("signed with another key");
    verify("mine.pem").code(2).stderr_has("is not an Ed25519 public key in PEM");
    verify("none.pub").code(2);
    // What OpenSSL says of it.
    let dir = folder(&cx);
    let args = format!(
        "pkeyutl -verify -pubin -inkey mine.pub -rawin -in {0}/manifest.json -sigfile {0}/manifest.sig",
        dir.display()
    );
    openssl(&cx, &[&args]).success();
    // Everything written anew by somebody who does not have the key.
    let forged: PathBuf = dir.clone();
    fs::remove_dir_all(&forged).unwrap();
    eval(&cx, &["--sign", "theirs.pem"]).success();
    verify("mine.pub").code(1);
    fs::remove_dir_all(folder(&cx)).unwrap();
    eval(&cx, &[]).success();
    verify("mine.pub").code(1).stdout_has("the run is not signed");
    for (key, expected) in [
        ("none.pem", "cannot be read"),
        ("mine.pub", "is not an Ed25519 private key"),
        ("suite.yaml", "is not an Ed25519 private key"),
    ] {
        eval(&cx, &["--sign", key]).code(2).stderr_has(expected);
    }
    eval(&cx, &["--sign", "mine.pem", "--dry-run"]).code(2).stderr_has("signs a run folder");
}
