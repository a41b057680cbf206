//! The environment as a value: the process's variables over those of `.env` files.

use super::{Kind, Node, Span};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Variables by name. Reading the process's own is the CLI's business; here they are given.
#[derive(Clone, Default)]
pub struct Env {
    process: Arc<BTreeMap<String, String>>,
    /// Variables of the process whose values are not text: no file can use them, but children inherit them.
    opaque: Arc<[String]>,
    /// What `.env` files add; the process's own variables always win.
    added: Arc<BTreeMap<String, String>>,
}

impl Env {
    pub fn new(process: impl IntoIterator<Item = (String, String)>) -> Self {
        let process = Arc::new(process.into_iter().collect());
        Self { process, ..Self::default() }
    }

    /// The same with variables whose values are not text.
    #[must_use]
    pub fn with_opaque(self, names: Vec<String>) -> Self {
        Self { opaque: names.into(), ..self }
    }

    /// The same environment over these additions.
    #[must_use]
    pub fn with_added(&self, added: BTreeMap<String, String>) -> Self {
        let mut added = added;
        added.retain(|name, _| !self.process.contains_key(name));
        added.extend(self.added.iter().map(|(name, value)| (name.clone(), value.clone())));
        Self { added: Arc::new(added), ..self.clone() }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.process.get(name).or_else(|| self.added.get(name)).map(String::as_str)
    }

    /// The names of all variables that a child may get.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.process.keys().chain(self.opaque.iter());
        own.chain(self.added.keys()).map(String::as_str)
    }

    /// What a child must be given beyond what it inherits anyway.
    pub fn added(&self) -> &BTreeMap<String, String> {
        &self.added
    }

    /// The variable's value, which must have some text.
    pub fn require(&self, name: &str) -> Result<&str, EnvError> {
        match self.get(name) {
            None => Err(EnvError::NotSet),
            Some(value) if value.trim().is_empty() => Err(EnvError::Empty),
            Some(value) => Ok(value),
        }
    }
}

/// Whose children get only the secrets that they are passed: `env: scrub` in the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scrub {
    pub judges: bool,
    pub targets: bool,
}

/// Why a variable cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    #[error("is not set")]
    NotSet,
    #[error("is empty")]
    Empty,
}

/// Values may be secrets, so only names are shown.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Env({} variables, {:?} added)",
            self.process.len(),
            self.added.keys().collect::<Vec<_>>()
        )
    }
}

/// The name in a value that is `${{ NAME }}` as a whole; other values are literal.
pub fn variable_reference(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${{")?.strip_suffix("}}")?.trim();
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

/// The variables that a value refers to, in lists and mappings too, each with the place of its reference.
pub(super) fn references<'n>(node: &'n Node<'_>) -> Vec<(&'n str, Span)> {
    match &node.kind {
        Kind::Text(text) => {
            variable_reference(text).map(|name| (name, node.span)).into_iter().collect()
        }
        Kind::List(list) => list.iter().flat_map(references).collect(),
        Kind::Map(map) => map.iter().flat_map(|entry| references(&entry.value)).collect(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => Vec::new(),
    }
}

/// A copy of a value with each reference replaced. Fails with the first variable that cannot be used.
pub(super) fn replace_references<'t>(
    node: &Node<'t>,
    env: &Env,
) -> Result<Node<'t>, (String, EnvError)> {
    let kind = match &node.kind {
        Kind::Text(text) => match variable_reference(text) {
            None => node.kind.clone(),
            Some(name) => {
                let value = env.require(name).map_err(|error| (name.to_owned(), error))?;
                Kind::Text(Cow::Owned(value.to_owned()))
            }
        },
        Kind::List(list) => {
            let items = list.iter().map(|item| replace_references(item, env));
            Kind::List(items.collect::<Result<_, _>>()?)
        }
        Kind::Map(map) => {
            let mut map = map.clone();
            for entry in &mut map {
                entry.value = replace_references(&entry.value, env)?;
            }
            Kind::Map(map)
        }
        other => other.clone(),
    };
    Ok(Node::new(kind, node.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(variable_reference(text), expected);
    }

    #[test]
    fn only_a_whole_value_is_a_reference() {
        check("${{ KEY }}", Some("KEY"));
        check("  ${{KEY_2}} ", Some("KEY_2"));
        check("x-${{ KEY }}", None);
        check("${{ A B }}", None);
        check("${{ }}", None);
        check("${KEY}", None);
    }

    #[test]
    fn the_process_wins_over_files() {
        let env = Env::new([("A".to_owned(), "process".to_owned())]);
        let env = env.with_added(
            [("A".to_owned(), "file".to_owned()), ("B".to_owned(), " ".to_owned())].into(),
        );
        assert_eq!(env.get("A"), Some("process"));
        assert_eq!(env.added().keys().collect::<Vec<_>>(), ["B"]);
        assert_eq!(env.require("B"), Err(EnvError::Empty));
        assert_eq!(env.require("C"), Err(EnvError::NotSet));
        assert!(!format!("{env:?}").contains("process\""));
    }
}
