//! Which variables hold secrets, and the secrets themselves.

use super::Env;
use agentv_core::{Redactor, Secret};
use percent_encoding::percent_decode_str;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use url::Url;

/// Whether a variable, or a key of a file, holds a secret by its name: `OPENAI_API_KEY`, `GH_TOKEN`, `PGPASSWORD`.
pub fn names_a_secret(name: &str) -> bool {
    const WORDS: [&str; 7] =
        ["KEY", "KEYS", "SECRETS", "PAT", "CREDENTIAL", "CREDENTIALS", "PASSWORDS"];
    const ENDINGS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY"];
    let name = name.to_ascii_uppercase();
    let parts = || name.split(|c: char| !c.is_ascii_alphanumeric());
    // `PWD` alone is a directory, and `pass_env` is a list of names.
    let is_password = ["_PASS", "_PWD"].iter().any(|ending| name.ends_with(ending));
    let is_telling =
        |part: &str| WORDS.contains(&part) || ENDINGS.iter().any(|end| part.ends_with(end));
    is_password || parts().any(is_telling)
}

/// What a run masks: its secrets, each with the name of its variable, and what patterns of the user match. Secrets are those
/// that a target uses, whether that target is called or not, and those whose names say so, in the environment of the process
/// and in `.env` files.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    values: Vec<(String, Secret)>,
    patterns: BTreeSet<String>,
}

impl Secrets {
    /// The secrets in an environment. `used` are the variables that targets use as secrets.
    pub fn of(env: &Env, used: &BTreeSet<String>) -> Self {
        let mut secrets = Self::default();
        let telling = env.names().filter(|name| names_a_secret(name));
        for name in used.iter().map(String::as_str).chain(telling) {
            if let Some(value) = env.get(name) {
                secrets.insert(name, Secret::new(value.trim()));
            }
        }
        for name in env.names() {
            for secret in secrets_of_address(env.get(name).unwrap_or_default()) {
                secrets.insert(name, secret);
            }
        }
        secrets
    }

    /// Adds one, unless it is known. A variable may have another value for another eval file, by a `.env` file.
    pub fn insert(&mut self, name: &str, secret: Secret) {
        if !self.values.iter().any(|(known, value)| known == name && *value == secret) {
            self.values.push((name.to_owned(), secret));
        }
    }

    /// The same and what these patterns match.
    #[must_use]
    pub fn with_patterns(mut self, patterns: &[String]) -> Self {
        self.patterns.extend(patterns.iter().cloned());
        self
    }

    /// Adds the secrets of another eval file of the run.
    pub fn merge(&mut self, other: Self) {
        self.patterns.extend(other.patterns);
        for (name, secret) in other.values {
            self.insert(&name, secret);
        }
    }

    /// Masks all of them. A variable that holds the path of a file with a key has nothing to hide.
    pub fn redactor(&self) -> Arc<Redactor> {
        let is_path = |secret: &Secret| {
            let path = Path::new(secret.expose());
            path.is_absolute() && path.exists()
        };
        let values = self.values.iter().map(|(_, secret)| secret);
        let values = values.filter(|secret| !is_path(secret));
        Arc::new(Redactor::new(values, self.patterns.iter().map(String::as_str)))
    }
}

/// The password and the keys in the query of an address: `https://user:password@host/?api_key=key`.
pub fn secrets_of_address(text: &str) -> Vec<Secret> {
    let address = Some(text).filter(|text| text.contains("://"));
    let Some(url) = address.and_then(|text| Url::parse(text).ok()) else { return Vec::new() };
    let query = url.query_pairs().filter(|(name, _)| names_a_secret(name));
    let keys = query.map(|(_, value)| Secret::new(value));
    // As it is written and as it is meant: the one may have other escapes than ours.
    let password = url.password().unwrap_or_default();
    let meant = percent_decode_str(password).decode_utf8_lossy().into_owned();
    let passwords = [Secret::new(password), Secret::new(meant)];
    keys.chain(passwords).filter(|secret| !secret.expose().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_names_are_those_of_secrets() {
        for name in [
            "OPENAI_API_KEY",
            "gh_token",
            "DB_PASSWORD",
            "CLIENT_SECRET",
            "PGPASSWORD",
            "apiKey",
            "DB_PASS",
            "MYSQL_PWD",
            "my.api-key",
            "AWS_BEARER_TOKEN_BEDROCK",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "MODEL",
            "MONKEY_NAME",
            "MAX_TOKENS",
            "KEYBOARD",
            "PWD",
            "OLDPWD",
            "pass_env",
            "PATH",
            "SSH_AUTH_SOCK",
            "TOKENIZERS_PARALLELISM",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_those_that_targets_use_and_those_with_telling_names() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let env = Env::new([
            pair("TEAM", " used-by-a-target "),
            pair("GH_TOKEN", "by-its-name"),
            pair("MODEL", "no-secret-at-all"),
            pair("SHORT_KEY", "1234567"),
        ]);
        let env = env.with_added([pair("NPM_TOKEN", "of-a-file")].into());
        let mut secrets = Secrets::of(&env, &["TEAM", "NOT_SET"].map(str::to_owned).into());
        secrets.merge(secrets.clone());
        secrets.insert("GH_TOKEN", Secret::new("another-value"));
        let redactor = secrets.with_patterns(&["x{3}".to_owned()]).redactor();
        let masked = redactor.text("used-by-a-target by-its-name another-value of-a-file xxx");
        assert_eq!(masked, ["[redacted]"; 5].join(" "));
        for text in ["no-secret-at-all", "1234567"] {
            assert_eq!(redactor.text(text), text);
        }
    }

    #[track_caller]
    fn check_address(address: &str, expected: &[&str]) {
        let found = secrets_of_address(address);
        assert_eq!(found.iter().map(Secret::expose).collect::<Vec<_>>(), expected, "{address}");
    }

    #[test]
    fn addresses_may_have_secrets() {
        check_address("postgres://me:p%40ss@host/db", &["p%40ss", "p@ss"]);
        check_address("https://host/v1?api_key=a%2Fb&page=2", &["a/b"]);
        check_address("https://host/v1", &[]);
        check_address("me:password@host", &[]);
    }
}
