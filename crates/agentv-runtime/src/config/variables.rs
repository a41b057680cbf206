//! Environment variables that a file gives to a program.

use super::{Entry, Env, Fields, Kind, variable_reference};
use std::fmt;

/// Environment variables with their values, which may be secrets and are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(pub Vec<(String, String)>);

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Variables {
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(name, _)| name.clone())
    }

    /// The mapping of names to values under this key. Values may be `${{ NAME }}`.
    pub fn read(key: &'static str, fields: &mut Fields<'_, '_>) -> Self {
        let Some(node) = fields.node(key) else { return Self::default() };
        let Some(map) = node.as_map() else {
            let message =
                format!("`{key}` of {} must be a mapping of names to values", fields.owner());
            fields.error_at("config::type", node.span, message);
            return Self::default();
        };
        let env = fields.env();
        let mut variables = Vec::with_capacity(map.len());
        for entry in map {
            match variable(entry, env) {
                Ok(variable) => variables.push(variable),
                Err(problem) => {
                    let message = format!("`{key}` of {}: {problem}", fields.owner());
                    fields.error_at("config::env", entry.value.span, message);
                }
            }
        }
        Self(variables)
    }
}

impl Fields<'_, '_> {
    /// `pass_env`: names of variables, as they are written. A reference would be the value of one.
    pub fn passed_variables(&mut self) -> Option<Vec<String>> {
        let node = self.node("pass_env")?;
        let is_name = |name: &&str| !name.is_empty() && !name.contains(['=', '\0', '$', ' ']);
        let items = node.as_list().unwrap_or_default().iter();
        let names: Option<Vec<String>> =
            items.map(|item| item.as_text().filter(is_name).map(str::to_owned)).collect();
        let names = names.filter(|_| node.as_list().is_some());
        if names.is_none() {
            let message =
                format!("`pass_env` of {} must be a list of names of variables", self.owner());
            self.error_at("config::pass-env", node.span, message)
                .help("write the names alone, as in `pass_env: [GH_TOKEN]`");
        }
        names
    }
}

/// A name and its value, or what is wrong with them. The system could not take some names and values at all.
fn variable(entry: &Entry<'_>, env: &Env) -> Result<(String, String), String> {
    let name = entry.key.as_ref();
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!("`{name}` cannot be the name of a variable"));
    }
    let value = match &entry.value.kind {
        Kind::Text(text) => match variable_reference(text) {
            None => text.clone().into_owned(),
            Some(from) => env
                .require(from)
                .map_err(|error| format!("environment variable `{from}`, for `{name}`, {error}"))?
                .to_owned(),
        },
        Kind::Number(_) | Kind::Bool(_) => entry.value.to_value().to_string(),
        _ => return Err(format!("`{name}` must be text, not {}", entry.value.describe())),
    };
    if value.contains('\0') {
        return Err(format!("the value of `{name}` holds a zero byte"));
    }
    Ok((name.to_owned(), value))
}
