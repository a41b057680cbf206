//! Which files travel.

use crate::{Cluster, suite};
use agentv_test_support::{cli_target, mock_target, targets};
use std::fmt::Write as _;

#[test]
fn a_command_in_the_folder_of_the_eval_file_has_the_files_that_are_named() {
    let mut cluster =
        Cluster::new(&targets(&[cli_target("default", "ls -A; cat data/prices.csv")]));
    let cx = &cluster.cx;
    cx.write("evals/data/prices.csv", "lamp,30 ok\n");
    cx.write("evals/data/secret.txt", "not named\n");
    cx.write("evals/.env", "TOKEN=not-sent\n");
    cx.write("evals/suite.yaml", &format!("files: [data/*.csv]\n{}", suite(&["a"])));
    cluster.worker("one", &[]);
    let ran = cluster.eval(&["evals/suite.yaml"]).run();
    let answer = ran.success().record()["candidate_answer"].to_string();
    assert!(answer.contains("lamp,30") && !answer.contains(".env"), "{answer}");
    let all = cluster.server.everything();
    assert!(!contains(&all, b"not named") && !contains(&all, b"not-sent"));
}

#[test]
fn files_that_are_missing_or_elsewhere_are_errors_before_the_first_job() {
    let cluster = Cluster::new(&targets(&[mock_target("default", "ok")]));
    let cx = &cluster.cx;
    cx.write("evals/suite.yaml", &format!("files: [helpers/*.py]\n{}", suite(&["a"])));
    let ran = cluster.eval(&["evals/suite.yaml"]).run();
    ran.code(2).stderr_has("`files` names `helpers/*.py`, which matches no file");
    let outside = tempfile::NamedTempFile::new().unwrap();
    let case = format!(
        "evalcases:\n  - id: a\n    criteria: x\n    input:\n      - role: user\n        content: [{{ type: file, value: {:?} }}]\n    evaluators: [{{ name: ok, type: contains, value: ok }}]\n",
        outside.path()
    );
    cx.write("evals/suite.yaml", &case);
    let ran = cluster.eval(&["evals/suite.yaml"]).run();
    ran.code(2).stderr_has("cannot be sent to a worker");
}

#[test]
fn a_worker_keeps_files_up_to_its_limit() {
    let mut cluster = Cluster::new(&targets(&[mock_target("default", "ok")]));
    let mut cases = String::from("evalcases:\n");
    for number in 0..4 {
        let text = format!("{number}").repeat(400_000);
        cluster.cx.write(format!("evals/file-{number}.txt"), &text);
        write!(
            cases,
            "  - id: case-{number}\n    criteria: x\n    input:\n      - role: user\n        content: [{{ type: file, value: file-{number}.txt }}]\n    evaluators: [{{ name: ok, type: contains, value: ok }}]\n"
        )
        .unwrap();
    }
    cluster.cx.write("evals/suite.yaml", &cases);
    cluster.worker("one", &["--cache-mb", "1", "-j", "1"]);
    cluster.eval(&["evals/suite.yaml"]).run().success();
    let kept = std::fs::read_dir(cluster.cx.path(".cache/files")).unwrap();
    let bytes: u64 = kept.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!((400_000..=1 << 20).contains(&bytes), "{bytes}");
}

pub(crate) fn contains(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}
