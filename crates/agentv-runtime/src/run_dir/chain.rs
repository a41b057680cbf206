//! The hash chain over the journal: each line ends with the SHA-256 of the hash before it and of the line itself, so no line
//! can be changed, removed, added or moved unnoticed. The last hash covers the whole journal.

use crate::hash::ContentHasher;

/// What is before the hash, and after it.
const KEY: &[u8] = b",\"chain\":\"";
const END: &[u8] = b"\"}\n";
/// How long the end of a line is.
pub(super) const TAIL: usize = KEY.len() + 64 + END.len();

/// The hash of a line and of all lines before it. It is written to files, so how it is made may never change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ChainHash([u8; 32]);

impl ChainHash {
    /// The hash of what follows.
    pub(super) fn next(self, bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::default();
        hasher.update(self.0);
        hasher.update(bytes);
        Self(hasher.finish())
    }

    /// Adds a line, an object with its end, together with its hash.
    pub(super) fn link(self, line: &[u8], out: &mut Vec<u8>) -> Self {
        let body = line.strip_suffix(b"}\n").unwrap_or(line);
        let next = self.next(body);
        let mut digits = [0; 64];
        // The room is that of 32 bytes.
        let _ = hex::encode_to_slice(next.0, &mut digits);
        for part in [body, KEY, &digits, END] {
            out.extend_from_slice(part);
        }
        next
    }

    /// Takes a line apart: what was hashed, and the hash that it ends with. `None` if it has none.
    pub(super) fn split(line: &[u8]) -> Option<(&[u8], Self)> {
        let (body, tail) = line.split_at_checked(line.len().checked_sub(TAIL)?)?;
        let digits = tail.strip_prefix(KEY)?.strip_suffix(END)?;
        // Digits are written in one way only.
        if digits.iter().any(u8::is_ascii_uppercase) {
            return None;
        }
        let mut hash = [0; 32];
        hex::decode_to_slice(digits, &mut hash).ok()?;
        Some((body, Self(hash)))
    }
}

impl std::fmt::Display for ChainHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_carries_its_hash_and_hashes_do_not_change_from_version_to_version() {
        let mut out = Vec::new();
        let first = ChainHash::default().link(b"{\"a\":1}\n", &mut out);
        let second = first.link(b"{\"a\":1}\n", &mut out);
        let lines: Vec<&[u8]> = out.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(ChainHash::split(lines[0]), Some((&b"{\"a\":1"[..], first)));
        assert_eq!(ChainHash::split(lines[1]), Some((&b"{\"a\":1"[..], second)));
        assert_ne!(first, second);
        let line: serde_json::Value = serde_json::from_slice(lines[0]).unwrap();
        assert_eq!(line["chain"], first.to_string());
        // printf '%064d{"a":1' 0 with the zeros as 32 bytes, through sha256sum.
        let expected = crate::hash::sha256([&[0; 32][..], b"{\"a\":1"].concat());
        assert_eq!(first.to_string(), hex::encode(expected));
        assert_eq!(ChainHash::split(b"{\"a\":1}\n"), None);
    }
}
