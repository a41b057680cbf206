//! What another machine needs to read a case itself.

use super::scope::CaseScope;
use crate::config::{Node, Notes};
use crate::evaluators::CaseDigest;
use agentv_core::WrittenCase;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The case as it is written, with the files that it depends on; nothing, where no work is sent away. `None` if a file cannot
/// be sent, which is then noted.
#[expect(
    clippy::option_option,
    reason = "a note, nothing to keep, and something to keep are three things"
)]
pub(super) fn written(
    node: &Node<'_>,
    id: Option<&str>,
    fingerprint: &CaseDigest,
    scope: &CaseScope,
    notes: &mut Notes,
) -> Option<Option<Arc<WrittenCase>>> {
    let (Some(files), Some(root)) = (fingerprint.paths(), &scope.filter.portable_root) else {
        return Some(None);
    };
    let is_sent = |path: &&Path| !is_program(path, scope);
    let mut sent: Vec<&Path> =
        files.iter().map(std::path::PathBuf::as_path).filter(is_sent).collect();
    sent.sort();
    sent.dedup();
    let refused = sent.iter().find_map(|path| Some((path, refusal(path, root)?)));
    if let Some((path, reason)) = refused {
        let message = format!(
            "case `{}` needs `{}`, which {reason} and cannot be sent to a worker",
            id.unwrap_or("?"),
            path.display()
        );
        notes
            .error("cluster::file", Some(node.span), message)
            .costs(crate::config::Cost::Case)
            .help("name another file in the repository, or run without `--cluster`");
        return None;
    }
    let Value::Object(case) = node.to_value() else { return Some(None) };
    let files = sent.into_iter().map(Path::to_owned).collect();
    Some(Some(Arc::new(WrittenCase { case, files })))
}

/// Files of this name hold secrets.
const SECRETS: &str = ".env";
/// As much as a file of a case may have.
const LARGEST: u64 = 64 << 20;

/// Why a file cannot be sent, if so.
fn refusal(path: &Path, root: &Path) -> Option<String> {
    if !path.starts_with(root) {
        return Some(format!("is outside of `{}`", root.display()));
    }
    if path.file_name().is_some_and(|name| name == SECRETS) {
        return Some("holds secrets".to_owned());
    }
    let about = std::fs::metadata(path).ok()?;
    (about.is_file() && about.len() > LARGEST).then(|| "has more than 64 MiB".to_owned())
}

/// Whether this is an installed program, which workers have themselves.
fn is_program(path: &Path, scope: &CaseScope) -> bool {
    let dirs = scope.env.get("PATH").unwrap_or_default();
    std::env::split_paths(dirs).any(|dir| path.parent() == Some(dir.as_path()))
}
