//! The moment between our process and the program: a re-exec of our own binary, which restricts itself and becomes it.

use crate::process::Captured;
use agentv_wire::{NetworkAccess, SandboxPart};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// The first argument that makes our binary a launcher. It is not in the help, since users do not type it.
pub(in crate::process) const SUBCOMMAND: &str = "__sandbox";
/// How a launcher that could not start its program ends.
const FAILED: u8 = 126;
/// What the line begins with by which a launcher says why. A nonce follows, which the program never sees.
const MARK: &str = "agentv-sandbox";

/// What a launcher is told, as its second argument. There is no secret in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Launch {
    pub nonce: String,
    /// What it must apply. A part that is not here, it leaves alone.
    pub parts: Vec<SandboxPart>,
    pub files: Vec<FileRule>,
    pub network: NetworkAccess,
    /// The port of the proxy, for [`NetworkAccess::Proxy`].
    pub proxy_port: Option<u16>,
    pub memory_mb: Option<u64>,
    pub cpu_seconds: Option<f64>,
}

/// What may be done with a file, or with all that is below a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRule(pub FileAccess, pub PathBuf);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileAccess {
    /// Names only.
    List,
    /// Contents too, and programs can be run.
    Read,
    Write,
    /// A file such as `/dev/null`, which is never changed by what is written.
    Device,
}

/// Why the program was not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum LaunchFailure {
    /// A part could not be applied.
    Setup(String),
    /// The program could not be run, with the system's number for it.
    Exec(i32),
}

/// What a launcher with this nonce said on its error output, if it failed.
pub(in crate::process) fn failure_in(stderr: &Captured, nonce: &str) -> Option<LaunchFailure> {
    let text = stderr.text_lossy();
    let line = text.lines().next()?;
    serde_json::from_str(line.strip_prefix(&format!("{MARK}:{nonce}:"))?).ok()
}

/// Does the launcher's work if the command line is a launcher's, and then returns only if that failed, with the exit code.
/// For `main`, before anything else: a launcher is started once for each call.
pub fn launch_if_asked(arguments: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    let launch: Option<Launch> =
        arguments.next().and_then(|text| serde_json::from_str(text.to_str()?).ok());
    if let (Some(launch), Some(program), Some(name)) = (launch, arguments.next(), arguments.next())
    {
        let failure = become_program(&launch, program, name, arguments);
        report(&launch.nonce, &failure);
    }
    Some(FAILED)
}

fn report(nonce: &str, failure: &LaunchFailure) {
    use std::io::Write as _;
    let text = serde_json::to_string(failure).unwrap_or_default();
    // Whoever reads this pipe has gone if it cannot be written to.
    let _ = writeln!(std::io::stderr(), "{MARK}:{nonce}:{text}");
}

#[cfg(not(target_os = "linux"))]
fn become_program(
    _launch: &Launch,
    _program: OsString,
    _name: OsString,
    _arguments: impl Iterator<Item = OsString>,
) -> LaunchFailure {
    LaunchFailure::Setup("sandboxes are only available on Linux".to_owned())
}

#[cfg(target_os = "linux")]
use linux::become_program;
#[cfg(target_os = "linux")]
pub(super) use linux::{all_file_rights, all_port_rights, scopes};

