//! The key `sandbox` of judges and targets.

use super::kernel;
use crate::config::{Fields, FromNode, Kind, Leftovers, Node, Wrong};
use agentv_wire::{FsAccess, NetworkAccess, SandboxLimits, SandboxPart};
use schemars::JsonSchema;
use std::time::Duration;

/// A program and all that it starts may use this much, unless a file says otherwise.
const MEMORY_MB: u64 = 2048;
const PROCESSES: u64 = 256;

/// A sandbox as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxSettings {
    pub fs: FsAccess,
    pub network: NetworkAccess,
    pub limits: SandboxLimits,
    /// More that can be read, and written: relative to the eval file, or from `~`.
    pub read: Vec<String>,
    pub write: Vec<String>,
    /// Whether the program is started even where the kernel lacks a part.
    pub best_effort: bool,
}

/// Who is put into a sandbox: that decides what is usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxUser {
    /// A program that grades. It writes nothing, and reaches the target proxy if it has one.
    Judge,
    /// A program that is evaluated. It works in its directory, and has no proxy.
    Target,
}

/// What `sandbox` may be, for documentation: `true`, `best_effort`, or a mapping.
#[derive(Debug, JsonSchema)]
#[schemars(untagged, inline)]
pub enum SandboxKeys {
    Switch(bool),
    Word(SandboxWord),
    Keys(Box<SandboxMapping>),
}

#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub enum SandboxWord {
    /// Run even where the kernel lacks a part of the sandbox; the record says which.
    BestEffort,
}

/// What a program may do. Linux only.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Sandbox")]
#[expect(dead_code, reason = "read by the schema generator, never built")]
pub struct SandboxMapping {
    /// `workspace`: reads system folders and what the case names, writes in its own directory. `read_only`: writes nothing
    /// but a private temporary folder. Without it: `read_only` for judges, `workspace` for targets.
    fs: Option<FsAccess>,
    /// `none`; `proxy`: only the target proxy of a code judge; or a list of TCP ports. Without it: `proxy` for judges,
    /// `none` for targets.
    network: Option<NetworkAccess>,
    /// Memory of the program and all that it starts, and the size of its largest file. Without it: 2048.
    #[schemars(range(min = 1))]
    memory_mb: Option<u64>,
    /// Processor time of the program and all that it starts. Without it there is no limit.
    cpu_seconds: Option<f64>,
    /// How many processes there may be at a time. Without it: 256.
    #[schemars(range(min = 1))]
    processes: Option<u64>,
    /// From start to end. Without it: the time limit that the program has anyway.
    seconds: Option<f64>,
    /// More files and folders to read, relative to the eval file's directory, or from `~`.
    read: Option<Vec<String>>,
    /// More files and folders to write to.
    write: Option<Vec<String>>,
    /// Run even where the kernel lacks a part; the record says which.
    best_effort: Option<bool>,
}

impl SandboxSettings {
    /// What `sandbox: true` means, and `--sandbox`.
    pub fn usual(user: SandboxUser) -> Self {
        let (fs, network) = match user {
            SandboxUser::Judge => (FsAccess::ReadOnly, NetworkAccess::Proxy),
            SandboxUser::Target => (FsAccess::Workspace, NetworkAccess::None),
        };
        Self {
            fs,
            network,
            limits: SandboxLimits {
                memory_mb: Some(MEMORY_MB),
                processes: Some(PROCESSES),
                ..SandboxLimits::default()
            },
            read: Vec::new(),
            write: Vec::new(),
            best_effort: false,
        }
    }

    /// Reads the key `sandbox`; `None` if there is none, or it is `false`. A sandbox that this machine cannot hold is an
    /// error.
    pub fn read(fields: &mut Fields<'_, '_>, user: SandboxUser) -> Option<Self> {
        let node = fields.node(KEY)?;
        let usual = Self::usual(user);
        let settings = match &node.kind {
            Kind::Bool(false) => return None,
            Kind::Bool(true) => usual,
            Kind::Text(word) if word == "best_effort" => Self { best_effort: true, ..usual },
            Kind::Map(_) => Self::of_map(&mut fields.sub(&[KEY])?, user),
            _ => {
                let message = format!(
                    "`{KEY}` of {} must be `true`, `best_effort` or a mapping, not {}",
                    fields.owner(),
                    node.describe()
                );
                fields.error_at("config::type", node.span, message);
                return None;
            }
        };
        if let Some(reason) = settings.refusal() {
            let message =
                format!("the sandbox of {} cannot be used here: {reason}", fields.owner());
            fields.error_at("sandbox::kernel", node.span, message).help(BEST_EFFORT);
        }
        Some(settings)
    }

