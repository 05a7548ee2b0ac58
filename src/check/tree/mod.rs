//! YAML and JSON as one tree of untyped nodes that know where they stand.
//!
//! One parser for both: JSON is read as the YAML it also is. Loaders walk this tree by hand, because
//! what a file *is* is only known from its content, and because every value has to keep its place.
//!
//! Nodes are shared, never copied: an alias costs a pointer, so a bomb of aliases stays as small as its
//! text. Only depth and number have limits.

mod parse;

#[cfg(test)]
mod tests;

pub use parse::{parse, parse_inside, parse_inside_of};

use super::source::Place;
use std::collections::HashSet;
use std::rc::Rc;

/// A value and the place where it is written.
#[derive(Debug)]
pub struct Node {
    /// Where; of an alias: where what it stands for is written.
    pub place: Place,
    /// What.
    pub kind: Kind,
    /// The YAML tag without its `!`, as in `!Ref`; empty when there is none.
    pub tag: String,
}

/// What a node is.
#[derive(Debug)]
pub enum Kind {
    /// A text, or anything else that is no collection.
    Scalar {
        /// Its text, without quotes.
        text: String,
        /// Whether it stood there without quotes, so that `true` and `15` may be no texts.
        plain: bool,
    },
    /// A list.
    List(Vec<Rc<Node>>),
    /// A map, in the order of the file; no key stands twice.
    Map(Vec<Entry>),
    /// Something that is only known when the deployment is made, and why: `!Ref Cluster`, `${TAG}`.
    Unresolved(String),
}

/// A key and its value.
#[derive(Debug)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// Where the key stands.
    pub key_place: Place,
    /// The value.
    pub value: Rc<Node>,
}

/// What a node is not.
pub type WrongType = String;

// === impl Node ===

impl Node {
    /// The value of `key`, merged maps (`<<`) included.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Rc<Node>> {
        self.find(&|found| found == key)
    }

    /// The value of `key`, with its first letter in either case: the same key is `stopTimeout` in the API
    /// of AWS and `StopTimeout` in `CloudFormation`.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Rc<Node>> {
        let same = |found: &str| {
            found.len() == key.len()
                && found.as_bytes().first().map(u8::to_ascii_lowercase)
                    == key.as_bytes().first().map(u8::to_ascii_lowercase)
                && found.as_bytes().get(1..) == key.as_bytes().get(1..)
        };
        self.find(&same)
    }

    /// How the file writes a key that [`Node::field`] finds.
    #[must_use]
    pub fn spelling<'a>(&'a self, key: &'a str) -> &'a str {
        let same = |entry: &&Entry| entry.key.len() == key.len() && entry.key.get(1..) == key.get(1..);
        self.entries()
            .iter()
            .find(|entry| entry.key.eq_ignore_ascii_case(key))
            .filter(same)
            .map_or(key, |entry| &entry.key)
    }

    /// The value at the end of a path of keys, as with [`Node::field`].
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Rc<Node>> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.field(first)?, |node, key| node.field(key))
    }

    /// Where to point at this as a whole: a map's name, else its first key.
    #[must_use]
    pub fn anchor(&self) -> Place {
        let name = self.entries().iter().find(|entry| entry.key.eq_ignore_ascii_case("name"));
        let first = || self.entries().first().map(|entry| entry.key_place);
        name.map(|entry| entry.value.place).or_else(first).unwrap_or(self.place)
    }

    /// The items of a list; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Rc<Node>] {
        if let Kind::List(items) = &self.kind { items } else { &[] }
    }

    /// The entries of a map as they are written, without those merged into it; none of anything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        if let Kind::Map(entries) = &self.kind { entries } else { &[] }
    }

    /// The text of a scalar.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Kind::Scalar { text, .. } = &self.kind { Some(text) } else { None }
    }

    /// Whether nothing is written here, or `null`, or `~`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// A whole number, not negative.
    ///
    /// # Errors
    /// What it is instead.
    pub fn number(&self) -> Result<u64, WrongType> {
        match &self.kind {
            Kind::Scalar { text, plain: true } => {
                text.parse().map_err(|_| format!("a whole number is wanted here, not {}", self.described()))
            }
            _ => Err(format!("a whole number is wanted here, not {}", self.described())),
        }
    }

    /// Yes or no, in the words of YAML 1.1.
    ///
    /// # Errors
    /// What it is instead.
    pub fn boolean(&self) -> Result<bool, WrongType> {
        match &self.kind {
            Kind::Scalar { text, plain: true } if is_one_of(text, ["true", "yes", "on"]) => Ok(true),
            Kind::Scalar { text, plain: true } if is_one_of(text, ["false", "no", "off"]) => Ok(false),
            _ => Err(format!("true or false is wanted here, not {}", self.described())),
        }
    }

    /// What this is, for a message.
    #[must_use]
    pub fn described(&self) -> String {
        match &self.kind {
            Kind::Scalar { text, .. } if text.chars().count() > 40 => "a long text".to_owned(),
            Kind::Scalar { text, plain: false } => format!("the text {text:?}"),
            Kind::Scalar { text, plain: true } => format!("`{}`", text.escape_debug()),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
            Kind::Unresolved(what) => what.clone(),
        }
    }

    fn find(&self, wanted: &dyn Fn(&str) -> bool) -> Option<&Rc<Node>> {
        let found = |map: &&'_ Self| map.entries().iter().any(|entry| wanted(&entry.key));
        let map = self.layers().into_iter().find(found)?;
        map.entries().iter().find(|entry| wanted(&entry.key)).map(|entry| &entry.value)
    }

    /// The entries of a map and of those merged into it (`<<`), each key once.
    #[must_use]
    pub fn all_entries(&self) -> Vec<&Entry> {
        let mut seen = HashSet::new();
        let entries = self.layers().into_iter().flat_map(Self::entries);
        entries.filter(|entry| entry.key != "<<" && seen.insert(entry.key.as_str())).collect()
    }

    /// The map itself and those merged into it, in the order in which they count. Each stands here once,
    /// however often it is merged: merges of merges could make billions of a few lines.
    fn layers(&self) -> Vec<&Self> {
        let mut layers: Vec<&Self> = Vec::new();
        let mut waiting = vec![self];
        let mut seen: HashSet<*const Self> = HashSet::new();
        while let Some(map) = waiting.pop() {
            if !seen.insert(std::ptr::from_ref(map)) {
                continue;
            }
            layers.push(map);
            let merged = map.entries().iter().find(|entry| entry.key == "<<");
            match merged.map(|entry| &entry.value) {
                Some(value) if matches!(value.kind, Kind::List(_)) => {
                    waiting.extend(value.items().iter().rev().map(Rc::as_ref));
                }
                Some(value) => waiting.push(value),
                None => {}
            }
        }
        layers
    }
}

fn is_one_of(text: &str, words: [&str; 3]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}
