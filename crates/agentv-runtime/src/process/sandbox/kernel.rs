//! What this kernel can hold a program to.

use agentv_wire::{NetworkAccess, SandboxPart};
use std::sync::OnceLock;

/// The parts that this machine has. Asked once; a kernel does not change.
pub fn support() -> &'static [SandboxPart] {
    static SUPPORT: OnceLock<Vec<SandboxPart>> = OnceLock::new();
    SUPPORT.get_or_init(find_support)
}

/// The parts that a sandbox with this network needs.
pub(super) fn needed(network: &NetworkAccess) -> Vec<SandboxPart> {
    let mut needed = vec![
        SandboxPart::Files,
        SandboxPart::Signals,
        SandboxPart::SystemCalls,
        SandboxPart::Limits,
    ];
    // Without any socket there is no port to guard.
    if *network != NetworkAccess::None {
        needed.insert(1, SandboxPart::TcpPorts);
    }
    needed
}

/// What a sandbox with this network needs and this machine lacks.
pub(super) fn missing(network: &NetworkAccess) -> Vec<SandboxPart> {
    needed(network).into_iter().filter(|part| !support().contains(part)).collect()
}

/// What this machine can do and what it lacks, for people.
pub fn summary() -> String {
    let (held, missing): (Vec<_>, Vec<_>) =
        needed(&NetworkAccess::Proxy).into_iter().partition(|part| support().contains(part));
    let list = |parts: Vec<SandboxPart>| parts.into_iter().map(name).collect::<Vec<_>>().join(", ");
    match (held.as_slice(), missing.as_slice()) {
        ([], _) if !cfg!(target_os = "linux") => "not available: Linux only".to_owned(),
        ([], _) => format!("not available: the kernel has no {}", list(missing)),
        (_, []) => format!("available: {}", list(held)),
        (_, _) => format!("only with `best_effort`: {}; missing: {}", list(held), list(missing)),
    }
}

/// Each part as a message names it.
pub(super) fn name(part: SandboxPart) -> &'static str {
    match part {
        SandboxPart::Files => "file rules (Landlock ABI 3)",
        SandboxPart::TcpPorts => "port rules (Landlock ABI 4)",
        SandboxPart::Signals => "signal rules (Landlock ABI 6)",
        SandboxPart::SystemCalls => "system call filters (seccomp)",
        SandboxPart::Limits => "limits (/proc)",
    }
}

#[cfg(target_os = "linux")]
fn find_support() -> Vec<SandboxPart> {
    use super::launch::{all_file_rights, all_port_rights, scopes};
    use landlock::RulesetAttr as _;
    let parts = [
        (SandboxPart::Files, can_rule(|rules| rules.handle_access(all_file_rights()))),
        (SandboxPart::TcpPorts, can_rule(|rules| rules.handle_access(all_port_rights()))),
        (SandboxPart::Signals, can_rule(|rules| rules.scope(scopes()))),
        (SandboxPart::SystemCalls, can_filter()),
        // Our own binary is found there, and so are the processes to watch.
        (SandboxPart::Limits, std::path::Path::new("/proc/self/exe").exists()),
    ];
    parts.into_iter().filter(|(_, has)| *has).map(|(part, _)| part).collect()
}

/// Whether Landlock has rules of this kind. Rules restrict a process only once it applies them to itself.
#[cfg(target_os = "linux")]
fn can_rule(
    handle: impl FnOnce(landlock::Ruleset) -> Result<landlock::Ruleset, landlock::RulesetError>,
) -> bool {
    use landlock::{CompatLevel, Compatible as _, Ruleset};
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    handle(rules).is_ok_and(|rules| rules.create().is_ok())
}

#[cfg(target_os = "linux")]
fn can_filter() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the files of `/proc` are the system's")]
    let actions = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
    let has_errno =
        actions.is_ok_and(|actions| actions.split_whitespace().any(|action| action == "errno"));
    has_errno && super::filter::is_supported()
}

#[cfg(not(target_os = "linux"))]
fn find_support() -> Vec<SandboxPart> {
    Vec::new()
}
