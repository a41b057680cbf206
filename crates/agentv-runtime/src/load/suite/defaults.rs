//! What a suite says for cases that do not say it themselves: `vars`, the texts that ask for them, and how they are put in.

use crate::config::{Cost, Entry, Kind, Map, Node, Notes, Owner, Span, same_key, suggestion};
use crate::hash::ContentHasher;
use agentv_core::prompt::fill;
use agentv_wire::number;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// What the cases of a suite have unless they say otherwise. Mostly nothing.
#[derive(Debug, Default)]
pub(in crate::load) struct Defaults {
    /// The suite's `vars`.
    vars: Map<'static>,
    /// Its `input` and the like, without places: each case has them at its own place.
    texts: Map<'static>,
    /// What all of this adds to a case's fingerprint.
    pub digest: Option<[u8; 32]>,
}

/// The texts of a case in which `{{ name }}` is looked for. Those of a row are names of the same thing.
pub(in crate::load) const TEXTS: [&[&str]; 3] = [
    &["input_messages", "input"],
    &["criteria", "expected_outcome", "outcome"],
    &["expected_messages", "expected_output"],
];

/// The place of what is asked among [`TEXTS`].
pub(in crate::load) const INPUT: usize = 0;
/// The place of what a good answer does.
pub(in crate::load) const OUTCOME: usize = 1;

/// A declared name that is shorter than this is near to everything.
const LEAST_LETTERS: usize = 3;

impl Defaults {
    /// Reads them from the suite's own keys, which the caller has counted as known.
    pub(in crate::load) fn read(root: &Node<'_>, notes: &mut Notes) -> Self {
        let nowhere = Span::default();
        let mut vars = Map::new();
        if let Some(node) = root.get("vars").filter(|node| !node.is_null()) {
            if let Some(map) = node.as_map() {
                vars.extend(map.iter().map(|entry| entry.placed(nowhere)));
            } else {
                let message = wrong_vars(&"the eval file".into(), node);
                notes.error("vars::type", Some(node.span), message).costs(Cost::Command);
            }
        }
        let found = TEXTS.iter().filter_map(|keys| entry_of(root, keys));
        let texts: Map<'static> = found.map(|entry| entry.placed(nowhere)).collect();
        let digest = (!vars.is_empty() || !texts.is_empty()).then(|| {
            let mut hash = ContentHasher::default();
            for part in [&vars, &texts] {
                Node::new(Kind::Map(part.clone()), nowhere).digest(&mut hash);
            }
            hash.finish()
        });
        Self { vars, texts, digest }
    }

    /// Whether the suite has one of these texts, by its place among [`TEXTS`].
    pub(in crate::load) fn has(&self, text: usize) -> bool {
        self.texts.iter().any(|entry| TEXTS[text].iter().any(|key| same_key(&entry.key, key)))
    }

    /// Whether a text of the suite asks for this var.
    pub(in crate::load) fn ask_for(&self, name: &str) -> bool {
        self.texts.iter().any(|entry| asks_for(&entry.value, name))
    }
}

/// Whether a text in this value asks for `{{ name }}`.
fn asks_for(node: &Node<'_>, name: &str) -> bool {
    match &node.kind {
        Kind::Text(text) => {
            let found = Cell::new(false);
            fill(text, |asked| {
                found.set(found.get() || asked == name);
                None
            });
            found.get()
        }
        Kind::List(items) => items.iter().any(|item| asks_for(item, name)),
        Kind::Map(entries) => entries.iter().any(|entry| asks_for(&entry.value, name)),
        _ => false,
    }
}

/// The message about `vars` that are no mapping.
pub(super) fn wrong_vars(owner: &Owner<'_>, node: &Node<'_>) -> String {
    format!("`vars` of {owner} must be a mapping of names to values, not {}", node.describe())
}

/// The first of several names of a thing that says something.
fn entry_of<'n, 't>(node: &'n Node<'t>, keys: &[&str]) -> Option<&'n Entry<'t>> {
    let entries = node.as_map()?;
    keys.iter().find_map(|key| {
        entries.iter().find(|entry| same_key(&entry.key, key) && !entry.value.is_null())
    })
}

