//! `manifest.json` of a run folder, and what `agentv verify` says of one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run left in its folder when it ended. The file ends with its own SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct RunManifest {
    pub format: u32,
    pub run: String,
    /// The Ed25519 key whose signature is in `manifest.sig`: 32 bytes in hex. Absent where the run is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    pub journal: JournalSeal,
    /// All other files by their path in the folder, but for the lock and the manifest itself.
    pub files: BTreeMap<String, FileSeal>,
}

/// The journal: each of its lines has a hash over the one before, so the last covers all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct JournalSeal {
    pub bytes: u64,
    pub lines: u64,
    /// The hash of the last line.
    pub chain: String,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct FileSeal {
    pub bytes: u64,
    /// Of the results only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    pub sha256: String,
}

/// What `agentv verify --format json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Verification {
    pub run: String,
    pub folder: String,
    /// Whether nothing differs, and the signature is valid if a key was given.
    pub whole: bool,
    /// Whether the run has come to its end: there is a manifest. Without one, only the journal's chain and the results that it
    /// names are checked.
    pub finished: bool,
    /// Lines of the journal, and records.
    pub journal_lines: u64,
    pub records: u64,
    pub signature: SignatureState,
    /// The key that signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    pub differences: Vec<Difference>,
    /// Files that are not the run's, and are not checked: the page that `agentv report` writes.
    pub unchecked: Vec<String>,
}

/// What is known of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureState {
    /// The run is not signed.
    None,
    /// It is that of the key that the manifest names. No key was given, so whose that is cannot be told.
    Unchecked,
    /// It is that of the given key.
    Valid,
    Invalid,
}

/// Something that is not as the run left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Difference {
    /// The path in the folder.
    pub file: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub problem: String,
}
