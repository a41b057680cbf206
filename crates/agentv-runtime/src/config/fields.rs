//! A bag of keys: both spellings, aliases, types, left-overs, did-you-mean. Read key by key, so that one wrong value does
//! not hide the next.

use super::env::{references, replace_references, variable_reference};
use super::{Cost, Entry, Env, EnvError, Kind, Node, Note, Notes, Span};
use serde_json::Value;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The keys of one mapping while they are read: `'t` is the file's, `'a` the reader's. Every case goes through here, so
/// nothing is allocated unless a mapping is unusually large, or something is wrong with it.
#[derive(Debug)]
pub struct Fields<'a, 't> {
    map: &'t [Entry<'t>],
    span: Span,
    owner: Owner<'t>,
    /// What an error in here costs.
    cost: Cost,
    /// Which entries were read.
    taken: SmallVec<[bool; 16]>,
    /// Every key that was asked for, which is every key that exists.
    known: SmallVec<[&'static str; 24]>,
    notes: &'a mut Notes,
    env: &'a Env,
    /// Whether `${{ NAME }}` is replaced in every text.
    expands: bool,
    errors_before: usize,
}

/// What a mapping is, for messages.
#[derive(Debug, Clone)]
pub enum Owner<'n> {
    /// Its kind and its name, say "case `capital`".
    Named(&'static str, &'n str),
    Text(Cow<'static, str>),
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(kind, name) => write!(f, "{kind} `{name}`"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<&'static str> for Owner<'_> {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Owner<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// What becomes of keys that were not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// A warning each, with the nearest known key.
    Warn,
    /// An error each, where the contract says so.
    Refuse,
}

impl<'a, 't> Fields<'a, 't> {
    /// `None`, with a note, if the node is no mapping.
    pub fn of(
        node: &'t Node<'t>,
        owner: impl Into<Owner<'t>>,
        cost: Cost,
        notes: &'a mut Notes,
        env: &'a Env,
    ) -> Option<Self> {
        let owner = owner.into();
        let errors_before = notes.errors();
        let Some(map) = node.as_map() else {
            let message =
                format!("{owner} must be a mapping of keys to values, not {}", node.describe());
            notes.error("config::type", Some(node.span), message).costs(cost);
            return None;
        };
        Some(Self {
            map,
            span: node.span,
            owner,
            cost,
            taken: SmallVec::from_elem(false, map.len()),
            known: SmallVec::new(),
            notes,
            env,
            expands: false,
            errors_before,
        })
    }

    /// Replaces `${{ NAME }}` by the variable's value in every text that is read from here on, in lists and in mappings
    /// too. A variable that is not set, or blank, is an error, unless the reader says otherwise.
    #[must_use]
    pub fn expanding(mut self) -> Self {
        self.expands = true;
        self
    }

    pub fn owner(&self) -> &Owner<'t> {
        &self.owner
    }

    pub fn env(&self) -> &'a Env {
        self.env
    }

    /// The node under a key, in either spelling. `snake_case` wins, and a second spelling is noted.
    pub fn node(&mut self, key: &'static str) -> Option<&'t Node<'t>> {
        self.known.push(key);
        let map = self.map;
        let mut found: Option<&'t Entry<'t>> = None;
        for (index, entry) in map.iter().enumerate() {
            if !same_key(&entry.key, key) {
                continue;
            }
            self.taken[index] = true;
            let Some(first) = found else {
                found = Some(entry);
                continue;
            };
            let (wins, loses) = if entry.key == key { (entry, first) } else { (first, entry) };
            let message =
                format!("`{}` is ignored, since {} also has `{}`", loses.key, self.owner, wins.key);
            self.notes
                .warning("config::twice", Some(loses.key_span), message)
                .help(format!("remove `{}`", loses.key));
            found = Some(wins);
        }
        found.map(|entry| &entry.value).filter(|node| !node.is_null())
    }

    /// Counts keys as read, whatever they say.
    pub fn pass_over(&mut self, keys: &[&'static str]) {
        self.known.extend_from_slice(keys);
        for (entry, taken) in self.map.iter().zip(&mut self.taken) {
            *taken = *taken || keys.iter().any(|key| same_key(&entry.key, key));
        }
    }

    /// The node under the first of several names of the same thing.
    pub fn node_of(&mut self, keys: &[&'static str]) -> Option<&'t Node<'t>> {
        let mut found = None;
        for key in keys {
            let node = self.node(key);
            found = found.or(node);
        }
        found
    }

    /// A value, if the key is there; a value of the wrong type is noted.
    pub fn take<T: FromNode>(&mut self, key: &'static str) -> Option<T> {
        self.take_of(&[key])
    }

    /// The same for a thing of several names, the best first.
    pub fn take_of<T: FromNode>(&mut self, keys: &[&'static str]) -> Option<T> {
        let node = self.node_of(keys)?;
        self.read(keys[0], node)
    }

    /// A value that must be there.
    pub fn need<T: FromNode>(&mut self, key: &'static str) -> Option<T> {
        self.need_of(&[key])
    }

    /// The same for a thing of several names, the best first.
    pub fn need_of<T: FromNode>(&mut self, keys: &[&'static str]) -> Option<T> {
        let node = self.needed(keys)?;
        self.read(keys[0], node)
    }

    fn needed(&mut self, keys: &[&'static str]) -> Option<&'t Node<'t>> {
        let node = self.node_of(keys);
        if node.is_none() {
            let message = format!("{} needs `{}`", self.owner, keys[0]);
            let (span, help) = self.misspelt(keys).unzip();
            let span = span.unwrap_or_else(|| self.head());
            self.notes.error("config::missing", Some(span), message).costs(self.cost).help = help;
        }
        node
    }

    /// Where a key is that is near enough to these, and the question to ask. It then counts as read.
    pub(super) fn misspelt(&mut self, keys: &[&'static str]) -> Option<(Span, String)> {
        let unread = self.map.iter().zip(&mut self.taken).filter(|(_, taken)| !**taken);
        let mut near = unread.filter_map(|(entry, taken)| {
            suggestion(&entry.key, keys.iter().copied()).map(|key| (entry.key_span, key, taken))
        });
        let (span, key, taken) = near.next()?;
        *taken = true;
        Some((span, format!("did you mean `{key}`?")))
    }

    fn read<T: FromNode>(&mut self, key: &str, node: &Node<'t>) -> Option<T> {
        let node = self.expanded(key, node)?;
        self.read_as_written(key, &node)
    }

    /// A value with its variables, if this mapping has any replaced. `None`, with a note, if one cannot be used.
    pub fn expanded<'n>(&mut self, key: &str, node: &'n Node<'t>) -> Option<Cow<'n, Node<'t>>> {
        if !self.expands || references(node).is_empty() {
            return Some(Cow::Borrowed(node));
        }
        match replace_references(node, self.env) {
            Ok(expanded) => Some(Cow::Owned(expanded)),
            Err((name, error)) => {
                self.unusable_variable(key, node.span, &name, error);
                None
            }
        }
    }

    fn unusable_variable(&mut self, key: &str, span: Span, name: &str, error: EnvError) {
        let message = format!(
            "environment variable `{name}`, required for `{key}` of {}, {error}",
            self.owner
        );
        self.error_at("config::env", span, message)
            .help(format!("set `{name}` in the environment or in a `.env` file"));
    }

    /// Remembers the variables in these keys, whose values end up on a command line. Every user of the machine can read
    /// that, so no secret may be among them.
    pub fn on_command_line(&mut self, keys: &[&str]) {
        let map = self.map;
        for entry in map.iter().filter(|entry| keys.iter().any(|key| same_key(&entry.key, key))) {
            for (name, span) in references(&entry.value) {
                let place = format!("`{}` of {}", entry.key, self.owner);
                self.notes.remember_on_command_line(name, span, place);
            }
        }
    }

    fn read_as_written<T: FromNode>(&mut self, key: &str, node: &Node<'_>) -> Option<T> {
        match T::from_node(node) {
            Ok(value) => Some(value),
            Err(Wrong { expected }) => {
                let message =
                    format!("`{key}` of {} must be {expected}, not {}", self.owner, shown(node));
                self.notes.error("config::type", Some(node.span), message).costs(self.cost);
                None
            }
        }
    }

    /// Text that may be `${{ NAME }}` as a whole. A variable that is not set, or blank, counts as absent; so does blank text.
    pub fn env_text(&mut self, keys: &[&'static str]) -> Option<String> {
        let node = self.node_of(keys)?;
        let text: String = self.read_as_written(keys[0], node)?;
        let text = match variable_reference(&text) {
            Some(name) => self.env.get(name).unwrap_or_default().trim().to_owned(),
            None => text.trim().to_owned(),
        };
        (!text.is_empty()).then_some(text)
    }

    /// Text that may be `${{ NAME }}` and must be there and not be blank.
    pub fn need_env_text(&mut self, keys: &[&'static str]) -> Option<String> {
        let node = self.needed(keys)?;
        let text: String = self.read_as_written(keys[0], node)?;
        match variable_reference(&text) {
            None if !text.trim().is_empty() => return Some(text),
            None => {
                let message = format!("`{}` of {} must not be empty", keys[0], self.owner);
                self.error_at("config::empty", node.span, message);
            }
            Some(name) => match self.env.require(name) {
                Ok(value) => return Some(value.to_owned()),
                Err(error) => self.unusable_variable(keys[0], node.span, name, error),
            },
        }
        None
    }

    /// A mapping inside this one. An error in it is an error of this one.
    pub fn sub(&mut self, keys: &[&'static str]) -> Option<Fields<'_, 't>> {
        let node = self.node_of(keys)?;
        let owner = format!("`{}` of {}", keys[0], self.owner);
        let expands = self.expands;
        let fields = Fields::of(node, owner, self.cost, self.notes, self.env)?;
        Some(Fields { expands, ..fields })
    }

    /// Reads another node as part of this mapping, say an entry of one of its lists.
    pub fn inside<'n>(
        &mut self,
        node: &'n Node<'n>,
        owner: impl Into<Owner<'n>>,
    ) -> Option<Fields<'_, 'n>> {
        let expands = self.expands;
        let fields = Fields::of(node, owner, self.cost, self.notes, self.env)?;
        Some(Fields { expands, ..fields })
    }

    /// Notes something wrong at a value, or at the mapping if the key is absent.
    pub fn error(
        &mut self,
        code: &'static str,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Note {
        let span = self.span_of(key);
        self.error_at(code, span, message)
    }

    pub fn error_at(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Note {
        self.notes.error(code, Some(span), message).costs(self.cost)
    }

    pub fn warning_at(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Note {
        self.notes.warning(code, Some(span), message)
    }

    /// Notes something that is not wrong, but may surprise.
    pub fn info_at(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Note {
        self.notes.info(code, Some(span), message)
    }

    pub(super) fn remember_secret(&mut self, variable: &str) {
        self.notes.remember_secret(variable);
    }

    /// Where the value of a key is, in either spelling.
    pub fn span_of(&self, key: &str) -> Span {
        let entry = self.map.iter().find(|entry| same_key(&entry.key, key));
        entry.map_or_else(|| self.head(), |entry| entry.value.span)
    }

    /// The first key, which stands for the whole mapping: a mark under all of its lines would say less.
    pub fn head(&self) -> Span {
        self.map.first().map_or(self.span, |entry| entry.key_span)
    }

    /// Whether anything was wrong since these fields were opened.
    pub fn failed(&self) -> bool {
        self.notes.errors() > self.errors_before
    }

    /// The entries that were not asked for, as they are written. They count as read from now on.
    pub fn rest(&mut self) -> Vec<&'t Entry<'t>> {
        let rest = self
            .map
            .iter()
            .zip(&self.taken)
            .filter(|(_, taken)| !**taken)
            .map(|(entry, _)| entry)
            .collect();
        self.taken.fill(true);
        rest
    }

    /// The entries that were not asked for, are not `null`, and whose key is one of those that are looked for. They count
    /// as read from now on, but not as known keys, which are suggested to the user.
    pub fn unread(&mut self, is_one: impl Fn(&str, &[&'static str]) -> bool) -> Vec<&'t Entry<'t>> {
        let mut found = Vec::new();
        for (entry, taken) in self.map.iter().zip(&mut self.taken) {
            if !*taken && !entry.value.is_null() && is_one(&entry.key, &self.known) {
                *taken = true;
                found.push(entry);
            }
        }
        found
    }

    /// Notes the keys that were not asked for.
    pub fn finish(&mut self, leftovers: Leftovers) {
        for entry in self.rest() {
            let message = format!("{} has no key `{}`", self.owner, entry.key);
            let help = suggestion(&entry.key, self.known.iter().copied()).map_or_else(
                || format!("known keys: {}", listed(&self.known)),
                |key| format!("did you mean `{key}`?"),
            );
            let note = match leftovers {
                Leftovers::Warn => {
                    self.notes.warning("config::unknown-key", Some(entry.key_span), message)
                }
                Leftovers::Refuse => self
                    .notes
                    .error("config::unknown-key", Some(entry.key_span), message)
                    .costs(self.cost),
            };
            note.help(help);
        }
    }

    /// Every key that was asked for so far.
    pub fn known(&self) -> &[&'static str] {
        &self.known
    }
}

/// A value as a message shows it.
fn shown(node: &Node<'_>) -> String {
    match &node.kind {
        Kind::Null | Kind::List(_) | Kind::Map(_) => node.describe().to_owned(),
        Kind::Bool(_) | Kind::Number(_) => format!("`{}`", node.to_value()),
        Kind::Text(text) if text.trim().is_empty() => "empty text".to_owned(),
        Kind::Text(text) if text.chars().count() <= 40 => format!("the text `{text}`"),
        Kind::Text(_) => "text".to_owned(),
    }
}

fn listed(keys: &[&str]) -> String {
    let mut keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.dedup();
    keys.join(", ")
}

/// `outputFile` is `output_file`.
pub fn same_key(written: &str, snake: &str) -> bool {
    // Most keys differ in their first letter, and this is asked for every key of every case.
    if written.as_bytes().first() != snake.as_bytes().first() {
        return false;
    }
    if written == snake {
        return true;
    }
    let mut expected = snake.bytes();
    for byte in written.bytes() {
        if byte.is_ascii_uppercase() {
            if expected.next() != Some(b'_') || expected.next() != Some(byte.to_ascii_lowercase()) {
                return false;
            }
        } else if expected.next() != Some(byte) {
            return false;
        }
    }
    expected.next().is_none()
}

/// The known name that was probably meant.
pub fn suggestion<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let length = written.chars().count();
    let near = |name: &str, distance: usize| distance <= 1 + name.chars().count() / 4;
    known
        .into_iter()
        // No two words are nearer than their lengths, and to compare a very long one takes much memory.
        .filter(|name| near(name, name.chars().count().abs_diff(length)))
        .map(|name| (typos_between(written, name), name))
        .filter(|(distance, name)| near(name, *distance))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many typos lie between two names. Letter case does not count, nor does `-` for `_`.
pub fn typos_between(one: &str, other: &str) -> usize {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    strsim::damerau_levenshtein(&plain(one), &plain(other))
}

/// A type that can be read from a node.
pub trait FromNode: Sized {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong>;
}

/// What should have been there: "a number from 0 up".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong {
    pub expected: &'static str,
}

impl FromNode for String {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        node.as_text().map(str::to_owned).ok_or(Wrong { expected: "text" })
    }
}

impl FromNode for bool {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        if let Kind::Bool(truth) = node.kind {
            Ok(truth)
        } else {
            Err(Wrong { expected: "`true` or `false`" })
        }
    }
}

impl FromNode for f64 {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        match &node.kind {
            Kind::Number(number) => number
                .as_f64()
                .filter(|n| n.is_finite())
                .ok_or(Wrong { expected: "a finite number" }),
            _ => Err(Wrong { expected: "a number" }),
        }
    }
}

impl FromNode for u64 {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let expected = "a whole number from 0 up";
        let number = f64::from_node(node).map_err(|_| Wrong { expected })?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and in range"
        )]
        if number.fract() == 0.0 && (0.0..9e15).contains(&number) {
            Ok(number as u64)
        } else {
            Err(Wrong { expected })
        }
    }
}

impl FromNode for Value {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        Ok(node.to_value())
    }
}

/// Seconds from just above 0, kept in whole milliseconds.
impl FromNode for Duration {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let expected = "a number of seconds above 0";
        let seconds = f64::from_node(node).map_err(|_| Wrong { expected })?;
        if seconds > 0.0 && seconds < 1e9 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be in range"
            )]
            return Ok(Duration::from_millis(((seconds * 1000.0).floor() as u64).max(1)));
        }
        Err(Wrong { expected })
    }
}

impl FromNode for Vec<String> {
    fn from_node(node: &Node<'_>) -> Result<Self, Wrong> {
        let expected = "a list of texts";
        let items = node.as_list().ok_or(Wrong { expected })?;
        items
            .iter()
            .map(|item| item.as_text().map(str::to_owned).ok_or(Wrong { expected }))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_is_the_same_key() {
        assert!(same_key("timeout_seconds", "timeout_seconds"));
        assert!(same_key("timeoutSeconds", "timeout_seconds"));
        assert!(!same_key("TimeoutSeconds", "timeout_seconds"));
        assert!(!same_key("timeout", "timeout_seconds"));
        assert!(!same_key("timeoutSecondsX", "timeout_seconds"));
    }

    #[test]
    fn near_misses_are_suggested_and_others_are_not() {
        assert_eq!(
            suggestion("comand_template", ["cwd", "command_template"]),
            Some("command_template")
        );
        assert_eq!(suggestion("LLM-judge", ["llm_judge", "code_judge"]), Some("llm_judge"));
        assert_eq!(suggestion("colour", ["cwd", "command_template"]), None);
    }
}
