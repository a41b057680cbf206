//! What a program in a sandbox may do, and what of that the kernel held it to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sandbox that a program ran in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct SandboxRecord {
    pub fs: FsAccess,
    pub network: NetworkAccess,
    pub limits: SandboxLimits,
    /// What the kernel enforced.
    pub held: Vec<SandboxPart>,
    /// What this machine cannot enforce. Only where `best_effort` lets a program run without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<SandboxPart>,
}

/// What a program may do with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FsAccess {
    /// It reads system folders and what the case names, and writes in its own directory.
    Workspace,
    /// It reads the same, and writes nothing but a private temporary folder.
    ReadOnly,
}

/// What a program may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum NetworkAccess {
    /// No connections.
    None,
    /// Only the target proxy of a code judge.
    Proxy,
    /// These TCP ports, on any host. With 53, UDP is open too, since names are looked up by it.
    #[serde(untagged)]
    Ports(Vec<u16>),
}

/// How much a program and all that it starts may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", default)]
pub struct SandboxLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// From start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// A part of the sandbox that a kernel has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPart {
    /// Which files can be read and written: Landlock, from Linux 6.2 on.
    Files,
    /// Which TCP ports can be reached: Landlock, from Linux 6.7 on.
    TcpPorts,
    /// Processes outside of the sandbox get no signals: Landlock, from Linux 6.12 on.
    Signals,
    /// No other sockets, no `ptrace`, no mounts, no keys: seccomp.
    SystemCalls,
    /// Memory, processor time, processes and seconds: rlimits, and a watch over all that the program starts.
    Limits,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_network_is_a_word_or_a_list_of_ports() {
        let check = |network: NetworkAccess, written| {
            assert_eq!(serde_json::to_value(&network).unwrap(), written);
            assert_eq!(serde_json::from_value::<NetworkAccess>(written).unwrap(), network);
        };
        check(NetworkAccess::None, json!("none"));
        check(NetworkAccess::Proxy, json!("proxy"));
        check(NetworkAccess::Ports(vec![443, 53]), json!([443, 53]));
    }
}
