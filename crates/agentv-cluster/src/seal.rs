//! Every message is signed with the key that the members of a cluster share: access to the server alone does not make a
//! worker run anything, nor a coordinator believe anything.

use ring::hmac;
use std::fmt;

/// What the members of a cluster share. It cannot be printed.
#[derive(Clone)]
pub struct ClusterKey(hmac::Key);

/// Shorter keys can be guessed.
const SHORTEST: usize = 16;
/// The length of a signature in hexadecimal digits.
const SIGNATURE: usize = 64;

/// A message that was not signed with our key, or for another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not match the cluster key")]
pub struct Forged;

impl ClusterKey {
    /// `None` if it is too short to be safe.
    pub fn new(key: &str) -> Option<Self> {
        (key.len() >= SHORTEST).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())))
    }

    /// The message with its signature in front. `place` is where it is meant for: it is not valid anywhere else.
    pub fn seal(&self, place: &str, body: &[u8]) -> Vec<u8> {
        let mut sealed = hex::encode(self.sign(place, body)).into_bytes();
        sealed.extend_from_slice(body);
        sealed
    }

    /// The message, if it was signed for this place.
    pub fn open<'m>(&self, place: &str, sealed: &'m [u8]) -> Result<&'m [u8], Forged> {
        let (signature, body) = sealed.split_at_checked(SIGNATURE).ok_or(Forged)?;
        let signature = hex::decode(signature).map_err(|_| Forged)?;
        hmac::verify(&self.0, &signed(place, body), &signature).map_err(|_| Forged)?;
        Ok(body)
    }

    fn sign(&self, place: &str, body: &[u8]) -> hmac::Tag {
        hmac::sign(&self.0, &signed(place, body))
    }
}

/// The length of the place comes first, so that no other place and body give the same bytes.
fn signed(place: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + place.len() + body.len());
    bytes.extend_from_slice(&(place.len() as u64).to_le_bytes());
    bytes.extend_from_slice(place.as_bytes());
    bytes.extend_from_slice(body);
    bytes
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKey(…)")
    }
}

/// A new random key.
pub fn new_key() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_valid_with_its_key_at_its_place_and_unchanged() {
        let key = ClusterKey::new("0123456789abcdef").unwrap();
        let sealed = key.seal("a.jobs", b"run this");
        assert_eq!(key.open("a.jobs", &sealed), Ok(&b"run this"[..]));
        assert_eq!(key.open("b.jobs", &sealed), Err(Forged));
        let other = ClusterKey::new("0123456789abcdeg").unwrap();
        assert_eq!(other.open("a.jobs", &sealed), Err(Forged));
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(key.open("a.jobs", &changed), Err(Forged), "byte {index}");
        }
        assert_eq!(key.open("a.jobs", b"short"), Err(Forged));
    }

    #[test]
    fn the_border_between_place_and_body_is_signed() {
        let key = ClusterKey::new("0123456789abcdef").unwrap();
        let sealed = key.seal("a", b"bc");
        let mut moved = sealed[..SIGNATURE].to_vec();
        moved.extend_from_slice(b"c");
        assert_eq!(key.open("ab", &moved), Err(Forged));
    }

    #[test]
    fn short_keys_are_refused() {
        assert!(ClusterKey::new("short").is_none());
    }
}
