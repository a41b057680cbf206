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
    if let Some(outside) = sent.iter().find(|path| !path.starts_with(root)) {
        let message = format!(
            "case `{}` needs `{}`, which is outside of `{}` and cannot be sent to a worker",
            id.unwrap_or("?"),
            outside.display(),
            root.display()
        );
        notes
            .error("cluster::outside", Some(node.span), message)
            .costs(crate::config::Cost::Case)
            .help("move the file into the repository, or run without `--cluster`");
        return None;
    }
    let Value::Object(case) = node.to_value() else { return Some(None) };
    let files = sent.into_iter().map(Path::to_owned).collect();
    Some(Some(Arc::new(WrittenCase { case, files })))
}

/// Whether this is an installed program, which workers have themselves.
fn is_program(path: &Path, scope: &CaseScope) -> bool {
    let dirs = scope.env.get("PATH").unwrap_or_default();
    std::env::split_paths(dirs).any(|dir| path.parent() == Some(dir.as_path()))
}
