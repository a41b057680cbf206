//! Keys and tokens: never written in a file, so that a file can be shared.

use super::env::variable_reference;
use super::{Fields, Node};
use agentv_core::Secret;

/// The code of a note on a secret that must be there and is not even named.
pub const MISSING_SECRET: &str = "config::no_secret";

/// Whether a secret must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    Optional,
}

impl Fields<'_, '_> {
    /// A secret, which must be `${{ NAME }}` as a whole. A literal is an error, and so is a variable that is not set, even
    /// where the secret is optional: who names a variable means it.
    pub fn secret(
        &mut self,
        keys: &[&'static str],
        variable: &str,
        presence: Presence,
    ) -> Option<Secret> {
        let key = keys[0];
        let Some(node) = self.node_of(keys) else {
            if presence == Presence::Required {
                let message = format!("{} needs `{key}`", self.owner());
                let (span, question) = self.misspelt(keys).unzip();
                let help =
                    question.unwrap_or_else(|| format!("add `{key}: ${{{{ {variable} }}}}`"));
                let span = span.unwrap_or_else(|| self.head());
                self.error_at(MISSING_SECRET, span, message).help(help);
            }
            return None;
        };
        let Some(name) = node.as_text().and_then(variable_reference) else {
            let message = format!("`{key}` of {} is written in the file", self.owner());
            let help = format!(
                "write `{key}: ${{{{ {variable} }}}}` and set `{variable}` in the environment or in a `.env` file"
            );
            self.error_at("config::secret", node.span, message).help(help);
            return None;
        };
        let name = name.to_owned();
        self.remember_secret(&name);
        self.secret_variable(key, node, &name)
    }

    fn secret_variable(&mut self, key: &str, node: &Node<'_>, name: &str) -> Option<Secret> {
        let problem = match self.env().require(name).map(str::trim) {
            Ok(value) if value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) => {
                return Some(Secret::new(value));
            }
            // Control characters and letters beyond ASCII come from copying too much or the wrong thing.
            Ok(_) => "has characters that no key has".to_owned(),
            Err(error) => error.to_string(),
        };
        let message = format!(
            "environment variable `{name}`, required for `{key}` of {}, {problem}",
            self.owner()
        );
        self.error_at("config::env", node.span, message)
            .help(format!("set `{name}` in the environment or in a `.env` file"));
        None
    }
}