    fn of_map(fields: &mut Fields<'_, '_>, user: SandboxUser) -> Self {
        let usual = Self::usual(user);
        let seconds = |limit: Duration| limit.as_secs_f64();
        let limits = SandboxLimits {
            memory_mb: positive("memory_mb", fields).or(usual.limits.memory_mb),
            cpu_seconds: fields.take("cpu_seconds").map(seconds),
            processes: positive("processes", fields).or(usual.limits.processes),
            seconds: fields.take("seconds").map(seconds),
        };
        let settings = Self {
            fs: fields.take("fs").unwrap_or(usual.fs),
            network: fields.take("network").unwrap_or(usual.network),
            limits,
            read: fields.take("read").unwrap_or_default(),
            write: fields.take("write").unwrap_or_default(),
            best_effort: fields.take("best_effort").unwrap_or_default(),
        };
        if user == SandboxUser::Target && settings.network == NetworkAccess::Proxy {
            let message =
                format!("`network` of {} is `proxy`, which only judges have", fields.owner());
            fields
                .error("sandbox::network", "network", message)
                .help("write `none`, or a list of TCP ports such as `[443, 53]`");
        }
        // A limit that is misspelt would not hold.
        fields.finish(Leftovers::Refuse);
        settings
    }

    /// Why this machine cannot hold a program to it, if it has to.
    pub fn refusal(&self) -> Option<String> {
        let missing = if self.best_effort { Vec::new() } else { kernel::missing(&self.network) };
        match missing.as_slice() {
            [] => None,
            _ if !cfg!(target_os = "linux") => {
                Some("sandboxes are only available on Linux".to_owned())
            }
            missing => {
                let names: Vec<_> = missing.iter().map(|part| kernel::name(*part)).collect();
                Some(format!("the kernel has no {}", names.join(", no ")))
            }
        }
    }

    /// The parts that hold here, and those that do not.
    pub(super) fn parts(&self) -> (Vec<SandboxPart>, Vec<SandboxPart>) {
        let missing = kernel::missing(&self.network);
        kernel::needed(&self.network).into_iter().partition(|part| !missing.contains(part))
    }
}

const KEY: &str = "sandbox";

/// What to do where a sandbox cannot be used.
pub(super) const BEST_EFFORT: &str = "write `best_effort: true` into `sandbox` to run with what there is; `agentv doctor` shows that";

fn positive(key: &'static str, fields: &mut Fields<'_, '_>) -> Option<u64> {
    let number: u64 = fields.take(key)?;
    if number == 0 {
        fields.error(
            "sandbox::limit",
            key,
            format!("`{key}` of {} must be at least 1", fields.owner()),
        );
    }
    Some(number)
}

impl FromNode for FsAccess {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match node.as_text() {
            Some("workspace") => Ok(Self::Workspace),
            Some("read_only") => Ok(Self::ReadOnly),
            _ => Err(Wrong { expected: "`workspace` or `read_only`" }),
        }
    }
}

impl FromNode for NetworkAccess {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let wrong = Wrong { expected: "`none`, `proxy` or a list of TCP ports" };
        match (node.as_text(), node.as_list()) {
            (Some("none"), _) => Ok(Self::None),
            (Some("proxy"), _) => Ok(Self::Proxy),
            (_, Some(ports)) => ports
                .iter()
                .map(|port| u64::from_node(port).ok().and_then(|port| u16::try_from(port).ok()))
                .map(|port| port.filter(|port| *port > 0).ok_or(wrong))
                .collect::<Result<_, _>>()
                .map(Self::Ports),
            _ => Err(wrong),
        }
    }
}
