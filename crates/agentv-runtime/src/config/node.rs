//! A value with its place in the file. YAML and JSON both become this.

use crate::hash::ContentHasher;
use serde_json::{Number, Value};
use std::borrow::Cow;

/// A range of bytes in a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

/// A value and its place. Text is borrowed from the file where it can be.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'t> {
    pub kind: Kind<'t>,
    pub span: Span,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind<'t> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'t, str>),
    List(Vec<Node<'t>>),
    Map(Map<'t>),
}

/// Keys and values in the order written; no key is there twice.
pub type Map<'t> = Vec<Entry<'t>>;

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<'t> {
    pub key: Cow<'t, str>,
    pub key_span: Span,
    pub value: Node<'t>,
}

impl Entry<'_> {
    /// A copy that owns its texts and has one place.
    pub fn placed(&self, span: Span) -> Entry<'static> {
        let key = Cow::Owned(self.key.clone().into_owned());
        Entry { key, key_span: span, value: self.value.placed(span) }
    }
}

impl<'t> Node<'t> {
    pub fn new(kind: Kind<'t>, span: Span) -> Self {
        Self { kind, span }
    }

    pub fn as_map(&self) -> Option<&Map<'t>> {
        if let Kind::Map(map) = &self.kind { Some(map) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Node<'t>]> {
        if let Kind::List(list) = &self.kind { Some(list) } else { None }
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The value under a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node<'t>> {
        self.as_map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Whether both say the same, wherever they stand.
    pub fn says_same(&self, other: &Node<'_>) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Null, Kind::Null) => true,
            (Kind::Bool(one), Kind::Bool(other)) => one == other,
            (Kind::Number(one), Kind::Number(other)) => one == other,
            (Kind::Text(one), Kind::Text(other)) => one == other,
            (Kind::List(one), Kind::List(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| one.says_same(other))
            }
            (Kind::Map(one), Kind::Map(other)) => {
                let same = |(one, other): (&Entry<'_>, &Entry<'_>)| {
                    one.key == other.key && one.value.says_same(&other.value)
                };
                one.len() == other.len() && one.iter().zip(other).all(same)
            }
            _ => false,
        }
    }

    /// A copy that owns its texts and has one place, wherever it came from.
    pub fn placed(&self, span: Span) -> Node<'static> {
        let kind = match &self.kind {
            Kind::Null => Kind::Null,
            Kind::Bool(truth) => Kind::Bool(*truth),
            Kind::Number(number) => Kind::Number(number.clone()),
            Kind::Text(text) => Kind::Text(Cow::Owned(text.clone().into_owned())),
            Kind::List(list) => Kind::List(list.iter().map(|item| item.placed(span)).collect()),
            Kind::Map(map) => Kind::Map(map.iter().map(|entry| entry.placed(span)).collect()),
        };
        Node { kind, span }
    }

    /// The bare value, without places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(truth) => Value::Bool(*truth),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone().into_owned()),
            Kind::List(list) => Value::Array(list.iter().map(Node::to_value).collect()),
            Kind::Map(map) => Value::Object(
                map.iter()
                    .map(|entry| (entry.key.clone().into_owned(), entry.value.to_value()))
                    .collect(),
            ),
        }
    }

    /// Feeds the value, not its layout, to a hash.
    pub fn digest(&self, hasher: &mut ContentHasher) {
        match &self.kind {
            Kind::Null => hasher.update(b"n"),
            Kind::Bool(truth) => hasher.update([b'b', u8::from(*truth)]),
            Kind::Number(number) => digest_text(hasher, b'd', &number.to_string()),
            Kind::Text(text) => digest_text(hasher, b't', text),
            Kind::List(list) => {
                hasher.update(b"[");
                for item in list {
                    item.digest(hasher);
                }
                hasher.update(b"]");
            }
            Kind::Map(map) => {
                hasher.update(b"{");
                for entry in map {
                    digest_text(hasher, b'k', &entry.key);
                    entry.value.digest(hasher);
                }
                hasher.update(b"}");
            }
        }
    }

    /// What kind of value this is, for messages.
    pub fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}

fn digest_text(hasher: &mut ContentHasher, tag: u8, text: &str) {
    hasher.update([tag]);
    hasher.update_part(text);
}
