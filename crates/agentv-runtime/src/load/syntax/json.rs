//! JSON text → [`Node`].
//!
//! Large datasets are JSONL, so the plain way is fast and knows no places. When something is wrong with a value, it is read
//! again by [`located`], which does.

use crate::config::{Entry, Kind, Map, Node, Notes, Span};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// Reads one value, without places.
pub(in crate::load) fn parse(text: &str) -> serde_json::Result<Node<'_>> {
    serde_json::from_str::<Bare<'_>>(text).map(|bare| bare.0)
}

/// Reads one value with the bytes that each part takes up in `text`. Slower; only for what [`parse`] accepts.
pub(in crate::load) fn located(text: &str) -> serde_json::Result<Node<'_>> {
    let raw: &RawValue = serde_json::from_str(text)?;
    locate(raw.get(), text)
}

fn locate<'t>(raw: &'t str, text: &'t str) -> serde_json::Result<Node<'t>> {
    let span = span_in(text, raw);
    let kind = match raw.as_bytes().first() {
        Some(b'[') => {
            let items: Vec<&'t RawValue> = serde_json::from_str(raw)?;
            Kind::List(
                items.into_iter().map(|item| locate(item.get(), text)).collect::<Result<_, _>>()?,
            )
        }
        Some(b'{') => {
            let entries = serde_json::from_str::<RawEntries<'t>>(raw)?.0;
            let mut map = Entries::default();
            for (key, value) in entries {
                let value = locate(value.get(), text)?;
                // An escaped key is not a slice of the text; its value is near enough.
                let key_span =
                    if let Cow::Borrowed(key) = key { span_in(text, key) } else { value.span };
                map.put(Entry { key, key_span, value });
            }
            Kind::Map(map.map)
        }
        _ => parse(raw)?.kind,
    };
    Ok(Node::new(kind, span))
}

/// Notes that a text is no JSON, where that was noticed.
pub(in crate::load) fn note_syntax(text: &str, error: &serde_json::Error, notes: &mut Notes) {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let start = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    let span = Span { start: small(start), end: small(start + 1) };
    notes.error("json::syntax", Some(span), format!("not valid JSON: {reason}"));
}

/// Where a slice is in the text that it was cut from.
fn span_in(text: &str, slice: &str) -> Span {
    let start = (slice.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: small(start), end: small(start + slice.len()) }
}

/// The entries of a mapping while it is read. As in JavaScript, the last of two equal keys wins.
#[derive(Default)]
struct Entries<'t> {
    map: Map<'t>,
    /// Where each key is, once there are many: a short mapping is searched faster than hashed.
    places: HashMap<Cow<'t, str>, usize>,
}

impl<'t> Entries<'t> {
    fn put(&mut self, entry: Entry<'t>) {
        let known = if self.map.len() < 16 {
            self.map.iter().position(|known| known.key == entry.key)
        } else {
            if self.places.is_empty() {
                let keys = self.map.iter().map(|entry| entry.key.clone());
                self.places.extend(keys.zip(0..));
            }
            let known = self.places.get(&entry.key).copied();
            if known.is_none() {
                self.places.insert(entry.key.clone(), self.map.len());
            }
            known
        };
        match known {
            Some(place) => self.map[place] = entry,
            None => self.map.push(entry),
        }
    }
}

/// A node whose places are not known.
struct Bare<'t>(Node<'t>);

impl<'de> Deserialize<'de> for Bare<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BareVisitor).map(|kind| Self(Node::new(kind, Span::default())))
    }
}

struct BareVisitor;

impl<'de> Visitor<'de> for BareVisitor {
    type Value = Kind<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Kind<'de>, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Kind<'de>, E> {
        Ok(Kind::Bool(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Kind<'de>, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Kind<'de>, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Kind<'de>, E> {
        Number::from_f64(number).map(Kind::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Kind<'de>, E> {
        Ok(Kind::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind<'de>, E> {
        Ok(Kind::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(Bare(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind<'de>, A::Error> {
        let mut map = Entries { map: Map::with_capacity(8), ..Entries::default() };
        while let Some(Key(key)) = entries.next_key()? {
            let Bare(value) = entries.next_value()?;
            map.put(Entry { key, key_span: Span::default(), value });
        }
        Ok(Kind::Map(map.map))
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(key))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(key.to_owned()))
            }
        }
        deserializer.deserialize_str(KeyVisitor).map(Self)
    }
}

/// A mapping whose values are not looked into.
struct RawEntries<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'de> Deserialize<'de> for RawEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    entries.push((key, value));
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(EntriesVisitor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn places_are_bytes_of_the_line() {
        let text = r#" {"é": [1, "x\ny", {"k\u0041": true}], "b": null}"#;
        let node = located(text).unwrap();
        let slice = |span: Span| &text[span.start as usize..span.end as usize];
        let list = node.get("é").unwrap();
        assert_eq!(slice(list.span), r#"[1, "x\ny", {"k\u0041": true}]"#);
        assert_eq!(slice(list.as_list().unwrap()[1].span), r#""x\ny""#);
        assert_eq!(slice(node.as_map().unwrap()[1].key_span), "b");
        assert_eq!(list.as_list().unwrap()[2].get("kA").unwrap().kind, Kind::Bool(true));
    }

    #[test]
    fn the_last_of_equal_keys_wins() {
        let keys: Vec<String> =
            (0..40).map(|number| format!("\"k{}\": {number}", number % 20)).collect();
        let text = format!("{{{}}}", keys.join(","));
        for node in [parse(&text).unwrap(), located(&text).unwrap()] {
            let values: Vec<Value> =
                node.as_map().unwrap().iter().map(|entry| entry.value.to_value()).collect();
            assert_eq!(values, (20..40).map(Value::from).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn both_ways_read_the_same(text in r#"[-{}\[\],:"0-9.eE truefalsn\\u]{0,40}"#) {
            let plain = parse(&text).map(|node| node.to_value()).ok();
            let slow = located(&text).map(|node| node.to_value()).ok();
            prop_assert_eq!(&plain, &slow);
            prop_assert_eq!(plain, serde_json::from_str::<Value>(&text).ok());
        }
    }
}
