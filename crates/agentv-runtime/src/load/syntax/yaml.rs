//! YAML text → [`Node`]: the only caller of the YAML library.
//!
//! The parser gives events; anchors, merge keys, duplicate keys and the limits against hostile files are ours. Scalars
//! follow the core schema of YAML 1.2: `yes`, `on`, `1_000` and dates are text, `012` is twelve.

use super::yaml_error::explain;
use crate::config::{Entry, Kind, Map, Node, Notes, Span};
use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::Number;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Reads a file that holds one document. What is wrong is noted, and then there is no tree.
pub(in crate::load) fn parse<'t>(text: &'t str, notes: &mut Notes) -> Option<Node<'t>> {
    let mut builder = Builder::new(text);
    let mut done = 0;
    for next in Parser::new_from_str(text) {
        let taken = match next {
            Ok((event, span)) => {
                let span = bytes(span);
                done = span.end as usize;
                builder.take(event, span)
            }
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(text.len());
                Err(explain(text, done, at, &error.info()))
            }
        };
        if let Err(Fault { code, span, first, message, help }) = taken {
            let note = notes.error(code, Some(span), message);
            note.help = help;
            note.first_used(first);
            return None;
        }
    }
    Some(builder.root.unwrap_or_else(|| Node::new(Kind::Null, Span::default())))
}

/// Why a text cannot be read.
pub(super) struct Fault {
    code: &'static str,
    span: Span,
    /// Where the same key was used before.
    first: Option<Span>,
    message: String,
    help: Option<String>,
}

impl Fault {
    pub(super) fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, first: None, message: message.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The tree under construction.
struct Builder<'t> {
    /// Lists and maps that are open, the innermost last.
    open: Vec<Open<'t>>,
    root: Option<Node<'t>>,
    documents: usize,
    /// Finished nodes that have an anchor, with the number of their nodes.
    anchors: HashMap<usize, (Node<'t>, usize)>,
    /// How many more nodes aliases may add. It grows with the file, so that a small bomb is refused at once and a large
    /// suite may repeat itself.
    alias_allowance: usize,
    /// The same for what is copied because it has an anchor: anchors inside of anchors copy the same again.
    anchor_allowance: usize,
}

struct Open<'t> {
    start: u32,
    anchor: usize,
    body: Body<'t>,
}

enum Body<'t> {
    List(Vec<Node<'t>>),
    Map {
        entries: Map<'t>,
        /// A key that waits for its value.
        key: Option<(Cow<'t, str>, Span)>,
        merged: Vec<Node<'t>>,
        /// The keys, once there are many.
        seen: HashSet<Cow<'t, str>>,
    },
}

impl Body<'_> {
    fn empty_map() -> Self {
        Self::Map { entries: Vec::new(), key: None, merged: Vec::new(), seen: HashSet::new() }
    }
}

impl<'t> Builder<'t> {
    fn new(text: &str) -> Self {
        Self {
            open: Vec::new(),
            root: None,
            documents: 0,
            anchors: HashMap::new(),
            alias_allowance: 10_000 + text.len(),
            anchor_allowance: 10_000 + text.len(),
        }
    }

