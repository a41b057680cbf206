//! What a target uses as a secret, by the keys that it is written under: known of every target, used or not, and also of
//! one whose provider is not known.

use super::settings::snake_case;
use crate::config::{Kind, Node, names_a_secret, secrets_of_address, variable_reference};
use agentv_core::Secret;

/// The secrets of one target.
#[derive(Debug, Default)]
pub(super) struct TargetSecrets {
    /// The variables that hold them.
    pub variables: Vec<String>,
    /// Those that are written into the file, under the names of their keys. Not every key refuses that.
    pub literals: Vec<(String, Secret)>,
}

/// Where a value is written.
#[derive(Debug, Clone, Copy)]
struct Position<'n> {
    key: &'n str,
    /// Whether the key, or one above it, says that this is a secret.
    is_secret: bool,
    /// Whether this is handed to a program or a server under a name that says nothing to us.
    is_handed_on: bool,
}

/// Looks through all keys of a target.
pub(super) fn of_target(node: &Node<'_>) -> TargetSecrets {
    let mut secrets = TargetSecrets::default();
    collect(node, Position { key: "", is_secret: false, is_handed_on: false }, &mut secrets);
    secrets
}

fn collect(node: &Node<'_>, at: Position<'_>, secrets: &mut TargetSecrets) {
    match &node.kind {
        Kind::Text(text) => match variable_reference(text) {
            Some(name) if at.is_secret || (at.is_handed_on && names_a_secret(name)) => {
                secrets.variables.push(name.to_owned());
            }
            None if is_telling(at.key) => {
                secrets.literals.push((at.key.to_owned(), Secret::new(text.trim())));
            }
            _ => {
                let found = secrets_of_address(text).into_iter();
                secrets.literals.extend(found.map(|secret| (at.key.to_owned(), secret)));
            }
        },
        Kind::List(items) => items.iter().for_each(|item| collect(item, at, secrets)),
        Kind::Map(entries) => {
            for entry in entries {
                let is_header = entry.key.eq_ignore_ascii_case("headers");
                let position = Position {
                    key: &entry.key,
                    is_secret: at.is_secret || is_header || is_telling(&entry.key),
                    is_handed_on: at.is_handed_on || entry.key == "env",
                };
                collect(&entry.value, position, secrets);
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}

/// Keys may be in `camelCase`.
fn is_telling(key: &str) -> bool {
    names_a_secret(key) || names_a_secret(&snake_case(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Notes;
    use crate::load::syntax::yaml;

    #[track_caller]
    fn check(text: &str, variables: &[&str], literals: &[&str]) {
        let node = yaml::parse(text, &mut Notes::new("targets.yaml")).unwrap();
        let found = of_target(&node);
        assert_eq!(found.variables, variables, "{text}");
        let values: Vec<&str> = found.literals.iter().map(|(_, secret)| secret.expose()).collect();
        assert_eq!(values, literals, "{text}");
    }

    #[test]
    fn keys_headers_and_telling_variables_are_secrets() {
        check("api_key: ${{ TEAM }}", &["TEAM"], &[]);
        check("accessKey: ${{ TEAM }}\nmodel: ${{ MODEL }}", &["TEAM"], &[]);
        check("headers: {X-Team: '${{ TEAM }}', Accept: text/plain}", &["TEAM"], &[]);
        check("env: {SERVICE_TOKEN: '${{ A }}', REGION: '${{ B }}'}", &["A"], &[]);
        check("env: {SERVICE: '${{ A_TOKEN }}', N_KEY: written}", &["A_TOKEN"], &["written"]);
        check("base_url: https://me:written@host/?key=too", &[], &["too", "written", "written"]);
        check("pass_env: [GH_TOKEN]\nmax_output_tokens: 5", &[], &[]);
    }
}