#[cfg(target_os = "linux")]
mod linux {
    use super::{FileAccess, FileRule, Launch, LaunchFailure};
    use crate::process::sandbox::filter;
    use agentv_wire::{NetworkAccess, SandboxPart};
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
        PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
        RulesetError, Scope,
    };
    use rustix::process::{Resource, Rlimit, setrlimit};
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
    use std::ffi::OsString;
    use std::fmt::Display;
    use std::os::unix::process::CommandExt as _;

    /// With these, a file can be neither read nor changed where that is not allowed; truncation came last.
    pub(in crate::process::sandbox) fn all_file_rights() -> BitFlags<AccessFs> {
        AccessFs::from_all(ABI::V3)
    }

    pub(in crate::process::sandbox) fn all_port_rights() -> BitFlags<AccessNet> {
        AccessNet::from_all(ABI::V4)
    }

    pub(in crate::process::sandbox) fn scopes() -> BitFlags<Scope> {
        Scope::from_all(ABI::V6)
    }

    /// Restricts this process for good and becomes the program; returns only what prevented that.
    pub(super) fn become_program(
        launch: &Launch,
        program: OsString,
        name: OsString,
        arguments: impl Iterator<Item = OsString>,
    ) -> LaunchFailure {
        if let Err(failure) = restrict(launch) {
            return LaunchFailure::Setup(failure);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "this process becomes the program; none is started"
        )]
        let mut command = std::process::Command::new(program);
        let error = command.arg0(name).args(arguments).exec();
        LaunchFailure::Exec(error.raw_os_error().unwrap_or_default())
    }

    fn restrict(launch: &Launch) -> Result<(), String> {
        let has = |part| launch.parts.contains(&part);
        if has(SandboxPart::Limits) {
            limit(launch)?;
        }
        drop_capabilities().map_err(failed("capabilities"))?;
        rustix::thread::set_no_new_privs(true).map_err(failed("no_new_privs"))?;
        if [SandboxPart::Files, SandboxPart::TcpPorts, SandboxPart::Signals].into_iter().any(has) {
            rules(launch).map_err(failed("Landlock"))?;
        }
        if has(SandboxPart::SystemCalls) {
            let programs = filter::programs(&launch.network).map_err(failed("seccomp"))?;
            for program in &programs {
                seccompiler::apply_filter(program).map_err(failed("seccomp"))?;
            }
        }
        Ok(())
    }

    fn failed<E: Display>(what: &'static str) -> impl Fn(E) -> String {
        move |error| format!("{what}: {error}")
    }

    /// Limits of one process. Those of the tree are watched from outside, and are the tighter ones.
    fn limit(launch: &Launch) -> Result<(), String> {
        let set = |resource, most: u64| {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            setrlimit(resource, limit).map_err(failed("rlimits"))
        };
        set(Resource::Core, 0)?;
        if let Some(memory) = launch.memory_mb {
            let bytes = memory.saturating_mul(1 << 20);
            // Not of addresses: engines such as V8 reserve far more of those than they use.
            set(Resource::Data, bytes)?;
            // The temporary folder is memory, too, on many systems.
            set(Resource::Fsize, bytes)?;
        }
        if let Some(seconds) = launch.cpu_seconds {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be above 0 and below 1e9"
            )]
            let whole = seconds.ceil() as u64;
            // A second more than is allowed: whoever watches the tree says why it was ended.
            set(Resource::Cpu, whole + 1)?;
        }
        Ok(())
    }

    /// Root keeps what it needs for files, and nothing by which it could take the limits off again.
    fn drop_capabilities() -> rustix::io::Result<()> {
        let kept = CapabilitySet::CHOWN
            | CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::FOWNER
            | CapabilitySet::FSETID
            | CapabilitySet::SETGID
            | CapabilitySet::SETUID;
        let now = capabilities(None)?;
        let sets = CapabilitySets {
            effective: now.effective & kept,
            permitted: now.permitted & kept,
            inheritable: CapabilitySet::empty(),
        };
        if sets == now { Ok(()) } else { set_capabilities(None, sets) }
    }

    fn rules(launch: &Launch) -> Result<(), RulesetError> {
        let has = |part| launch.parts.contains(&part);
        let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        if has(SandboxPart::Files) {
            rules = rules.handle_access(all_file_rights())?;
        }
        if has(SandboxPart::TcpPorts) {
            rules = rules.handle_access(all_port_rights())?;
        }
        if has(SandboxPart::Signals) {
            rules = rules.scope(scopes())?;
        }
        let mut rules = rules.create()?;
        if has(SandboxPart::Files) {
            for rule in &launch.files {
                rules = add_file(rules, rule)?;
            }
        }
        if has(SandboxPart::TcpPorts) {
            rules = add_ports(rules, launch)?;
        }
        rules.restrict_self().map(drop)
    }

    /// What is not there cannot be opened, and is not: most systems lack some of the usual folders.
    fn add_file(
        rules: RulesetCreated,
        FileRule(access, path): &FileRule,
    ) -> Result<RulesetCreated, RulesetError> {
        let Ok(file) = PathFd::new(path) else { return Ok(rules) };
        let rights = match access {
            FileAccess::List => AccessFs::ReadDir.into(),
            FileAccess::Read => AccessFs::from_read(ABI::V3),
            FileAccess::Write => all_file_rights(),
            FileAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile,
        };
        // Some rights only directories have.
        let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(ABI::V3) };
        if rights.is_empty() {
            return Ok(rules);
        }
        rules.add_rule(PathBeneath::new(file, rights))
    }

    fn add_ports(
        mut rules: RulesetCreated,
        launch: &Launch,
    ) -> Result<RulesetCreated, RulesetError> {
        match (&launch.network, launch.proxy_port) {
            (NetworkAccess::Proxy, Some(port)) => {
                rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
            }
            (NetworkAccess::Ports(ports), _) => {
                for port in ports {
                    rules = rules.add_rule(NetPort::new(*port, all_port_rights()))?;
                }
            }
            (NetworkAccess::None | NetworkAccess::Proxy, _) => {}
        }
        Ok(rules)
    }
}