    fn take(&mut self, event: Event<'t>, span: Span) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let fault =
                        Fault::new("yaml::documents", span, "the file has a second document");
                    return Err(fault.help(
                        "keep one document per file: remove the second `---` and what follows",
                    ));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_text =
                    style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix() == "str");
                self.scalar(text, is_text, anchor, span)
            }
            Event::SequenceStart(_, anchor, _) => self.start(anchor, span, Body::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.start(anchor, span, Body::empty_map()),
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        is_text: bool,
        anchor: usize,
        span: Span,
    ) -> Result<(), Fault> {
        if let Some(Open { body: Body::Map { key: key @ None, .. }, .. }) = self.open.last_mut() {
            *key = Some((text, span));
            return Ok(());
        }
        let kind = if is_text { Kind::Text(text) } else { plain(text, span)? };
        self.add(Node::new(kind, span), anchor)
    }

    fn start(&mut self, anchor: usize, span: Span, body: Body<'t>) -> Result<(), Fault> {
        if let Some(Open { body: Body::Map { key: None, .. }, .. }) = self.open.last() {
            return Err(Fault::new("yaml::key", span, "a list or mapping cannot be a key"));
        }
        self.open.push(Open { start: span.start, anchor, body });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Fault> {
        let Some(Open { start, anchor, body }) = self.open.pop() else { return Ok(()) };
        let kind = match body {
            Body::List(items) => Kind::List(items),
            Body::Map { mut entries, merged, .. } => {
                merge(&mut entries, merged);
                Kind::Map(entries)
            }
        };
        self.add(Node::new(kind, Span { start, end: span.end.max(start) }), anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Fault> {
        let Some((node, size)) = self.anchors.get(&anchor) else {
            return Err(Fault::new("yaml::alias", span, "alias refers to itself"));
        };
        let Some(left) = self.alias_allowance.checked_sub(*size) else {
            return Err(Fault::new(
                "yaml::alias",
                span,
                "aliases repeat too much: the expanded file would be too large",
            )
            .help("write the repeated parts out, or keep large data in a JSONL file"));
        };
        self.alias_allowance = left;
        let mut node = node.clone();
        node.span = span;
        if let Some(Open { body: Body::Map { key: key @ None, .. }, .. }) = self.open.last_mut() {
            let Kind::Text(text) = node.kind else {
                return Err(Fault::new(
                    "yaml::key",
                    span,
                    "an alias used as a key must refer to text",
                ));
            };
            *key = Some((text, span));
            return Ok(());
        }
        self.add(node, 0)
    }

    /// A node is complete: it goes where it belongs.
    fn add(&mut self, node: Node<'t>, anchor: usize) -> Result<(), Fault> {
        if anchor != 0 {
            let size = size(&node);
            let Some(left) = self.anchor_allowance.checked_sub(size) else {
                let message = "anchors are nested too much: the expanded file would be too large";
                return Err(Fault::new("yaml::anchor", node.span, message)
                    .help("remove anchors that no alias uses"));
            };
            self.anchor_allowance = left;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut().map(|open| &mut open.body) {
            None => self.root = Some(node),
            Some(Body::List(items)) => items.push(node),
            Some(Body::Map { entries, key, merged, seen }) => {
                let Some((key, key_span)) = key.take() else { return Ok(()) };
                // In quotes it takes up more, and is a key like any other.
                if key == "<<" && key_span.end - key_span.start == 2 {
                    merged.push(mergeable(node, key_span)?);
                    return Ok(());
                }
                if is_duplicate(entries, seen, &key) {
                    let first = entries.iter().find(|entry| entry.key == key);
                    let message = format!("duplicate key `{key}`");
                    let fault = Fault::new("yaml::duplicate-key", key_span, message)
                        .help("remove one of the two, or rename it");
                    return Err(Fault { first: first.map(|entry| entry.key_span), ..fault });
                }
                entries.push(Entry { key, key_span, value: node });
            }
        }
        Ok(())
    }
}

fn size(node: &Node<'_>) -> usize {
    match &node.kind {
        Kind::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Kind::Map(entries) => 1 + entries.iter().map(|entry| 1 + size(&entry.value)).sum::<usize>(),
        _ => 1,
    }
}

/// Long mappings are rare; a short one is searched faster than hashed.
fn is_duplicate<'t>(entries: &Map<'t>, seen: &mut HashSet<Cow<'t, str>>, key: &str) -> bool {
    if entries.len() < 16 {
        return entries.iter().any(|entry| entry.key == key);
    }
    if seen.is_empty() {
        seen.extend(entries.iter().map(|entry| entry.key.clone()));
    }
    !seen.insert(Cow::Owned(key.to_owned()))
}

/// What `<<` may merge: a mapping or a list of mappings.
fn mergeable(node: Node<'_>, span: Span) -> Result<Node<'_>, Fault> {
    let fits = match &node.kind {
        Kind::Map(_) => true,
        Kind::List(items) => items.iter().all(|item| item.as_map().is_some()),
        _ => false,
    };
    if fits {
        Ok(node)
    } else {
        Err(Fault::new("yaml::merge", span, "`<<` merges a mapping or a list of mappings"))
    }
}

/// Keys of the mapping itself win; among merged mappings the earlier wins.
fn merge<'t>(entries: &mut Map<'t>, merged: Vec<Node<'t>>) {
    let maps = merged.into_iter().flat_map(|node| match node.kind {
        Kind::List(items) => items,
        _ => vec![node],
    });
    let mut seen: HashSet<Cow<'t, str>> = HashSet::new();
    for map in maps {
        let Kind::Map(more) = map.kind else { continue };
        if seen.is_empty() {
            seen.extend(entries.iter().map(|entry| entry.key.clone()));
        }
        for entry in more {
            if seen.insert(entry.key.clone()) {
                entries.push(entry);
            }
        }
    }
}

/// A plain scalar by the core schema.
fn plain(text: Cow<'_, str>, span: Span) -> Result<Kind<'_>, Fault> {
    // Most plain scalars begin like a word, and no number, truth or nothing does.
    let first = text.as_bytes().first().copied();
    if !matches!(
        first,
        None | Some(
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F'
        )
    ) {
        return Ok(Kind::Text(text));
    }
    Ok(match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "-.inf" | ".nan" | ".NaN" | ".NAN" => {
            return Err(Fault::new(
                "yaml::number",
                span,
                format!("`{text}` cannot be used: numbers must be finite"),
            )
            .help("put quotes around it if it is meant as text"));
        }
        other => number(other).map_or(Kind::Text(text), Kind::Number),
    })
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Number::from);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &unsigned[digits..];
    if rest.is_empty() && digits > 0 {
        let text = text.strip_prefix('+').unwrap_or(text);
        return text
            .parse::<u64>()
            .map(Number::from)
            .or_else(|_| text.parse::<i64>().map(Number::from))
            .ok()
            .or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64));
    }
    let fraction = rest.strip_prefix('.').unwrap_or(rest);
    let decimals = if fraction.len() < rest.len() {
        fraction.bytes().take_while(u8::is_ascii_digit).count()
    } else {
        0
    };
    let exponent = &fraction[decimals..];
    let exponent_fits = exponent.is_empty()
        || exponent.strip_prefix(['e', 'E']).is_some_and(|exponent| {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
    if digits + decimals == 0 || !exponent_fits {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

fn bytes(span: granit_parser::Span) -> Span {
    let range = span.byte_range().unwrap_or_default();
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: small(range.start), end: small(range.end) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::fmt::Write;

    fn read(text: &str) -> Result<Value, String> {
        let mut notes = Notes::new("f.yaml");
        let node = parse(text, &mut notes).map(|node| node.to_value());
        node.ok_or_else(|| notes.finish().0[0].message.clone())
    }

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(read(text), Ok(expected), "{text}");
    }

    #[track_caller]
    fn refuses(text: &str, message: &str) {
        let error = read(text).expect_err(text);
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn scalars_are_those_of_the_core_schema() {
        check(
            "[yes, no, on, off, 1_000, 2024-01-02, 0b1, 1:30]",
            json!(["yes", "no", "on", "off", "1_000", "2024-01-02", "0b1", "1:30"]),
        );
        check("[012, +5, -3, 0o17, 0xff, 99999999999999999999]", json!([12, 5, -3, 15, 255, 1e20]));
        check("[1.5, .5, 5., 1e3, -2E-1, 1.0]", json!([1.5, 0.5, 5.0, 1000.0, -0.2, 1.0]));
        check(
            "[~, null, NULL, true, False, '', \"null\", '12']",
            json!([null, null, null, true, false, "", "null", "12"]),
        );
        check(
            "[+, ., 1e, 1.2.3, --1, e5, nano, fun]",
            json!(["+", ".", "1e", "1.2.3", "--1", "e5", "nano", "fun"]),
        );
        check("a: !!str 12\nb:", json!({"a": "12", "b": null}));
        check("", json!(null));
    }

    #[test]
    fn merge_keys_and_anchors_work() {
        check(
            "base: &b {x: 1, y: 2}\nall: {<<: *b, y: 3}",
            json!({"base": {"x": 1, "y": 2}, "all": {"y": 3, "x": 1}}),
        );
        check(
            "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc:\n  <<: [*a, *b]",
            json!({"a": {"x": 1}, "b": {"x": 2, "z": 3}, "c": {"x": 1, "z": 3}}),
        );
        check("k: &n name\n*n : 1", json!({"k": "name", "name": 1}));
        refuses("a: {<<: 3}", "`<<` merges");
        check("a: {'<<': 3}", json!({"a": {"<<": 3}}));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        refuses("a: 1\nb: 2\na: 3", "duplicate key `a`");
        refuses("a: .inf", "finite");
        refuses("a: 1\n---\nb: 2", "second document");
        refuses("a: &x [*x]", "alias refers to itself");
        refuses("? [1]\n: 2", "cannot be a key");
        refuses("a: b: c", "");
        refuses("a:\n\t- b", "");
        refuses("a: [1", "");
    }

    #[test]
    fn hostile_files_are_refused_soon() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..10 {
            let items = vec![format!("*a{}", level - 1); 10].join(",");
            writeln!(bomb, "a{level}: &a{level} [{items}]").unwrap();
        }
        refuses(&bomb, "repeat too much");
        let nested: Vec<String> = (0..200).map(|level| format!("[&a{level} ")).collect();
        let nested = nested.concat();
        let items = vec!["x"; 2000].join(",");
        refuses(&format!("{nested}[{items}]{}", "]".repeat(200)), "nested too much");
        refuses(&"[".repeat(2000), "");
        let deep: Vec<String> = (0..2000).map(|depth| format!("{}a:", " ".repeat(depth))).collect();
        refuses(&deep.join("\n"), "");
    }

    #[test]
    fn places_are_bytes() {
        let text = "\u{feff}é: [ü, x]\n";
        let mut notes = Notes::new("f.yaml");
        let node = parse(text, &mut notes).unwrap();
        let list = node.as_map().unwrap()[0].value.as_list().unwrap();
        let spans: Vec<&str> = list
            .iter()
            .map(|item| &text[item.span.start as usize..item.span.end as usize])
            .collect();
        assert_eq!(spans, ["ü", "x"]);
    }

    #[test]
    fn windows_line_ends_are_folded() {
        check("a: |\r\n  x\r\n  y\r\nb: 1\r\n", json!({"a": "x\ny\n", "b": 1}));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*|[-:&*<>{}\\[\\],|'\"#! \\na-c0-9]{0,80}") {
            let _ = read(&text);
        }
    }
}
