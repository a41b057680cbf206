//! How a cluster is reached: an address, a login, and the key that its members share.

use crate::seal::ClusterKey;
use agentv_runtime::config::Env;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// The variable that holds the key.
pub const KEY_VARIABLE: &str = agentv_wire::env::CLUSTER_KEY;
/// What all names on the server begin with, unless said otherwise.
pub const DEFAULT_PREFIX: &str = "agentv";

/// All that it takes to be a member of a cluster.
#[derive(Clone)]
pub struct ClusterAccess {
    /// The addresses without logins.
    pub url: String,
    pub prefix: String,
    pub(crate) key: ClusterKey,
    pub(crate) login: Login,
    /// Certificates of authorities that are trusted besides the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The certificate of this member, and its key.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    /// After how long without a sign of life a job is given to another worker.
    pub(crate) ack_wait: Duration,
    /// On how many servers everything is kept; by default three where there are three.
    pub(crate) replicas: Option<usize>,
}

/// Who we are to the server.
#[derive(Clone)]
pub(crate) enum Login {
    None,
    Password {
        user: String,
        password: String,
    },
    Token(String),
    CredentialsFile(PathBuf),
    /// The file with the seed of an NKEY.
    NkeyFile(PathBuf),
}

/// Why a cluster cannot be reached as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error("`{0}` is not the address of a NATS server")]
    Address(String),
    #[error("`{KEY_VARIABLE}` is not set")]
    NoKey,
    #[error("`{KEY_VARIABLE}` is too short")]
    ShortKey,
    #[error("`{variable}` must be {expected}")]
    Setting { variable: &'static str, expected: &'static str },
}

impl AccessError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Address(_) => "write it as `nats://HOST:4222` or `tls://HOST:4222`",
            Self::NoKey | Self::ShortKey => {
                "make a key with `agentv cluster key`, and set the same one for the run and all its workers"
            }
            Self::Setting { .. } => "correct the variable, or unset it",
        }
    }
}

impl ClusterAccess {
    /// Reads the address, and everything else from the environment.
    pub fn read(url: &str, env: &Env) -> Result<Self, AccessError> {
        let get = |name: &str| env.get(name).map(str::trim).filter(|value| !value.is_empty());
        let (url, in_url) = split_login(url)?;
        let key = get(KEY_VARIABLE).ok_or(AccessError::NoKey)?;
        let path = |name: &str| get(name).map(PathBuf::from);
        let login = if let Some(file) = path("AGENTV_CLUSTER_CREDS") {
            Login::CredentialsFile(file)
        } else if let Some(file) = path("AGENTV_CLUSTER_NKEY") {
            Login::NkeyFile(file)
        } else if let Some(token) = get("AGENTV_CLUSTER_TOKEN") {
            Login::Token(token.to_owned())
        } else if let Some(user) = get("AGENTV_CLUSTER_USER") {
            let password = get("AGENTV_CLUSTER_PASSWORD").unwrap_or_default().to_owned();
            Login::Password { user: user.to_owned(), password }
        } else {
            in_url
        };
        let prefix = get("AGENTV_CLUSTER_PREFIX").unwrap_or(DEFAULT_PREFIX);
        if !agentv_runtime::load::is_label(prefix) {
            let expected = "up to 32 lowercase letters, digits, `-` and `_`";
            return Err(AccessError::Setting { variable: "AGENTV_CLUSTER_PREFIX", expected });
        }
        Ok(Self {
            url,
            prefix: prefix.to_owned(),
            key: ClusterKey::new(key).ok_or(AccessError::ShortKey)?,
            login,
            ca: path("AGENTV_CLUSTER_CA"),
            certificate: path("AGENTV_CLUSTER_CERT").zip(path("AGENTV_CLUSTER_CERT_KEY")),
            ack_wait: number(get("AGENTV_CLUSTER_ACK_WAIT"), "AGENTV_CLUSTER_ACK_WAIT")?
                .map_or(ACK_WAIT, Duration::from_secs),
            replicas: number(get("AGENTV_CLUSTER_REPLICAS"), "AGENTV_CLUSTER_REPLICAS")?
                .and_then(|count| usize::try_from(count).ok()),
        })
    }
}

/// Long enough for a machine that is busy, short enough that a dead worker does not hold up a run.
const ACK_WAIT: Duration = Duration::from_secs(30);

fn number(text: Option<&str>, variable: &'static str) -> Result<Option<u64>, AccessError> {
    let Some(text) = text else { return Ok(None) };
    let number = text.parse().ok().filter(|number| (1..=86_400).contains(number));
    let wrong = AccessError::Setting { variable, expected: "a whole number from 1 to 86400" };
    number.ok_or(wrong).map(Some)
}

/// Addresses without their logins, as they may be written down.
pub fn without_login(url: &str) -> Result<String, AccessError> {
    split_login(url).map(|(url, _)| url)
}

/// Addresses without their logins, and the first login.
fn split_login(urls: &str) -> Result<(String, Login), AccessError> {
    let (mut plain, mut login) = (Vec::new(), Login::None);
    for text in urls.split(',').map(str::trim) {
        let full = if text.contains("://") { text.to_owned() } else { format!("nats://{text}") };
        // What is wrong may hold a password.
        let shown = || AccessError::Address(text.rsplit('@').next().unwrap_or_default().to_owned());
        let mut url = Url::parse(&full).map_err(|_| shown())?;
        if !["nats", "tls"].contains(&url.scheme()) || url.host_str().is_none() {
            return Err(shown());
        }
        let decoded = |text: &str| {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        };
        if !url.username().is_empty() && matches!(login, Login::None) {
            let user = decoded(url.username());
            login = match url.password() {
                Some(password) => Login::Password { user, password: decoded(password) },
                None => Login::Token(user),
            };
        }
        let _ = url.set_username("");
        let _ = url.set_password(None);
        plain.push(url.as_str().trim_end_matches('/').to_owned());
    }
    Ok((plain.join(","), login))
}

impl fmt::Debug for ClusterAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterAccess").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str, variables: &[(&str, &str)]) -> Result<ClusterAccess, AccessError> {
        let key = (KEY_VARIABLE, "0123456789abcdef");
        let all = variables.iter().copied().chain([key]);
        let pairs = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        ClusterAccess::read(url, &Env::new(pairs))
    }

    #[test]
    fn a_login_in_an_address_is_used_and_not_kept() {
        let access = read("nats://me:p%40ss@one:4222,tls://two", &[]).unwrap();
        assert_eq!(access.url, "nats://one:4222,tls://two");
        assert!(
            matches!(&access.login, Login::Password { user, password } if user == "me" && password == "p@ss")
        );
        assert!(!format!("{access:?}").contains("p@ss"), "{access:?}");
        let access = read("nats://secret@one", &[]).unwrap();
        assert!(matches!(&access.login, Login::Token(token) if token == "secret"));
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_password() {
        let wrong = read("http://me:secret@one", &[]).unwrap_err();
        assert_eq!(wrong, AccessError::Address("one".to_owned()));
        let wrong = read("one", &[("AGENTV_CLUSTER_ACK_WAIT", "soon")]).unwrap_err();
        assert!(matches!(wrong, AccessError::Setting { .. }), "{wrong}");
        let wrong = read("one", &[("AGENTV_CLUSTER_PREFIX", "a.b")]).unwrap_err();
        assert!(matches!(wrong, AccessError::Setting { .. }), "{wrong}");
        let none = ClusterAccess::read("one", &Env::default()).unwrap_err();
        assert_eq!(none, AccessError::NoKey);
    }
}