/// A case with what its suite adds, and with its vars put in. A file that declares none is taken as it is.
pub(super) fn completed<'n, 't>(
    case: &'n Node<'t>,
    owner: &Owner<'_>,
    defaults: &Defaults,
    notes: &mut Notes,
) -> Cow<'n, Node<'t>> {
    let own = case.get("vars").and_then(Node::as_map);
    let (Some(map), true) = (case.as_map(), own.is_some() || defaults.digest.is_some()) else {
        return Cow::Borrowed(case);
    };
    let own_keys = map.len();
    let place = map.first().map_or(case.span, |entry| entry.key_span);
    let mut map = map.clone();
    let missing = defaults.texts.iter().filter(|text| {
        let names = TEXTS.iter().find(|keys| keys.iter().any(|key| same_key(&text.key, key)));
        names.is_some_and(|names| entry_of(case, names).is_none())
    });
    map.extend(missing.map(|entry| entry.placed(place)));
    let vars = Vars { own: own.map_or(&[], Vec::as_slice), shared: &defaults.vars };
    if !vars.is_empty() {
        let is_text = |key: &str| TEXTS.iter().any(|keys| keys.iter().any(|it| same_key(key, it)));
        for (index, entry) in map.iter_mut().enumerate() {
            if !is_text(&entry.key) {
                continue;
            }
            let shared =
                (index >= own_keys).then(|| format!("`{}` of the suite", entry.key).into());
            vars.put_into(&mut entry.value, shared.as_ref().unwrap_or(owner), notes);
        }
    }
    Cow::Owned(Node::new(Kind::Map(map), case.span))
}

/// What names stand for: the case's own win over the suite's.
struct Vars<'v> {
    own: &'v [Entry<'v>],
    shared: &'v [Entry<'v>],
}

impl<'v> Vars<'v> {
    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.shared.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &'v Entry<'v>> {
        self.own.iter().chain(self.shared)
    }

    fn value(&self, name: &str) -> Option<Cow<'v, str>> {
        let entry = self.all().find(|entry| entry.key == name)?;
        Some(match &entry.value.kind {
            Kind::Text(text) => Cow::Borrowed(text.as_ref()),
            Kind::Null => Cow::Borrowed(""),
            _ => number::to_string(&entry.value.to_value()).unwrap_or_default().into(),
        })
    }

    /// Fills every text in a value. What was put in is not looked into again.
    fn put_into(&self, node: &mut Node<'_>, owner: &Owner<'_>, notes: &mut Notes) {
        match &mut node.kind {
            Kind::Text(text) if text.contains("{{") => {
                let unknown = RefCell::new(Vec::new());
                let filled = fill(text, |name| {
                    let value = self.value(name);
                    if value.is_none() {
                        unknown.borrow_mut().push(name.to_owned());
                    }
                    value
                });
                *text = Cow::Owned(filled);
                for name in unknown.into_inner() {
                    self.warn_of_near_miss(&name, node.span, owner, notes);
                }
            }
            Kind::List(items) => {
                for item in items {
                    self.put_into(item, owner, notes);
                }
            }
            Kind::Map(entries) => {
                for entry in entries {
                    self.put_into(&mut entry.value, owner, notes);
                }
            }
            _ => {}
        }
    }

    /// A name that was not declared may be meant as it is, unless it looks like a slip.
    fn warn_of_near_miss(&self, name: &str, span: Span, owner: &Owner<'_>, notes: &mut Notes) {
        let long_enough = |name: &&str| name.chars().count() >= LEAST_LETTERS;
        let declared = self.all().map(|entry| entry.key.as_ref()).filter(long_enough);
        if let Some(near) = suggestion(name, declared) {
            let message = format!("`{{{{ {name} }}}}` in {owner} stays as it is: no such var");
            // A text of the suite is wrong in all of its cases.
            if !notes.has_said(&message) {
                notes
                    .warning("vars::unknown", Some(span), message)
                    .help(format!("did you mean `{{{{ {near} }}}}`?"));
            }
        }
    }
}
