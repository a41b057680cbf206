//! `manifest.json`: what the files of a run folder were when the run ended, and `manifest.sig`, a signature of it.

use super::files::RunFiles;
use super::journal::Journal;
use super::signature::SigningKey;
use crate::atomic_file::write_atomically;
use crate::hash::{sha256, sha256_of_file};
use agentv_wire::{FileSeal, RunManifest};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The format of manifests that this version writes.
const FORMAT: u32 = 1;

/// What is around the manifest's own hash, at its end.
const KEY: &str = ",\n  \"sha256\": \"";
const END: &str = "\"\n}\n";

/// Writes down what is in a folder, and signs it if there is a key. `results` is what was written to the results, which need
/// not be what is there.
pub(super) fn write(
    files: &RunFiles,
    run: &str,
    journal: &Journal,
    results: FileSeal,
    key: Option<&SigningKey>,
) -> io::Result<()> {
    let mut seals = BTreeMap::new();
    for name in all_files(&files.dir)? {
        let path = files.dir.join(&name);
        if path == files.journal() || path == files.results() || files.is_apart(&name) {
            continue;
        }
        let (bytes, sha256) = (fs::metadata(&path)?.len(), hex::encode(sha256_of_file(&path)?));
        seals.insert(name, FileSeal { bytes, lines: None, sha256 });
    }
    seals.insert(super::RESULTS.to_owned(), results);
    let manifest = RunManifest {
        format: FORMAT,
        run: run.to_owned(),
        signed_by: key.map(SigningKey::public),
        journal: journal.seal(),
        files: seals,
    };
    let text = with_own_hash(&manifest)?;
    if let Some(key) = key {
        write_atomically(&files.signature(), key.sign(text.as_bytes()))?;
    }
    write_atomically(&files.manifest(), text)
}

/// Removes both, since the run goes on.
pub(super) fn remove(files: &RunFiles) -> io::Result<()> {
    for path in [files.manifest(), files.signature()] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn with_own_hash(manifest: &RunManifest) -> io::Result<String> {
    let text = serde_json::to_string_pretty(manifest)?;
    let body = text.strip_suffix("\n}").unwrap_or(&text);
    Ok(format!("{body}{KEY}{}{END}", hex::encode(sha256(body))))
}

/// Reads a manifest; `None` if it is not as it was written.
pub(super) fn read(text: &[u8]) -> Option<RunManifest> {
    let text = std::str::from_utf8(text).ok()?;
    let (body, digits) = text.strip_suffix(END)?.rsplit_once(KEY)?;
    (digits == hex::encode(sha256(body))).then_some(())?;
    serde_json::from_str(text).ok()
}

/// Every file below a folder by its path from there. What is neither a file nor a folder is named, too.
pub(super) fn all_files(dir: &Path) -> io::Result<Vec<String>> {
    fn add(dir: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                add(&entry.path(), &format!("{name}/"), names)?;
            } else {
                names.push(name);
            }
        }
        Ok(())
    }
    let mut names = Vec::new();
    add(dir, "", &mut names)?;
    names.sort();
    Ok(names)
}
