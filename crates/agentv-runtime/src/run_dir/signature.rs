//! Keys in the files that OpenSSL writes: Ed25519, PKCS#8 and SPKI in PEM.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use std::io;
use std::path::{Path, PathBuf};

/// What is before the 32 bytes of a public key: `SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING }`.
const SPKI: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the key `{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is not an Ed25519 private key in PEM", .0.display())]
    NotPrivate(PathBuf),
    #[error("`{}` is not an Ed25519 public key in PEM", .0.display())]
    NotPublic(PathBuf),
}

impl KeyError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } | Self::NotPrivate(_) => {
                "make one: `openssl genpkey -algorithm ed25519 -out key.pem`"
            }
            Self::NotPublic(_) => {
                "make it of the private key: `openssl pkey -in key.pem -pubout -out public.pem`"
            }
        }
    }
}

/// A key that signs. Only its public half is ever shown.
#[derive(Debug)]
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let der = pem(path, "PRIVATE KEY")?;
        let pair = der.and_then(|der| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).ok());
        pair.map(Self).ok_or_else(|| KeyError::NotPrivate(path.to_owned()))
    }

    /// The public half, in hex.
    pub(super) fn public(&self) -> String {
        hex::encode(self.0.public_key())
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }
}

/// A key that checks signatures.
#[derive(Debug, Clone)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let der = pem(path, "PUBLIC KEY")?;
        let key = der.and_then(|der| der.strip_prefix(SPKI).map(<[u8]>::to_vec));
        let key = key.filter(|key| key.len() == 32);
        key.map(Self).ok_or_else(|| KeyError::NotPublic(path.to_owned()))
    }

    /// One that a manifest names.
    pub(super) fn of_hex(digits: &str) -> Option<Self> {
        hex::decode(digits).ok().filter(|key| key.len() == 32).map(Self)
    }

    pub(super) fn digits(&self) -> String {
        hex::encode(&self.0)
    }

    pub(super) fn is_of(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(bytes, signature).is_ok()
    }
}

/// What is between the lines of this label.
fn pem(path: &Path, label: &str) -> Result<Option<Vec<u8>>, KeyError> {
    let text = crate::file_input::read_to_string(path)
        .map_err(|source| KeyError::Unreadable { path: path.to_owned(), source })?;
    let inside = text
        .split_once(&format!("-----BEGIN {label}-----"))
        .and_then(|(_, rest)| rest.split_once(&format!("-----END {label}-----")));
    let digits = inside.map(|(digits, _)| digits.split_whitespace().collect::<String>());
    Ok(digits.and_then(|digits| STANDARD.decode(digits).ok()))
}
