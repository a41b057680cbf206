//! What of a target's settings shapes its answers, as a hash.

use crate::config::{Env, Kind, Map, Node, variable_reference};
use crate::hash::ContentHasher;
use crate::providers::RetrySettings;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Words in the name of a key whose value is a secret.
pub(super) const TELLING: [&str; 4] = ["key", "token", "secret", "password"];

/// Whether a key says when and how often a call is made, and not what is asked.
fn is_about_pace(key: &str) -> bool {
    ["rpm", "tpm"].contains(&key) || RetrySettings::KEYS.contains(&key)
}

/// Hashes the provider's keys. The order and the spelling of keys do not count, variables count as what they stand for, and
/// secrets do not count at all: another key gives no other answer.
pub(in crate::load) fn digest(rest: &Node<'_>, secrets: &BTreeSet<String>, env: &Env) -> [u8; 32] {
    let mut entries: Vec<(String, Node<'_>)> = Vec::new();
    for entry in rest.as_map().into_iter().flatten() {
        let key = snake_case(&entry.key);
        if !is_about_pace(&key) {
            entries.push((key, resolved(&entry.key, &entry.value, secrets, env)));
        }
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    let mut hasher = ContentHasher::default();
    for (key, value) in entries {
        hasher.update_part(key);
        value.digest(&mut hasher);
    }
    hasher.finish()
}

/// The value with its variables put in and its secrets taken out.
fn resolved<'t>(key: &str, value: &Node<'t>, secrets: &BTreeSet<String>, env: &Env) -> Node<'t> {
    let kind = match &value.kind {
        Kind::Text(text) => match variable_reference(text) {
            Some(name) if secrets.contains(name) || is_telling(key) => Kind::Null,
            Some(name) => {
                Kind::Text(Cow::Owned(env.get(name).unwrap_or_default().trim().to_owned()))
            }
            None => Kind::Text(text.clone()),
        },
        Kind::List(list) => {
            Kind::List(list.iter().map(|item| resolved(key, item, secrets, env)).collect())
        }
        Kind::Map(map) => Kind::Map(resolved_map(map, secrets, env)),
        other => other.clone(),
    };
    Node::new(kind, value.span)
}

fn resolved_map<'t>(map: &Map<'t>, secrets: &BTreeSet<String>, env: &Env) -> Map<'t> {
    let mut map = map.clone();
    for entry in &mut map {
        entry.value = resolved(&entry.key, &entry.value, secrets, env);
    }
    map.sort_by(|one, other| one.key.cmp(&other.key));
    map
}

/// `max_output_tokens` is a number and no token.
fn is_telling(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    TELLING.iter().any(|word| key.contains(word)) && !key.contains("tokens")
}

pub(super) fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len());
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Notes;
    use crate::load::syntax::yaml;

    fn of(text: &str, variables: &[(&str, &str)]) -> [u8; 32] {
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let node = yaml::parse(text, &mut Notes::new("targets.yaml")).unwrap();
        digest(&node, &BTreeSet::from(["KEY".to_owned()]), &Env::new(pairs))
    }

    #[test]
    fn spelling_order_pace_and_secrets_do_not_count() {
        let one = of(
            "baseUrl: a\nauth: ${{ KEY }}\nenv: {A_TOKEN: \"${{ X }}\"}",
            &[("KEY", "1"), ("X", "1")],
        );
        let other = of(
            "env: {A_TOKEN: \"${{ X }}\"}\nrpm: 3\nauth: ${{ KEY }}\nbase_url: a\nretry: {max_retries: 1}\nmaxDelayMs: 9",
            &[("KEY", "2"), ("X", "2")],
        );
        assert_eq!(one, other);
    }

    #[test]
    fn everything_else_counts_as_what_it_stands_for() {
        let model = "model: ${{ MODEL }}\nmax_output_tokens: 5";
        let first = of(model, &[("MODEL", "small")]);
        assert_eq!(first, of("model: small\nmax_output_tokens: 5", &[]));
        assert_ne!(first, of(model, &[("MODEL", "large")]));
        assert_ne!(first, of("model: small\nmax_output_tokens: 6", &[]));
        assert_ne!(first, of("model: small", &[]));
    }
}
