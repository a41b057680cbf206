//! Any target, by the name in `AGENTV_FUZZ_TARGET`: one program to link instead of one for each target.
#![no_main]

use agentv_fuzz::{TARGETS, FuzzTarget};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| {
    let name = std::env::var("AGENTV_FUZZ_TARGET").unwrap_or_default();
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    FuzzTarget::find(&name).unwrap_or_else(|| panic!("set AGENTV_FUZZ_TARGET to one of {}", names()))
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
