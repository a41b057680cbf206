//! The README's first eval works when its steps are pasted in order.

use crate::examples::repository;
use agentv_test_support::TestContext;
use std::fs;

#[test]
fn the_first_eval_works_when_pasted_in_order() {
    let binary = env!("CARGO_BIN_EXE_agentv");
    let script = format!("agentv() {{ '{binary}' \"$@\"; }}\n{}", steps());
    let cx = TestContext::new("sh");
    cx.agentv(["-ec", &script]).run().success();
    let outcomes = ["before.jsonl", "after.jsonl"].map(|file| cx.read(file));
    assert!(outcomes[0].contains(r#""outcome":"fail""#), "{}", outcomes[0]);
    assert!(outcomes[1].contains(r#""outcome":"pass""#), "{}", outcomes[1]);
    assert!(cx.path("report.html").is_file());
}

/// The commands of the section, as a reader pastes them.
fn steps() -> String {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let (_, section) = readme.split_once("\n## Your own first eval\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}
