//! Every target with its first inputs and a few that are made of them; `cargo xtask fuzz` runs millions.

use agentv_fuzz::engine::{self, FuzzOrder};
use agentv_fuzz::{FuzzKind, FuzzTarget, TARGETS};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[track_caller]
fn check(kind: FuzzKind, inputs: u64) {
    let mut found = Vec::new();
    for target in TARGETS.iter().filter(|target| target.kind == kind) {
        engine::listen_to_panics();
        found.extend(target.seeds.load().iter().filter_map(|seed| engine::attempt(target, seed)));
        let order = FuzzOrder { target, from: 0, to: inputs, deadline: None, trace: None };
        let ran = engine::run(&order, |hang| {
            let _ = std::fs::write(std::env::temp_dir().join("agentv-fuzz-hang"), hang.input);
            std::process::abort();
        });
        assert_eq!(ran.inputs, inputs);
        found.extend(ran.findings.into_iter().map(|finding| (finding.what, finding.place)));
    }
    assert_eq!(found, []);
}

#[test]
fn parsers_refuse_what_they_cannot_read() {
    check(FuzzKind::Parser, 1000);
}

#[test]
fn what_is_valid_stays_sound() {
    check(FuzzKind::Structured, 300);
}

#[test]
fn a_panic_is_found_with_a_small_input() {
    const TARGET: FuzzTarget = FuzzTarget {
        name: "trap",
        run: |bytes| assert!(!bytes.contains(&b'7'), "a seven"),
        ..*TARGETS.last().unwrap()
    };
    static TRAP: FuzzTarget = TARGET;
    let order = FuzzOrder { target: &TRAP, from: 0, to: 200, deadline: None, trace: None };
    let ran = engine::run(&order, |_| std::process::abort());
    let found: Vec<(&str, &[u8])> =
        ran.findings.iter().map(|finding| (finding.what.as_str(), &*finding.input)).collect();
    assert_eq!(found, [("a seven", &b"7"[..])]);
}

#[test]
fn every_place_of_first_inputs_has_some() {
    for target in TARGETS.iter().filter(|target| target.kind == FuzzKind::Parser) {
        assert_eq!(target.seeds.empty_places(), [], "{}", target.name);
        assert!(!target.seeds.load().is_empty(), "{}", target.name);
    }
}
